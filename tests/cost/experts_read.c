/* Tests what products of experts move (cost/op_seconds.h): of weights those of the experts that few
 * tokens name, of rows those that come.  Decodes of published mixtures, on one device, with experts
 * over devices, with their widths over devices, and with replicas.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cost/op_seconds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "../support/tap.h"
#include "trial/variant.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *size;
    int layers; /* the first layers, at least one an MoE layer */
    int experts, choices;
} mixtures[] = {
    {"mixtral-8x7b", 2, 8, 2},   {"qwen3-30b-a3b", 2, 128, 8}, {"deepseek-v3", 5, 256, 8},
    {"gpt-oss-120b", 2, 128, 4}, {"olmoe-1b-7b", 2, 64, 8},    {"llama4-scout", 2, 16, 1},
};

static const struct {
    const char *what, *mesh, *params, *axes;
} layouts[] = {
    {"one device", "{tp: 1}", "[[.*, []]]", "{}"},
    {"experts over devices", "{ep: 4}", "[[moe/(up|gate|down)/(kernel|bias), [ep]], [.*, []]]",
     "{}"},
    {"widths over devices", "{tp: 2}",
     "[[moe/(up|gate)/kernel, [null, null, tp]], [moe/down/kernel, [null, tp]], [.*, []]]", "{}"},
    {"tokens and experts over devices", "{ep: 4}",
     "[[moe/(up|gate|down)/(kernel|bias), [ep]], [.*, []]]", "{batch: ep}"},
    {"replicas of experts over devices", "{dp: 2, ep: 2}",
     "[[moe/(up|gate|down)/(kernel|bias), [ep]], [.*, []]]", "{batch: [dp, ep]}"},
};

static void init(struct variant *out, const struct text *scenario)
{
    struct variant_ask ask = {.name = "m.yaml", .text = scenario, .extent = VARIANT_BUILT};
    struct shd_error err;

    if (variant_need(out, &ask, &err) != SHD_OK) {
        diag("%s", err.text);
        exit(99);
    }
}

/* A decode of `sequences` sequences by the first layers of a mixture. */
static void begin(struct variant *out, size_t m, size_t l, int sequences, const char *more)
{
    struct text text = TEXT_INIT;

    text_addf(&text,
              "version: 1\nhardware: h100-sxm\nmesh: %s\n"
              "model: {size: %s, dtype: bfloat16, layers: %d}\n"
              "step: [decode]\nbatch: {size: %d, seq: 64}\nparams: %s\naxes: %s\n%s",
              layouts[l].mesh, mixtures[m].size, mixtures[m].layers, sequences, layouts[l].params,
              layouts[l].axes, more);
    init(out, &text);
    text_fini(&text);
}

/* E (1 - (1 - k/E)^tokens) of E. */
static double named_part(size_t m, double tokens)
{
    return 1 - pow(1 - (double)mixtures[m].choices / mixtures[m].experts, tokens);
}

/* The bytes of an array that rows of a device's experts take. */
static double taken_bytes(const struct program *p, uint32_t buffer, int32_t position)
{
    const struct program_buffer *b = &p->buffers[buffer];
    int64_t start[SHD_RANK_MAX], slots = b->local[1] / b->routing->capacity, rows = 0;

    shd_sharding_offset(&b->sharding, b->shape, position, start);
    for (int64_t e = 0; e < b->local[0]; e++)
        rows += b->routing->counts[start[0] + e] * slots;
    return (double)(rows * b->local[2]) * (double)shd_dtype_size(b->dtype);
}

/* What products of experts move, and their seconds, in decodes of one layout. */
#define PRODUCTS_MAX 1024
struct seen {
    int nproducts, nwrong;
    double bytes[PRODUCTS_MAX], rows[PRODUCTS_MAX], seconds[PRODUCTS_MAX];
};

/* See the products of experts on all devices; `weight` is the part of 16 bits that are read in
 * place of a weight. */
static void see(struct seen *out, const struct trial *t, size_t m, double tokens, double weight)
{
    const struct program *p = t->program;
    struct op_seconds s;

    if (op_seconds_init(&s, p, t->hardware, NULL) != SHD_OK)
        exit(99);
    for (uint32_t i = 0; i < p->nops; i++)
        for (int32_t d = 0; d < shd_mesh_size(p->mesh) && p->ops[i].kind == PROGRAM_KERNEL &&
                            p->ops[i].kernel == &kern_kernel_grouped;
             d++) {
            const struct program_op *op = &p->ops[i];
            double want = (double)p->buffers[op->inputs[1]].bytes * weight * named_part(m, tokens);
            struct hardware_work work;

            want += taken_bytes(p, op->inputs[0], d) + taken_bytes(p, op->outputs[0], d);
            out->nwrong += !op_seconds_timed(&work, &s, i, d) || fabs(work.bytes / want - 1) > 1e-6;
            out->bytes[out->nproducts] = work.bytes;
            out->rows[out->nproducts] = taken_bytes(p, op->inputs[0], d);
            out->seconds[out->nproducts++] = op_seconds_of(&s, i, d);
        }
    op_seconds_fini(&s);
}

/* Pairs of which the one that moves fewer bytes, and has no more rows to bring there and back, is
 * slower. */
static int count_slower(const struct seen *s)
{
    int nslower = 0;

    for (int i = 0; i < s->nproducts; i++)
        for (int k = 0; k < s->nproducts; k++)
            nslower += s->bytes[i] < s->bytes[k] && s->rows[i] <= s->rows[k] &&
                       s->seconds[i] > s->seconds[k];
    return nslower;
}

/* All layouts of a mixture. */
static void test_mixture(size_t m)
{
    static const int sequences[] = {1, 2, 4, 8, 16, 64};

    for (size_t l = 0; l < COUNT(layouts); l++) {
        struct seen seen = {.nproducts = 0};

        for (size_t k = 0; k < COUNT(sequences); k++) {
            bool cut = strcmp(layouts[l].axes, "{}") != 0;
            double replicas = strstr(layouts[l].axes, "dp") ? 2 : 1;
            struct variant v;

            if (cut && sequences[k] % 4)
                continue;
            begin(&v, m, l, sequences[k], "");
            see(&seen, &v.trial, m, sequences[k] / replicas, 1);
            variant_fini(&v);
        }
        ok(seen.nwrong == 0 && seen.nproducts > 0, "%s, %s: the experts that tokens name are read",
           mixtures[m].size, layouts[l].what);
        ok(count_slower(&seen) == 0, "%s, %s: fewer bytes are no slower", mixtures[m].size,
           layouts[l].what);
    }
}

/* Weights of 4 bits with a scale of 8 bits for each 32. */
static void test_codes(void)
{
    struct seen seen = {.nproducts = 0};

    for (size_t l = 0; l < 3; l++) {
        struct variant v;

        begin(&v, 3, l, 8, "products: {weights: mxfp4}\n");
        see(&seen, &v.trial, 3, 8, 4.25 / 16);
        variant_fini(&v);
    }
    ok(seen.nwrong == 0 && seen.nproducts > 0, "4-bit weights: those of the chosen experts");
}

/* ---- kernels on experts' rows ---- */

/* Bytes that kernels of a device move which read experts' rows, but for products: biases, limits,
 * activations, codes and their magnitudes, forward and backward. */
static double bytes_inside(const char *devices, int sequences, const char *routing,
                           const char *more)
{
    struct text text = TEXT_INIT;
    struct op_seconds s;
    struct variant v;
    double bytes = 0;

    text_addf(&text,
              "version: 1\nhardware: h100-sxm\nmesh: {ep: %s}\n"
              "model: {kind: transformer, dtype: bfloat16, layers: 1, d_model: 64, d_ff: 64,\n"
              "        heads: 2, vocab: 64, activation: swiglu-clamped}\n"
              "moe: {experts: 16, top_k: 2, expert_bias: true, routing: %s}\n"
              "batch: {size: %d, seq: 64}\nstep: [forward, backward]\n"
              "params: [[moe/(up|gate|down)/(kernel|bias), [ep]], [.*, []]]\naxes: {batch: ep}\n%s",
              devices, routing, sequences, more);
    init(&v, &text);
    text_fini(&text);
    if (op_seconds_init(&s, v.trial.program, v.trial.hardware, NULL) != SHD_OK)
        exit(99);
    for (uint32_t i = 0; i < v.trial.program->nops; i++) {
        const struct program_op *op = &v.trial.program->ops[i];
        struct hardware_work work;

        if (op->kind == PROGRAM_KERNEL && op->kernel->uneven != KERN_BY_ROUTING &&
            v.trial.program->buffers[op->inputs[0]].routing && op_seconds_timed(&work, &s, i, 0))
            bytes += work.bytes;
    }
    op_seconds_fini(&s);
    variant_fini(&v);
    return bytes;
}

/* Rows that come are moved: neither the room for those that might, nor the rows of other
 * devices. */
static void test_rows(void)
{
    static const char *const recipes[] = {"", "products: {recipe: mxfp8}\n",
                                          "products: {recipe: blockwise, block: 16}\n"};

    for (size_t k = 0; k < COUNT(recipes); k++) {
        double two = bytes_inside("2", 4, "uniform", recipes[k]);
        double eight = bytes_inside("8", 16, "uniform", recipes[k]);
        double roomy = bytes_inside("2", 4, "learned", recipes[k]);

        ok(two > 0 && fabs(eight / two - 1) < 0.1,
           "'%.20s': as many rows for each of more devices take as many bytes: %.0f, %.0f",
           recipes[k], two, eight);
        ok(fabs(roomy / two - 1) < 0.1, "'%.20s': room for more rows is not moved: %.0f, %.0f",
           recipes[k], two, roomy);
    }
}

int main(void)
{
    plan(0);
    for (size_t m = 0; m < COUNT(mixtures); m++)
        test_mixture(m);
    test_codes();
    test_rows();
    return done();
}
