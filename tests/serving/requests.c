/* Tests serving/engine.h: small traces whose times are computed by hand, for each policy, and the
 * laws that any trace obeys, on random ones.
 *
 * The costs are those of a model whose weights take 10 ms to read, whose products take 0.1 ms a
 * token, whichever is longer, and whose cache takes 1 us a token to read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "serving/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serving/figures.h"
#include "../support/tap.h"

#define MS INT64_C(1000000)
#define US INT64_C(1000)
#define MANY 1000000 /* tokens of a cache that is never full */

static int64_t step_ns(const struct serving_costs *costs, const struct serving_work *w)
{
    int64_t products = 100 * US * (int64_t)(w->prefill_tokens + w->ndecodes);

    (void)costs;
    return (products > 10 * MS ? products : 10 * MS) + US * (int64_t)w->decode_context;
}

static int64_t transfer_ns(const struct serving_costs *costs, uint64_t tokens)
{
    (void)costs;
    return MS + 10 * US * (int64_t)tokens;
}

static struct serving_setup setup_of(const struct request_trace *trace, const char *policy,
                                     uint64_t cache_tokens)
{
    static const struct serving_costs costs = {step_ns, transfer_ns};

    return (struct serving_setup){.trace = trace,
                                  .policy = policy_find(policy),
                                  .limits = {.batch_max = 2, .tokens_max = 1000, .page = 4},
                                  .nreplicas = 1,
                                  .costs = &costs,
                                  .cache_tokens = cache_tokens,
                                  .prefill_cache_tokens = cache_tokens};
}

static struct serving_outcome run(const struct serving_setup *setup)
{
    struct serving_outcome out;
    struct shd_error err;

    if (serving_run(&out, setup, &err) != SHD_OK) {
        diag("%s", err.text);
        abort();
    }
    return out;
}

/* ---- by hand ---- */

struct times {
    double first_ms, last_ms; /* after 0 */
};

static void is_served(const char *what, const struct serving_setup *setup,
                      const struct times *times)
{
    struct serving_outcome o = run(setup);
    bool same = true;

    for (uint32_t i = 0; i < setup->trace->nrequests; i++) {
        const struct serving_sequence *s = &o.sequences[i];

        if (s->first_ns == llround(times[i].first_ms * 1e6) &&
            s->last_ns == llround(times[i].last_ms * 1e6) && s->made == s->request->output)
            continue;
        diag("request %u: first token after %.3f ms, expected %.3f; last %.3f, expected %.3f", i,
             (double)s->first_ns / 1e6, times[i].first_ms, (double)s->last_ns / 1e6,
             times[i].last_ms);
        same = false;
    }
    ok(same, "by hand: %s", what);
    serving_outcome_fini(&o);
}

static void test_by_hand(void)
{
    struct trace_request requests[] = {{.prompt = 100, .output = 3},
                                       {.prompt = 200, .output = 1},
                                       {MS, .prompt = 100, .output = 2}};
    struct request_trace trace = {.requests = requests, .nrequests = 3};
    struct serving_setup setup = setup_of(&trace, "static", MANY);

    /* 300 tokens; then the second has ended and is computed on: 300 and 301 tokens of context. */
    is_served("static", &setup, (struct times[]){{30, 50.601}, {30, 30}, {60.601, 70.701}});

    /* 100 tokens, 200 of the second, whose step has nothing of the first; then both, as the first
     * is computed on: 100 and 200 tokens of context. */
    requests[0].output = 1;
    requests[1].output = 2;
    trace.nrequests = 2;
    setup.limits.tokens_max = 100;
    is_served("static, prompts in several steps", &setup, (struct times[]){{10, 10}, {30, 40.3}});
    requests[0].output = 3;
    requests[1].output = 1;
    trace.nrequests = 3;

    /* The third has the place of the second from 30 ms on, and is prefilled before the first goes
     * on. */
    setup = setup_of(&trace, "prefill-first", MANY);
    is_served("prefill-first", &setup, (struct times[]){{30, 60.301}, {30, 30}, {40, 50.2}});

    /* Steps of 100 + 50, 1 + 149, 1 + 1, 100, 1 tokens. */
    setup = setup_of(&trace, "chunked", MANY);
    setup.limits.tokens_max = 150;
    is_served("chunked", &setup, (struct times[]){{15, 40.4}, {40.4, 40.4}, {50.4, 60.5}});

    /* One after the other: the third, the first, the second. */
    setup = setup_of(&trace, "shortest", MANY);
    setup.limits.batch_max = 1;
    requests[2].arrival_ns = 0;
    is_served("shortest", &setup, (struct times[]){{30.1, 50.301}, {70.301, 70.301}, {10, 20.1}});
    requests[2].arrival_ns = MS;

    /* The first's cache is brought from 30 to 32 ms, the third's from 42.1 on, when a step ends. */
    setup = setup_of(&trace, "disaggregated", MANY);
    setup.nreplicas = 2;
    setup.nprefill = 1;
    is_served("disaggregated", &setup, (struct times[]){{30, 52.201}, {30, 30}, {40, 62.301}});

    /* The first and then the third on one replica, the second on the other. */
    setup = setup_of(&trace, "prefill-first", MANY);
    setup.nreplicas = 2;
    setup.limits.batch_max = 1;
    is_served("two replicas", &setup, (struct times[]){{10, 30.201}, {20, 20}, {40.201, 50.301}});
}

static bool near(double value, double expected)
{
    return fabs(value - expected) < 1e-9;
}

/* Closed loops: of requests that are there at once, one or two in the system.  The second of one
 * begins when the first has ended; nobody waits, as each arrives when there is a place.  Of two the
 * third arrives with the end of the second, at 30 ms, and waits for the step that begins then. */
static void test_closed_loop(void)
{
    struct trace_request requests[] = {
        {.prompt = 100, .output = 3}, {.prompt = 200, .output = 1}, {.prompt = 100, .output = 2}};
    struct request_trace trace = {.requests = requests, .nrequests = 3};
    struct serving_setup setup = setup_of(&trace, "prefill-first", MANY);
    struct serving_figures f;
    struct serving_outcome o;
    struct shd_error err;

    setup.concurrency = 1;
    is_served("one in the system", &setup,
              (struct times[]){{10, 30.201}, {50.201, 50.201}, {60.201, 70.301}});
    o = run(&setup);
    ok(serving_figures_of(&f, &setup, &o, &(struct serving_goal){0, 0}, &err) == SHD_OK,
       "figures of a closed loop");
    ok(near(f.first.p50, 0.01) && near(f.first.p99, 0.02) && near(f.latency.p99, 0.030201) &&
           near(f.queue.p99, 0),
       "times count from when a request may arrive, and it waits for nobody");
    serving_outcome_fini(&o);
    setup.concurrency = 2;
    is_served("two in the system", &setup, (struct times[]){{30, 60.301}, {30, 30}, {40, 50.2}});
    setup.limits.batch_max = 1; /* the second waits in the queue for 30.201 ms, the third for 20 */
    o = run(&setup);
    ok(serving_figures_of(&f, &setup, &o, &(struct serving_goal){0, 0}, &err) == SHD_OK,
       "figures of a closed loop with a queue");
    ok(near(f.queue.p99, 0.030201) && near(f.queue.p50, 0.02) && near(f.queue.mean, 0.050201 / 3) &&
           near(f.first.p99, 0.050201),
       "the queue's part of the first token");
    serving_outcome_fini(&o);
}

/* Steps of one token: the second decodes when the first has ended.  Prompts are not cut. */
static void test_step_tokens(void)
{
    struct trace_request requests[] = {{.prompt = 100, .output = 3}, {.prompt = 100, .output = 2}};
    struct request_trace trace = {.requests = requests, .nrequests = 2};
    struct serving_setup setup = setup_of(&trace, "prefill-first", MANY);
    struct serving_outcome o;

    setup.limits.tokens_max = 1;
    is_served("steps of one token", &setup, (struct times[]){{10, 40.201}, {20, 50.301}});
    o = run(&setup);
    ok(o.counts.nlong == 2, "steps of prompts have more tokens, and are counted");
    serving_outcome_fini(&o);
}

/* Replicas that wait for each other: steps of 20 and 10 ms both end after 20 ms, and a third
 * request, which comes meanwhile, waits, although one is idle; then it goes with the first, 101
 * tokens and 200 of context. */
static void test_together(void)
{
    struct trace_request requests[] = {{.prompt = 200, .output = 2},
                                       {.prompt = 100, .output = 1},
                                       {12 * MS, .prompt = 100, .output = 1}};
    struct request_trace trace = {.requests = requests, .nrequests = 3};
    struct serving_setup setup = setup_of(&trace, "chunked", MANY);

    setup.nreplicas = 2;
    is_served("each alone", &setup, (struct times[]){{20, 30.2}, {10, 10}, {22, 22}});
    setup.together = 2;
    is_served("together", &setup, (struct times[]){{20, 30.3}, {20, 20}, {30.3, 30.3}});
}

/* A draft of four tokens, of which 2.5 are right: steps make 3, 4, 3 ... tokens and no more than
 * are asked for. */
static void test_draft(void)
{
    struct trace_request requests[] = {{.prompt = 100, .output = 8},
                                       {1000 * MS, .prompt = 100, .output = 3},
                                       {2000 * MS, .prompt = 100, .output = 1},
                                       {3000 * MS, .prompt = 100, .output = 1001}};
    struct request_trace trace = {.requests = requests, .nrequests = 3};
    struct shd_error err;
    struct serving_outcome o;

    for (size_t i = 0; serving_policies[i]; i++) {
        struct serving_setup setup = setup_of(&trace, serving_policies[i]->name, MANY);
        double brings_ms = setup.policy->form_decode ? 2 : 0;

        setup.draft = (struct serving_draft){4, 2.5};
        setup.nreplicas = 2;
        setup.nprefill = 1;
        is_served(
            setup.policy->name, &setup,
            (struct times[]){{10, 30.203 + brings_ms}, {1010, 1020.1 + brings_ms}, {2010, 2010}});
        trace.nrequests = 4;
        o = run(&setup);
        /* A step of the third; the prompts and 2, 1 and 286 decodes of the others. */
        ok(o.nsteps == 1 + 3 + 2 + 1 + 286 && o.ntokens == 8 + 3 + 1 + 1001,
           "%s: accepted tokens over many steps match the average", setup.policy->name);
        serving_outcome_fini(&o);
        trace.nrequests = 3;
        setup.limits.page = 1;
        for (int lacks = 0; lacks < 2; lacks++) { /* 100 and 7 tokens, and 4 that are proposed */
            setup.cache_tokens = setup.prefill_cache_tokens = 111 - (uint64_t)lacks;
            o = run(&setup);
            ok(o.nrefused == (uint32_t)lacks, "%s: pages for what is proposed", setup.policy->name);
            serving_outcome_fini(&o);
        }
        setup.limits.tokens_max = 4;
        ok(serving_run(&o, &setup, &err) == SHD_EINVAL &&
               strstr(err.text, "steps of 4 tokens cannot verify the 4 draft tokens") != NULL,
           "%s: steps too small for a draft are refused", setup.policy->name);
    }
}

/* Room for 210 tokens: after six tokens each the second gives up its 105, and is computed again
 * when the first has ended. */
static void test_preemption(void)
{
    struct trace_request requests[] = {{.prompt = 100, .output = 10},
                                       {.prompt = 100, .output = 10}};
    struct request_trace trace = {.requests = requests, .nrequests = 2};
    const char *const policies[] = {"prefill-first", "chunked"};

    for (int i = 0; i < 2; i++) {
        struct serving_setup setup = setup_of(&trace, policies[i], 210);
        struct serving_outcome o;

        setup.limits.page = 1;
        o = run(&setup);
        ok(o.counts.npreempted == 1 && o.counts.ndropped == 105, "%s: preempted once, 105 tokens",
           policies[i]);
        /* 20 ms; 5 steps of 10 ms and 200, 202 ... 208 us; 4 alone of 105 to 108; 106 tokens. */
        ok(o.sequences[0].last_ns == 20 * MS + 90 * MS + (1020 + 426) * US,
           "%s: the first goes on alone", policies[i]);
        ok(o.sequences[1].last_ns ==
               o.sequences[0].last_ns + 10600 * US + 30 * MS + (106 + 107 + 108) * US,
           "%s: the second is computed again", policies[i]);
        ok(fabs(o.used_most - 1) < 1e-12, "%s: the cache is full at a time", policies[i]);
        serving_outcome_fini(&o);
    }
}

/* A request that needs 101 tokens of cache, where one has 100; the other is served. */
static void test_refused(void)
{
    struct trace_request requests[] = {{.prompt = 100, .output = 2}, {.prompt = 100, .output = 1}};
    struct request_trace trace = {.requests = requests, .nrequests = 2};

    for (size_t i = 0; serving_policies[i]; i++) {
        struct serving_setup setup = setup_of(&trace, serving_policies[i]->name, 100);
        struct serving_outcome o;

        setup.limits.page = 1;
        setup.nreplicas = 2;
        setup.nprefill = 1;
        o = run(&setup);
        ok(o.nrefused == 1 && o.nserved == 1 && o.sequences[0].made == 0,
           "%s: refuses what can never fit", setup.policy->name);
        serving_outcome_fini(&o);
    }
}

/* Two prompts of 1200 tokens whose first two blocks of 512 are the same, and a third of others. */
static void test_prefix(void)
{
    struct trace_request requests[] = {{0, 1200, 1, 0, 3},
                                       {500 * MS, 1200, 1, 3, 3},
                                       {1000 * MS, 1200, 1, 6, 3},
                                       {1500 * MS, 1200, 1, 0, 3}};
    uint32_t blocks[] = {0, 1, 2, 0, 1, 3, 4, 5, 6};
    struct request_trace trace = {.requests = requests,
                                  .nrequests = 4,
                                  .blocks = blocks,
                                  .nblocks = 9,
                                  .nids = 7,
                                  .block_tokens = 512};
    struct serving_setup setup = setup_of(&trace, "prefill-first", 1200);
    struct shd_error err;
    struct serving_outcome o;

    setup.limits.page = 16;
    is_served("a prefix hit, and a prefix whose pages were evicted", &setup,
              (struct times[]){{120, 120}, {517.6, 517.6}, {1120, 1120}, {1620, 1620}});
    setup.cache_tokens = MANY;
    o = run(&setup);
    ok(o.counts.nfound == 2 * 1024, "both prefixes are found where there is room");
    serving_outcome_fini(&o);
    setup.limits.page = 48;
    ok(serving_run(&o, &setup, &err) == SHD_EINVAL && strstr(err.text, "48") != NULL,
       "pages that do not divide the blocks are refused");
}

/* Three blocks of two pages in eight, of which those unused longest are given up first. */
static void test_cache(void)
{
    struct serving_cache c;
    const uint32_t all[] = {0, 1, 2};

    if (cache_init(&c, 8, 2, 3, NULL) != SHD_OK)
        abort();
    for (uint32_t i = 0; i < 3; i++)
        if (cache_take(&c, 2))
            cache_share(&c, i);
    ok(c.used == 6 && cache_match(&c, all, 3) == 3, "cache: three blocks in use");
    ok(!cache_take(&c, 3) && c.used == 6, "cache: three more pages are not there");
    cache_leave(&c, 1);
    cache_leave(&c, 0);
    ok(c.used == 2 && c.kept == 4 && cache_match(&c, all, 3) == 3, "cache: two are kept");
    ok(cache_take(&c, 3) && c.used == 5 && c.kept == 2 && cache_match(&c, all, 3) == 1,
       "cache: the one unused longest is given up");
    cache_use(&c, 0);
    ok(c.used == 7 && c.kept == 0 && !cache_take(&c, 2), "cache: the other is in use again");
    cache_put(&c, 3);
    ok(cache_take(&c, 2), "cache: pages of a second copy");
    cache_share(&c, 0);
    ok(c.used == 4 && c.blocks[0].nusers == 2, "cache: a second copy is put back");
    cache_fini(&c);
}

/* ---- laws ---- */

struct watch {
    const struct serving_setup *setup;
    uint32_t *ends;   /* [request] steps that make tokens */
    int64_t *free_ns; /* [replica] when its latest step ends */
    uint64_t ncomputed, nends;
    bool ordered, within, once;
};

/* Whether so many steps make so many tokens: one each, or more where there is a draft. */
static bool is_end(const struct serving_setup *setup, uint32_t nends, uint32_t made)
{
    return setup->draft.tokens > 0 ? nends <= made : nends == made;
}

/* Tokens that a sequence has in the cache must have pages; what blocks share is not counted here.
 */
static void see(void *arg, const struct serving_step *step)
{
    struct watch *w = arg;
    const struct serving_replica *r = step->state;
    uint32_t page = w->setup->limits.page, ntokens = 0;
    uint64_t pages = 0;

    w->ordered &= step->begin_ns >= w->free_ns[step->replica] && step->end_ns > step->begin_ns;
    w->free_ns[step->replica] = step->end_ns;
    for (uint32_t i = 0; i < r->nrunning; i++) {
        uint32_t id = r->running[i];
        const struct serving_sequence *s = replica_sequence(r, id);

        w->ordered &= step->begin_ns >= s->request->arrival_ns;
        w->ncomputed += s->due;
        ntokens += s->due;
        pages += (s->computed + s->due + s->proposed + page - 1) / page;
        if (s->due == 0 || s->computed + s->due < s->request->prompt + s->made)
            continue;
        w->once &= is_end(w->setup, w->ends[id], s->made);
        w->ends[id]++;
        w->nends++;
    }
    w->within &= r->nrunning <= w->setup->limits.batch_max && ntokens > 0 &&
                 r->cache.used + r->cache.kept <= r->cache.npages &&
                 (w->setup->trace->nblocks > 0 || pages <= r->cache.npages);
}

static void check_laws(const struct serving_setup *given, const char *what)
{
    struct serving_setup setup = *given;
    uint32_t n = setup.trace->nrequests, nright = 0;
    struct watch w = {&setup,
                      calloc(n, sizeof *w.ends),
                      calloc(setup.nreplicas, sizeof *w.free_ns),
                      0,
                      0,
                      true,
                      true,
                      true};
    struct serving_outcome o;
    uint128 waited_ns = 0;
    uint64_t wanted = 0, gaps = 0;
    int64_t last_ns = 0;

    setup.watch = see;
    setup.watch_arg = &w;
    o = run(&setup);
    for (uint32_t i = 0; i < n; i++) {
        const struct serving_sequence *s = &o.sequences[i];

        nright += s->made == s->request->output && is_end(&setup, w.ends[i], s->made) &&
                  s->first_ns > s->request->arrival_ns && s->last_ns >= s->first_ns;
        waited_ns += (uint128)(s->last_ns - s->request->arrival_ns);
        wanted += s->request->prompt + s->request->output - 1;
        last_ns = s->last_ns > last_ns ? s->last_ns : last_ns;
    }
    for (uint32_t i = 0; i < o.ngaps; i++)
        gaps += o.gaps[i].n;
    ok(nright == n && w.once && o.nserved == n && gaps + n == w.nends,
       "%s: each token is made once", what);
    ok(w.within && o.used_most <= 1, "%s: never more than there is room for", what);
    ok(w.ordered && o.span_ns == last_ns && o.busy_ns <= (uint128)o.span_ns * setup.nreplicas,
       "%s: steps in sequence, none before its requests", what);
    /* Those of a draft that are right are not due any more. */
    ok(w.ncomputed + o.ntokens - w.nends == wanted + o.counts.ndropped - o.counts.nfound,
       "%s: every token is computed once, and again if it was dropped", what);
    ok(o.request_ns == waited_ns, "%s: Little's law", what);
    free(w.ends);
    free(w.free_ns);
    serving_outcome_fini(&o);
}

/* Give a trace prompts that begin alike: in groups of four. */
static void share_prefixes(struct request_trace *t)
{
    t->block_tokens = 32;
    t->blocks = calloc((size_t)t->nrequests * 64, sizeof *t->blocks);
    for (uint32_t i = 0; i < t->nrequests; i++) {
        struct trace_request *q = &t->requests[i];

        q->block = t->nblocks;
        q->nblocks = (q->prompt + 31) / 32;
        for (uint32_t b = 0; b < q->nblocks; b++, t->nblocks++)
            t->blocks[t->nblocks] = b < 4 ? i % 4 * 4 + b : 16 + t->nblocks;
    }
    t->nids = 16 + t->nblocks;
}

static void test_laws(uint64_t seed)
{
    static const uint32_t pages[] = {1, 16, 32};
    struct trace_synthetic s = {.nrequests = small_size() ? 60 : 300,
                                .rate = seed % 4 ? 10.0 * (double)(seed % 4) : INFINITY,
                                .prompt = {200, 150},
                                .output = {40, 30},
                                .seed = seed};
    struct request_trace trace;
    struct shd_error err;
    char what[80];

    if (trace_draw(&trace, &s, &err) != SHD_OK)
        abort();
    for (uint32_t i = 0; i < trace.nrequests; i++)
        trace.requests[i].prompt = trace.requests[i].prompt % 2000 + 1;
    if (seed % 2)
        share_prefixes(&trace);
    for (size_t i = 0; serving_policies[i]; i++) {
        struct serving_setup setup =
            setup_of(&trace, serving_policies[i]->name, seed % 3 ? 4000 : MANY);

        setup.limits = (struct serving_limits){8 + 8 * (uint32_t)(seed % 5), 256, pages[seed % 3]};
        setup.nreplicas = 2 + seed % 3;
        setup.draft = (struct serving_draft){seed % 4 == 3 ? 3 : 0, seed % 4 == 3 ? 1.3 : 0};
        setup.nprefill = 1;
        setup.together = seed % 3 == 1 && !setup.policy->form_decode ? setup.nreplicas : 1;
        snprintf(what, sizeof what, "seed %u, %s", (unsigned)seed, setup.policy->name);
        check_laws(&setup, what);
    }
    trace_fini(&trace);
}

/* Half of the requests wait from the begin on, and for each that is served another comes: a moment,
 * where not all that wait are moved for it. */
static void test_long_queue(void)
{
    const uint32_t n = small_size() ? 10000 : 200000;
    struct trace_request *requests = calloc(n, sizeof *requests);
    struct request_trace trace = {.requests = requests, .nrequests = n};
    struct serving_setup setup = setup_of(&trace, "prefill-first", MANY);
    uint32_t nright = 0;
    struct serving_outcome o;

    for (uint32_t i = 0; i < n; i++)
        requests[i] = (struct trace_request){i < n / 2 ? 0 : (i - n / 2) * 10 * MS, 10, 1, 0, 0};
    setup.limits.batch_max = 1;
    o = run(&setup);
    for (uint32_t i = 0; i < n; i++)
        nright += o.sequences[i].first_ns == (i + 1) * 10 * MS;
    ok(nright == n, "a long queue is served in order");
    serving_outcome_fini(&o);
    free(requests);
}

/* Of requests far apart each has a replica for itself. */
static void test_alone(void)
{
    struct trace_synthetic s = {50, 0.001, {300, 200}, {20, 10}, 7};
    struct request_trace trace;
    struct shd_error err;

    if (trace_draw(&trace, &s, &err) != SHD_OK)
        abort();
    for (size_t p = 0; serving_policies[p]; p++) {
        struct serving_setup setup = setup_of(&trace, serving_policies[p]->name, MANY);
        uint32_t nright = 0;
        struct serving_outcome o;

        setup.nreplicas = 2;
        setup.nprefill = 1;
        setup.limits.tokens_max = 100000;
        o = run(&setup);
        for (uint32_t i = 0; i < trace.nrequests; i++) {
            const struct trace_request *q = &trace.requests[i];
            int64_t first = step_ns(NULL, &(struct serving_work){.prefill_tokens = q->prompt});
            int64_t rest =
                setup.policy->form_decode && q->output > 1 ? transfer_ns(NULL, q->prompt) : 0;

            for (uint32_t k = 0; k + 1 < q->output; k++)
                rest += step_ns(NULL, &(struct serving_work){1, q->prompt + k, 0, 0, 0});
            nright += o.sequences[i].first_ns - q->arrival_ns == first &&
                      o.sequences[i].last_ns - o.sequences[i].first_ns == rest;
        }
        ok(nright == trace.nrequests,
           "%s: at a rate near 0 each has the latencies of a batch of one", setup.policy->name);
        serving_outcome_fini(&o);
    }
    trace_fini(&trace);
}

static void test_figures(void)
{
    struct trace_request requests[] = {{.prompt = 100, .output = 3},
                                       {.prompt = 200, .output = 1},
                                       {MS, .prompt = 100, .output = 2}};
    struct request_trace trace = {.requests = requests, .nrequests = 3};
    struct serving_setup setup = setup_of(&trace, "prefill-first", 1000);
    struct serving_outcome o = run(&setup);
    struct serving_figures f;
    struct shd_error err;

    /* First tokens after 30, 30, 39 ms; gaps of 20.2, 10.101 and 10.2; 15.1505 and 10.2 a token. */
    ok(serving_figures_of(&f, &setup, &o, &(struct serving_goal){35 * MS, 0}, &err) == SHD_OK,
       "figures");
    ok(fabs(f.first.p50 - 0.030) < 1e-9 && fabs(f.first.p90 - 0.039) < 1e-9 &&
           fabs(f.first.mean - 0.033) < 1e-9,
       "percentiles of the first token");
    ok(fabs(f.gap.p50 - 0.0102) < 1e-9 && fabs(f.gap.p99 - 0.0202) < 1e-9, "of the gaps");
    ok(fabs(f.token.p50 - 0.0102) < 1e-9 && fabs(f.token.p99 - 0.0151505) < 1e-9, "of a token");
    ok(fabs(f.latency.p50 - 0.0492) < 1e-9, "of the last token");
    ok(fabs(f.tokens_per_s - 6 / 0.060301) < 1e-6 && fabs(f.requests_per_s - 3 / 0.060301) < 1e-6,
       "throughput");
    ok(fabs(f.good - 2. / 3) < 1e-9, "two of three within 35 ms to the first token");
    ok(fabs(f.batch - 6. / 4) < 1e-9 && fabs(f.busy - 1) < 1e-9, "batch and time in steps");
    /* Pages: 75 for 30 ms; 50 for 10; 52 for 10.2; 26 for 10.101. */
    ok(fabs(f.used_mean - (75 * 30 + 50 * 10 + 52 * 10.2 + 26 * 10.101) / 60.301 / 250) < 1e-9 &&
           fabs(f.used_most - 0.3) < 1e-9,
       "pages in use");
    ok(serving_figures_of(&f, &setup, &o, &(struct serving_goal){0, 15 * MS}, &err) == SHD_OK &&
           fabs(f.good - 2. / 3) < 1e-9,
       "two of three within 15 ms a token: one has no second token");
    serving_outcome_fini(&o);
}

/* Nothing is served, all at once: no time passes. */
static void test_figures_of_nothing(void)
{
    struct trace_request requests[] = {{.prompt = 200, .output = 3}, {.prompt = 200, .output = 1}};
    struct request_trace trace = {.requests = requests, .nrequests = 2};
    struct serving_setup setup = setup_of(&trace, "chunked", 100);
    struct serving_outcome o = run(&setup);
    struct serving_figures f;
    struct shd_error err;

    ok(serving_figures_of(&f, &setup, &o, &(struct serving_goal){0, 0}, &err) == SHD_OK &&
           o.nrefused == 2 && o.span_ns == 0,
       "figures where all requests are refused");
    ok(f.tokens_per_s == 0 && f.requests_per_s == 0 && f.good == 0 && f.good_per_s == 0 &&
           f.batch == 0 && f.busy == 0 && f.used_mean == 0,
       "their rates and parts are 0");
    ok(isnan(f.first.p90) && isnan(f.gap.p90) && isnan(f.latency.p90), "they have no times");
    serving_outcome_fini(&o);
}

int main(void)
{
    plan(0);
    test_by_hand();
    test_draft();
    test_together();
    test_closed_loop();
    test_step_tokens();
    test_preemption();
    test_refused();
    test_prefix();
    test_cache();
    for (uint64_t seed = 0; seed < (small_size() ? 4 : 12); seed++)
        test_laws(seed);
    test_long_queue();
    test_alone();
    test_figures();
    test_figures_of_nothing();
    return done();
}
