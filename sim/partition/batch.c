/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/batch.h"

#include <stdlib.h>
#include <string.h>

bool batch_is_data(const struct graph_node *n)
{
    return n->op == GRAPH_INPUT && n->state_of == GRAPH_NONE && n->rank > 0 && !n->source.index &&
           !kern_source_is_number(&n->source);
}

/* Mark each data array's first dimension in `first` and all its later dimensions in `behind`. */
static void mark_data(const struct graph *g, bool *first, bool *behind)
{
    for (uint32_t node = 0; node < g->nnodes; node++) {
        const struct graph_node *n = &g->nodes[node];

        if (!batch_is_data(n))
            continue;
        first[n->dims[0]] = true;
        for (uint32_t d = 1; d < n->rank; d++)
            behind[n->dims[d]] = true;
    }
}

/* A dimension that is also a later one is not the batch, unless all first dimensions are. */
static void leave_out(bool *first, const bool *behind, uint32_t ndims)
{
    bool any = false;

    for (uint32_t dim = 0; dim < ndims; dim++)
        any |= first[dim] && !behind[dim];
    for (uint32_t dim = 0; dim < ndims && any; dim++)
        first[dim] &= !behind[dim];
}

bool batch_has(const struct batch *b, const struct graph_node *n)
{
    for (uint32_t d = 0; d < n->rank; d++)
        if (b->dims[n->dims[d]])
            return true;
    return false;
}

/* Mark the dimensions of results whose factor is a batch dimension of an operand. */
static void pass_on(struct batch *b, const struct placement *p, uint32_t node)
{
    const struct graph *g = p->graph;
    const struct rule *rule = &p->nodes[node].rule;
    bool factors[RULE_FACTORS_MAX] = {false};

    for (uint32_t k = 0; k < rule->noperands; k++) {
        const struct graph_node *operand = &g->nodes[g->nodes[node].inputs[k]];

        for (uint32_t d = 0; d < operand->rank; d++)
            factors[rule->operand[k][d]] |= b->dims[operand->dims[d]];
    }
    for (uint32_t r = 0; r < rule->nresults; r++) {
        const struct graph_node *result = &g->nodes[assign_result_node(g, node, r)];

        for (uint32_t d = 0; d < result->rank; d++)
            b->dims[result->dims[d]] |= factors[rule->result[r][d]];
    }
}

/* Mark the node as varying if it is data with the batch, or made of a varying value. */
static void find_varying(struct batch *b, const struct placement *p, uint32_t node)
{
    const struct graph_node *n = &p->graph->nodes[node];

    b->varies[node] = batch_is_data(n) && batch_has(b, n);
    for (uint32_t k = 0; k < n->ninputs; k++)
        b->varies[node] |= b->varies[n->inputs[k]];
}

/* Note a data array's batch, and the axes over it. */
static void add_data(struct batch *b, const struct placement *p, uint32_t node)
{
    const struct graph_node *n = &p->graph->nodes[node];
    const struct shd_sharding *s = price_sharding(p->price, p->nodes[node].home);

    if (b->dims[n->dims[0]])
        b->of[n->dims[0]] = node;
    for (uint32_t d = 0; d < n->rank; d++)
        for (uint8_t a = 0; a < s->dims[d].naxes && b->dims[n->dims[d]]; a++)
            b->axes |= UINT32_C(1) << s->dims[d].axes[a];
}

void batch_init(struct batch *out, const struct placement *p, struct pool *pool)
{
    const struct graph *g = p->graph;
    bool *behind = pool_array(pool, g->ndims, sizeof *behind);

    *out = (struct batch){.dims = pool_array(pool, g->ndims, sizeof *out->dims),
                          .of = pool_array(pool, g->ndims, sizeof *out->of),
                          .varies = pool_array(pool, g->nnodes, sizeof *out->varies)};
    memset(out->of, 0xff, g->ndims * sizeof *out->of); /* GRAPH_NONE */
    mark_data(g, out->dims, behind);
    leave_out(out->dims, behind, g->ndims);
    for (uint32_t node = 0; node < g->nnodes; node++) {
        pass_on(out, p, node);
        find_varying(out, p, node);
        if (batch_is_data(&g->nodes[node]))
            add_data(out, p, node);
    }
}
