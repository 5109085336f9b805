/* Random programs of the ops of models: attention, norms, look-ups and so on, with products and
 * elementwise functions between them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "graph/layers/block.h"
#include "graph/layers/norm.h"
#include "graph/layers/softmax.h"
#include "graph/layers/xent.h"
#include "random_program.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Dimensions of all programs; slices, repeats and concatenations add more. */
enum { BATCH, SEQ, KEYS, HEADS, KV_HEADS, HEAD_DIM, EMBED, CLASSES, NDIMS };

struct random_layers random_layers;

/* A copy of a node, because adding nodes moves the array of nodes. */
static struct graph_node copy_of(const struct random_program *p, uint32_t node)
{
    return p->graph->nodes[node];
}

static bool same_order(const struct graph_node *n, const uint32_t *dims, uint32_t rank)
{
    return n->rank == rank && !memcmp(n->dims, dims, rank * sizeof *dims);
}

static bool listed(const uint32_t *dims, uint32_t rank, uint32_t dim)
{
    for (uint32_t d = 0; d < rank; d++)
        if (dims[d] == dim)
            return true;
    return false;
}

/* An array of exactly these dimensions: an existing one, a new one, or an existing one times a
 * matrix that adds the missing dimensions and sums over the surplus ones. */
static uint32_t fit(struct random_program *p, const uint32_t *dims, uint32_t rank)
{
    uint32_t x = random_pick(p), w, matrix[2 * GRAPH_RANK_MAX], n = 0;
    struct graph_node from = copy_of(p, x);

    if (same_order(&from, dims, rank))
        return x;
    if (random_chance(&p->random, 20))
        return random_leaf(p, dims, rank);
    for (uint32_t d = 0; d < rank; d++)
        if (!graph_has_dim(&from, dims[d]))
            matrix[n++] = dims[d];
    for (uint32_t d = 0; d < from.rank && n < 4; d++)
        if (!listed(dims, rank, from.dims[d]))
            matrix[n++] = from.dims[d];
    if (n == 0)
        return random_keep(p, graph_transpose(p->graph, random_name(p, "turned"), x, dims, rank),
                           p->bounds[x]);
    if (random_elements(p->graph, matrix, n) > RANDOM_ELEMENTS_MAX)
        return random_leaf(p, dims, rank);
    w = random_leaf(p, matrix, n);
    x = random_keep(p, graph_einsum(p->graph, random_name(p, "fit"), x, w, dims, rank),
                    2 * RANDOM_BOUND);
    return x;
}

static uint32_t new_dim(struct random_program *p, int64_t size)
{
    return graph_dim(p->graph, graph_text(p->graph, "dim%u", p->graph->ndims), size);
}

/* A dimension of a size that the node does not have yet: an existing one or a new one. */
static uint32_t other_dim(struct random_program *p, const struct graph_node *n, int64_t size)
{
    uint32_t start = random_below(&p->random, p->graph->ndims);

    for (uint32_t i = 0; i < p->graph->ndims && random_chance(&p->random, 90); i++) {
        uint32_t dim = (start + i) % p->graph->ndims;

        if (p->graph->dims[dim].size == size && !graph_has_dim(n, dim))
            return dim;
    }
    return new_dim(p, size);
}

/* Add an input of numbers below the size of `dim`. */
static uint32_t add_ids(struct random_program *p, uint32_t dim, const uint32_t *dims, uint32_t rank)
{
    struct kern_source source = {.seed = (uint32_t)random_next(&p->random),
                                 .modulus = (uint32_t)p->graph->dims[dim].size};
    uint32_t node = graph_input(p->graph, random_name(p, "ids"), SHD_I32, dims, rank, source);

    random_keep(p, node, 1);
    if (random_chance(&p->random, 85))
        random_ask(p, node);
    return node;
}

/* A node of at least `rank` dimensions, or GRAPH_NONE. */
static uint32_t pick_rank(struct random_program *p, uint32_t rank)
{
    for (int tries = 0; tries < 8; tries++) {
        uint32_t x = random_pick(p);

        if (p->graph->nodes[x].rank >= rank)
            return x;
    }
    return GRAPH_NONE;
}

static uint32_t any_dim(struct random_program *p, const struct graph_node *n)
{
    return n->dims[random_below(&p->random, n->rank)];
}

/* ---- ops ---- */

/* A cap and sinks, some of the time. */
static void add_scores(struct random_program *p, struct graph_attention *opts)
{
    static const uint32_t of_sinks = HEADS;

    opts->cap = random_chance(&p->random, 30) ? 0.4 : 0;
    if (random_chance(&p->random, 30))
        opts->sinks = fit(p, &of_sinks, 1);
    random_layers.capped += opts->cap > 0;
    random_layers.sunk += opts->sinks != GRAPH_NONE;
}

static void add_attention(struct random_program *p)
{
    uint32_t keys = random_chance(&p->random, 50) ? SEQ : KEYS;
    uint32_t heads = random_chance(&p->random, 25) ? HEADS : KV_HEADS;
    const uint32_t of_q[4] = {BATCH, SEQ, HEADS, HEAD_DIM};
    const uint32_t of_k[4] = {BATCH, keys, heads, HEAD_DIM};
    bool causal = random_chance(&p->random, 50);
    struct graph_attention opts = {GRAPH_ATTENTION_INIT, .scale = 0.5, .causal = causal};
    uint32_t q = fit(p, of_q, 4), k = fit(p, of_k, 4), v = fit(p, of_k, 4), o;

    add_scores(p, &opts);
    o = graph_attention(p->graph, random_name(p, "attention"), q, k, v, &opts);
    random_keep(p, o, p->bounds[v]);
    random_layers.attention++;
    random_layers.causal += causal;
    random_layers.grouped += p->graph->dims[heads].size < p->graph->dims[HEADS].size;
}

/* An array of these dimensions with elements between -most and most. */
static uint32_t small(struct random_program *p, const uint32_t *dims, uint32_t rank, double most)
{
    uint32_t x =
        graph_map(p->graph, random_name(p, "small"), KERN_TANH, fit(p, dims, rank), GRAPH_NONE, 0);

    x = random_keep(p, x, 1);
    return random_keep(
        p, graph_map(p->graph, random_name(p, "scaled"), KERN_SCALE, x, GRAPH_NONE, most), most);
}

static uint32_t sigmoid(struct random_program *p, const uint32_t *dims, uint32_t rank)
{
    return random_keep(p,
                       graph_map(p->graph, random_name(p, "sigmoid"), KERN_SIGMOID,
                                 fit(p, dims, rank), GRAPH_NONE, 0),
                       1);
}

/* Linear attention with a decay or without, of channels or heads, by the delta rule or not; keys so
 * short that states do not grow by the rule. */
static void add_linear_attention(struct random_program *p)
{
    const uint32_t of_q[4] = {BATCH, SEQ, HEADS, HEAD_DIM};
    const uint32_t of_v[4] = {BATCH, SEQ, HEADS, KV_HEADS};
    const uint32_t of_state[4] = {BATCH, HEADS, HEAD_DIM, KV_HEADS};
    struct graph_linear_attention opts = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE,
                                          .chunk = 1 + random_below(&p->random, 6)};
    uint32_t q = small(p, of_q, 4, 0.3), k = small(p, of_q, 4, 0.3), v = fit(p, of_v, 4), o;
    double bound = 2 * p->bounds[v];

    if (random_chance(&p->random, 70)) {
        opts.decay = sigmoid(p, of_q, random_chance(&p->random, 50) ? 3 : 4);
        opts.decay = random_keep(
            p, graph_map(p->graph, random_name(p, "decay"), KERN_NEG, opts.decay, GRAPH_NONE, 0),
            1);
    }
    if (random_chance(&p->random, 50))
        opts.beta = sigmoid(p, of_q, 3);
    if (random_chance(&p->random, 30) && p->dtype != SHD_BF16 && p->dtype != SHD_F16)
        opts.state = small(p, of_state, 4, 1);
    o = graph_linear_attention(p->graph, random_name(p, "linear_attention"), q, k, v, &opts);
    random_keep(p, o, bound * (double)p->graph->dims[SEQ].size);
}

/* Add documents of random lengths in some rows; the arrays have room for all rows. */
static void add_documents(struct random_program *p, struct kern_sight *sight, int32_t *first,
                          int32_t *last)
{
    int64_t n = sight->order.extent, end = 0;

    sight->rows = 1 + random_below(&p->random, (uint32_t)p->graph->dims[BATCH].size);
    sight->first = first;
    sight->last = last;
    for (int64_t row = 0; row < sight->rows; row++)
        for (int64_t at = 0; at < n; at++) {
            int64_t begin = at == 0 ? 0 : first[row * n + at - 1];

            if (at == 0 || at == end) {
                begin = at;
                end = at + 1 + random_below(&p->random, 5);
                end = end < n ? end : n;
            }
            first[row * n + at] = (int32_t)begin;
            last[row * n + at] = (int32_t)end - 1;
        }
}

static const struct kern_sight *random_sight(struct random_program *p)
{
    int32_t first[48], last[48]; /* of at most 4 rows of 12 */
    int64_t n = p->graph->dims[SEQ].size, parts = 1 + random_below(&p->random, 3);
    enum kern_order_kind kind = (enum kern_order_kind)random_below(&p->random, KERN_NORDERS);
    struct kern_sight sight = {.causal = random_chance(&p->random, 70)};

    if (n % kern_order_unit(kind, parts))
        parts = 1;
    sight.order = (struct kern_order){kind, parts, n};
    if (random_chance(&p->random, 30))
        sight.window = 1 + random_below(&p->random, (uint32_t)n);
    if (random_chance(&p->random, 30))
        sight.chunk = 1 + random_below(&p->random, (uint32_t)n);
    if (random_chance(&p->random, 50))
        add_documents(p, &sight, first, last);
    return graph_sight(p->graph, &sight);
}

/* An array of spans or positions, in any order of dimensions. */
static uint32_t sight_array(struct random_program *p, const struct kern_sight *sight,
                            enum kern_sight_array array, uint32_t keys, int64_t moved)
{
    uint32_t span = graph_dim(p->graph, "span", 2), node;
    const uint32_t of_spans[3] = {BATCH, SEQ, span}, rows = sight->rows > 0;
    const struct kern_source source = {.sight = sight, .sight_array = array, .moved = moved};

    node = array == KERN_POSITIONS
               ? graph_input(p->graph, random_name(p, "positions"), SHD_I32, &keys, 1, source)
               : graph_input(p->graph, random_name(p, "spans"), SHD_I32, of_spans + 1 - rows,
                             2 + rows, source);
    random_keep(p, node, 1);
    if (random_chance(&p->random, 50))
        random_ask(p, node);
    return node;
}

/* Add attention by positions.  Some have their keys in blocks: one step of a ring, or two steps,
 * the second continuing the first. */
static void add_sighted_attention(struct random_program *p)
{
    bool same = p->graph->dims[KEYS].size == p->graph->dims[SEQ].size;
    uint32_t keys = same && random_chance(&p->random, 50) ? KEYS : SEQ;
    uint32_t heads = random_chance(&p->random, 25) ? HEADS : KV_HEADS;
    uint32_t width = random_chance(&p->random, 50) ? HEAD_DIM : EMBED;
    const uint32_t of_q[4] = {BATCH, SEQ, HEADS, HEAD_DIM};
    const uint32_t of_k[4] = {BATCH, keys, heads, HEAD_DIM};
    const uint32_t of_v[4] = {BATCH, keys, heads, width};
    uint32_t q = fit(p, of_q, 4), o = GRAPH_NONE, steps = 1, before = GRAPH_NONE;
    const struct kern_sight *sight = random_sight(p);
    int64_t n = p->graph->dims[SEQ].size;
    struct graph_attention opts = {GRAPH_ATTENTION_INIT, .scale = 0.5, .sight = sight, .blocks = 1};
    double bound = 1;

    if (n % 2 == 0 && random_chance(&p->random, 60))
        opts.blocks = n % 4 == 0 && random_chance(&p->random, 50) ? 4 : 2;
    opts.shift = random_below(&p->random, opts.blocks);
    if (opts.blocks > 1 && !p->backward && random_chance(&p->random, 50))
        steps = 2;
    opts.spans = sight_array(p, sight, KERN_SPANS, keys, 0);
    for (uint32_t step = 0; step < steps; step++) {
        uint32_t k = fit(p, of_k, 4), v = fit(p, of_v, 4);

        opts.positions = sight_array(p, sight, KERN_POSITIONS, keys, opts.shift * n / opts.blocks);
        opts.before = before;
        opts.more = step + 1 < steps;
        if (!opts.more && random_chance(&p->random, 50))
            add_scores(p, &opts);
        o = graph_attention(p->graph, random_name(p, "attention"), q, k, v, &opts);
        bound = p->bounds[v] > bound ? p->bounds[v] : bound;
        if (opts.more)
            random_keep(p, o, 0); /* not scaled, since the next block continues the result */
        before = o;
        opts.shift = (opts.shift + 1) % opts.blocks;
    }
    random_keep(p, o, bound);
    random_layers.sighted++;
    random_layers.in_blocks += opts.blocks > 1;
    random_layers.goes_on += steps > 1;
}

static void add_rope(struct random_program *p)
{
    const uint32_t of_q[4] = {BATCH, SEQ, HEADS, HEAD_DIM};
    uint32_t x = random_chance(&p->random, 50) ? fit(p, of_q, 4) : pick_rank(p, 2);
    uint32_t position, pair;
    struct kern_rotation *rotation;
    struct graph_node n;
    double bound;

    if (x == GRAPH_NONE)
        return;
    bound = p->bounds[x];
    n = copy_of(p, x);
    position = any_dim(p, &n);
    pair = any_dim(p, &n);
    if (position == pair || p->graph->dims[pair].size % 2)
        return;
    rotation = graph_rotation(p->graph, x, pair, 100, random_chance(&p->random, 50));
    if (rotation && random_chance(&p->random, 30)) {
        rotation->npairs = 1 + random_below(&p->random, (uint32_t)rotation->npairs);
        rotation->factor = 1.25;
        rotation->theta = 0;
    }
    x = graph_rope(p->graph, random_name(p, "rope"), x, position, pair, random_below(&p->random, 5),
                   rotation);
    random_keep(p, x, 2 * bound);
}

/* eps is large, because a norm of nearly equal elements would amplify their rounding errors. */
static void add_norm(struct random_program *p)
{
    uint32_t x = pick_rank(p, 1), scale = GRAPH_NONE, bias = GRAPH_NONE;
    bool centred = random_chance(&p->random, 50);
    struct graph_node n;

    if (x == GRAPH_NONE)
        return;
    n = copy_of(p, x);
    if (random_chance(&p->random, 70))
        scale = random_leaf(p, &n.dims[n.rank - 1], 1);
    if (centred && random_chance(&p->random, 50))
        bias = random_leaf(p, &n.dims[n.rank - 1], 1);
    if (centred)
        x = layer_layer_norm(p->graph, random_name(p, "norm"), x, scale, bias, 0.1);
    else
        x = layer_rms_norm(p->graph, random_name(p, "norm"), x, scale, 0.1);
    random_keep(p, x, 3);
}

/* An array of at least `rank` dimensions and two of these, possibly the same one; GRAPH_NONE if
 * there is no such array. */
static uint32_t pick_two_dims(struct random_program *p, uint32_t rank, uint32_t *a, uint32_t *b)
{
    uint32_t x = pick_rank(p, rank);
    struct graph_node n;

    if (x == GRAPH_NONE)
        return x;
    n = copy_of(p, x);
    *a = any_dim(p, &n);
    *b = any_dim(p, &n);
    return x;
}

static void add_softmax(struct random_program *p)
{
    uint32_t dim, queries, x = pick_two_dims(p, 1, &dim, &queries);

    if (x == GRAPH_NONE)
        return;
    if (queries != dim && random_chance(&p->random, 50)) {
        x = graph_causal_mask(p->graph, random_name(p, "mask"), x, queries, dim, -1e9);
        x = random_keep(p, layer_softmax(p->graph, random_name(p, "softmax"), x, dim), 1);
    } else if (random_chance(&p->random, 50)) {
        random_keep(p, layer_softmax(p->graph, random_name(p, "softmax"), x, dim), 1);
    } else {
        random_keep(p, layer_log_sum_exp(p->graph, random_name(p, "lse"), x, dim), RANDOM_BOUND);
    }
}

static void add_causal(struct random_program *p)
{
    uint32_t queries, keys, x = pick_two_dims(p, 2, &queries, &keys);

    if (x != GRAPH_NONE && queries != keys)
        random_keep(p, graph_causal_mask(p->graph, random_name(p, "mask"), x, queries, keys, -0.75),
                    p->bounds[x] + 1);
}

static void add_embed(struct random_program *p)
{
    const uint32_t of_table[2] = {CLASSES, EMBED}, of_ids[2] = {BATCH, SEQ};
    uint32_t rank = 1 + random_below(&p->random, 2);
    uint32_t table = fit(p, of_table, 2);
    uint32_t ids = add_ids(p, CLASSES, &of_ids[2 - rank], rank);

    random_keep(p, graph_embed(p->graph, random_name(p, "embed"), table, ids), p->bounds[table]);
}

/* The dimensions of x except one. */
static uint32_t without(const struct graph_node *n, uint32_t dim, uint32_t *dims)
{
    uint32_t rank = 0;

    for (uint32_t d = 0; d < n->rank; d++)
        if (n->dims[d] != dim)
            dims[rank++] = n->dims[d];
    return rank;
}

static void add_pick(struct random_program *p)
{
    uint32_t x = pick_rank(p, 1), dims[GRAPH_RANK_MAX], rank, dim, ids;
    struct graph_node n;

    if (x == GRAPH_NONE)
        return;
    n = copy_of(p, x);
    dim = any_dim(p, &n);
    rank = without(&n, dim, dims);
    ids = add_ids(p, dim, dims, rank);
    random_keep(p, graph_pick(p->graph, random_name(p, "pick"), x, ids, dim), p->bounds[x]);
}

/* An array added up at ids, along a dimension that it lacks: whole rows, or element by element. */
static void add_sums(struct random_program *p)
{
    uint32_t x = pick_rank(p, 2), ids, rank, dim;
    bool rows = random_chance(&p->random, 50);
    struct graph_node n;
    double bound;

    if (x == GRAPH_NONE)
        return;
    n = copy_of(p, x);
    bound = p->bounds[x];
    rank = rows ? 1 + random_below(&p->random, n.rank - 1) : n.rank;
    dim = other_dim(p, &n, 2 + random_below(&p->random, 6));
    if (n.rank == GRAPH_RANK_MAX || random_elements(p->graph, n.dims, n.rank) > 500)
        return;
    ids = add_ids(p, dim, n.dims, rank);
    x = rows ? graph_embed_add(p->graph, random_name(p, "embed_add"), x, ids, dim)
             : graph_pick_add(p->graph, random_name(p, "pick_add"), x, ids, dim,
                              random_below(&p->random, rank));
    random_keep(p, x, random_elements(p->graph, n.dims, rank) * bound);
}

static void add_xent(struct random_program *p)
{
    const uint32_t of_logits[3] = {BATCH, SEQ, CLASSES};
    uint32_t x = random_chance(&p->random, 50) ? fit(p, of_logits, 3) : pick_rank(p, 1);
    uint32_t dims[GRAPH_RANK_MAX], rank, dim, ids, mask = GRAPH_NONE;
    struct graph_node n;

    if (x == GRAPH_NONE)
        return;
    n = copy_of(p, x);
    dim = any_dim(p, &n);
    rank = without(&n, dim, dims);
    ids = add_ids(p, dim, dims, rank);
    if (random_chance(&p->random, 50))
        mask = random_positive(p, random_leaf(p, dims, rank));
    random_keep(p, layer_cross_entropy(p->graph, random_name(p, "xent"), x, dim, ids, mask).loss,
                RANDOM_BOUND);
}

static void add_repeat(struct random_program *p)
{
    const uint32_t of_k[4] = {BATCH, KEYS, KV_HEADS, HEAD_DIM};
    bool heads = random_chance(&p->random, 50);
    uint32_t x = heads ? fit(p, of_k, 4) : pick_rank(p, 1), from, to = HEADS;
    struct graph_node n;

    if (x == GRAPH_NONE)
        return;
    n = copy_of(p, x);
    from = heads ? KV_HEADS : any_dim(p, &n);
    if (!heads)
        to = other_dim(p, &n, p->graph->dims[from].size * (1 + random_below(&p->random, 3)));
    if (random_elements(p->graph, n.dims, n.rank) > RANDOM_ELEMENTS_MAX / 3.0)
        return;
    random_keep(p, graph_repeat(p->graph, random_name(p, "repeat"), x, from, to), p->bounds[x]);
}

/* Add an array of codes, with a scale for each few elements along a dimension. */
static void add_dequantize(struct random_program *p)
{
    uint32_t x = pick_rank(p, 1), codes, dim, dims[GRAPH_RANK_MAX];
    struct kern_source source = {.seed = (uint32_t)random_next(&p->random), .modulus = 100};
    static const double largest[] = {[KERN_INT8] = 128, [KERN_NF4] = 1, [KERN_INT4] = 8};
    enum kern_quant_type type = KERN_INT8;
    struct graph_node n;
    int64_t several;

    if (x == GRAPH_NONE)
        return;
    n = copy_of(p, x);
    dim = any_dim(p, &n);
    several = p->graph->dims[dim].size;
    if (random_chance(&p->random, 50) && several % 2 == 0)
        several = 2;
    memcpy(dims, n.dims, sizeof dims);
    if (p->graph->dims[dim].size % 2 == 0 && random_chance(&p->random, 50)) {
        type = random_chance(&p->random, 50) ? KERN_NF4 : KERN_INT4;
        source.modulus = 256;
        dims[graph_place(&n, dim)] = graph_dim_of(p->graph, dim, 2);
    }
    codes = graph_input(p->graph, random_name(p, "codes"), type == KERN_INT8 ? SHD_I8 : SHD_U8,
                        dims, n.rank, source);
    random_keep(p, codes, 1);
    if (random_chance(&p->random, 85))
        random_ask(p, codes);
    dims[graph_place(&n, dim)] = graph_dim_of(p->graph, dim, several);
    x = random_leaf(p, dims, n.rank);
    random_keep(p,
                graph_dequantize(p->graph, random_name(p, "dequantized"), type, n.dtype, codes, x,
                                 n.dims, n.rank),
                largest[type] * p->bounds[x]);
}

static void add_slice(struct random_program *p)
{
    uint32_t x = pick_rank(p, 1), dim;
    struct graph_node n;
    int64_t size, count;

    if (x == GRAPH_NONE)
        return;
    n = copy_of(p, x);
    dim = any_dim(p, &n);
    size = p->graph->dims[dim].size;
    count = 1 + random_below(&p->random, (uint32_t)size);
    random_keep(p,
                graph_slice(p->graph, random_name(p, "slice"), x, dim, other_dim(p, &n, count),
                            random_below(&p->random, (uint32_t)(size - count + 1))),
                p->bounds[x]);
}

static int64_t random_step(struct random_program *p)
{
    int64_t step = 1 + random_below(&p->random, 3);

    return random_chance(&p->random, 40) ? -step : step;
}

/* Slices and padding with any steps, in either direction. */
static void add_placed(struct random_program *p)
{
    struct graph_placing placing = {.from_step = random_step(p), .to_step = random_step(p)};
    uint32_t x = pick_rank(p, 1), dim;
    struct graph_node n;
    int64_t size;

    if (x == GRAPH_NONE)
        return;
    n = copy_of(p, x);
    dim = any_dim(p, &n);
    size = 1 + random_below(&p->random, 12);
    placing.from = random_below(&p->random, (uint32_t)p->graph->dims[dim].size);
    placing.to = random_below(&p->random, (uint32_t)size);
    placing.fill = random_chance(&p->random, 50) ? 0 : 0.75;
    if (random_elements(p->graph, n.dims, n.rank) * (double)size > RANDOM_ELEMENTS_MAX)
        return;
    random_keep(
        p,
        graph_placed(p->graph, random_name(p, "placed"), x, dim, other_dim(p, &n, size), &placing),
        p->bounds[x] + 1);
}

/* Windows of any form, often as many as the dimension has elements or a part of that, as
 * convolutions and pooling have; now and then their sum right away. */
static void add_windows(struct random_program *p)
{
    struct graph_taps how = {.stride = 1 + random_below(&p->random, 3),
                             .dilation = 1 + random_below(&p->random, 2),
                             .low = (int64_t)random_below(&p->random, 5) - 1,
                             .fill = random_chance(&p->random, 60) ? 0 : -0.75};
    uint32_t x = pick_rank(p, 1), dim, window_dim, tap_dim;
    struct graph_node n;
    int64_t size, taps = 1 + random_below(&p->random, 4);
    double bound;

    if (x == GRAPH_NONE)
        return;
    n = copy_of(p, x);
    bound = p->bounds[x] + 1;
    dim = window_dim = any_dim(p, &n);
    size = p->graph->dims[dim].size;
    if (n.rank >= GRAPH_RANK_MAX - 1 || random_elements(p->graph, n.dims, n.rank) > 500)
        return;
    if (size % how.stride || random_chance(&p->random, 30))
        window_dim = other_dim(p, &n, 1 + random_below(&p->random, 12));
    else if (how.stride > 1)
        window_dim = other_dim(p, &n, size / how.stride);
    tap_dim = graph_dim(p->graph, graph_text(p->graph, "taps%u", p->graph->ndims), taps);
    x = random_keep(
        p, graph_windows(p->graph, random_name(p, "windows"), x, dim, window_dim, tap_dim, &how),
        bound);
    if (random_chance(&p->random, 50))
        random_keep(p,
                    graph_windows_add(p->graph, random_name(p, "windows_add"), x, window_dim,
                                      tap_dim, dim, &how),
                    (double)taps * bound);
}

/* Scans, with factors and products below 1. */
static void add_scan(struct random_program *p)
{
    enum kern_scan_fn fn = (enum kern_scan_fn)random_below(&p->random, 5);
    uint32_t x = pick_rank(p, 1), a = GRAPH_NONE, dim;
    struct graph_node n;
    double bound;

    if (x == GRAPH_NONE || (p->backward && (fn == KERN_SCAN_MAX || fn == KERN_SCAN_MIN)))
        return;
    n = copy_of(p, x);
    dim = any_dim(p, &n);
    bound = p->bounds[x];
    if (fn == KERN_SCAN_PROD) {
        x = random_keep(
            p, graph_map(p->graph, random_name(p, "small"), KERN_TANH, x, GRAPH_NONE, 0), 1);
        bound = 1;
    } else if (fn == KERN_SCAN_LINEAR) {
        a = graph_map(p->graph, random_name(p, "factors"), KERN_TANH, fit(p, n.dims, n.rank),
                      GRAPH_NONE, 0);
        a = random_keep(p, a, 1);
    }
    if (fn == KERN_SCAN_SUM || fn == KERN_SCAN_LINEAR)
        bound *= (double)p->graph->dims[dim].size;
    random_keep(
        p,
        graph_scan(p->graph, random_name(p, "scan"), fn, x, a, dim, random_chance(&p->random, 50)),
        bound);
}

static void add_shift(struct random_program *p)
{
    uint32_t x = pick_rank(p, 1), dim;
    struct graph_node n;
    int64_t size;

    if (x == GRAPH_NONE)
        return;
    n = copy_of(p, x);
    dim = any_dim(p, &n);
    size = p->graph->dims[dim].size;
    random_keep(p,
                graph_shift(p->graph, random_name(p, "shift"), x, dim,
                            random_below(&p->random, (uint32_t)(2 * size + 1)) - size),
                p->bounds[x]);
}

/* x with two adjacent dimensions merged, or with a dimension split in two. */
static void add_reshape(struct random_program *p)
{
    uint32_t x = pick_rank(p, 2), dims[GRAPH_RANK_MAX], at, rank = 0;
    struct graph_node n;
    int64_t size;

    if (x == GRAPH_NONE)
        return;
    n = copy_of(p, x);
    at = random_below(&p->random, n.rank - 1);
    size = p->graph->dims[n.dims[at]].size;
    for (uint32_t d = 0; d < n.rank; d++)
        if (d != at || size % 2 || n.rank == GRAPH_RANK_MAX) {
            dims[rank++] = n.dims[d];
        } else {
            dims[rank++] = new_dim(p, size / 2);
            dims[rank++] = new_dim(p, 2);
        }
    if (rank == n.rank) {
        size *= p->graph->dims[n.dims[at + 1]].size;
        memmove(&dims[at], &dims[at + 1], (rank - at - 1) * sizeof dims[0]);
        dims[at] = new_dim(p, size);
        rank--;
    }
    random_keep(p, graph_reshape(p->graph, random_name(p, "reshape"), x, dims, rank), p->bounds[x]);
}

/* Concatenate x with itself, or with an array that differs only in the dimension of
 * concatenation. */
static void add_concat(struct random_program *p)
{
    uint32_t a = pick_rank(p, 1), b, dim, b_dim, dims[GRAPH_RANK_MAX], at = 0;
    struct graph_node n;
    int64_t size;

    if (a == GRAPH_NONE)
        return;
    n = copy_of(p, a);
    if (random_elements(p->graph, n.dims, n.rank) > RANDOM_ELEMENTS_MAX / 3.0)
        return;
    at = random_below(&p->random, n.rank);
    b_dim = dim = n.dims[at];
    memcpy(dims, n.dims, sizeof dims);
    if (random_chance(&p->random, 50))
        b_dim = dims[at] = other_dim(p, &n, 1 + random_below(&p->random, 12));
    b = fit(p, dims, n.rank);
    size = p->graph->dims[dim].size + p->graph->dims[b_dim].size;
    random_keep(
        p,
        graph_concat(p->graph, random_name(p, "concat"), a, dim, b, b_dim, other_dim(p, &n, size)),
        RANDOM_BOUND);
}

static void add_transpose(struct random_program *p)
{
    uint32_t x = pick_rank(p, 2), shift;
    struct graph_node n;
    uint32_t dims[GRAPH_RANK_MAX];

    if (x == GRAPH_NONE)
        return;
    n = copy_of(p, x);
    shift = 1 + random_below(&p->random, n.rank - 1);
    for (uint32_t d = 0; d < n.rank; d++)
        dims[d] = n.dims[(d + shift) % n.rank];
    random_keep(p, graph_transpose(p->graph, random_name(p, "turned"), x, dims, n.rank),
                p->bounds[x]);
}

/* A matrix to multiply by, with elements so small that sums stay within bounds. */
static uint32_t small_leaf(struct random_program *p, const uint32_t *dims, uint32_t rank)
{
    uint32_t w = random_leaf(p, dims, rank);

    return random_keep(
        p, graph_map(p->graph, random_name(p, "small"), KERN_SCALE, w, GRAPH_NONE, 0.2), 1);
}

/* A norm now and then, of either kind, with a scale and a bias or without. */
static struct norm_weights some_norm(struct random_program *p, uint32_t percent)
{
    static const uint32_t embed = EMBED;
    struct norm_weights n = {.used = random_chance(&p->random, percent),
                             .centred = random_chance(&p->random, 50),
                             .one_plus = random_chance(&p->random, 30),
                             .scale = GRAPH_NONE,
                             .bias = GRAPH_NONE,
                             .eps = BLOCK_LAYER_NORM_EPS};

    if (n.used && random_chance(&p->random, 80))
        n.scale = random_leaf(p, &embed, 1);
    if (n.used && n.centred && random_chance(&p->random, 80))
        n.bias = random_leaf(p, &embed, 1);
    return n;
}

static void add_block(struct random_program *p)
{
    static const uint32_t of_x[3] = {BATCH, SEQ, EMBED}, of_q[3] = {EMBED, HEADS, HEAD_DIM},
                          of_k[3] = {EMBED, KV_HEADS, HEAD_DIM}, of_o[3] = {HEADS, HEAD_DIM, EMBED},
                          of_up[2] = {EMBED, CLASSES}, of_down[2] = {CLASSES, EMBED}, embed = EMBED;
    struct attention_opts attention = {.causal = random_chance(&p->random, 50),
                                       .rope_theta = random_chance(&p->random, 50) ? 100 : 0,
                                       .rope_interleaved = random_chance(&p->random, 50)};
    bool gated = random_chance(&p->random, 50), biased = random_chance(&p->random, 50);
    const struct block_opts opts = {.attention = &attention,
                                    .activation = {gated ? KERN_SILU : KERN_GELU,
                                                   random_chance(&p->random, 30) ? 0.5 : 0,
                                                   random_chance(&p->random, 20) ? 0.5 : 0},
                                    .order = random_chance(&p->random, 40)   ? BLOCK_BESIDE
                                             : random_chance(&p->random, 20) ? BLOCK_ATTENTION
                                             : random_chance(&p->random, 20) ? BLOCK_MLP
                                             : random_chance(&p->random, 20) ? BLOCK_NORMED
                                                                             : BLOCK_SERIAL,
                                    .residual_scale = random_chance(&p->random, 30) ? 0.5 : 0,
                                    .skip_scale = random_chance(&p->random, 20) ? 1.5 : 0,
                                    .attention_scale = random_chance(&p->random, 20) ? 0.5 : 0,
                                    .mlp_scale = random_chance(&p->random, 20) ? 0.5 : 0};
    struct block_weights w = {.latent = NULL};
    uint32_t x = fit(p, of_x, 3), before;

    w.attn.q = small_leaf(p, of_q, 3);
    w.attn.k = small_leaf(p, of_k, 3);
    w.attn.v = small_leaf(p, of_k, 3);
    w.attn.o = small_leaf(p, of_o, 3);
    w.mlp.up = small_leaf(p, of_up, 2);
    w.mlp.gate = gated ? small_leaf(p, of_up, 2) : GRAPH_NONE;
    w.mlp.down = small_leaf(p, of_down, 2);
    w.mlp.gate_bias = gated && biased ? random_leaf(p, of_up + 1, 1) : GRAPH_NONE;
    w.mlp.up_bias = biased ? random_leaf(p, of_up + 1, 1) : GRAPH_NONE;
    w.mlp.down_bias = biased ? random_leaf(p, &embed, 1) : GRAPH_NONE;
    w.norm1 = some_norm(p, 80);
    w.norm2 = some_norm(p, 80);
    w.norm1_after = some_norm(p, 30);
    w.norm2_after = some_norm(p, 30);
    before = p->graph->nnodes;
    x = layer_block(p->graph, random_name(p, "block"), x, &w, &opts);
    random_keep(p, x, 2 * RANDOM_BOUND);
    for (uint32_t n = before; x != GRAPH_NONE && n < p->graph->nnodes; n++)
        if (p->graph->nodes[n].op == GRAPH_CONSTRAINT && random_chance(&p->random, 40))
            random_ask(p, n);
    random_layers.blocks++;
}

/* ---- experts ---- */

/* The dimensions of a layer with experts. */
struct expert_dims {
    uint32_t expert, choice, slot, group;
};

static struct kern_routing_spec random_routing(struct random_program *p, int64_t groups)
{
    return (struct kern_routing_spec){
        .kind = (enum kern_routing_kind)random_below(&p->random, KERN_ROUTING_NKINDS),
        .tokens = p->graph->dims[BATCH].size / groups * p->graph->dims[SEQ].size,
        .choices = 1 + random_below(&p->random, 2),
        .experts = 4 + 2 * random_below(&p->random, 3),
        .capacity = random_below(&p->random, 6), /* 0: no token is dropped */
        .slot_major = random_chance(&p->random, 50),
        .skew = 1,
        .share = 0.5,
        .ranks = 2,
        .seed = (uint32_t)random_next(&p->random)};
}

/* The given routing, or with probability 1/2 a routing to expert copies. */
static const struct kern_routing *random_copies(struct random_program *p,
                                                const struct kern_routing *r,
                                                const struct kern_routing_spec *spec)
{
    uint32_t more = 2 * (1 + random_below(&p->random, 3));

    if (!r || random_chance(&p->random, 50))
        return r;
    return graph_routing_to_copies(p->graph, r, spec, more, 1 + random_below(&p->random, 2));
}

/* A constraint on a node, half of them with a random sharding. */
static uint32_t placed(struct random_program *p, uint32_t node, double bound)
{
    node = random_keep(p, graph_constraint(p->graph, random_name(p, "place"), node), bound);
    if (node != GRAPH_NONE && random_chance(&p->random, 50))
        random_ask(p, node);
    return node;
}

/* Dispatch tokens to experts by a routing, multiply them there, and combine the results. */
static uint32_t through_experts(struct random_program *p, const struct kern_routing *routing,
                                const struct expert_dims *d, uint32_t ids)
{
    static const uint32_t tokens[3] = {BATCH, SEQ, EMBED};
    const uint32_t weight[3] = {d->expert, EMBED, CLASSES}, out[3] = {d->expert, d->slot, CLASSES};
    uint32_t groups = (uint32_t)p->graph->dims[d->group].size;
    uint32_t x = fit(p, tokens, 3), w = small_leaf(p, weight, 3), slots, rows, counts;
    double bound = p->bounds[x];

    slots = graph_slots(p->graph, random_name(p, "slots"), ids, routing, d->group, d->expert);
    random_keep(p, slots, 1);
    if (slots == GRAPH_NONE)
        return GRAPH_NONE;
    counts = p->graph->nodes[slots].extras[0];
    rows = graph_dispatch(p->graph, random_name(p, "dispatch"), x, ids, slots, d->expert, d->slot,
                          groups, routing);
    rows = placed(p, random_keep(p, rows, bound), bound);
    rows = graph_grouped(p->graph, random_name(p, "grouped"), rows, w, counts, routing, d->slot,
                         out, 3);
    rows = placed(p, random_keep(p, rows, RANDOM_BOUND), RANDOM_BOUND);
    return random_keep(
        p, graph_combine(p->graph, random_name(p, "combine"), rows, ids, slots, groups, routing),
        RANDOM_BOUND);
}

/* The largest scores of each token, which weigh the combined results. */
static uint32_t random_gates(struct random_program *p, const struct expert_dims *d)
{
    const uint32_t dims[3] = {BATCH, SEQ, d->expert};
    uint32_t scores = random_leaf(p, dims, 3), ids;

    ids = graph_topk(p->graph, random_name(p, "topk"), scores, d->expert, d->choice, NULL);
    random_keep(p, ids, 1);
    return random_keep(p, graph_pick(p->graph, random_name(p, "gates"), scores, ids, d->expert), 1);
}

static void add_experts(struct random_program *p)
{
    static const uint32_t y[3] = {BATCH, SEQ, CLASSES};
    struct graph *g = p->graph;
    int64_t groups = g->dims[BATCH].size % 2 ? 1 : 1 + random_below(&p->random, 2);
    const struct kern_routing_spec spec = random_routing(p, groups);
    const struct kern_routing *chosen = graph_routing(g, &spec);
    const struct kern_routing *r = random_copies(p, chosen, &spec);
    struct expert_dims d;
    uint32_t id[3] = {BATCH, SEQ}, ids, places, back, count;

    if (!r)
        return;
    d.expert = graph_dim(g, graph_text(g, "expert%u", r->experts), r->experts);
    d.choice = id[2] = graph_dim(g, graph_text(g, "choice%u", r->choices), r->choices);
    d.slot = graph_dim(g, graph_text(g, "slot%u", g->ndims), groups * r->capacity);
    d.group = graph_dim(g, graph_text(g, "group%d", (int)groups), groups);
    ids = graph_input(g, random_name(p, "routed"), SHD_I32, id, 3,
                      (struct kern_source){.routing = chosen});
    random_keep(p, ids, 1);
    if (ids != GRAPH_NONE && random_chance(&p->random, 70))
        random_ask(p, ids);
    places = r->copies ? random_keep(p, graph_deal(g, random_name(p, "deal"), ids, r), 1) : ids;
    back = through_experts(p, r, &d, places);
    random_keep(p, graph_einsum(g, random_name(p, "weighed"), back, random_gates(p, &d), y, 3),
                RANDOM_BOUND);
    count = graph_count(g, random_name(p, "count"), p->dtype, places, d.expert);
    random_keep(p, graph_map(g, random_name(p, "part"), KERN_SCALE, count, GRAPH_NONE, 1e-2), 1);
}

/* ---- programs ---- */

static void add_any(struct random_program *p)
{
    static void (*const adders[])(struct random_program *) = {
        add_attention,
        add_attention,
        add_rope,
        add_norm,
        add_softmax,
        add_causal,
        add_embed,
        add_pick,
        add_sums,
        add_xent,
        add_repeat,
        add_repeat,
        add_dequantize,
        add_slice,
        add_placed,
        add_windows,
        add_windows,
        add_scan,
        add_concat,
        add_block,
        add_transpose,
        add_reshape,
        add_shift,
        random_op,
        random_op,
        random_op,
        random_op,
        add_attention,
        add_sighted_attention,
        add_sighted_attention,
        add_linear_attention,
        add_linear_attention,
        add_experts,
    };

    adders[random_below(&p->random, COUNT(adders))](p);
}

static void add_dims(struct random_program *p)
{
    static const struct {
        const char *name;
        int64_t sizes[4];
    } dims[NDIMS] = {
        {"batch", {1, 2, 3, 4}},  {"seq", {4, 6, 8, 12}},     {"keys", {4, 6, 8, 12}},
        {"heads", {4, 6, 8, 12}}, {"kv_heads", {1, 2, 4, 2}}, {"head_dim", {2, 4, 6, 8}},
        {"embed", {4, 6, 8, 12}}, {"classes", {4, 6, 8, 12}},
    };
    int64_t heads = 0;

    for (int d = 0; d < NDIMS; d++) {
        int64_t size = dims[d].sizes[random_below(&p->random, 4)];

        if (d == HEADS)
            heads = size;
        while (d == KV_HEADS && heads % size)
            size--;
        (void)graph_dim(p->graph, dims[d].name, size);
    }
}

struct random_program *random_layer_program(uint64_t seed)
{
    static const uint32_t of_x[3] = {BATCH, SEQ, EMBED};
    struct random_program *p = random_program_create(seed);

    add_dims(p);
    for (uint32_t rank = 1; rank <= 3; rank++)
        random_leaf(p, of_x + 3 - rank, rank);
    for (uint32_t n = 4 + random_below(&p->random, 6); n > 0 && p->graph->err.status == SHD_OK; n--)
        add_any(p);
    random_program_finish(p);
    return p;
}
