/* Moves of a schedule on shared memory (move.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/move.h"

#include <stdalign.h>

#include "run/device.h"
#include "run/view.h"

/* Reductions go block by block through the first-level cache: 8 KiB each for a block, its operand
 * and its destination fit 32 KiB.  A block is stored when it is complete, which makes in-place
 * calls correct. */
#define BLOCK_BYTES 8192

struct mover {
    const struct run_group *group;
    const struct coll_shape *shape;
    const struct coll_algo *algo;
    const struct coll_call *call; /* the member's call */
    uint32_t member;
    uint32_t step;
    size_t elem_bytes;
    struct tally *tally;
};

struct coll_shape move_shape(const struct coll_call *call)
{
    return (struct coll_shape){
        .nmembers = call->seat.group->nmembers,
        .count = call->count,
        .root = call->root,
        .source = call->source,
    };
}

static void at_buffer(struct view_cursor *c, const struct mover *mv, uint32_t member,
                      enum coll_buf buf, uint64_t at)
{
    const struct coll_call *call = mv->group->calls[member];
    struct coll_view tmp = {.base = call->tmp};

    view_cursor_init(c, buf == COLL_IN ? &call->in : buf == COLL_OUT ? &call->out : &tmp,
                     mv->elem_bytes, at);
}

/* Count bytes that came from another member. */
static void count(const struct mover *mv, uint32_t peer, uint64_t copied)
{
    if (peer != mv->member)
        tally_add(mv->tally, mv->member, peer, copied * mv->elem_bytes);
}

/* Execute moves first..end-1, which all have the same destination, on a block of it. */
static void reduce_block(const struct mover *mv, uint32_t first, uint32_t end, uint64_t at,
                         uint64_t nelems)
{
    alignas(64) char block[BLOCK_BYTES];
    struct coll_view block_view = {.base = block};
    struct view_cursor dst;
    struct view_cursor src;
    struct view_cursor acc;
    struct coll_move move;
    uint64_t copied;

    for (uint32_t i = first; i < end; i++) {
        mv->algo->move(mv->shape, mv->member, mv->step, i, &move);
        at_buffer(&src, mv, move.peer, move.src, move.src_at + at);
        at_buffer(&dst, mv, mv->member, move.dst, move.dst_at + at);
        view_cursor_init(&acc, &block_view, mv->elem_bytes, 0);
        if (i == first && move.act == COLL_COMBINE)
            view_copy(&acc, &dst, nelems);
        if (move.act == COLL_COMBINE)
            copied = view_combine(mv->call->dtype, mv->call->red, block, &src, 1, nelems);
        else
            copied = view_copy(&acc, &src, nelems);
        count(mv, move.peer, copied);
    }
    at_buffer(&dst, mv, mv->member, move.dst, move.dst_at + at);
    view_cursor_init(&acc, &block_view, mv->elem_bytes, 0);
    view_copy(&dst, &acc, nelems);
}

/* The end of the run of moves, from `i` on, that combine into the same elements. */
static uint32_t end_of_run(const struct mover *mv, uint32_t i, uint32_t nmoves,
                           const struct coll_move *first)
{
    struct coll_move move;

    for (i++; i < nmoves; i++) {
        mv->algo->move(mv->shape, mv->member, mv->step, i, &move);
        if (move.act != COLL_COMBINE || move.dst != first->dst || move.dst_at != first->dst_at ||
            move.count != first->count)
            break;
    }
    return i;
}

static void make_moves(const struct mover *mv, const struct coll_move *first, uint32_t i,
                       uint32_t end)
{
    uint64_t block = BLOCK_BYTES / mv->elem_bytes;
    struct view_cursor dst;
    struct view_cursor src;

    if (first->act == COLL_COMBINE || end - i > 1) {
        for (uint64_t at = 0; at < first->count; at += block)
            reduce_block(mv, i, end, at, first->count - at < block ? first->count - at : block);
        return;
    }
    at_buffer(&dst, mv, mv->member, first->dst, first->dst_at);
    if (first->act == COLL_ZERO) {
        view_clear(&dst, first->count);
        return;
    }
    at_buffer(&src, mv, first->peer, first->src, first->src_at);
    count(mv, first->peer, view_copy(&dst, &src, first->count));
}

void move_step(const struct run_group *group, const struct coll_shape *shape, uint32_t member,
               uint32_t step, struct tally *tally)
{
    const struct coll_call *call = group->calls[member];
    struct mover mv = {.group = group,
                       .shape = shape,
                       .algo = call->algo,
                       .call = call,
                       .member = member,
                       .step = step,
                       .elem_bytes = shd_dtype_size(call->dtype),
                       .tally = tally};
    uint32_t nmoves = call->algo->nmoves(shape, member, step);
    uint32_t i = 0;

    while (i < nmoves) {
        struct coll_move first;
        uint32_t end;

        mv.algo->move(shape, member, step, i, &first);
        end = end_of_run(&mv, i, nmoves, &first);
        if (first.count > 0)
            make_moves(&mv, &first, i, end);
        i = end;
    }
}
