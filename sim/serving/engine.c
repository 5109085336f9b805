/* Serving a trace (engine.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "serving/engine.h"

#include <assert.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/pace.h"

/* A cache on its way to the replica where its sequence has a place. */
struct transfer {
    int64_t end_ns;
    uint32_t id, replica;
};

struct engine {
    const struct serving_setup *setup;
    struct serving_shared shared;
    struct serving_replica *replicas;
    struct transfer *transfers; /* on their way, in no order */
    uint32_t ntransfers;
    struct serving_outcome *out;
    int64_t now_ns;
    uint32_t next;  /* the request that arrives next */
    uint32_t nhere; /* requests that have arrived and not ended */
    bool failed;    /* no memory */
};

static bool has_pools(const struct engine *e)
{
    return e->setup->policy->form_decode != NULL;
}

static bool only_prefills(const struct engine *e, uint32_t replica)
{
    return has_pools(e) && replica < e->setup->nprefill;
}

static uint64_t cache_tokens_of(const struct engine *e, uint32_t replica)
{
    return only_prefills(e, replica) ? e->setup->prefill_cache_tokens : e->setup->cache_tokens;
}

/* ---- which replica ---- */

/* The replica with the fewest requests, from `first` to `end`. */
static uint32_t least_loaded(const struct engine *e, uint32_t first, uint32_t end)
{
    uint32_t least = first;

    for (uint32_t i = first; i < end; i++)
        if (e->replicas[i].load < e->replicas[least].load)
            least = i;
    return least;
}

static void send_to(struct engine *e, uint32_t replica, uint32_t id)
{
    e->replicas[replica].load++;
    replica_push(&e->replicas[replica], id);
}

/* Whether a replica has pages for so many tokens. */
static bool has_room(const struct engine *e, uint32_t replica, uint64_t tokens)
{
    uint32_t page = e->setup->limits.page;

    return (tokens + page - 1) / page <= e->replicas[replica].cache.npages;
}

static void arrive(struct engine *e, uint32_t id)
{
    struct serving_sequence *s = &e->shared.sequences[id];
    const struct trace_request *q = s->request;
    uint32_t end = has_pools(e) ? e->setup->nprefill : e->setup->nreplicas;
    uint64_t tokens = request_tokens_most(&e->shared, q);

    if (!has_room(e, e->setup->nreplicas - 1, tokens) ||
        !has_room(e, 0, has_pools(e) ? q->prompt : tokens)) {
        e->out->nrefused++;
        return;
    }
    e->nhere++;
    s->arrival_ns = e->now_ns;
    send_to(e, least_loaded(e, 0, end), id);
}

/* ---- caches that are brought ---- */

static void send_cache(struct engine *e, uint32_t id, uint32_t replica)
{
    struct serving_sequence *s = &e->shared.sequences[id];
    struct serving_replica *source = &e->replicas[s->source];
    const struct serving_costs *costs = e->setup->costs;

    if (!array_make_room32(&e->transfers, e->ntransfers, sizeof *e->transfers)) {
        e->failed = true;
        return;
    }
    if (source->link_free_ns < e->now_ns)
        source->link_free_ns = e->now_ns;
    source->link_free_ns += costs->transfer_ns(costs, s->computed);
    e->transfers[e->ntransfers++] = (struct transfer){source->link_free_ns, id, replica};
}

static void receive_cache(struct engine *e, const struct transfer *t)
{
    struct serving_replica *r = &e->replicas[t->replica];
    struct serving_sequence *s = &e->shared.sequences[t->id];
    uint32_t i = 0;

    while (r->coming[i] != t->id)
        i++;
    for (r->ncoming--; i < r->ncoming; i++)
        r->coming[i] = r->coming[i + 1];
    r->running[r->nrunning++] = t->id;
    replica_release(&e->replicas[s->source], t->id, &s->source_hold);
    s->source = SERVING_NONE;
}

/* Take the caches whose transfers have ended, in the order in which the transfers began. */
static void receive_caches(struct engine *e)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < e->ntransfers; i++) {
        if (e->transfers[i].end_ns <= e->now_ns)
            receive_cache(e, &e->transfers[i]);
        else
            e->transfers[n++] = e->transfers[i];
    }
    e->ntransfers = n;
}

/* ---- steps ---- */

/* Count a time between tokens, together with the one before if that is as long. */
static void add_gap(struct engine *e, int64_t ns)
{
    struct serving_outcome *o = e->out;

    if (o->ngaps > 0 && o->gaps[o->ngaps - 1].ns == ns) {
        o->gaps[o->ngaps - 1].n++;
    } else if (array_make_room32(&o->gaps, o->ngaps, sizeof *o->gaps)) {
        o->gaps[o->ngaps++] = (struct serving_gap){ns, 1};
    } else {
        e->failed = true;
    }
}

/* The tokens that a step has made of a sequence: the accepted proposals, whose keys and values are
 * in the cache, and the next token.  Over the steps of a sequence the accepted ones add up to the
 * draft's average; tokens past the end of the answer are dropped. */
static uint32_t count_made(const struct engine *e, struct serving_sequence *s)
{
    uint32_t n = 1, left = s->request->output - s->made;

    if (s->proposed > 0)
        n = (uint32_t)pace_tokens_of(1 + e->shared.draft.accepted, s->nverified++);
    s->proposed = 0;
    return n < left ? n : left;
}

static void make_tokens(struct engine *e, struct serving_sequence *s)
{
    uint32_t n = count_made(e, s);

    if (s->made == 0)
        s->first_ns = e->now_ns;
    else
        add_gap(e, e->now_ns - s->last_ns);
    s->last_ns = e->now_ns;
    s->made += n;
    s->computed += n - 1;
    e->out->ntokens += n;
    if (sequence_has_ended(s)) {
        e->nhere--;
        e->out->nserved++;
    }
}

/* A sequence goes on where it decodes; its cache waits here. */
static void hand_over(struct engine *e, uint32_t replica, uint32_t id)
{
    e->shared.sequences[id].source = replica;
    send_to(e, least_loaded(e, e->setup->nprefill, e->setup->nreplicas), id);
}

/* Take out of the batch the sequences that have ended or go on at another replica. */
static void leave(struct engine *e, uint32_t replica)
{
    struct serving_replica *r = &e->replicas[replica];
    bool keeps = e->setup->policy->keeps_batch;
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->nrunning && keeps; i++)
        keeps = sequence_has_ended(replica_sequence(r, r->running[i]));
    if (e->setup->policy->keeps_batch && !keeps)
        return;
    for (uint32_t i = 0; i < r->nrunning; i++) {
        uint32_t id = r->running[i];
        struct serving_sequence *s = replica_sequence(r, id);
        bool hands_over = only_prefills(e, replica) && s->made > 0;

        if (!hands_over && !sequence_has_ended(s)) {
            r->running[n++] = id;
            continue;
        }
        r->load--;
        if (sequence_has_ended(s))
            replica_release(r, id, &s->hold);
        else
            hand_over(e, replica, id);
    }
    r->nrunning = n;
}

static void end_step(struct engine *e, uint32_t replica)
{
    struct serving_replica *r = &e->replicas[replica];

    r->busy = false;
    for (uint32_t i = 0; i < r->nrunning; i++) {
        struct serving_sequence *s = replica_sequence(r, r->running[i]);

        if (s->due == 0)
            continue;
        replica_advance(r, r->running[i]);
        if (s->computed == sequence_length(s))
            make_tokens(e, s);
    }
    leave(e, replica);
}

/* Add what the replica is to compute of a sequence.  The last token of a prompt is as a decode's,
 * but that nothing is proposed to follow it. */
static void add_sequence(struct serving_work *work, const struct serving_sequence *s,
                         const struct serving_draft *draft)
{
    if (s->due <= 1 && s->computed > 0 && (s->made > 0 || draft->tokens == 0)) {
        work->ndecodes++;
        work->decode_context += s->computed;
    } else {
        work->nprefills++;
        work->prefill_tokens += s->due;
        work->prefill_pairs += serving_pairs(s->due, s->computed);
    }
}

/* What a step computes; returns the number of its sequences.  Those that have ended and keep their
 * places are computed on where the others decode, not while prompts are computed. */
static uint32_t add_work(struct serving_work *work, const struct serving_replica *r,
                         bool keeps_batch)
{
    bool prefills = false;
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->nrunning; i++) {
        const struct serving_sequence *s = replica_sequence(r, r->running[i]);

        if (s->due == 0)
            continue;
        prefills |= s->made == 0;
        add_sequence(work, s, &r->shared->draft);
        n++;
    }
    for (uint32_t i = 0; i < r->nrunning && keeps_batch && !prefills; i++) {
        const struct serving_sequence *s = replica_sequence(r, r->running[i]);

        if (sequence_has_ended(s)) {
            add_sequence(work, s, &r->shared->draft);
            n++;
        }
    }
    return n;
}

/* Choose a replica's step; if there is something to compute, it is busy with it. */
static void form_step(struct engine *e, uint32_t replica)
{
    const struct serving_policy *p = e->setup->policy;
    const struct serving_costs *costs = e->setup->costs;
    struct serving_replica *r = &e->replicas[replica];
    uint32_t n, ncoming = r->ncoming;

    if (r->nwaiting + r->nrunning == 0)
        return;
    (has_pools(e) && !only_prefills(e, replica) ? p->form_decode : p->form)(r);
    for (uint32_t i = ncoming; i < r->ncoming; i++)
        send_cache(e, r->coming[i], replica);
    r->work = (struct serving_work){0};
    n = add_work(&r->work, r, p->keeps_batch);
    if (n == 0)
        return;
    e->shared.counts.nlong +=
        r->work.prefill_tokens + (uint64_t)r->work.ndecodes * (1 + e->shared.draft.tokens) >
        e->shared.limits.tokens_max;
    r->busy = true;
    r->begin_ns = e->now_ns;
    replica_note_begin(r, e->now_ns);
    r->end_ns = e->now_ns + costs->step_ns(costs, &r->work);
    e->out->nsteps++;
    e->out->nsequences += n;
}

static void begin_step(struct engine *e, uint32_t replica, int64_t end_ns)
{
    struct serving_replica *r = &e->replicas[replica];

    r->end_ns = end_ns;
    e->out->busy_ns += (uint128)(end_ns - r->begin_ns);
    if (e->setup->watch)
        e->setup->watch(e->setup->watch_arg,
                        &(struct serving_step){replica, r->begin_ns, end_ns, r, &r->work});
}

/* Begin the steps of replicas from `first` to `end` that wait for each other, once none is in a
 * step: all end with the longest. */
static void begin_together(struct engine *e, uint32_t first, uint32_t end)
{
    int64_t end_ns = 0;

    for (uint32_t i = first; i < end; i++)
        if (e->replicas[i].busy)
            return;
    for (uint32_t i = first; i < end; i++) {
        form_step(e, i);
        if (e->replicas[i].busy && e->replicas[i].end_ns > end_ns)
            end_ns = e->replicas[i].end_ns;
    }
    for (uint32_t i = first; i < end; i++)
        if (e->replicas[i].busy)
            begin_step(e, i, end_ns);
}

static void begin_steps(struct engine *e)
{
    for (uint32_t i = 0, n; i < e->setup->nreplicas; i += n) {
        n = only_prefills(e, i) ? e->setup->prefill_together : e->setup->together;
        n = n > 0 ? n : 1;
        begin_together(e, i, i + n);
    }
}

/* ---- time ---- */

/* Whether the next request of the trace may arrive once its time has come. */
static bool may_arrive(const struct engine *e)
{
    uint32_t most = e->setup->concurrency;

    return e->next < e->setup->trace->nrequests && (most == 0 || e->nhere < most);
}

/* The time of the next event; INT64_MAX: there is none. */
static int64_t next_ns(const struct engine *e)
{
    int64_t ns = INT64_MAX;

    if (may_arrive(e))
        ns = e->setup->trace->requests[e->next].arrival_ns;
    for (uint32_t i = 0; i < e->ntransfers; i++)
        if (e->transfers[i].end_ns < ns)
            ns = e->transfers[i].end_ns;
    for (uint32_t i = 0; i < e->setup->nreplicas; i++)
        if (e->replicas[i].busy && e->replicas[i].end_ns < ns)
            ns = e->replicas[i].end_ns;
    return ns;
}

/* Let time pass, and count what is in use and who is here meanwhile. */
static void pass_time(struct engine *e, int64_t ns)
{
    uint128 passed = (uint128)(ns - e->now_ns);

    for (uint32_t i = 0; i < e->setup->nreplicas; i++) {
        const struct serving_cache *c = &e->replicas[i].cache;
        double part = (double)c->used / (double)c->npages;

        e->out->page_ns += passed * c->used;
        if (passed > 0 && part > e->out->used_most)
            e->out->used_most = part;
    }
    e->out->request_ns += passed * e->nhere;
    e->now_ns = ns;
}

static void run(struct engine *e)
{
    const struct request_trace *t = e->setup->trace;

    for (int64_t ns; (ns = next_ns(e)) < INT64_MAX && !e->failed;) {
        pass_time(e, ns);
        for (uint32_t i = 0; i < e->setup->nreplicas; i++)
            if (e->replicas[i].busy && e->replicas[i].end_ns == ns)
                end_step(e, i);
        receive_caches(e);
        while (may_arrive(e) && t->requests[e->next].arrival_ns <= ns)
            arrive(e, e->next++);
        begin_steps(e);
    }
    e->out->span_ns = e->now_ns;
    assert(e->failed || e->nhere == 0);
}

/* ---- begin and end ---- */

int serving_check(const struct serving_setup *s, struct shd_error *err)
{
    uint32_t block = s->trace->block_tokens, page = s->limits.page;

    if (block > 0 && block % page != 0)
        return shd_error_set(err, SHD_EINVAL,
                             "pages of %u tokens do not divide the trace's prefix blocks of %u "
                             "tokens; expected a divisor",
                             page, block);
    if (s->draft.tokens >= s->limits.tokens_max)
        return shd_error_set(err, SHD_EINVAL,
                             "steps of %u tokens cannot verify the %u draft tokens of decode.draft "
                             "and one more; expected more --step-tokens",
                             s->limits.tokens_max, s->draft.tokens);
    if (s->policy->form_decode && (s->nprefill == 0 || s->nprefill >= s->nreplicas))
        return shd_error_set(err, SHD_EINVAL,
                             "%s: expected at least one prefill replica and one decode replica",
                             s->policy->name);
    return SHD_OK;
}

static int begin(struct engine *e, struct shd_error *err)
{
    const struct serving_setup *s = e->setup;
    int status = SHD_OK;

    e->replicas = calloc(s->nreplicas, sizeof *e->replicas);
    e->shared.sequences = calloc((size_t)s->trace->nrequests + 1, sizeof *e->shared.sequences);
    if (!e->replicas || !e->shared.sequences)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %u replicas and %u requests",
                             s->nreplicas, s->trace->nrequests);
    for (uint32_t i = 0; i < s->trace->nrequests; i++)
        e->shared.sequences[i] =
            (struct serving_sequence){
                .request = &s->trace->requests[i], .source = SERVING_NONE, .begin_ns = -1};
    for (uint32_t i = 0; i < s->nreplicas && status == SHD_OK; i++) {
        status = replica_init(&e->replicas[i], &e->shared, cache_tokens_of(e, i), err);
        e->out->npages += e->replicas[i].cache.npages;
    }
    return status;
}

int serving_run(struct serving_outcome *out, const struct serving_setup *setup,
                struct shd_error *err)
{
    struct engine e = {.setup = setup,
                       .out = out,
                       .shared = {.limits = setup->limits,
                                  .draft = setup->draft,
                                  .trace = setup->trace,
                                  .rank = setup->policy->rank}};
    int status = serving_check(setup, err);

    if (status != SHD_OK)
        return status;
    *out = (struct serving_outcome){0};
    status = begin(&e, err);
    if (status == SHD_OK) {
        run(&e);
        if (e.failed)
            status = shd_error_set(err, SHD_ENOMEM, "no memory for the times between tokens");
    }
    out->sequences = e.shared.sequences;
    out->counts = e.shared.counts;
    for (uint32_t i = 0; e.replicas && i < setup->nreplicas; i++)
        replica_fini(&e.replicas[i]);
    free(e.replicas);
    free(e.transfers);
    if (status != SHD_OK)
        serving_outcome_fini(out);
    return status;
}

void serving_outcome_fini(struct serving_outcome *outcome)
{
    free(outcome->sequences);
    free(outcome->gaps);
    *outcome = (struct serving_outcome){0};
}
