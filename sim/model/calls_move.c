/* Functions of a `graph:` section that move elements: repeats, slices, pads, windows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "model/call_args.h"
#include "model/call_builders.h"

uint32_t lines_build_transpose(struct lines *l, const struct expr *call,
                               const struct expr_dims *target)
{
    (void)target; /* lines_conform() transposes the operand */
    return lines_eval_any(l, call->args[0], NULL);
}

/* repeat() and rename(): replace one dim of x by another. */
uint32_t lines_build_repeat(struct lines *l, const struct expr *call,
                            const struct expr_dims *target)
{
    uint32_t args[3]; /* x, from, to */
    bool rename = !strcmp(call->name, "rename");
    const struct graph_dim *from, *to;

    if (!call_args(l, call, target, "adn", args))
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
    lines_error(
        l, call->at,
        "the dims that this %s makes are unknown; expected dims after the call, as in %s(x)[i,j]",
        call->name, call->name);
    return false;
}

/* An array of one number is an input: each device fills its own shard. */
uint32_t lines_build_full(struct lines *l, const struct expr *call, const struct expr_dims *target)
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

uint32_t lines_build_reshape(struct lines *l, const struct expr *call,
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

    if (!e || !call_number(l, e, &number))
        return e == NULL;
    if (number != floor(number) || fabs(number) > 1e15) {
        lines_error(l, e->at, "%g; expected a whole number", number);
        return false;
    }
    *out = (int64_t)number;
    return true;
}

uint32_t lines_build_slice(struct lines *l, const struct expr *call, const struct expr_dims *target)
{
    uint32_t args[3]; /* x, from, to */
    struct graph_placing p = {.from_step = 1, .to_step = 1};
    const struct graph_dim *from, *to;

    if (!call_args(l, call, target, "adn", args) ||
        !read_whole(l, call_positional(call, 3), &p.from) ||
        !read_whole(l, call_key(call, "stride"), &p.from_step))
        return GRAPH_NONE;
    from = &l->graph->dims[args[1]];
    to = &l->graph->dims[args[2]];
    if (p.from_step < 1)
        return lines_error(l, call_key(call, "stride")->at, "a stride of %lld; expected 1 or more",
                           (long long)p.from_step);
    if (p.from < 0 ||
        (double)p.from + (double)(to->size - 1) * (double)p.from_step >= (double)from->size)
        return lines_error(l, call_positional(call, 3)->at,
                           "%lld elements from index %lld exceed '%s' of %lld", (long long)to->size,
                           (long long)p.from, from->name, (long long)from->size);
    return graph_placed(l->graph, lines_node_name(l, "slice"), args[0], args[1], args[2], &p);
}

uint32_t lines_build_reverse(struct lines *l, const struct expr *call,
                             const struct expr_dims *target)
{
    uint32_t args[2]; /* x, dim */
    struct graph_placing p = {.from_step = -1, .to_step = 1};

    if (!call_args(l, call, target, "ad", args))
        return GRAPH_NONE;
    p.from = l->graph->dims[args[1]].size - 1;
    return graph_placed(l->graph, lines_node_name(l, "reverse"), args[0], args[1], args[1], &p);
}

/* Elements at `low` and on, `between` places apart; a negative low leaves out the first ones. */
uint32_t lines_build_pad(struct lines *l, const struct expr *call, const struct expr_dims *target)
{
    uint32_t args[3]; /* x, from, to */
    struct graph_placing p = {.from_step = 1};
    int64_t low, between = 0;

    if (!call_args(l, call, target, "adn", args) ||
        !read_whole(l, call_positional(call, 3), &low) ||
        !read_whole(l, call_key(call, "between"), &between) ||
        !call_number_key(l, call, "fill", &p.fill))
        return GRAPH_NONE;
    if (between < 0)
        return lines_error(l, call_key(call, "between")->at, "%lld positions; expected 0 or more",
                           (long long)between);
    p.to_step = between + 1;
    p.from = low < 0 ? (-low + between) / p.to_step : 0;
    p.to = low + p.from * p.to_step;
    return graph_placed(l->graph, lines_node_name(l, "pad"), args[0], args[1], args[2], &p);
}

static bool read_taps(struct lines *l, const struct expr *call, struct graph_taps *how)
{
    *how = (struct graph_taps){.stride = 1, .dilation = 1};
    if (!read_whole(l, call_key(call, "stride"), &how->stride) ||
        !read_whole(l, call_key(call, "dilation"), &how->dilation) ||
        !read_whole(l, call_key(call, "low"), &how->low) ||
        !call_number_key(l, call, "fill", &how->fill))
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
    const struct expr *e = call_key(call, "high");
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

uint32_t lines_build_windows(struct lines *l, const struct expr *call,
                             const struct expr_dims *target)
{
    uint32_t args[4]; /* x, from, to, taps */
    struct graph_taps how;

    if (!call_args(l, call, target, "adnn", args) || !read_taps(l, call, &how) ||
        !check_high(l, call, args, &how))
        return GRAPH_NONE;
    return graph_windows(l->graph, lines_node_name(l, "windows"), args[0], args[1], args[2],
                         args[3], &how);
}

/* Transpose x: `taps` right after `windows`. */
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

uint32_t lines_build_windows_add(struct lines *l, const struct expr *call,
                                 const struct expr_dims *target)
{
    uint32_t args[4], x; /* x, windows, taps, to */
    struct graph_taps how;

    if (!call_args(l, call, target, "addn", args) || !read_taps(l, call, &how))
        return GRAPH_NONE;
    if (args[1] == args[2])
        return lines_error(l, call->args[2]->at, "one dim for windows and taps");
    x = lines_checked(l, call->at, with_taps_behind(l, args[0], args[1], args[2]));
    return graph_windows_add(l->graph, lines_node_name(l, "windows_add"), x, args[1], args[2],
                             args[3], &how);
}

uint32_t lines_build_shift(struct lines *l, const struct expr *call, const struct expr_dims *target)
{
    uint32_t args[2]; /* x, dim */
    const struct graph_dim *along;
    double by;

    if (!call_args(l, call, target, "ad", args) || !call_number(l, call->args[2], &by))
        return GRAPH_NONE;
    along = &l->graph->dims[args[1]];
    if (by != floor(by) || fabs(by) > (double)along->size)
        return lines_error(l, call->args[2]->at,
                           "a shift by %g along '%s'; expected a whole number up to its size, %lld",
                           by, along->name, (long long)along->size);
    return graph_shift(l->graph, lines_node_name(l, "shift"), args[0], args[1], (int64_t)by);
}

uint32_t lines_build_concat(struct lines *l, const struct expr *call,
                            const struct expr_dims *target)
{
    uint32_t args[5]; /* a, a_dim, b, b_dim, to */

    if (!call_args(l, call, target, "adadn", args))
        return GRAPH_NONE;
    return graph_concat(l->graph, lines_node_name(l, "concat"), args[0], args[1], args[2], args[3],
                        args[4]);
}
