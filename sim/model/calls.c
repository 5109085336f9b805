/* Functions of a `graph:` section that are not elementwise: a table with a builder for each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "graph/layers/norm.h"
#include "graph/layers/softmax.h"
#include "model/call_args.h"
#include "model/call_builders.h"

/* ---- products and sums ---- */

/* The dims of the product a * b that the result or a later factor needs. */
static uint32_t kept_dims(const struct graph *g, uint32_t a, uint32_t b, const uint32_t *later,
                          uint32_t nlater, const uint32_t *target, uint32_t ntarget, uint32_t *keep)
{
    uint32_t nkeep = 0;

    for (int side = 0; side < 2; side++) {
        const struct graph_node *n = &g->nodes[side ? b : a];

        for (uint32_t d = 0; d < n->rank; d++) {
            bool wanted = call_lists(target, ntarget, n->dims[d]);

            for (uint32_t i = 0; i < nlater; i++)
                wanted |= graph_has_dim(&g->nodes[later[i]], n->dims[d]);
            if (wanted && !call_lists(keep, nkeep, n->dims[d]) && nkeep < GRAPH_RANK_MAX)
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
                    "no factor of this einsum has dim '%s'; expected the result's dims after the "
                    "call, as in einsum(a, b)[i,j]",
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
                           "the dims of this einsum's result are unknown; expected dims after the "
                           "call, as in einsum(a, b)[i,j]");
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
                           "the dims that this %s keeps are unknown; expected dims after the call, "
                           "as in %s(x)[i,j]",
                           call->name, call->name);
    if (x == GRAPH_NONE || !lines_dims(l, target, dims))
        return GRAPH_NONE;
    for (uint32_t d = 0; d < l->graph->nodes[x].rank; d++)
        if (call_lists(dims, target->count, l->graph->nodes[x].dims[d]))
            keep[nkeep++] = l->graph->nodes[x].dims[d];
    if (nkeep < target->count || nkeep == l->graph->nodes[x].rank)
        return lines_error(l, call->at,
                           "%s of %s does not give [%s%s]; expected the kept dims after the call, "
                           "as in %s(x)[i,j]",
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

    if (!call_args(l, call, target, "xd", args))
        return GRAPH_NONE;
    return layer_softmax(l->graph, lines_node_name(l, "softmax"), args[0], args[1]);
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

    if (!call_args(l, call, target, "xd", args))
        return GRAPH_NONE;
    dim = args[1];
    if (!vector_argument(l, call_positional(call, 2), dim, &scale) ||
        !vector_argument(l, call_positional(call, 3), dim, &bias) ||
        !call_number_key(l, call, "eps", &eps))
        return GRAPH_NONE;
    x = lines_checked(l, call->at, call_with_dim(l, args[0], dim, true));
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

    if (!call_args(l, call, target, "xdd", args) || !call_number_key(l, call, "theta", &theta) ||
        !call_flag(l, call, "interleaved", &interleaved))
        return GRAPH_NONE;
    if (!(theta > 1))
        return lines_error(l, call_key(call, "theta")->at, "theta of %g; expected more than 1",
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
        const struct expr *e = call_positional(call, i);

        qkv[i] = lines_eval_array(l, e, NULL);
        good &= qkv[i] != GRAPH_NONE;
        if (qkv[i] != GRAPH_NONE && l->graph->nodes[qkv[i]].rank != 4) {
            lines_error(l, e->at, "an array %s; expected four dims: batch, seq, heads, head_dim",
                        lines_print_dims(l, qkv[i]));
            good = false;
        }
    }
    if (!good || !call_flag(l, call, "causal", &causal))
        return GRAPH_NONE;
    scale = 1 / sqrt((double)l->graph->dims[l->graph->nodes[qkv[0]].dims[3]].size);
    if (!call_number_key(l, call, "scale", &scale))
        return GRAPH_NONE;
    const struct graph_attention opts = {GRAPH_ATTENTION_INIT, .scale = scale, .causal = causal};

    return graph_attention(l->graph, lines_node_name(l, "attention"), qkv[0], qkv[1], qkv[2],
                           &opts);
}

/* Read an array of an optional argument; false after an error. */
static bool array_key(struct lines *l, const struct expr *call, const char *key, uint32_t *out)
{
    const struct expr *e = call_key(call, key);

    *out = e ? lines_eval_array(l, e, NULL) : GRAPH_NONE;
    return !e || *out != GRAPH_NONE;
}

static uint32_t build_linear_attention(struct lines *l, const struct expr *call,
                                       const struct expr_dims *target)
{
    struct graph_linear_attention opts = {.state = GRAPH_NONE};
    double chunk = GRAPH_LINEAR_CHUNK;
    uint32_t args[3]; /* q, k, v */

    (void)target;
    if (!call_args(l, call, NULL, "aaa", args) || !array_key(l, call, "decay", &opts.decay) ||
        !array_key(l, call, "beta", &opts.beta) || !array_key(l, call, "state", &opts.state) ||
        !call_number_key(l, call, "chunk", &chunk))
        return GRAPH_NONE;
    if (chunk < 1 || chunk > INT32_MAX || chunk != floor(chunk))
        return lines_error(l, call_key(call, "chunk")->at,
                           "a chunk of %g tokens; expected a whole number from 1 on", chunk);
    opts.chunk = (int64_t)chunk;
    return graph_linear_attention(l->graph, lines_node_name(l, "linear_attention"), args[0],
                                  args[1], args[2], &opts);
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
    const struct expr *of = call_key(call, "of");
    const char *operand = !of ? "q" : of->kind == EXPR_NAME ? of->name : "";
    uint32_t args[2]; /* y, dy */
    const struct graph_node *y, *dy;
    uint32_t dq;

    if (!call_args(l, call, target, "aa", args))
        return GRAPH_NONE;
    while (l->graph->nodes[args[0]].op == GRAPH_CONSTRAINT) /* each line's result has one */
        args[0] = l->graph->nodes[args[0]].inputs[0];
    y = &l->graph->nodes[args[0]];
    dy = &l->graph->nodes[args[1]];
    if (y->op != GRAPH_ATTENTION)
        return lines_error(l, call_positional(call, 0)->at,
                           "not an attention; expected the name of a line attention(q, k, v)");
    if (dy->dtype != y->dtype || dy->rank != 4 ||
        memcmp(dy->dims, y->dims, 4 * sizeof *y->dims) != 0)
        return lines_error(l, call_positional(call, 1)->at,
                           "the gradient's type or dims differ from the attention's: %s",
                           lines_print_dims(l, args[0]));
    if (!operand[0] || operand[1] || !strchr("qkv", operand[0]))
        return lines_error(l, of->at, "expected of: q, k or v");
    dq = attention_way_back(l, args[0], args[1]);
    if (dq == GRAPH_NONE || operand[0] == 'q')
        return dq;
    return l->graph->nodes[dq].extras[operand[0] == 'v'];
}

static uint32_t build_causal_mask(struct lines *l, const struct expr *call,
                                  const struct expr_dims *target)
{
    uint32_t args[3]; /* x, query, key */

    if (!call_args(l, call, target, "xdd", args))
        return GRAPH_NONE;
    return graph_causal_mask(l->graph, lines_node_name(l, "causal_mask"), args[0], args[1], args[2],
                             -1e30);
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
    {"einsum", 1, EXPR_ARGS_MAX, "a, b, ...", "product, summed over dims not in the result",
     build_einsum},
    {"sum", 1, 1, "x", "over dims not in the result", build_reduce},
    {"mean", 1, 1, "x", "over dims not in the result", build_reduce},
    {"max", 1, 1, "x", "maximum over dims not in the result; of two arrays, elementwise",
     build_reduce},
    {"min", 1, 1, "x", "minimum over dims not in the result; of two arrays, elementwise",
     build_reduce},
    {"select", 3, 3, "condition, a, b", "a where the condition is not 0, else b",
     lines_build_select},
    {"greater", 2, 2, "a, b", "1 where a > b, else 0; also less", lines_build_swapped},
    {"greater_equal", 2, 2, "a, b", "1 where a >= b, else 0", lines_build_swapped},
    {"clamp", 3, 3, "x, low, high", "min(max(x, low), high)", lines_build_clamp},
    {"convert", 2, 2, "x, type", "convert to float32, float64, bfloat16, float16 or int32",
     lines_build_convert},
    {"iota", 1, 1, "dim", "the integers from 0 along a dim", lines_build_iota},
    {"one_hot", 2, 2, "ids, dim", "1 where the index along a dim equals the id, else 0",
     lines_build_one_hot},
    {"argmax", 2, 2, "x, dim", "the first index of the largest element along a dim",
     lines_build_place},
    {"argmin", 2, 2, "x, dim", "the first index of the smallest element along a dim",
     lines_build_place},
    {"logsumexp", 2, 2, "x, dim", "log of the sum of exp along a dim", lines_build_log_sum_exp},
    {"softmax", 2, 2, "x, dim", "over one dim", build_softmax},
    {"rms_norm", 2, 3, "x, dim, scale, eps=1e-6", "x / sqrt(mean(x^2) + eps) * scale", build_norm},
    {"layer_norm", 2, 4, "x, dim, scale, bias, eps=1e-5",
     "(x - mean) / sqrt(var + eps) * scale + bias", build_norm},
    {"rope", 3, 3, "x, position, pair, theta=10000, interleaved=false",
     "rotary embedding: rotates pairs along one dim by the position along another", build_rope},
    {"attention", 3, 3, "q, k, v, causal=false, scale=1/sqrt(width)",
     "of [batch, seq, heads, width]; k and v may have fewer heads", build_attention},
    {"linear_attention", 3, 3, "q, k, v, decay=none, beta=none, state=none, chunk=64",
     "of q, k [batch, seq, heads, key] and v [batch, seq, heads, value], causal: a state goes from "
     "token to token, S = exp(decay) S + k v, o = S q; with beta by the delta rule, k beta (v - S "
     "k) "
     "in place of k v. decay is [batch, seq, heads] or [.., key], beta [batch, seq, heads], state "
     "[batch, heads, key, value]. The sequence is not sharded inside",
     build_linear_attention},
    {"attention_grad", 2, 2, "y, dy, of=q",
     "backward: the gradient of q, k or v of a line y = attention(q, k, v); dy is the gradient of "
     "y",
     build_attention_grad},
    {"causal_mask", 3, 3, "x, query, key", "-1e30 where the key is after the query",
     build_causal_mask},
    {"transpose", 1, 1, "x", "transpose to the order of the result's dims", lines_build_transpose},
    {"repeat", 3, 3, "x, from, to", "repeat each element along a dim, into a larger dim",
     lines_build_repeat},
    {"rename", 3, 3, "x, from, to", "rename a dim", lines_build_repeat},
    {"full", 1, 1, "number", "a constant array with the result's dims", lines_build_full},
    {"reshape", 1, 1, "x", "reshape to the result's dims, in row-major order", lines_build_reshape},
    {"slice", 4, 4, "x, from, to, start, stride=1",
     "a slice of a dim, optionally strided, as a smaller dim", lines_build_slice},
    {"reverse", 2, 2, "x, dim", "reverse a dim", lines_build_reverse},
    {"pad", 4, 4, "x, from, to, low, fill=0, between=0",
     "pad a dim: elements start at `low` of a longer dim, optionally dilated; a negative low drops "
     "the first elements",
     lines_build_pad},
    {"concat", 5, 5, "a, a_dim, b, b_dim, to", "concatenate arrays along a larger dim",
     lines_build_concat},
    {"windows", 4, 4, "x, from, to, taps, stride=1, dilation=1, low=0, high=0, fill=0",
     "windows of a dim, as `to`, and the taps of each (im2col): tap t of window w is the element w "
     "* stride + t * dilation - low, or fill; einsum makes them a convolution, max or mean "
     "makes them a pooling. If `from` is sharded, devices exchange halos; the result is stored in "
     "full",
     lines_build_windows},
    {"windows_add", 4, 4, "x, windows, taps, to, stride=1, dilation=1, low=0",
     "backward: adds each window's taps to their elements", lines_build_windows_add},
    {"cumsum", 2, 2, "x, dim, reverse=false",
     "cumulative sum along a dim, or from the end; shards of a sharded dim exchange only their "
     "totals",
     lines_build_scan},
    {"cumprod", 2, 2, "x, dim, reverse=false", "cumulative product", lines_build_scan},
    {"cummax", 2, 2, "x, dim, reverse=false", "cumulative maximum; without a gradient",
     lines_build_scan},
    {"cummin", 2, 2, "x, dim, reverse=false", "cumulative minimum; without a gradient",
     lines_build_scan},
    {"recurrence", 3, 3, "a, b, dim, reverse=false",
     "linear recurrence h = a * h + b along a dim, from h = 0", lines_build_scan},
    {"shift", 3, 3, "x, dim, by", "roll: shift elements along a dim, cyclically",
     lines_build_shift},
    {"embed", 2, 3, "table, ids, dim",
     "embedding lookup: rows of a table, along its first dim or a named dim", lines_build_embed},
    {"embed_add", 3, 3, "x, ids, dim", "backward: adds rows at their ids along a new dim",
     lines_build_embed_add},
    {"pick", 3, 3, "x, ids, dim", "one element along a dim", lines_build_pick},
    {"pick_add", 3, 3, "x, ids, dim",
     "backward: adds elements at their ids along a new dim; dims of ids not in the result are "
     "summed over",
     lines_build_pick_add},
    {"topk", 3, 3, "x, dim, choice, smallest=false",
     "ids of the largest elements along a dim, ties in order, NaN first; or of the smallest, NaN "
     "last",
     lines_build_topk},
    {"constraint", 2, 2, "name, x", "a named point for a sharding constraint", build_constraint},
    {"stop_gradient", 1, 1, "x", "stops the gradient", build_stop_gradient},
    {NULL, 0, 0, NULL, NULL, NULL},
};
