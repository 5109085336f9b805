/* Tests random training steps that combine stages and schedules, microbatches, tensor, data,
 * context and expert parallelism, ZeRO, types, recomputation, documents, expert workloads, padded
 * sizes, adapters and frozen parameters: each is executed, has the numbers of the unsharded and
 * unpadded computation, and has the figures of its plan, to the byte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "../support/tap.h"
#include "timetable/timetable.h"
#include "../support/tried.h"

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

/* The choices of a case. */
struct drawn {
    uint32_t dp, tp, pp, cp;                   /* 1: the mesh has no such axis */
    uint32_t experts;                          /* 0: layers have an mlp */
    bool latent;                               /* attention is compressed */
    bool uneven;                               /* sizes that hardly any axis divides are padded */
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
    } while (timetable_check(d->schedule, &sizes, NULL) != SHD_OK);
    d->layers = d->pp * sizes.stages_per_rank + below(2);
}

static void draw(struct drawn *d)
{
    static const uint32_t odd[] = {3, 5, 6, 7}; /* divide hardly any of the sizes */

    *d = (struct drawn){.dp = 1 + below(2), .tp = 1 + below(2), .pp = 1 << below(3), .cp = 1};
    if (one_in(3)) {
        d->dp = odd[below(4)];
        d->pp = 1 << below(2);
    }
    if (one_in(2))
        d->cp = 1 << below(3);
    while (d->cp > 1 && d->dp * d->tp * d->pp * d->cp > 16)
        d->cp /= 2;
    if (d->dp * d->tp * d->pp > 16)
        d->tp = 1;
    d->experts = one_in(2) ? 2 << below(3) : 0;
    d->latent = one_in(6);
    d->uneven = one_in(3);
    d->microbatches = one_in(2) ? 1 : 1 + below(4);
    d->layers = 1 + below(2);
    if (d->pp > 1)
        draw_pipeline(d);
}

static void add_mesh(struct text *t, const struct drawn *d)
{
    static const char *const orders[] = {"dptc", "cptd", "tcdp"};
    const char *order = orders[below(3)], *between = "";
    const struct {
        char letter;
        const char *name;
        uint32_t size;
    } axes[] = {{'d', "dp", d->dp}, {'p', "pp", d->pp}, {'t', "tp", d->tp}, {'c', "cp", d->cp}};

    text_add(t, "mesh: {");
    for (int i = 0; i < 4; i++)
        for (int a = 0; a < 4; a++) {
            if (axes[a].letter != order[i] || axes[a].size == 1)
                continue;
            text_addf(t, "%s%s: %u", between, axes[a].name, axes[a].size);
            between = ", ";
        }
    text_addf(t, "%s}\n", between[0] ? "" : "dp: 1");
}

/* Add experts and their routing. */
static void add_experts(struct text *t, const struct drawn *d)
{
    static const char *const routings[] = {"learned", "learned",    "learned",  "uniform",
                                           "zipf",    "hot-expert", "hot-rank", "ragged",
                                           "empty",   "rotating"};
    uint32_t top_k = 1 + below(2);

    if (d->experts == 0)
        return;
    text_addf(t, "moe: {experts: %u, top_k: %u, routing: %s, ranks: 2, capacity: %s, drop: %s",
              d->experts, top_k < d->experts ? top_k : 1, routings[below(10)],
              one_in(2)   ? "0"
              : one_in(2) ? "1.0"
                          : "1.5",
              one_in(2) ? "tokens" : "choices");
    text_addf(t, ", score: %s, renormalize: %s, shared: %u, aux_loss: %s, z_loss: %s",
              one_in(3) ? "sigmoid" : "softmax", one_in(2) ? "true" : "false", below(2),
              one_in(2) ? "1e-2" : "0", one_in(3) ? "1e-3" : "0");
    if (one_in(3))
        text_add(t, ", bias: true, scale: 2.5");
    if (one_in(4) && d->experts >= 4)
        text_add(t, ", groups: 2, kept: 1");
    if (one_in(3) && d->dp <= 2)
        text_addf(t, ", token_groups: %u", 1 + below(2));
    text_add(t, "}\n");
}

static void add_model(struct text *t, const struct drawn *d)
{
    static const char *const types[] = {"float32", "float32", "float64", "bfloat16", "float16"};
    const char *type = types[below(5)];
    bool half = strcmp(type, "bfloat16") == 0 || strcmp(type, "float16") == 0;

    text_addf(
        t, "model: {kind: transformer, d_model: 16, layers: %u, activation: %s, dtype: %s%s%s",
        d->layers, one_in(2) ? "gelu" : "swiglu", type,
        d->latent || one_in(2) ? ", rope: {theta: 10000}" : "", one_in(5) ? ", window: 3" : "");
    if (d->uneven)
        text_addf(t, ", d_ff: %u, heads: %u, head_dim: 4, vocab: %u}\nuneven: pad\n", 15 + below(5),
                  2 + below(4), 14 + below(7));
    else
        text_addf(t, ", d_ff: %u, heads: 2, vocab: 16}\n", 16 + 16 * below(2));
    if (d->latent)
        text_addf(t, "mla: {kv_rank: 8, q_rank: %u, rope_dim: 4, value_dim: 8}\n", 8 * below(2));
    add_experts(t, d);
    text_addf(t, "batch: {size: %u, seq: %u, microbatches: %u}\n",
              d->uneven && d->experts == 0
                  ? d->microbatches * (d->dp + below(4))
                  : (d->dp > 2 ? d->dp : 2) * d->microbatches * (1 + below(2)),
              (d->cp > 1 ? 8 : 4) + 8 * below(2), d->microbatches);
    if (half && !one_in(4)) {
        text_addf(t, "types: {parameters: float32%s%s}\n", one_in(3) ? ", reduce: compute" : "",
                  one_in(3) ? ", moments: compute" : "");
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

/* Add ZeRO, with a layout for the arrays of which no dimension divides: flat or padded. */
static void add_zero(struct text *t, const struct drawn *d)
{
    static const char *const reshards[] = {"default", "always", "never"};
    static const char *const layouts[] = {"", ", layout: flat", ", layout: pad"};

    bool several = d->cp > 1 && one_in(3);

    if (d->dp == 1 || (d->dp == 2 && one_in(3)))
        return;
    text_addf(t, "zero: {stage: %u, axis: %s, reshard_after_forward: %s%s}\n", 1 + below(3),
              several ? "[dp, cp]" : "dp",
              d->dp % 2 == 0 && !several && one_in(3) ? "2" : reshards[below(3)],
              layouts[below(3)]);
}

static void add_layout(struct text *t, const struct drawn *d)
{
    static const char *const again[] = {"none", "selective", "full"};
    static const char *const contexts[] = {"contiguous", "zigzag", "striped"};
    const char *experts = d->tp > 1 && one_in(3)                                          ? "tp"
                          : d->cp > 1 && d->cp <= d->experts && (d->dp != 2 || one_in(2)) ? "cp"
                          : d->dp == 2                                                    ? "dp"
                                                                                          : "";

    if (d->dp > 1 || d->cp > 1)
        text_addf(t, "axes: {%s%s%s}\n", d->dp > 1 ? "batch: dp" : "",
                  d->dp > 1 && d->cp > 1 ? ", " : "", d->cp > 1 ? "seq: cp" : "");
    if (d->cp > 1)
        text_addf(t, "context: {axis: cp, method: %s, order: %s%s}\n",
                  one_in(2) ? "ring" : "gather", contexts[below(3)],
                  one_in(3) ? ", documents: {mean: 3, seed: 1}" : "");
    add_zero(t, d);
    if (d->tp > 1 && one_in(3))
        text_add(t, "gathered: keep\n");
    if (d->pp > 1)
        text_addf(t, "pipeline: {axis: pp, schedule: %s}\n", d->schedule->name);
    text_addf(t, "recompute: %s\n", again[below(3)]);
    text_add(t, "params:\n");
    if (d->experts > 0 && strcmp(experts, "") != 0 && !one_in(4))
        text_addf(t, "  - [moe/(gate|up|down)/kernel, [%s]]\n", experts);
    else if (d->experts > 0 && d->tp > 1)
        text_add(t, "  - [moe/(gate|up)/kernel, [null, null, tp]]\n"
                    "  - [moe/down/kernel, [null, tp]]\n");
    if (d->tp > 1)
        text_add(t, "  - [(q|k|v)/kernel, [null, tp]]\n  - [attn/o/kernel, [tp]]\n");
    if (d->tp > 1 && d->experts == 0)
        text_add(t, "  - [mlp/(up|gate)/kernel, [null, tp]]\n  - [mlp/down/kernel, [tp]]\n");
    if (d->tp > 1 && one_in(2))
        text_add(t, "  - [embed/table, [tp]]\n  - [head/kernel, [null, tp]]\n");
    text_add(t, "  - [.*, []]\n");
    if (d->tp > 1 && one_in(3))
        text_add(t, "constraints: [['(/out|residual)', [null, tp]]]\n");
}

/* Add adapters beside some kernels, or frozen parameters. */
static void add_frozen(struct text *t, const struct drawn *d)
{
    static const char *const targets[] = {"attn/(q|v)/", "attn/o", "(up|down)/kernel", "kernel"};

    if (one_in(6))
        text_addf(t, "frozen: [%s]\n", one_in(2) ? "embed/table" : "attn");
    if (!one_in(3))
        return;
    text_addf(t, "lora: {rank: %u, alpha: %u, targets: [%s%s], start: %s%s}\n", 1 + below(6),
              1 + below(4), targets[below(4)], d->layers > 1 && one_in(3) ? ", layers/1/attn" : "",
              one_in(4) ? "zeros" : "random", !d->uneven && one_in(2) ? ", base: int8" : "");
}

static void test_case(uint32_t i)
{
    struct text text = TEXT_INIT;
    struct variant tried;
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
    add_frozen(&text, &drawn);
    snprintf(what, sizeof what, "case %u", i);
    good = tried_init(&tried, text_get(&text), text.length);
    if (good)
        good = tried_check(&tried, what);
    else
        ok(false, "%s: is built", what);
    if (!good)
        diag("%s", text_get(&text));
    variant_fini(&tried);
    text_fini(&text);
}

int main(void)
{
    uint32_t n = small_size() ? NCASES_SMALL : NCASES;
    uint32_t from = (uint32_t)from_env("SHD_TEST_FIRST", 0);

    for (uint32_t i = from; i < from + n; i++)
        if (sampled(4, i))
            test_case(i);
    return done();
}
