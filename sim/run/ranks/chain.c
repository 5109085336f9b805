/* The chain reduction between ranks (chain.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/ranks/chain.h"

#include <stdlib.h>
#include <string.h>

#include "run/ranks/ranks.h"
#include "run/ranks/span.h"
#include "run/count.h"
#include "run/device.h"
#include "run/fused.h"
#include "run/move.h"

/* Blocks in flight for each segment: received ahead, or not sent yet. */
#define DEPTH 4

/* Tags after the first one, which the blocks towards the last rank use: */
#define TAG_BACK 1
#define TAG_COUNTS 2

/* Blocks are numbered consecutively over all pieces (fused.h). */
struct block {
    uint64_t piece, at, nelems;
};

/* A segment of this rank. */
struct place {
    uint32_t segment;
    char *sums; /* [DEPTH][CHAIN_BLOCK_BYTES] */
    struct ranks_parcel came[DEPTH], goes[DEPTH];
    uint64_t nasked; /* blocks requested so far from the segment before */
};

/* A reduced block on its way back from the last rank. */
struct result {
    struct block block;
    struct ranks_parcel parcel; /* receive on this rank; unused on the last rank */
    void *data; /* the block's memory: in an OUT, or a buffer */
};

struct chain {
    struct place *places; /* by this rank's segments */
    uint32_t nplaces;
    struct span_room results; /* struct result[nblocks] */
    struct span_room sends;   /* struct ranks_parcel[] */
    struct span_room aside;
    uint64_t *counted; /* [member] bytes received, as counted on this rank; then [member] as
                          counted by others */
    /* The current call: */
    struct span *span;
    struct fused_job job;
    struct count count;
    const struct coll_call *call;
    size_t elem_bytes;
    uint64_t nblocks, npieces, per_block;
    uint64_t aside_at;
    struct ranks_parcel *next_send;
};

static bool is_mine(const struct span *s, uint32_t segment)
{
    return s->segments[segment].rank == s->me;
}

static bool make_places(struct chain *c, const struct span *s)
{
    for (uint32_t k = 0; k < s->nsegments; k++)
        c->nplaces += is_mine(s, k);
    c->places = calloc(c->nplaces, sizeof *c->places);
    c->counted = calloc(s->group->nmembers, 2 * sizeof *c->counted);
    if (!c->places || !c->counted)
        return false;
    for (uint32_t k = 0, i = 0; k < s->nsegments; k++) {
        if (!is_mine(s, k))
            continue;
        c->places[i].segment = k;
        c->places[i].sums = malloc((size_t)DEPTH * CHAIN_BLOCK_BYTES);
        if (!c->places[i++].sums)
            return false;
    }
    return true;
}

void chain_destroy(struct chain *chain)
{
    if (!chain)
        return;
    for (uint32_t i = 0; chain->places && i < chain->nplaces; i++)
        free(chain->places[i].sums);
    free(chain->places);
    free(chain->counted);
    free(chain->results.at);
    free(chain->sends.at);
    free(chain->aside.at);
    free(chain);
}

/* ---- the call at hand ---- */

static void take_call(struct chain *c, const struct span *s)
{
    c->call = s->group->calls[s->here[0]];
    c->job = (struct fused_job){.shape = move_shape(c->call)};
    c->elem_bytes = shd_dtype_size(c->call->dtype);
    c->per_block = CHAIN_BLOCK_BYTES / c->elem_bytes;
    c->npieces = fused_npieces(c->call->kind, &c->job.shape);
    c->nblocks = 0;
    for (uint64_t p = 0; p < c->npieces; p++)
        c->nblocks +=
            (fused_piece_count(c->call->kind, &c->job.shape, p) + c->per_block - 1) / c->per_block;
}

/* Whether a rank needs the reduction of a piece. */
static bool has_use(const struct chain *c, const struct span *s, uint64_t piece, int rank)
{
    if (c->call->kind == COLL_ALL_REDUCE)
        return true;
    return span_rank_of(s, c->call->kind == COLL_REDUCE ? c->call->root : (uint32_t)piece) == rank;
}

static int last_rank(const struct span *s)
{
    return s->segments[s->nsegments - 1].rank;
}

/* An all-reduce's results are passed around the ranks in ascending order, starting at the last rank
 * of the chain.  Returns the rank `step` places after `rank`. */
static int passed_on_by(const struct span *s, int rank, int step)
{
    uint32_t i = 0;

    while (s->ranks[i] != rank)
        i++;
    return s->ranks[(i + s->nranks + (uint32_t)step) % s->nranks];
}

/* The rank that this rank receives the reduction from. */
static int comes_from(const struct chain *c, const struct span *s)
{
    if (c->call->kind == COLL_ALL_REDUCE)
        return passed_on_by(s, s->me, -1);
    return last_rank(s);
}

static bool goes_to(const struct chain *c, const struct span *s, uint64_t piece, int rank)
{
    if (rank == s->me || rank == last_rank(s))
        return false;
    if (c->call->kind == COLL_ALL_REDUCE)
        return passed_on_by(s, s->me, 1) == rank;
    return s->me == last_rank(s) && has_use(c, s, piece, rank);
}

static uint32_t count_sends(const struct chain *c, const struct span *s, uint64_t piece)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < s->nranks; k++)
        n += goes_to(c, s, piece, s->ranks[k]);
    return n;
}

static struct fused_range range_of(struct chain *c, const struct block *b)
{
    return (struct fused_range){.job = &c->job,
                                .group = c->span->group,
                                .call = c->call,
                                .count = &c->count,
                                .piece = b->piece,
                                .at = b->at,
                                .nelems = b->nelems};
}

/* Whether this rank receives a block's result into a buffer, as it cannot go straight to its
 * place. */
static bool is_aside(struct chain *c, const struct block *b)
{
    const struct span *s = c->span;
    struct fused_range range = range_of(c, b);

    if (!has_use(c, s, b->piece, s->me))
        return s->me == last_rank(s);
    return !fused_place(&range);
}

static uint64_t aside_bytes(struct chain *c)
{
    uint64_t elems = 0;

    for (uint64_t p = 0; p < c->npieces; p++) {
        uint64_t n = fused_piece_count(c->call->kind, &c->job.shape, p);

        for (uint64_t at = 0; at < n; at += c->per_block) {
            struct block b = {p, at, n - at < c->per_block ? n - at : c->per_block};

            elems += is_aside(c, &b) ? b.nelems : 0;
        }
    }
    return elems * c->elem_bytes;
}

bool chain_reserve(struct chain **chain, struct span *span)
{
    struct chain *c = *chain;
    uint64_t nsends = 0;

    if (!c) {
        c = calloc(1, sizeof *c);
        *chain = c;
        if (!c || !make_places(c, span)) {
            chain_destroy(c);
            *chain = NULL;
            return false;
        }
    }
    c->span = span;
    take_call(c, span);
    for (uint64_t p = 0; p < c->npieces; p++)
        if (has_use(c, span, p, span->me) || span->me == last_rank(span))
            nsends += (fused_piece_count(c->call->kind, &c->job.shape, p) / c->per_block + 1) *
                      count_sends(c, span, p);
    return span_grow(&c->results, c->nblocks * sizeof(struct result)) &&
           span_grow(&c->sends, nsends * sizeof(struct ranks_parcel)) &&
           span_grow(&c->aside, aside_bytes(c));
}

/* ---- the way back ---- */

static struct result *result_at(const struct chain *c, uint64_t i)
{
    return (struct result *)c->results.at + i;
}

static void *put_aside(struct chain *c, uint64_t nelems)
{
    void *place = (char *)c->aside.at + c->aside_at;

    c->aside_at += nelems * c->elem_bytes;
    return place;
}

/* Start receiving a block's result: into the OUT of the first member that needs it, if it is
 * contiguous there, else into a buffer. */
static void expect_result(struct chain *c, struct result *r)
{
    const struct span *s = c->span;
    struct fused_range range = range_of(c, &r->block);
    int from = comes_from(c, s);

    atomic_store(&r->parcel.done, true);
    r->data = NULL;
    if (!has_use(c, s, r->block.piece, s->me) && s->me != last_rank(s))
        return;
    r->data = is_aside(c, &r->block) ? put_aside(c, r->block.nelems) : fused_place(&range);
    if (s->me != last_rank(s))
        ranks_receive(&r->parcel, from, s->tags[from] + TAG_BACK, r->data,
                      r->block.nelems * c->elem_bytes);
}

/* Number the blocks, and start receiving their results. */
static void expect_results(struct chain *c)
{
    uint64_t i = 0;

    c->aside_at = 0;
    c->next_send = c->sends.at;
    for (uint64_t p = 0; p < c->npieces; p++) {
        uint64_t n = fused_piece_count(c->call->kind, &c->job.shape, p);

        for (uint64_t at = 0; at < n; at += c->per_block, i++) {
            struct result *r = result_at(c, i);

            memset(r, 0, sizeof *r);
            r->block = (struct block){p, at, n - at < c->per_block ? n - at : c->per_block};
            expect_result(c, r);
        }
    }
}

/* Pass on a reduced block that is in place, and store it to this rank's members. */
static void spread(struct chain *c, struct result *r)
{
    const struct span *s = c->span;
    struct fused_range range = range_of(c, &r->block);

    for (uint32_t k = 0; k < s->nranks; k++)
        if (goes_to(c, s, r->block.piece, s->ranks[k]))
            ranks_send(c->next_send++, s->ranks[k], s->tags[s->me] + TAG_BACK, r->data,
                       r->block.nelems * c->elem_bytes);
    if (has_use(c, s, r->block.piece, s->me))
        fused_store(&range, r->data);
}

static void take_results(struct chain *c)
{
    const struct span *s = c->span;

    for (uint64_t i = 0; i < c->nblocks && s->me != last_rank(s); i++) {
        struct result *r = result_at(c, i);

        if (!has_use(c, s, r->block.piece, s->me))
            continue;
        ranks_finish(&r->parcel);
        spread(c, r);
    }
    for (struct ranks_parcel *p = c->sends.at; p < c->next_send; p++)
        ranks_finish(p);
}

/* ---- the way there ---- */

static char *sum_at(const struct place *p, uint64_t i)
{
    return p->sums + i % DEPTH * CHAIN_BLOCK_BYTES;
}

/* Request blocks from the segment before, ahead of block i, into free buffers: those whose sum was
 * sent. */
static void ask_ahead(struct chain *c, struct place *p, uint64_t i)
{
    const struct span *s = c->span;
    int from = p->segment > 0 ? s->segments[p->segment - 1].rank : s->me;
    /* A rank with several segments must request blocks in the order in which they are sent. */
    uint64_t ahead = s->nsegments > s->nranks ? 1 : DEPTH - 1;
    uint64_t end = i + ahead < c->nblocks ? i + ahead : c->nblocks;

    for (; p->segment > 0 && p->nasked < end; p->nasked++) {
        uint64_t k = p->nasked;

        if (k >= DEPTH)
            ranks_finish(&p->goes[k % DEPTH]);
        ranks_receive(&p->came[k % DEPTH], from, s->tags[from], sum_at(p, k),
                      result_at(c, k)->block.nelems * c->elem_bytes);
    }
}

/* Add this segment's operands to a block, and send it on. */
static void add_block(struct chain *c, struct place *p, uint64_t i)
{
    const struct span *s = c->span;
    const struct span_segment *segment = &s->segments[p->segment];
    struct result *r = result_at(c, i);
    struct fused_range range = range_of(c, &r->block);
    bool last = p->segment + 1 == s->nsegments;
    char *sum = sum_at(p, i);

    ask_ahead(c, p, i);
    if (p->segment > 0)
        ranks_finish(&p->came[i % DEPTH]);
    else if (i >= DEPTH)
        ranks_finish(&p->goes[i % DEPTH]);
    fused_fold(&range, segment->first, segment->end, sum);
    atomic_store(&p->goes[i % DEPTH].done, true);
    if (!last) {
        ranks_send(&p->goes[i % DEPTH], s->segments[p->segment + 1].rank, s->tags[s->me], sum,
                   r->block.nelems * c->elem_bytes);
        return;
    }
    fused_finish(&range, sum);
    memcpy(r->data, sum, r->block.nelems * c->elem_bytes);
    spread(c, r);
}

static void add_all(struct chain *c)
{
    for (uint32_t k = 0; k < c->nplaces; k++)
        c->places[k].nasked = 0;
    for (uint64_t i = 0; i < c->nblocks; i++)
        for (uint32_t k = 0; k < c->nplaces; k++)
            add_block(c, &c->places[k], i);
    for (uint32_t k = 0; k < c->nplaces; k++)
        for (uint64_t i = 0; i < DEPTH && i < c->nblocks; i++)
            ranks_finish(&c->places[k].goes[i]);
}

/* ---- what was counted elsewhere ---- */

/* A rank counts the bytes that it reads from its members' operands for the member that reduces them
 * in the default algorithm.  That may be another rank's member, which needs the count for its call:
 * send it. (The run's own counts are added up at its end.) */
static void tell_counts(struct chain *c)
{
    struct span *s = c->span;
    uint32_t n = s->group->nmembers;
    uint64_t *told = c->counted + n;
    struct ranks_parcel *p = s->parcels.at;

    for (uint32_t k = 0; k < s->nranks; k++) {
        int rank = s->ranks[k];

        if (rank == s->me)
            continue;
        ranks_send(p++, rank, s->tags[s->me] + TAG_COUNTS, c->counted, n * sizeof *told);
        ranks_receive(p, rank, s->tags[rank] + TAG_COUNTS, told, n * sizeof *told);
        ranks_finish(p++);
        for (uint32_t i = 0; i < s->nhere; i++)
            s->group->calls[s->here[i]]->away_bytes += told[s->here[i]];
    }
    for (struct ranks_parcel *q = s->parcels.at; q < p; q++)
        ranks_finish(q);
}

void chain_run(struct chain *chain, struct span *span)
{
    count_init(&chain->count, span->group, &chain->job.shape, true);
    chain->count.tally.here_only = false;
    chain->count.tally.alone = false;
    chain->count.tally.by_member = chain->counted;
    memset(chain->counted, 0, span->group->nmembers * sizeof *chain->counted);
    expect_results(chain);
    add_all(chain);
    take_results(chain);
    count_flush(&chain->count);
    tell_counts(chain);
}
