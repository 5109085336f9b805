/* why.c - why a step is there, in a sentence: who needs what, of whom.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include <shd/reshard.h>

#include "partition/versions.h"

/* Whether a dimension only follows another in an op, as blocks follow what is cut into them. */
static bool is_led(const struct emit *e, uint32_t node, uint32_t dim)
{
    const struct rule *rule = &e->placement->nodes[node].rule;
    int factor = rule_find(rule, e->graph, node, dim);

    return factor >= 0 && rule->factors[factor].follows != RULE_FREE;
}

/* Names of the dimensions that the op behind a partial value sums over.  Operands of integers (ids)
 * are skipped. */
static void summed_names(char *out, size_t size, const struct emit *e, uint32_t node)
{
    const struct graph_node *n = &e->graph->nodes[node];
    size_t used = 0;

    out[0] = '\0';
    for (uint32_t k = 0; k < n->ninputs && n->op != GRAPH_EXTRA; k++)
        for (uint32_t d = 0; d < e->graph->nodes[n->inputs[k]].rank && used < size; d++) {
            uint32_t dim = e->graph->nodes[n->inputs[k]].dims[d];

            if (!kern_is_whole(e->graph->nodes[n->inputs[k]].dtype) && !graph_has_dim(n, dim) &&
                !is_led(e, node, dim) && !strstr(out, e->graph->dims[dim].name))
                used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " and " : "",
                                         e->graph->dims[dim].name);
        }
}

/* The op that made a value, behind constraints that only rename the value. */
static uint32_t maker_of(const struct emit *e, uint32_t node)
{
    while (e->graph->nodes[node].op == GRAPH_CONSTRAINT && !e->placement->nodes[node].fixed)
        node = e->graph->nodes[node].inputs[0];
    return node;
}

/* Whether operand `k` is partial over an axis of a step and the op passes its partial sums on. */
static bool passes_parts(const struct emit *e, uint32_t node, uint32_t k,
                         const struct shd_reshard_step *step)
{
    uint32_t need = e->placement->nodes[node].needs[k];
    uint16_t partial =
        need == PLACEMENT_UNKNOWN ? 0 : price_sharding(e->placement->price, need)->partial;

    for (uint32_t a = 0; a < step->naxes; a++)
        if (partial >> step->axes[a] & 1)
            return true;
    return false;
}

/* The op that made the partial sums which a step combines, and the names of the dimensions that it
 * sums over.  Linear ops in between passed the partial sums on. */
static uint32_t summer_of(char *names, size_t size, const struct emit *e, uint32_t value,
                          const struct shd_reshard_step *step)
{
    for (;;) {
        uint32_t node = maker_of(e, value), k = 0;
        const struct graph_node *n = &e->graph->nodes[node];

        summed_names(names, size, e, node);
        while (k < n->ninputs && !passes_parts(e, node, k, step))
            k++;
        if (k == n->ninputs || !names[0])
            return node;
        value = n->inputs[k];
    }
}

/* The verb for an op's reduction over dimensions not in the result. */
static const char *verb_of(const struct emit *e, uint32_t node)
{
    switch (e->placement->nodes[node].rule.reduce) {
    case SHD_MAX:
        return "takes the largest over";
    case SHD_MIN:
        return "takes the least over";
    default:
        return "sums over";
    }
}

const char *emit_why(struct emit *e, uint32_t value, const struct shd_reshard_step *step,
                     const char *reader)
{
    uint32_t node = maker_of(e, value);
    const struct graph_node *n = &e->graph->nodes[node];
    char axes[128], summed[128], sum[512];
    uint32_t summer;
    const char *dim = step->dim >= 0 ? e->graph->dims[n->dims[step->dim]].name : "";

    program_axes_print(e->program, step->axes, step->naxes, axes, sizeof axes);
    summer = summer_of(summed, sizeof summed, e, node, step);
    if (summed[0])
        snprintf(sum, sizeof sum, "%s %s %s, sharded over %s", e->graph->nodes[summer].name,
                 verb_of(e, summer), summed, axes);
    else
        snprintf(sum, sizeof sum, "%s is a sum of parts over %s", e->graph->nodes[summer].name,
                 axes);
    if (shd_reshard_is_flat(step) && step->kind == SHD_RESHARD_REDUCE_SCATTER)
        return program_text(e->program, "%s; %s needs it in pieces over %s", sum, reader, axes);
    if (shd_reshard_is_flat(step) && step->kind == SHD_RESHARD_ALL_GATHER)
        return program_text(e->program, "%s needs %s whole; it is kept in pieces over %s", reader,
                            n->name, axes);
    switch (step->kind) {
    case SHD_RESHARD_ALL_REDUCE:
        return program_text(e->program, "%s; %s needs it replicated", sum, reader);
    case SHD_RESHARD_REDUCE_SCATTER:
        return program_text(e->program, "%s; %s needs it with %s sharded over %s", sum, reader, dim,
                            axes);
    case SHD_RESHARD_ALL_GATHER:
        return program_text(e->program, "%s needs %s with %s unsharded; it is sharded over %s",
                            reader, n->name, dim, axes);
    case SHD_RESHARD_ALL_TO_ALL:
        return program_text(e->program, "%s needs %s with %s sharded over %s, not %s", reader,
                            n->name, e->graph->dims[n->dims[step->dim2]].name, axes, dim);
    case SHD_RESHARD_PERMUTE:
        return program_text(e->program, "%s needs the shards of %s on other devices", reader,
                            n->name);
    case SHD_RESHARD_EXCHANGE:
        return program_text(e->program, "%s needs %s in another sharding", reader, n->name);
    default:
        return NULL; /* local step, nothing is communicated */
    }
}
