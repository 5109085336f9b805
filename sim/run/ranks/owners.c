/* The two-step all-reduce between ranks (owners.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/ranks/owners.h"

#include <stdalign.h>

#include "run/ranks/span.h"
#include "run/count.h"
#include "run/fused.h"
#include "run/move.h"
#include "run/view.h"

/* The elements reduced at a time are on the stack, and in the first-level cache. */
#define BLOCK_BYTES 16384
/* The tag after the first one, which the operands use. */
#define TAG_REDUCED 1

/* The current call. */
struct owners {
    struct span *span;
    struct fused_job job;
    const struct coll_call *call;
    size_t elem_bytes;
    struct count count;
};

static void begin(struct owners *o, struct span *s)
{
    o->span = s;
    o->call = s->group->calls[s->here[0]];
    o->job = (struct fused_job){.shape = move_shape(o->call)};
    o->elem_bytes = shd_dtype_size(o->call->dtype);
}

/* The chunks that a rank's members own. */
static struct fused_range chunks_of(struct owners *o, int rank)
{
    struct span_range chunks = span_chunks(o->span, o->call->count, rank);

    return (struct fused_range){.job = &o->job,
                                .group = o->span->group,
                                .call = o->call,
                                .count = &o->count,
                                .at = chunks.at,
                                .nelems = chunks.end - chunks.at};
}

/* Where chunks are contiguous: in an OUT, or else in a buffer. */
static void *place_of(const struct owners *o, const struct fused_range *chunks)
{
    void *place = fused_place(chunks);

    return place ? place : (char *)o->span->aside.at + chunks->at * o->elem_bytes;
}

bool owners_reserve(struct span *s)
{
    struct owners o;
    bool aside = false;

    begin(&o, s);
    for (uint32_t k = 0; k < s->nranks; k++) {
        struct fused_range chunks = chunks_of(&o, s->ranks[k]);

        aside |= !fused_place(&chunks);
    }
    return !aside || span_grow(&s->aside, o.call->count * o.elem_bytes);
}

static void reduce(struct fused_range chunks, size_t elem_bytes)
{
    alignas(64) char block[BLOCK_BYTES];
    uint64_t most = BLOCK_BYTES / elem_bytes, end = chunks.at + chunks.nelems;

    for (; chunks.at < end; chunks.at += most) {
        chunks.nelems = end - chunks.at < most ? end - chunks.at : most;
        fused_fold(&chunks, 0, chunks.job->shape.nmembers, block);
        fused_finish(&chunks, block);
        fused_store(&chunks, block);
    }
}

/* Make the rank's reduced chunks contiguous for sending, copying them from the first OUT if
 * necessary. */
static void *in_a_row(const struct owners *o, const struct fused_range *own)
{
    void *place = place_of(o, own);

    view_pack(place, &o->call->out, o->elem_bytes, own->at, own->nelems);
    return place;
}

static void exchange(struct owners *o)
{
    struct span *s = o->span;
    struct fused_range own = chunks_of(o, s->me);
    const void *reduced = in_a_row(o, &own);

    for (uint32_t k = 0; k < s->nranks; k++) {
        int rank = s->ranks[k];
        struct fused_range chunks = chunks_of(o, rank);

        if (rank == s->me)
            continue;
        if (chunks.nelems > 0)
            span_receive(s, rank, s->tags[rank] + TAG_REDUCED, place_of(o, &chunks),
                         chunks.nelems * o->elem_bytes);
        if (own.nelems > 0)
            span_send(s, rank, s->tags[s->me] + TAG_REDUCED, reduced, own.nelems * o->elem_bytes);
    }
    span_finish(s);
}

void owners_run(struct span *s)
{
    struct owners o;

    begin(&o, s);
    count_init(&o.count, s->group, &o.job.shape, true);
    reduce(chunks_of(&o, s->me), o.elem_bytes);
    exchange(&o);
    for (uint32_t k = 0; k < s->nranks; k++) {
        struct fused_range chunks = chunks_of(&o, s->ranks[k]);

        if (s->ranks[k] != s->me && chunks.nelems > 0)
            fused_store(&chunks, place_of(&o, &chunks));
    }
    count_flush(&o.count);
}
