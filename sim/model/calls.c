/* Functions of a `graph:` section that are not elementwise: a table with a builder for each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "graph/layers/norm.h"
#include "graph/layers/argmax.h"
#include "graph/layers/softmax.h"
#include "model/lines.h"

/* A dim given as an argument: a bare name. */
static uint32_t dim_argument(struct lines *l, const struct expr *e)
{
    if (e->kind != EXPR_NAME || e->dims.given)
        return lines_error(l, e->at, "an expression; expected the name of a dim");
    return lines_dim(l, e->name, e->at);
}

/* A dim argument that the array must have. */
static uint32_t dim_of(struct lines *l, const struct expr *e, uint32_t node)
{
    uint32_t dim = dim_argument(l, e);

    if (dim != GRAPH_NONE && !graph_has_dim(&l->graph->nodes[node], dim))
        return lines_error(l, e->at, "the array is %s and has no dim '%s'",
                           lines_print_dims(l, node), e->name);
    return dim;
}

static const struct expr *find_key(const struct expr *call, const char *key)
{
    for (uint32_t i = 0; i < call->nargs; i++)
        if (call->keys[i] && !strcmp(call->keys[i], key))
            return call->args[i];
    return NULL;
}

/* The n-th argument without a key, or NULL. */
static const struct expr *positional(const struct expr *call, uint32_t n)
{
    for (uint32_t i = 0; i < call->nargs; i++)
        if (!call->keys[i] && n-- == 0)
            return call->args[i];
    return NULL;
}

/* Read a true or false argument by key; returns false with an error for anything else. */
static bool read_flag(struct lines *l, const struct expr *call, const char *key, bool *out)
{
    const struct expr *e = find_key(call, key);
    bool is_true;

    if (!e)
        return true;
    is_true = e->kind == EXPR_NAME && !strcmp(e->name, "true");
    if (!is_true && !(e->kind == EXPR_NAME && !strcmp(e->name, "false"))) {
        lines_error(l, e->at, "%s is neither true nor false", key);
        return false;
    }
    *out = is_true;
    return true;
}

static bool read_number(struct lines *l, const struct expr *e, double *out)
{
    struct lines_value value = lines_eval(l, e, NULL);

    if (value.is == LINES_NODE)
        lines_error(l, e->at, "an array; expected a number");
    *out = value.number;
    return value.is == LINES_NUMBER;
}

static bool read_number_key(struct lines *l, const struct expr *call, const char *key, double *out)
{
    const struct expr *e = find_key(call, key);

    return !e || read_number(l, e, out);
}

/* Read arguments: of each letter of `takes` an array of fractions in the result's dims (x), any
 * array (a), a dim of the array before (d), or any dim (n).  False after an error; all arguments
 * are judged. */
static bool read_args(struct lines *l, const struct expr *call, const struct expr_dims *target,
                      const char *takes, uint32_t *out)
{
    uint32_t array = GRAPH_NONE;
    bool good = true;

    for (uint32_t i = 0; takes[i]; i++) {
        const struct expr *e = positional(call, i);

        if (takes[i] == 'd' && array == GRAPH_NONE)
            continue; /* the array is an error, and its dims are not known */
        if (takes[i] == 'd')
            out[i] = dim_of(l, e, array);
        else if (takes[i] == 'n')
            out[i] = dim_argument(l, e);
        else
            out[i] = array =
                takes[i] == 'x' ? lines_eval_array(l, e, target) : lines_eval_any(l, e, NULL);
        good &= out[i] != GRAPH_NONE;
    }
    return good;
}

/* ---- products and sums ---- */

static bool listed(const uint32_t *dims, uint32_t count, uint32_t dim)
{
    for (uint32_t d = 0; d < count; d++)
        if (dims[d] == dim)
            return true;
    return false;
}

/* The dims of the product a * b that the result or a later factor needs. */
static uint32_t kept_dims(const struct graph *g, uint32_t a, uint32_t b, const uint32_t *later,
                          uint32_t nlater, const uint32_t *target, uint32_t ntarget, uint32_t *keep)
{
    uint32_t nkeep = 0;

    for (int side = 0; side < 2; side++) {
        const struct graph_node *n = &g->nodes[side ? b : a];

        for (uint32_t d = 0; d < n->rank; d++) {
            bool wanted = listed(target, ntarget, n->dims[d]);

            for (uint32_t i = 0; i < nlater; i++)
                wanted |= graph_has_dim(&g->nodes[later[i]], n->dims[d]);
            if (wanted && !listed(keep, nkeep, n->dims[d]) && nkeep < GRAPH_RANK_MAX)
                keep[nkeep++] = n->dims[d];
        }
    }
    return nkeep;
}

/* Check that every dim of the result occurs in a factor. */
static bool check_target(struct lines *l, const struct expr *call, const struct expr_dims *target,
                         const uint32_t *dims, const uint32_t *factors)
{
    for (uint32_t d = 0; d < target->count; d++) {
        bool found = false;

        for (uint32_t i = 0; i < call->nargs; i++)
            found |= graph_has_dim(&l->graph->nodes[factors[i]], dims[d]);
        if (found)
            continue;
        lines_error(l, call->at,
                    "no factor of this einsum has dim '%s'; expected the dims of its result "
                    "behind it, as in einsum(a, b)[i,j]",
                    target->names[d]);
        return false;
    }
    return true;
}

static uint32_t build_einsum(struct lines *l, const struct expr *call,
                             const struct expr_dims *target)
{
    uint32_t dims[EXPR_DIMS_MAX], factors[EXPR_ARGS_MAX], keep[GRAPH_RANK_MAX], nkeep, x;
    const char *name = lines_node_name(l, "einsum");
    bool good = true;

    for (uint32_t i = 0; i < call->nargs; i++) {
        factors[i] = lines_eval_array(l, call->args[i], NULL);
        good &= factors[i] != GRAPH_NONE;
    }
    if (!target || !target->given)
        return lines_error(l, call->at,
                           "the dims of this einsum's result are not known; expected them behind "
                           "it, as in einsum(a, b)[i,j]");
    if (!good || !lines_dims(l, target, dims) || !check_target(l, call, target, dims, factors))
        return GRAPH_NONE;
    if (call->nargs == 1) /* lines_conform() transposes the result */
        return graph_reduce(l->graph, name, SHD_SUM, factors[0], dims, target->count);
    x = factors[0];
    for (uint32_t i = 1; i + 1 < call->nargs; i++) {
        nkeep = kept_dims(l->graph, x, factors[i], factors + i + 1, call->nargs - i - 1, dims,
                          target->count, keep);
        x = graph_einsum(l->graph, name, x, factors[i], keep, nkeep);
        if (lines_checked(l, call->at, x) == GRAPH_NONE)
            return GRAPH_NONE;
    }
    return graph_einsum(l->graph, name, x, factors[call->nargs - 1], dims, target->count);
}

/* Build a reduction to the target dims, in the order of its operand. */
static uint32_t build_reduce(struct lines *l, const struct expr *call,
                             const struct expr_dims *target)
{
    enum shd_reduce_op op = !strcmp(call->name, "sum")    ? SHD_SUM
                            : !strcmp(call->name, "mean") ? SHD_MEAN
                            : !strcmp(call->name, "max")  ? SHD_MAX
                                                          : SHD_MIN;
    uint32_t x = lines_eval_any(l, call->args[0], NULL), dims[EXPR_DIMS_MAX], nkeep = 0;
    uint32_t keep[GRAPH_RANK_MAX];

    if (!target || !target->given)
        return lines_error(l, call->at,
                           "the dims that this %s keeps are not known; expected them behind it, as "
                           "in %s(x)[i,j]",
                           call->name, call->name);
    if (x == GRAPH_NONE || !lines_dims(l, target, dims))
        return GRAPH_NONE;
    for (uint32_t d = 0; d < l->graph->nodes[x].rank; d++)
        if (listed(dims, target->count, l->graph->nodes[x].dims[d]))
            keep[nkeep++] = l->graph->nodes[x].dims[d];
    if (nkeep < target->count || nkeep == l->graph->nodes[x].rank)
        return lines_error(l, call->at,
                           "%s of %s does not give [%s%s]; expected the dims that it keeps behind "
                           "it, as in %s(x)[i,j]",
                           call->name, lines_print_dims(l, x),
                           target->count ? target->names[0] : "", target->count > 1 ? ",..." : "",
                           call->name);
    return graph_reduce(l->graph, lines_node_name(l, call->name), op, x, keep, nkeep);
}

/* ---- normalisation ---- */

static uint32_t build_softmax(struct lines *l, const struct expr *call,
                              const struct expr_dims *target)
{
    uint32_t args[2]; /* x, dim */

    if (!read_args(l, call, target, "xd", args))
        return GRAPH_NONE;
    return layer_softmax(l->graph, lines_node_name(l, "softmax"), args[0], args[1]);
}

/* Transpose x so that `dim` is its last dimension, or its first, as ops of the graph require. */
static uint32_t with_dim(struct lines *l, uint32_t x, uint32_t dim, bool last)
{
    const struct graph_node *n = &l->graph->nodes[x];
    uint32_t dims[GRAPH_RANK_MAX], rank = 0;

    if (n->dims[last ? n->rank - 1 : 0] == dim)
        return x;
    if (!last)
        dims[rank++] = dim;
    for (uint32_t d = 0; d < n->rank; d++)
        if (n->dims[d] != dim)
            dims[rank++] = n->dims[d];
    if (last)
        dims[rank++] = dim;
    return graph_transpose(l->graph, lines_node_name(l, "transpose"), x, dims, rank);
}

/* Read an optional vector along `dim`; false after an error. */
static bool vector_argument(struct lines *l, const struct expr *e, uint32_t dim, uint32_t *out)
{
    *out = GRAPH_NONE;
    if (!e)
        return true;
    *out = lines_eval_array(l, e, NULL);
    if (*out == GRAPH_NONE)
        return false;
    if (l->graph->nodes[*out].rank == 1 && l->graph->nodes[*out].dims[0] == dim)
        return true;
    lines_error(l, e->at, "an array %s; expected [%s]", lines_print_dims(l, *out),
                l->graph->dims[dim].name);
    return false;
}

static uint32_t build_norm(struct lines *l, const struct expr *call, const struct expr_dims *target)
{
    bool centred = !strcmp(call->name, "layer_norm");
    uint32_t args[2], x, dim, scale, bias;
    const char *name = lines_node_name(l, call->name);
    double eps = centred ? 1e-5 : 1e-6;

    if (!read_args(l, call, target, "xd", args))
        return GRAPH_NONE;
    dim = args[1];
    if (!vector_argument(l, positional(call, 2), dim, &scale) ||
        !vector_argument(l, positional(call, 3), dim, &bias) ||
        !read_number_key(l, call, "eps", &eps))
        return GRAPH_NONE;
    x = lines_checked(l, call->at, with_dim(l, args[0], dim, true));
    if (x == GRAPH_NONE)
        return GRAPH_NONE;
    return centred ? layer_layer_norm(l->graph, name, x, scale, bias, eps)
                   : layer_rms_norm(l->graph, name, x, scale, eps);
}

/* ---- attention ---- */

static uint32_t build_rope(struct lines *l, const struct expr *call, const struct expr_dims *target)
{
    uint32_t args[3]; /* x, position, pair */
    const struct kern_rotation *rotation;
    bool interleaved = false;
    double theta = 10000;

    if (!read_args(l, call, target, "xdd", args) || !read_number_key(l, call, "theta", &theta) ||
        !read_flag(l, call, "interleaved", &interleaved))
        return GRAPH_NONE;
    if (!(theta > 1))
        return lines_error(l, find_key(call, "theta")->at, "theta of %g; expected more than 1",
                           theta);
    rotation = graph_rotation(l->graph, args[0], args[2], theta, interleaved);
    if (!rotation)
        return GRAPH_NONE;
    return graph_rope(l->graph, lines_node_name(l, "rope"), args[0], args[1], args[2], 0, rotation);
}

static uint32_t build_attention(struct lines *l, const struct expr *call,
                                const struct expr_dims *target)
{
    uint32_t qkv[3];
    bool causal = false, good = true;
    double scale = 0;

    (void)target;
    for (uint32_t i = 0; i < 3; i++) {
        const struct expr *e = positional(call, i);

        qkv[i] = lines_eval_array(l, e, NULL);
        good &= qkv[i] != GRAPH_NONE;
        if (qkv[i] != GRAPH_NONE && l->graph->nodes[qkv[i]].rank != 4) {
            lines_error(l, e->at, "an array %s; expected four dims: batch, seq, heads, head_dim",
                        lines_print_dims(l, qkv[i]));
            good = false;
        }
    }
    if (!good || !read_flag(l, call, "causal", &causal))
        return GRAPH_NONE;
    scale = 1 / sqrt((double)l->graph->dims[l->graph->nodes[qkv[0]].dims[3]].size);
    if (!read_number_key(l, call, "scale", &scale))
        return GRAPH_NONE;
    const struct graph_attention opts = {GRAPH_ATTENTION_INIT, .scale = scale, .causal = causal};

    return graph_attention(l->graph, lines_node_name(l, "attention"), qkv[0], qkv[1], qkv[2],
                           &opts);
}

/* The way back of an attention with the gradient dy of its result, which makes all three gradients
 * at once: that of another line, if there is one. */
static uint32_t attention_way_back(struct lines *l, uint32_t y, uint32_t dy)
{
    struct graph *g = l->graph;
    const struct graph_node n = g->nodes[y];
    const char *name = lines_node_name(l, "attention_grad");
    const char *const names[3] = {name, graph_text(g, "%s/k", name), graph_text(g, "%s/v", name)};
    const struct graph_attention opts = {GRAPH_ATTENTION_INIT, .scale = n.attr.attention.scale,
                                         .causal = n.attr.attention.causal};

    for (uint32_t k = g->nnodes; k-- > y;)
        if (g->nodes[k].op == GRAPH_ATTENTION_GRAD && g->nodes[k].inputs[3] == y &&
            g->nodes[k].inputs[5] == dy)
            return k;
    return graph_attention_grad(g, names, n.inputs, y, n.extras[0], dy, &opts);
}

static uint32_t build_attention_grad(struct lines *l, const struct expr *call,
                                     const struct expr_dims *target)
{
    const struct expr *of = find_key(call, "of");
    const char *operand = !of ? "q" : of->kind == EXPR_NAME ? of->name : "";
    uint32_t args[2]; /* y, dy */
    const struct graph_node *y, *dy;
    uint32_t dq;

    if (!read_args(l, call, target, "aa", args))
        return GRAPH_NONE;
    while (l->graph->nodes[args[0]].op == GRAPH_CONSTRAINT) /* each line's result has one */
        args[0] = l->graph->nodes[args[0]].inputs[0];
    y = &l->graph->nodes[args[0]];
    dy = &l->graph->nodes[args[1]];
    if (y->op != GRAPH_ATTENTION)
        return lines_error(l, positional(call, 0)->at,
                           "what is no attention; expected the name of a line attention(q, k, v)");
    if (dy->dtype != y->dtype || dy->rank != 4 ||
        memcmp(dy->dims, y->dims, 4 * sizeof *y->dims) != 0)
        return lines_error(l, positional(call, 1)->at,
                           "the gradient has not the type or not the dims, in their order, of the "
                           "attention: %s",
                           lines_print_dims(l, args[0]));
    if (!operand[0] || operand[1] || !strchr("qkv", operand[0]))
        return lines_error(l, of->at, "of is neither q, k nor v");
    dq = attention_way_back(l, args[0], args[1]);
    if (dq == GRAPH_NONE || operand[0] == 'q')
        return dq;
    return l->graph->nodes[dq].extras[operand[0] == 'v'];
}

static uint32_t build_causal_mask(struct lines *l, const struct expr *call,
                                  const struct expr_dims *target)
{
    uint32_t args[3]; /* x, query, key */

    if (!read_args(l, call, target, "xdd", args))
        return GRAPH_NONE;
    return graph_causal_mask(l->graph, lines_node_name(l, "causal_mask"), args[0], args[1], args[2],
                             -1e30);
}

/* ---- moving ---- */

static uint32_t build_transpose(struct lines *l, const struct expr *call,
                                const struct expr_dims *target)
{
    (void)target; /* lines_conform() transposes the operand */
    return lines_eval_any(l, call->args[0], NULL);
}

/* repeat() and rename(): replace one dim of x by another. */
static uint32_t build_repeat(struct lines *l, const struct expr *call,
                             const struct expr_dims *target)
{
    uint32_t args[3]; /* x, from, to */
    bool rename = !strcmp(call->name, "rename");
    const struct graph_dim *from, *to;

    if (!read_args(l, call, target, "adn", args))
        return GRAPH_NONE;
    from = &l->graph->dims[args[1]];
    to = &l->graph->dims[args[2]];
    if (rename && from->size != to->size)
        return lines_error(l, call->args[2]->at, "dim '%s' has size %lld, not %lld as '%s' has",
                           to->name, (long long)to->size, (long long)from->size, from->name);
    return graph_repeat(l->graph, lines_node_name(l, call->name), args[0], args[1], args[2]);
}

/* The dims of a result, which nothing but the target tells; false after an error. */
static bool read_target(struct lines *l, const struct expr *call, const struct expr_dims *target,
                        uint32_t *dims)
{
    if (target && target->given)
        return lines_dims(l, target, dims);
    lines_error(l, call->at,
                "the dims that this %s makes are not known; expected them behind it, as in "
                "%s(x)[i,j]",
                call->name, call->name);
    return false;
}

/* An array of one number is an input: each device fills its own shard. */
static uint32_t build_full(struct lines *l, const struct expr *call, const struct expr_dims *target)
{
    struct lines_value value = lines_eval(l, call->args[0], NULL);
    struct kern_source source = {.offset = value.number};
    uint32_t dims[EXPR_DIMS_MAX];

    if (value.is != LINES_NUMBER)
        return value.is == LINES_NOTHING
                   ? GRAPH_NONE
                   : lines_error(l, call->args[0]->at, "an array; expected a number");
    if (!read_target(l, call, target, dims))
        return GRAPH_NONE;
    return lines_checked(l, call->at,
                         graph_input(l->graph, lines_node_name(l, call->name), l->dtype, dims,
                                     target->count, source));
}

static uint32_t build_reshape(struct lines *l, const struct expr *call,
                              const struct expr_dims *target)
{
    uint32_t x = lines_eval_any(l, call->args[0], NULL), dims[EXPR_DIMS_MAX];

    if (x == GRAPH_NONE || !read_target(l, call, target, dims))
        return GRAPH_NONE;
    return graph_reshape(l->graph, lines_node_name(l, call->name), x, dims, target->count);
}

/* Read a whole number, of a size that a dim can have; false after an error. */
static bool read_whole(struct lines *l, const struct expr *e, int64_t *out)
{
    double number;

    if (!e || !read_number(l, e, &number))
        return e == NULL;
    if (number != floor(number) || fabs(number) > 1e15) {
        lines_error(l, e->at, "%g; expected a whole number", number);
        return false;
    }
    *out = (int64_t)number;
    return true;
}

static uint32_t build_slice(struct lines *l, const struct expr *call,
                            const struct expr_dims *target)
{
    uint32_t args[3]; /* x, from, to */
    struct graph_placing p = {.from_step = 1, .to_step = 1};
    const struct graph_dim *from, *to;

    if (!read_args(l, call, target, "adn", args) || !read_whole(l, positional(call, 3), &p.from) ||
        !read_whole(l, find_key(call, "stride"), &p.from_step))
        return GRAPH_NONE;
    from = &l->graph->dims[args[1]];
    to = &l->graph->dims[args[2]];
    if (p.from_step < 1)
        return lines_error(l, find_key(call, "stride")->at, "a stride of %lld; expected 1 or more",
                           (long long)p.from_step);
    if (p.from < 0 ||
        (double)p.from + (double)(to->size - 1) * (double)p.from_step >= (double)from->size)
        return lines_error(
            l, positional(call, 3)->at, "%lld elements from %lld on are not in '%s' of %lld",
            (long long)to->size, (long long)p.from, from->name, (long long)from->size);
    return graph_placed(l->graph, lines_node_name(l, "slice"), args[0], args[1], args[2], &p);
}

static uint32_t build_reverse(struct lines *l, const struct expr *call,
                              const struct expr_dims *target)
{
    uint32_t args[2]; /* x, dim */
    struct graph_placing p = {.from_step = -1, .to_step = 1};

    if (!read_args(l, call, target, "ad", args))
        return GRAPH_NONE;
    p.from = l->graph->dims[args[1]].size - 1;
    return graph_placed(l->graph, lines_node_name(l, "reverse"), args[0], args[1], args[1], &p);
}

/* Elements at `low` and on, `between` places apart; a negative low leaves out the first ones. */
static uint32_t build_pad(struct lines *l, const struct expr *call, const struct expr_dims *target)
{
    uint32_t args[3]; /* x, from, to */
    struct graph_placing p = {.from_step = 1};
    int64_t low, between = 0;

    if (!read_args(l, call, target, "adn", args) || !read_whole(l, positional(call, 3), &low) ||
        !read_whole(l, find_key(call, "between"), &between) ||
        !read_number_key(l, call, "fill", &p.fill))
        return GRAPH_NONE;
    if (between < 0)
        return lines_error(l, find_key(call, "between")->at, "%lld places; expected 0 or more",
                           (long long)between);
    p.to_step = between + 1;
    p.from = low < 0 ? (-low + between) / p.to_step : 0;
    p.to = low + p.from * p.to_step;
    return graph_placed(l->graph, lines_node_name(l, "pad"), args[0], args[1], args[2], &p);
}

static bool read_taps(struct lines *l, const struct expr *call, struct graph_taps *how)
{
    *how = (struct graph_taps){.stride = 1, .dilation = 1};
    if (!read_whole(l, find_key(call, "stride"), &how->stride) ||
        !read_whole(l, find_key(call, "dilation"), &how->dilation) ||
        !read_whole(l, find_key(call, "low"), &how->low) ||
        !read_number_key(l, call, "fill", &how->fill))
        return false;
    if (how->stride < 1 || how->dilation < 1) {
        lines_error(l, call->at, "a stride of %lld and a dilation of %lld; expected 1 or more",
                    (long long)how->stride, (long long)how->dilation);
        return false;
    }
    return true;
}

/* Check that windows end `high` elements behind the dim, if that is given. */
static bool check_high(struct lines *l, const struct expr *call, const uint32_t *args,
                       const struct graph_taps *how)
{
    const struct expr *e = find_key(call, "high");
    int64_t high, size = l->graph->dims[args[1]].size, windows, span;

    if (!e || !read_whole(l, e, &high))
        return e == NULL;
    span = (l->graph->dims[args[3]].size - 1) * how->dilation + 1;
    windows = size + how->low + high < span ? 0 : (size + how->low + high - span) / how->stride + 1;
    if (windows == l->graph->dims[args[2]].size)
        return true;
    lines_error(l, call->args[2]->at, "%lld windows, but dim '%s' has %lld elements",
                (long long)windows, l->graph->dims[args[2]].name,
                (long long)l->graph->dims[args[2]].size);
    return false;
}

static uint32_t build_windows(struct lines *l, const struct expr *call,
                              const struct expr_dims *target)
{
    uint32_t args[4]; /* x, from, to, taps */
    struct graph_taps how;

    if (!read_args(l, call, target, "adnn", args) || !read_taps(l, call, &how) ||
        !check_high(l, call, args, &how))
        return GRAPH_NONE;
    return graph_windows(l->graph, lines_node_name(l, "windows"), args[0], args[1], args[2],
                         args[3], &how);
}

/* Transpose x so that `taps` follows `windows`. */
static uint32_t with_taps_behind(struct lines *l, uint32_t x, uint32_t windows, uint32_t taps)
{
    const struct graph_node *n = &l->graph->nodes[x];
    uint32_t dims[GRAPH_RANK_MAX], rank = 0;

    for (uint32_t d = 0; d < n->rank; d++) {
        if (n->dims[d] != taps)
            dims[rank++] = n->dims[d];
        if (n->dims[d] == windows)
            dims[rank++] = taps;
    }
    if (!memcmp(dims, n->dims, rank * sizeof *dims))
        return x;
    return graph_transpose(l->graph, lines_node_name(l, "transpose"), x, dims, rank);
}

static uint32_t build_windows_add(struct lines *l, const struct expr *call,
                                  const struct expr_dims *target)
{
    uint32_t args[4], x; /* x, windows, taps, to */
    struct graph_taps how;

    if (!read_args(l, call, target, "addn", args) || !read_taps(l, call, &how))
        return GRAPH_NONE;
    if (args[1] == args[2])
        return lines_error(l, call->args[2]->at, "one dim for windows and taps");
    x = lines_checked(l, call->at, with_taps_behind(l, args[0], args[1], args[2]));
    return graph_windows_add(l->graph, lines_node_name(l, "windows_add"), x, args[1], args[2],
                             args[3], &how);
}

static uint32_t build_shift(struct lines *l, const struct expr *call,
                            const struct expr_dims *target)
{
    uint32_t args[2]; /* x, dim */
    const struct graph_dim *along;
    double by;

    if (!read_args(l, call, target, "ad", args) || !read_number(l, call->args[2], &by))
        return GRAPH_NONE;
    along = &l->graph->dims[args[1]];
    if (by != floor(by) || fabs(by) > (double)along->size)
        return lines_error(l, call->args[2]->at,
                           "a shift by %g along '%s'; expected a whole number up to its size, %lld",
                           by, along->name, (long long)along->size);
    return graph_shift(l->graph, lines_node_name(l, "shift"), args[0], args[1], (int64_t)by);
}

static uint32_t build_concat(struct lines *l, const struct expr *call,
                             const struct expr_dims *target)
{
    uint32_t args[5]; /* a, a_dim, b, b_dim, to */

    if (!read_args(l, call, target, "adadn", args))
        return GRAPH_NONE;
    return graph_concat(l->graph, lines_node_name(l, "concat"), args[0], args[1], args[2], args[3],
                        args[4]);
}

/* ---- numbers ---- */

static uint32_t build_convert(struct lines *l, const struct expr *call,
                              const struct expr_dims *target)
{
    uint32_t x = lines_eval_any(l, call->args[0], target);
    const struct expr *type = call->args[1];
    enum shd_dtype dtype = SHD_NDTYPES;
    struct shd_error err;

    if (type->kind != EXPR_NAME || type->dims.given)
        return lines_error(l, type->at, "an expression; expected a type, as float32");
    if (shd_dtype_parse(&dtype, type->name, &err) != SHD_OK)
        return lines_failure(l, type->at, &err);
    if (dtype >= SHD_NCOMPUTE_DTYPES)
        return lines_error(l, type->at, "%s is not computed with", type->name);
    return x == GRAPH_NONE ? x : graph_convert(l->graph, lines_node_name(l, "convert"), dtype, x);
}

static uint32_t build_iota(struct lines *l, const struct expr *call, const struct expr_dims *target)
{
    uint32_t dim = dim_argument(l, call->args[0]);

    (void)target;
    return dim == GRAPH_NONE ? dim : layer_numbers(l->graph, dim);
}

static uint32_t build_one_hot(struct lines *l, const struct expr *call,
                              const struct expr_dims *target)
{
    uint32_t ids = lines_eval_any(l, call->args[0], NULL), dim = dim_argument(l, call->args[1]);
    const char *name = lines_node_name(l, "one_hot");

    (void)target;
    if (ids == GRAPH_NONE || dim == GRAPH_NONE)
        return GRAPH_NONE;
    if (l->graph->nodes[ids].dtype != SHD_I32)
        return lines_error(l, call->args[0]->at, "an array of fractions; expected whole numbers");
    ids = graph_map(l->graph, name, KERN_EQUAL, ids, layer_numbers(l->graph, dim), 0);
    return graph_convert(l->graph, name, l->dtype, ids);
}

/* The first place of the extreme along a dim. */
static uint32_t build_place(struct lines *l, const struct expr *call,
                            const struct expr_dims *target)
{
    enum shd_reduce_op op = !strcmp(call->name, "argmax") ? SHD_MAX : SHD_MIN;
    uint32_t x = lines_eval_any(l, call->args[0], NULL), dim;

    (void)target;
    if (x == GRAPH_NONE)
        return GRAPH_NONE;
    dim = dim_of(l, call->args[1], x);
    return dim == GRAPH_NONE ? dim
                             : layer_argmax(l->graph, lines_node_name(l, call->name), op, x, dim);
}

static uint32_t build_log_sum_exp(struct lines *l, const struct expr *call,
                                  const struct expr_dims *target)
{
    uint32_t args[2]; /* x, dim */

    (void)target;
    if (!read_args(l, call, NULL, "xd", args))
        return GRAPH_NONE;
    return layer_log_sum_exp(l->graph, lines_node_name(l, "logsumexp"), args[0], args[1]);
}

/* cumsum(), cumprod(), cummax(), cummin(), and recurrence(a, b, dim). */
static uint32_t build_scan(struct lines *l, const struct expr *call, const struct expr_dims *target)
{
    static const char *const names[] = {[KERN_SCAN_SUM] = "cumsum",
                                        [KERN_SCAN_PROD] = "cumprod",
                                        [KERN_SCAN_MAX] = "cummax",
                                        [KERN_SCAN_MIN] = "cummin",
                                        [KERN_SCAN_LINEAR] = "recurrence"};
    uint32_t a = GRAPH_NONE, x, dim, fn = KERN_SCAN_SUM;
    const struct expr *along;
    bool reverse = false;

    while (strcmp(names[fn], call->name) != 0)
        fn++;
    if (fn == KERN_SCAN_LINEAR)
        a = lines_eval_array(l, positional(call, 0), target);
    x = lines_eval_any(l, positional(call, fn == KERN_SCAN_LINEAR), target);
    along = positional(call, fn == KERN_SCAN_LINEAR ? 2 : 1);
    if (x == GRAPH_NONE || (fn == KERN_SCAN_LINEAR && a == GRAPH_NONE) ||
        !read_flag(l, call, "reverse", &reverse))
        return GRAPH_NONE;
    dim = dim_of(l, along, x);
    if (dim == GRAPH_NONE)
        return GRAPH_NONE;
    return graph_scan(l->graph, lines_node_name(l, call->name), (enum kern_scan_fn)fn, x, a, dim,
                      reverse);
}

/* ---- choosing ---- */

/* Read an array of integers that are all below the size of a dim. */
static uint32_t ids_argument(struct lines *l, const struct expr *e, uint32_t dim)
{
    uint32_t ids = lines_eval_any(l, e, NULL);
    const struct graph_node *n;

    if (ids == GRAPH_NONE)
        return GRAPH_NONE;
    n = &l->graph->nodes[ids];
    if (n->dtype != SHD_I32)
        return lines_error(l, e->at, "an array of fractions; expected an input with below: %s",
                           l->graph->dims[dim].name);
    if ((int64_t)n->source.modulus > l->graph->dims[dim].size)
        return lines_error(l, e->at, "'%s' goes up to %u, but dim '%s' has %lld elements", n->name,
                           n->source.modulus - 1, l->graph->dims[dim].name,
                           (long long)l->graph->dims[dim].size);
    return ids;
}

static uint32_t build_embed(struct lines *l, const struct expr *call,
                            const struct expr_dims *target)
{
    uint32_t table = lines_eval_array(l, call->args[0], NULL), ids, dim;

    (void)target;
    if (table == GRAPH_NONE)
        return GRAPH_NONE;
    if (l->graph->nodes[table].rank < 1)
        return lines_error(l, call->args[0]->at, "a scalar; expected a table of rows");
    dim = call->nargs > 2 ? dim_of(l, call->args[2], table) : l->graph->nodes[table].dims[0];
    if (dim == GRAPH_NONE)
        return GRAPH_NONE;
    ids = ids_argument(l, call->args[1], dim);
    if (ids == GRAPH_NONE)
        return GRAPH_NONE;
    table = lines_checked(l, call->at, with_dim(l, table, dim, false));
    return graph_embed(l->graph, lines_node_name(l, "embed"), table, ids);
}

/* The array and ids of embed_add() and pick_add(), and the dim that they number; false after an
 * error. */
static bool read_sums(struct lines *l, const struct expr *call, uint32_t *x, uint32_t *ids,
                      uint32_t *dim)
{
    *x = lines_eval_array(l, call->args[0], NULL);
    *dim = dim_argument(l, call->args[2]);
    if (*x == GRAPH_NONE || *dim == GRAPH_NONE)
        return false;
    *ids = ids_argument(l, call->args[1], *dim);
    return *ids != GRAPH_NONE;
}

static uint32_t build_embed_add(struct lines *l, const struct expr *call,
                                const struct expr_dims *target)
{
    uint32_t x, ids, dim;

    (void)target;
    if (!read_sums(l, call, &x, &ids, &dim))
        return GRAPH_NONE;
    return graph_embed_add(l->graph, lines_node_name(l, "embed_add"), x, ids, dim);
}

static uint32_t build_pick(struct lines *l, const struct expr *call, const struct expr_dims *target)
{
    uint32_t x = lines_eval_array(l, call->args[0], NULL), dim, ids;

    (void)target;
    if (x == GRAPH_NONE)
        return GRAPH_NONE;
    dim = dim_of(l, call->args[2], x);
    if (dim == GRAPH_NONE)
        return GRAPH_NONE;
    ids = ids_argument(l, call->args[1], dim);
    if (ids == GRAPH_NONE)
        return GRAPH_NONE;
    return graph_pick(l->graph, lines_node_name(l, "pick"), x, ids, dim);
}

/* Dims of the ids that the result lacks are choices. */
static uint32_t build_pick_add(struct lines *l, const struct expr *call,
                               const struct expr_dims *target)
{
    uint32_t x, ids, dim, dims[EXPR_DIMS_MAX], nchoices = 0;

    if (!read_sums(l, call, &x, &ids, &dim) || (target && !lines_dims(l, target, dims)))
        return GRAPH_NONE;
    if (target && target->given)
        while (nchoices < l->graph->nodes[ids].rank &&
               !listed(dims, target->count,
                       l->graph->nodes[ids].dims[l->graph->nodes[ids].rank - 1 - nchoices]))
            nchoices++;
    return graph_pick_add(l->graph, lines_node_name(l, "pick_add"), x, ids, dim, nchoices);
}

static uint32_t build_topk(struct lines *l, const struct expr *call, const struct expr_dims *target)
{
    uint32_t args[3], scores; /* scores, dim, choice */

    (void)target;
    if (!read_args(l, call, NULL, "adn", args))
        return GRAPH_NONE;
    scores = lines_checked(l, call->at, with_dim(l, args[0], args[1], true));
    return graph_topk(l->graph, lines_node_name(l, "topk"), scores, args[1], args[2], NULL);
}

/* ---- places and gradients ---- */

static uint32_t build_constraint(struct lines *l, const struct expr *call,
                                 const struct expr_dims *target)
{
    uint32_t x = lines_eval_any(l, call->args[1], target);

    if (call->args[0]->kind != EXPR_NAME || call->args[0]->dims.given)
        return lines_error(l, call->args[0]->at, "an expression; expected a name for the place");
    if (x == GRAPH_NONE)
        return GRAPH_NONE;
    return graph_constraint(l->graph, call->args[0]->name, x);
}

static uint32_t build_stop_gradient(struct lines *l, const struct expr *call,
                                    const struct expr_dims *target)
{
    uint32_t x = lines_eval_any(l, call->args[0], target), copy;

    if (x == GRAPH_NONE)
        return GRAPH_NONE;
    copy = graph_map(l->graph, lines_node_name(l, "stop_gradient"), KERN_COPY, x, GRAPH_NONE, 0);
    graph_stop_gradient(l->graph, copy);
    return copy;
}

const struct lines_function lines_functions[] = {
    {"einsum", 1, EXPR_ARGS_MAX, "a, b, ...", "product, summed over what the result lacks",
     build_einsum},
    {"sum", 1, 1, "x", "over what the result lacks", build_reduce},
    {"mean", 1, 1, "x", "over what the result lacks", build_reduce},
    {"max", 1, 1, "x", "over what the result lacks; of two arrays, the larger of each",
     build_reduce},
    {"min", 1, 1, "x", "over what the result lacks; of two arrays, the smaller of each",
     build_reduce},
    {"select", 3, 3, "condition, a, b", "a where the condition is not 0, else b",
     lines_build_select},
    {"greater", 2, 2, "a, b", "1 where a > b, else 0; as less", lines_build_swapped},
    {"greater_equal", 2, 2, "a, b", "1 where a >= b, else 0", lines_build_swapped},
    {"clamp", 3, 3, "x, low, high", "min(max(x, low), high)", lines_build_clamp},
    {"convert", 2, 2, "x, type", "in another type: float32, float64, bfloat16, float16 or int32",
     build_convert},
    {"iota", 1, 1, "dim", "the whole numbers from 0 along a dim", build_iota},
    {"one_hot", 2, 2, "ids, dim", "1 where the place along a dim is the id, else 0", build_one_hot},
    {"argmax", 2, 2, "x, dim", "the first place of the largest along a dim", build_place},
    {"argmin", 2, 2, "x, dim", "the first place of the smallest along a dim", build_place},
    {"logsumexp", 2, 2, "x, dim", "log of the sum of exp along a dim", build_log_sum_exp},
    {"softmax", 2, 2, "x, dim", "over one dim", build_softmax},
    {"rms_norm", 2, 3, "x, dim, scale, eps=1e-6", "x / sqrt(mean(x^2) + eps) * scale", build_norm},
    {"layer_norm", 2, 4, "x, dim, scale, bias, eps=1e-5",
     "(x - mean) / sqrt(var + eps) * scale + bias", build_norm},
    {"rope", 3, 3, "x, position, pair, theta=10000, interleaved=false",
     "rotary embedding: pairs along one dim turn with the position along another", build_rope},
    {"attention", 3, 3, "q, k, v, causal=false, scale=1/sqrt(width)",
     "of [batch, seq, heads, width]; k and v may have fewer heads", build_attention},
    {"attention_grad", 2, 2, "y, dy, of=q",
     "the way back: the gradient by q, k or v of a line y = attention(q, k, v), where dy is that "
     "of y",
     build_attention_grad},
    {"causal_mask", 3, 3, "x, query, key", "-1e30 where the key is after the query",
     build_causal_mask},
    {"transpose", 1, 1, "x", "into the order of the result's dims", build_transpose},
    {"repeat", 3, 3, "x, from, to", "each element along a dim several times, as a larger dim",
     build_repeat},
    {"rename", 3, 3, "x, from, to", "another name for a dim", build_repeat},
    {"full", 1, 1, "number", "an array of one number, in the result's dims", build_full},
    {"reshape", 1, 1, "x", "the same elements in order, as the result's dims", build_reshape},
    {"slice", 4, 4, "x, from, to, start, stride=1",
     "a part of a dim, or each so-and-so-many-th element, as a smaller dim", build_slice},
    {"reverse", 2, 2, "x, dim", "elements along a dim from the last to the first", build_reverse},
    {"pad", 4, 4, "x, from, to, low, fill=0, between=0",
     "elements of a dim in a longer one from place `low` on, with places between them; a negative "
     "low leaves out the first",
     build_pad},
    {"concat", 5, 5, "a, a_dim, b, b_dim, to", "one behind the other, as a larger dim",
     build_concat},
    {"windows", 4, 4, "x, from, to, taps, stride=1, dilation=1, low=0, high=0, fill=0",
     "windows of a dim, as `to`, and the taps of each: tap t of window w is the element w * stride "
     "+ t * dilation - low, or fill; with einsum a convolution, with max or mean a pooling. Where "
     "`from` is sharded, devices get their neighbours' elements; the result is stored, as large as "
     "all taps",
     build_windows},
    {"windows_add", 4, 4, "x, windows, taps, to, stride=1, dilation=1, low=0",
     "the way back: the taps of all windows added up at their elements", build_windows_add},
    {"cumsum", 2, 2, "x, dim, reverse=false",
     "each element and all before it along a dim added up, or all behind it; a sharded dim passes "
     "on "
     "the last sums only",
     build_scan},
    {"cumprod", 2, 2, "x, dim, reverse=false", "the same with products", build_scan},
    {"cummax", 2, 2, "x, dim, reverse=false", "the same with the largest; without a gradient",
     build_scan},
    {"cummin", 2, 2, "x, dim, reverse=false", "the same with the smallest; without a gradient",
     build_scan},
    {"recurrence", 3, 3, "a, b, dim, reverse=false",
     "h = a * h + b along a dim, with the h before, from 0 on", build_scan},
    {"shift", 3, 3, "x, dim, by", "elements moved on along a dim, cyclically", build_shift},
    {"embed", 2, 3, "table, ids, dim", "rows of a table, along its first dim or the one named",
     build_embed},
    {"embed_add", 3, 3, "x, ids, dim", "the way back: rows added up at their ids along a new dim",
     build_embed_add},
    {"pick", 3, 3, "x, ids, dim", "one element along a dim", build_pick},
    {"pick_add", 3, 3, "x, ids, dim",
     "the way back: elements added up at their ids along a new dim; dims of ids that the result "
     "lacks number several elements of a place",
     build_pick_add},
    {"topk", 3, 3, "x, dim, choice", "ids of the largest along a dim, the first of equals first",
     build_topk},
    {"constraint", 2, 2, "name, x", "a place where a sharding may be asked for", build_constraint},
    {"stop_gradient", 1, 1, "x", "no gradient passes", build_stop_gradient},
    {NULL, 0, 0, NULL, NULL, NULL},
};
