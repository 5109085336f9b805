/* Frozen parameters, adapters beside kernels, and kernels kept as codes (adapters.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/adapters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/layers/adapter.h"
#include "graph/layers/quantized.h"
#include "graph/rebuild.h"
#include "model/model.h"
#include "model/products.h"
#include "model/rule_match.h"
#include "model/weights.h"

struct adapting {
    const struct scenario *scenario;
    struct diag *diag;
    bool *target;     /* by node before the pass: a kernel that has adapters, or is kept as codes */
    uint32_t *a, *b;  /* by node before the pass: a target's adapter; GRAPH_NONE: not made yet */
    uint32_t *reader; /* by node before the pass: a product that reads the target */
    struct quantized *stored;       /* by node before the pass: what stands for a target */
    const struct graph_node *nodes; /* before the pass */
    bool adapts;                    /* kernels have adapters; else they are served */
    uint32_t rank_dim;
    char undivided[80]; /* the first product whose kernel cannot be kept so; "": none */
};

/* How targets are kept, if not in the type of the computation. */
static enum scenario_base base_of(const struct adapting *ad)
{
    return ad->adapts ? ad->scenario->lora.base : ad->scenario->products.weights;
}

static enum kern_quant_type type_of(const struct adapting *ad)
{
    static const enum kern_quant_type types[SCENARIO_NBASES] = {[SCENARIO_BASE_INT8] = KERN_INT8,
                                                                [SCENARIO_BASE_NF4] = KERN_NF4,
                                                                [SCENARIO_BASE_INT4] = KERN_INT4,
                                                                [SCENARIO_BASE_MXFP4] = KERN_MXFP4};

    return types[base_of(ad)];
}

static int64_t block_of(const struct adapting *ad)
{
    int64_t given = ad->adapts ? 0 : ad->scenario->products.block;

    return given > 0 ? given : quantized_block(type_of(ad));
}

static bool is_product(const struct graph_node *n)
{
    return n->op == GRAPH_EINSUM || n->op == GRAPH_GROUPED;
}

/* ---- matching ---- */

/* Mark the parameters that are operands of products. */
static void find_kernels(bool *kernels, const struct graph *graph)
{
    for (uint32_t n = 0; n < graph->nnodes; n++)
        for (uint32_t k = 0; is_product(&graph->nodes[n]) && k < 2; k++) {
            uint32_t from = graph->nodes[n].inputs[k];

            kernels[from] = graph->nodes[from].op == GRAPH_PARAM;
        }
}

/* Report targets that are read otherwise than by a product with an adapter's shape. */
static void check_readers(const struct adapting *ad, const struct graph *graph)
{
    for (uint32_t n = 0; n < graph->nnodes; n++)
        for (uint32_t k = 0; k < graph->nodes[n].ninputs; k++) {
            const struct graph_node *reader = &graph->nodes[n];
            uint32_t from = reader->inputs[k];

            if (!ad->target[from])
                continue;
            ad->reader[from] = n;
            if (is_product(reader) &&
                adapter_shape(graph, reader, &graph->nodes[from], 0).a_rank > 0)
                continue;
            diag_error(ad->diag, scenario_place(ad->scenario, "lora.targets"),
                       "'%s' cannot have an adapter: '%s' reads it, and is not a matmul with "
                       "contracted and kept dimensions of the weight",
                       graph->nodes[from].name, reader->name);
            ad->target[from] = false;
        }
}

/* ---- adapters ---- */

/* "layers/0/attn/q/kernel" -> "layers/0/attn/q/lora_a/kernel"; a name without parts that is "w"
 * gets "w/lora_a". */
static const char *adapter_name(struct graph *graph, const char *kernel, const char *part)
{
    const char *slash = strrchr(kernel, '/');

    if (slash && !strcmp(slash, "/kernel"))
        return graph_text(graph, "%.*s/%s/kernel", (int)(slash - kernel), kernel, part);
    return graph_text(graph, "%s/%s", kernel, part);
}

/* The width of A's random numbers is that of PEFT, uniform within 1/sqrt(in); B is zeros, or keeps
 * the variance of what it multiplies. */
static struct kern_source start_of(const struct scenario *s, const char *name, bool second,
                                   double inputs)
{
    bool zeros = s->lora.start == SCENARIO_START_ZEROS ||
                 (s->lora.start == SCENARIO_START_OF_MODEL && weights_is_published(s));

    if (second && zeros)
        return (struct kern_source){.offset = 0};
    return model_source(s->seed, name, second ? sqrt(12 / (double)s->lora.rank) : 2 / sqrt(inputs));
}

static uint32_t add_part(const struct adapting *ad, struct graph *graph, const char *kernel,
                         bool second, const struct adapter_shape *shape,
                         const struct kern_copies *copies)
{
    const char *name = adapter_name(graph, kernel, second ? "lora_b" : "lora_a");
    struct kern_source source = start_of(ad->scenario, name, second, shape->inputs);
    uint32_t param;

    source.copies = copies;
    param =
        graph_param(graph, name, ad->scenario->model.dtype, second ? shape->b_dims : shape->a_dims,
                    second ? shape->b_rank : shape->a_rank, source);
    if (param != GRAPH_NONE)
        graph->nodes[param].base = kernel;
    return param;
}

/* Add the adapter of a product made again, whose operand `k` is the target that was node `old`. */
static uint32_t add_adapter(struct adapting *ad, struct graph *graph, uint32_t product, uint32_t k,
                            uint32_t old)
{
    const struct scenario_lora *lora = &ad->scenario->lora;
    const struct graph_node *n = &graph->nodes[product], *kernel = &graph->nodes[n->inputs[k]];
    double factor = lora->alpha > 0 ? lora->alpha / (double)lora->rank : 1;
    const char *name = ad->nodes[old].name;

    if (ad->a[old] == GRAPH_NONE) {
        struct adapter_shape shape = adapter_shape(graph, n, kernel, ad->rank_dim);
        const struct kern_copies *copies = ad->nodes[old].source.copies;

        ad->a[old] = add_part(ad, graph, name, false, &shape, copies);
        ad->b[old] = add_part(ad, graph, name, true, &shape, copies);
    }
    return layer_adapter(graph, product, k, ad->a[old], ad->b[old], factor);
}

/* The dimensions of a target that a product sums over: bit d for dimension d. */
static uint32_t inputs_of(const struct adapting *ad, uint32_t target, uint32_t product)
{
    const struct graph_node *kernel = &ad->nodes[target];
    uint32_t inputs = 0;

    for (uint32_t d = 0; d < kernel->rank; d++)
        if (!graph_has_dim(&ad->nodes[product], kernel->dims[d]))
            inputs |= UINT32_C(1) << d;
    return inputs;
}

/* Make a parameter again, beside adapters frozen; a target in the bits that are asked for. */
static uint32_t make_param(struct adapting *ad, struct graph *graph, uint32_t old,
                           const struct graph_node *node)
{
    struct graph_node copy = *node;

    copy.frozen |= ad->adapts;
    if (!ad->target[old] || base_of(ad) == SCENARIO_BASE_COMPUTE)
        return graph_rebuild_copy(graph, &copy);
    ad->stored[old] =
        quantized_add(graph, type_of(ad), block_of(ad), &copy, inputs_of(ad, old, ad->reader[old]));
    if (graph->err.status == SHD_EINDIVISIBLE && !ad->undivided[0])
        snprintf(ad->undivided, sizeof ad->undivided, "%s",
                 match_last_parts(ad->nodes[ad->reader[old]].name, "attn/q"));
    return ad->stored[old].codes;
}

/* Make a product of a target again, its operand `k`, with an adapter behind it if there are any. */
static uint32_t make_product(struct adapting *ad, struct graph *graph, uint32_t target, uint32_t k,
                             const struct graph_node *node)
{
    struct graph_node copy = *node;
    uint32_t made;

    if (base_of(ad) != SCENARIO_BASE_COMPUTE)
        copy.inputs[k] =
            quantized_read(graph, type_of(ad), &ad->nodes[target], &ad->stored[target]);
    if (copy.inputs[k] == GRAPH_NONE)
        return GRAPH_NONE;
    made = graph_rebuild_copy(graph, &copy);
    return made == GRAPH_NONE || !ad->adapts ? made : add_adapter(ad, graph, made, k, target);
}

/* A graph_rebuild_fn. */
static uint32_t make(void *arg, struct graph *graph, uint32_t old, const struct graph_node *node)
{
    struct adapting *ad = arg;
    uint32_t k = 0;

    if (node->op == GRAPH_PARAM)
        return make_param(ad, graph, old, node);
    while (k < 2 && is_product(node) && !ad->target[ad->nodes[old].inputs[k]])
        k++;
    if (k == 2 || !is_product(node))
        return graph_rebuild_copy(graph, node);
    return make_product(ad, graph, ad->nodes[old].inputs[k], k, node);
}

/* `numbers` has three entries a node, and `flags` two zeroed ones. */
static void add_adapters(struct graph *graph, const struct scenario *scenario, struct diag *diag,
                         uint32_t *numbers, bool *flags, struct quantized *stored)
{
    size_t n = graph->nnodes;
    struct adapting ad = {.scenario = scenario,
                          .diag = diag,
                          .target = flags,
                          .a = numbers,
                          .b = numbers + n,
                          .reader = numbers + 2 * n,
                          .stored = stored,
                          .nodes = graph->nodes,
                          .adapts = true,
                          .rank_dim = GRAPH_NONE};

    memset(numbers, 0xff, 3 * n * sizeof *numbers);
    find_kernels(flags + n, graph);
    if (!match_nodes(ad.target, graph, flags + n, &scenario->lora.targets, "kernel", diag))
        return;
    check_readers(&ad, graph);
    ad.rank_dim = graph_dim(graph, "lora_rank", scenario->lora.rank);
    if (diag->nerrors > 0)
        return;
    graph_rebuild(graph, make, &ad);
    if (graph->err.status == SHD_EINDIVISIBLE)
        diag_failure(diag, scenario_place(scenario, "lora.base"), graph->err.status, "%s",
                     graph->err.text);
}

/* Mark the weights of matmuls without an exception. A weight with another reader, or contracted
 * along other dimensions by some matmul, stays unquantized: blocks lie along the contracted
 * dimension. */
static bool find_kept(struct adapting *ad, const struct graph *graph, struct diag *diag)
{
    const struct scenario_patterns *patterns = &ad->scenario->products.except;
    size_t before_errors = diag->nerrors;
    struct match except = MATCH_INIT;
    int status = match_init(&except, patterns->list, patterns->n, diag);

    find_kernels(ad->target, graph);
    for (uint32_t n = 0; n < graph->nnodes && status == SHD_OK; n++)
        for (uint32_t k = 0; k < graph->nodes[n].ninputs && status == SHD_OK; k++) {
            uint32_t from = graph->nodes[n].inputs[k], before = ad->reader[from], inputs;
            const struct scenario_rule *rule = NULL;

            if (!ad->target[from])
                continue;
            status = match_find(&rule, &except, graph->nodes[n].name, diag);
            inputs = inputs_of(ad, from, n);
            ad->target[from] = !rule && is_product(&graph->nodes[n]) && inputs != 0 &&
                               (before == GRAPH_NONE || inputs == inputs_of(ad, from, before));
            ad->reader[from] = n;
        }
    if (status == SHD_OK)
        model_check_except(&except, diag);
    match_fini(&except);
    return status == SHD_OK && diag->nerrors == before_errors;
}

/* Keep the kernels of a model that is served as codes. */
static void keep_codes(struct graph *graph, const struct scenario *scenario, struct diag *diag,
                       uint32_t *numbers, bool *flags, struct quantized *stored)
{
    struct adapting ad = {.scenario = scenario,
                          .diag = diag,
                          .target = flags,
                          .reader = numbers,
                          .stored = stored,
                          .nodes = graph->nodes};

    memset(numbers, 0xff, graph->nnodes * sizeof *numbers);
    if (!find_kept(&ad, graph, diag))
        return;
    graph_rebuild(graph, make, &ad);
    if (graph->err.status == SHD_EINDIVISIBLE)
        diag_failure(diag, scenario_place(scenario, "products.weights"), graph->err.status,
                     "%s, or '%s$' in products.except", graph->err.text, ad.undivided);
}

static void freeze(struct graph *graph, const struct scenario *scenario, struct diag *diag,
                   bool *flags)
{
    uint32_t n = graph->nnodes;

    for (uint32_t i = 0; i < n; i++)
        flags[n + i] = graph->nodes[i].op == GRAPH_PARAM;
    if (match_nodes(flags, graph, flags + n, &scenario->frozen, "parameter", diag))
        for (uint32_t i = 0; i < n; i++)
            graph->nodes[i].frozen = flags[i];
}

void model_adapt(struct graph *graph, const struct scenario *scenario, struct diag *diag)
{
    size_t n = graph->nnodes;
    uint32_t *numbers;
    struct quantized *stored;
    bool *flags, keeps = scenario->products.weights != SCENARIO_BASE_COMPUTE;

    if (graph->err.status != SHD_OK ||
        (scenario->frozen.n == 0 && scenario->lora.rank == 0 && !keeps))
        return;
    numbers = malloc((3 * n + 1) * sizeof *numbers);
    flags = calloc(4 * n + 1, sizeof *flags);
    stored = calloc(n + 1, sizeof *stored);
    if (!numbers || !flags || !stored) {
        diag_no_memory(diag);
    } else {
        if (scenario->frozen.n > 0)
            freeze(graph, scenario, diag, flags);
        if (scenario->lora.rank > 0)
            add_adapters(graph, scenario, diag, numbers, flags + 2 * n, stored);
        if (keeps)
            keep_codes(graph, scenario, diag, numbers, flags + 2 * n, stored);
    }
    free(numbers);
    free(flags);
    free(stored);
}
