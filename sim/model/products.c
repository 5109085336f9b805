/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/products.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/products.h"
#include "model/model.h"
#include "model/rule_match.h"

#define RECIPE(kind, of, grad, elements, keeps)                                                \
    {                                                                                          \
        .recipe = kind, .code = of, .gradients = grad, .block = elements, .keeps_codes = keeps \
    }

static const struct products_opts recipes[SCENARIO_NRECIPES] = {
    [SCENARIO_TENSORWISE] = RECIPE(PRODUCTS_TENSORWISE, SHD_F8E4M3, SHD_F8E5M2, 0, true),
    [SCENARIO_ROWWISE] = RECIPE(PRODUCTS_ROWWISE, SHD_F8E4M3, SHD_F8E4M3, 0, false),
    [SCENARIO_BLOCKWISE] = RECIPE(PRODUCTS_BLOCKWISE, SHD_F8E4M3, SHD_F8E4M3, 128, true),
    [SCENARIO_MXFP8] = RECIPE(PRODUCTS_MXFP8, SHD_F8E4M3, SHD_F8E4M3, 32, true),
    [SCENARIO_NVFP4] = RECIPE(PRODUCTS_NVFP4, SHD_F4E2M1, SHD_F4E2M1, 16, true),
};

static struct products_opts opts_of(const struct scenario *s)
{
    const struct scenario_products *p = &s->products;
    struct products_opts opts = recipes[p->recipe];

    if (p->gradients != SCENARIO_CODE_OF_RECIPE)
        opts.gradients = p->gradients == SCENARIO_E4M3 ? SHD_F8E4M3 : SHD_F8E5M2;
    if (p->block > 0)
        opts.block = p->block;
    opts.gathers = p->gathers || s->zero.stage < 3;
    opts.dispatch = p->dispatch;
    opts.padded = s->uneven == SCENARIO_PADDED;
    opts.stored = scenario_serves(s);
    opts.frozen = p->frozen == SCENARIO_FROZEN_CODES;
    opts.known = p->amax == SCENARIO_AMAX_STATIC;
    if (p->kept != SCENARIO_KEPT_BY_RECIPE)
        opts.keeps_codes = p->kept == SCENARIO_KEPT_CODES;
    return opts;
}

static bool is_weight(const struct graph *g, uint32_t node)
{
    return g->nodes[graph_origin(g, node)].op == GRAPH_PARAM;
}

/* Whether a product of the forward phase is of one weight; sets which operand that is. */
static bool is_of_weight(const struct graph *g, uint32_t node, uint32_t *weight)
{
    const struct graph_node *n = &g->nodes[node];
    bool first, second;

    if (n->phase != GRAPH_FORWARD || (n->op != GRAPH_EINSUM && n->op != GRAPH_GROUPED))
        return false;
    first = is_weight(g, n->inputs[0]);
    second = is_weight(g, n->inputs[1]);
    *weight = second;
    return first != second;
}

bool model_is_product(bool *rounded, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];
    uint32_t weight;

    *rounded = n->phase == GRAPH_FORWARD && (n->op == GRAPH_CODED || n->op == GRAPH_CODED_GROUPED);
    return *rounded || is_of_weight(graph, node, &weight);
}

/* Report a product that is not rounded: in float64 codes are numbers of the reference
 * (kern/coded.h).  False: it is none. */
static bool refuse(const struct graph *g, uint32_t node, const struct scenario *s,
                   struct diag *diag)
{
    const struct graph_node *n = &g->nodes[node];
    struct place place = scenario_place(s, "products.recipe");

    if (n->dtype == SHD_F64)
        diag_error(diag, place,
                   "'%s' is a float64 matmul; expected a model.dtype of at most 32 bits", n->name);
    return n->dtype == SHD_F64;
}

/* List the products that no pattern excepts; the number of them, or 0 after an error. */
static uint32_t choose(struct products_chosen *out, const struct graph *g, struct match *except,
                       const struct scenario *s, struct diag *diag)
{
    uint32_t n = 0, weight;

    for (uint32_t node = 0; node < g->nnodes; node++) {
        const struct scenario_rule *rule = NULL;

        if (!is_of_weight(g, node, &weight))
            continue;
        if (match_find(&rule, except, g->nodes[node].name, diag) != SHD_OK)
            return 0;
        if (rule)
            continue;
        if (refuse(g, node, s, diag))
            return 0;
        out[n++] = (struct products_chosen){node, weight};
    }
    return n;
}

/* ---- devices' parts ---- */

/* Into how many parts devices cut arrays, as struct products_opts has it. */
struct parts {
    int64_t *data;
    int64_t (*weights)[GRAPH_RANK_MAX];
    const struct model_shardings *shardings;
    const struct shd_mesh *mesh;
    uint32_t batch; /* axes that shard the batch; bit a: axis a */
};

/* The shards of a dimension over axes but some. */
static int64_t shards_of(const struct parts *p, const struct shd_sharding *s, uint32_t d,
                         uint32_t without)
{
    uint32_t axes = 0;

    for (uint8_t i = 0; i < s->dims[d].naxes; i++)
        axes |= UINT32_C(1) << s->dims[d].axes[i];
    return shd_mesh_size_along(p->mesh, axes & ~without);
}

/* Cut the dimensions of an array of data, or those that data share with a weight, as it is. */
static void cut_data(struct parts *p, const struct graph *g, uint32_t like,
                     const struct shd_sharding *s, uint32_t without)
{
    for (uint32_t d = 0; d < g->nodes[like].rank; d++) {
        int64_t shards = shards_of(p, s, d, without), *parts = &p->data[g->nodes[like].dims[d]];

        *parts = shards > *parts ? shards : *parts;
    }
}

/* Add the axes that shard the batch of an input.  Those of its sequence are not among them: with
 * sequence parallelism products gather it over the axes that their weights stay sharded over. */
static void add_batch(struct parts *p, const struct graph *g, const struct graph_node *input,
                      const struct shd_sharding *s)
{
    uint32_t batch = graph_find_dim(g, "batch");

    for (uint32_t d = 0; d < input->rank; d++)
        for (uint8_t i = 0; input->dims[d] == batch && i < s->dims[d].naxes; i++)
            p->batch |= UINT32_C(1) << s->dims[d].axes[i];
}

/* Data are cut as inputs and as constraints and the weights' rules have it, but for weights over
 * axes of the batch, over which they are gathered; a weight as its own rule has it. */
static void find_parts(struct parts *p, const struct graph *g, const struct products_chosen *chosen,
                       uint32_t nchosen)
{
    uint32_t slot = graph_find_dim(g, "slot"), groups = graph_find_dim(g, "token_group");

    for (uint32_t n = 0; n < g->nnodes; n++) {
        const struct shd_sharding *s = p->shardings->nodes[n];
        bool input = g->nodes[n].op == GRAPH_INPUT && g->nodes[n].state_of == GRAPH_NONE;

        if (s && (input || g->nodes[n].op == GRAPH_CONSTRAINT))
            cut_data(p, g, n, s, 0);
        if (s && input)
            add_batch(p, g, &g->nodes[n], s);
    }
    for (uint32_t c = 0; c < nchosen; c++) {
        uint32_t weight = g->nodes[chosen[c].node].inputs[chosen[c].weight];
        const struct shd_sharding *s = p->shardings->nodes[graph_origin(g, weight)];

        if (s)
            cut_data(p, g, weight, s, p->batch);
        for (uint32_t d = 0; s && d < g->nodes[weight].rank; d++)
            p->weights[weight][d] = shards_of(p, s, d, 0);
    }
    if (slot != GRAPH_NONE && groups != GRAPH_NONE) /* each group of tokens has slots of its own */
        p->data[slot] = g->dims[groups].size;
}

/* Round products with magnitudes of each device's part. */
static void round_local(struct graph *graph, const struct products_chosen *chosen, uint32_t n,
                        struct products_opts *opts, const struct scenario *scenario,
                        struct diag *diag)
{
    struct parts parts = {.data = calloc((size_t)graph->ndims + 1, sizeof *parts.data),
                          .weights = calloc((size_t)graph->nnodes + 1, sizeof *parts.weights)};
    struct model_shardings shardings;
    struct shd_mesh *mesh = NULL;
    struct shd_error err;
    int status = scenario_mesh(&mesh, scenario, &err);

    if (status != SHD_OK)
        diag_failure(diag, scenario_place(scenario, "mesh"), status, "%s", err.text);
    else if (!parts.data || !parts.weights)
        diag_no_memory(diag);
    else if (model_shardings_asked(&shardings, graph, mesh, scenario, diag) == SHD_OK) {
        parts.shardings = &shardings;
        parts.mesh = mesh;
        find_parts(&parts, graph, chosen, n);
        model_shardings_fini(&shardings);
        opts->data_parts = parts.data;
        opts->weight_parts = (const int64_t(*)[GRAPH_RANK_MAX])parts.weights;
        opts->ndims = graph->ndims;
        products_round(graph, chosen, n, opts);
    }
    shd_mesh_destroy(mesh);
    free(parts.data);
    free(parts.weights);
}

void model_check_except(const struct match *except, struct diag *diag)
{
    static const char *const elsewhere[] = {"head",
                                            "layers/0/attn/q",
                                            "layers/0/attn/k",
                                            "layers/0/attn/v",
                                            "layers/0/attn/o",
                                            "layers/0/attn/q/latent",
                                            "layers/0/attn/heads/values",
                                            "layers/0/mlp/up",
                                            "layers/0/mlp/gate",
                                            "layers/0/mlp/down",
                                            "layers/0/moe/up",
                                            "layers/0/moe/gate",
                                            "layers/0/moe/down",
                                            "layers/0/moe/router"};

    for (size_t r = 0; r < except->nrules; r++) {
        const struct scenario_rule *rule = &except->rules[r];
        bool known = except->found[r] || !rule->place.file;

        for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere && !known; i++)
            if (match_test(&known, except, rule, elsewhere[i], diag) != SHD_OK)
                return;
        if (!known)
            diag_error(diag, rule->place,
                       "products.except: '%.60s' matches no matmul of this model; 'shardsim show "
                       "names' lists names",
                       rule->pattern);
    }
}

void model_round_products(struct graph *graph, const struct scenario *scenario, struct diag *diag)
{
    const struct scenario_patterns *patterns = &scenario->products.except;
    struct match except = MATCH_INIT;
    struct products_opts opts = opts_of(scenario);
    struct products_chosen *chosen;
    uint32_t n;

    if (scenario->products.recipe == SCENARIO_NO_RECIPE || graph->err.status != SHD_OK)
        return;
    chosen = calloc((size_t)graph->nnodes + 1, sizeof *chosen);
    if (!chosen)
        diag_no_memory(diag);
    if (chosen && match_init(&except, patterns->list, patterns->n, diag) == SHD_OK) {
        n = choose(chosen, graph, &except, scenario, diag);
        model_check_except(&except, diag);
        if (scenario->products.amax == SCENARIO_AMAX_LOCAL)
            round_local(graph, chosen, n, &opts, scenario, diag);
        else
            products_round(graph, chosen, n, &opts);
        if (graph->err.status == SHD_EINDIVISIBLE)
            diag_failure(diag, scenario_place(scenario, "products.recipe"), SHD_EINDIVISIBLE, "%s",
                         graph->err.text);
    }
    match_fini(&except);
    free(chosen);
}

bool model_product_codes(enum shd_dtype out[2], const struct scenario *scenario)
{
    const struct products_opts opts = opts_of(scenario);

    out[0] = opts.code;
    out[1] = scenario->step.backward ? opts.gradients : opts.code;
    return scenario->products.recipe != SCENARIO_NO_RECIPE;
}

void model_describe_products(struct text *out, const struct scenario *scenario)
{
    static const char *const scales[SCENARIO_NRECIPES] = {
        [SCENARIO_TENSORWISE] = "a scale for each array",
        [SCENARIO_ROWWISE] = "a scale for each row",
        [SCENARIO_BLOCKWISE] = "scales",
        [SCENARIO_MXFP8] = "scales that are powers of two",
        [SCENARIO_NVFP4] = "two scales"};
    const struct products_opts opts = opts_of(scenario);

    if (scenario->products.weights != SCENARIO_BASE_COMPUTE)
        text_addf(out, "; weights quantized to %s", scenario_base_name(scenario->products.weights));
    if (scenario->products.recipe == SCENARIO_NO_RECIPE)
        return;
    text_addf(out, "; matmuls quantized to %s", shd_dtype_name(opts.code));
    if (scenario->step.backward && opts.gradients != opts.code)
        text_addf(out, " (gradients to %s)", shd_dtype_name(opts.gradients));
    text_addf(out, " with %s", scales[scenario->products.recipe]);
    if (recipes[scenario->products.recipe].block > 0)
        text_addf(out, " for %" PRId64 " elements", opts.block);
}
