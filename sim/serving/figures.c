/* Figures of serving (figures.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "serving/figures.h"

#include <math.h>
#include <stdlib.h>

static int order_gaps(const void *a, const void *b)
{
    int64_t x = ((const struct serving_gap *)a)->ns, y = ((const struct serving_gap *)b)->ns;

    return (x > y) - (x < y);
}

static double seconds(double ns)
{
    return ns / 1e9;
}

/* 0 of nothing: where every request is refused there may be no step, and no time may pass. */
static double ratio(double of, double to)
{
    return to > 0 ? of / to : 0;
}

/* The percentile of sorted times; `total` is how many they are. */
static double percentile(const struct serving_gap *gaps, uint32_t n, uint64_t total,
                         uint64_t percent)
{
    uint64_t wanted = (total * percent + 99) / 100, seen = 0;

    for (uint32_t i = 0; i < n; i++) {
        seen += gaps[i].n;
        if (seen >= wanted)
            return seconds((double)gaps[i].ns);
    }
    return NAN;
}

/* Sorts the times. */
static struct serving_times times_of(struct serving_gap *gaps, uint32_t n)
{
    struct serving_times out;
    uint64_t total = 0;
    double sum_ns = 0;

    if (n == 0)
        return (struct serving_times){NAN, NAN, NAN, NAN};
    qsort(gaps, n, sizeof *gaps, order_gaps);
    for (uint32_t i = 0; i < n; i++) {
        total += gaps[i].n;
        sum_ns += (double)gaps[i].ns * (double)gaps[i].n;
    }
    out.p50 = percentile(gaps, n, total, 50);
    out.p90 = percentile(gaps, n, total, 90);
    out.p99 = percentile(gaps, n, total, 99);
    out.mean = seconds(sum_ns / (double)total);
    return out;
}

/* Times of a request; false: it has none of this kind. */
typedef bool time_fn(const struct serving_sequence *s, int64_t *out_ns);

static bool time_to_first(const struct serving_sequence *s, int64_t *out_ns)
{
    *out_ns = s->first_ns - s->arrival_ns;
    return s->made > 0;
}

static bool time_in_queue(const struct serving_sequence *s, int64_t *out_ns)
{
    *out_ns = s->begin_ns - s->arrival_ns;
    return s->made > 0;
}

static bool time_to_last(const struct serving_sequence *s, int64_t *out_ns)
{
    *out_ns = s->last_ns - s->arrival_ns;
    return s->made > 0;
}

static bool time_a_token(const struct serving_sequence *s, int64_t *out_ns)
{
    if (s->made < 2)
        return false;
    *out_ns = (s->last_ns - s->first_ns) / (s->made - 1);
    return true;
}

/* `scratch` has room for a time of each request. */
static struct serving_times times_of_requests(const struct serving_setup *setup,
                                              const struct serving_outcome *o, time_fn *time,
                                              struct serving_gap *scratch)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < setup->trace->nrequests; i++) {
        scratch[n].n = 1;
        n += time(&o->sequences[i], &scratch[n].ns);
    }
    return times_of(scratch, n);
}

static bool is_good(const struct serving_sequence *s, const struct serving_goal *goal)
{
    int64_t first_ns, token_ns;

    return time_to_first(s, &first_ns) && (goal->first_ns == 0 || first_ns <= goal->first_ns) &&
           (goal->token_ns == 0 || !time_a_token(s, &token_ns) || token_ns <= goal->token_ns);
}

/* Parts of pages and time in use. */
static void add_use(struct serving_figures *out, const struct serving_setup *setup,
                    const struct serving_outcome *o)
{
    double span_ns = (double)o->span_ns;

    out->used_mean = ratio((double)o->page_ns, (double)o->npages * span_ns);
    out->used_most = o->used_most;
    out->batch = ratio((double)o->nsequences, (double)o->nsteps);
    out->busy = ratio((double)o->busy_ns, setup->nreplicas * span_ns);
}

int serving_figures_of(struct serving_figures *out, const struct serving_setup *setup,
                       const struct serving_outcome *o, const struct serving_goal *goal,
                       struct shd_error *err)
{
    uint32_t n = setup->trace->nrequests, ngood = 0;
    struct serving_gap *scratch =
        malloc(((size_t)(n > o->ngaps ? n : o->ngaps) + 1) * sizeof *scratch);

    if (!scratch)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the times of %u requests", n);
    *out = (struct serving_figures){.span_s = seconds((double)o->span_ns)};
    out->first = times_of_requests(setup, o, time_to_first, scratch);
    out->queue = times_of_requests(setup, o, time_in_queue, scratch);
    out->token = times_of_requests(setup, o, time_a_token, scratch);
    out->latency = times_of_requests(setup, o, time_to_last, scratch);
    for (uint32_t i = 0; i < o->ngaps; i++)
        scratch[i] = o->gaps[i];
    out->gap = times_of(scratch, o->ngaps);
    free(scratch);
    for (uint32_t i = 0; i < n; i++)
        ngood += is_good(&o->sequences[i], goal);
    add_use(out, setup, o);
    out->tokens_per_s = ratio((double)o->ntokens, out->span_s);
    out->requests_per_s = ratio(o->nserved, out->span_s);
    out->good = (double)ngood / n;
    out->good_per_s = ratio(ngood, out->span_s);
    return SHD_OK;
}
