/* Marking the values that a scenario recomputes (recompute_marks.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/recompute_marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "graph/layer_name.h"
#include "graph/ops.h"
#include "graph/recompute.h"
#include "model/fused_marks.h"
#include "model/model.h"
#include "model/mtp.h"
#include "model/value_marks.h"
#include "scenario/recompute_policies.h"

/* ---- ops that are kept ---- */

/* The parameter that an operand of a product is made of by unpacking, converting, gathering or
 * rounding alone; GRAPH_NONE: the operand is an activation. */
static uint32_t param_of(const struct graph *graph, uint32_t operand)
{
    const struct graph_node *node = &graph->nodes[operand];

    while (node->op == GRAPH_ENCODE || node->op == GRAPH_CONSTRAINT ||
           graph_op(node->op)->unpacks ||
           (node->op == GRAPH_MAP && (node->fn == KERN_CONVERT || node->fn == KERN_COPY))) {
        operand = node->inputs[0];
        node = &graph->nodes[operand];
    }
    return node->op == GRAPH_PARAM ? operand : GRAPH_NONE;
}

/* Whether a node is the product of an activation with a parameter that all tokens share, in
 * whatever type the two are multiplied.  The router's is none: torchtitan recomputes it in any
 * case, and does not count it. */
static bool is_dense_product(const struct graph *graph, const struct graph_node *node)
{
    uint32_t experts = graph_find_dim(graph, "expert");
    bool of_param = false;

    if (node->op != GRAPH_EINSUM && node->op != GRAPH_CODED)
        return false;
    for (uint32_t k = 0; k < 2; k++)
        of_param |= param_of(graph, node->inputs[k]) != GRAPH_NONE;
    return of_param && (experts == GRAPH_NONE || !graph_has_dim(node, experts));
}

/* Mesh axes by which the rules for `leaf` shard dimensions shared with a node (`shared`), or not
 * shared. An unpacked or quantized weight has the dimensions of its parameter, in the same order.
 */
static uint32_t axes_of(const struct model_shardings *shardings, const struct graph *graph,
                        uint32_t of, uint32_t leaf, const struct graph_node *node, bool shared)
{
    const struct shd_sharding *sharding = shardings->nodes[leaf];
    uint32_t axes = 0;

    for (uint32_t d = 0; sharding && d < graph->nodes[of].rank; d++)
        for (uint8_t i = 0; i < sharding->dims[d].naxes; i++)
            if (graph_has_dim(node, graph->nodes[of].dims[d]) == shared)
                axes |= UINT32_C(1) << sharding->dims[d].axes[i];
    return axes;
}

/* Whether rules shard a product's parameter along what is summed over, by an axis that does not
 * shard the data: by such an axis it is gathered. */
static bool is_partial_product(const struct graph *graph, const struct model_shardings *shardings,
                               uint32_t product, uint32_t batch)
{
    const struct graph_node *node = &graph->nodes[product];

    for (uint32_t k = 0; k < 2 && is_dense_product(graph, node); k++) {
        uint32_t of = node->inputs[k], leaf = param_of(graph, of);

        if (leaf != GRAPH_NONE && axes_of(shardings, graph, of, leaf, node, false) & ~batch)
            return true;
    }
    return false;
}

/* Whether a node passes partial sums of an operand on, as the sum with an adapter's product does.
 */
static bool passes_partial(const bool *partial, const struct graph *graph, uint32_t n)
{
    const struct graph_node *node = &graph->nodes[n];

    for (uint32_t k = 0; node->op == GRAPH_MAP && k < node->ninputs; k++)
        if (partial[node->inputs[k]] && graph_is_linear(graph, node, k))
            return true;
    return false;
}

/* What shardings say of ops that communicate, and the model, of which layers may have latent
 * attention. */
struct communicated {
    const struct scenario_model *model;
    bool *partial; /* by node: devices have partial sums of the value */
    bool
        exchanged; /* tokens are sharded over axes that shard experts, and so go to other devices */
};

/* Axes that shard a dimension, of any array that rules or constraints shard. */
static uint32_t axes_of_dim(const struct model_shardings *shardings, const struct graph *graph,
                            uint32_t dim)
{
    uint32_t axes = 0;

    for (uint32_t n = 0; n < graph->nnodes; n++)
        for (uint32_t d = 0; shardings->nodes[n] && d < graph->nodes[n].rank; d++)
            for (uint8_t i = 0; i < shardings->nodes[n]->dims[d].naxes; i++)
                if (graph->nodes[n].dims[d] == dim)
                    axes |= UINT32_C(1) << shardings->nodes[n]->dims[d].axes[i];
    return axes;
}

static void mark_communicated(struct communicated *out, const struct graph *graph,
                              const struct model_shardings *shardings)
{
    uint32_t batch = 0, experts = graph_find_dim(graph, "expert");

    for (uint32_t n = 0; n < graph->nnodes; n++)
        if (graph->nodes[n].op == GRAPH_INPUT && graph->nodes[n].state_of == GRAPH_NONE)
            batch |= axes_of(shardings, graph, n, n, &graph->nodes[n], true);
    for (uint32_t n = 0; n < graph->nnodes; n++)
        out->partial[n] = is_partial_product(graph, shardings, n, batch) ||
                          passes_partial(out->partial, graph, n);
    out->exchanged = experts != GRAPH_NONE && (axes_of_dim(shardings, graph, experts) & batch) != 0;
}

/* The same from the scenario; false: an error was reported. */
static bool find_communicated(struct communicated *out, const struct graph *graph,
                              const struct scenario *scenario, struct diag *diag)
{
    struct model_shardings shardings;
    struct shd_mesh *mesh;
    struct shd_error err;
    int status = scenario_mesh(&mesh, scenario, &err);

    if (status != SHD_OK) {
        diag_failure(diag, scenario_place(scenario, "mesh"), status, "%s", err.text);
        return false;
    }
    status = model_shardings_asked(&shardings, graph, mesh, scenario, diag);
    if (status == SHD_OK) {
        mark_communicated(out, graph, &shardings);
        model_shardings_fini(&shardings);
    }
    shd_mesh_destroy(mesh);
    return status == SHD_OK;
}

static bool is_op(const struct graph *graph, const struct graph_node *node, enum recompute_op op,
                  const struct communicated *c)
{
    switch (op) {
    case RECOMPUTE_OP_PRODUCT:
        return is_dense_product(graph, node) || node->op == GRAPH_GROUPED ||
               node->op == GRAPH_CODED_GROUPED;
    case RECOMPUTE_OP_DENSE:
        return is_dense_product(graph, node);
    case RECOMPUTE_OP_ATTENTION:
        return node->op == GRAPH_ATTENTION;
    case RECOMPUTE_OP_SUM:
        return node->op == GRAPH_CONSTRAINT && c->partial[node->inputs[0]];
    case RECOMPUTE_OP_EXCHANGE:
        return c->exchanged && (node->op == GRAPH_DISPATCH || node->op == GRAPH_COMBINE);
    case RECOMPUTE_OP_CHOICE:
        return node->op == GRAPH_TOPK;
    case RECOMPUTE_NOPS:
        break;
    }
    return false;
}

static bool same_layer(const char *a, const char *b)
{
    struct graph_layer x = graph_layer_of(a), y = graph_layer_of(b);

    return x.number == y.number && x.stack_length == y.stack_length &&
           !strncmp(x.stack, y.stack, x.stack_length);
}

/* Whether a node is of a layer with latent attention.  Modules for further tokens are as the last
 * layer. */
static bool is_latent(const struct scenario_model *m, const char *name)
{
    int64_t layer = graph_layer_of(name).number;

    if (!strncmp(name, MTP_LAYERS, strlen(MTP_LAYERS)))
        layer = m->layers - 1;
    return m->mla.kv_rank > 0 && scenario_layer_attends(scenario_layer_type(m, layer));
}

/* Systems multiply by one matrix where latent attention has products of a part with positions and
 * of one without, or of keys and of values (torchtitan's wq, wkv_a, wkv_b; wq_a and wq_b of
 * compressed queries).  The number of the matrix among those of the layer, `next` for a product of
 * a matrix of its own. */
static uint32_t matrix_number(const struct scenario_model *m, const char *name, uint32_t next)
{
    static const char *const matrices[] = {" q_latent ", " q q_rope ", " kv_latent k_rope ",
                                           " k v ", " o "};
    const char *part = strstr(name, "attn/");
    char word[16];

    if (!part || !is_latent(m, name))
        return next;
    snprintf(word, sizeof word, " %s ", part + strlen("attn/"));
    for (uint32_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++)
        if (strstr(matrices[i], word))
            return m->mla.q_rank > 0 ? i : i - 1;
    return next;
}

/* Mark results of an op, counted from the first of each layer on. */
static void keep_op(bool *kept, const struct graph *graph, const struct recompute_kept_op *op,
                    const struct communicated *c)
{
    const char *before = "";
    uint32_t next = 0;

    for (uint32_t n = 0; n < graph->nnodes; n++) {
        const struct graph_node *node = &graph->nodes[n];
        uint32_t number;

        if (node->phase != GRAPH_FORWARD || !is_op(graph, node, op->op, c))
            continue;
        next = same_layer(before, node->name) ? next : 0;
        before = node->name;
        number = matrix_number(c->model, node->name, next);
        next = number < next ? next : number + 1;
        kept[n] |= number % op->every == 0;
        for (uint32_t e = 0; e < node->nextras; e++)
            kept[node->extras[e]] = kept[n];
    }
}

/* ---- kept entries ---- */

/* Keep the ops of an entry, or list it as a pattern. */
static void add_entry(bool *kept, struct scenario_rule *patterns, size_t *npatterns,
                      const struct graph *graph, const struct communicated *c,
                      struct scenario_rule entry)
{
    struct recompute_kept_op op;

    if (!recompute_is_op(entry.pattern))
        patterns[(*npatterns)++] = entry;
    else if (recompute_read_op(&op, entry.pattern)) /* checked when the scenario was read */
        keep_op(kept, graph, &op, c);
}

/* Mark what the scenario's own entries keep. */
static bool keep_entries(bool *kept, const struct graph *graph,
                         const struct scenario_recompute *recompute, const struct communicated *c,
                         struct diag *diag)
{
    struct scenario_rule *patterns = calloc(recompute->nkept + 1, sizeof *patterns);
    size_t n = 0;
    bool good = patterns != NULL;

    if (!good)
        diag_no_memory(diag);
    for (size_t i = 0; good && i < recompute->nkept; i++)
        add_entry(kept, patterns, &n, graph, c, recompute->kept[i]);
    good = good && value_marks_add(kept, graph, "recompute.keep", patterns, n, diag);
    free(patterns);
    return good;
}

/* Mark what a policy keeps; a model may lack some of it. */
static bool keep_policy(bool *kept, const struct graph *graph,
                        const struct recompute_policy *policy, const struct communicated *c,
                        struct diag *diag)
{
    const char *at = policy->keep;
    size_t length;
    bool good = true, found;

    for (const char *word; good && (word = words_next(&at, &length));) {
        char entry[32]; /* an op of the table of policies */
        struct recompute_kept_op op;

        (void)snprintf(entry, sizeof entry, "%.*s", (int)length, word);
        if (!recompute_is_op(entry))
            good = value_marks_try(kept, &found, graph, word, length, diag);
        else if (recompute_read_op(&op, entry))
            keep_op(kept, graph, &op, c);
    }
    return good;
}

/* Whether results of collectives are kept, for which shardings must be known. */
static bool keeps_communicated(const struct scenario_recompute *recompute)
{
    struct recompute_kept_op op;
    bool keeps = recompute->policy && strstr(recompute->policy->keep, "op:sum");

    for (size_t i = 0; i < recompute->nkept; i++)
        keeps |= recompute_is_op(recompute->kept[i].pattern) &&
                 recompute_read_op(&op, recompute->kept[i].pattern) &&
                 (op.op == RECOMPUTE_OP_SUM || op.op == RECOMPUTE_OP_EXCHANGE);
    return keeps;
}

static bool mark_kept(bool *kept, const struct graph *graph, const struct scenario *scenario,
                      struct diag *diag)
{
    const struct scenario_recompute *recompute = &scenario->recompute;
    struct communicated c = {.model = &scenario->model,
                             .partial = calloc((size_t)graph->nnodes + 1, sizeof *c.partial)};
    bool good = c.partial != NULL;

    if (!good)
        diag_no_memory(diag);
    else if (keeps_communicated(recompute))
        good = find_communicated(&c, graph, scenario, diag);
    good = good && keep_entries(kept, graph, recompute, &c, diag);
    if (good && recompute->policy)
        good = keep_policy(kept, graph, recompute->policy, &c, diag);
    free(c.partial);
    return good;
}

/* ---- what is computed again ---- */

/* Groups of values that are computed again together: `together` as graph/recompute.h has it. */
struct marks {
    bool *again;
    uint32_t *together;
    bool *held;      /* results to hold, if the scenario says so */
    uint32_t *start; /* by node: recompute_find_starts(); NULL: layers are counted in the model */
};

static struct recompute_layers chosen_layers(const struct scenario_recompute *recompute,
                                             const uint32_t *start)
{
    return (struct recompute_layers){.group = (uint32_t)recompute->group,
                                     .every = (uint32_t)recompute->every,
                                     .first = recompute->first > 0 ? (uint32_t)recompute->first
                                                                   : UINT32_MAX,
                                     .offset = (uint32_t)recompute->offset,
                                     .start = start};
}

/* Mark the values of one part of the chosen layers. */
static bool mark_module(bool *part, const struct graph *graph,
                        const struct recompute_module *module,
                        const struct recompute_layers *layers, const struct scenario *scenario,
                        struct diag *diag)
{
    bool good, found;

    if (!module->pattern) {
        recompute_mark(part, graph, RECOMPUTE_SELECTIVE, layers);
        return true;
    }
    good = value_marks_try(part, &found, graph, module->pattern, strlen(module->pattern), diag);
    if (good && !found)
        diag_error(diag, scenario_place(scenario, "recompute"),
                   "recompute.modules: the model has no '%s'", module->name);
    for (uint32_t n = 0; n < graph->nnodes; n++)
        part[n] &= recompute_is_chosen(layers, graph, n);
    return good && found;
}

/* Mark as results the values of a part that other forward values read. */
static void mark_results(bool *results, const bool *part, const struct graph *graph)
{
    for (uint32_t n = 0; n < graph->nnodes; n++)
        for (uint32_t k = 0; k < graph->nodes[n].ninputs; k++)
            if (graph->nodes[n].phase == GRAPH_FORWARD && !part[n] &&
                part[graph->nodes[n].inputs[k]])
                results[graph->nodes[n].inputs[k]] = true;
}

/* Mark the values of the parts that the scenario names, and let each run of them be computed
 * together.  Room: three marks a node. */
static bool mark_modules(struct marks *m, bool *room, const struct graph *graph,
                         const struct scenario *scenario, const struct recompute_layers *layers,
                         struct diag *diag)
{
    size_t size = graph->nnodes * sizeof *room;
    bool *part = room, *parts = part + graph->nnodes, *results = parts + graph->nnodes;
    bool good = true;

    for (int i = 0; good && recompute_modules[i].name; i++) {
        if (!(scenario->recompute.modules >> i & 1))
            continue;
        memset(part, 0, size);
        good = mark_module(part, graph, &recompute_modules[i], layers, scenario, diag);
        if (recompute_modules[i].keeps_result)
            mark_results(results, part, graph);
        for (uint32_t n = 0; n < graph->nnodes; n++)
            parts[n] |= part[n];
    }
    recompute_join(m->together, parts, graph, layers);
    for (uint32_t n = 0; n < graph->nnodes; n++)
        m->again[n] = parts[n] && !results[n];
    return good;
}

/* Mark all; false: an error was reported. */
static bool mark_again(struct marks *m, const struct graph *graph, const struct scenario *scenario,
                       struct diag *diag)
{
    static const enum recompute kinds[] = {[SCENARIO_RECOMPUTE_SELECTIVE] = RECOMPUTE_SELECTIVE,
                                           [SCENARIO_RECOMPUTE_FULL] = RECOMPUTE_FULL};
    const struct scenario_recompute *r = &scenario->recompute;
    struct recompute_layers layers = chosen_layers(r, r->by_stage ? m->start : NULL);
    bool *kept, good;

    if (r->kind == SCENARIO_RECOMPUTE_NAMED)
        return value_marks_add(m->again, graph, "recompute", r->patterns, r->npatterns, diag);
    kept = calloc(4 * (size_t)graph->nnodes + 1, sizeof *kept);
    good = kept && mark_kept(kept, graph, scenario, diag);
    if (!kept)
        diag_no_memory(diag);
    if (good && r->by_stage)
        recompute_find_starts(m->start, graph);
    if (good && r->modules) {
        good = mark_modules(m, kept + graph->nnodes, graph, scenario, &layers, diag);
    } else if (good) {
        recompute_mark(m->again, graph, kinds[r->kind], &layers);
        recompute_together(m->together, m->again, graph, kinds[r->kind], &layers);
    }
    for (uint32_t n = 0; good && n < graph->nnodes; n++)
        if (kept[n]) {
            m->held[n] = m->again[n] || m->together[n] != GRAPH_NONE;
            m->again[n] = false;
            m->together[n] = GRAPH_NONE;
        }
    free(kept);
    return good;
}

static bool marks_init(struct marks *m, const struct graph *graph, struct diag *diag)
{
    size_t n = (size_t)graph->nnodes + 1;

    *m = (struct marks){.again = calloc(n, sizeof *m->again),
                        .together = calloc(n, sizeof *m->together),
                        .held = calloc(n, sizeof *m->held),
                        .start = calloc(n, sizeof *m->start)};
    if (m->again && m->together && m->held && m->start)
        return true;
    diag_no_memory(diag);
    return false;
}

static void marks_fini(struct marks *m)
{
    free(m->again);
    free(m->together);
    free(m->held);
    free(m->start);
}

/* Compute again what lies inside fused kernels, and logits in chunks if `chunks`. */
static void add_fused(struct marks *m, const struct graph *graph, bool chunks)
{
    for (uint32_t n = 0; n < graph->nnodes; n++) {
        const struct graph_node *node = &graph->nodes[n];

        m->again[n] |=
            node->phase == GRAPH_FORWARD &&
            ((node->inside && node->interim != GRAPH_OF_GATES) || (chunks && node->chunks > 0));
    }
}

void model_recompute(struct graph *graph, const struct scenario *scenario, struct diag *diag)
{
    const struct scenario_recompute *r = &scenario->recompute;
    bool none = r->kind == SCENARIO_RECOMPUTE_NONE;
    struct marks m;

    if (graph_status(graph, NULL) != SHD_OK || (!model_mark_fused(graph, scenario) && none))
        return;
    if (marks_init(&m, graph, diag) && (none || mark_again(&m, graph, scenario, diag))) {
        add_fused(&m, graph, scenario->fused.loss_again == SCENARIO_BESIDE_WORK);
        recompute_clone(graph, m.again, r->whole ? m.together : NULL, r->hold ? m.held : NULL);
    }
    marks_fini(&m);
}

bool model_mark_again(bool *again, const struct graph *graph, const struct scenario *scenario,
                      struct diag *diag)
{
    struct marks m;
    bool good =
        marks_init(&m, graph, diag) && (scenario->recompute.kind == SCENARIO_RECOMPUTE_NONE ||
                                        mark_again(&m, graph, scenario, diag));

    if (good)
        memcpy(again, m.again, graph->nnodes * sizeof *again);
    marks_fini(&m);
    return good;
}
