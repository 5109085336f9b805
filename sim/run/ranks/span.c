/* Groups over several ranks: members, memory, parcels and bundles (span.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/ranks/span.h"

#include <stdlib.h>

#include "base/wait.h"
#include "run/ranks/remote.h"
#include "run/mismatch.h"
#include "run/move.h"

/* ---- the ranks of a group ---- */

int span_rank_of(const struct span *span, uint32_t member)
{
    return span->remote->spread->rank_of[span->group->members[member]];
}

static void list_here(struct span *s)
{
    for (uint32_t m = 0; m < s->group->nmembers; m++)
        if (s->group->devices[m]->here)
            s->here[s->nhere++] = m;
}

static void list_segments(struct span *s)
{
    for (uint32_t m = 0; m < s->group->nmembers; m++) {
        int rank = span_rank_of(s, m);

        if (m == 0 || s->segments[s->nsegments - 1].rank != rank)
            s->segments[s->nsegments++] = (struct span_segment){m, m, rank};
        s->segments[s->nsegments - 1].end = m + 1;
    }
}

static void list_ranks(struct span *s)
{
    for (int r = 0; r < s->remote->spread->nranks; r++) {
        uint32_t k = 0;

        while (k < s->nsegments && s->segments[k].rank != r)
            k++;
        if (k < s->nsegments)
            s->ranks[s->nranks++] = r;
    }
}

struct span *span_create(struct remote *remote, struct run_group *group)
{
    size_t nranks = (size_t)remote->spread->nranks;
    struct span *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->remote = remote;
    s->group = group;
    s->me = remote->spread->me;
    pthread_mutex_init(&s->lock, NULL);
    s->ranks = calloc(nranks, sizeof *s->ranks);
    s->tags = calloc(nranks, sizeof *s->tags);
    s->here = calloc(group->nmembers, sizeof *s->here);
    s->segments = calloc(group->nmembers, sizeof *s->segments);
    s->proxies = calloc(group->nmembers, sizeof *s->proxies);
    s->parts = calloc(1 + 2 * (size_t)group->nmembers, sizeof *s->parts);
    if (!s->ranks || !s->tags || !s->here || !s->segments || !s->proxies || !s->parts) {
        span_destroy(s);
        return NULL;
    }
    list_here(s);
    list_segments(s);
    list_ranks(s);
    return s;
}

static void free_proxies(struct span *s)
{
    for (uint32_t m = 0; s->proxies && m < s->group->nmembers; m++) {
        free(s->proxies[m].source);
        free(s->proxies[m].in.at);
        free(s->proxies[m].out.at);
        free(s->proxies[m].tmp.at);
    }
    free(s->proxies);
}

void span_free_bundles(struct span_bundle *bundles)
{
    while (bundles) {
        struct span_bundle *next = bundles->next;

        ranks_put_back(bundles->letter);
        free(bundles);
        bundles = next;
    }
}

void span_destroy(struct span *span)
{
    if (!span)
        return;
    span_free_bundles(span->bundles);
    span_free_bundles(span->read);
    free_proxies(span);
    free(span->ranks);
    free(span->tags);
    free(span->here);
    free(span->segments);
    free(span->packed.at);
    free(span->aside.at);
    free(span->parcels.at);
    free(span->letter.at);
    free(span->parts);
    pthread_mutex_destroy(&span->lock);
    free(span);
}

size_t span_elem_bytes(const struct coll_call *call)
{
    return call->kind == CALL_EXCHANGE ? 1 : shd_dtype_size(call->dtype);
}

struct span_range span_operand(const struct coll_call *call, uint32_t member)
{
    struct coll_shape shape = move_shape(call);

    return (struct span_range){0, call->kind == CALL_EXCHANGE
                                      ? call->pulled_bytes
                                      : coll_in_count(call->kind, &shape, member)};
}

struct span_range span_chunks(const struct span *span, uint64_t count, int rank)
{
    uint32_t n = span->group->nmembers, first = UINT32_MAX, last = 0;

    for (uint32_t k = 0; k < span->nsegments; k++) {
        if (span->segments[k].rank != rank)
            continue;
        first = first == UINT32_MAX ? span->segments[k].first : first;
        last = span->segments[k].end - 1;
    }
    return (struct span_range){coll_chunk_at(count, n, first),
                               coll_chunk_at(count, n, last) + coll_chunk_count(count, n, last)};
}

/* ---- room ---- */

bool span_grow(struct span_room *room, uint64_t bytes)
{
    if (bytes <= room->bytes)
        return true;
    free(room->at);
    room->at = bytes <= SIZE_MAX ? malloc(bytes) : NULL;
    room->bytes = room->at ? bytes : 0;
    return room->at != NULL;
}

void span_forget(struct span *span, uint32_t member)
{
    struct span_room *in = &span->proxies[member].in;

    free(in->at);
    *in = (struct span_room){NULL, 0};
}

/* ---- parcels ---- */

static struct ranks_parcel *parcel_at(const struct span *span, uint32_t i)
{
    return (struct ranks_parcel *)span->parcels.at + i;
}

void span_send(struct span *span, int rank, uint32_t tag, const void *data, uint64_t bytes)
{
    ranks_send(parcel_at(span, span->nparcels++), rank, tag, data, bytes);
}

void span_receive(struct span *span, int rank, uint32_t tag, void *data, uint64_t bytes)
{
    ranks_receive(parcel_at(span, span->nparcels++), rank, tag, data, bytes);
}

void span_finish_receives(struct span *span)
{
    for (uint32_t i = 0; i < span->nparcels; i++)
        if (parcel_at(span, i)->how == RANKS_RECEIVE)
            ranks_finish(parcel_at(span, i));
}

void span_finish(struct span *span)
{
    for (uint32_t i = 0; i < span->nparcels; i++)
        ranks_finish(parcel_at(span, i));
    span->nparcels = 0;
}

/* ---- bundles ---- */

uint32_t span_count_bundles(const struct span *s)
{
    uint32_t n = 0;

    for (const struct span_bundle *b = s->bundles; b; b = b->next)
        n += b->number == s->number;
    return n;
}

void span_deliver(struct span *span, struct span_bundle *bundle)
{
    bool all;

    pthread_mutex_lock(&span->lock);
    bundle->next = span->bundles;
    span->bundles = bundle;
    all = span->waiter && span_count_bundles(span) == span->nranks - 1;
    if (all) {
        wait_record_over(span->waiter);
        span->waiter = NULL;
    }
    pthread_mutex_unlock(&span->lock);
    if (all)
        wait_signal(&span->group->event);
}
