/* Tests copying, combining, filling and comparing data of kern/kern.h, and that the conversions of
 * 16-bit floats in kern equal those of the library.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "../support/tap.h"

#include <math.h>

#include "kern/convert.h"
#include "kern/isa.h"
#include "kern_data.h"

/* ---- copy_box ---- */

static bool copy_once(size_t size)
{
    uint32_t ndims = random_below(6);
    int64_t extent[6], to[6], from[6], count = 1, ndst, nsrc;
    unsigned char *src, *dst, *want;
    bool same;

    for (uint32_t d = 0; d < ndims; d++) {
        extent[d] = random_below(20) == 0 ? 0 : 1 + random_below(7);
        count *= extent[d];
    }
    ndst = random_strides(ndims, extent, UINT32_MAX, to);
    nsrc = random_strides(ndims, extent, random_below(3) ? UINT32_MAX : 5, from);
    src = malloc((size_t)nsrc * size);
    dst = malloc((size_t)ndst * size);
    want = malloc((size_t)ndst * size);
    for (size_t i = 0; i < (size_t)nsrc * size; i++)
        src[i] = (unsigned char)random_below(256);
    memset(dst, 0xee, (size_t)ndst * size);
    memset(want, 0xee, (size_t)ndst * size);
    for (int64_t n = 0; n < count; n++) {
        int64_t rest = n, i = 0, j = 0;

        for (uint32_t d = ndims; d-- > 0; rest /= extent[d]) {
            i += rest % extent[d] * to[d];
            j += rest % extent[d] * from[d];
        }
        memcpy(want + (size_t)i * size, src + (size_t)j * size, size);
    }
    kern_copy_box(size, ndims, extent, dst, to, src, from);
    same = memcmp(dst, want, (size_t)ndst * size) == 0;
    free(src);
    free(dst);
    free(want);
    return same;
}

static void test_copy(void)
{
    static const size_t sizes[] = {1, 2, 3, 4, 8, 16};
    int nruns = random_count(150);

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        int nbad = 0;

        for (int i = 0; i < nruns; i++)
            nbad += !copy_once(sizes[s]);
        ok(nbad == 0, "random boxes of %d bytes an element: %d of %d differ", (int)sizes[s], nbad,
           nruns);
    }
}

/* ---- combine and scale ---- */

static double plain_combine(enum shd_reduce_op op, double x, double y)
{
    return op == SHD_MAX ? fmax(x, y) : op == SHD_MIN ? fmin(x, y) : x + y;
}

static void test_combine(void)
{
    static const char *const names[] = {"sum", "mean", "max", "min"};
    enum { N = 1003 };

    DTYPES(dtype)
    {
        for (enum shd_reduce_op op = SHD_SUM; op <= SHD_MIN; op++) {
            void *dst = random_array(dtype, N, 90);
            const void *const srcs[] = {random_array(dtype, N, 90), random_array(dtype, N, 90),
                                        random_array(dtype, N, 90), random_array(dtype, N, 90)};
            void *want = malloc(N * 8);
            bool same = true;

            for (int64_t n = 0; n <= N; n = n * 3 + 1) {
                uint32_t nsrcs = (uint32_t)n % 5;

                memcpy(want, dst, N * 8);
                for (uint32_t s = 0; s < nsrcs; s++)
                    for (int64_t i = 0; i < n; i++)
                        set_elem(dtype, want, i,
                                 plain_combine(op, get_elem(dtype, want, i),
                                               get_elem(dtype, srcs[s], i)));
                kern_combine(dtype, op, dst, srcs, nsrcs, (uint64_t)n);
                for (int64_t i = 0; i < N; i++)
                    same = same && get_elem(dtype, dst, i) == get_elem(dtype, want, i);
            }
            ok(same, "combine: %s, %s", names[op], shd_dtype_name(dtype));
            free(dst);
            for (int s = 0; s < 4; s++)
                free((void *)srcs[s]);
            free(want);
        }
    }
}

static void test_combine_special(void)
{
    float x[2] = {NAN, 1}, y[2] = {1, NAN};
    int32_t i = INT32_MAX, j = 1;

    kern_combine(SHD_F32, SHD_MAX, x, &(const void *){y}, 1, 2);
    ok(isnan(x[0]) && isnan(x[1]), "combine: max hands on a NaN of either side");
    kern_combine(SHD_I32, SHD_SUM, &i, &(const void *){&j}, 1, 1);
    ok(i == INT32_MIN, "combine: int32 wraps");
}

static void test_scale(void)
{
    enum { N = 301 };

    DTYPES(dtype)
    {
        void *x = malloc(N * 8);
        bool same = true;

        for (int i = 0; i < N; i++)
            set_elem(dtype, x, i, 3 * (i - 150) % 128);
        kern_scale(dtype, x, 1.0 / 3, N - 1);
        for (int i = 0; i < N - 1; i++)
            same = same && fabs(get_elem(dtype, x, i) - (3 * (i - 150) % 128) / 3.0) <=
                               (dtype == SHD_I32 ? 0.5 : 0.1);
        ok(same && get_elem(dtype, x, N - 1) == 450 % 128, "scale: %s", shd_dtype_name(dtype));
        free(x);
    }
}

/* ---- fill and compare ---- */

static double plain_source(const struct kern_source *source, uint64_t index)
{
    uint32_t u = (uint32_t)(index * 2654435761u + source->seed);

    if (source->modulus)
        return (u >> 8) % source->modulus;
    return (double)(float)((u / 4294967296.0 - 0.5) * source->scale);
}

static void test_fill(void)
{
    static const int64_t shape[3] = {7, 6, 700}, offset[3] = {2, 3, 300}, extent[3] = {4, 2, 299};
    static const struct kern_source sources[] = {
        {.seed = 7, .scale = 2.5}, {.seed = 11, .scale = 100}, {.seed = 3, .modulus = 11}};
    enum { N = 4 * 2 * 299 };

    DTYPES(dtype)
    {
        for (size_t s = 0; s < 3; s++) {
            void *got = malloc(N * 8);
            bool same = true;

            kern_fill(&sources[s], dtype, 3, shape, offset, extent, got);
            for (int64_t i = 0; i < N; i++) {
                int64_t z = i % 299 + 300, y = i / 299 % 2 + 3, x = i / 598 + 2;
                double want = plain_source(&sources[s], (uint64_t)((x * 6 + y) * 700 + z));

                same = same && get_elem(dtype, got, i) == rounded(dtype, want);
            }
            ok(same, "fill: a shard of the whole, source %d, %s", (int)s, shd_dtype_name(dtype));
            free(got);
        }
    }
}

/* Rows of a longer sequence: the batch of a step and microbatch, and a shard of the batch. */
static void test_fill_place(void)
{
    static const int64_t shape[2] = {4, 6}, offset[2] = {1, 2}, extent[2] = {3, 4};
    struct kern_source source = {.seed = 3, .modulus = 1000};
    double got[12];

    source.place = (struct kern_place){
        .first = 1, .per_step = 1000, .per_microbatch = 100, .columns = 6, .row = 9};
    for (source.step = 0; source.step < 3; source.step++)
        for (source.microbatch = 0; source.microbatch < 2; source.microbatch++) {
            bool same = true;

            kern_fill(&source, SHD_F64, 2, shape, offset, extent, got);
            for (uint64_t i = 0; i < 12; i++) {
                uint64_t at =
                    1 + source.step * 1000 + source.microbatch * 100 + (i / 4 + 1) * 9 + i % 4 + 2;

                same = same && got[i] == plain_source(&source, at);
            }
            ok(same, "fill: rows of a sequence, step %u, microbatch %u", source.step,
               source.microbatch);
        }
    ok(kern_source_changes(&source), "fill: a place by step changes");
}

static void test_fill_by_step(void)
{
    static const double values[3] = {1.0 / 3, 2, -5};
    struct kern_source source = {.by_step = values, .nsteps = 3};

    for (source.step = 0; source.step < 5; source.step++) {
        double want = values[source.step < 2 ? source.step : 2], got;
        float got_f32;

        kern_fill(&source, SHD_F64, 0, NULL, NULL, NULL, &got);
        kern_fill(&source, SHD_F32, 0, NULL, NULL, NULL, &got_f32);
        ok(got == (double)(float)want && got_f32 == (float)want, "fill: by step, step %u",
           source.step);
    }
    ok(kern_source_changes(&source) && !kern_source_changes(&(struct kern_source){.scale = 1}),
       "fill: by step changes, and others do not");
}

static void test_fill_far(void)
{
    static const int64_t shape[2] = {1 << 20, 1 << 20}, offset[2] = {999999, 12345};
    static const int64_t extent[2] = {1, 1}, none[2] = {0, 5};
    struct kern_source source = {.seed = 5, .scale = 1};
    double got;

    kern_fill(&source, SHD_F64, 2, shape, offset, extent, &got);
    ok(got == plain_source(&source, 999999u * (uint64_t)(1 << 20) + 12345),
       "fill: indexes beyond 32 bits");
    kern_fill(&source, SHD_F64, 2, shape, offset, none, NULL);
    kern_fill(&source, SHD_F64, 0, NULL, NULL, NULL, &got);
    ok(got == plain_source(&source, 0), "fill: a scalar");
}

/* Whether one element `is` of a shard, compared with `should`, counts as right within any finite
 * bound. */
static bool is_right(enum shd_dtype dtype, void *got, double is, double should)
{
    static const int64_t one[1] = {1}, none[1] = {0};
    const double huge = 1e300;
    struct kern_difference d = {0};

    set_elem(dtype, got, 0, is);
    kern_compare(dtype, 1, one, none, one, got, &should, &huge, &d);
    return d.ratio <= 1;
}

static void compare_by_place(enum shd_dtype dtype, void *got)
{
    const char *type = shd_dtype_name(dtype);

    ok(is_right(dtype, got, NAN, NAN) && is_right(dtype, got, INFINITY, INFINITY) &&
           is_right(dtype, got, -INFINITY, -INFINITY),
       "compare: what is not finite in both, %s", type);
    ok(!is_right(dtype, got, NAN, 1) && !is_right(dtype, got, INFINITY, 1) &&
           !is_right(dtype, got, INFINITY, NAN) && !is_right(dtype, got, NAN, INFINITY),
       "compare: non-finite values of one array, %s", type);
    ok(!is_right(dtype, got, 1, NAN) && !is_right(dtype, got, 1, -INFINITY) &&
           !is_right(dtype, got, -INFINITY, INFINITY),
       "compare: another number, or sign, where one is not finite, %s", type);
}

static void test_compare(void)
{
    static const int64_t shape[2] = {5, 300}, offset[2] = {1, 20}, extent[2] = {3, 270};
    static double want[5 * 300], allowed[5 * 300];

    DTYPES(dtype)
    {
        void *got = malloc(3 * 270 * 8);
        const char *type = shd_dtype_name(dtype);
        struct kern_difference d = {0};

        for (int i = 0; i < 5 * 300; i++) {
            want[i] = i % 97;
            allowed[i] = 1;
        }
        want[0] = 1e9; /* outside the shard */
        for (int i = 0; i < 3 * 270; i++)
            set_elem(dtype, got, i, want[(i / 270 + 1) * 300 + i % 270 + 20]);
        kern_compare(dtype, 2, shape, offset, extent, got, want, NULL, &d);
        ok(d.ratio == 0 && d.most == 0 && d.size == 96, "compare: equal, %s", type);
        set_elem(dtype, got, 270 + 7, want[2 * 300 + 27] + 2);
        kern_compare(dtype, 2, shape, offset, extent, got, want, allowed, &d);
        ok(d.ratio == 2 && d.most == 2 && d.at == 2 * 300 + 27 && d.got == d.want + 2 &&
               d.allowed == 1,
           "compare: one element off, %s", type);
        allowed[2 * 300 + 27] = INFINITY;
        d = (struct kern_difference){0};
        kern_compare(dtype, 2, shape, offset, extent, got, want, allowed, &d);
        ok(d.ratio == 0 && d.nopen == 1, "compare: where anything is allowed, %s", type);
        allowed[2 * 300 + 27] = 4;
        kern_compare(dtype, 2, shape, offset, extent, got, want, allowed, &d);
        ok(d.ratio == 0.5, "compare: each place by its own bound, %s", type);
        if (dtype != SHD_I32)
            compare_by_place(dtype, got);
        free(got);
    }
}

/* ---- conversions ---- */

static bool same_half(uint16_t a, uint16_t b, bool nan)
{
    return nan || a == b;
}

static void test_halves(void)
{
    int nbad_bf16 = 0, nbad_f16 = 0;

    for (uint32_t bits = 0; bits < 65536; bits++) {
        float x = kern_f32_of_bf16((uint16_t)bits), y = shd_bf16_to_f32((uint16_t)bits);

        nbad_bf16 += !(x == y || (isnan(x) && isnan(y))) || !signbit(x) != !signbit(y);
        x = kern_f32_of_f16((uint16_t)bits);
        y = shd_f16_to_f32((uint16_t)bits);
        nbad_f16 += !(x == y || (isnan(x) && isnan(y))) || !signbit(x) != !signbit(y);
    }
    ok(nbad_bf16 == 0, "bfloat16 to float32 is the library's: %d differ", nbad_bf16);
    ok(nbad_f16 == 0, "float16 to float32 is the library's: %d differ", nbad_f16);
    nbad_bf16 = nbad_f16 = 0;
    for (uint64_t word = 0; word < 1ull << 32; word += 2039) { /* a prime, so that every pattern
                                                                * of low bits occurs */
        uint32_t bits = (uint32_t)word;
        float x;

        memcpy(&x, &bits, sizeof x);
        nbad_bf16 += !same_half(kern_bf16_of_f32(x), shd_bf16_from_f32(x), isnan(x));
        nbad_f16 += !same_half(kern_f16_of_f32(x), shd_f16_from_f32(x), isnan(x));
        if (isnan(x))
            nbad_f16 += !isnan(shd_f16_to_f32(kern_f16_of_f32(x))) ||
                        !isnan(shd_bf16_to_f32(kern_bf16_of_f32(x)));
    }
    ok(nbad_bf16 == 0, "float32 to bfloat16 is the library's: %d differ", nbad_bf16);
    ok(nbad_f16 == 0, "float32 to float16 is the library's: %d differ", nbad_f16);
}

static void test_ties(void)
{
    static const float ties[] = {1 + 0x1p-8f, 1 + 0x3p-8f,  1 + 0x1p-11f, 1 + 0x3p-11f,
                                 0x1p-25f,    0x3p-25f,     65519.99f,    65520,
                                 0x1p-14f,    0x1.ffep-15f, -0.0f};
    bool same = true;

    for (size_t i = 0; i < sizeof ties / sizeof ties[0]; i++)
        same = same && kern_bf16_of_f32(ties[i]) == shd_bf16_from_f32(ties[i]) &&
               kern_f16_of_f32(ties[i]) == shd_f16_from_f32(ties[i]);
    ok(same, "ties, subnormals and overflow round as the library's");
}

static void test_loads(void)
{
    DTYPES(dtype)
    {
        for (enum kern_isa isa = KERN_ISA_BASE; isa <= KERN_NISAS; isa++) {
            char *x = random_array(dtype, 300, 100);
            float f[128];
            double g[128];
            bool same = true;

            kern_isa_limit(isa);
            for (int64_t stride = -2; stride <= 2; stride++) {
                const void *first = x + 150 * shd_dtype_size(dtype);

                kern_load_f32(dtype, first, stride, 70, f);
                kern_load_f64(dtype, first, stride, 70, g);
                for (int64_t i = 0; i < 70; i++) {
                    double want = get_elem(dtype, x, 150 + i * stride);

                    same = same && (double)f[i] == want && g[i] == want;
                }
            }
            ok(same, "loads: %s, width %d", shd_dtype_name(dtype), (int)isa);
            free(x);
        }
    }
}

static void test_int_of_double(void)
{
    ok(kern_i32_of_f64(-3.9) == -3 && kern_i32_of_f64(3.9) == 3, "to int32: truncates");
    ok(kern_i32_of_f64(1e10) == INT32_MAX && kern_i32_of_f64(-1e10) == INT32_MIN &&
           kern_i32_of_f64(INFINITY) == INT32_MAX && kern_i32_of_f64(-INFINITY) == INT32_MIN,
       "to int32: saturates");
    ok(kern_i32_of_f64(NAN) == 0, "to int32: NaN is 0");
}

/* The code of each 8-bit float converts to its number and back, and codes are ordered like their
 * numbers. */
static void test_small_floats(void)
{
    static const enum shd_dtype dtypes[] = {SHD_F8E4M3, SHD_F8E5M2};

    for (int t = 0; t < 2; t++) {
        double values[256];
        uint8_t codes[256], back[256];
        int nwrong = 0, nfinite = 0;

        for (int c = 0; c < 256; c++)
            codes[c] = (uint8_t)c;
        kern_load_f64(dtypes[t], codes, 1, 256, values);
        kern_store_f64(dtypes[t], back, 1, 256, values);
        for (int c = 0; c < 256; c++) {
            nwrong += !isnan(values[c]) && back[c] != c;
            nwrong += isnan(values[c]) && (back[c] & 0x7f) <= 0x7c;
            nwrong += c % 128 > 0 && isfinite(values[c]) && fabs(values[c]) <= fabs(values[c - 1]);
            nfinite += isfinite(values[c]) != 0;
        }
        ok(nwrong == 0, "%s: codes and numbers", shd_dtype_name(dtypes[t]));
        ok(nfinite == (t ? 248 : 254) && values[1] == (t ? 0x1p-16 : 0x1p-9) &&
               values[0x3c] == (t ? 1 : 1.5),
           "%s: the number of finite codes, and some values", shd_dtype_name(dtypes[t]));
    }
}

/* Values that a type cannot hold become its nearest value, an infinity or NaN. */
static void test_moved(void)
{
    static const struct {
        enum shd_dtype dtype;
        double in, out;
    } cases[] = {
        {SHD_I8, 127.9, 127},
        {SHD_I8, 200, 127},
        {SHD_I8, -200, -128},
        {SHD_U8, -1, 0},
        {SHD_U8, 256, 255},
        {SHD_I16, -1.5, -1},
        {SHD_I16, 40000, 32767},
        {SHD_I64, 0x1p53, 0x1p53},
        {SHD_I64, 1e30, 0x1p63},
        {SHD_I64, -1e30, -0x1p63},
        {SHD_I64, NAN, 0},
        {SHD_I8, NAN, 0},
        {SHD_BOOL, 0.5, 1},
        {SHD_BOOL, 0, 0},
        {SHD_F8E4M3, 448, 448},
        {SHD_F8E4M3, 464, 448},
        {SHD_F8E4M3, 465, NAN},
        {SHD_F8E4M3, INFINITY, NAN},
        {SHD_F8E4M3, -17, -16},
        {SHD_F8E4M3, 19, 20},
        {SHD_F8E4M3, 0x1p-10, 0},
        {SHD_F8E4M3, 0x3p-10, 0x1p-8},
        {SHD_F8E5M2, 61439, 57344},
        {SHD_F8E5M2, 61440, INFINITY},
        {SHD_F8E5M2, -1e9, -INFINITY},
        {SHD_F8E5M2, 0.9999, 1},
        {SHD_F8E5M2, NAN, NAN},
    };
    int nwrong = 0;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t room[3] = {0};
        double got[KERN_LANES];

        kern_store_f64(cases[i].dtype, room, 2, 1, &cases[i].in);
        kern_load_f64(cases[i].dtype, room, 2, 1, got);
        if (isnan(cases[i].out) ? isnan(got[0]) : got[0] == cases[i].out)
            continue;
        diag("%s of %g: %g, not %g", shd_dtype_name(cases[i].dtype), cases[i].in, got[0],
             cases[i].out);
        nwrong++;
    }
    ok(nwrong == 0, "values that storage types hold");
    for (enum shd_dtype dtype = 0; dtype < SHD_NDTYPES; dtype++)
        nwrong += kern_size(dtype) != shd_dtype_size(dtype);
    ok(nwrong == 0, "sizes of all types");
}

int main(void)
{
    plan(0);
    diag("seed %llu", (unsigned long long)random_state);
    test_copy();
    test_combine();
    test_combine_special();
    test_scale();
    test_fill();
    test_fill_place();
    test_fill_by_step();
    test_fill_far();
    test_compare();
    test_halves();
    test_ties();
    test_loads();
    test_int_of_double();
    test_small_floats();
    test_moved();
    return done();
}
