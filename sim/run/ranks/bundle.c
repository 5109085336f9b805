/* Letters with the calls of a rank's members (bundle.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/ranks/bundle.h"

#include <stdlib.h>
#include <string.h>

#include "run/ranks/remote.h"
#include "run/ranks/span.h"
#include "run/device.h"
#include "run/view.h"

/* Alignment of a letter (ranks.h), and of the operands in it. */
#define LETTER_ALIGN 16
/* In place of an algorithm number. */
#define NO_ALGO UINT32_MAX

struct bundle_call {
    uint32_t member, kind, algo, dtype, red, root;
    uint64_t count, pulled_bytes;
    uint64_t nsources; /* after all calls, followed by the operands */
    uint64_t in_bytes;
    char where[64];
    bool has_where;
};

/* ---- contiguous operands ---- */

uint64_t bundle_packed_bytes(const struct coll_call *call, struct span_range range)
{
    uint64_t n = range.end - range.at;
    size_t size = span_elem_bytes(call);

    return n == 0 || view_in_a_row(&call->in, size, range.at, n) ? 0 : n * size;
}

const void *bundle_in_a_row(const struct coll_call *call, struct span_range range, char **packed)
{
    uint64_t n = range.end - range.at;
    size_t size = span_elem_bytes(call);
    void *place = view_in_a_row(&call->in, size, range.at, n);

    if (place)
        return place;
    place = *packed;
    *packed += n * size;
    view_pack(place, &call->in, size, range.at, n);
    return place;
}

/* ---- posting ---- */

static uint32_t algo_number(const struct coll_algo *algo)
{
    for (uint32_t i = 0; algo && coll_algos[i]; i++)
        if (coll_algos[i] == algo)
            return i;
    return NO_ALGO;
}

static struct bundle_call describe(const struct coll_call *call, bool with_operand)
{
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
    c.nsources = call->kind == COLL_PERMUTE ? call->seat.group->nmembers : 0;
    c.has_where = call->where != NULL;
    if (call->where)
        strncpy(c.where, call->where, sizeof c.where - 1);
    if (with_operand)
        c.in_bytes = span_operand(call, c.member).end * span_elem_bytes(call);
    return c;
}

static char *add(char *to, const void *data, uint64_t bytes)
{
    if (bytes > 0)
        memcpy(to, data, bytes);
    return to + bytes;
}

static uint64_t sources_bytes(const struct coll_call *call)
{
    return call->kind == COLL_PERMUTE ? call->seat.group->nmembers * sizeof(uint32_t) : 0;
}

/* Bytes after an operand that align the next one like the letter. */
static uint64_t padding(uint64_t bytes)
{
    return (LETTER_ALIGN - bytes % LETTER_ALIGN) % LETTER_ALIGN;
}

/* Bytes of a letter without its operands. */
static uint64_t letter_bytes(const struct span *s)
{
    uint64_t bytes = sizeof(struct bundle_head);

    for (uint32_t i = 0; i < s->nhere; i++)
        bytes += sizeof(struct bundle_call) + sources_bytes(s->group->calls[s->here[i]]);
    return bytes + padding(bytes);
}

static char *write_calls(const struct span *s, bool with_operands, int status)
{
    struct bundle_head head = {.letter = LETTER_BUNDLE,
                               .ncalls = s->nhere,
                               .group = s->group->hash,
                               .number = s->number,
                               .status = status,
                               .tags = s->tags[s->me]};
    char *at = add(s->letter.at, &head, sizeof head);

    for (uint32_t i = 0; i < s->nhere; i++) {
        struct bundle_call c = describe(s->group->calls[s->here[i]], with_operands);

        at = add(at, &c, sizeof c);
    }
    for (uint32_t i = 0; i < s->nhere; i++) {
        const struct coll_call *call = s->group->calls[s->here[i]];

        at = add(at, call->source, sources_bytes(call));
    }
    return at;
}

/* Add the operands of this rank's members as parts; returns the number of parts. */
static uint32_t add_operands(struct span *s, uint32_t nparts)
{
    static const char zeros[LETTER_ALIGN];
    char *packed = s->packed.at;

    for (uint32_t i = 0; i < s->nhere; i++) {
        const struct coll_call *call = s->group->calls[s->here[i]];
        struct span_range range = span_operand(call, s->here[i]);
        uint64_t bytes = range.end * span_elem_bytes(call);

        if (bytes == 0)
            continue;
        s->parts[nparts++] = (struct ranks_part){bundle_in_a_row(call, range, &packed), bytes};
        s->parts[nparts++] = (struct ranks_part){zeros, padding(bytes)};
    }
    return nparts;
}

void bundle_post(struct span *s, bool with_operands, int status)
{
    uint64_t bytes = letter_bytes(s);
    uint32_t nparts = 1;
    char *end;

    s->tags[s->me] = ranks_new_tags();
    if (!span_grow(&s->letter, bytes))
        ranks_abort("no memory for a message to another rank");
    end = write_calls(s, with_operands, status);
    memset(end, 0, (size_t)((char *)s->letter.at + bytes - end));
    s->parts[0] = (struct ranks_part){s->letter.at, bytes};
    if (with_operands)
        nparts = add_operands(s, nparts);
    for (uint32_t k = 0; k < s->nranks; k++)
        if (s->ranks[k] != s->me)
            remote_post(s->remote, s->ranks[k], s->parts, nparts);
}

/* ---- waiting ---- */

/* Begin to wait, unless all bundles have arrived. */
static bool begin_wait(struct span *s, struct shd_device *dev)
{
    bool waits;

    pthread_mutex_lock(&s->lock);
    waits = span_count_bundles(s) < s->nranks - 1;
    if (waits) {
        s->waiter = &dev->record;
        wait_record_at(&dev->record, &s->group->barrier);
    }
    pthread_mutex_unlock(&s->lock);
    return waits;
}

/* Whether the wait is over, since all bundles have arrived; `gives_up` ends it anyway, and leaves
 * the wait record in place. */
static bool is_over(struct span *s, bool gives_up)
{
    bool over;

    pthread_mutex_lock(&s->lock);
    over = !s->waiter;
    if (gives_up)
        s->waiter = NULL;
    pthread_mutex_unlock(&s->lock);
    return over;
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

bool bundle_wait(struct span *s, struct shd_device *dev)
{
    if (!begin_wait(s, dev))
        return true;
    for (;;) {
        uint32_t seen = atomic_load(&s->group->event);

        if (is_over(s, false))
            return true;
        if (is_hopeless(s))
            return is_over(s, true);
        ranks_wait(&s->group->event, seen, -1);
    }
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
                                 .in.base = p->in.at,
                                 .out.base = p->out.at,
                                 .where = c->has_where ? p->where : NULL,
                                 .tmp = p->tmp.at,
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

int bundle_open(struct span *s, int status)
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
