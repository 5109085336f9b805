/* Tests kern/quant.h: the codes and scales of each type against plain loops over blocks of
 * consecutive inputs, what they are dequantized to, the bytes that they take, and how far codes
 * move with values that are off.
 *
 * The plain loops take a matrix by its outputs, as PyTorch stores it, and know no boxes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kern/error.h"
#include "kern/kernel.h"
#include "../support/tap.h"

#define IN 128
#define OUT 8
#define BLOCK 64
#define NBLOCKS (IN / BLOCK * OUT)

static const struct kern_source values = {.seed = 12345, .scale = 0.5, .rounded = SHD_BF16};
static float w[IN][OUT]; /* [in, out], as kernels are */

/* The elements of a part's array of `shape`. */
static void fill(void *out, enum shd_dtype dtype, const struct kern_quant *quant,
                 enum kern_quant_part part, const int64_t *shape, uint32_t rank)
{
    static const int64_t none[2] = {0, 0};
    const struct kern_source source = {.quant = quant, .quant_part = part};

    kern_fill(&source, dtype, rank, shape, none, shape, out);
}

static void dequantize(float *out, const struct kern_dequantize *k, const void *codes,
                       const float *scales)
{
    static const int64_t offsets[4] = {0, 0, 0, 0};
    const union kern_desc desc = {.dequantize = *k};
    const struct kern_args args = {.in = (const void *[]){codes, scales},
                                   .out = (void *[]){out},
                                   .offsets = offsets,
                                   .nthreads = 1};

    kern_kernel_dequantize.run(&desc, &args);
}

static float largest(const float *x, int n)
{
    float most = 0;

    for (int i = 0; i < n; i++)
        most = fmaxf(most, fabsf(x[i]));
    return most;
}

/* Of each output the inputs, one after the other. */
static void by_outputs(float *out)
{
    for (int o = 0; o < OUT; o++)
        for (int i = 0; i < IN; i++)
            out[o * IN + i] = w[i][o];
}

static void test_int8(void)
{
    static const int64_t shape[2] = {IN, OUT}, of_scales[2] = {1, OUT};
    const struct kern_quant quant = {
        .of = &values, .rank = 2, .shape = {IN, OUT}, .box = {IN, 1}, .outer = {1, 1}};
    const struct kern_dequantize k = {.dtype = SHD_F32,
                                      .ndims = 2,
                                      .pair_dim = 2,
                                      .nboxed = 1,
                                      .boxed = {0},
                                      .extent = {IN, OUT},
                                      .scales = {1, OUT},
                                      .box = {IN, 1}};
    float flat[OUT * IN], scales[OUT], back[IN][OUT];
    int8_t codes[IN][OUT];
    int nbad = 0, nwide = 0;

    fill(codes, SHD_I8, &quant, KERN_QUANT_CODES, shape, 2);
    fill(scales, SHD_F32, &quant, KERN_QUANT_SCALES, of_scales, 2);
    dequantize(&back[0][0], &k, codes, scales);
    by_outputs(flat);
    for (int o = 0; o < OUT; o++) {
        float scale = largest(flat + o * IN, IN) / 127;

        nbad += scales[o] != scale;
        for (int i = 0; i < IN; i++) {
            nbad += codes[i][o] != (int)rintf(w[i][o] / scale);
            nbad += back[i][o] != (float)codes[i][o] * scale;
            nwide += fabsf(back[i][o] - w[i][o]) > scale * 0.5001f;
        }
    }
    ok(nbad == 0, "int8: codes, scales and values of each output");
    ok(nwide == 0, "int8: no value is off by more than half a step");
}

/* The nearest level of NF4 by its thresholds, half way between neighbours. */
static int nearest(float x)
{
    int level = 0;

    while (level < KERN_QUANT_LEVELS - 1 &&
           x > (kern_quant_levels(KERN_NF4)[level] + kern_quant_levels(KERN_NF4)[level + 1]) / 2)
        level++;
    return level;
}

/* Scales by plain loops, quantized: all are one outer box here, since there are fewer than 256. */
static void quantized_scales(const float *flat, int8_t *codes, float *factor, float *mean)
{
    float scales[NBLOCKS], most = 0;
    double sum = 0;

    for (int b = 0; b < NBLOCKS; b++)
        sum += scales[b] = largest(flat + b * BLOCK, BLOCK);
    *mean = (float)(sum / NBLOCKS);
    for (int b = 0; b < NBLOCKS; b++)
        most = fmaxf(most, fabsf(scales[b] - *mean));
    *factor = most / 127;
    for (int b = 0; b < NBLOCKS; b++)
        codes[b] = (int8_t)rintf((scales[b] - *mean) / *factor);
}

static const struct kern_dequantize nf4_codes = {.dtype = SHD_F32,
                                                 .type = KERN_NF4,
                                                 .ndims = 2,
                                                 .pair_dim = 0,
                                                 .nboxed = 1,
                                                 .boxed = {0},
                                                 .extent = {IN, OUT},
                                                 .scales = {IN / BLOCK, OUT},
                                                 .box = {BLOCK, 1}};

/* What codes stand for, with scales that are not rounded. */
static void test_nf4_values(const float *flat, const void *codes)
{
    float scales[IN / BLOCK][OUT], back[IN][OUT];
    int nbad = 0;

    for (int o = 0; o < OUT; o++)
        for (int b = 0; b < IN / BLOCK; b++)
            scales[b][o] = largest(flat + o * IN + b * BLOCK, BLOCK);
    dequantize(&back[0][0], &nf4_codes, codes, &scales[0][0]);
    for (int o = 0; o < OUT; o++)
        for (int i = 0; i < IN; i++) {
            float most = scales[i / BLOCK][o];

            nbad +=
                back[i][o] != kern_quant_levels(KERN_NF4)[nearest(flat[o * IN + i] / most)] * most;
        }
    ok(nbad == 0, "NF4: each element is its nearest level times its block's largest");
}

/* From values to codes, scales that are codes themselves, and back: an element is off by half the
 * distance between levels, and by the rounding of its scale, at most. */
static void test_nf4_back(const float *flat, const void *codes, const int8_t (*scale_codes)[OUT],
                          float factor, float mean)
{
    const struct kern_dequantize of_scales = {.dtype = SHD_F32,
                                              .ndims = 2,
                                              .pair_dim = 2,
                                              .nboxed = 2,
                                              .boxed = {0, 1},
                                              .extent = {IN / BLOCK, OUT},
                                              .scales = {1, 1},
                                              .box = {IN / BLOCK, OUT}};
    float scales[IN / BLOCK][OUT], back[IN][OUT];
    int nwide = 0;

    dequantize(&scales[0][0], &of_scales, scale_codes, &factor);
    for (int i = 0; i < NBLOCKS; i++)
        scales[i / OUT][i % OUT] += mean;
    dequantize(&back[0][0], &nf4_codes, codes, &scales[0][0]);
    for (int o = 0; o < OUT; o++)
        for (int i = 0; i < IN; i++) {
            float most = largest(flat + o * IN + i / BLOCK * BLOCK, BLOCK);
            int level = nearest(w[i][o] / most);
            float below = level > 0 ? kern_quant_levels(KERN_NF4)[level] -
                                          kern_quant_levels(KERN_NF4)[level - 1]
                                    : 0;
            float above = level < KERN_QUANT_LEVELS - 1 ? kern_quant_levels(KERN_NF4)[level + 1] -
                                                              kern_quant_levels(KERN_NF4)[level]
                                                        : 0;

            nwide += fabsf(back[i][o] - w[i][o]) > fmaxf(below, above) / 2 * most + factor * 0.501f;
        }
    ok(nwide == 0, "NF4: values come back to where they were");
}

static void test_nf4(void)
{
    static const int64_t shape[2] = {IN / 2, OUT}, of_scales[2] = {IN / BLOCK, OUT};
    static const int64_t of_factors[2] = {1, 1};
    const struct kern_quant quant = {.of = &values,
                                     .type = KERN_NF4,
                                     .rank = 2,
                                     .pair_dim = 0,
                                     .shape = {IN, OUT},
                                     .box = {BLOCK, 1},
                                     .outer = {IN / BLOCK, OUT}};
    float flat[OUT * IN], factor, mean, want_factor, want_mean;
    int8_t scales[IN / BLOCK][OUT], want[NBLOCKS];
    uint8_t codes[IN / 2][OUT];
    int nbad = 0, nscales = 0;

    fill(codes, SHD_U8, &quant, KERN_QUANT_CODES, shape, 2);
    fill(scales, SHD_I8, &quant, KERN_QUANT_SCALE_CODES, of_scales, 2);
    fill(&factor, SHD_F32, &quant, KERN_QUANT_FACTORS, of_factors, 2);
    fill(&mean, SHD_F32, &quant, KERN_QUANT_MEAN, NULL, 0);
    by_outputs(flat);
    quantized_scales(flat, want, &want_factor, &want_mean);
    for (int o = 0; o < OUT; o++)
        for (int b = 0; b < IN / BLOCK; b++)
            nscales += scales[b][o] != want[o * (IN / BLOCK) + b];
    for (int o = 0; o < OUT; o++)
        for (int i = 0; i < IN; i++) {
            float most = largest(flat + o * IN + i / BLOCK * BLOCK, BLOCK);

            nbad += (codes[i / 2][o] >> (i % 2 ? 0 : 4) & 15) != nearest(flat[o * IN + i] / most);
        }
    ok(nbad == 0, "NF4: two codes to a byte, each the nearest level");
    ok(nscales == 0 && factor == want_factor && fabsf(mean - want_mean) <= 1e-6f * want_mean,
       "NF4: scales are codes, with a factor and a mean");
    test_nf4_values(flat, codes);
    test_nf4_back(flat, codes, scales, factor, mean);
}

/* The scale of a block in plain words: a seventh of the largest size, or a power of two no larger
 * than it, less two. */
static float plain_scale(enum kern_quant_type type, float most)
{
    int e = 0;

    if (type == KERN_INT4)
        return most / 7;
    while (most >= 8)
        most /= 2, e++;
    while (most < 4)
        most *= 2, e--;
    return ldexpf(1, e);
}

/* Types with a scale of each block: values come back as the nearest number, within the range. */
static void test_blocks(enum kern_quant_type type, const char *what)
{
    enum { EACH = 32, SCALES = IN / EACH };
    static const int64_t shape[2] = {IN / 2, OUT}, of_scales[2] = {SCALES, OUT};
    const struct kern_quant quant = {.of = &values,
                                     .type = type,
                                     .rank = 2,
                                     .pair_dim = 0,
                                     .shape = {IN, OUT},
                                     .box = {EACH, 1},
                                     .outer = {1, 1}};
    const struct kern_dequantize k = {.dtype = SHD_F32,
                                      .scale_dtype = type == KERN_MXFP4 ? SHD_U8 : SHD_F32,
                                      .type = type,
                                      .ndims = 2,
                                      .pair_dim = 0,
                                      .nboxed = 1,
                                      .boxed = {0},
                                      .extent = {IN, OUT},
                                      .scales = {SCALES, OUT},
                                      .box = {EACH, 1}};
    float flat[OUT * IN], back[IN][OUT], scales[SCALES * OUT];
    uint8_t codes[IN / 2][OUT], *exponents = (uint8_t *)scales;
    int nscales = 0, nfar = 0, nsaturated = 0;

    fill(codes, SHD_U8, &quant, KERN_QUANT_CODES, shape, 2);
    fill(scales, k.scale_dtype, &quant, KERN_QUANT_SCALES, of_scales, 2);
    dequantize(&back[0][0], &k, codes, scales);
    by_outputs(flat);
    for (int o = 0; o < OUT; o++)
        for (int b = 0; b < SCALES; b++) {
            float want = plain_scale(type, largest(flat + o * IN + b * EACH, EACH));

            nscales += type == KERN_MXFP4 ? ldexpf(1, exponents[b * OUT + o] - 127) != want
                                          : scales[b * OUT + o] != want;
            for (int i = b * EACH; i < (b + 1) * EACH; i++) {
                float x = w[i][o] / want, y = back[i][o] / want, step;

                /* The distance of numbers around: of e2m1 a half, one, or two. */
                step = type == KERN_INT4 || (fabsf(x) >= 2 && fabsf(x) < 4) ? 1
                       : fabsf(x) < 2                                       ? 0.5f
                                                                            : 2;
                nsaturated += type == KERN_MXFP4 && fabsf(x) > 7;
                nfar += fabsf(x - y) > (fabsf(x) > 7 ? fabsf(x) - 5.999f : step * 0.5001f);
            }
        }
    ok(nscales == 0, "%s: a scale of each block", what);
    ok(nfar == 0, "%s: values come back to half a step from where they were, or saturate", what);
    if (type == KERN_MXFP4)
        ok(nsaturated > 0, "%s: some saturate", what);
}

/* ---- rows that are quantized as they are made ---- */

enum { ROWS = 6, WIDTH = 64, EACH = 16 };

static void quantize(uint8_t *codes, void *scales, enum kern_quant_type type, enum shd_dtype dtype,
                     const void *x)
{
    const union kern_desc desc = {
        .quantize = {dtype, type == KERN_MXFP4 ? SHD_U8 : dtype, type, ROWS, WIDTH, EACH}};

    kern_kernel_quantize.run(&desc, &(const struct kern_args){.in = (const void *[]){x},
                                                              .out = (void *[]){codes, scales},
                                                              .nthreads = 2});
}

/* Codes and scales equal those of a parameter with the same values. */
static void test_rows(enum kern_quant_type type, const char *what)
{
    static const int64_t shape[2] = {ROWS, WIDTH}, none[2] = {0, 0};
    static const int64_t of_codes[2] = {ROWS, WIDTH / 2}, of_scales[2] = {ROWS, WIDTH / EACH};
    const struct kern_quant quant = {.of = &values,
                                     .type = type,
                                     .rank = 2,
                                     .pair_dim = 1,
                                     .shape = {ROWS, WIDTH},
                                     .box = {1, EACH},
                                     .outer = {1, 1}};
    float x[ROWS * WIDTH], scales[ROWS * WIDTH / EACH] = {0}, wanted[ROWS * WIDTH / EACH] = {0};
    uint8_t codes[ROWS * WIDTH / 2], want[ROWS * WIDTH / 2];

    kern_fill(&values, SHD_F32, 2, shape, none, shape, x);
    quantize(codes, scales, type, SHD_F32, x);
    fill(want, SHD_U8, &quant, KERN_QUANT_CODES, of_codes, 2);
    fill(wanted, type == KERN_MXFP4 ? SHD_U8 : SHD_F32, &quant, KERN_QUANT_SCALES, of_scales, 2);
    ok(!memcmp(codes, want, sizeof codes) && !memcmp(scales, wanted, sizeof scales),
       "%s: rows have the codes and scales of a parameter", what);
}

/* The variances of codes, and of what they are restored to, of values that are off by `off`. */
struct bounds {
    double x[ROWS * WIDTH], x_off[ROWS * WIDTH];
    double scales[ROWS * WIDTH / EACH], codes_off[ROWS * WIDTH / 2];
    double scales_off[ROWS * WIDTH / EACH], values[ROWS * WIDTH], off[ROWS * WIDTH];
    uint8_t codes[ROWS * WIDTH / 2];
};

static void restore(double *out, enum kern_quant_type type, const uint8_t *codes,
                    const double *scales, struct bounds *b)
{
    const union kern_desc desc = {
        .dequantize = {.dtype = SHD_F64,
                       .scale_dtype = type == KERN_MXFP4 ? SHD_U8 : SHD_F64,
                       .type = type,
                       .ndims = 2,
                       .pair_dim = 1,
                       .nboxed = 1,
                       .boxed = {1},
                       .extent = {ROWS, WIDTH},
                       .scales = {ROWS, WIDTH / EACH},
                       .box = {1, EACH}}};
    static const int64_t offsets[2] = {0, 0};
    const struct kern_args args = {.in = (const void *[]){codes, scales},
                                   .out = (void *[]){out},
                                   .offsets = offsets,
                                   .nthreads = 1};
    struct kern_error e = {.args = &args,
                           .variances = (const double *[]){b->codes_off, b->scales_off},
                           .out = (double *[]){b->off},
                           .type = SHD_F64,
                           .parts = 1};

    kern_kernel_dequantize.run(&desc, &args);
    if (out == b->values)
        (void)kern_kernel_dequantize.error(&desc, &e);
}

static void bound(struct bounds *b, enum kern_quant_type type)
{
    const union kern_desc desc = {
        .quantize = {SHD_F64, type == KERN_MXFP4 ? SHD_U8 : SHD_F64, type, ROWS, WIDTH, EACH}};
    const struct kern_args args = {
        .in = (const void *[]){b->x}, .out = (void *[]){b->codes, b->scales}, .nthreads = 1};
    struct kern_error e = {.args = &args,
                           .variances = (const double *[]){b->x_off},
                           .out = (double *[]){b->codes_off, b->scales_off},
                           .type = SHD_F64,
                           .parts = 1};

    kern_kernel_quantize.run(&desc, &args);
    (void)kern_kernel_quantize.error(&desc, &e);
    restore(b->values, type, b->codes, b->scales, b);
}

/* Values that are off by a few deviations have codes and values within the bounds, most of them
 * without room for another code; nothing is said of a value of which nothing is known. */
static void test_bounds(enum kern_quant_type type, const char *what)
{
    static const int64_t shape[2] = {ROWS, WIDTH}, none[2] = {0, 0};
    const double off = 1e-4;
    static struct bounds b;
    double moved[ROWS * WIDTH], scales[ROWS * WIDTH / EACH], back[ROWS * WIDTH];
    uint8_t codes[ROWS * WIDTH / 2];
    int nout = 0, ncodes = 0, nmoved = 0;

    kern_fill(&values, SHD_F64, 2, shape, none, shape, b.x);
    b.x[5] = 0.25; /* the largest of its block is a power of two */
    for (int i = 0; i < ROWS * WIDTH; i++)
        b.x_off[i] = off * off;
    bound(&b, type);
    for (int trial = 0; trial < 200; trial++) {
        for (int i = 0; i < ROWS * WIDTH; i++)
            moved[i] = b.x[i] + ((trial * 7919 + i * 104729) % 601 - 300) / 100.0 * off;
        quantize(codes, scales, type, SHD_F64, moved);
        restore(back, type, codes, scales, &b);
        for (int i = 0; i < ROWS * WIDTH / 2; i++) {
            nmoved += codes[i] != b.codes[i];
            ncodes += abs(codes[i] - b.codes[i]) > 6 * sqrt(b.codes_off[i]);
        }
        for (int i = 0; i < ROWS * WIDTH; i++)
            nout += fabs(back[i] - b.values[i]) > 6 * sqrt(b.off[i]);
    }
    ok(nmoved > 0 && ncodes == 0, "%s: codes that move are said to", what);
    ok(nout == 0, "%s: so are their values", what);
    nmoved = 0;
    for (int i = 0; i < ROWS * WIDTH / 2; i++)
        nmoved += b.codes_off[i] == 0;
    ok(nmoved > ROWS * WIDTH / 4, "%s: most codes cannot move", what);
    for (int i = 0; i < 2; i++) {
        b.x_off[0] = i ? NAN : INFINITY;
        bound(&b, type);
        ok(isinf(b.codes_off[0]) && isinf(b.off[0]) && isinf(b.off[EACH - 1]) &&
               !isinf(b.off[EACH]),
           "%s: nothing is known of a block with an unknown value, %s", what, i ? "nan" : "inf");
    }
}

/* Any box of a shard, against the whole. */
static void test_offsets(void)
{
    const struct kern_dequantize whole = {.dtype = SHD_F32,
                                          .type = KERN_NF4,
                                          .ndims = 2,
                                          .pair_dim = 0,
                                          .nboxed = 1,
                                          .boxed = {0},
                                          .extent = {24, 3},
                                          .scales = {3, 3},
                                          .box = {8, 1}};
    struct kern_dequantize part = whole;
    float scales[3][3], all[24][3], some[4][3];
    const int64_t offsets[2] = {12, 0}; /* rows 12..15, with all scales */
    uint8_t codes[12][3];
    const union kern_desc *desc;
    union kern_desc d;

    for (int i = 0; i < 36; i++)
        codes[i / 3][i % 3] = (uint8_t)(i * 37);
    for (int i = 0; i < 9; i++)
        scales[i / 3][i % 3] = (float)(i + 1);
    dequantize(&all[0][0], &whole, codes, &scales[0][0]);
    part.extent[0] = 4;
    d = (union kern_desc){.dequantize = part};
    desc = &d;
    kern_kernel_dequantize.run(desc,
                               &(const struct kern_args){.in = (const void *[]){codes[6], scales},
                                                         .out = (void *[]){some},
                                                         .offsets = offsets,
                                                         .nthreads = 2});
    ok(!memcmp(some, all[12], sizeof some), "rows of a block find the scales of the whole");
    ok(kern_kernel_dequantize.bytes(desc, offsets) == 4 * 3 * 4 + 4 * 3 / 2 + 9 * 4,
       "bytes: codes, scales and what is made");
}

int main(void)
{
    static const int64_t shape[2] = {IN, OUT}, none[2] = {0, 0};

    plan(0);
    kern_fill(&values, SHD_F32, 2, shape, none, shape, w);
    test_int8();
    test_nf4();
    test_blocks(KERN_INT4, "int4");
    test_blocks(KERN_MXFP4, "mxfp4");
    test_rows(KERN_INT4, "int4");
    test_rows(KERN_MXFP4, "mxfp4");
    test_bounds(KERN_INT4, "int4");
    test_bounds(KERN_MXFP4, "mxfp4");
    test_offsets();
    return done();
}
