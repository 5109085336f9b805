/* Meeting the other ranks of a group in a call (meet.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/ranks/meet.h"

#include "run/ranks/bundle.h"
#include "run/ranks/chain.h"
#include "run/ranks/owners.h"
#include "run/ranks/remote.h"
#include "run/ranks/span.h"
#include "run/device.h"
#include "run/mismatch.h"
#include "run/move.h"
#include "run/view.h"

/* Operands are part of the bundles if those of all members together are at most this long. */
#define LETTER_BYTES (16 << 10)
/* Limit for operands that are received into a buffer to be reduced; larger ones use the chain,
 * which needs little memory. */
#define ASIDE_BYTES (128 << 20)
/* Relative times of bringing bytes that are then read from memory again, and of bringing them
 * through the chain, where each rank waits for the one before (two ranks of a machine, 32 MiB).
 */
#define AGAIN 1.5
#define IN_TURN 4

/* How operands get to other ranks. */
enum way {
    IN_LETTER,    /* within the bundle (bundle.h) */
    WHOLE,        /* all of each operand */
    IN_PIECES,    /* the part of each operand that a rank needs */
    FROM_MEMBERS, /* reduced on the way, by the chain */
};

/* ---- who needs what ---- */

/* Whether every rank makes the moves of all members, in the order of the schedule. */
static bool every_rank_walks(const struct run_group *group, const struct coll_call *call)
{
    return group->devices[0]->run->opts.fuse_bytes < 0 || !fused_serves(call->algo);
}

static uint32_t members_on(const struct span *s, int rank)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < s->nsegments; k++)
        if (s->segments[k].rank == rank)
            n += s->segments[k].end - s->segments[k].first;
    return n;
}

/* Operands, counting parts as fractions, that a rank must buffer if each part goes directly to
 * where it is reduced.
 */
static double operands_to(const struct span *s, const struct coll_call *call, int rank)
{
    uint32_t n = s->group->nmembers;
    double here = members_on(s, rank), away = n - here;

    if (call->kind == COLL_REDUCE)
        return span_rank_of(s, call->root) == rank ? away : 0;
    return away * here / n;
}

static double most_operands(const struct span *s, const struct coll_call *call)
{
    double most = 0;

    for (uint32_t k = 0; k < s->nranks; k++) {
        double operands = operands_to(s, call, s->ranks[k]);

        most = operands > most ? operands : most;
    }
    return most;
}

/* Whether operands are added on the way from rank to rank, block by block: few bytes and little
 * memory, but blocks and ranks wait for each other.  Otherwise all operands go directly to where
 * they are reduced, and an all-reduce then sends the reduced chunks, which must be contiguous, to
 * all ranks.  The faster way depends on the number of members on a rank and on the number of
 * blocks.
 */
static bool goes_by_chain(const struct span *s, const struct coll_call *call, uint64_t bytes)
{
    bool back = call->kind == COLL_ALL_REDUCE;
    double block = bytes < CHAIN_BLOCK_BYTES ? (double)bytes : CHAIN_BLOCK_BYTES;
    double hops = back ? s->nsegments + s->nranks - 2 : s->nsegments;
    double aside = most_operands(s, call) * (double)bytes;
    double chain = hops * block + (back ? 2 : 1) * ((double)bytes - block);

    if (back && s->nsegments > s->nranks)
        return true;
    return aside > ASIDE_BYTES || AGAIN * aside + (back ? (double)bytes : 0) > IN_TURN * chain;
}

static enum way way_of(const struct run_group *group, const struct coll_call *call)
{
    struct coll_shape shape = move_shape(call);
    uint64_t largest = 0;

    if (call->kind == CALL_EXCHANGE)
        return call->pulled_bytes * group->nmembers <= LETTER_BYTES ? IN_LETTER : WHOLE;
    for (uint32_t m = 0; m < group->nmembers; m++) {
        uint64_t n = coll_in_count(call->kind, &shape, m);

        largest = n > largest ? n : largest;
    }
    if (largest * span_elem_bytes(call) * group->nmembers <= LETTER_BYTES)
        return IN_LETTER;
    if (every_rank_walks(group, call))
        return WHOLE;
    if (call->algo->reduces && goes_by_chain(span_of(group), call, largest * span_elem_bytes(call)))
        return FROM_MEMBERS;
    return IN_PIECES;
}

static bool reads(const struct span *s, const struct coll_shape *shape, int rank, uint32_t source)
{
    for (uint32_t m = 0; m < shape->nmembers; m++)
        if (shape->source[m] == source && span_rank_of(s, m) == rank)
            return true;
    return false;
}

/* The part of the operand of `source` that a rank needs. */
static struct span_range needed(const struct span *s, const struct coll_call *call, enum way way,
                                const struct coll_shape *shape, uint32_t source, int rank)
{
    struct span_range whole = span_operand(call, source);
    bool needs = true;

    if (way != IN_PIECES)
        return whole;
    switch (call->kind) {
    case COLL_SCATTER:
        if (source == shape->root)
            return span_chunks(s, shape->count, rank);
        needs = false;
        break;
    case COLL_ALL_TO_ALL:
    case COLL_REDUCE_SCATTER:
    case COLL_ALL_REDUCE: /* the chunks that the rank reduces for all */
        return span_chunks(s, shape->count, rank);
    case COLL_BROADCAST:
        needs = source == shape->root;
        break;
    case COLL_GATHER:
    case COLL_REDUCE:
        needs = span_rank_of(s, shape->root) == rank;
        break;
    case COLL_PERMUTE:
        needs = reads(s, shape, rank, source);
        break;
    case COLL_SEND_RECV:
        needs = source == 0 && span_rank_of(s, 1) == rank;
        break;
    default:
        break;
    }
    return needs ? whole : (struct span_range){0, 0};
}

/* ---- where operands go ---- */

/* The first member on this rank that gets everything that the rank needs of the operand of `source`
 * (it must need some); COLL_NOBODY: each member gets a part. */
static uint32_t first_to_get(const struct span *s, enum coll_kind kind,
                             const struct coll_shape *shape, uint32_t source)
{
    switch (kind) {
    case COLL_ALL_GATHER:
    case COLL_BROADCAST:
        return s->here[0];
    case COLL_GATHER:
        return shape->root;
    case COLL_SEND_RECV:
        return 1;
    case COLL_PERMUTE:
        for (uint32_t i = 0; i < s->nhere; i++)
            if (shape->source[s->here[i]] == source)
                return s->here[i];
        return COLL_NOBODY;
    default: /* chunks */
        return s->nhere == 1 ? s->here[0] : COLL_NOBODY;
    }
}

/* The place in an OUT of this rank for `range` of another rank's operand: the range can be received
 * there and copied to the other OUTs.  NULL: it must be buffered, since several OUTs get parts of
 * it, it is not contiguous there, or it has to be reduced. */
static void *place_in_out(const struct span *s, enum way way, const struct coll_shape *shape,
                          uint32_t source, struct span_range range)
{
    const struct coll_call *call;
    uint64_t n = range.end - range.at, at = 0;
    uint32_t dest;

    if (way != IN_PIECES || n == 0)
        return NULL;
    call = s->group->calls[s->here[0]];
    if (call->algo->reduces)
        return NULL;
    dest = first_to_get(s, call->kind, shape, source);
    if (dest == COLL_NOBODY)
        return NULL;
    if (call->kind == COLL_ALL_GATHER || call->kind == COLL_GATHER || call->kind == COLL_ALL_TO_ALL)
        at = source * n;
    return view_in_a_row(&s->group->calls[dest]->out, span_elem_bytes(call), at, n);
}

/* ---- preparation ---- */

/* Allocate for the operands of other ranks' members and (where every rank walks the schedule) for
 * their results. */
static bool reserve_proxies(struct span *s, const struct coll_call *call, enum way way)
{
    struct coll_shape shape = move_shape(call);
    uint64_t size = span_elem_bytes(call);
    bool walks = call->kind != CALL_EXCHANGE && every_rank_walks(s->group, call);
    bool there = true;

    for (uint32_t m = 0; m < s->group->nmembers && there; m++) {
        struct span_proxy *p = &s->proxies[m];
        struct span_range range;

        if (s->group->devices[m]->here)
            continue;
        if (way == WHOLE || way == IN_PIECES) {
            range = needed(s, call, way, &shape, m, s->me);
            there = place_in_out(s, way, &shape, m, range) ||
                    span_grow(&p->in, (range.end - range.at) * size);
        }
        if (!walks)
            continue;
        there =
            there && span_grow(&p->out, coll_out_count(call->kind, &shape, m) * size) &&
            (!call->algo->tmp_count || span_grow(&p->tmp, call->algo->tmp_count(&shape) * size));
    }
    return there;
}

/* Allocate for those of this rank's operands that are not contiguous. */
static bool reserve_packed(struct span *s, enum way way)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < s->nhere && way != FROM_MEMBERS; i++) {
        const struct coll_call *call = s->group->calls[s->here[i]];
        struct coll_shape shape = move_shape(call);

        for (uint32_t k = 0; k < s->nranks; k++) {
            struct span_range range = needed(s, call, way, &shape, s->here[i], s->ranks[k]);

            if (s->ranks[k] != s->me)
                bytes += bundle_packed_bytes(call, range);
        }
    }
    return span_grow(&s->packed, bytes);
}

/* Whether ranks reduce chunks for each other. */
static bool is_by_owners(const struct coll_call *call, enum way way)
{
    return way == IN_PIECES && call->kind == COLL_ALL_REDUCE;
}

static int reserve(struct span *s, enum way way)
{
    const struct coll_call *call = s->group->calls[s->here[0]];
    uint64_t nparcels = (uint64_t)s->nhere * (s->nranks - 1) + (s->group->nmembers - s->nhere) +
                        2 * (uint64_t)s->nranks; /* chain.c's counts */

    if (!reserve_proxies(s, call, way) || !reserve_packed(s, way) ||
        !span_grow(&s->parcels, nparcels * sizeof(struct ranks_parcel)))
        return SHD_ENOMEM;
    if (way == FROM_MEMBERS && !chain_reserve(&s->chain, s))
        return SHD_ENOMEM;
    if (is_by_owners(call, way) && !owners_reserve(s))
        return SHD_ENOMEM;
    return SHD_OK;
}

/* ---- operands ---- */

static void send_operand(struct span *s, uint32_t member, enum way way, char **packed)
{
    const struct coll_call *call = s->group->calls[member];
    struct coll_shape shape = move_shape(call);

    for (uint32_t k = 0; k < s->nranks; k++) {
        struct span_range range = needed(s, call, way, &shape, member, s->ranks[k]);

        if (s->ranks[k] != s->me && range.end > range.at)
            span_send(s, s->ranks[k], s->tags[s->me], bundle_in_a_row(call, range, packed),
                      (range.end - range.at) * span_elem_bytes(call));
    }
}

static void receive_operand(struct span *s, uint32_t member, enum way way)
{
    struct span_proxy *p = &s->proxies[member];
    struct coll_shape shape = move_shape(&p->call);
    struct span_range range = needed(s, &p->call, way, &shape, member, s->me);
    uint64_t bytes = (range.end - range.at) * span_elem_bytes(&p->call);
    int rank = span_rank_of(s, member);
    void *place;

    if (bytes == 0)
        return;
    place = place_in_out(s, way, &shape, member, range);
    if (!place) {
        if (!span_grow(&p->in, bytes)) /* shards of an exchange may differ */
            ranks_abort("no memory for an operand of another rank");
        place = p->in.at;
    }
    p->call.in = (struct coll_view){.base = place, .skip = range.at};
    span_receive(s, rank, s->tags[rank], place, bytes);
}

static void move_operands(struct span *s, enum way way)
{
    char *packed = s->packed.at;

    for (uint32_t m = 0; m < s->group->nmembers; m++)
        if (!s->group->devices[m]->here)
            receive_operand(s, m, way);
    for (uint32_t i = 0; i < s->nhere; i++)
        send_operand(s, s->here[i], way, &packed);
    span_finish_receives(s);
}

/* Whether storing results on this rank leaves its outgoing operands unchanged: where each rank gets
 * only the part of an operand that it needs, OUT may only overlap the part of IN that is not sent
 * (coll.h, 'In place'). */
static bool keeps_operands(const struct coll_call *call, enum way way)
{
    return way == IN_PIECES && call->kind != CALL_EXCHANGE;
}

/* ---- meeting ---- */

static enum group_way group_way_of(const struct run_group *group, const struct coll_call *call)
{
    if (call->kind == CALL_EXCHANGE)
        return GROUP_BY_STEPS; /* each member's thread then continues so */
    return every_rank_walks(group, call) ? GROUP_BY_LAST : GROUP_FUSED;
}

/* Execute the call, of which all operands are here; members may then go on, and overwrite memory
 * that was being sent. */
static uint32_t execute(struct span *s, uint32_t *ntasks)
{
    uint32_t nthreads = run_execute(s->group, ntasks);

    span_finish(s);
    return nthreads;
}

uint32_t meet_ranks(struct run_group *group, struct shd_device *dev, uint32_t *ntasks)
{
    struct span *s = span_of(group);
    const struct coll_call *call = group->calls[s->here[0]];
    enum way way = way_of(group, call);
    int status = reserve(s, way);

    remote_give_back(s->remote, s->read); /* all members have made the next call */
    s->read = NULL;
    pthread_mutex_lock(&s->lock);
    s->number++;
    pthread_mutex_unlock(&s->lock);
    bundle_post(s, way == IN_LETTER && status == SHD_OK, status);
    if (!bundle_wait(s, dev))
        return WAIT_GIVEN_UP;
    group->status = bundle_open(s, status);
    if (group->status != SHD_OK)
        shd_error_set(&group->error, group->status, "no memory for operands of other ranks");
    else
        group->status = mismatch_check(group, &group->error);
    if (group->status != SHD_OK)
        return 0;
    group->way = group_way_of(group, call);
    if (way == FROM_MEMBERS) {
        chain_run(s->chain, s);
        return 0;
    }
    if (way != IN_LETTER)
        move_operands(s, way);
    if (is_by_owners(call, way)) {
        owners_run(s);
        return 0;
    }
    if (!keeps_operands(call, way))
        span_finish(s);
    return call->kind == CALL_EXCHANGE ? 0 : execute(s, ntasks);
}
