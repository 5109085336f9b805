/* Tests serving/trace.h and serving/tables.h: traces in the formats that are published, and what is
 * wrong with others; traces drawn at random; and steps between planned ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "serving/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "serving/tables.h"
#include "../support/tap.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

static struct request_trace parsed_in(const char *text, int64_t unit_ns)
{
    struct request_trace trace;
    struct diag errors = DIAG_INIT;
    struct text told = TEXT_INIT;

    if (trace_parse(&trace, "t", text, strlen(text), unit_ns, &errors) != SHD_OK) {
        diag_print(&errors, &told);
        diag("%s", text_get(&told));
        abort();
    }
    diag_fini(&errors);
    return trace;
}

static struct request_trace parsed(const char *text)
{
    return parsed_in(text, 0);
}

static bool is_request(const struct request_trace *t, uint32_t i, int64_t arrival_ns,
                       uint32_t prompt, uint32_t output)
{
    const struct trace_request *q = &t->requests[i];

    return q->arrival_ns == arrival_ns && q->prompt == prompt && q->output == output;
}

static void test_csv(void)
{
    struct request_trace t =
        parsed("TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
               "2023-12-31 23:59:59.9799600,4808,10\r\n2024-01-01 00:00:01.0000001,110,27\r\n");

    ok(t.nrequests == 2 && is_request(&t, 0, 0, 4808, 10) && is_request(&t, 1, 1020040100, 110, 27),
       "dates to 100 ns, over the end of a year");
    trace_fini(&t);
    t = parsed("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
               "5,\"a, b\",472,18,490,Conversation log\n45,ChatGPT,1087,0,1087,API log\n"
               "6.5,ChatGPT,17,3,20,API log");
    ok(t.nrequests == 2 && t.nempty == 1 && is_request(&t, 1, 1500 * MS, 17, 3),
       "seconds, other columns, a quoted cell, and a request without an answer");
    trace_fini(&t);
    t = parsed("arrival,prompt_tokens,output_tokens\n2,1,1\n1,2,2\n2,3,3\n");
    ok(is_request(&t, 0, 0, 2, 2) && is_request(&t, 1, SECOND, 1, 1) &&
           is_request(&t, 2, SECOND, 3, 3),
       "sorted by arrival; equal times keep the file's order");
    trace_limit(&t, 2);
    ok(t.nrequests == 2, "the first two");
    trace_fini(&t);
    t = parsed("timestamp,input_length,output_length\n2024-02-28T23:00:00+01:00,1,1\n"
               "2024-02-29T22:00:00Z,1,1\n");
    ok(t.requests[1].arrival_ns == 24 * 3600 * SECOND, "time zones, and a leap year");
    trace_fini(&t);
}

/* Cells by RFC 4180: quotes inside are doubled, and commas and line ends may be inside. */
static void test_quotes(void)
{
    struct request_trace t = parsed("arrival,\"no\ntes\",prompt_tokens,output_tokens\r\n"
                                    "0,\"a \"\"b\"\", 8,9 \"\"\",300,400\r\n"
                                    "1,\"\"\"\",30,\"40\" \r\n\r\n"
                                    "2,\"one,\r\ntwo\",3,4");

    ok(t.nrequests == 3 && is_request(&t, 0, 0, 300, 400) && is_request(&t, 1, SECOND, 30, 40) &&
           is_request(&t, 2, 2 * SECOND, 3, 4),
       "quotes, commas and line ends in a quoted cell");
    ok(t.skipped && !strcmp(t.skipped, "no\\ntes") && !t.has_media, "a field that is not read");
    trace_fini(&t);
    t = parsed("{\"type\": 1, \"timestamp\": 1, \"num_images\": 2, \"prompt_len\": 1, "
               "\"output_len\": 1}\n{\"type\": 3, \"timestamp\": 1, \"prompt_len\": 1, "
               "\"output_len\": 1}");
    ok(t.skipped && !strcmp(t.skipped, "type, num_images") && t.has_media,
       "fields that are not read, each once, and one of images");
    trace_fini(&t);
}

/* Arrivals of five requests: the second a `step` of the file's unit after the first. */
static const struct {
    const char *what, *head;
    double first, step;
    int64_t asked_ns, unit_ns;
    enum trace_unit_source source;
} units[] = {
    {"seconds of CSV", "timestamp", 0, 2, 0, SECOND, TRACE_UNIT_FORMAT},
    {"milliseconds by their name", "Arrival (ms)", 0, 2, 0, MS, TRACE_UNIT_NAMED},
    {"microseconds by their name", "timestamp_us", 0.5, 2000, 0, 1000, TRACE_UNIT_NAMED},
    {"milliseconds that are asked for", "timestamp", 0, 2, MS, MS, TRACE_UNIT_ASKED},
    {"milliseconds since 1970", "timestamp", 1.7e12, 2, 0, MS, TRACE_UNIT_SINCE_1970},
    {"nanoseconds since 1970", "timestamp", 1.7e18, 65536, 0, 1, TRACE_UNIT_SINCE_1970},
    {"milliseconds by their rate", "timestamp", 0, 450, 0, MS, TRACE_UNIT_RATE},
    {"microseconds by their rate", "arrival", 7, 300000, 0, 1000, TRACE_UNIT_RATE},
    {"seconds of JSON by their fractions", NULL, 61.25, 1, 0, SECOND, TRACE_UNIT_FRACTIONS},
    {"seconds of JSON by their rate", NULL, 61, 1, 0, SECOND, TRACE_UNIT_RATE},
    {"milliseconds of JSON", NULL, 61, 100, 0, MS, TRACE_UNIT_FORMAT},
    {"no likely unit", "timestamp", 0, 1e-6, 0, SECOND, TRACE_UNIT_FRACTIONS},
};

static void test_units(void)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        struct text text = TEXT_INIT;
        struct request_trace t;
        int64_t gap_ns = (int64_t)(units[i].step * (double)units[i].unit_ns + 0.5);

        if (units[i].head)
            text_addf(&text, "%s,prompt_tokens,output_tokens\n", units[i].head);
        for (int k = 0; k < 5; k++)
            text_addf(&text,
                      units[i].head ? "%.17g,%d,1\n"
                                    : "{\"timestamp\": %.17g, \"input_length\": %d, "
                                      "\"output_length\": 1}\n",
                      units[i].first + k * units[i].step, k + 1);
        t = parsed_in(text_get(&text), units[i].asked_ns);
        if (!ok(t.unit.ns == units[i].unit_ns && t.unit.source == units[i].source &&
                    is_request(&t, 4, 4 * gap_ns, 5, 1) && is_request(&t, 1, gap_ns, 2, 1),
                "unit: %s", units[i].what))
            diag("%lld ns by %d, the second after %lld", (long long)t.unit.ns, t.unit.source,
                 (long long)t.requests[1].arrival_ns);
        trace_fini(&t);
        text_fini(&text);
    }
}

static void test_asked(void)
{
    static const char *const wrong[] = {
        "arrival_ms,prompt_tokens,output_tokens\n1,1,1\n",
        "arrival,prompt_tokens,output_tokens\n2024-02-29T22:00:00Z,1,1\n",
    };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct request_trace t;
        struct diag errors = DIAG_INIT;

        ok(trace_parse(&t, "t", wrong[i], strlen(wrong[i]), SECOND, &errors) == SHD_EINVAL,
           "refused: a unit beside %s", i == 0 ? "another in the name" : "dates");
        diag_fini(&errors);
    }
}

static void test_jsonl(void)
{
    struct request_trace t = parsed(
        "{\"timestamp\": 3, \"input_length\": 1025, \"output_length\": 5, \"hash_ids\": [7, 8, "
        "900]}\n"
        "{\"timestamp\": 4, \"input_length\": 513, \"output_length\": 6, \"hash_ids\": [7, 3], "
        "\"other\": {\"a\": []}}\n");

    ok(t.nrequests == 2 && is_request(&t, 0, 0, 1025, 5) && is_request(&t, 1, MS, 513, 6),
       "JSON lines, in milliseconds");
    ok(t.nids == 4 && t.nblocks == 5 && t.requests[1].block == 3 && t.requests[1].nblocks == 2 &&
           t.blocks[3] == t.blocks[0] && t.blocks[4] == 3,
       "blocks numbered from 0 on");
    ok(t.block_tokens == 512, "the size of a block is told by their number");
    ok(trace_scale(&t, 0.5, NULL) == SHD_OK && t.requests[1].arrival_ns == 2 * SECOND,
       "scaled to a rate");
    ok(trace_scale(&t, INFINITY, NULL) == SHD_OK && t.requests[1].arrival_ns == 0, "all at once");
    ok(trace_scale(&t, 1, NULL) == SHD_EINVAL, "requests that arrive together have no rate");
    trace_fini(&t);
}

static const struct {
    const char *what, *text, *message;
} bad[] = {
    {"nothing", "", "t: error: no requests; expected one per line"},
    {"headings alone", "arrival,prompt_tokens,output_tokens\n",
     "t: error: no requests; expected one per line"},
    {"no headings", "0,1,2\n", "t:1:1: error: no column has the name arrival"},
    {"no column of outputs", "arrival,prompt_tokens\n0,1\n",
     "t:1:1: error: no column has the name output_tokens"},
    {"a column twice", "arrival,prompt_tokens,output_tokens,input_tokens\n0,1,1,1\n",
     "t:1:37: error: a second column of prompt_tokens"},
    {"lists in CSV", "arrival,prompt_tokens,output_tokens,hash_ids\n",
     "t:1:37: error: CSV has no lists, which hash_ids needs; expected JSON lines"},
    {"a short line", "arrival,prompt_tokens,output_tokens\n0,1\n",
     "t:2:1: error: the request has no output_tokens"},
    {"a word", "arrival,prompt_tokens,output_tokens\n0,1,1\n0, many,1\n",
     "t:3:4: error: 'many' is not a number of tokens; expected a whole number up to 16777216"},
    {"too many tokens", "arrival,prompt_tokens,output_tokens\n0,1,99999999\n",
     "t:2:5: error: '99999999' is not a number of tokens; expected a whole number"},
    {"half a token", "arrival,prompt_tokens,output_tokens\n0,1.5,1\n",
     "t:2:3: error: '1.5' is not a number of tokens; expected a whole number"},
    {"a negative time", "arrival,prompt_tokens,output_tokens\n-1,1,1\n",
     "t:2:1: error: '-1' is not an arrival time; expected a number of at least 0"},
    {"no such day", "arrival,prompt_tokens,output_tokens\n2023-13-01 00:00:00,1,1\n",
     "t:2:1: error: '2023-13-01 00:00:00' is not an arrival time"},
    {"no such day of February", "arrival,prompt_tokens,output_tokens\n2023-02-29 00:00:00,1,1\n",
     "t:2:1: error: '2023-02-29 00:00:00' is not an arrival time"},
    {"no such day of November", "arrival,prompt_tokens,output_tokens\n2023-11-31 00:00:00,1,1\n",
     "t:2:1: error: '2023-11-31 00:00:00' is not an arrival time"},
    {"a century", "arrival,prompt_tokens,output_tokens\n0,1,1\n3000000000,1,1\n",
     "t: error: requests arrive over more than 30 years"},
    {"JSON that ends", "{\"timestamp\": 0, \"input_length\": 1", "t:1:35: error: "},
    {"a list", "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1}\n[1]",
     "t:2:1: error: expected the object of a request"},
    {"a missing key", "{\"timestamp\": 0, \"input_length\": 1}",
     "t:1:1: error: the request has no output_tokens"},
    {"null", "{\"timestamp\": 0, \"input_length\": null, \"output_length\": 1}",
     "t:1:34: error: prompt_tokens"},
    {"a time in JSON", "{\"timestamp\": \"x\", \"input_length\": 1, \"output_length\": 1}",
     "t:1:15: error: 'x' is not an arrival time; expected a number of at least 0"},
    {"blocks that are no list",
     "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": 1}",
     "t:1:69: error: hash_ids is not a list; expected a number for each block"},
    {"a block that is no number",
     "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": [\"a\"]}",
     "t:1:70: error: a block of hash_ids is not a whole number"},
    {"a block below 0",
     "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": [-1]}",
     "t:1:70: error: a block of hash_ids is -1; expected at least 0"},
    {"0x10 tokens", "arrival,prompt_tokens,output_tokens\n0,0x10,1\n",
     "t:2:3: error: '0x10' is not a number of tokens; expected a whole number"},
    {"a time of 0X1p4", "arrival,prompt_tokens,output_tokens\n0X1p4,1,1\n",
     "t:2:1: error: '0X1p4' is not an arrival time"},
    {"a number of 80 digits",
     "arrival,prompt_tokens,output_tokens\n0,"
     "0000000000000000000000000000000000000000000000000000000"
     "0000000000000000000000001,1\n",
     "t:2:3: error: "},
    {"a quote without an end", "arrival,prompt_tokens,output_tokens\n0,1,\"1\n2,3",
     "t:2:5: error: unterminated quoted cell; expected '\"'"},
    {"text behind a quoted cell", "arrival,prompt_tokens,output_tokens\n0,\"1\"2,1\n",
     "t:2:6: error: text after the '\"' that ends a cell"},
    {"a cell too many", "arrival,prompt_tokens,output_tokens,of\n0,1,1,a,b\n",
     "t:2:1: error: a row of 5 cells below 4 headings"},
    {"a cell too few", "arrival,prompt_tokens,output_tokens,of\n0,1,1\n",
     "t:2:1: error: a row of 3 cells below 4 headings"},
    {"a date among numbers",
     "arrival,prompt_tokens,output_tokens\n0,1,1\n2024-02-29 00:00:00,1,1\n",
     "t: error: some arrival times are dates, others numbers"},
    {"a key twice",
     "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"timestamp\": 2}",
     "t:1:57: error: a second key of arrival"},
    {"two names of a key",
     "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"output_tokens\": 1}",
     "t:1:57: error: a second key of output_tokens"},
    {"blocks twice",
     "{\"timestamp\": 0, \"hash_ids\": [1], \"input_length\": 1, \"output_length\": 1, "
     "\"hash_ids\": []}",
     "t:1:74: error: a second key of hash_ids"},
    {"two units",
     "{\"arrival_ms\": 0, \"input_length\": 1, \"output_length\": 1}\n"
     "{\"arrival_s\": 0, \"input_length\": 1, \"output_length\": 1}",
     "t:2:15: error: this arrival time has another unit, by its name, than previous ones"},
    {"blocks of no size",
     "{\"timestamp\": 0, \"input_length\": 100, \"output_length\": 1, \"hash_ids\": [1]}\n"
     "{\"timestamp\": 0, \"input_length\": 100, \"output_length\": 1, \"hash_ids\": [1, 2]}",
     "t: error: the size of a block cannot be inferred from hash_ids"},
};

static void test_bad(void)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct request_trace t;
        struct diag errors = DIAG_INIT;
        struct text told = TEXT_INIT;
        int status = trace_parse(&t, "t", bad[i].text, strlen(bad[i].text), 0, &errors);

        diag_print(&errors, &told);
        if (!ok(status == SHD_EINVAL && !t.requests &&
                    !strncmp(text_get(&told), bad[i].message, strlen(bad[i].message)),
                "refused: %s", bad[i].what))
            diag("%s", text_get(&told));
        text_fini(&told);
        diag_fini(&errors);
    }
}

static void test_drawn(void)
{
    struct trace_synthetic s = {20000, 50, {300, 200}, {40, 0}, 1};
    struct request_trace a, b;
    double sum = 0, squares = 0;

    if (trace_draw(&a, &s, NULL) != SHD_OK)
        abort();
    for (uint32_t i = 0; i < a.nrequests; i++) {
        sum += a.requests[i].prompt;
        squares += pow(a.requests[i].prompt, 2);
    }
    ok(fabs((double)a.requests[19999].arrival_ns / 1e9 / 400 - 1) < 0.03, "arrivals have the rate");
    ok(fabs(sum / 20000 - 300) < 5 && fabs(sqrt(squares / 20000 - pow(sum / 20000, 2)) - 200) < 10,
       "lengths have the mean and the deviation");
    s.rate = 5;
    if (trace_draw(&b, &s, NULL) != SHD_OK)
        abort();
    ok(llabs(b.requests[777].arrival_ns - 10 * a.requests[777].arrival_ns) < 10 &&
           b.requests[777].prompt == a.requests[777].prompt && b.requests[777].output == 40,
       "another rate changes nothing else");
    trace_fini(&b);
    s.seed = 2;
    if (trace_draw(&b, &s, NULL) != SHD_OK)
        abort();
    ok(b.requests[777].prompt != a.requests[777].prompt, "another seed does");
    trace_fini(&a);
    trace_fini(&b);
    s.rate = 1e-9;
    ok(trace_draw(&b, &s, NULL) == SHD_ERANGE, "a rate at which the last arrives in a century");
}

static void test_lengths(void)
{
    static const struct {
        const char *text;
        int status;
        double mean, deviation;
    } cases[] = {
        {"512", SHD_OK, 512, 0},
        {"lognormal:161.5,120", SHD_OK, 161.5, 120},
        {"0", SHD_ERANGE, 0, 0},
        {"1.5", SHD_ERANGE, 0, 0},
        {"many", SHD_EINVAL, 0, 0},
        {"lognormal:10", SHD_EINVAL, 0, 0},
        {"lognormal:10,", SHD_ERANGE, 0, 0},
        {"lognormal:10,-1", SHD_ERANGE, 0, 0},
        {"512x", SHD_ERANGE, 0, 0},
        {"nan", SHD_ERANGE, 0, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trace_lengths l = {0, 0};

        ok(trace_parse_lengths(&l, cases[i].text, NULL) == cases[i].status &&
               fabs(l.mean - cases[i].mean) < 1e-9 && fabs(l.deviation - cases[i].deviation) < 1e-9,
           "lengths: %s", cases[i].text);
    }
}

/* A decode of 1 ms, 0.1 ms a sequence and 1 us of attention a token of context; a prefill of 2 ms,
 * 10 us a token and 1 ns of attention a pair, the latter at the planned tokens only; the least
 * attention takes 1 us more. */
static void fill_tables(struct serving_tables *t)
{
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 3; k++) {
            double rows = t->prefill.rows[r], context = t->prefill.contexts[k];
            double pairs = rows * context + rows * (rows + 1) / 2;

            t->decode.attention[r][k] = 1e-6 * t->decode.rows[r] * t->decode.contexts[k];
            t->decode.seconds[r][k] = 1e-3 + 1e-4 * t->decode.rows[r] + t->decode.attention[r][k];
            t->prefill.attention[r][k] = 1e-6 + 1e-9 * pairs;
            t->prefill.seconds[r][k] = 2e-3 + 1e-5 * rows + t->prefill.attention[r][k];
        }
    tables_init(t);
}

static bool takes(const struct serving_tables *t, const struct serving_work *work, int64_t ns)
{
    int64_t told = t->costs.step_ns(&t->costs, work);

    if (told != ns)
        diag("a step takes %lld ns; expected %lld", (long long)told, (long long)ns);
    return told == ns;
}

static void test_tables(void)
{
    struct serving_tables t = {.decode = {{1, 2, 8}, {0, 100, 1000}, 3, 3, {{0}}, {{0}}},
                               .prefill = {{1, 1000, 2000}, {0, 1000}, 3, 2, {{0}}, {{0}}},
                               .transfer_s = 1e-3,
                               .transfer_s_per_token = 1e-6};
    const struct serving_costs *c = &t.costs;

    fill_tables(&t);
    ok(takes(&t, &(struct serving_work){.ndecodes = 4, .decode_context = 2000},
             1000000 + 400000 + 2000000),
       "decodes: between points");
    ok(takes(&t, &(struct serving_work){.ndecodes = 16, .decode_context = 32000},
             1000000 + 1600000 + 32000000),
       "decodes: beyond");
    ok(takes(&t, &(struct serving_work){0, 0, 1, 2000, serving_pairs(2000, 300)},
             2000000 + 20000000 + 1000 + 600000 + 2001000),
       "a chunk of a prompt");
    ok(takes(&t, &(struct serving_work){0, 0, 2, 2000, 2 * serving_pairs(1000, 0)},
             2000000 + 20000000 + 1000 + 1001000 - 1),
       "two prompts of half the tokens have half the pairs");
    ok(takes(&t, &(struct serving_work){0, 0, 2000, 2000, 2000}, 2000000 + 20000000 + 1000 + 1),
       "one-token prompts attend like a single token");
    ok(takes(&t, &(struct serving_work){8, 8000, 1, 1000, serving_pairs(1000, 0)},
             2000000 + 10080000 + 1000 + 500500 + 8000000),
       "decodes in a prefill step cost their rows of matmuls and their KV cache reads");
    for (int r = 0; r < 3; r++) { /* attention to a cache is dearer, as where it is compressed */
        t.prefill.attention[r][1] += 1e-5 * t.prefill.rows[r];
        t.prefill.seconds[r][1] += 1e-5 * t.prefill.rows[r];
    }
    ok(takes(&t, &(struct serving_work){0, 0, 2, 2000, 2 * serving_pairs(1000, 0)},
             2000000 + 20000000 + 1000 + 1001000 - 1),
       "prompts without a cache take nothing less for it");
    ok(c->transfer_ns(c, 500) == 1500000, "a cache that is brought");
}

int main(void)
{
    plan(0);
    test_csv();
    test_quotes();
    test_units();
    test_asked();
    test_jsonl();
    test_bad();
    test_drawn();
    test_lengths();
    test_tables();
    return done();
}
