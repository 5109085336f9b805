/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/moe.h"

#include "graph/layers/softmax.h"

/* The layer under construction. */
struct building {
    struct graph *graph;
    const char *name;
    const struct moe_weights *weights;
    const struct moe_opts *opts;
    uint32_t rank;                        /* of x */
    uint32_t dims[GRAPH_RANK_MAX];        /* x's: tokens, then embed */
    uint32_t expert, choice, slot, group; /* dimensions */
    uint32_t place;                       /* of experts, or of their copies if there are any */
};

static const char *part(const struct building *b, const char *what)
{
    return graph_text(b->graph, "%s/%s", b->name, what);
}

static bool failed(const struct building *b)
{
    return b->graph->err.status != SHD_OK;
}

/* Dimensions of an array with an entry per token: x's, with `last` in place of embed. */
static void token_dims(uint32_t *out, const struct building *b, uint32_t last)
{
    for (uint32_t d = 0; d + 1 < b->rank; d++)
        out[d] = b->dims[d];
    out[b->rank - 1] = last;
}

static double ntokens(const struct building *b)
{
    double n = 1;

    for (uint32_t d = 0; d + 1 < b->rank; d++)
        n *= (double)b->graph->dims[b->dims[d]].size;
    return n;
}

/* ---- the router ---- */

/* The router's logits, which are compared and exponentiated: converted from 16-bit types to
 * float32. */
static uint32_t router_logits(const struct building *b, uint32_t x)
{
    uint32_t dims[GRAPH_RANK_MAX], logits;

    token_dims(dims, b, b->expert);
    logits = graph_einsum(b->graph, part(b, "router"), x, b->weights->router, dims, b->rank);
    if (b->weights->biased && b->weights->router_bias != GRAPH_NONE)
        logits = graph_map(b->graph, part(b, "router/shifted"), KERN_ADD, logits,
                           b->weights->router_bias, 0);
    logits = graph_constraint(b->graph, part(b, "router"), logits);
    if (!failed(b) && shd_dtype_size(b->graph->nodes[logits].dtype) == 2)
        logits = graph_convert(b->graph, part(b, "router/logits"), SHD_F32, logits);
    return logits;
}

static uint32_t scores(const struct building *b, uint32_t logits)
{
    if (b->opts->sigmoid)
        return graph_map(b->graph, part(b, "router/scores"), KERN_SIGMOID, logits, GRAPH_NONE, 0);
    return layer_softmax(b->graph, part(b, "router/scores"), logits, b->expert);
}

static uint32_t choose(const struct building *b, uint32_t probs)
{
    const struct graph_limits limits = {
        .groups = b->opts->groups, .kept = b->opts->kept, .by_largest = b->opts->by_largest};

    if (b->opts->ids != GRAPH_NONE)
        return b->opts->ids;
    if (b->weights->bias != GRAPH_NONE) {
        probs = graph_map(b->graph, part(b, "router/biased"), KERN_ADD, probs, b->weights->bias, 0);
        graph_stop_gradient(b->graph, probs);
    }
    return graph_topk(b->graph, part(b, "ids"), probs, b->expert, b->choice,
                      b->opts->groups > 1 ? &limits : NULL);
}

/* The sum, or 1 where the sum is 0: a token that chooses no expert has gates of 0, which stay 0. */
static uint32_t or_one(const struct building *b, uint32_t sum)
{
    uint32_t none = graph_map(b->graph, part(b, "gates/any"), KERN_STEP, sum, GRAPH_NONE, 0);

    none = graph_map(b->graph, part(b, "gates/minus_any"), KERN_NEG, none, GRAPH_NONE, 0);
    none = graph_map(b->graph, part(b, "gates/none"), KERN_ADD_SCALAR, none, GRAPH_NONE, 1);
    graph_stop_gradient(b->graph, none);
    return graph_map(b->graph, part(b, "gates/divisor"), KERN_ADD, sum, none, 0);
}

/* x divided by its sum along a dimension; with `may_be_zero`, a zero sum leaves x unchanged. */
static uint32_t over_sum(const struct building *b, const char *what, uint32_t x, uint32_t dim,
                         bool may_be_zero)
{
    uint32_t dims[GRAPH_RANK_MAX], rank = 0, sum;

    if (failed(b))
        return GRAPH_NONE;
    for (uint32_t d = 0; d < b->graph->nodes[x].rank; d++)
        if (b->graph->nodes[x].dims[d] != dim)
            dims[rank++] = b->graph->nodes[x].dims[d];
    sum = graph_reduce(b->graph, graph_text(b->graph, "%s/%s/sum", b->name, what), SHD_SUM, x, dims,
                       rank);
    if (may_be_zero)
        sum = or_one(b, sum);
    return graph_map(b->graph, part(b, what), KERN_DIV, x, sum, 0);
}

/* The gates of the chosen experts, from logits and from the scores made of them. */
static uint32_t gates(const struct building *b, uint32_t logits, uint32_t probs, uint32_t ids)
{
    uint32_t g =
        graph_pick(b->graph, part(b, "gates"), b->opts->after ? logits : probs, ids, b->expert);

    if (b->opts->after)
        g = layer_softmax(b->graph, part(b, "gates/softmax"), g, b->choice);
    else if (b->opts->renormalize)
        g = over_sum(b, "gates/renormalized", g, b->choice,
                     b->opts->routing && b->opts->routing->absent);
    if (b->opts->scale != 1)
        g = graph_map(b->graph, part(b, "gates/scaled"), KERN_SCALE, g, GRAPH_NONE, b->opts->scale);
    return g;
}

/* ---- experts ---- */

/* rows[expert, slot, from] times [expert, from, to], and a bias[expert, to] if experts have one.
 * Rows of free slots get the bias, too; nobody reads them. */
static uint32_t project(const struct building *b, const char *what, uint32_t rows, uint32_t weights,
                        uint32_t bias, uint32_t counts)
{
    uint32_t dims[3] = {b->place, b->slot};

    if (failed(b) || weights == GRAPH_NONE)
        return GRAPH_NONE;
    dims[2] = b->graph->nodes[weights].dims[2];
    rows = graph_grouped(b->graph, part(b, what), rows, weights, counts, b->opts->routing, b->slot,
                         dims, 3);
    if (!b->weights->biased || bias == GRAPH_NONE)
        return rows;
    return graph_map(b->graph, graph_text(b->graph, "%s/%s/bias", b->name, what), KERN_ADD, rows,
                     bias, 0);
}

static uint32_t experts(const struct building *b, uint32_t rows, uint32_t counts)
{
    struct graph *g = b->graph;
    const struct moe_weights *w = b->weights;
    const char *hidden = part(b, "hidden");
    uint32_t up, gate = GRAPH_NONE;

    up = graph_constraint(g, hidden, project(b, "up", rows, w->up, w->up_bias, counts));
    if (w->gate != GRAPH_NONE)
        gate = graph_constraint(g, hidden, project(b, "gate", rows, w->gate, w->gate_bias, counts));
    up = mlp_activate(g, b->name, gate, up, b->opts->activation);
    return project(b, "down", up, w->down, w->down_bias, counts);
}

/* Mark the results that gates multiply: software that multiplies activations instead keeps none. */
static void mark_results(const struct building *b, uint32_t rows)
{
    if (!failed(b))
        b->graph->nodes[rows].interim = GRAPH_OF_GATES;
}

/* x, with or without a dimension of choices, times gates and summed over choices. */
static uint32_t weigh(const struct building *b, uint32_t x, uint32_t gates)
{
    if (failed(b))
        return GRAPH_NONE;
    gates = graph_convert(b->graph, part(b, "gates/cast"), b->graph->nodes[x].dtype, gates);
    return graph_einsum(b->graph, part(b, "weighted"), x, gates, b->dims, b->rank);
}

/* Rows of experts times their gates, which are sent to the experts' slots for it. */
static uint32_t weigh_rows(const struct building *b, uint32_t rows, uint32_t ids, uint32_t slots,
                           uint32_t gates, uint32_t groups)
{
    struct graph *g = b->graph;
    const uint32_t one = graph_dim(g, "one", 1);
    uint32_t dims[GRAPH_RANK_MAX] = {b->place, b->slot}, kept;

    mark_results(b, rows);
    if (failed(b))
        return GRAPH_NONE;
    gates = graph_convert(g, part(b, "gates/cast"), g->nodes[rows].dtype, gates);
    kept = graph_input(g, part(b, "gates/one"), g->nodes[rows].dtype, &one, 1,
                       (struct kern_source){.offset = 1});
    gates = graph_map(g, part(b, "gates/row"), KERN_MUL, gates, kept, 0);
    gates = graph_dispatch(g, part(b, "gates/dispatch"), gates, ids, slots, b->place, b->slot,
                           groups, b->opts->routing);
    gates = graph_reduce(g, part(b, "gates/rows"), SHD_SUM, gates, dims, 2);
    return graph_map(g, part(b, "weighed"), KERN_MUL, rows, gates, 0);
}

static uint32_t through_experts(const struct building *b, uint32_t x, uint32_t ids, uint32_t gates)
{
    struct graph *g = b->graph;
    const struct kern_routing *routing = b->opts->routing;
    uint32_t groups = b->opts->token_groups ? b->opts->token_groups : 1;
    uint32_t slots, counts, rows;

    if (b->opts->gates_input)
        x = weigh(b, x, gates);
    if (routing->copies)
        ids = graph_deal(g, part(b, "places"), ids, routing);
    slots = graph_slots(g, part(b, "slots"), ids, routing, b->group, b->place);
    if (failed(b))
        return GRAPH_NONE;
    counts = g->nodes[slots].extras[0];
    rows =
        graph_dispatch(g, part(b, "dispatch"), x, ids, slots, b->place, b->slot, groups, routing);
    if (b->opts->sums)
        graph_dispatch_sums(g, rows);
    rows = graph_constraint(g, part(b, "rows"), rows);
    rows = experts(b, rows, counts);
    rows = graph_constraint(g, part(b, "results"), rows);
    if (b->opts->sums)
        return graph_combine_sums(g, part(b, "combine"),
                                  weigh_rows(b, rows, ids, slots, gates, groups), ids, slots,
                                  groups, routing);
    rows = graph_combine(g, part(b, "combine"), rows, ids, slots, groups, routing);
    if (b->opts->gates_input) /* the only choice of each token */
        return graph_reduce(g, part(b, "unweighted"), SHD_SUM, rows, b->dims, b->rank);
    mark_results(b, rows);
    return weigh(b, rows, gates);
}

/* The shared experts' output, multiplied by an optional gate. */
static uint32_t shared(const struct building *b, uint32_t x)
{
    const struct moe_weights *w = b->weights;
    const char *gate = part(b, "shared_gate");
    struct graph *g = b->graph;
    uint32_t y = layer_mlp(g, part(b, "shared"), x, &w->shared, b->opts->activation), one;
    uint32_t dims[GRAPH_RANK_MAX];

    if (!w->has_shared_gate || failed(b) || w->shared_gate == GRAPH_NONE)
        return y;
    token_dims(dims, b, g->nodes[w->shared_gate].dims[1]);
    one = graph_einsum(g, gate, x, w->shared_gate, dims, b->rank);
    one = graph_map(g, gate, KERN_SIGMOID, one, GRAPH_NONE, 0);
    return graph_einsum(g, part(b, "shared/gated"), y, one, b->dims, b->rank);
}

/* ---- losses ---- */

/* Load-balancing loss: experts * the sum over experts of the fraction of choices for each, times
 * the mean of its probability: 1 if balanced.  W.  Fedus et al., equation 4. */
static uint32_t balance_loss(const struct building *b, uint32_t probs, uint32_t chosen)
{
    double n = ntokens(b), nexperts;
    uint32_t mean;

    if (failed(b))
        return GRAPH_NONE;
    nexperts = (double)b->graph->dims[b->expert].size;
    if (b->opts->sigmoid)
        probs = over_sum(b, "aux/probs", probs, b->expert, false);
    mean = graph_reduce(b->graph, part(b, "aux/mean"), SHD_SUM, probs, &b->expert, 1);
    mean = graph_map(b->graph, part(b, "aux/product"), KERN_MUL, mean, chosen, 0);
    mean = graph_reduce(b->graph, part(b, "aux/sum"), SHD_SUM, mean, NULL, 0);
    return graph_map(b->graph, part(b, "aux"), KERN_SCALE, mean, GRAPH_NONE,
                     b->opts->aux * nexperts / (n * n * (double)b->opts->top_k));
}

/* The mean of the square of the log of the sum of exp(logits).  B. Zoph et al., equation 5. */
static uint32_t size_loss(const struct building *b, uint32_t logits)
{
    uint32_t lse = layer_log_sum_exp(b->graph, part(b, "z/lse"), logits, b->expert);

    lse = graph_map(b->graph, part(b, "z/square"), KERN_MUL, lse, lse, 0);
    lse = graph_reduce(b->graph, part(b, "z/sum"), SHD_SUM, lse, NULL, 0);
    return graph_map(b->graph, part(b, "z"), KERN_SCALE, lse, GRAPH_NONE, b->opts->z / ntokens(b));
}

static uint32_t losses(const struct building *b, uint32_t logits, const struct moe *m)
{
    uint32_t aux = GRAPH_NONE, z = GRAPH_NONE;

    if (b->opts->aux > 0)
        aux = balance_loss(b, m->probs, m->chosen);
    if (b->opts->z > 0)
        z = size_loss(b, logits);
    if (aux == GRAPH_NONE || z == GRAPH_NONE)
        return aux == GRAPH_NONE ? z : aux;
    return graph_map(b->graph, part(b, "losses"), KERN_ADD, aux, z, 0);
}

/* ---- the layer ---- */

/* Set up the dimensions.  Layers of a graph with equal numbers of slots share the slots'
 * dimension. */
static bool begin(struct building *b, uint32_t x)
{
    struct graph *g = b->graph;
    int64_t groups = b->opts->token_groups ? b->opts->token_groups : 1;

    if (failed(b) || x == GRAPH_NONE || b->weights->router == GRAPH_NONE)
        return false;
    b->rank = g->nodes[x].rank;
    for (uint32_t d = 0; d < b->rank; d++)
        b->dims[d] = g->nodes[x].dims[d];
    b->expert = b->place = g->nodes[b->weights->router].dims[1];
    if (b->opts->routing->copies && b->weights->up != GRAPH_NONE)
        b->place = g->nodes[b->weights->up].dims[0];
    b->choice = graph_dim(g, "choice", b->opts->top_k);
    b->group = graph_dim(g, "token_group", groups);
    b->slot = graph_dim(g, "slot", groups * b->opts->routing->capacity);
    return !failed(b);
}

struct moe layer_moe(struct graph *graph, const char *name, uint32_t x,
                     const struct moe_weights *weights, const struct moe_opts *opts)
{
    struct building b = {.graph = graph, .name = name, .weights = weights, .opts = opts};
    struct moe m = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    enum shd_dtype dtype;
    uint32_t logits;

    x = graph_constraint(graph, part(&b, "in"), x);
    if (!begin(&b, x))
        return m;
    logits = router_logits(&b, x);
    m.probs = scores(&b, logits);
    m.ids = choose(&b, m.probs);
    m.gates = gates(&b, logits, m.probs, m.ids);
    if (failed(&b))
        return m;
    dtype = graph->nodes[m.probs].dtype;
    m.chosen = graph_count(graph, part(&b, "chosen"), dtype, m.ids, b.expert);
    m.loss = losses(&b, logits, &m);
    m.y = through_experts(&b, x, m.ids, m.gates);
    if (weights->has_shared)
        m.y = graph_map(graph, part(&b, "sum"), KERN_ADD, m.y, shared(&b, x), 0);
    m.y = graph_constraint(graph, part(&b, "out"), m.y);
    return m;
}
