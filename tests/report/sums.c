/* Tests sums over devices and layers that exceed a uint64_t: in plans, reports and baselines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/result.h"
#include "report/traffic.h"
#include "check/baseline.h"
#include "../support/tap.h"
#include "trial/variant.h"

/* Plan a scenario; false with the message if it is refused. */
static bool plan_text(struct variant *out, const char *text, struct shd_error *err)
{
    struct text copy = TEXT_INIT;
    struct variant_ask ask = {.name = "sums.yaml", .text = &copy, .executes = true};
    int status;

    text_add(&copy, text);
    status = variant_need(out, &ask, err);
    text_fini(&copy);
    return status == SHD_OK;
}

/* Plan a llama of 405 billion parameters with `size` sequences of 8192 tokens on one device. */
static uint128 llama_flops(int size, char *json, size_t room)
{
    struct variant p;
    struct text report = TEXT_INIT;
    struct json_out out;
    struct result result;
    char text[1024];
    struct shd_error err = {.text = ""};
    uint128 flops;

    snprintf(text, sizeof text,
             "version: 1\nname: llama\nmesh: {dp: 1}\n"
             "model: {kind: transformer, d_model: 16384, d_ff: 53248, layers: 126, heads: 128,\n"
             "        kv_heads: 8, vocab: 128256, activation: swiglu, dtype: bfloat16,\n"
             "        rope: {theta: 500000, interleaved: false}}\n"
             "batch: {size: %d, seq: 8192}\nstep: [forward, backward]\nparams: [[.*, []]]\n",
             size);
    if (!plan_text(&p, text, &err)) {
        diag("%s", err.text);
        return 0;
    }
    flops = p.trial.record->flops[0];
    result = (struct result){
        .scenario = "llama", .strategy = "default", .what = "", .record = p.trial.record};
    json_out_init_text(&out, &report, JSON_OUT_COMPACT);
    if (result_json(&result, &out, NULL) != SHD_OK || json_out_fini(&out) != SHD_OK)
        abort();
    snprintf(json, room, "%s", text_get(&report));
    text_fini(&report);
    variant_fini(&p);
    return flops;
}

/* The flops of every op are proportional to the batch or independent of it, so their sum is
 * linear. */
static void test_flops(void)
{
    static char json[1 << 16];
    uint128 one = llama_flops(1, json, sizeof json), two = llama_flops(2, json, sizeof json);
    uint128 many = llama_flops(2048, json, sizeof json);
    char want[64];

    ok(one > 0 && many == one + 2047 * (two - one), "flops of 2048 sequences: %s",
       UINT128_DIGITS(many));
    /* 6 flops per parameter (without the embedding) and token, plus attention: a sum modulo 2^64
     * would be less. */
    ok(many > (uint128)6 * 403000000000 * 2048 * 8192, "no fewer than the parameters need");
    snprintf(want, sizeof want, "\"flops\":[%s]", UINT128_DIGITS(many));
    ok(strstr(json, want) != NULL, "JSON has the exact digits");
}

/* The bytes of a row of traffic by the formulas of the default algorithms: operand of b bytes, g
 * members. */
static uint128 formula(const struct traffic_row *row)
{
    uint128 g = row->group_size, b = row->operand_bytes, each = 0;

    if (!strcmp(row->op, "all-gather"))
        each = g * (g - 1) * b;
    else if (!strcmp(row->op, "all-reduce"))
        each = 2 * (g - 1) * b;
    else if (!strcmp(row->op, "reduce-scatter") || !strcmp(row->op, "all-to-all"))
        each = (g - 1) * b;
    return each * row->groups * row->count;
}

/* 64 devices, each with gradients of 2^53 bytes: more than 2^64 bytes in all. */
static void test_bytes(void)
{
    static const char text[] = "version: 1\nname: replicated\nmesh: {dp: 64}\n"
                               "model: {kind: mlp, d_model: 33554432, d_ff: 67108864, layers: 32}\n"
                               "batch: {size: 64, seq: 512}\nstep: [forward, backward]\n"
                               "params: [[.*, []]]\naxes: {batch: dp}\n";
    struct variant p;
    struct traffic traffic;
    struct baseline b;
    struct baseline_file file;
    struct text yaml = TEXT_INIT;
    struct diag errors = DIAG_INIT;
    uint128 rows = 0, each = 0, peak;
    struct shd_error err = {.text = ""};

    if (!ok(plan_text(&p, text, &err), "many bytes: planned %s", err.text))
        return;
    for (int32_t d = 0; d < p.trial.record->ndevices; d++)
        each += p.trial.record->received_bytes[record_row_of(p.trial.record, d)];
    if (traffic_init(&traffic, p.trial.record, NULL) != SHD_OK ||
        baseline_init(&b, "default", p.trial.record, NULL) != SHD_OK)
        abort();
    for (size_t r = 0; r < traffic.nrows; r++) {
        uint128 want = formula(&traffic.rows[r]);

        rows += traffic.rows[r].received_bytes;
        ok(traffic.rows[r].received_bytes == want, "%s at %s: %s bytes, %llu times",
           traffic.rows[r].op, traffic.rows[r].where, UINT128_DIGITS(want),
           (unsigned long long)traffic.rows[r].count);
    }
    ok(each >> 64 && rows == each && record_received(p.trial.record) == each &&
           traffic.nby_axis == 1 && traffic.by_axis[0].bytes == each,
       "bytes of all devices: %s", UINT128_DIGITS(each));
    peak = p.trial.record->peak_bytes[0];
    /* Kernels and their gradients. */
    ok(peak > (uint128)4 * 32 << 53 && b.figures.values[FIGURE_RECEIVED].whole == each &&
           b.figures.values[FIGURE_PEAK_MOST].whole == peak &&
           b.figures.values[FIGURE_PEAK_TOTAL].whole == 64 * peak,
       "a baseline has the same, and the peak: %s", UINT128_DIGITS(peak));
    baseline_print(&b, 1, &(struct baseline_head){"replicated.yaml", "1.0", NULL, 0}, &yaml);
    if (ok(baseline_parse(&file, "b.yaml", &yaml, &errors) == SHD_OK && file.count == 1,
           "a baseline of it is read"))
        ok(file.list[0].figures.values[FIGURE_RECEIVED].whole == each, "with the same digits");
    baseline_diff(&errors, &b, &file.list[0], (struct place){"f", 1, 1}, true);
    ok(errors.nmessages == 0, "and without a difference");
    file.list[0].figures.values[FIGURE_RECEIVED].whole -= 3;
    baseline_diff(&errors, &file.list[0], &b, (struct place){"f", 1, 1}, true);
    ok(errors.nmessages == 1 && strstr(errors.messages[0].text, UINT128_DIGITS(each)) &&
           strstr(errors.messages[0].text, "3 more"),
       "but for three bytes: %s", errors.nmessages ? errors.messages[0].text : "nothing");
    baseline_file_fini(&file);
    baseline_fini(&b);
    traffic_fini(&traffic);
    text_fini(&yaml);
    diag_fini(&errors);
    variant_fini(&p);
}

/* Work of a single device or op that exceeds a uint64_t is refused with the op's name. */
static const struct {
    const char *what;
    const char *model; /* and batch */
    const char *message;
} refused[] = {
    {"flops of an op",
     "model: {kind: mlp, d_model: 1048576, d_ff: 1048576}\nbatch: {size: 16777216, seq: 1}\n",
     "'layers/0/mlp/up' (forward) is too large for one device: its flops"},
    {"bytes of a shard",
     "model: {kind: mlp, d_model: 134217728, d_ff: 134217728}\nbatch: {size: 1, seq: 1}\n",
     "'layers/0/mlp/up/kernel' has more than 2^55 bytes on a device"},
    {"bytes of a step, of all devices",
     "model: {kind: mlp, d_model: 134217728, d_ff: 67108864}\nbatch: {size: 2048, seq: 32}\n"
     "axes: {batch: dp}\n",
     "'layers/0/mlp/down.dkernel': the reshard moves more than 2^64 - 1 bytes"},
    {"bytes of an array",
     "model: {kind: mlp, d_model: 2147483647, d_ff: 2147483647}\nbatch: {size: 1, seq: 1}\n",
     "'layers/0/mlp/up/kernel': the array has more than 2^64 - 1 bytes"},
};

static void test_refused(void)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct variant p;
        char text[512];
        struct shd_error err = {.text = ""};
        bool several = strstr(refused[i].model, "axes:") != NULL, good;

        snprintf(
            text, sizeof text,
            "version: 1\nname: large\nmesh: {dp: %d}\n%sstep: [forward%s]\nparams: [[.*, []]]\n",
            several ? 2048 : 1, refused[i].model, several ? ", backward" : "");
        good = plan_text(&p, text, &err);
        ok(!good && strstr(err.text, refused[i].message), "%s: %s", refused[i].what, err.text);
        if (good)
            variant_fini(&p);
    }
}

int main(void)
{
    plan(0);
    test_flops();
    test_bytes();
    test_refused();
    return done();
}
