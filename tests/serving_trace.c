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
#include "tap.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

static struct request_trace parsed(const char *text)
{
    struct request_trace trace;
    struct diag errors = DIAG_INIT;
    struct text told = TEXT_INIT;

    if (trace_parse(&trace, "t", text, strlen(text), &errors) != SHD_OK) {
        diag_print(&errors, &told);
        diag("%s", text_get(&told));
        abort();
    }
    diag_fini(&errors);
    return trace;
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
       "sorted by arrival, those of one time as in the file");
    trace_limit(&t, 2);
    ok(t.nrequests == 2, "the first two");
    trace_fini(&t);
    t = parsed("timestamp,input_length,output_length\n2024-02-28T23:00:00+01:00,1,1\n"
               "2024-02-29T22:00:00Z,1,1\n");
    ok(t.requests[1].arrival_ns == 24 * 3600 * SECOND, "time zones, and a leap year");
    trace_fini(&t);
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
    ok(trace_scale(&t, 1, NULL) == SHD_EINVAL, "those that arrive together have no rate");
    trace_fini(&t);
}

static const struct {
    const char *what, *text, *message;
} bad[] = {
    {"nothing", "", "t: error: there are no requests"},
    {"headings alone", "arrival,prompt_tokens,output_tokens\n", "t: error: there are no requests"},
    {"no headings", "0,1,2\n", "t:1:1: error: no column has the name arrival"},
    {"no column of outputs", "arrival,prompt_tokens\n0,1\n",
     "t:1:1: error: no column has the name output_tokens"},
    {"a column twice", "arrival,prompt_tokens,output_tokens,input_tokens\n0,1,1,1\n",
     "t:1:37: error: a second column of prompt_tokens"},
    {"lists in CSV", "arrival,prompt_tokens,output_tokens,hash_ids\n",
     "t:1:37: error: hash_ids are lists"},
    {"a short line", "arrival,prompt_tokens,output_tokens\n0,1\n",
     "t:2:1: error: the request has no output_tokens"},
    {"a word", "arrival,prompt_tokens,output_tokens\n0,1,1\n0, many,1\n",
     "t:3:4: error: 'many' is no number of tokens; expected a whole number to 16777216"},
    {"too many tokens", "arrival,prompt_tokens,output_tokens\n0,1,99999999\n",
     "t:2:5: error: '99999999' is no number of tokens"},
    {"half a token", "arrival,prompt_tokens,output_tokens\n0,1.5,1\n",
     "t:2:3: error: '1.5' is no number of tokens"},
    {"a negative time", "arrival,prompt_tokens,output_tokens\n-1,1,1\n",
     "t:2:1: error: '-1' is no time of arrival; expected seconds"},
    {"no such day", "arrival,prompt_tokens,output_tokens\n2023-13-01 00:00:00,1,1\n",
     "t:2:1: error: '2023-13-01 00:00:00' is no time of arrival"},
    {"no such day of February", "arrival,prompt_tokens,output_tokens\n2023-02-29 00:00:00,1,1\n",
     "t:2:1: error: '2023-02-29 00:00:00' is no time of arrival"},
    {"no such day of November", "arrival,prompt_tokens,output_tokens\n2023-11-31 00:00:00,1,1\n",
     "t:2:1: error: '2023-11-31 00:00:00' is no time of arrival"},
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
     "t:1:15: error: 'x' is no time of arrival; expected milliseconds"},
    {"blocks that are no list",
     "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": 1}",
     "t:1:69: error: hash_ids is no list"},
    {"a block that is no number",
     "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": [\"a\"]}",
     "t:1:70: error: a block of hash_ids is no whole number"},
    {"a block below 0",
     "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": [-1]}",
     "t:1:70: error: a block of hash_ids is -1; expected a number from 0 on"},
    {"blocks of no size",
     "{\"timestamp\": 0, \"input_length\": 100, \"output_length\": 1, \"hash_ids\": [1]}\n"
     "{\"timestamp\": 0, \"input_length\": 100, \"output_length\": 1, \"hash_ids\": [1, 2]}",
     "t: error: the lists of hash_ids do not tell the size of a block"},
};

static void test_bad(void)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct request_trace t;
        struct diag errors = DIAG_INIT;
        struct text told = TEXT_INIT;
        int status = trace_parse(&t, "t", bad[i].text, strlen(bad[i].text), &errors);

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

/* A decode of 1 ms, 0.1 ms a sequence and 1 us a token of context; a prefill of 2 ms, 10 us a token
 * and 1 ns a pair, the latter at the planned tokens only. */
static void test_tables(void)
{
    struct serving_tables t = {.decode = {{1, 2, 8}, {0, 100, 1000}, 3, 3, {{0}}},
                               .prefill = {{1, 1000, 2000}, {0, 1000}, 3, 2, {{0}}},
                               .transfer_s = 1e-3,
                               .transfer_s_per_token = 1e-6};
    const struct serving_costs *c = &t.costs;

    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 3; k++) {
            double rows = t.prefill.rows[r], context = t.prefill.contexts[k];

            t.decode.seconds[r][k] = 1e-3 + t.decode.rows[r] * (1e-4 + 1e-6 * t.decode.contexts[k]);
            t.prefill.seconds[r][k] =
                2e-3 + 1e-5 * rows + 1e-9 * (rows * context + rows * (rows + 1) / 2);
        }
    tables_init(&t);
    ok(c->step_ns(c, &(struct serving_work){4, 2000, 0, 0}) == 1000000 + 400000 + 2000000,
       "decodes: between points");
    ok(c->step_ns(c, &(struct serving_work){16, 32000, 0, 0}) == 1000000 + 1600000 + 32000000,
       "decodes: beyond");
    ok(c->step_ns(c, &(struct serving_work){0, 0, 2000, serving_pairs(2000, 300)}) ==
           2000000 + 20000000 + 600000 + 2001000,
       "a chunk of a prompt");
    ok(c->step_ns(c, &(struct serving_work){0, 0, 2000, 2 * serving_pairs(1000, 0)}) ==
           2000000 + 20000000 + 1001000,
       "two prompts of half the tokens have half the pairs");
    ok(c->step_ns(c, &(struct serving_work){8, 8000, 1992, serving_pairs(1992, 0)}) ==
           2000000 + 20000000 + 1985028 + 8 + 8000000,
       "decodes in a prefill cost their products and the reading of their caches");
    ok(c->transfer_ns(c, 500) == 1500000, "a cache that is brought");
}

int main(void)
{
    plan(0);
    test_csv();
    test_jsonl();
    test_bad();
    test_drawn();
    test_lengths();
    test_tables();
    return done();
}
