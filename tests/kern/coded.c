/* Tests kern/coded.h: casts to 8 and 4 bits against the list of a type's numbers, scales by their
 * definitions, and the three kernels against plain loops.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "../support/tap.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kern/convert.h"
#include "kern/kernel.h"

static const enum shd_dtype codes[] = {SHD_F8E4M3, SHD_F8E5M2, SHD_F4E2M1};

/* ---- casts ---- */

static double value_of(enum shd_dtype code, uint8_t bits)
{
    double value;

    kern_load_f64(code, &bits, 1, 1, &value);
    return value;
}

static uint8_t bits_of(enum shd_dtype code, double value)
{
    uint8_t bits;

    kern_store_f64(code, &bits, 1, 1, &value);
    return bits;
}

/* The code of a magnitude by its definition: the nearest number of the type, with an even code
 * between two; the numbers of codes 0, 1, ... grow. */
static uint8_t nearest(const double *numbers, double size)
{
    int low = 0;
    double below, above;

    while (numbers[low + 1] <= size)
        low++;
    below = size - numbers[low];
    above = numbers[low + 1] - size;
    if (below == above)
        return (uint8_t)(low % 2 ? low + 1 : low);
    return (uint8_t)(below < above ? low : low + 1);
}

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    return *state ^= *state << 5;
}

/* Whether a float within the largest number rounds as defined. */
static bool rounds_right(enum shd_dtype code, const double *numbers, uint32_t bits)
{
    float x;
    uint8_t sign = bits >> 31 ? 0x80 : 0;

    memcpy(&x, &bits, sizeof x);
    if (isnan(x))
        return code == SHD_F4E2M1 || bits_of(code, (double)x) == (sign | 0x7f);
    if (fabsf(x) > (float)kern_code_largest(code))
        return kern_code_round(code, (double)x) == copysign(kern_code_largest(code), (double)x);
    return bits_of(code, (double)x) == (sign | nearest(numbers, fabs((double)x))) &&
           kern_code_round(code, (double)x) == value_of(code, bits_of(code, (double)x));
}

/* Every bfloat16, the middle of each two codes with its neighbours, and random floats. */
static void test_casts(void)
{
    for (size_t t = 0; t < 3; t++) {
        double numbers[129];
        uint32_t state = 7, nwrong = 0;

        for (int c = 0; c < 128; c++)
            numbers[c] = value_of(codes[t], (uint8_t)c);
        for (int c = 0; c < 129; c++)
            if (c == 128 || !(numbers[c] <= kern_code_largest(codes[t])))
                numbers[c] = INFINITY;
        for (uint32_t i = 0; i < 65536; i++)
            nwrong += !rounds_right(codes[t], numbers, i << 16);
        for (uint32_t i = 0; i < 40000; i++)
            nwrong += !rounds_right(codes[t], numbers, next_random(&state));
        for (int c = 0; isfinite(numbers[c + 1]); c++) {
            float middle = (float)((numbers[c] + numbers[c + 1]) / 2);
            uint32_t bits;

            memcpy(&bits, &middle, sizeof bits);
            for (uint32_t k = 0; k < 3; k++)
                nwrong += !rounds_right(codes[t], numbers, bits - 1 + k);
        }
        ok(nwrong == 0, "%s: nearest, ties to even, saturated", shd_dtype_name(codes[t]));
    }
    ok(bits_of(SHD_F8E4M3, 464) == 0x7e && bits_of(SHD_F8E4M3, 464.1) == 0x7f &&
           bits_of(SHD_F8E5M2, 61439) == 0x7b && bits_of(SHD_F8E5M2, -61440) == 0xfc,
       "unsaturated casts end as PyTorch's do: in NaN, or an infinity");
}

/* ---- scales ---- */

static void test_scales(void)
{
    struct kern_scale s = kern_scale_of(SHD_F8E4M3, KERN_SCALE_EXACT, 7, 0);
    float outer = 100.0f / 2688;

    ok(s.to == 64 && s.from == 1.0f / 64, "exact: 448 / amax");
    s = kern_scale_of(SHD_F8E4M3, KERN_SCALE_EXACT, 0, 0);
    ok(isfinite(s.to) && s.to > 1e14f, "exact: zeros have a finite scale");
    ok(kern_scale_of(SHD_F8E4M3, KERN_SCALE_POWER, 448, 0).to == 1 &&
           kern_scale_of(SHD_F8E4M3, KERN_SCALE_POWER, 448.1f, 0).from == 2 &&
           kern_scale_of(SHD_F8E4M3, KERN_SCALE_POWER, 225, 0).to == 1 &&
           kern_scale_of(SHD_F8E4M3, KERN_SCALE_POWER, 224, 0).to == 2,
       "power of two: the largest by which nothing saturates");
    s = kern_scale_of(SHD_F4E2M1, KERN_SCALE_DOUBLE, 100, 100);
    ok(s.from == outer * 448, "double: the largest block has the largest scale of e4m3");
    s = kern_scale_of(SHD_F4E2M1, KERN_SCALE_DOUBLE, 0, 100);
    ok(s.from == outer * 0x1p-6f, "double: a block of zeros has the least normal scale");
    s = kern_scale_of(SHD_F4E2M1, KERN_SCALE_DOUBLE, 0, 0);
    ok(s.to == 0 && s.from == 0, "double: an array of zeros stays zero");
    ok(isnan(kern_scale_of(SHD_F8E4M3, KERN_SCALE_POWER, NAN, 0).to) &&
           isnan(kern_scale_of(SHD_F8E4M3, KERN_SCALE_EXACT, NAN, 0).to),
       "a NaN amax makes its group NaN");
}

/* ---- kernels ---- */

#define M 6
#define N 10
#define K 24
#define EACH 8 /* elements of a block, which the device's part cuts: it begins at element 4 */
#define FIRST 4
#define BLOCKS 4 /* of elements 4 to 27 */

static float a[M * K], b[K * N];

static void fill(float *x, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = ldexpf((float)(next_random(&seed) % 2001) - 1000, -(int)(next_random(&seed) % 12));
}

static int64_t block_of(int64_t k)
{
    return (FIRST + k) / EACH;
}

/* a[M, K] in blocks of 1 x EACH; b[K, N] in blocks of EACH x 5. */
static struct kern_grid grid_of_a(enum kern_scaling scaling)
{
    return (struct kern_grid){.ndims = 2,
                              .extent = {M, K},
                              .stride = {BLOCKS, 1},
                              .ncoarse = 1,
                              .coarse = {{1, EACH, 100 * EACH, 0}},
                              .count = M * BLOCKS,
                              .code = SHD_F8E4M3,
                              .scaling = scaling};
}

static struct kern_grid grid_of_b(enum kern_scaling scaling)
{
    return (struct kern_grid){.ndims = 2,
                              .extent = {K, N},
                              .stride = {2, 1},
                              .ncoarse = 2,
                              .coarse = {{0, EACH, 100 * EACH, 0}, {1, 5, N, 2}},
                              .count = BLOCKS * 2,
                              .code = SHD_F8E5M2,
                              .scaling = scaling};
}

static const int64_t offsets[KERN_OFFSETS_MAX] = {FIRST, 0, 0, 0};

static uint64_t run(const struct kern_kernel *kernel, const union kern_desc *desc,
                    const void *const *in, void *out)
{
    const struct kern_args args = {
        .in = in, .out = (void *[]){out}, .offsets = offsets, .nthreads = 2};

    return kernel->run(desc, &args);
}

static void test_amax(float *of_a, float *of_b)
{
    const union kern_desc da = {.amax = {SHD_F32, grid_of_a(KERN_SCALE_EXACT)}};
    const union kern_desc db = {.amax = {SHD_F32, grid_of_b(KERN_SCALE_EXACT)}};
    float want_a[M * BLOCKS] = {0}, want_b[BLOCKS * 2] = {0};

    (void)run(&kern_kernel_amax, &da, (const void *[]){a}, of_a);
    (void)run(&kern_kernel_amax, &db, (const void *[]){b}, of_b);
    for (int64_t k = 0; k < K; k++) {
        for (int64_t m = 0; m < M; m++) {
            float *want = &want_a[m * BLOCKS + block_of(k)];

            *want = fmaxf(*want, fabsf(a[m * K + k]));
        }
        for (int64_t n = 0; n < N; n++) {
            float *want = &want_b[block_of(k) * 2 + n / 5];

            *want = fmaxf(*want, fabsf(b[k * N + n]));
        }
    }
    ok(!memcmp(want_a, of_a, sizeof want_a) && !memcmp(want_b, of_b, sizeof want_b),
       "amax: the largest magnitude of each block, of parts of blocks too");
    a[3] = NAN;
    (void)run(&kern_kernel_amax, &da, (const void *[]){a}, want_a);
    ok(isnan(want_a[0]) && want_a[1] == of_a[1], "amax: NaN stays");
    a[3] = 1;
    (void)run(&kern_kernel_amax, &da, (const void *[]){a}, of_a);
    ok(kern_kernel_amax.bytes(&da, offsets) == 4 * (M * K + M * BLOCKS), "amax: bytes");
}

/* The code of an element, and the dequantized value. */
static double coded(enum shd_dtype code, enum kern_scaling scaling, float x, float amax,
                    double *back)
{
    struct kern_scale s = kern_scale_of(code, scaling, amax, 0);
    double value = kern_code_round(code, (double)(x * s.to));

    *back = (double)((float)value * s.from);
    return value;
}

static void test_product(enum kern_scaling scaling, const float *of_a, const float *of_b)
{
    const union kern_desc ea = {.encode = {.dtype = SHD_F32, .grid = grid_of_a(scaling)}};
    const union kern_desc eb = {.encode = {.dtype = SHD_F32, .grid = grid_of_b(scaling)}};
    union kern_desc d = {.coded = {.dtype = SHD_F32,
                                   .product.einsum = {.ndims = 3,
                                                      .extent = {M, N, K},
                                                      .a_has = 5,
                                                      .b_has = 6,
                                                      .c_has = 3,
                                                      .a_stride = {K, 0, 1},
                                                      .b_stride = {0, 1, N},
                                                      .c_stride = {N, 1, 0}},
                                   .a = grid_of_a(scaling),
                                   .b = grid_of_b(scaling)}};
    uint8_t ca[M * K], cb[K * N];
    float c[M * N];
    double worst = 0;
    int nwrong = 0;
    uint64_t flops;

    (void)run(&kern_kernel_encode, &ea, (const void *[]){a, of_a}, ca);
    (void)run(&kern_kernel_encode, &eb, (const void *[]){b, of_b}, cb);
    flops = run(&kern_kernel_coded, &d, (const void *[]){ca, cb, of_a, of_b}, c);
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++) {
            double sum = 0, size = 0;

            for (int64_t k = 0; k < K; k++) {
                double x, y;
                float amax_a = of_a[m * BLOCKS + block_of(k)];
                float amax_b = of_b[block_of(k) * 2 + n / 5];

                nwrong += value_of(SHD_F8E4M3, ca[m * K + k]) !=
                          coded(SHD_F8E4M3, scaling, a[m * K + k], amax_a, &x);
                nwrong += value_of(SHD_F8E5M2, cb[k * N + n]) !=
                          coded(SHD_F8E5M2, scaling, b[k * N + n], amax_b, &y);
                sum += x * y;
                size += fabs(x * y);
            }
            worst = fmax(worst, fabs(sum - (double)c[m * N + n]) / size);
        }
    ok(nwrong == 0, "encode: each element by its block's scale (scaling %d)", scaling);
    ok(worst < 0x1p-19, "coded product: of decoded elements (scaling %d)", scaling);
    ok(flops == kern_flops(&kern_kernel_coded, &d, offsets) && flops == 2 * M * N * K,
       "coded product: flops");
    ok(kern_kernel_coded.bytes(&d, offsets) ==
               M * K + K * N + 4 * (M * BLOCKS + BLOCKS * 2 + M * N) &&
           kern_kernel_encode.bytes(&ea, offsets) == 5 * M * K + 4 * M * BLOCKS,
       "quantize, quantized matmul: bytes, one per element");
}

/* ---- experts' arrays ---- */

enum { EXPERTS = 3, GROUPS = 2, CAPACITY = 5, SLOTS = GROUPS * CAPACITY, WIDTH = 4, HIDDEN = 6 };

static const int32_t counts[GROUPS * EXPERTS] = {5, 0, 3, 1, 2, 4}; /* [group][expert] */
static const int32_t expected[EXPERTS] = {3, 1, 4};                 /* of a plan */

/* rows[expert, slot, width], with a magnitude for each two elements along the slots of a group. */
static struct kern_grid grid_of_rows(int64_t width, uint32_t at)
{
    return (struct kern_grid){.ndims = 3,
                              .extent = {EXPERTS, SLOTS, width},
                              .stride = {GROUPS * 3 * width, width, 1},
                              .ncoarse = 1,
                              .coarse = {{1, 2, CAPACITY, at}},
                              .count = (uint64_t)(EXPERTS * GROUPS * 3 * width),
                              .code = SHD_F8E4M3};
}

/* Round rows, and set `back` to what codes and magnitudes stand for. */
static void round_rows(const float *x, const struct kern_grid *grid, uint8_t *to, float *amax,
                       float *back)
{
    const union kern_desc of_amax = {.amax = {SHD_F32, *grid}};
    const union kern_desc encode = {.encode = {.dtype = SHD_F32, .grid = *grid}};
    static const int64_t none[KERN_OFFSETS_MAX];
    const struct kern_args args = {
        .in = (const void *[]){x, amax}, .out = (void *[]){amax}, .offsets = none, .nthreads = 1};
    const struct kern_args codes_of = {
        .in = (const void *[]){x, amax}, .out = (void *[]){to}, .offsets = none, .nthreads = 1};
    const struct kern_args back_of = {
        .in = (const void *[]){to, amax}, .out = (void *[]){back}, .offsets = none, .nthreads = 1};

    (void)kern_kernel_amax.run(&of_amax, &args);
    (void)kern_kernel_encode.run(&encode, &codes_of);
    (void)kern_kernel_decode.run(&encode, &back_of);
}

/* The first element of a group's blocks, and the last: blocks of two, and one of one. */
static void test_periods(const float *x, const float *amax)
{
    int nwrong = 0;

    for (int64_t e = 0; e < EXPERTS; e++)
        for (int64_t s = 0; s < SLOTS; s++)
            for (int64_t w = 0; w < WIDTH; w++) {
                int64_t first = s - s % CAPACITY % 2, block = s / CAPACITY * 3 + s % CAPACITY / 2;
                float most = fabsf(x[(e * SLOTS + first) * WIDTH + w]);

                if (first % CAPACITY + 1 < CAPACITY)
                    most = fmaxf(most, fabsf(x[(e * SLOTS + first + 1) * WIDTH + w]));
                nwrong += amax[(e * GROUPS * 3 + block) * WIDTH + w] != most;
            }
    ok(nwrong == 0, "amax: blocks begin anew with each group's slots");
}

/* dw[expert, width, hidden], summed over the taken slots. */
static void test_experts(void)
{
    enum { NX = EXPERTS * SLOTS * WIDTH, NY = EXPERTS * SLOTS * HIDDEN };
    const struct kern_grid gx = grid_of_rows(WIDTH, 1), gy = grid_of_rows(HIDDEN, 3);
    const struct kern_routing routing = {.experts = EXPERTS, .counts = expected};
    const union kern_desc d = {
        .coded = {.dtype = SHD_F32,
                  .product = {.einsum = {.ndims = 4,
                                         .extent = {EXPERTS, SLOTS, WIDTH, HIDDEN},
                                         .a_has = 7,
                                         .b_has = 11,
                                         .c_has = 13,
                                         .a_stride = {SLOTS * WIDTH, WIDTH, 1, 0},
                                         .b_stride = {SLOTS * HIDDEN, HIDDEN, 0, 1},
                                         .c_stride = {WIDTH * HIDDEN, 0, HIDDEN, 1}},
                              .expert = 0,
                              .slot = 1,
                              .groups = GROUPS,
                              .capacity = CAPACITY,
                              .routing = &routing},
                  .a = gx,
                  .b = gy}};
    static const int64_t none[KERN_OFFSETS_MAX];
    float x[NX], y[NY], amax_x[NX], amax_y[NY], back_x[NX], back_y[NY];
    float got[EXPERTS * WIDTH * HIDDEN];
    uint8_t cx[NX], cy[NY];
    const struct kern_args args = {.in = (const void *[]){cx, cy, amax_x, amax_y, counts},
                                   .out = (void *[]){got},
                                   .offsets = none,
                                   .nthreads = 2};
    double worst = 0;
    uint64_t flops, taken = 0;

    fill(x, NX, 7);
    fill(y, NY, 9);
    round_rows(x, &gx, cx, amax_x, back_x);
    round_rows(y, &gy, cy, amax_y, back_y);
    test_periods(x, amax_x);
    flops = kern_kernel_coded_grouped.run(&d, &args);
    for (int64_t e = 0; e < EXPERTS; e++)
        for (int64_t i = 0; i < WIDTH * HIDDEN; i++) {
            double sum = 0, size = 1e-9;

            for (int64_t s = 0; s < SLOTS; s++) {
                int64_t row = e * SLOTS + s;
                double product = (double)back_x[row * WIDTH + i / HIDDEN] *
                                 (double)back_y[row * HIDDEN + i % HIDDEN];

                if (s % CAPACITY >= counts[s / CAPACITY * EXPERTS + e])
                    continue;
                sum += product;
                size += fabs(product);
                taken += i == 0;
            }
            worst = fmax(worst, fabs(sum - (double)got[e * WIDTH * HIDDEN + i]) / size);
        }
    ok(worst < 0x1p-19, "quantized grouped matmul: of decoded elements of taken slots");
    ok(flops == 2 * taken * WIDTH * HIDDEN && taken == 15 &&
           kern_flops(&kern_kernel_coded_grouped, &d, none) == 2 * 16 * WIDTH * HIDDEN,
       "quantized grouped matmul: flops of the slots taken, a plan's of those expected");
}

int main(void)
{
    float of_a[M * BLOCKS], of_b[BLOCKS * 2];

    plan(0);
    fill(a, M * K, 3);
    fill(b, K * N, 5);
    test_casts();
    test_scales();
    test_amax(of_a, of_b);
    test_product(KERN_SCALE_EXACT, of_a, of_b);
    test_product(KERN_SCALE_POWER, of_a, of_b);
    test_experts();
    return done();
}
