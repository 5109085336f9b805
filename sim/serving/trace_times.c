/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "serving/trace_times.h"

#include <math.h>

#include "base/array.h"

#define SECOND_NS INT64_C(1000000000)

/* Seconds from 1970 to 2000, and to 2100. */
#define EPOCH_MIN_S 946684800.0
#define EPOCH_MAX_S 4102444800.0

/* Requests a second that services see.  Azure's and Mooncake's traces have 1 to 20, BurstGPT's
 * 0.1. */
#define RATE_MIN 0.01
#define RATE_MAX 300.0
#define JUDGED_MIN 4 /* requests from which on their rate says something */

static const int64_t units[] = {SECOND_NS, 1000000, 1000, 1};
#define NUNITS (sizeof units / sizeof units[0])

bool trace_times_add(struct trace_times *times, uint32_t number, double value, bool is_date)
{
    if (!array_make_room32(&times->values, number, sizeof *times->values))
        return false;
    times->values[number] = is_date ? 0 : value;
    times->has_fractions |= !is_date && floor(value) < value;
    times->nnumbers += !is_date;
    times->ndates += is_date;
    return true;
}

struct span {
    double first, last;
    uint32_t n;
};

static double rate_in(const struct span *span, int64_t unit_ns)
{
    return (span->n - 1) / ((span->last - span->first) * (double)unit_ns / (double)SECOND_NS);
}

static bool is_likely(const struct span *span, int64_t unit_ns)
{
    double rate = rate_in(span, unit_ns);

    return span->n < JUDGED_MIN || span->last <= span->first ||
           (rate >= RATE_MIN && rate <= RATE_MAX);
}

/* The unit in which all times are of this century; 0: none. */
static int64_t unit_since_1970(const struct span *span)
{
    for (size_t i = 0; i < NUNITS; i++) {
        double s = (double)units[i] / (double)SECOND_NS;

        if (span->first * s >= EPOCH_MIN_S && span->last * s <= EPOCH_MAX_S)
            return units[i];
    }
    return 0;
}

/* Take a unit without a name after the numbers. */
static void judge(struct trace_unit *unit, const struct trace_times *times, const struct span *span)
{
    int64_t since = unit_since_1970(span);

    unit->ns = since ? since : times->has_fractions ? SECOND_NS : times->unit_ns;
    unit->source = since                  ? TRACE_UNIT_SINCE_1970
                   : times->has_fractions ? TRACE_UNIT_FRACTIONS
                                          : TRACE_UNIT_FORMAT;
    if (since || is_likely(span, unit->ns))
        return;
    unit->unlikely_ns = unit->ns;
    for (size_t i = 0; i < NUNITS; i++)
        if (is_likely(span, units[i])) {
            unit->ns = units[i];
            unit->source = TRACE_UNIT_RATE;
            return;
        }
}

static struct span span_of(const struct trace_times *times)
{
    struct span span = {times->values[0], times->values[0], times->nnumbers};

    for (uint32_t i = 1; i < times->nnumbers; i++) {
        span.first = fmin(span.first, times->values[i]);
        span.last = fmax(span.last, times->values[i]);
    }
    return span;
}

void trace_times_set(struct request_trace *t, const struct trace_times *times, int64_t asked_ns,
                     struct place file, struct diag *diag)
{
    struct span span;

    if (times->nnumbers > 0 && times->ndates > 0)
        diag_error(diag, file, "some arrival times are dates, others numbers; expected one form");
    else if (times->ndates > 0 && asked_ns > 0)
        diag_error(diag, file, "arrival times are dates; remove --time-unit");
    if (times->nnumbers == 0 || times->ndates > 0)
        return;
    if (times->named && asked_ns > 0 && asked_ns != times->unit_ns) {
        diag_error(diag, file, "the arrival field's name implies another unit than --time-unit");
        return;
    }
    span = span_of(times);
    t->unit = (struct trace_unit){.ns = asked_ns ? asked_ns : times->unit_ns,
                                  .source = asked_ns ? TRACE_UNIT_ASKED : TRACE_UNIT_NAMED};
    if (!asked_ns && !times->named)
        judge(&t->unit, times, &span);
    if ((span.last - span.first) * (double)t->unit.ns > (double)TRACE_SPAN_MAX_NS) {
        diag_error(diag, file,
                   "requests arrive over more than 30 years; expected times of one unit");
        return;
    }
    for (uint32_t i = 0; i < t->nrequests; i++)
        t->requests[i].arrival_ns = llround((times->values[i] - span.first) * (double)t->unit.ns);
}
