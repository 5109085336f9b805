/* Default algorithms in one pass over shared memory (fused.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/fused.h"

#include <stdalign.h>
#include <string.h>

#include "kern/kern.h"
#include "run/collective.h"
#include "run/count.h"
#include "run/device.h"
#include "run/group.h"
#include "run/move.h"
#include "run/stream.h"
#include "run/view.h"

/* A block is reduced in the first-level cache, and is on the thread's stack. */
#define BLOCK_BYTES 16384
/* Block size with stores past the caches: memory bandwidth is the limit there, and longer runs suit
 * it. */
#define STREAM_BLOCK_BYTES 32768
/* A slice reads and writes at most this much, so that the tasks of a large call stay short. */
#define SLICE_BYTES_MAX (1 << 20)
/* Several tasks per thread: a thread that lost its core then delays the others little. */
#define TASKS_PER_THREAD 8
/* Calls that read and write more than this bypass the caches, which would not keep the data anyway:
 * the third-level caches of servers hold some tens of MiB. */
#define STREAM_BYTES (UINT64_C(64) << 20)
/* A thread is not woken to read and write less than this: it takes one core about as long as the
 * wake-up. */
#define THREAD_BYTES (64 << 10)

/* A range of the IN of `source`, or of the reduction of all INs, and its destination. */
struct piece {
    uint32_t source; /* a member, COLL_ALL or COLL_NOBODY (zeros) */
    uint32_t dest;   /* a member or COLL_ALL */
    uint64_t in_at, out_at;
    uint64_t count;
};

static uint64_t count_pieces(enum coll_kind kind, uint32_t n)
{
    switch (kind) {
    case COLL_ALL_REDUCE:
    case COLL_REDUCE:
    case COLL_BROADCAST:
    case COLL_SEND_RECV:
        return 1;
    case COLL_ALL_TO_ALL:
        return (uint64_t)n * n;
    case COLL_BARRIER:
        return 0;
    default:
        return n;
    }
}

/* Chunk `m` of `source`, for member m. */
static struct piece chunk_piece(const struct coll_shape *s, uint32_t source, uint32_t m)
{
    return (struct piece){source, m, coll_chunk_at(s->count, s->nmembers, m), 0,
                          coll_chunk_count(s->count, s->nmembers, m)};
}

static struct piece piece_at(enum coll_kind kind, const struct coll_shape *s, uint64_t index)
{
    uint32_t n = s->nmembers;
    uint32_t i = (uint32_t)index;
    struct piece p;

    switch (kind) {
    case COLL_ALL_REDUCE:
        return (struct piece){COLL_ALL, COLL_ALL, 0, 0, s->count};
    case COLL_REDUCE:
        return (struct piece){COLL_ALL, s->root, 0, 0, s->count};
    case COLL_REDUCE_SCATTER:
        return chunk_piece(s, COLL_ALL, i);
    case COLL_SCATTER:
        return chunk_piece(s, s->root, i);
    case COLL_ALL_TO_ALL:
        p = chunk_piece(s, (uint32_t)(index / n), (uint32_t)(index % n));
        p.out_at = p.source * p.count;
        return p;
    case COLL_ALL_GATHER:
        return (struct piece){i, COLL_ALL, 0, i * s->count, s->count};
    case COLL_GATHER:
        return (struct piece){i, s->root, 0, i * s->count, s->count};
    case COLL_BROADCAST:
        return (struct piece){s->root, COLL_ALL, 0, 0, s->count};
    case COLL_PERMUTE:
        return (struct piece){s->source[i], i, 0, 0, s->count};
    default:
        return (struct piece){0, 1, 0, 0, s->count};
    }
}

/* ---- cutting ---- */

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* Bytes read and written for `count` elements of a piece. */
static uint64_t touched(const struct piece *p, uint32_t n, uint64_t count, size_t elem_bytes)
{
    return count * elem_bytes * ((p->source == COLL_ALL ? n : 1) + (p->dest == COLL_ALL ? n : 1));
}

bool fused_serves(const struct coll_algo *algo)
{
    return algo == coll_find(algo->kind, NULL);
}

void fused_prepare(struct fused_job *job, const struct run_group *group, uint32_t ncores)
{
    const struct coll_call *call = group->calls[0];
    size_t elem_bytes = shd_dtype_size(call->dtype);
    struct piece first; /* the longest */
    uint64_t bytes, total, most, nunits;

    *job = (struct fused_job){.shape = move_shape(call)};
    job->npieces = count_pieces(call->kind, job->shape.nmembers);
    if (job->npieces == 0)
        return;
    first = piece_at(call->kind, &job->shape, 0);
    bytes = touched(&first, job->shape.nmembers, 1, elem_bytes);
    total = bytes * first.count * job->npieces;
    most = total / THREAD_BYTES + 1;
    job->nthreads = most < ncores ? (uint32_t)most : ncores;
    job->stream = total > STREAM_BYTES;
    job->slice = total / (job->nthreads * TASKS_PER_THREAD);
    job->slice = (job->slice < SLICE_BYTES_MAX ? job->slice : SLICE_BYTES_MAX) / bytes;
    if (job->slice < BLOCK_BYTES / elem_bytes)
        job->slice = BLOCK_BYTES / elem_bytes;
    job->nslices = divide_up(first.count, job->slice);
    nunits = job->nslices * job->npieces;
    /* a single thread does everything in one task */
    job->per_task = divide_up(nunits, job->nthreads > 1 ? WAIT_TASKS_MAX : 1);
    if (nunits > 0)
        job->ntasks = (uint32_t)divide_up(nunits, job->per_task);
    if (job->ntasks < job->nthreads)
        job->nthreads = job->ntasks;
}

/* ---- doing ---- */

struct doing {
    const struct fused_job *job;
    const struct run_group *group;
    const struct coll_call *call;
    size_t elem_bytes;
    struct count *count;
};

/* Element `at` of a member's array, or (COLL_ALL) of a reduction in a block.  Counts use the
 * position at which a cursor was set, so that the elements copied and counted cannot differ. */
struct place {
    uint32_t member;
    uint64_t at;
};

static struct place set_to_in(struct view_cursor *c, const struct doing *d, uint32_t member,
                              uint64_t at)
{
    view_cursor_init(c, &d->group->calls[member]->in, d->elem_bytes, at);
    return (struct place){member, at};
}

static struct place set_to_out(struct view_cursor *c, const struct doing *d, uint32_t member,
                               uint64_t at)
{
    view_cursor_init(c, &d->group->calls[member]->out, d->elem_bytes, at);
    return (struct place){member, at};
}

/* The member that reduces a piece: the one that gets it; where all get it, the owner of each chunk,
 * as in the default algorithm. */
static uint32_t reducer(const struct piece *p)
{
    return p->dest == COLL_ALL ? COUNT_OWNER : p->dest;
}

/* Count `count` elements from `in` on as read into a reduction, for OUT's elements from `out_at`
 * on. */
static void count_read(const struct doing *d, const struct piece *p, struct place in,
                       uint64_t out_at, uint64_t count)
{
    count_copied(d->count, COUNT_READ, in.member,
                 (struct count_run){in.member, reducer(p), COLL_ALL, in.at, out_at, count});
}

/* The member that another member gets a block's elements from; zeros come from itself. */
static uint32_t sender(const struct piece *p, struct place block, uint32_t member)
{
    if (block.member == COLL_NOBODY)
        return member;
    return block.member == COLL_ALL ? reducer(p) : block.member;
}

/* Count `count` elements from `block` on as stored to `out`. */
static void count_stored(const struct doing *d, const struct piece *p, struct place block,
                         struct place out, uint64_t count)
{
    uint32_t from = sender(p, block, out.member);

    count_copied(d->count, COUNT_STORED, out.member,
                 (struct count_run){from, out.member, block.member, block.at, out.at, count});
}

/* Store a block into the OUT of each destination member. */
static void store(const struct doing *d, const struct piece *p, struct place block,
                  const struct view_cursor *from, uint64_t out_at, uint64_t count)
{
    uint32_t first = p->dest == COLL_ALL ? 0 : p->dest;
    uint32_t end = p->dest == COLL_ALL ? d->job->shape.nmembers : p->dest + 1;

    for (uint32_t m = first; m < end; m++) {
        struct view_cursor src = *from;
        struct view_cursor dst;
        struct place out;

        if (!d->group->devices[m]->here)
            continue;
        out = set_to_out(&dst, d, m, out_at);
        count_stored(d, p, block, out,
                     d->job->stream ? view_stream(&dst, &src, count)
                                    : view_copy(&dst, &src, count));
    }
}

/* Reduce the INs of the members from `first` to `end` at `at`, in group order, for OUT's elements
 * from `out_at` on, combining them with the block's sum of the members before. */
static void fold(const struct doing *d, const struct piece *p, uint64_t at, uint64_t out_at,
                 uint64_t count, uint32_t first, uint32_t end, void *block)
{
    struct coll_view view = {.base = block};
    struct view_cursor srcs[VIEW_SOURCES_MAX];
    struct place ins[VIEW_SOURCES_MAX];
    struct view_cursor acc;
    uint64_t copied;

    view_cursor_init(&acc, &view, d->elem_bytes, 0);
    if (first == 0) {
        ins[0] = set_to_in(&srcs[0], d, 0, at);
        count_read(d, p, ins[0], out_at, view_copy(&acc, &srcs[0], count));
    }
    for (uint32_t m = first > 0 ? first : 1; m < end;) {
        uint32_t n = 0;

        for (; n < VIEW_SOURCES_MAX && m < end; n++, m++)
            ins[n] = set_to_in(&srcs[n], d, m, at);
        copied = view_combine(d->call->dtype, d->call->red, block, srcs, n, count);
        for (uint32_t i = 0; i < n; i++)
            count_read(d, p, ins[i], out_at, copied);
    }
}

static void reduce(const struct doing *d, const struct piece *p, uint64_t at, uint64_t out_at,
                   uint64_t count, void *block)
{
    fold(d, p, at, out_at, count, 0, d->job->shape.nmembers, block);
    if (d->call->red == SHD_MEAN)
        kern_scale(d->call->dtype, block, 1.0 / d->job->shape.nmembers, count);
}

static void reduce_block(const struct doing *d, const struct piece *p, uint64_t at, uint64_t count)
{
    alignas(64) char block[STREAM_BLOCK_BYTES];
    struct coll_view view = {.base = block};
    struct place reduced = {COLL_ALL, p->in_at + at};
    struct view_cursor src;

    reduce(d, p, reduced.at, p->out_at + at, count, block);
    view_cursor_init(&src, &view, d->elem_bytes, 0);
    store(d, p, reduced, &src, p->out_at + at, count);
}

static void spread_block(const struct doing *d, const struct piece *p, uint64_t at, uint64_t count)
{
    struct view_cursor src;
    struct place in = set_to_in(&src, d, p->source, p->in_at + at);

    store(d, p, in, &src, p->out_at + at, count);
}

static void clear_block(const struct doing *d, const struct piece *p, uint64_t at, uint64_t count)
{
    struct place nothing = {COLL_NOBODY, p->in_at + at};
    struct view_cursor dst;
    struct place out = set_to_out(&dst, d, p->dest, p->out_at + at);

    count_stored(d, p, nothing, out, view_clear(&dst, count));
}

/* Execute elements [at, end) of a piece. */
static void do_slice(const struct doing *d, const struct piece *p, uint64_t at, uint64_t end)
{
    uint64_t block = (d->job->stream ? STREAM_BLOCK_BYTES : BLOCK_BYTES) / d->elem_bytes;

    for (; at < end; at += block) {
        uint64_t count = end - at < block ? end - at : block;

        if (p->source == COLL_ALL)
            reduce_block(d, p, at, count);
        else if (p->source == COLL_NOBODY)
            clear_block(d, p, at, count);
        else
            spread_block(d, p, at, count);
    }
}

void fused_task(const struct fused_job *job, const struct run_group *group, uint32_t task)
{
    const struct coll_call *call = group->calls[0];
    struct count count;
    struct doing d = {job, group, call, shd_dtype_size(call->dtype), &count};
    uint64_t unit = task * job->per_task;
    uint64_t end = unit + job->per_task;

    count_init(&count, group, &job->shape, job->nthreads == 1);
    for (; unit < end && unit / job->nslices < job->npieces; unit++) {
        struct piece p = piece_at(call->kind, &job->shape, unit / job->nslices);
        uint64_t at = unit % job->nslices * job->slice;

        if (p.dest != COLL_ALL && !group->devices[p.dest]->here)
            continue;
        do_slice(&d, &p, at, p.count - at < job->slice ? p.count : at + job->slice);
    }
    count_flush(&count);
    if (job->stream)
        stream_fence();
}

/* ---- with members that are away ---- */

uint64_t fused_npieces(enum coll_kind kind, const struct coll_shape *shape)
{
    return count_pieces(kind, shape->nmembers);
}

uint64_t fused_piece_count(enum coll_kind kind, const struct coll_shape *shape, uint64_t piece)
{
    return piece_at(kind, shape, piece).count;
}

static struct doing doing_of(const struct fused_range *range)
{
    const struct coll_call *call = range->call;

    return (struct doing){range->job, range->group, call, shd_dtype_size(call->dtype),
                          range->count};
}

void fused_fold(const struct fused_range *range, uint32_t first, uint32_t end, void *sum)
{
    const struct doing d = doing_of(range);
    struct piece p = piece_at(d.call->kind, &range->job->shape, range->piece);
    uint64_t block = BLOCK_BYTES / d.elem_bytes;

    for (uint64_t i = 0; i < range->nelems; i += block) {
        uint64_t n = range->nelems - i < block ? range->nelems - i : block;

        fold(&d, &p, p.in_at + range->at + i, p.out_at + range->at + i, n, first, end,
             (char *)sum + i * d.elem_bytes);
    }
}

void fused_finish(const struct fused_range *range, void *sum)
{
    const struct coll_call *call = range->call;

    if (call->red == SHD_MEAN)
        kern_scale(call->dtype, sum, 1.0 / range->job->shape.nmembers, range->nelems);
}

void fused_store(const struct fused_range *range, const void *sum)
{
    const struct doing d = doing_of(range);
    struct piece p = piece_at(d.call->kind, &range->job->shape, range->piece);
    struct coll_view view = {.base = (void *)(uintptr_t)sum};
    struct place reduced = {COLL_ALL, p.in_at + range->at};
    struct view_cursor src;

    if (p.dest != COLL_ALL && !range->group->devices[p.dest]->here)
        return;
    view_cursor_init(&src, &view, d.elem_bytes, 0);
    store(&d, &p, reduced, &src, p.out_at + range->at, range->nelems);
}

void *fused_place(const struct fused_range *range)
{
    const struct doing d = doing_of(range);
    struct piece p = piece_at(d.call->kind, &range->job->shape, range->piece);
    uint32_t m = p.dest == COLL_ALL ? 0 : p.dest;

    while (p.dest == COLL_ALL && m < range->job->shape.nmembers && !range->group->devices[m]->here)
        m++;
    if (m == range->job->shape.nmembers || !range->group->devices[m]->here)
        return NULL;
    return view_in_a_row(&d.group->calls[m]->out, d.elem_bytes, p.out_at + range->at,
                         range->nelems);
}
