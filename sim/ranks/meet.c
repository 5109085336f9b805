/* Meeting the other ranks of a group in a call (meet.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "ranks/meet.h"

#include <stdlib.h>
#include <string.h>

#include "ranks/chain.h"
#include "run/device.h"
#include "run/mismatch.h"
#include "run/move.h"
#include "ranks/owners.h"
#include "ranks/remote.h"
#include "ranks/span.h"
#include "run/view.h"

/* Operands are part of the bundles if those of all members together are at most this long. */
#define LETTER_BYTES (16 << 10)
/* Alignment of a letter (ranks.h), and of the operands in it. */
#define LETTER_ALIGN 16
/* Limit for operands that are received into a buffer to be reduced; larger ones use the chain,
 * which needs little memory. */
#define ASIDE_BYTES (128 << 20)
/* Relative times of bringing bytes that are then read from memory again, and of bringing them
 * through the chain, where each rank waits for the one before (two ranks of a machine, 32 MiB).
 */
#define AGAIN 1.5
#define IN_TURN 4
/* In place of an algorithm number. */
#define NO_ALGO UINT32_MAX

/* How operands get to other ranks. */
enum way {
    IN_LETTER,    /* within the bundle */
    WHOLE,        /* all of each operand */
    IN_PIECES,    /* the part of each operand that a rank needs */
    FROM_MEMBERS, /* reduced on the way, by the chain */
};

struct bundle_head {
    uint32_t letter; /* LETTER_BUNDLE */
    uint32_t ncalls;
    uint64_t group, number;
    int32_t status; /* SHD_OK, or the reason why the rank cannot take part */
    uint32_t tags;
};

struct bundle_call {
    uint32_t member, kind, algo, dtype, red, root;
    uint64_t count, pulled_bytes;
    uint64_t nsources; /* after all calls, followed by the operands */
    uint64_t in_bytes;
    char where[64];
    bool has_where;
};

/* ---- who needs what ---- */

static size_t elem_bytes_of(const struct coll_call *call)
{
    return call->kind == CALL_EXCHANGE ? 1 : shd_dtype_size(call->dtype);
}

/* Elements (in an exchange: bytes) of a member's operand. */
static uint64_t in_count(const struct coll_call *call, const struct coll_shape *shape,
                         uint32_t member)
{
    return call->kind == CALL_EXCHANGE ? call->pulled_bytes
                                       : coll_in_count(call->kind, shape, member);
}

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
    if (largest * elem_bytes_of(call) * group->nmembers <= LETTER_BYTES)
        return IN_LETTER;
    if (every_rank_walks(group, call))
        return WHOLE;
    if (call->algo->reduces && goes_by_chain(span_of(group), call, largest * elem_bytes_of(call)))
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
    struct span_range whole = {0, in_count(call, shape, source)};
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

/* ---- contiguous operands ---- */

/* The memory of a range of a view, if it is contiguous; else NULL. */
static void *in_a_row(const struct coll_view *view, size_t elem_bytes, struct span_range range)
{
    struct view_cursor at;
    uint64_t n;
    void *place;

    view_cursor_init(&at, view, elem_bytes, range.at);
    place = view_cursor_span(&at, &n);
    return n >= range.end - range.at ? place : NULL;
}

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
    return in_a_row(&s->group->calls[dest]->out, elem_bytes_of(call),
                    (struct span_range){at, at + n});
}

static void pack(void *to, const struct coll_call *call, struct span_range range)
{
    struct coll_view view = {.base = to};
    struct view_cursor src, dst;

    view_cursor_init(&src, &call->in, elem_bytes_of(call), range.at);
    view_cursor_init(&dst, &view, elem_bytes_of(call), 0);
    view_copy(&dst, &src, range.end - range.at);
}

/* ---- preparation ---- */

/* Allocate for the operands of other ranks' members and (where every rank walks the schedule) for
 * their results. */
static bool reserve_proxies(struct span *s, const struct coll_call *call, enum way way)
{
    struct coll_shape shape = move_shape(call);
    uint64_t size = elem_bytes_of(call);
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
                    span_grow(&p->in, &p->in_room, (range.end - range.at) * size);
        }
        if (!walks)
            continue;
        there = there &&
                span_grow(&p->out, &p->out_room, coll_out_count(call->kind, &shape, m) * size) &&
                (!call->algo->tmp_count ||
                 span_grow(&p->tmp, &p->tmp_room, call->algo->tmp_count(&shape) * size));
    }
    return there;
}

/* Allocate for those of this rank's operands that are not contiguous. */
static bool reserve_packed(struct span *s, enum way way)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < s->nhere && (way == WHOLE || way == IN_PIECES); i++) {
        const struct coll_call *call = s->group->calls[s->here[i]];
        struct coll_shape shape = move_shape(call);

        for (uint32_t k = 0; k < s->nranks; k++) {
            struct span_range range = needed(s, call, way, &shape, s->here[i], s->ranks[k]);

            if (s->ranks[k] != s->me && range.end > range.at &&
                !in_a_row(&call->in, elem_bytes_of(call), range))
                bytes += (range.end - range.at) * elem_bytes_of(call);
        }
    }
    return span_grow(&s->packed, &s->packed_room, bytes);
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
        !span_room_for_parcels(s, nparcels))
        return SHD_ENOMEM;
    if (way == FROM_MEMBERS && !chain_reserve(&s->chain, s))
        return SHD_ENOMEM;
    if (is_by_owners(call, way) && !owners_reserve(s))
        return SHD_ENOMEM;
    return SHD_OK;
}

/* ---- bundles ---- */

static uint32_t algo_number(const struct coll_algo *algo)
{
    for (uint32_t i = 0; algo && coll_algos[i]; i++)
        if (coll_algos[i] == algo)
            return i;
    return NO_ALGO;
}

static struct bundle_call describe(const struct coll_call *call, enum way way)
{
    struct coll_shape shape = move_shape(call);
    struct bundle_call c;

    memset(&c, 0, sizeof c); /* padding is sent, too */
    c.member = call->seat.member;
    c.kind = (uint32_t)call->kind;
    c.algo = algo_number(call->algo);
    c.dtype = (uint32_t)call->dtype;
    c.red = (uint32_t)call->red;
    c.root = call->root;
    c.count = call->count;
    c.pulled_bytes = call->pulled_bytes;
    c.nsources = call->kind == COLL_PERMUTE ? shape.nmembers : 0;
    c.has_where = call->where != NULL;
    if (call->where)
        strncpy(c.where, call->where, sizeof c.where - 1);
    if (way == IN_LETTER)
        c.in_bytes = in_count(call, &shape, c.member) * elem_bytes_of(call);
    return c;
}

static char *add(char *to, const void *data, uint64_t bytes)
{
    if (bytes > 0)
        memcpy(to, data, bytes);
    return to + bytes;
}

/* Bytes after an operand that align the next one like the letter. */
static uint64_t padding(uint64_t bytes)
{
    return (LETTER_ALIGN - bytes % LETTER_ALIGN) % LETTER_ALIGN;
}

/* Bytes of a letter without its operands; *packed_bytes gets those of the operands that must be
 * packed, which follow the letter. */
static uint64_t letter_bytes(const struct span *s, enum way way, uint64_t *packed_bytes)
{
    uint64_t bytes = sizeof(struct bundle_head);

    *packed_bytes = 0;
    for (uint32_t i = 0; i < s->nhere; i++) {
        const struct coll_call *call = s->group->calls[s->here[i]];
        struct coll_shape shape = move_shape(call);
        struct span_range range = {0, in_count(call, &shape, s->here[i])};

        bytes += sizeof(struct bundle_call) +
                 (call->kind == COLL_PERMUTE ? shape.nmembers * sizeof(uint32_t) : 0);
        if (way == IN_LETTER && range.end > 0 && !in_a_row(&call->in, elem_bytes_of(call), range))
            *packed_bytes += range.end * elem_bytes_of(call);
    }
    return bytes + padding(bytes);
}

static char *write_calls(const struct span *s, enum way way, int status, uint32_t tags)
{
    struct bundle_head head = {.letter = LETTER_BUNDLE,
                               .ncalls = s->nhere,
                               .group = s->group->hash,
                               .number = s->number,
                               .status = status,
                               .tags = tags};
    char *at = add(s->letter, &head, sizeof head);

    for (uint32_t i = 0; i < s->nhere; i++) {
        struct bundle_call c = describe(s->group->calls[s->here[i]], way);

        at = add(at, &c, sizeof c);
    }
    for (uint32_t i = 0; i < s->nhere; i++) {
        const struct coll_call *call = s->group->calls[s->here[i]];

        at = add(at, call->source,
                 call->kind == COLL_PERMUTE ? s->group->nmembers * sizeof(uint32_t) : 0);
    }
    return at;
}

/* Add the operands of this rank's members as parts; returns the number of parts. */
static uint32_t add_operands(struct span *s, char *packed, uint32_t nparts)
{
    static const char zeros[LETTER_ALIGN];

    for (uint32_t i = 0; i < s->nhere; i++) {
        const struct coll_call *call = s->group->calls[s->here[i]];
        struct coll_shape shape = move_shape(call);
        struct span_range range = {0, in_count(call, &shape, s->here[i])};
        uint64_t bytes = range.end * elem_bytes_of(call);
        const void *data;

        if (bytes == 0)
            continue;
        data = in_a_row(&call->in, elem_bytes_of(call), range);
        if (!data) {
            pack(packed, call, range);
            data = packed;
            packed += bytes;
        }
        s->parts[nparts++] = (struct ranks_part){data, bytes};
        s->parts[nparts++] = (struct ranks_part){zeros, padding(bytes)};
    }
    return nparts;
}

static void post_bundles(struct span *s, enum way way, int status)
{
    void *letter = s->letter;
    uint64_t packed_bytes, bytes = letter_bytes(s, way, &packed_bytes);
    uint32_t nparts = 1;
    char *end;

    s->tags[s->me] = ranks_new_tags();
    if (!span_grow(&letter, &s->letter_room, bytes + packed_bytes))
        ranks_abort("no memory for a letter to another rank");
    s->letter = letter;
    end = write_calls(s, way, status, s->tags[s->me]);
    memset(end, 0, (size_t)(s->letter + bytes - end));
    s->parts[0] = (struct ranks_part){s->letter, bytes};
    if (way == IN_LETTER)
        nparts = add_operands(s, s->letter + bytes, nparts);
    for (uint32_t k = 0; k < s->nranks; k++)
        if (s->ranks[k] != s->me)
            remote_post(s->remote, s->ranks[k], s->parts, nparts);
}

/* The number of bundles received for the current call.  Called with the lock held. */
static uint32_t count_bundles(const struct span *s)
{
    uint32_t n = 0;

    for (const struct span_bundle *b = s->bundles; b; b = b->next)
        n += b->number == s->number;
    return n;
}

/* Begin to wait, unless all bundles have arrived. */
static bool begin_wait(struct span *s, struct shd_device *dev)
{
    bool waits;

    pthread_mutex_lock(&s->lock);
    s->nmissing = s->nranks - 1 - count_bundles(s);
    waits = s->nmissing > 0;
    if (waits) {
        s->waiter = &dev->record;
        wait_record_at(&dev->record, &s->group->barrier);
    }
    pthread_mutex_unlock(&s->lock);
    return waits;
}

static bool has_all(struct span *s)
{
    bool all;

    pthread_mutex_lock(&s->lock);
    all = s->nmissing == 0;
    pthread_mutex_unlock(&s->lock);
    return all;
}

static bool has_bundle(const struct span *s, int rank)
{
    const struct span_bundle *b = s->bundles;

    while (b && !(b->from == rank && b->number == s->number))
        b = b->next;
    return b != NULL;
}

/* Whether some bundle cannot arrive any more: a member on its rank has ended, and the rank reported
 * that after all its earlier letters.  A called-off run is no sufficient reason: the bundle may be
 * on its way, and another rank, which has all bundles, may already wait for this rank's data. */
static bool is_hopeless(struct span *s)
{
    const struct run_group *group = s->group;
    bool hopeless = false;

    if (atomic_load(&s->remote->away.run->settled))
        return true;
    if (atomic_load(&group->barrier.ndead) == 0)
        return false;
    pthread_mutex_lock(&s->lock);
    for (uint32_t m = 0; m < group->nmembers && !hopeless; m++)
        hopeless = !group->devices[m]->here &&
                   atomic_load(&group->devices[m]->state) != DEVICE_LIVE &&
                   !has_bundle(s, span_rank_of(s, m));
    pthread_mutex_unlock(&s->lock);
    return hopeless;
}

/* Give up waiting, and leave the wait record in place.  False: all bundles have arrived
 * meanwhile. */
static bool give_up(struct span *s)
{
    bool gives_up;

    pthread_mutex_lock(&s->lock);
    gives_up = s->nmissing > 0;
    s->nmissing = 0;
    s->waiter = NULL;
    pthread_mutex_unlock(&s->lock);
    return gives_up;
}

static bool wait_for_bundles(struct span *s, struct shd_device *dev)
{
    bool all = !begin_wait(s, dev);

    if (all)
        return true;
    for (;;) {
        uint32_t seen = atomic_load(&s->group->event);

        all = has_all(s);
        if (all)
            break;
        if (is_hopeless(s)) {
            all = !give_up(s);
            break;
        }
        ranks_wait(&s->group->event, seen, -1);
    }
    return all;
}

/* ---- calls by proxy ---- */

static const struct coll_algo *algo_of(uint32_t number)
{
    return number == NO_ALGO ? NULL : coll_algos[number];
}

static void make_proxy(struct span *s, const struct bundle_call *c)
{
    struct span_proxy *p = &s->proxies[c->member];

    memcpy(p->where, c->where, sizeof p->where);
    p->call = (struct coll_call){.kind = (enum coll_kind)c->kind,
                                 .algo = algo_of(c->algo),
                                 .seat = {s->group, c->member},
                                 .dtype = (enum shd_dtype)c->dtype,
                                 .red = (enum shd_reduce_op)c->red,
                                 .count = c->count,
                                 .root = c->root,
                                 .in.base = p->in,
                                 .out.base = p->out,
                                 .where = c->has_where ? p->where : NULL,
                                 .tmp = p->tmp,
                                 .pulled_bytes = c->pulled_bytes};
    s->group->calls[c->member] = &p->call;
}

static void keep_sources(struct span *s, uint32_t member, const char *sources, uint64_t n)
{
    struct span_proxy *p = &s->proxies[member];

    if (!p->source)
        p->source = malloc(n * sizeof *p->source);
    if (!p->source)
        ranks_abort("no memory for the sources of a permute");
    memcpy(p->source, sources, n * sizeof *p->source);
    p->call.source = p->source;
}

/* Read a bundle.  Operands in it are used where they are. */
static int open_bundle(struct span *s, const struct span_bundle *b)
{
    const struct bundle_head *head = (const void *)b->letter;
    const struct bundle_call *calls = (const void *)(head + 1);
    const char *at = (const char *)(calls + head->ncalls);

    s->tags[b->from] = head->tags;
    for (uint32_t i = 0; i < head->ncalls; i++)
        make_proxy(s, &calls[i]);
    for (uint32_t i = 0; i < head->ncalls; i++) {
        if (calls[i].nsources > 0)
            keep_sources(s, calls[i].member, at, calls[i].nsources);
        at += calls[i].nsources * sizeof(uint32_t);
    }
    at += padding((uint64_t)(at - b->letter));
    for (uint32_t i = 0; i < head->ncalls; i++) {
        if (calls[i].in_bytes > 0)
            s->proxies[calls[i].member].call.in.base = (void *)(uintptr_t)at;
        at += calls[i].in_bytes + padding(calls[i].in_bytes);
    }
    return head->status;
}

/* The next bundle of the current call; NULL: no more. */
static struct span_bundle *take_bundle(struct span *s)
{
    struct span_bundle **at, *b;

    pthread_mutex_lock(&s->lock);
    for (at = &s->bundles; *at && (*at)->number != s->number;)
        at = &(*at)->next;
    b = *at;
    if (b)
        *at = b->next;
    pthread_mutex_unlock(&s->lock);
    return b;
}

/* Read all bundles; returns the status of the lowest rank whose status is not SHD_OK. */
static int open_bundles(struct span *s, int status)
{
    int worst_rank = status == SHD_OK ? INT32_MAX : s->me;
    struct span_bundle *b;

    while ((b = take_bundle(s))) {
        int theirs = open_bundle(s, b);

        if (theirs != SHD_OK && b->from < worst_rank) {
            worst_rank = b->from;
            status = theirs;
        }
        b->next = s->read;
        s->read = b;
    }
    return status;
}

/* ---- operands ---- */

static void send_operand(struct span *s, uint32_t member, enum way way, char **packed)
{
    const struct coll_call *call = s->group->calls[member];
    struct coll_shape shape = move_shape(call);

    for (uint32_t k = 0; k < s->nranks; k++) {
        struct span_range range = needed(s, call, way, &shape, member, s->ranks[k]);
        uint64_t bytes = (range.end - range.at) * elem_bytes_of(call);
        const void *data;

        if (s->ranks[k] == s->me || bytes == 0)
            continue;
        data = in_a_row(&call->in, elem_bytes_of(call), range);
        if (!data) {
            pack(*packed, call, range);
            data = *packed;
            *packed += bytes;
        }
        span_send(s, s->ranks[k], s->tags[s->me], data, bytes);
    }
}

static void receive_operand(struct span *s, uint32_t member, enum way way)
{
    struct span_proxy *p = &s->proxies[member];
    struct coll_shape shape = move_shape(&p->call);
    struct span_range range = needed(s, &p->call, way, &shape, member, s->me);
    uint64_t bytes = (range.end - range.at) * elem_bytes_of(&p->call);
    int rank = span_rank_of(s, member);
    void *place;

    if (bytes == 0)
        return;
    place = place_in_out(s, way, &shape, member, range);
    if (!place) {
        if (!span_grow(&p->in, &p->in_room, bytes)) /* shards of an exchange may differ */
            ranks_abort("no memory for an operand of another rank");
        place = p->in;
    }
    p->call.in = (struct coll_view){.base = place, .skip = range.at};
    span_receive(s, rank, s->tags[rank], place, bytes);
}

static void move_operands(struct span *s, enum way way)
{
    char *packed = s->packed;

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
    post_bundles(s, way, status);
    if (!wait_for_bundles(s, dev))
        return WAIT_GIVEN_UP;
    group->status = open_bundles(s, status);
    if (group->status != SHD_OK)
        shd_error_set(&group->error, group->status, "no memory for what other ranks bring");
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
