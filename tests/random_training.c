/* Steps of training put together at random: stages and schedules, microbatches, tensor and data
 * parallelism, ZeRO, types, recomputation.  Each is executed, has the unsharded numbers, and does
 * what its plan says, to the byte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tap.h"
#include "timetable/timetable.h"
#include "tried.h"

#define NCASES 300
#define NCASES_SMALL 24 /* for SHD_TEST_SIZE=small */

static uint64_t state;

static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 20) % n);
}

static bool one_in(uint32_t n)
{
    return below(n) == 0;
}

/* What a case is made of. */
struct drawn {
    uint32_t dp, tp, pp; /* 1: the mesh has no such axis */
    const struct timetable_schedule *schedule; /* pp > 1 */
    uint32_t microbatches, layers;

};

static void draw_pipeline(struct drawn *d)
{
    struct timetable_sizes sizes = {d->pp, 1, 1};
    uint32_t n = 0;

    while (timetable_schedules[n])
        n++;
    do {
        d->schedule = timetable_schedules[below(n)];
        sizes.stages_per_rank = d->schedule->stages_per_rank;
        sizes.nmicrobatches = d->microbatches = 1 + below(6);
    } while (d->schedule->check(&sizes, NULL) != SHD_OK);
    d->layers = d->pp * sizes.stages_per_rank + below(2);
}

static void draw(struct drawn *d)
{
    *d = (struct drawn){.dp = 1 + below(2), .tp = 1 + below(2), .pp = 1 << below(3)};
    d->microbatches = one_in(2) ? 1 : 1 + below(4);
    d->layers = 1 + below(2);
    if (d->pp > 1)
        draw_pipeline(d);
}

static void add_mesh(struct text *t, const struct drawn *d)
{
    static const char *const orders[] = {"dpt", "ptd", "tdp"};
    const char *order = orders[below(3)], *between = "";

    text_add(t, "mesh: {");
    for (int i = 0; i < 3; i++) {
        uint32_t size = order[i] == 'd' ? d->dp : order[i] == 'p' ? d->pp : d->tp;

        if (size == 1 && (order[i] == 'p' || d->dp * d->tp * d->pp > 1))
            continue;
        if (size == 1 && order[i] == 't')
            continue;
        text_addf(t, "%s%s: %u", between,
                  order[i] == 'd' ? "dp" : order[i] == 'p' ? "pp" : "tp", size);
        between = ", ";
    }
    text_add(t, "}\n");
}

static void add_model(struct text *t, const struct drawn *d)
{
    static const char *const types[] = {"float32", "float32", "float64", "bfloat16", "float16"};
    const char *type = types[below(5)];
    bool half = strcmp(type, "bfloat16") == 0 || strcmp(type, "float16") == 0;

    text_addf(t,
              "model: {kind: transformer, d_model: 16, d_ff: %u, layers: %u, heads: 2, vocab: 16, "
              "activation: %s, dtype: %s}\n",
              16 + 16 * below(2), d->layers, one_in(2) ? "gelu" : "swiglu", type);
    text_addf(t, "batch: {size: %u, seq: %u, microbatches: %u}\n",
              2 * d->microbatches * (1 + below(2)), 4 + 4 * below(2), d->microbatches);
    if (half && !one_in(4)) {
        text_addf(t, "types: {parameters: float32%s%s}\n",
                  one_in(3) ? ", reduce: compute" : "", one_in(3) ? ", moments: compute" : "");
        if (one_in(2))
            text_addf(t, "loss_scale: {kind: %s}\n", one_in(2) ? "dynamic" : "static");
    }
}

static void add_optimizer(struct text *t)
{
    uint32_t steps = 1 + below(2);

    text_addf(t, "step: [forward, backward, update]\nsteps: %u\n", steps);
    text_addf(t, "optimizer: {kind: %s, lr: 1e-2, weight_decay: %s, clip: %s}\n",
              one_in(2) ? "adamw" : "sgd", one_in(2) ? "0.1" : "0", one_in(2) ? "1.0" : "0");
}

static void add_layout(struct text *t, const struct drawn *d)
{
    static const char *const again[] = {"none", "selective", "full"};

    if (d->dp > 1)
        text_add(t, "axes: {batch: dp}\n");
    if (d->dp > 1 && !one_in(3))
        text_addf(t, "zero: {stage: %u, axis: dp, reshard_after_forward: %s}\n", 1 + below(3),
                  one_in(2) ? "true" : "false");
    if (d->pp > 1)
        text_addf(t, "pipeline: {axis: pp, schedule: %s}\n", d->schedule->name);
    text_addf(t, "recompute: %s\n", again[below(3)]);
    text_add(t, "params:\n");
    if (d->tp > 1)
        text_add(t, "  - [(q|k|v)/kernel, [null, tp]]\n  - [attn/o/kernel, [tp]]\n"
                    "  - [mlp/(up|gate)/kernel, [null, tp]]\n  - [mlp/down/kernel, [tp]]\n");
    if (d->tp > 1 && one_in(2))
        text_add(t, "  - [embed/table, [tp]]\n  - [head/kernel, [null, tp]]\n");
    text_add(t, "  - [.*, []]\n");
    if (d->tp > 1 && one_in(3))
        text_add(t, "constraints: [['(out|residual)', [null, tp]]]\n");
}

static void test_case(uint32_t i)
{
    struct text text = TEXT_INIT;
    struct tried tried;
    struct drawn drawn;
    char what[32];
    bool good;

    state = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
    draw(&drawn);
    text_add(&text, "version: 1\n");
    add_mesh(&text, &drawn);
    add_model(&text, &drawn);
    add_optimizer(&text);
    add_layout(&text, &drawn);
    snprintf(what, sizeof what, "case %u", i);
    good = tried_init(&tried, text_get(&text), text.length);
    if (good)
        good = tried_check(&tried, what);
    else
        ok(false, "%s: is built", what);
    if (!good)
        diag("%s", text_get(&text));
    tried_fini(&tried);
    text_fini(&text);
}

int main(void)
{
    const char *size = getenv("SHD_TEST_SIZE"), *first = getenv("SHD_TEST_FIRST");
    uint32_t n = size && !strcmp(size, "small") ? NCASES_SMALL : NCASES;
    uint32_t from = first ? (uint32_t)strtoul(first, NULL, 10) : 0;

    for (uint32_t i = from; i < from + n; i++)
        test_case(i);
    return done();
}
