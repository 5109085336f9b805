/* Tests the derivatives of graph.h and layers/ against central finite differences in float64:
 * attention, norms, look-ups, experts and so on.  Decisions of routers have no derivative: no two
 * scores here are so close that a difference would change a decision.
 *
 * Dimensions are letters: a has 2 elements, b 3, and so on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "gradient_check.h"
#include "graph/layers/adapter.h"
#include "graph/layers/block.h"
#include "graph/layers/latent_attention.h"
#include "graph/layers/lightning.h"
#include "graph/layers/mamba.h"
#include "graph/layers/moe.h"
#include "graph/layers/norm.h"
#include "graph/layers/softmax.h"
#include "graph/layers/xent.h"
#include "graph/ops.h"
#include "../support/tap.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint32_t dim(struct maker *m, const char *letter)
{
    uint32_t d;

    dims_of(m->graph, letter, &d);
    return d;
}

/* An input of numbers below `modulus`. */
static uint32_t ids(struct maker *m, const char *letters, uint32_t modulus)
{
    uint32_t dims[GRAPH_RANK_MAX], rank = dims_of(m->graph, letters, dims);

    return graph_input(m->graph, "ids", SHD_I32, dims, rank,
                       (struct kern_source){.seed = 7, .modulus = modulus});
}

/* ---- attention ---- */

struct attention_case {
    const char *what, *q, *k;
    bool causal;
};

static const struct attention_case attentions[] = {
    {"attention", "bced", "bced", false},
    {"causal attention", "bced", "bced", true},
    {"attention, 6 heads to 2", "bced", "bcad", false},
    {"causal attention, 6 heads to 2", "bced", "bcad", true},
    {"attention, 6 heads to 3", "aced", "acbd", false},
    {"causal attention to other keys, 6 heads to 2", "bced", "bfad", true},
    {"attention to fewer keys", "bfed", "bcad", true},
    {"attention of one letter's heads: 2 to 2", "bcad", "bcad", true},
};

static uint32_t build_attention(struct maker *m, const void *arg)
{
    const struct attention_case *c = arg;
    const struct graph_attention opts = {GRAPH_ATTENTION_INIT, .scale = 0.7, .causal = c->causal};
    uint32_t q = checked_leaf(m, c->q), k = checked_leaf(m, c->k), v = checked_leaf(m, c->k);

    return graph_attention(m->graph, "attention", q, k, v, &opts);
}

static const struct graph_attention causal_opts = {GRAPH_ATTENTION_INIT, .scale = 0.7,
                                                   .causal = true};

static uint32_t build_self_attention(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "bcad");

    (void)arg;
    return graph_attention(m->graph, "attention", x, x, x, &causal_opts);
}

static uint32_t build_rotated_attention(struct maker *m, const void *arg)
{
    const bool *interleaved = arg;
    uint32_t q = checked_leaf(m, "bdce"), k = checked_leaf(m, "bdae"), v;

    const struct kern_rotation *rotation =
        graph_rotation(m->graph, q, dim(m, "e"), 50, *interleaved);

    q = graph_rope(m->graph, "q", q, dim(m, "d"), dim(m, "e"), 0, rotation);
    k = graph_rope(m->graph, "k", k, dim(m, "d"), dim(m, "e"), 0, rotation);
    v = checked_leaf(m, "bdae");
    return graph_attention(m->graph, "attention", q, k, v, &causal_opts);
}

/* ---- ops ---- */

/* Scores capped, with a sink for each head. */
static uint32_t build_sunk_attention(struct maker *m, const void *arg)
{
    const bool *causal = arg;
    struct graph_attention opts = {GRAPH_ATTENTION_INIT, .scale = 1.7, .cap = 0.6,
                                   .causal = *causal};
    uint32_t q = checked_leaf(m, "bced"), k = checked_leaf(m, "bcad"), v = checked_leaf(m, "bcad");

    opts.sinks = checked_leaf(m, "e");
    return graph_attention(m->graph, "attention", q, k, v, &opts);
}

struct op_case {
    const char *what;
    gradient_build_fn build;
    int variant;
};

static int variant_of(const void *arg)
{
    return ((const struct op_case *)arg)->variant;
}

/* Squares are not symmetric in the elements, so that a gradient in a wrong place shows. */
static uint32_t squares(struct maker *m, uint32_t x)
{
    return map2(m, KERN_MUL, x, x);
}

/* Attention by positions: head and tail of two documents, with values wider than keys.  The variant
 * is the number of blocks; the keys have moved by all blocks but one. */
static uint32_t build_sighted_attention(struct maker *m, const void *arg)
{
    static const int32_t first[6] = {0, 0, 0, 0, 4, 4}, last[6] = {3, 3, 3, 3, 5, 5};
    const struct kern_sight sight = {
        .order = {KERN_ZIGZAG, 3, 6}, .causal = true, .rows = 1, .first = first, .last = last};
    struct graph_attention opts = {GRAPH_ATTENTION_INIT, .scale = 0.7,
                                   .blocks = (uint32_t)variant_of(arg),
                                   .shift = variant_of(arg) - 1};
    uint32_t q = checked_leaf(m, "becd"), k = checked_leaf(m, "bead"), v = checked_leaf(m, "beaf");
    const uint32_t dims[3] = {dim(m, "b"), dim(m, "e"), graph_dim(m->graph, "span", 2)};
    struct kern_source source = {.moved = 6 / opts.blocks * opts.shift};

    source.sight = opts.sight = graph_sight(m->graph, &sight);
    opts.spans = graph_input(m->graph, "spans", SHD_I32, dims, 3, source);
    source.sight_array = KERN_POSITIONS;
    opts.positions = graph_input(m->graph, "positions", SHD_I32, &dims[1], 1, source);
    return graph_attention(m->graph, "attention", q, k, v, &opts);
}

/* A rotation of dimension e: 1 interleaved, 2 of some pairs only, with a factor. */
static const struct kern_rotation *rotation_of(struct maker *m, uint32_t x, int variant)
{
    struct kern_rotation *r = graph_rotation(m->graph, x, dim(m, "e"), 20, variant & 1);

    if (r && variant & 2) {
        r->npairs--;
        r->factor = 1.3;
    }
    return r;
}

static uint32_t build_rope(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "bce");

    return graph_rope(m->graph, "rope", x, dim(m, "c"), dim(m, "e"), 3,
                      rotation_of(m, x, variant_of(arg)));
}

static uint32_t build_rope_outside(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "ecb");

    return squares(m, graph_rope(m->graph, "rope", x, dim(m, "b"), dim(m, "e"), 0,
                                 rotation_of(m, x, variant_of(arg))));
}

/* Queries' norms, by a sum: 1 all heads together, 2 centred, 4 by 1 + scale, 8 a scale for each
 * head. */
static uint32_t build_head_norm(struct maker *m, const void *arg)
{
    int variant = variant_of(arg);
    uint32_t x = checked_leaf(m, "abcd");
    const struct norm_weights norm = {.used = true,
                                      .centred = variant & 2,
                                      .one_plus = variant & 4,
                                      .whole = variant & 1,
                                      .scale = checked_leaf(m, variant & 8 ? "cd" : "d"),
                                      .bias = variant & 2 ? checked_leaf(m, "cd") : GRAPH_NONE,
                                      .eps = 1e-3};

    return squares(m, layer_norm(m->graph, "norm", x, &norm));
}

/* A softmax beside a number that has no result. */
static uint32_t build_softmax_beside(struct maker *m, const void *arg)
{
    (void)arg;
    return squares(m, layer_softmax_beside(m->graph, "softmax", checked_leaf(m, "bcd"), dim(m, "d"),
                                           checked_leaf(m, "c")));
}

static uint32_t build_rms_norm(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "bd"), w = variant_of(arg) ? checked_leaf(m, "d") : GRAPH_NONE;

    return layer_rms_norm(m->graph, "norm", x, w, 1e-3);
}

static uint32_t build_layer_norm(struct maker *m, const void *arg)
{
    int variant = variant_of(arg);
    uint32_t x = checked_leaf(m, "bd"), w = variant > 0 ? checked_leaf(m, "d") : GRAPH_NONE;
    uint32_t u = variant > 1 ? checked_leaf(m, "d") : GRAPH_NONE;

    return layer_layer_norm(m->graph, "norm", x, w, u, 1e-3);
}

static uint32_t build_softmax(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "bcd");

    return squares(m, layer_softmax(m->graph, "softmax", x, dim(m, variant_of(arg) ? "d" : "b")));
}

static uint32_t build_log_sum_exp(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "bcd");

    return layer_log_sum_exp(m->graph, "lse", x, dim(m, variant_of(arg) ? "d" : "b"));
}

static uint32_t build_causal(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "bcd");
    bool turned = variant_of(arg);

    return squares(m, graph_causal_mask(m->graph, "mask", x, dim(m, turned ? "d" : "c"),
                                        dim(m, turned ? "c" : "d"), -2));
}

static uint32_t build_causal_softmax(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "bcd");

    (void)arg;
    x = graph_causal_mask(m->graph, "mask", x, dim(m, "c"), dim(m, "d"), -1e30);
    return squares(m, layer_softmax(m->graph, "softmax", x, dim(m, "d")));
}

static uint32_t build_embed(struct maker *m, const void *arg)
{
    uint32_t table = checked_leaf(m, "cd");

    return squares(m,
                   graph_embed(m->graph, "embed", table, ids(m, variant_of(arg) ? "ef" : "e", 4)));
}

static uint32_t build_pick(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "bcd");

    if (variant_of(arg))
        return squares(m, graph_pick(m->graph, "pick", x, ids(m, "bc", 5), dim(m, "d")));
    return squares(m, graph_pick(m->graph, "pick", x, ids(m, "cd", 3), dim(m, "b")));
}

/* variant: 1 a table of three dimensions */
static uint32_t build_embed_add(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, variant_of(arg) ? "efda" : "ed");

    return squares(m, graph_embed_add(m->graph, "embed_add", x,
                                      ids(m, variant_of(arg) ? "ef" : "e", 4), dim(m, "c")));
}

/* variant: how many dimensions number elements of one place */
static uint32_t build_pick_add(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "bcd");

    return squares(m, graph_pick_add(m->graph, "pick_add", x, ids(m, "bcd", 5), dim(m, "e"),
                                     (uint32_t)variant_of(arg)));
}

/* variant: 0 no mask, 1 a mask, 2 a mask with a gradient; 4 more: by token */
static uint32_t build_xent(struct maker *m, const void *arg)
{
    int variant = variant_of(arg) % 4;
    uint32_t x = checked_leaf(m, "bcd"), mask = GRAPH_NONE;
    struct xent xent;

    if (variant == 1)
        mask = map1(m, KERN_STEP, leaf(m, "tokens", "bc"), 0);
    if (variant == 2)
        mask = map1(m, KERN_ADD_SCALAR, checked_leaf(m, "bc"), 2);
    xent = layer_cross_entropy(m->graph, "xent", x, dim(m, "d"), ids(m, "bc", 5), mask);
    return variant_of(arg) < 4 ? xent.loss : xent.per_token;
}

static uint32_t build_repeat(struct maker *m, const void *arg)
{
    static const char *const letters[] = {"dac", "acd", "cda"};
    uint32_t x = checked_leaf(m, letters[variant_of(arg)]);

    return squares(m, graph_repeat(m->graph, "repeat", x, dim(m, "a"), dim(m, "e")));
}

static uint32_t build_rename(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "ac"), other = graph_dim(m->graph, "A", 2);

    (void)arg;
    x = graph_repeat(m->graph, "rename", x, dim(m, "a"), other);
    return squares(m, graph_repeat(m->graph, "back", x, other, dim(m, "a")));
}

static uint32_t build_slice(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "bfc");

    return squares(m, graph_slice(m->graph, "slice", x, dim(m, "f"), dim(m, "d"), variant_of(arg)));
}

/* One dimension's elements at places of another. */
static const struct graph_placing placings[] = {
    {1, 0, 2, 1, 0}, {6, 0, -1, 1, 0}, {6, 0, -3, 1, 0}, {0, 1, 1, 2, 0.5}, {2, 5, 1, -2, -1},
};

static uint32_t build_placed(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "bfc");

    return squares(m, graph_placed(m->graph, "placed", x, dim(m, "f"),
                                   dim(m, variant_of(arg) == 1 ? "f" : "e"),
                                   &placings[variant_of(arg)]));
}

/* Windows: of one dimension to another, or of the same size to itself; with gaps, overlaps and
 * places that no window has. */
static const struct graph_taps windows[] = {
    {1, 1, 1, 0}, {2, 1, 1, 0.5}, {3, 2, 0, 0}, {1, 2, -1, -1}, {1, 1, 1, 0}};

static uint32_t build_windows(struct maker *m, const void *arg)
{
    bool same = variant_of(arg) == 4;
    uint32_t x = checked_leaf(m, "bfc");

    return squares(m, graph_windows(m->graph, "windows", x, dim(m, "f"), dim(m, same ? "f" : "d"),
                                    dim(m, "a"), &windows[variant_of(arg)]));
}

static uint32_t build_windows_add(struct maker *m, const void *arg)
{
    bool same = variant_of(arg) == 4;
    uint32_t x = checked_leaf(m, same ? "bfac" : "bdac");

    return squares(m, graph_windows_add(m->graph, "windows_add", x, dim(m, same ? "f" : "d"),
                                        dim(m, "a"), dim(m, "f"), &windows[variant_of(arg)]));
}

/* variant: the function, and 8: in reverse */
static uint32_t build_scan(struct maker *m, const void *arg)
{
    enum kern_scan_fn fn = (enum kern_scan_fn)(variant_of(arg) % 8);
    uint32_t x = checked_leaf(m, "bfc");
    uint32_t a = fn == KERN_SCAN_LINEAR ? checked_leaf(m, "bfc") : GRAPH_NONE;

    return squares(m, graph_scan(m->graph, "scan", fn, x, a, dim(m, "f"), variant_of(arg) >= 8));
}

/* variant: 1: a decay, 2: of each channel, 4: the delta rule, 8: from a state on; in chunks of
 * three tokens of seven.  Gradients are checked of v, the decay and others; the last ones of q and
 * k. */
static uint32_t build_linear_attention(struct maker *m, const void *arg)
{
    int variant = variant_of(arg) % 16;
    bool keys = variant_of(arg) >= 16;
    struct graph_linear_attention opts = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, .chunk = 3};
    uint32_t q = keys ? checked_leaf(m, "bfac") : leaf(m, "q", "bfac");
    uint32_t k = keys ? checked_leaf(m, "bfac") : leaf(m, "k", "bfac");
    uint32_t v = keys ? leaf(m, "v", "bfad") : checked_leaf(m, "bfad"), decay = GRAPH_NONE;

    if (variant & 1) {
        const char *dims = variant & 2 ? "bfac" : "bfa";

        decay = keys ? leaf(m, "decay", dims) : checked_leaf(m, dims);
        opts.decay = map1(m, KERN_NEG, map1(m, KERN_EXP, decay, 0), 0);
    }
    if (variant & 4)
        opts.beta = keys ? leaf(m, "beta", "bfa") : checked_leaf(m, "bfa");
    if (variant & 8)
        opts.state = keys ? leaf(m, "state", "bacd") : checked_leaf(m, "bacd");
    return squares(m, graph_linear_attention(m->graph, "linear_attention", q, k, v, &opts));
}

/* The first two dimensions as one. */
static uint32_t build_reshape(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "bfc"), b = dim(m, "b"), f = dim(m, "f");
    int64_t size = m->graph->dims[b].size * m->graph->dims[f].size;
    const uint32_t dims[] = {graph_dim(m->graph, "rows", size), dim(m, "c")};

    (void)arg;
    return squares(m, graph_reshape(m->graph, "reshape", x, dims, 2));
}

static uint32_t build_shift(struct maker *m, const void *arg)
{
    static const char along[] = "bfc";
    uint32_t x = checked_leaf(m, "bfc");
    const char name[2] = {along[variant_of(arg)], '\0'};

    return squares(m, graph_shift(m->graph, "shift", x, dim(m, name), 1));
}

/* Concatenate b and a to d (5 elements), along the first or the last dimension. */
static uint32_t build_concat(struct maker *m, const void *arg)
{
    bool last = variant_of(arg);
    uint32_t x = checked_leaf(m, last ? "cb" : "bc"), w = checked_leaf(m, last ? "ca" : "ac");

    return squares(m,
                   graph_concat(m->graph, "concat", x, dim(m, "b"), w, dim(m, "a"), dim(m, "d")));
}

static uint32_t build_doubled(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "ad");

    (void)arg;
    return squares(m,
                   graph_concat(m->graph, "concat", x, dim(m, "a"), x, dim(m, "a"), dim(m, "c")));
}

/* Exchange two halves, as one half of a rotation. */
static uint32_t build_halves(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "ce"), other = graph_dim(m->graph, "B", 3), low, high;

    (void)arg;
    low = graph_slice(m->graph, "low", x, dim(m, "e"), other, 0);
    high = graph_slice(m->graph, "high", x, dim(m, "e"), other, 3);
    high = map1(m, KERN_NEG, high, 0);
    return squares(m, graph_concat(m->graph, "turned", high, other, low, other, dim(m, "e")));
}

static uint32_t build_transpose(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "bcd"), dims[GRAPH_RANK_MAX], rank;

    (void)arg;
    rank = dims_of(m->graph, "dbc", dims);
    return squares(m, graph_transpose(m->graph, "turned", x, dims, rank));
}

/* x[b, c, d] times w[d, e, f] with an adapter of rank 2, of which x and one kernel are checked;
 * with the kernel first. */
static uint32_t build_adapter(struct maker *m, const void *arg)
{
    bool first = variant_of(arg) & 1, second = variant_of(arg) & 2;
    uint32_t x = checked_leaf(m, "bcd"), w = leaf(m, "kernel", "def"), y;
    uint32_t a = second ? leaf(m, "lora_a", "da") : checked_leaf(m, "da");
    uint32_t b = second ? checked_leaf(m, "aef") : leaf(m, "lora_b", "aef");

    y = einsum(m, first ? w : x, first ? x : w, "bcef");
    return layer_adapter(m->graph, y, first ? 0 : 1, a, b, 1.5);
}

/* A weight of three dimensions that is not checked; two of the dimensions have no letter. */
static uint32_t weight(struct maker *m, const char *name, uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t dims[3] = {a, b, c};
    const struct kern_source source = {.seed = (uint32_t)(unsigned char)name[0], .scale = 2};

    return graph_input(m->graph, name, SHD_F64, dims, 3, source);
}

static uint32_t checked_if(struct maker *m, bool checked, const char *name, const char *letters)
{
    return checked ? checked_leaf(m, letters) : leaf(m, name, letters);
}

/* A norm of a block with the scale `name`; `checked`: the scale is differentiated. */
static struct norm_weights block_norm(struct maker *m, const char *name, bool checked, int variant)
{
    const char *bias = graph_text(m->graph, "bias of %s", name);
    bool centred = variant & 1;

    return (struct norm_weights){.used = true,
                                 .centred = centred,
                                 .one_plus = variant & 32,
                                 .scale = checked_if(m, checked, name, "c"),
                                 .bias = centred ? leaf(m, bias, "c") : GRAPH_NONE,
                                 .eps = BLOCK_NORM_EPS};
}

/* x[a, b, c] with heads e (6), 3 key heads, and d for the feed-forward layer.  The variant is a
 * sum: 1 layer norms, 2 gated, 4 rotary embedding, 8 attention and mlp beside each other, 16 norms
 * behind them, too, 32 norms by 1 + scale and all factors, 64 limits and biases, 128 residuals
 * of norms. */
static uint32_t build_block(struct maker *m, const void *arg)
{
    int variant = variant_of(arg);
    bool gated = variant & 2, limited = variant & 64;
    const struct attention_opts attention = {.causal = true, .rope_theta = variant & 4 ? 100 : 0};
    const struct block_opts opts = {.attention = &attention,
                                    .activation = {.fn = gated ? KERN_QUICK_GELU : KERN_GELU,
                                                   .limit = limited ? 0.3 : 0,
                                                   .scale = variant & 32 ? 1.2 : 0},
                                    .order = variant & 8     ? BLOCK_BESIDE
                                             : variant & 128 ? BLOCK_NORMED
                                                             : BLOCK_SERIAL,
                                    .residual_scale = variant & 32 ? 0.7 : 0,
                                    .skip_scale = variant & 32 ? 1.3 : 0,
                                    .attention_scale = variant & 32 ? 0.6 : 0,
                                    .mlp_scale = variant & 32 ? 1.4 : 0};
    struct block_weights w = {.latent = NULL};
    uint32_t x = checked_leaf(m, "abc"), embed = dim(m, "c"), heads = dim(m, "e");
    uint32_t head_dim = graph_dim(m->graph, "A", 2), kv_heads = graph_dim(m->graph, "B", 3);

    w.attn.q = weight(m, "q", embed, heads, head_dim);
    w.attn.k = weight(m, "k", embed, kv_heads, head_dim);
    w.attn.v = weight(m, "v", embed, kv_heads, head_dim);
    w.attn.o = weight(m, "o", heads, head_dim, embed);
    w.mlp.up = checked_leaf(m, "cd");
    w.mlp.gate = gated ? leaf(m, "gate", "cd") : GRAPH_NONE;
    w.mlp.down = leaf(m, "down", "dc");
    w.mlp.gate_bias = gated && limited ? checked_leaf(m, "d") : GRAPH_NONE;
    w.mlp.up_bias = w.mlp.down_bias = GRAPH_NONE;
    w.norm1 = block_norm(m, "norm1", !(variant & (16 + 64)), variant);
    w.norm2 = block_norm(m, "norm2", false, variant);
    if (variant & 16) {
        w.norm1_after = block_norm(m, "norm1 after", true, variant);
        w.norm2_after = block_norm(m, "norm2 after", false, variant);
    }
    return layer_block(m->graph, "block", x, &w, &opts);
}

/* x[b, d, c] with heads a of width f + 4, keys and values from a latent vector of e, and values of
 * width g.  The variant: queries from x itself, or from a latent vector of h. */
static uint32_t build_latent_attention(struct maker *m, const void *arg)
{
    const struct attention_opts opts = {.causal = true, .rope_theta = 100};
    bool compressed = variant_of(arg);
    uint32_t x = checked_leaf(m, "bdc"), embed = dim(m, "c"), heads = dim(m, "a");
    uint32_t one = graph_dim(m->graph, "A", 1), turned = graph_dim(m->graph, "B", 4);
    uint32_t from = dim(m, compressed ? "h" : "c");
    struct latent_weights w = {.q_latent = GRAPH_NONE, .q_norm = GRAPH_NONE, .norm_eps = 1e-3};

    w.kv_latent = checked_leaf(m, "ce");
    w.kv_norm = leaf(m, "norm", "e");
    if (compressed) {
        w.q_latent = checked_leaf(m, "ch");
        w.q_norm = leaf(m, "scale", "h");
        w.k = leaf(m, "keys", "eaf");
    } else {
        w.k = checked_leaf(m, "eaf");
    }
    w.q = weight(m, "q", from, heads, dim(m, "f"));
    w.q_rope = weight(m, "turned", from, heads, turned);
    w.k_rope = weight(m, "position", embed, one, turned);
    w.v = leaf(m, "values", "eag");
    w.o = leaf(m, "out", "agc");
    return layer_latent_attention(m->graph, "attention", x, &w, &opts);
}

/* ---- layers without attention ---- */

static uint32_t leaf_of(struct maker *m, bool checked, const char *name, const char *letters)
{
    return checked ? checked_leaf(m, letters) : leaf(m, name, letters);
}

/* variant 0: the weights whose gradients are checked, besides those of x, are of q and the decay;
 * 1: of the taps of v, the scale and the gate; 2: none of these.  KDA has a decay of channels of
 * keys, and two matrices each for decay and gate, the first of which is checked in place of q and
 * of the taps. */
static struct state_weights state_weights(struct maker *m, int variant, const char *scale, bool kda)
{
    struct state_weights w = {.norm_eps = 1e-2,
                              .decay_in = GRAPH_NONE,
                              .gate_in = GRAPH_NONE,
                              .beta = GRAPH_NONE,
                              .q_bias = GRAPH_NONE,
                              .k_bias = GRAPH_NONE,
                              .v_bias = GRAPH_NONE,
                              .skip = GRAPH_NONE};

    w.q = leaf_of(m, variant == 0 && !kda, "q", "cad");
    w.k = leaf(m, "k", "cad");
    w.v = leaf(m, "v", "ceg");
    w.gate = leaf_of(m, variant == 1, "gate", kda ? "heg" : "ceg");
    w.decay = leaf(m, "decay", kda ? "hed" : "ce");
    if (kda) {
        w.gate_in = leaf_of(m, variant == 1, "gate_in", "ch");
        w.decay_in = leaf_of(m, variant == 0, "decay_in", "ch");
    }
    w.q_taps = leaf(m, "q_taps", "had");
    w.k_taps = leaf(m, "k_taps", "had");
    w.v_taps = leaf_of(m, variant == 1 && !kda, "v_taps", "heg");
    w.log = leaf_of(m, variant == 0, "log", "e");
    w.bias = leaf_of(m, variant == 0, "bias", kda ? "ed" : "e");
    w.scale = leaf_of(m, variant == 1, "scale", scale);
    w.o = leaf(m, "o", "egc");
    return w;
}

/* variant 2 and 3: KDA, as 0 and 1. */
static uint32_t build_gated_delta(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "bfc");
    struct state_weights w = state_weights(m, variant_of(arg) % 2, "g", variant_of(arg) > 1);

    w.names = &state_names_delta;
    w.beta = leaf(m, "beta", "ce");
    return layer_gated_delta(m->graph, "delta", x, &w);
}

/* variant 2: convolutions with biases, whose gradients are checked, and that of what skips the
 * state.  3 and 4, with factors: norms before the gate, and without. */
static uint32_t build_mamba(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "bfc");
    struct state_weights w = state_weights(m, variant_of(arg), "eg", false);
    bool biased = variant_of(arg) == 2;

    w.names = &state_names_mamba;
    if (biased) {
        w.q_bias = leaf(m, "q_bias", "ad");
        w.k_bias = checked_leaf(m, "ad");
        w.v_bias = leaf(m, "v_bias", "eg");
    }
    w.skip = biased ? checked_leaf(m, "e") : leaf(m, "skip", "e");
    w.norm_first = variant_of(arg) == 3;
    if (variant_of(arg) == 4)
        w.scale = GRAPH_NONE;
    if (variant_of(arg) >= 3)
        w.factors = (struct state_factors){0.3, 0.6, 1.2, 1.4, 0.7, 0.5};
    return layer_mamba(m->graph, "mamba", x, &w);
}

/* variant 0: q and the norm's scale are differentiated; 1: v, the gate and o. */
static uint32_t build_lightning(struct maker *m, const void *arg)
{
    bool second = variant_of(arg) > 0;
    uint32_t x = checked_leaf(m, "bfc");
    const struct state_weights w = {.names = &state_names_lightning,
                                    .q = leaf_of(m, !second, "q", "ced"),
                                    .k = leaf(m, "k", "ced"),
                                    .v = leaf_of(m, second, "v", "ceg"),
                                    .gate = leaf_of(m, second, "gate", "ceg"),
                                    .q_taps = GRAPH_NONE,
                                    .k_taps = GRAPH_NONE,
                                    .v_taps = GRAPH_NONE,
                                    .q_bias = GRAPH_NONE,
                                    .k_bias = GRAPH_NONE,
                                    .v_bias = GRAPH_NONE,
                                    .scale = leaf_of(m, !second, "scale", "eg"),
                                    .o = leaf_of(m, second, "o", "egc"),
                                    .norm_eps = 1e-2};

    return layer_lightning(m->graph, "lightning", x, 0.8, &w);
}

static uint32_t build_short_conv(struct maker *m, const void *arg)
{
    uint32_t x = checked_leaf(m, "bfc");
    struct short_conv_weights w;

    (void)arg;
    w.in = checked_leaf(m, "cd");
    w.gate = leaf(m, "gate", "cd");
    w.value = checked_leaf(m, "cd");
    w.taps = checked_leaf(m, "hd");
    w.o = leaf(m, "o", "dc");
    return layer_short_conv(m->graph, "conv", x, &w);
}

/* ---- experts ---- */

/* The weight that is differentiated besides x and the router. */
enum moe_checked { CHECK_UP, CHECK_DOWN, CHECK_GATE, CHECK_SHARED };

struct moe_case {
    const char *what;
    struct moe_opts opts; /* without routing and ids */
    enum moe_checked checked;
    enum kern_routing_kind workload;
    bool learned; /* the router chooses instead of a workload */
    bool gated, biased, shared;
    int64_t capacity; /* 0: nothing is dropped */
    bool slot_major;
};

#define MOE .top_k = 2, .scale = 1, .activation = {.fn = KERN_GELU}
#define LEARNED .learned = true

static const struct moe_case mixtures[] = {
    {"experts, by a workload", {MOE}, .workload = KERN_ROUTING_ZIPF},
    {"experts, ragged sources", {MOE}, .workload = KERN_ROUTING_RAGGED},
    {"experts, one without tokens", {MOE}, CHECK_DOWN, .workload = KERN_ROUTING_EMPTY},
    {"experts, with drops", {MOE}, .workload = KERN_ROUTING_ZIPF, .capacity = 4},
    {"learned experts", {MOE}, LEARNED},
    {"learned experts, gated", {MOE}, CHECK_GATE, LEARNED, .gated = true},
    {"experts, weighed where they are", {MOE, .sums = true}, .workload = KERN_ROUTING_ZIPF},
    {"learned experts, weighed where they are, gated",
     {MOE, .sums = true, .renormalize = true},
     CHECK_GATE,
     LEARNED,
     .gated = true},
    {"learned experts, by the largest of a group, weighed where they are",
     {MOE, .groups = 3, .kept = 2, .by_largest = true, .sums = true},
     LEARNED},
    {"learned experts, renormalized", {MOE, .renormalize = true}, LEARNED},
    {"learned experts, by sigmoids, in groups of experts, with a bias",
     {MOE, .sigmoid = true, .renormalize = true, .groups = 3, .kept = 2},
     LEARNED,
     .biased = true},
    {"learned experts, scaled, one choice",
     {.top_k = 1, .scale = 2.5, .activation = {.fn = KERN_SILU}},
     LEARNED},
    {"learned experts, drops by token", {MOE}, CHECK_DOWN, LEARNED, .capacity = 4},
    {"learned experts, drops by choice",
     {MOE, .renormalize = true},
     LEARNED,
     .capacity = 4,
     .slot_major = true},
    {"learned experts, groups of tokens, drops", {MOE, .token_groups = 3}, LEARNED, .capacity = 1},
    {"learned experts and shared ones", {MOE}, CHECK_SHARED, LEARNED, .shared = true},
    {"learned experts with an auxiliary loss", {MOE, .aux = 3}, LEARNED},
    {"learned experts by sigmoids with an auxiliary loss",
     {MOE, .sigmoid = true, .aux = 3},
     LEARNED},
    {"learned experts with a z loss", {MOE, .z = 3}, LEARNED},
    {"learned experts with both losses and drops", {MOE, .aux = 2, .z = 1}, LEARNED, .capacity = 3},
    {"experts by a workload with both losses",
     {MOE, .aux = 2, .z = 1},
     .workload = KERN_ROUTING_UNIFORM},
};

/* Make the queues for the tokens of x[b, d, c] in their groups, and ids if the router does not
 * choose. */
static void route(struct maker *m, const struct moe_case *c, struct moe_opts *opts)
{
    int64_t ngroups = opts->token_groups ? opts->token_groups : 1;
    const struct kern_routing_spec spec = {.kind = c->workload,
                                           .tokens = 15 / ngroups,
                                           .choices = opts->top_k,
                                           .experts = 6,
                                           .capacity = c->capacity,
                                           .slot_major = c->slot_major,
                                           .assumed = c->learned,
                                           .skew = 1,
                                           .ranks = 3};
    const uint32_t dims[3] = {dim(m, "b"), dim(m, "d"), graph_dim(m->graph, "choice", opts->top_k)};

    opts->routing = graph_routing(m->graph, &spec);
    opts->ids = GRAPH_NONE;
    if (!c->learned)
        opts->ids = graph_input(m->graph, "ids", SHD_I32, dims, 3,
                                (struct kern_source){.routing = opts->routing});
}

/* x[b, d, c] with experts e of width f and shared experts of width g; the losses of the router are
 * added to all elements. */
static uint32_t build_moe(struct maker *m, const void *arg)
{
    const struct moe_case *c = arg;
    struct moe_opts opts = c->opts;
    struct moe_weights w = {.bias = GRAPH_NONE, .gate = GRAPH_NONE, .has_shared = c->shared};
    uint32_t x = checked_leaf(m, "bdc");
    struct moe moe;

    w.router = checked_leaf(m, "ce");
    w.up = checked_if(m, c->checked == CHECK_UP, "rise", "ecf");
    w.down = checked_if(m, c->checked == CHECK_DOWN, "down", "efc");
    if (c->gated)
        w.gate = checked_if(m, c->checked == CHECK_GATE, "gate", "ecf");
    if (c->biased)
        w.bias = leaf(m, "bias", "e");
    w.shared = (struct mlp_weights){GRAPH_NONE, GRAPH_NONE, GRAPH_NONE,
                                    GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    if (c->shared) {
        w.shared.up = checked_if(m, c->checked == CHECK_SHARED, "shared", "cg");
        w.shared.down = leaf(m, "out", "gc");
    }
    route(m, c, &opts);
    moe = layer_moe(m->graph, "moe", x, &w, &opts);
    return moe.loss == GRAPH_NONE ? moe.y : map2(m, KERN_ADD, moe.y, moe.loss);
}

static const struct op_case ops[] = {
    {"attention to itself", build_self_attention, 0},
    {"norm of each head", build_head_norm, 0},
    {"norm of each head, with scales of its own, centred", build_head_norm, 10},
    {"norm of all heads together", build_head_norm, 9},
    {"norm of all heads together, centred, by 1 + scale", build_head_norm, 15},
    {"softmax beside", build_softmax_beside, 0},
    {"attention by positions", build_sighted_attention, 1},
    {"attention by positions, in two blocks", build_sighted_attention, 2},
    {"attention by positions, in three blocks", build_sighted_attention, 3},
    {"rope, halves", build_rope, false},
    {"rope, interleaved", build_rope, true},
    {"rope, interleaved, of some pairs", build_rope, 3},
    {"rope, halves, of some pairs", build_rope, 2},
    {"rope, halves, pairs outside", build_rope_outside, false},
    {"rope, interleaved, pairs outside", build_rope_outside, true},
    {"RMS norm", build_rms_norm, 0},
    {"RMS norm with a scale", build_rms_norm, 1},
    {"layer norm", build_layer_norm, 0},
    {"layer norm with a scale", build_layer_norm, 1},
    {"layer norm with scale and bias", build_layer_norm, 2},
    {"softmax over the last dimension", build_softmax, 1},
    {"softmax over the first dimension", build_softmax, 0},
    {"log-sum-exp over the last dimension", build_log_sum_exp, 1},
    {"log-sum-exp over the first dimension", build_log_sum_exp, 0},
    {"causal mask", build_causal, 0},
    {"causal mask, keys first", build_causal, 1},
    {"softmax of what a causal mask leaves", build_causal_softmax, 0},
    {"embedding", build_embed, 0},
    {"embedding of two dimensions", build_embed, 1},
    {"pick along the last dimension", build_pick, 1},
    {"pick along the first dimension", build_pick, 0},
    {"rows added up", build_embed_add, 0},
    {"matrices added up by ids of two dimensions", build_embed_add, 1},
    {"elements added up", build_pick_add, 0},
    {"elements added up, several to a place", build_pick_add, 1},
    {"elements added up, all to a place", build_pick_add, 3},
    {"cross-entropy", build_xent, 0},
    {"cross-entropy with a mask", build_xent, 1},
    {"cross-entropy with a mask that has a gradient", build_xent, 2},
    {"cross-entropy by token", build_xent, 4},
    {"cross-entropy by token with a mask", build_xent, 5},
    {"repeat in the middle", build_repeat, 0},
    {"repeat of the first dimension", build_repeat, 1},
    {"repeat of the last dimension", build_repeat, 2},
    {"a dimension renamed and back", build_rename, 0},
    {"a reshape", build_reshape, 0},
    {"shift of the first dimension", build_shift, 0},
    {"shift of the middle one", build_shift, 1},
    {"shift of the last", build_shift, 2},
    {"slice from the start", build_slice, 0},
    {"slice at the end", build_slice, 2},
    {"windows", build_windows, 0},
    {"windows with a stride, filled", build_windows, 1},
    {"windows apart, with a dilation", build_windows, 2},
    {"windows from behind the start", build_windows, 3},
    {"windows of one name", build_windows, 4},
    {"sum of windows", build_windows_add, 0},
    {"sum of windows with a stride", build_windows_add, 1},
    {"sum of windows apart, with a dilation", build_windows_add, 2},
    {"sum of windows from behind the start", build_windows_add, 3},
    {"sum of windows of one name", build_windows_add, 4},
    {"cumulative sum", build_scan, KERN_SCAN_SUM},
    {"cumulative sum in reverse", build_scan, 8 + KERN_SCAN_SUM},
    {"cumulative product", build_scan, KERN_SCAN_PROD},
    {"cumulative product in reverse", build_scan, 8 + KERN_SCAN_PROD},
    {"recurrence", build_scan, KERN_SCAN_LINEAR},
    {"recurrence in reverse", build_scan, 8 + KERN_SCAN_LINEAR},
    {"linear attention", build_linear_attention, 0},
    {"linear attention, with a decay", build_linear_attention, 1},
    {"linear attention, with a decay of channels", build_linear_attention, 3},
    {"linear attention, by the delta rule", build_linear_attention, 4},
    {"linear attention, with a decay, by the delta rule", build_linear_attention, 5},
    {"linear attention, with a decay of channels, by the delta rule", build_linear_attention, 7},
    {"linear attention, from a state on", build_linear_attention, 8},
    {"linear attention, with a decay of channels, by the delta rule, from a state on",
     build_linear_attention, 15},
    {"linear attention, with a decay, by the delta rule, from a state on", build_linear_attention,
     13},
    {"linear attention: q and k", build_linear_attention, 16},
    {"linear attention, with a decay: q and k", build_linear_attention, 17},
    {"linear attention, with a decay of channels: q and k", build_linear_attention, 19},
    {"linear attention, by the delta rule: q and k", build_linear_attention, 20},
    {"linear attention, with a decay, by the delta rule: q and k", build_linear_attention, 21},
    {"linear attention, with a decay of channels, by the delta rule: q and k",
     build_linear_attention, 23},
    {"linear attention, with a decay of channels, by the delta rule, from a state on: q and k",
     build_linear_attention, 31},
    {"slice with a stride", build_placed, 0},
    {"reversed", build_placed, 1},
    {"reversed, with a stride", build_placed, 2},
    {"places between elements", build_placed, 3},
    {"places between elements, reversed", build_placed, 4},
    {"concatenation along the first dimension", build_concat, 0},
    {"concatenation along the last dimension", build_concat, 1},
    {"an array after itself", build_doubled, 0},
    {"halves exchanged", build_halves, 0},
    {"transposition", build_transpose, 0},
    {"adapter: input and first kernel", build_adapter, 0},
    {"adapter: input and second kernel", build_adapter, 2},
    {"adapter of a matmul with the kernel first", build_adapter, 1},
    {"block: RMS norms, gelu", build_block, 0},
    {"block: layer norms, gelu", build_block, 1},
    {"block: RMS norms, gated, rope", build_block, 6},
    {"block: layer norms, gated, rope", build_block, 7},
    {"block: attention and mlp beside each other", build_block, 8},
    {"block: RMS norms on both sides, by 1 + scale", build_block, 16 + 32},
    {"block: residuals of norms, and their factors", build_block, 32 + 128},
    {"block: beside, layer norms on both sides", build_block, 1 + 8 + 16},
    {"block: gated, within limits, with a gate's bias", build_block, 2 + 64},
    {"latent attention", build_latent_attention, false},
    {"latent attention, of compressed queries", build_latent_attention, true},
    {"gated delta rule: queries and decay", build_gated_delta, 0},
    {"gated delta rule: values and the gate", build_gated_delta, 1},
    {"KDA: decay", build_gated_delta, 2},
    {"KDA: values and the gate", build_gated_delta, 3},
    {"Mamba-2: queries and steps", build_mamba, 0},
    {"Mamba-2: values and the gate", build_mamba, 1},
    {"Mamba-2: biases, and what skips the state", build_mamba, 2},
    {"Mamba-2: factors, and the norm before the gate", build_mamba, 3},
    {"Mamba-2: factors without a norm", build_mamba, 4},
    {"lightning attention: queries and the norm", build_lightning, 0},
    {"lightning attention: values and the gate", build_lightning, 1},
    {"gated short convolution", build_short_conv, 0},
};

/* Every op that its row calls linear was among those checked; sums over microbatches (one here) are
 * in no expression. */
static void test_linear_seen(void)
{
    for (int op = 0; op < GRAPH_NOPS; op++)
        if (graph_op((enum graph_op)op)->linear != KERN_NOT_LINEAR && op != GRAPH_ACCUMULATE &&
            op != GRAPH_CONSTRAINT)
            ok(linear_seen[op], "linear: %s", graph_op((enum graph_op)op)->name);
}

int main(void)
{
    static const bool yes = true, no = false;

    plan(0);
    for (size_t i = 0; i < COUNT(attentions); i++)
        check_gradient(attentions[i].what, build_attention, &attentions[i]);
    check_gradient("attention of capped scores with sinks", build_sunk_attention, &no);
    check_gradient("causal attention of capped scores with sinks", build_sunk_attention, &yes);
    check_gradient("attention of q and k turned, halves", build_rotated_attention, &no);
    check_gradient("attention of q and k turned, interleaved", build_rotated_attention, &yes);
    for (size_t i = 0; i < COUNT(ops); i++)
        check_gradient(ops[i].what, ops[i].build, &ops[i]);
    for (size_t i = 0; i < COUNT(mixtures); i++)
        check_gradient(mixtures[i].what, build_moe, &mixtures[i]);
    test_linear_seen();
    return done();
}
