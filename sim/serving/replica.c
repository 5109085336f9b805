/* An instance of the model (replica.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "serving/replica.h"

#include <stdlib.h>
#include <string.h>

/* Pages of a shared block, or 0 where prompts have no blocks. */
static uint32_t block_pages(const struct serving_shared *s)
{
    return s->trace->block_tokens / s->limits.page;
}

uint64_t request_tokens_most(const struct serving_shared *s, const struct trace_request *q)
{
    return (uint64_t)q->prompt + q->output - 1 + (q->output > 1 ? s->draft.tokens : 0);
}

/* The queue's array has room for twice the requests of the trace.  The queue drifts to the array's
 * end and is then moved back to its begin; with this room each push pays for moving one request. */
static uint32_t waiting_max(const struct serving_shared *s)
{
    return 2 * s->trace->nrequests;
}

int replica_init(struct serving_replica *out, struct serving_shared *shared, uint64_t cache_tokens,
                 struct shd_error *err)
{
    const struct serving_limits *l = &shared->limits;

    *out = (struct serving_replica){
        .shared = shared,
        .waiting = calloc((size_t)waiting_max(shared) + 1, sizeof *out->waiting),
        .running = calloc((size_t)l->batch_max + 1, sizeof *out->running),
        .coming = calloc((size_t)l->batch_max + 1, sizeof *out->coming)};
    if (!out->waiting || !out->running || !out->coming)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %u requests",
                             shared->trace->nrequests);
    return cache_init(&out->cache, cache_tokens / l->page, block_pages(shared), shared->trace->nids,
                      err);
}

void replica_fini(struct serving_replica *r)
{
    free(r->waiting);
    free(r->running);
    free(r->coming);
    cache_fini(&r->cache);
}

struct serving_sequence *replica_sequence(const struct serving_replica *r, uint32_t id)
{
    return &r->shared->sequences[id];
}

uint32_t sequence_length(const struct serving_sequence *s)
{
    return s->request->prompt + s->made;
}

bool sequence_has_ended(const struct serving_sequence *s)
{
    return s->made == s->request->output;
}

/* ---- waiting ---- */

static bool is_before(const struct serving_shared *s, uint32_t a, uint32_t b)
{
    uint64_t x = s->rank ? s->rank(s->sequences[a].request) : 0;
    uint64_t y = s->rank ? s->rank(s->sequences[b].request) : 0;

    return x != y ? x < y : a < b;
}

/* Make room for one request at a place of the queue, by moving the shorter part before or behind.
 */
static void open_place(struct serving_replica *r, uint32_t place)
{
    uint32_t *ids, after = r->nwaiting - place;

    if (r->first + r->nwaiting == waiting_max(r->shared)) {
        memmove(r->waiting, r->waiting + r->first, r->nwaiting * sizeof *r->waiting);
        r->first = 0;
    }
    ids = r->waiting + r->first;
    if (r->first > 0 && place < after) {
        memmove(ids - 1, ids, place * sizeof *ids);
        r->first--;
    } else {
        memmove(ids + place + 1, ids + place, after * sizeof *ids);
    }
    r->nwaiting++;
}

void replica_push(struct serving_replica *r, uint32_t id)
{
    const uint32_t *ids = r->waiting + r->first;
    uint32_t low = 0, high = r->nwaiting;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (is_before(r->shared, ids[middle], id))
            low = middle + 1;
        else
            high = middle;
    }
    open_place(r, low);
    r->waiting[r->first + low] = id;
}

static void pop(struct serving_replica *r)
{
    r->first++;
    if (--r->nwaiting == 0)
        r->first = 0;
}

uint32_t replica_front(const struct serving_replica *r)
{
    return r->nwaiting > 0 ? r->waiting[r->first] : SERVING_NONE;
}

bool replica_has_place(const struct serving_replica *r)
{
    return r->nrunning + r->ncoming < r->shared->limits.batch_max;
}

/* ---- pages ---- */

static uint32_t pages_of(const struct serving_replica *r, uint64_t tokens)
{
    return (uint32_t)((tokens + r->shared->limits.page - 1) / r->shared->limits.page);
}

static const uint32_t *blocks_of(const struct serving_replica *r, const struct serving_sequence *s)
{
    return s->request->nblocks > 0 ? r->shared->trace->blocks + s->request->block : NULL;
}

/* Blocks at the begin of a sequence that are in the cache, but for its last token: something must
 * be computed for a token to be made. */
static uint32_t find_blocks(const struct serving_replica *r, const struct serving_sequence *s)
{
    uint32_t most, size = r->shared->trace->block_tokens;

    if (s->request->nblocks == 0)
        return 0;
    most = (sequence_length(s) - 1) / size;
    if (most > s->request->prompt / size)
        most = s->request->prompt / size;
    return cache_match(&r->cache, blocks_of(r, s), most);
}

/* Get pages for so many tokens of a sequence. */
static bool hold(struct serving_replica *r, struct serving_hold *hold, uint64_t tokens)
{
    uint32_t pages = pages_of(r, tokens) - hold->nblocks * block_pages(r->shared);

    if (pages <= hold->pages)
        return true;
    if (!cache_take(&r->cache, pages - hold->pages))
        return false;
    hold->pages = pages;
    return true;
}

void replica_release(struct serving_replica *r, uint32_t id, struct serving_hold *hold)
{
    const uint32_t *blocks = blocks_of(r, replica_sequence(r, id));

    for (uint32_t i = hold->nblocks; i-- > 0;)
        cache_leave(&r->cache, blocks[i]);
    cache_put(&r->cache, hold->pages);
    *hold = (struct serving_hold){0, 0};
}

/* Share the blocks of a prompt that have been computed. */
static void share(struct serving_replica *r, struct serving_sequence *s)
{
    uint32_t size = r->shared->trace->block_tokens;
    uint32_t known = s->computed < s->request->prompt ? s->computed : s->request->prompt;

    while (s->request->nblocks > 0 && (s->hold.nblocks + 1) * (uint64_t)size <= known) {
        cache_share(&r->cache, blocks_of(r, s)[s->hold.nblocks++]);
        s->hold.pages -= block_pages(r->shared);
    }
}

void replica_note_begin(const struct serving_replica *r, int64_t now_ns)
{
    for (uint32_t i = 0; i < r->nrunning; i++) {
        struct serving_sequence *s = replica_sequence(r, r->running[i]);

        if (s->due > 0 && s->begin_ns < 0)
            s->begin_ns = now_ns;
    }
}

void replica_advance(struct serving_replica *r, uint32_t id)
{
    struct serving_sequence *s = replica_sequence(r, id);

    s->computed += s->due;
    s->due = 0;
    share(r, s);
}

/* ---- the batch ---- */

uint32_t replica_front_tokens(const struct serving_replica *r)
{
    const struct serving_sequence *s = replica_sequence(r, replica_front(r));

    return sequence_length(s) - find_blocks(r, s) * r->shared->trace->block_tokens;
}

bool replica_admit(struct serving_replica *r, uint32_t tokens_max, uint64_t reserved)
{
    uint32_t id = replica_front(r);
    struct serving_sequence *s = replica_sequence(r, id);
    uint32_t nfound = find_blocks(r, s), computed = nfound * r->shared->trace->block_tokens;
    uint32_t due = sequence_length(s) - computed;

    if (due > tokens_max)
        due = tokens_max;
    for (uint32_t i = 0; i < nfound; i++)
        cache_use(&r->cache, blocks_of(r, s)[i]);
    s->hold = (struct serving_hold){0, nfound};
    if (!hold(r, &s->hold, reserved > computed + due ? reserved : computed + due)) {
        replica_release(r, id, &s->hold);
        return false;
    }
    s->computed = computed;
    s->due = due;
    r->shared->counts.nfound += computed;
    r->running[r->nrunning++] = id;
    pop(r);
    return true;
}

bool replica_admit_whole(struct serving_replica *r)
{
    uint32_t left = r->shared->limits.tokens_max;
    bool any = false;

    while (replica_front(r) != SERVING_NONE && replica_has_place(r)) {
        uint32_t tokens = replica_front_tokens(r);

        if ((any && tokens > left) || !replica_admit(r, tokens, 0))
            break;
        left -= tokens < left ? tokens : left;
        any = true;
    }
    return any;
}

bool replica_await(struct serving_replica *r)
{
    uint32_t id = replica_front(r);
    struct serving_sequence *s = replica_sequence(r, id);

    s->source_hold = s->hold;
    s->hold = (struct serving_hold){0, 0};
    if (!hold(r, &s->hold, s->computed)) {
        s->hold = s->source_hold;
        return false;
    }
    r->coming[r->ncoming++] = id;
    pop(r);
    return true;
}

/* The last of the batch loses its cache, and waits again. */
static void preempt_last(struct serving_replica *r)
{
    uint32_t id = r->running[--r->nrunning];
    struct serving_sequence *s = replica_sequence(r, id);

    r->shared->counts.npreempted++;
    r->shared->counts.ndropped += s->computed;
    replica_release(r, id, &s->hold);
    s->computed = 0;
    replica_push(r, id);
}

bool replica_continue(struct serving_replica *r, uint32_t *left)
{
    bool preempted = false;

    for (uint32_t i = 0; i < r->nrunning; i++) {
        struct serving_sequence *s = replica_sequence(r, r->running[i]);
        uint32_t due = sequence_length(s) - s->computed;
        uint32_t proposed = due == 1 && s->made > 0 ? r->shared->draft.tokens : 0;

        if (sequence_has_ended(s))
            continue;
        if (due + proposed > *left) {
            due = proposed > 0 ? 0 : *left;
            proposed = 0;
        }
        while (i < r->nrunning && !hold(r, &s->hold, (uint64_t)s->computed + due + proposed)) {
            preempt_last(r);
            preempted = true;
        }
        if (i < r->nrunning) {
            s->due = due;
            s->proposed = proposed;
            *left -= due + proposed;
        }
    }
    return preempted;
}
