/* What serving a trace comes to (requests.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "serving/report.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "base/json_out.h"
#include "base/literal.h"
#include "base/units.h"
#include "base/wrap.h"
#include "report/figures.h"
#include "report/table.h"
#include "report/trust.h"

#define ALIKE 0.01   /* relative difference below which throughputs are reported as equal */
#define OVERLOAD 1.1 /* requests that take this much longer to serve than to arrive pile up */

/* ---- figures ---- */

/* A figure of a row: key in CSV and JSON, number of the table, and heading in the table. */
struct column {
    const char *key;
    size_t at;
    enum figure_unit unit; /* FIGURE_COUNT: a uint64_t, else a double */
    int table;             /* 0: in none */
    const char *head;
};

#define FIGURE(key, field, unit, table, head)                               \
    {                                                                       \
        key, offsetof(struct serving_row, figures.field), unit, table, head \
    }
#define COUNT(key, field, table, head)                                      \
    {                                                                       \
        key, offsetof(struct serving_row, field), FIGURE_COUNT, table, head \
    }
#define TIMES(key, field, table, head)                                   \
    FIGURE(key "_p50_s", field.p50, FIGURE_SECONDS, table, head " p50"), \
        FIGURE(key "_p90_s", field.p90, FIGURE_SECONDS, table, "p90"),   \
        FIGURE(key "_p99_s", field.p99, FIGURE_SECONDS, table, "p99"),   \
        FIGURE(key "_mean_s", field.mean, FIGURE_SECONDS, 0, "mean")

static const struct column columns[] = {
    FIGURE("tokens_per_s", tokens_per_s, FIGURE_MEAN, 1, "tokens/s"),
    FIGURE("requests_per_s", requests_per_s, FIGURE_MEAN, 1, "req/s"),
    FIGURE("good", good, FIGURE_SHARE, 1, "good"),
    FIGURE("good_per_s", good_per_s, FIGURE_MEAN, 0, ""),
    FIGURE("batch_mean", batch, FIGURE_MEAN, 1, "batch"),
    FIGURE("busy", busy, FIGURE_SHARE, 1, "busy"),
    FIGURE("cache_mean", used_mean, FIGURE_SHARE, 1, "cache"),
    FIGURE("cache_most", used_most, FIGURE_SHARE, 1, "most"),
    COUNT("preemptions", counts.npreempted, 1, "preempt"),
    TIMES("first_token", first, 2, "TTFT"),
    TIMES("queue", queue, 2, "queue"),
    TIMES("between_tokens", gap, 3, "ITL"),
    TIMES("latency", latency, 4, "latency"),
    TIMES("time_per_token", token, 3, "TPOT"),
    FIGURE("seconds", span_s, FIGURE_SECONDS, 0, ""),
    COUNT("steps", nsteps, 0, ""),
    COUNT("served", nserved, 0, ""),
    COUNT("refused", nrefused, 0, ""),
    COUNT("recomputed_tokens", counts.ndropped, 0, ""),
    COUNT("long_steps", counts.nlong, 0, ""),
    COUNT("found_tokens", counts.nfound, 0, ""),
};
#define NCOLUMNS (sizeof columns / sizeof columns[0])

static uint64_t count_of(const struct serving_row *row, const struct column *c)
{
    return *(const uint64_t *)(const void *)((const char *)row + c->at);
}

static double value_of(const struct serving_row *row, const struct column *c)
{
    return c->unit == FIGURE_COUNT ? (double)count_of(row, c)
                                   : *(const double *)(const void *)((const char *)row + c->at);
}

/* ---- tables ---- */

static struct units_text print_rate(double rate)
{
    return rate >= 1000 ? units_print_count((uint128)llround(rate)) : units_print_number(rate, 0);
}

/* Unknown values (NAN) are printed in the form of unknown seconds, whatever the unit. */
static void add_cell(struct table *table, const struct serving_row *row, const struct column *c)
{
    double value = value_of(row, c);
    struct text cell = TEXT_INIT;

    figure_unit_add(&cell, isnan(value) ? FIGURE_SECONDS : c->unit,
                    c->unit == FIGURE_COUNT ? count_of(row, c) : 0, value);
    table_add(table, "%s", text_get(&cell));
    table->failed |= cell.failed;
    text_fini(&cell);
}

static void print_table(struct text *out, const struct serving_report *r, int number)
{
    char layout[TABLE_COLUMNS_MAX] = "l";
    struct table table;
    size_t n = 1;

    for (size_t c = 0; c < NCOLUMNS; c++)
        if (columns[c].table == number)
            layout[n++] = 'r';
    table_init(&table, layout);
    table_add(&table, "policy");
    for (size_t c = 0; c < NCOLUMNS; c++)
        if (columns[c].table == number)
            table_add(&table, "%s", columns[c].head);
    for (size_t i = 0; i < r->nrows; i++) {
        table_add(&table, "%s", r->rows[i].policy->name);
        for (size_t c = 0; c < NCOLUMNS; c++)
            if (columns[c].table == number)
                add_cell(&table, &r->rows[i], &columns[c]);
    }
    table_print(&table, 0, out);
    table_fini(&table);
}

/* ---- sentences ---- */

typedef double score_fn(const struct serving_row *row);

static double score_tokens(const struct serving_row *row)
{
    return row->figures.tokens_per_s;
}

static double score_good(const struct serving_row *row)
{
    return row->figures.good;
}

static double score_first(const struct serving_row *row)
{
    return -row->figures.first.p90;
}

static double score_gap(const struct serving_row *row)
{
    return -row->figures.gap.p90;
}

/* The row with the highest score, the first of several; one without a score only if all are. */
static const struct serving_row *best(const struct serving_report *r, score_fn *score)
{
    const struct serving_row *found = r->rows;

    for (size_t i = 1; i < r->nrows; i++)
        if (isnan(score(found)) || score(&r->rows[i]) > score(found))
            found = &r->rows[i];
    return found;
}

static bool has_goal(const struct serving_report *r)
{
    return r->goal.first_ns > 0 || r->goal.token_ns > 0;
}

static void add_goal(struct text *out, const struct serving_goal *goal)
{
    if (goal->first_ns > 0)
        text_addf(out, "%s to the first token",
                  units_print_seconds((double)goal->first_ns / 1e9).text);
    if (goal->first_ns > 0 && goal->token_ns > 0)
        text_add(out, " and ");
    if (goal->token_ns > 0)
        text_addf(out, "%s a token after it",
                  units_print_seconds((double)goal->token_ns / 1e9).text);
}

/* Name the policies whose score is not below `least`; returns their number. */
static size_t add_names(struct text *out, const struct serving_report *r, score_fn *score,
                        double least)
{
    size_t n = 0, named = 0;

    for (size_t i = 0; i < r->nrows; i++)
        n += score(&r->rows[i]) >= least;
    if (n == r->nrows && n > 1)
        text_add(out, "all policies");
    for (size_t i = 0; i < r->nrows && (n < r->nrows || n == 1); i++)
        if (score(&r->rows[i]) >= least)
            text_addf(out, "%s%s",
                      named++ == 0 ? ""
                      : named == n ? " and "
                                   : ", ",
                      r->rows[i].policy->name);
    return n;
}

static bool serves_any(const struct serving_report *r)
{
    for (size_t i = 0; i < r->nrows; i++)
        if (r->rows[i].nserved > 0)
            return true;
    return false;
}

/* Name the policies with the shortest TTFT and ITL; without ITL if every request has one token. */
static void add_soonest(struct text *out, const struct serving_report *r)
{
    const struct serving_row *first = best(r, score_first), *gap = best(r, score_gap);

    text_addf(out, "The shortest TTFT is with %s (p90 %s)", first->policy->name,
              units_print_seconds(first->figures.first.p90).text);
    if (!isnan(gap->figures.gap.p90))
        text_addf(out, ", the shortest ITL with %s (p90 %s)", gap->policy->name,
                  units_print_seconds(gap->figures.gap.p90).text);
    text_add(out, ".");
}

/* Which policy is best: by the goal, if there is one, by throughput, and by latency. */
static void add_answer(struct text *out, const struct serving_report *r)
{
    const struct serving_row *most = best(r, score_tokens), *good = best(r, score_good);
    size_t n;

    if (!serves_any(r)) {
        text_add(out, "no request fits: each needs more KV cache than a replica has.");
        return;
    }
    if (has_goal(r)) {
        n = add_names(out, r, score_good, good->figures.good);
        text_addf(out, " keep%s %.1f %% of requests within ", n == 1 ? "s" : "",
                  100 * good->figures.good);
        add_goal(out, &r->goal);
        text_add(out, n == r->nrows ? ". " : ", the most. ");
    }
    n = add_names(out, r, score_tokens, (1 - ALIKE) * score_tokens(most));
    text_addf(out, " make%s %s output tokens a second%s. ", n == 1 ? "s" : "",
              print_rate(most->figures.tokens_per_s).text, n == r->nrows ? "" : ", the most");
    if (r->nrows > 1)
        add_soonest(out, r);
}

/* Seconds from the first arrival to the last. */
static double arrival_s(const struct serving_report *r)
{
    return (double)r->trace->requests[r->trace->nrequests - 1].arrival_ns / 1e9;
}

static void add_trace(struct text *out, const struct serving_report *r)
{
    const struct request_trace *t = r->trace;
    double prompt = 0, output = 0, span_s = arrival_s(r);

    for (uint32_t i = 0; i < t->nrequests; i++) {
        prompt += t->requests[i].prompt;
        output += t->requests[i].output;
    }
    text_addf(out, "%u requests, ", t->nrequests);
    if (span_s > 0)
        text_addf(out, "%.3g requests/s", (t->nrequests - 1) / span_s);
    else
        text_add(out, r->concurrency > 0 ? "each as soon as possible" : "all at once");
    if (r->concurrency > 0)
        text_addf(out, ", with at most %u in the system: the next arrives when one has finished",
                  r->concurrency);
    text_addf(out, "; on average %.0f prompt tokens and %.0f output tokens", prompt / t->nrequests,
              output / t->nrequests);
    if (t->block_tokens > 0)
        text_addf(out, "; prompts share prefix blocks of %u tokens", t->block_tokens);
    if (t->nempty > 0)
        text_addf(out, "; %u more without prompt or output are skipped", t->nempty);
    text_add(out, ".");
}

static const char *unit_name(int64_t ns)
{
    return ns == 1         ? "nanoseconds"
           : ns == 1000    ? "microseconds"
           : ns == 1000000 ? "milliseconds"
                           : "seconds";
}

/* Requests a second if the times of arrival were in another unit. */
static double rate_in(const struct serving_report *r, int64_t ns)
{
    return (r->trace->nrequests - 1) / (arrival_s(r) * (double)ns / (double)r->trace->unit.ns);
}

/* In which unit the times of arrival are read, and why. */
static void add_unit(struct text *out, const struct serving_report *r)
{
    const struct trace_unit *unit = &r->trace->unit;

    text_addf(out, "Times of arrival are in %s", unit_name(unit->ns));
    switch (unit->source) {
    case TRACE_UNIT_NAMED:
        text_add(out, ", by the field's name.");
        return;
    case TRACE_UNIT_ASKED:
        text_add(out, ", by --time-unit.");
        return;
    case TRACE_UNIT_SINCE_1970:
        text_add(out, ": their size fits a time since 1970");
        break;
    case TRACE_UNIT_FRACTIONS:
        text_add(out, ", because they have fractions");
        break;
    case TRACE_UNIT_RATE:
        text_addf(out, ": in %s %.4g requests/s would arrive", unit_name(unit->unlikely_ns),
                  rate_in(r, unit->unlikely_ns));
        break;
    default:
        text_add(out,
                 unit->ns == 1000000 ? ", as in Mooncake's JSON lines" : ", as in BurstGPT's CSV");
        break;
    }
    if (unit->unlikely_ns == unit->ns)
        text_add(out, ", more than any service sees");
    text_add(out, "; set another with --time-unit=s|ms|us|ns.");
}

/* Fields of the file that change nothing here. */
static void add_skipped(struct text *out, const struct request_trace *t)
{
    text_addf(out, "Not read: %s.", t->skipped);
    if (t->has_media)
        text_add(out, " Images, audio and video are not modelled: encoders and tokens beyond those "
                      "of the prompt are not counted.");
}

static void add_replicas(struct text *out, const struct serving_report *r)
{
    text_addf(out, "%u %s", r->nreplicas, r->nreplicas == 1 ? "replica" : "replicas");
    if (r->ngroups > 1)
        text_addf(out, " of %u device groups, each with its own sequences", r->ngroups);
    text_addf(out, ", %" PRId64 " devices of %s in all; ", r->rows[0].ndevices, r->cluster);
    text_addf(out, "the KV cache of a %s holds %s tokens (%s each on a device) in pages of %u",
              r->ngroups > 1 ? "group" : "replica", units_print_count(r->cache_tokens).text,
              units_print_bytes((uint128)llround(r->token_bytes)).text, r->limits.page);
    if (r->margin > 0)
        text_addf(out, ", with %.0f %% of a device's memory kept free", 100 * r->margin);
    text_addf(out, "; steps of up to %u sequences and %u tokens.", r->limits.batch_max,
              r->limits.tokens_max);
    if (r->ngroups > 1)
        text_add(out, r->together ? " Groups of a replica run collectives together, hence step in "
                                    "lockstep with the slowest."
                                  : " Groups do not communicate, and step independently.");
}

static void add_draft(struct text *out, const struct serving_draft *draft)
{
    text_addf(out,
              "Speculative decoding: a step verifies %u draft %s per sequence, of which %g %s "
              "accepted on average, and makes %g tokens, which arrive together: ITL is the time "
              "between arrivals. The draft model's cost is not counted.",
              draft->tokens, draft->tokens == 1 ? "token" : "tokens", draft->accepted,
              draft->accepted == 1 ? "is" : "are", 1 + draft->accepted);
}

/* What a reader must know to read the figures right.  Prefills are planned on the devices that
 * prefill, so that those of others, of which only lost caches need some, have their times. */
static void add_warnings(struct text *out, const struct serving_report *r, size_t width)
{
    for (size_t i = 0; i < r->nrows; i++) {
        const struct serving_row *row = &r->rows[i];
        struct text line = TEXT_INIT;

        if (row->nrefused > 0) {
            text_addf(&line,
                      "%s: %" PRIu64
                      " requests need more KV cache than a replica has, and are refused.",
                      row->policy->name, row->nrefused);
            wrap_join(out, width, 0, 2, &line);
        }
        if (row->counts.nlong > 0) {
            text_addf(&line,
                      "%s: %s of %s steps have more than %u tokens, because this policy splits %s.",
                      row->policy->name, units_print_count(row->counts.nlong).text,
                      units_print_count(row->nsteps).text, r->limits.tokens_max,
                      row->policy->keeps_batch ? "neither a prompt nor its batch" : "no prompt");
            wrap_join(out, width, 0, 2, &line);
        }
        if (arrival_s(r) > 0 && row->figures.span_s > OVERLOAD * arrival_s(r)) {
            text_addf(&line,
                      "%s: requests arrive for %s and are served in %s: overload, latencies grow "
                      "with the length of the trace.",
                      row->policy->name, units_print_seconds(arrival_s(r)).text,
                      units_print_seconds(row->figures.span_s).text);
            wrap_join(out, width, 0, 2, &line);
        }
        if (r->apart && row->counts.npreempted > 0) {
            text_addf(&line,
                      "%s: preempted requests are recomputed on decode devices, in the time of "
                      "prefill devices.",
                      row->policy->name);
            wrap_join(out, width, 0, 2, &line);
        }
    }
}

static void print_text(struct text *out, const struct serving_report *r, size_t width)
{
    struct text line = TEXT_INIT;

    text_addf(&line, "%s: ", r->name);
    add_answer(&line, r);
    wrap_join(out, width, 0, 2, &line);
    text_add(out, "\n");
    for (int number = 1; number <= 4; number++) {
        print_table(out, r, number);
        text_add(out, "\n");
    }
    text_add(&line, "TTFT: from arrival to the first token; queue: the part of TTFT before the "
                    "first prefill step; ITL: between two tokens; latency: from arrival to the "
                    "last token; TPOT: mean time per token after the first. All as percentiles.");
    wrap_join(out, width, 0, 2, &line);
    add_trace(&line, r);
    wrap_join(out, width, 0, 2, &line);
    if (r->trace->unit.source != TRACE_UNIT_NONE && arrival_s(r) > 0) {
        add_unit(&line, r);
        wrap_join(out, width, 0, 2, &line);
    }
    if (r->trace->skipped) {
        add_skipped(&line, r->trace);
        wrap_join(out, width, 0, 2, &line);
    }
    add_replicas(&line, r);
    wrap_join(out, width, 0, 2, &line);
    if (r->draft.tokens > 0) {
        add_draft(&line, &r->draft);
        wrap_join(out, width, 0, 2, &line);
    }
    text_addf(&line,
              "Times are modelled: %u steps are planned, others interpolated with an error of at "
              "most %.1f %%. ",
              r->nplans, 100 * r->error);
    trust_text_of_all(&line, &r->trust);
    wrap_join(out, width, 0, 2, &line);
    add_warnings(out, r, width);
}

/* ---- for programs ---- */

static void print_csv(struct text *out, const struct serving_report *r)
{
    char number[32];

    text_add(out, "scenario,policy,devices,replicas,prefill_replicas");
    for (size_t c = 0; c < NCOLUMNS; c++)
        text_addf(out, ",%s", columns[c].key);
    text_add(out, "\n");
    for (size_t i = 0; i < r->nrows; i++) {
        literal_add_csv(out, r->name);
        text_addf(out, ",%s,%" PRId64 ",%u,%u", r->rows[i].policy->name, r->rows[i].ndevices,
                  r->nreplicas, r->rows[i].policy->form_decode ? r->nprefill : 0);
        for (size_t c = 0; c < NCOLUMNS; c++) {
            double value = value_of(&r->rows[i], &columns[c]);

            text_addf(out, ",%s",
                      isnan(value) ? "" : json_out_print_double(number, sizeof number, value));
        }
        text_add(out, "\n");
    }
}

static void write_row(struct json_out *out, const struct serving_report *r,
                      const struct serving_row *row)
{
    json_out_begin_object(out);
    json_out_key_string(out, "policy", row->policy->name);
    json_out_key_int(out, "devices", row->ndevices);
    json_out_key_uint(out, "prefill_replicas", row->policy->form_decode ? r->nprefill : 0);
    for (size_t c = 0; c < NCOLUMNS; c++)
        if (columns[c].unit == FIGURE_COUNT)
            json_out_key_uint(out, columns[c].key, count_of(row, &columns[c]));
        else
            json_out_key_double(out, columns[c].key, value_of(row, &columns[c]));
    json_out_end_object(out);
}

static void print_json(struct text *text, const struct serving_report *r)
{
    struct json_out out;

    json_out_init_text(&out, text, JSON_OUT_PRETTY);
    json_out_begin_object(&out);
    json_out_key_string(&out, "schema", "shardsim.serving/1");
    json_out_key_string(&out, "scenario", r->name);
    json_out_key_string(&out, "hardware", r->cluster);
    json_out_key_uint(&out, "requests", r->trace->nrequests);
    json_out_key_double(&out, "arrival_seconds", arrival_s(r));
    json_out_key_uint(&out, "concurrency", r->concurrency);
    json_out_key_uint(&out, "left_out", r->trace->nempty);
    json_out_key_string(&out, "time_unit",
                        r->trace->unit.source == TRACE_UNIT_NONE ? NULL
                                                                 : unit_name(r->trace->unit.ns));
    json_out_key_bool(&out, "time_unit_is_told", r->trace->unit.source <= TRACE_UNIT_ASKED);
    json_out_key_string(&out, "fields_not_read", r->trace->skipped);
    json_out_key_uint(&out, "replicas", r->nreplicas);
    json_out_key_uint(&out, "groups", r->ngroups);
    json_out_key_bool(&out, "groups_step_together", r->ngroups > 1 && r->together);
    json_out_key_uint(&out, "cache_tokens", r->cache_tokens);
    json_out_key_double(&out, "cache_bytes_per_token", r->token_bytes);
    json_out_key_uint(&out, "page_tokens", r->limits.page);
    json_out_key_uint(&out, "draft_tokens", r->draft.tokens);
    json_out_key_double(&out, "accepted_tokens", r->draft.accepted);
    json_out_key_uint(&out, "planned_steps", r->nplans);
    json_out_key_double(&out, "interpolation_error", r->error);
    trust_json_of_all(&out, &r->trust);
    json_out_key_double(&out, "memory_margin", r->margin);
    json_out_key_array(&out, "policies");
    for (size_t i = 0; i < r->nrows; i++)
        write_row(&out, r, &r->rows[i]);
    json_out_end_array(&out);
    json_out_end_object(&out);
    json_out_newline(&out);
    text->failed |= json_out_fini(&out) != SHD_OK;
}

void serving_report_print(struct text *out, const struct serving_report *report,
                          enum serving_format format, size_t width)
{
    if (format == SERVING_JSON)
        print_json(out, report);
    else if (format == SERVING_CSV)
        print_csv(out, report);
    else
        print_text(out, report, width);
}
