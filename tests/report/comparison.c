/* Tests report/compare.h on made-up figures: which strategy dominates which, the best of each
 * column, the verdict, and the complete text of each format.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/compare.h"

#include <stdlib.h>
#include <string.h>

#include "report/compare_rows.h"
#include "../support/tap.h"

enum { ROWS_MAX = 4 };

/* A strategy's figures; times and shares of 0 mean unknown. */
struct asked {
    const char *strategy, *what, *mesh, *fits;
    uint64_t devices, microbatches, total, received, peak, flops;
    double bubble, experts;
    double modelled, exposed, waiting, mfu, error;
    double step, busy; /* busy, step: of a replay whose noise is 10 us */
};

struct comparison {
    struct compare compare;
    struct result results[ROWS_MAX];
    struct compare_planned planned[ROWS_MAX];
    struct figures rows[ROWS_MAX];
};

static struct record_replay replay = {.noise_ns = 10000};
static const struct record replayed = {.replay = &replay};

static void set_text(struct figures *row, enum figure_id id, const char *text)
{
    row->values[id].known = text != NULL;
    text_add(&row->values[id].text, text ? text : "");
}

static void set_whole(struct figures *row, enum figure_id id, uint64_t value)
{
    row->values[id].known = true;
    row->values[id].whole = value;
    row->values[id].number = (double)value;
}

static void set_number(struct figures *row, enum figure_id id, double value)
{
    row->values[id].known = value > 0;
    row->values[id].number = value;
}

static void set_times(struct figures *row, const struct asked *f)
{
    set_number(row, FIGURE_MODELLED_STEP, f->modelled);
    set_number(row, FIGURE_MODELLED_EXPOSED, f->exposed);
    set_number(row, FIGURE_MODELLED_WAITING, f->waiting);
    set_number(row, FIGURE_MODELLED_MFU_CAUSAL_HALF, f->mfu);
    set_number(row, FIGURE_MODELLED_ERROR, f->error);
    set_number(row, FIGURE_REPLAYED_STEP, f->step);
    set_number(row, FIGURE_REPLAYED_BUSY, f->busy);
}

static void set_row(struct figures *row, const struct asked *f)
{
    char sums[64];

    *row = (struct figures){.good = strcmp(f->fits, "NO") != 0};
    set_text(row, FIGURE_SCENARIO, "s");
    set_text(row, FIGURE_STRATEGY, f->strategy);
    set_text(row, FIGURE_MESH, f->mesh);
    set_text(row, FIGURE_MODE, "plan");
    set_text(row, FIGURE_FITS, *f->fits ? f->fits : NULL);
    set_whole(row, FIGURE_DEVICES, f->devices);
    set_whole(row, FIGURE_MICROBATCHES, f->microbatches);
    set_whole(row, FIGURE_RECEIVED, f->total);
    set_whole(row, FIGURE_RECEIVED_MOST, f->received);
    set_whole(row, FIGURE_PEAK_MOST, f->peak);
    set_whole(row, FIGURE_FLOPS_MOST, f->flops);
    set_number(row, FIGURE_BUBBLE, f->bubble);
    set_number(row, FIGURE_EXPERTS, f->experts);
    set_times(row, f);
    snprintf(sums, sizeof sums, "dp=%u tp=2048", (unsigned)f->total);
    set_text(row, FIGURE_BY_AXIS, sums);
    set_text(row, FIGURE_WHY, f->experts > 0 && f->experts < 0.9 ? "device 1 has it all" : NULL);
}

static void make(struct comparison *c, const struct asked *figures, size_t n)
{
    *c = (struct comparison){
        .compare = {.results = c->results, .nresults = n, .planned = c->planned, .sort = -1}};
    for (size_t i = 0; i < n; i++) {
        set_row(&c->rows[i], &figures[i]);
        c->results[i] = (struct result){.scenario = "s",
                                        .strategy = figures[i].strategy,
                                        .file = "s.yaml",
                                        .what = figures[i].what,
                                        .record = &replayed};
        c->planned[i].row = &c->rows[i];
        text_init(&c->planned[i].json);
        text_addf(&c->planned[i].json, "{\"n\": %zu}", i);
    }
}

static void drop(struct comparison *c)
{
    for (size_t i = 0; i < c->compare.nresults; i++) {
        figures_fini(&c->rows[i]);
        text_fini(&c->planned[i].json);
    }
}

/* Whether the comparison prints as `want`; a screen of 100 columns has colours. */
static void prints(const struct comparison *c, enum compare_format format, size_t columns,
                   const char *want, const char *what)
{
    const struct screen screen = {.columns = columns, .colour = columns == 100};
    struct text out = TEXT_INIT;
    int status = compare_print(&c->compare, format, &screen, &out, NULL);

    if (!ok(status == SHD_OK && !strcmp(text_get(&out), want), "%s, %s: whole", what,
            compare_format_name(format)))
        diag("%s", text_get(&out));
    text_fini(&out);
}

/* Add a cell of CSV, without its quotes, to `out`; returns the text after its comma or line end. */
static const char *read_cell(struct text *out, const char *csv)
{
    bool quoted = false;

    for (; *csv && (quoted || (*csv != ',' && *csv != '\r')); csv++)
        if (*csv == '"')
            quoted = !quoted;
        else
            text_add_char(out, *csv);
    return csv + (*csv == '\r' ? 2 : *csv == ',');
}

/* The CSV of a comparison has a column for every figure, and rows with the cells of `want`, each as
 * "key=value; ": a cell that is empty is left out. */
static void lists(const struct comparison *c, const char *want)
{
    struct text csv = TEXT_INIT, found = TEXT_INIT;
    const char *at;
    bool good;

    if (compare_print(&c->compare, COMPARE_CSV, NULL, &csv, NULL) != SHD_OK)
        abort();
    at = text_get(&csv);
    good = true;
    for (int id = 0; id < NFIGURES; id++) {
        struct text key = TEXT_INIT;

        at = read_cell(&key, at);
        good &= !strcmp(text_get(&key), figure_table[id].key);
        text_fini(&key);
    }
    ok(good, "by bytes, csv: a column for every figure");
    for (int id = 0; *at; id = (id + 1) % NFIGURES) {
        struct text value = TEXT_INIT;

        at = read_cell(&value, at);
        if (value.length > 0)
            text_addf(&found, "%s=%s; ", figure_table[id].key, text_get(&value));
        text_add(&found, id == NFIGURES - 1 ? "\n" : "");
        text_fini(&value);
    }
    if (!ok(!strcmp(text_get(&found), want), "by bytes, csv: the cells"))
        diag("%s", text_get(&found));
    text_fini(&csv);
    text_fini(&found);
}

/* ---- who dominates whom ---- */

/* Rows compared with a row of 4 devices, 1000 bytes, 500 bytes of memory and 700 flops. */
static void test_pairs(void)
{
    static const struct {
        const char *what;
        bool is_dominated;
        uint64_t devices, total, peak, flops;
        double bubble;
    } cases[] = {
        {"the same figures", false, 4, 1000, 500, 700, 0},
        {"more devices", true, 5, 1000, 500, 700, 0},
        {"more bytes", true, 4, 1001, 500, 700, 0},
        {"more memory", true, 4, 1000, 501, 700, 0},
        {"more flops", true, 4, 1000, 500, 701, 0},
        {"a bubble", true, 4, 1000, 500, 700, 0.1},
        {"all more but devices", false, 3, 1001, 501, 701, 0},
        {"all more but bytes", false, 5, 999, 501, 701, 0},
        {"all more but memory", false, 5, 1001, 499, 701, 0},
        {"all more but flops", false, 5, 1001, 501, 699, 0},
        {"half of the flops, but waiting for as long", true, 5, 1001, 501, 350, 0.5},
        {"fewer flops, and waiting", false, 5, 1001, 501, 349, 0.5},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int like = 0; like < 3; like++) { /* 1: another model; 2: does not fit */
            const struct asked rows[] = {{.strategy = "a",
                                          .what = like == 1 ? "y" : "x",
                                          .mesh = "",
                                          .fits = like == 2 ? "NO" : "",
                                          .devices = 4,
                                          .total = 1000,
                                          .peak = 500,
                                          .flops = 700},
                                         {.strategy = "b",
                                          .what = "x",
                                          .mesh = "",
                                          .fits = "",
                                          .devices = cases[i].devices,
                                          .total = cases[i].total,
                                          .peak = cases[i].peak,
                                          .flops = cases[i].flops,
                                          .bubble = cases[i].bubble}};
            bool want = cases[i].is_dominated && like == 0;
            const struct figure_value *by;
            struct comparison c;
            struct compare_rows found;

            make(&c, rows, 2);
            if (compare_rows_init(&found, &c.compare, NULL) != SHD_OK)
                abort();
            by = &found.rows[1].values[FIGURE_DOMINATED];
            ok(by->known == want && !strcmp(text_get(&by->text), want ? "a" : ""),
               "dominated: %s%s", cases[i].what,
               like == 1   ? ", of another model"
               : like == 2 ? ", beside what does not fit"
                           : "");
            compare_rows_fini(&found);
            drop(&c);
        }
}

/* ---- whole forms ---- */

/* Sorted by bytes: two rows dominate the last one, and the one with fewer bytes is named. */
static const struct asked planned[] = {
    {.strategy = "first",
     .what = "an x",
     .mesh = "dp=4",
     .fits = "yes",
     .devices = 4,
     .microbatches = 1,
     .total = 4000000,
     .received = 1000000,
     .peak = 8388608,
     .flops = 4000,
     .bubble = 0.2,
     .experts = 1},
    {.strategy = "second|x",
     .what = "an x",
     .mesh = "dp=2, tp=2",
     .fits = "yes",
     .devices = 4,
     .microbatches = 2,
     .total = 3000000,
     .received = 800000,
     .peak = 4194304,
     .flops = 4000,
     .experts = 0.5},
    {.strategy = "third",
     .what = "an x",
     .mesh = "tp=4",
     .fits = "NO",
     .devices = 4,
     .microbatches = 1,
     .total = 3000000,
     .received = 800000,
     .peak = 16777216,
     .flops = 2000,
     .bubble = 0.2,
     .experts = 1},
    {.strategy = "fourth",
     .what = "an x",
     .mesh = "tp=8",
     .fits = "yes",
     .devices = 8,
     .microbatches = 4,
     .total = 5000000,
     .received = 1000001,
     .peak = 9388608,
     .flops = 5000,
     .bubble = 0.25,
     .experts = 1},
};

static void test_planned(void)
{
    static const struct compare_skipped skipped[] = {{"s", "fifth", "3 does not divide 4"}};
    struct comparison c;

    make(&c, planned, 4);
    c.compare.skipped = skipped;
    c.compare.nskipped = 1;
    prints(&c, COMPARE_TABLE, 100,
           "s: 4 strategies, planned; an x\n"
           "\n"
           "                      micro-            bytes received  flops              peak "
           "memory\n"
           "strategy  mesh        batches  devices       a device   experts   bubble       most "
           "  fits\n"
           "\033[1mfirst\033[0m     dp=4              1        4        977 KiB     "
           "\033[1;32m1.000*\033[0m  \033[1;32m20.0 %*\033[0m  8.00 MiB   yes\n"
           "second|x  dp=2, tp=2        2        4        \033[1;32m781 KiB*\033[0m    0.500    "
           "    -   \033[1;32m4.00 MiB*\033[0m  yes\n"
           "third     tp=4              1        4        781 KiB     1.000   20.0 %   16.0 MiB "
           "  \033[1;31mNO\033[0m\n"
           "fourth    tp=8              4        8        977 KiB     \033[1;32m1.000*\033[0m  "
           "25.0 %   8.95 MiB   yes\n"
           "\n"
           "* the best of its column\n"
           "experts: the balance of the flops of experts alone\n"
           "bubble: idle part of the step of pipeline ranks, from the schedule and uneven\n"
           "  stages; measured in flops, without transfers\n"
           "more columns: --columns=all, or names of --format=csv\n"
           "why flops are uneven:\n"
           "  second|x: device 1 has it all\n"
           "skipped, sizes not divisible: fifth\n"
           "\n"
           "verdict: second|x receives the fewest bytes, 781 KiB a device, 20 % fewer than\n"
           "  first.\n",
           "by bytes");
    prints(&c, COMPARE_MARKDOWN, 80,
           "| strategy | mesh | microbatches | devices | bytes received a device | against the "
           "base bytes | against the base peak memory | dominated by | bytes received in total "
           "| flops most | flops experts | flops bubble | peak memory most | peak memory fits "
           "|\n"
           "|:--|:--|--:|--:|--:|:--|:--|:--|--:|--:|--:|--:|--:|:--|\n"
           "| first | dp=4 | 1 | 4 | 977 KiB | base | base | second\\|x | 3.81 MiB | **4.00 k** "
           "| **1.000** | **20.0 %** | 8.00 MiB | yes |\n"
           "| second\\|x | dp=2, tp=2 | 2 | 4 | **781 KiB** | 1.25x fewer | 2.00x less |  | "
           "**2.86 MiB** | **4.00 k** | 0.500 | - | **4.00 MiB** | yes |\n"
           "| third | tp=4 | 1 | 4 | 781 KiB | 1.25x fewer | 2.00x more |  | 2.86 MiB | 2.00 k "
           "| 1.000 | 20.0 % | 16.0 MiB | NO |\n"
           "| fourth | tp=8 | 4 | 8 | 977 KiB | same | 1.12x more | second\\|x | 4.77 MiB | "
           "5.00 k | **1.000** | 25.0 % | 8.95 MiB | yes |\n"
           "\n"
           "Bold: the best of its column. Replayed: with one CPU core per device.\n"
           "\n"
           "Verdict: second\\|x receives the fewest bytes, 781 KiB a device, 20 % fewer than "
           "first.\n"
           "\n"
           "Why flops are uneven in second\\|x: device 1 has it all.\n"
           "\n"
           "- skipped fifth: 3 does not divide 4\n",
           "by bytes");
    c.compare.sort = compare_find_sort("pipeline_bubble"); /* the second row has no bubble */
    lists(&c, "scenario=s; strategy=first; mesh=dp=4; microbatches=1; mode=plan; devices=4; "
              "received_bytes_most=1000000; received_bytes_ratio=1.0; peak_memory_ratio=1.0; "
              "dominated_by=second|x; received_bytes=4000000; flops_most=4000; "
              "expert_balance=1.0; pipeline_bubble=0.2; peak_memory_bytes_most=8388608; "
              "fits=yes; received_by_axis=dp=4000000 tp=2048; \n"
              "scenario=s; strategy=third; mesh=tp=4; microbatches=1; mode=plan; devices=4; "
              "received_bytes_most=800000; received_bytes_ratio=0.8; peak_memory_ratio=2.0; "
              "received_bytes=3000000; flops_most=2000; expert_balance=1.0; pipeline_bubble=0.2; "
              "peak_memory_bytes_most=16777216; fits=NO; received_by_axis=dp=3000000 tp=2048; \n"
              "scenario=s; strategy=fourth; mesh=tp=8; microbatches=4; mode=plan; devices=8; "
              "received_bytes_most=1000001; received_bytes_ratio=1.000001; "
              "peak_memory_ratio=1.1192092895507812; dominated_by=second|x; "
              "received_bytes=5000000; flops_most=5000; expert_balance=1.0; "
              "pipeline_bubble=0.25; peak_memory_bytes_most=9388608; fits=yes; "
              "received_by_axis=dp=5000000 tp=2048; \n"
              "scenario=s; strategy=second|x; mesh=dp=2, tp=2; microbatches=2; mode=plan; "
              "devices=4; received_bytes_most=800000; received_bytes_ratio=0.8; "
              "peak_memory_ratio=0.5; received_bytes=3000000; flops_most=4000; "
              "expert_balance=0.5; peak_memory_bytes_most=4194304; fits=yes; "
              "received_by_axis=dp=3000000 tp=2048; why_uneven=device 1 has it all; \n");
    drop(&c);
}

/* On a cluster: the verdict names the fastest, the reason, and the price. */
static const struct asked modelled[] = {
    {.strategy = "slow",
     .what = "an x",
     .mesh = "dp=4",
     .fits = "yes",
     .devices = 4,
     .microbatches = 1,
     .total = 4000000,
     .received = 1000000,
     .peak = 8388608,
     .flops = 4000,
     .modelled = 0.010,
     .exposed = 0.004,
     .waiting = 0.001,
     .mfu = 0.3,
     .error = 0.05},
    {.strategy = "fast",
     .what = "an x",
     .mesh = "tp=4",
     .fits = "yes",
     .devices = 4,
     .microbatches = 2,
     .total = 6000000,
     .received = 1500000,
     .peak = 8588608,
     .flops = 4000,
     .modelled = 0.008,
     .exposed = 0.0025,
     .waiting = 0.001,
     .mfu = 0.375,
     .error = 0.05},
    {.strategy = "same",
     .what = "an x",
     .mesh = "tp=2",
     .fits = "yes",
     .devices = 4,
     .microbatches = 2,
     .total = 4000000,
     .received = 1000000,
     .peak = 8388608,
     .flops = 4000,
     .modelled = 0.012,
     .exposed = 0.004,
     .waiting = 0.001,
     .mfu = 0.25,
     .error = 0.05},
};

static void test_modelled(void)
{
    bool columns[NFIGURES] = {false};
    struct comparison c;

    make(&c, modelled, 3);
    c.compare.base = 1;
    c.compare.sort = compare_find_sort("modelled_step_seconds");
    c.compare.top = 2;
    prints(&c, COMPARE_TABLE, 60,
           "s: 3 strategies, planned; an x\n"
           "\n"
           "                micro-   bytes received  modelled\n"
           "strategy  mesh  batches       a device      step      MFU\n"
           "fast      tp=4        2       1.43 MiB   8.00 ms*  37.5 %*\n"
           "slow      dp=4        1        977 KiB*  10.0 ms   30.0 %\n"
           "\n"
           "* the best of its column\n"
           "modelled: on the scenario's cluster\n"
           "2 of 3 strategies; --top=N shows others\n"
           "more columns: --columns=all, or names of --format=csv\n"
           "\n"
           "verdict: fast has the fastest modelled step: 8.00 ms a step, 20 % less than slow\n"
           "  (10.0 ms), as its exposed communication takes 2.50 ms instead of 4.00 ms and\n"
           "  its computations take less time. It costs 1.50x the bytes received (1.43 MiB a\n"
           "  device). It needs 2.4 % more memory than slow (8.19 MiB instead of 8.00 MiB).\n"
           "  Their steps have 2 and 1 microbatches: not only the layouts differ.\n",
           "on a cluster");
    ok(compare_find_columns(columns, "modelled") &&
           compare_find_columns(columns, "received_by_axis"),
       "columns by their group, and by their key");
    c.compare.columns = columns;
    c.compare.top = 0;
    c.compare.sort = compare_find_sort("modelled_mfu_causal_half");
    prints(&c, COMPARE_TABLE, 60,
           "s: 3 strategies, planned; an x\n"
           "\n"
           "          modelled\n"
           "strategy     step      MFU   exposed   waiting\n"
           "fast      8.00 ms*  37.5 %*  2.50 ms*  1.00 ms\n"
           "slow      10.0 ms   30.0 %   4.00 ms   1.00 ms\n"
           "same      12.0 ms   25.0 %   4.00 ms   1.00 ms\n"
           "\n"
           "          bytes received\n"
           "strategy  by axis\n"
           "fast      dp 5.72 MiB, tp 2.00 KiB\n"
           "slow      dp 3.81 MiB, tp 2.00 KiB\n"
           "same      dp 3.81 MiB, tp 2.00 KiB\n"
           "\n"
           "* the best of its column\n"
           "modelled: on the scenario's cluster\n"
           "\n"
           "verdict: fast has the fastest modelled step: 8.00 ms a step, 20 % less than slow\n"
           "  (10.0 ms), as its exposed communication takes 2.50 ms instead of 4.00 ms and\n"
           "  its computations take less time. It costs 1.50x the bytes received (1.43 MiB a\n"
           "  device). It needs 2.4 % more memory than slow (8.19 MiB instead of 8.00 MiB).\n"
           "  Their steps have 2 and 1 microbatches: not only the layouts differ.\n",
           "some columns");
    drop(&c);
    make(&c, modelled, 1);
    prints(&c, COMPARE_TABLE, 80,
           "s: 1 strategy, planned; an x\n"
           "\n"
           "                micro-            bytes received  peak memory\n"
           "strategy  mesh  batches  devices       a device       most   fits\n"
           "slow      dp=4        1        4        977 KiB   8.00 MiB   yes\n"
           "\n"
           "more columns: --columns=all, or names of --format=csv\n",
           "one strategy");
    drop(&c);
}

/* Replayed steps: one ties with the fastest, another does not. */
static const struct asked replays[] = {
    {.strategy = "a",
     .what = "an x",
     .mesh = "dp=4",
     .fits = "",
     .devices = 4,
     .microbatches = 1,
     .total = 4000,
     .received = 1000,
     .peak = 8192,
     .flops = 4000,
     .step = 0.001,
     .busy = 0.0004},
    {.strategy = "b",
     .what = "an x",
     .mesh = "tp=4",
     .fits = "",
     .devices = 4,
     .microbatches = 1,
     .total = 4000,
     .received = 1000,
     .peak = 4096,
     .flops = 4000,
     .step = 0.001009,
     .busy = 0.0005},
    {.strategy = "c",
     .what = "an x",
     .mesh = "tp=4",
     .fits = "",
     .devices = 4,
     .microbatches = 1,
     .total = 8000,
     .received = 2000,
     .peak = 8192,
     .flops = 4000,
     .step = 0.002,
     .busy = 0.0015},
};

static void test_replayed(void)
{
    struct comparison c;

    make(&c, replays, 3);
    prints(&c, COMPARE_JSON, 80,
           "{\n"
           "  \"schema\": \"shardsim.compare/1\",\n"
           "  \"base\": {\"scenario\": \"s\", \"strategy\": \"a\"},\n"
           "  \"strategies\": [\n"
           "    {\n"
           "      \"scenario\": \"s\",\n"
           "      \"strategy\": \"a\",\n"
           "      \"received_bytes_ratio\": 1.0,\n"
           "      \"peak_memory_ratio\": 1.0,\n"
           "      \"replayed_step_ratio\": 1.0,\n"
           "      \"best\": [\"received_bytes_most\", \"received_bytes\", "
           "\"replayed_busy_seconds\"],\n"
           "      \"dominated_by\": \"b\",\n"
           "      \"why_uneven\": null,\n"
           "      \"within_noise\": [\"b\"],\n"
           "      \"within_model_error\": []\n"
           "    },\n"
           "    {\n"
           "      \"scenario\": \"s\",\n"
           "      \"strategy\": \"b\",\n"
           "      \"received_bytes_ratio\": 1.0,\n"
           "      \"peak_memory_ratio\": 0.5,\n"
           "      \"replayed_step_ratio\": 1.009,\n"
           "      \"best\": [\"received_bytes_most\", \"received_bytes\", "
           "\"peak_memory_bytes_most\"],\n"
           "      \"dominated_by\": null,\n"
           "      \"why_uneven\": null,\n"
           "      \"within_noise\": [\"a\"],\n"
           "      \"within_model_error\": []\n"
           "    },\n"
           "    {\n"
           "      \"scenario\": \"s\",\n"
           "      \"strategy\": \"c\",\n"
           "      \"received_bytes_ratio\": 2.0,\n"
           "      \"peak_memory_ratio\": 1.0,\n"
           "      \"replayed_step_ratio\": 2.0,\n"
           "      \"best\": [],\n"
           "      \"dominated_by\": \"a\",\n"
           "      \"why_uneven\": null,\n"
           "      \"within_noise\": [],\n"
           "      \"within_model_error\": []\n"
           "    }\n"
           "  ],\n"
           "  \"skipped\": [],\n"
           "  \"verdict\": \"a, b have the fastest steps, within noise of each other: none "
           "wins by time. a and b receive equal bytes, 1000 B a device. The least peak "
           "memory of these: b, 4.00 KiB.\",\n"
           "  \"results\": [\n"
           "    {\"n\": 0},\n"
           "    {\"n\": 1},\n"
           "    {\"n\": 2}\n"
           "  ]\n"
           "}\n",
           "replayed");
    drop(&c);
    make(&c, replays + 1, 2);
    prints(&c, COMPARE_TABLE, 80,
           "s: 2 strategies, planned; an x\n"
           "\n"
           "          bytes received  against the base          peak memory  replayed\n"
           "strategy       a device   bytes       dominated by        most      step\n"
           "b                1000 B*  base                        4.00 KiB*  1.01 ms*\n"
           "c              1.95 KiB   2.00x more  b               8.00 KiB   2.00 ms\n"
           "\n"
           "* the best of its column\n"
           "replayed: with one CPU core per device; a mean over devices\n"
           "dominated: another strategy has less of one of devices, bytes, peak memory or\n"
           "  flops (with the bubble), and no more of the others\n"
           "more columns: --columns=all, or names of --format=csv\n"
           "\n"
           "verdict: b has the fastest replayed step: 1.01 ms a step, 50 % less than c, more\n"
           "  than noise, as its work takes 500 us instead of 1.50 ms. It needs no more\n"
           "  memory and moves no more bytes.\n",
           "replayed");
    drop(&c);
}

/* Whatever the width of the screen, one table is printed, no wider than the screen. */
static void test_widths(void)
{
    bool fits = true;
    struct comparison c;

    make(&c, modelled, 3);
    for (size_t width = 50; width <= 100; width++) {
        const struct screen screen = {.columns = width};
        struct text out = TEXT_INIT;

        if (compare_print(&c.compare, COMPARE_TABLE, &screen, &out, NULL) != SHD_OK)
            abort();
        for (const char *line = strchr(text_get(&out), '\n') + 2; *line != '\n';) {
            size_t length = strcspn(line, "\n");

            fits &= length <= width;
            line += length + 1;
        }
        fits &= !strstr(strstr(text_get(&out), "\nstrategy ") + 1, "\nstrategy ");
        text_fini(&out);
    }
    ok(fits, "tables of 50 to 100 characters: one each, and no wider");
    drop(&c);
}

/* ---- the verdict ---- */

static struct asked but(size_t i, const char *strategy)
{
    struct asked f = modelled[i];

    f.strategy = strategy;
    return f;
}

static void verdict_is(const char *what, const struct asked *figures, size_t n, const char *want)
{
    struct comparison c;
    struct text out = TEXT_INIT;
    const char *found;

    make(&c, figures, n);
    if (compare_print(&c.compare, COMPARE_MARKDOWN, NULL, &out, NULL) != SHD_OK)
        abort();
    found = strstr(text_get(&out), "\nVerdict: ");
    found = found ? found + strlen("\nVerdict: ") : "";
    if (!ok(!strncmp(found, want, strlen(want)) && (!*want || found[strlen(want)] == '\n') &&
                (*want || !*found),
            "verdict: %s", what))
        diag("%s", found);
    text_fini(&out);
    drop(&c);
}

static void test_verdicts(void)
{
    struct asked f[] = {but(0, "a"), but(0, "b"), but(0, "c")};

    for (int i = 0; i < 3; i++)
        f[i].modelled = 0;
    f[1].peak /= 2;
    f[2].bubble = 0.1;
    verdict_is("one alone wins nothing", f, 1, "");
    verdict_is("the same bytes", f, 3,
               "a, b and c receive equal bytes, 977 KiB a device. The least peak memory of these: b, "
               "4.00 MiB.");
    f[0].bubble = 0.2;
    f[1].bubble = 0.1;
    verdict_is("the same bytes in a pipeline", f, 3,
               "a, b and c receive equal bytes, 977 KiB a device. The least peak memory of these: b, "
               "4.00 MiB. The least bubble of these: b and c, 10.0 %.");
    f[2].what = "another";
    verdict_is("two models", f, 3,
               "these differ in more than the layout (an x, another): no winner.");
    f[2].what = f[0].what;
    f[0].fits = f[2].fits = "NO";
    verdict_is("one fits", f, 3, "b is the only strategy that is correct and fits.");
    f[1].fits = "NO";
    verdict_is("none fits", f, 3,
               "no strategy is correct and fits; b needs the least memory, 4.00 MiB a device.");

    f[0] = but(0, "a");
    f[1] = but(1, "b");
    f[1].modelled = 0.0097;
    verdict_is("within the error of a measured cluster", f, 2,
               "b, a have the fastest modelled steps, within the model's error of each other (5.0 "
               "%): none wins by time. The shortest is b: 9.70 ms a step, 3.0 % less than a (10.0 "
               "ms), as its exposed communication takes 2.50 ms instead of 4.00 ms. It costs 1.50x "
               "the bytes received (1.43 MiB a device). It needs 2.4 % more memory than a (8.19 "
               "MiB instead of 8.00 MiB). Their steps have 2 and 1 microbatches: not only the "
               "layouts differ.");
    f[1].modelled = 0.00951; /* 4.9 % of the longer step, 5.2 % of the shorter */
    f[1].exposed = f[0].exposed - 0.0001;
    f[1].received = f[0].received;
    f[1].peak = f[0].peak;
    f[1].microbatches = f[0].microbatches;
    verdict_is("computations alone, and no price", f, 2,
               "b has the fastest modelled step: 9.51 ms a step, 4.9 % less than a (10.0 ms), as its "
               "computations take less time. It needs no more memory and moves no more bytes.");
    f[1].waiting = 0.0005;
    f[1].received = f[0].received + 900;
    f[1].devices = 5;
    verdict_is("waiting, and some bytes more", f, 2,
               "b has the fastest modelled step: 9.51 ms a step, 4.9 % less than a (10.0 ms), as its "
               "waiting for other devices takes 500 us instead of 1.00 ms. It costs 5 devices "
               "instead of 4. It receives less than 0.1 % more bytes than a (977 KiB instead of "
               "977 KiB).");
    f[0].error = f[1].error = 0;
    verdict_is(
        "within the error of clusters that were not measured", f, 2,
        "b, a have the fastest modelled steps, within the model's error of each other (not "
        "validated on this cluster; on validated clusters errors reached 17 %): none wins by time. The shortest is b: 9.51 ms a step, 4.9 % less "
        "than a (10.0 ms), as its waiting for other devices takes 500 us instead of 1.00 ms. "
        "It costs 5 devices instead of 4. It receives less than 0.1 % more bytes than a "
        "(977 KiB instead of 977 KiB).");
    f[1].modelled = 0.005;
    f[1].received = 3 * f[0].received;
    f[1].peak = 2 * f[0].peak;
    verdict_is("beyond the error of clusters that were not measured", f, 2,
               "b has the fastest modelled step: 5.00 ms a step, 50 % less than a (10.0 ms), as its "
               "computations take less time. It costs 2.00x the peak memory (16.0 MiB a device), "
               "and 3.00x the bytes received (2.86 MiB a device), and 5 devices instead of 4.");
    f[1].received = f[0].received;
    f[1].peak = f[0].peak;
    f[1].devices = f[0].devices;
    f[2] = f[0];
    f[2].strategy = "c";
    f[2].modelled = 2 * f[0].modelled;
    f[2].peak -= 100000;
    verdict_is("more memory than a slower strategy", f, 3,
               "b has the fastest modelled step: 5.00 ms a step, 50 % less than a (10.0 ms), as its "
               "computations take less time. It needs 1.2 % more memory than c (8.00 MiB instead "
               "of 7.90 MiB).");
}

int main(void)
{
    plan(0);
    test_pairs();
    test_planned();
    test_modelled();
    test_replayed();
    test_widths();
    test_verdicts();
    return done();
}
