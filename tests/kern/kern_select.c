/* Tests kern/select.h, each kernel against a plain loop: rope, causal mask, embed, pick, repeat,
 * window and append.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "../support/tap.h"

#include <math.h>

#include "kern/kernel.h"
#include "kern_data.h"

#define FLOATS(dtype) DTYPES(dtype) if (dtype != SHD_I32)

static int flops_differ; /* runs whose loops counted other flops than their formula gives */

static void run(const struct kern_kernel *kernel, const union kern_desc *desc, const void *in0,
                const void *in1, void *out, const int64_t *offsets)
{
    struct kern_args args = {
        .in = (const void *[]){in0, in1},
        .out = (void *[]){out},
        .workspace = kernel->workspace_bytes ? malloc(kernel->workspace_bytes(desc) + 1) : NULL,
        .offsets = offsets,
        .nthreads = TEST_THREADS,
    };

    flops_differ += kernel->run(desc, &args) != kern_flops(kernel, desc, offsets);
    free(args.workspace);
}

static double dot(enum shd_dtype dtype, const void *x, const void *y, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += get_elem(dtype, x, i) * get_elem(dtype, y, i);
    return sum;
}

/* Whether <Ax, y> = <x, A'y>, which is exact for small integers. */
static void check_adjoint(enum shd_dtype dtype, const char *what, const void *x, const void *aty,
                          int64_t nx, const void *y, const void *ax, int64_t ny)
{
    double there = dot(dtype, ax, y, ny), back = dot(dtype, x, aty, nx);

    ok(there == back, "%s: %s: the gradient is the adjoint", shd_dtype_name(dtype), what);
}

static bool near(enum shd_dtype dtype, double got, double want)
{
    static const double of[] = {
        [SHD_F32] = 1e-6, [SHD_F64] = 1e-14, [SHD_BF16] = 8e-3, [SHD_F16] = 1e-3};

    return fabs(got - want) <= of[dtype] * 8; /* elements are below 8 */
}

/* ---- rope: [batch][position][head][pair], in a random layout ---- */

static double rope_plain(const struct kern_rope *r, const void *in, const int64_t *index,
                         int64_t at, int64_t position0)
{
    bool interleaved = r->rotation->interleaved;
    int64_t half = r->rotation->npairs, k = 2 * half, e = index[r->pair_dim];
    int64_t pair = interleaved ? e / 2 : e % half, first = interleaved ? pair * 2 : pair;
    int64_t other = interleaved ? (e ^ 1) : (e + half) % k;
    double angle = (double)(position0 + r->position0 + index[r->position_dim]) *
                   r->rotation->frequencies[pair % half];
    double x = get_elem(r->dtype, in, at), y;
    double s = r->inverse ? -sin(angle) : sin(angle);

    if (e >= k)
        return x;
    y = get_elem(r->dtype, in, at + (other - e) * r->stride[r->pair_dim]);
    return r->rotation->factor * (e == first ? x * cos(angle) - y * s : x * cos(angle) + y * s);
}

static bool rope_agrees(const struct kern_rope *r, const void *in, const void *out,
                        int64_t position0)
{
    int64_t count = 1;

    for (uint32_t d = 0; d < r->ndims; d++)
        count *= r->extent[d];
    for (int64_t n = 0; n < count; n++) {
        int64_t index[KERN_SELECT_DIMS_MAX], rest = n, at = 0;

        for (uint32_t d = r->ndims; d-- > 0; rest /= r->extent[d]) {
            index[d] = rest % r->extent[d];
            at += index[d] * r->stride[d];
        }
        if (!near(r->dtype, get_elem(r->dtype, out, at), rope_plain(r, in, index, at, position0)))
            return false;
    }
    return true;
}

/* Rotate, and back with the inverse of the factor. */
static void check_rope(enum shd_dtype dtype, bool interleaved, bool inverse, bool some)
{
    double frequencies[72];
    struct kern_rotation turn = {1 + (int64_t)random_below(70), interleaved, some ? 1.5 : 1, 0,
                                 frequencies};
    union kern_desc d = {.rope = {dtype, 4, {2, 37, 3, 0}, {0}, 1, 3, 7, &turn, inverse, false}};
    union kern_desc back = d;
    int64_t offset = 100, span;
    void *in, *out;
    bool same = true;

    for (int64_t i = 0; i < turn.npairs; i++)
        frequencies[i] = pow(10000, -(double)i / (double)turn.npairs);
    d.rope.extent[3] = 2 * turn.npairs + (some ? (int64_t)random_below(9) : 0);
    span = random_strides(4, d.rope.extent, 15, d.rope.stride);
    in = random_fractions(dtype, span);
    out = malloc((size_t)span * 8);
    memcpy(out, in, (size_t)span * shd_dtype_size(dtype));
    run(&kern_kernel_rope, &d, in, NULL, out, &offset);
    ok(rope_agrees(&d.rope, in, out, offset), "%s: rope%s%s%s", shd_dtype_name(dtype),
       interleaved ? ", interleaved" : "", inverse ? ", inverse" : "",
       some ? ", of some elements" : "");
    back = d;
    back.rope.inverse = !inverse;
    turn.factor = 1 / turn.factor;
    run(&kern_kernel_rope, &back, out, NULL, out, &offset);
    for (int64_t i = 0; i < span && same; i++)
        same = near(dtype, get_elem(dtype, in, i), get_elem(dtype, out, i));
    ok(same, "%s: rope: in place, the inverse turns back", shd_dtype_name(dtype));
    free(in);
    free(out);
}

static void test_rope(void)
{
    FLOATS(dtype)
    {
        for (int i = 0; i < 8; i++)
            check_rope(dtype, i & 1, i & 2, i & 4);
    }
}

/* ---- causal mask ---- */

static void check_causal(enum shd_dtype dtype, int64_t query0, int64_t key0, bool in_place)
{
    union kern_desc d = {.causal = {dtype, 3, {3, 7, 9}, {0}, 0, 0, 0, -1e4}};
    struct kern_causal *c = &d.causal;
    int64_t offsets[] = {query0, key0}, span, nbad = 0;
    uint64_t nseen = 0;
    void *in, *out;

    c->query_dim = random_below(3);
    c->key_dim = (c->query_dim + 1 + random_below(2)) % 3;
    span = random_strides(3, c->extent, 7, c->stride);
    in = random_fractions(dtype, span);
    out = malloc((size_t)span * 8);
    memcpy(out, in, (size_t)span * shd_dtype_size(dtype));
    run(&kern_kernel_causal, &d, in_place ? out : in, NULL, out, offsets);
    for (int64_t n = 0; n < 3 * 7 * 9; n++) {
        int64_t index[] = {n / 63, n / 9 % 7, n % 9};
        int64_t at = index[0] * c->stride[0] + index[1] * c->stride[1] + index[2] * c->stride[2];
        bool seen = key0 + index[c->key_dim] <= query0 + index[c->query_dim];
        double want = seen ? get_elem(dtype, in, at) : rounded(dtype, c->masked);

        nbad += get_elem(dtype, out, at) != want;
        nseen += seen;
    }
    ok(nbad == 0, "%s: causal: queries from %d, keys from %d%s", shd_dtype_name(dtype), (int)query0,
       (int)key0, in_place ? ", in place" : "");
    ok(kern_kernel_causal.bytes(&d, offsets) == (3 * 7 * 9 + nseen) * shd_dtype_size(dtype),
       "%s: causal: the %d that are seen are read, and all are written", shd_dtype_name(dtype),
       (int)nseen);
    free(in);
    free(out);
}

static void test_causal(void)
{
    FLOATS(dtype)
    {
        check_causal(dtype, 0, 0, false);
        check_causal(dtype, 5, 2, true);
        check_causal(dtype, 0, 100, false);
        check_causal(dtype, 100, 0, true);
    }
}

/* ---- embed: a device with rows 10..14 of a table ---- */

static void check_embed(enum shd_dtype dtype, int64_t width)
{
    enum { ROWS = 5, TOKENS = 200 };
    union kern_desc d = {.embed = {dtype, ROWS, TOKENS, width}};
    int64_t offset = 10, nbad = 0;
    void *table = random_array(dtype, ROWS * width, 3), *g = random_array(dtype, TOKENS * width, 2);
    void *out = random_array(dtype, TOKENS * width, 3),
         *grad = random_array(dtype, ROWS * width, 3);
    int32_t ids[TOKENS];

    for (int t = 0; t < TOKENS; t++)
        ids[t] = (int32_t)random_below(20);
    ids[0] = 10;
    ids[TOKENS - 1] = 14;
    ids[3] = INT32_MAX;
    ids[4] = INT32_MIN;
    ids[5] = -1;
    run(&kern_kernel_embed, &d, table, ids, out, &offset);
    run(&kern_kernel_embed_grad, &d, ids, g, grad, &offset);
    for (int64_t i = 0; i < TOKENS * width; i++) {
        int64_t row = ids[i / width] - offset;
        double want = row >= 0 && row < ROWS ? get_elem(dtype, table, row * width + i % width) : 0;

        nbad += get_elem(dtype, out, i) != want;
    }
    ok(nbad == 0, "%s: embed: rows of width %d", shd_dtype_name(dtype), (int)width);
    check_adjoint(dtype, "embed", table, grad, ROWS * width, g, out, TOKENS * width);
    free(table);
    free(out);
    free(g);
    free(grad);
}

/* A thousand times 1/16 is 62.5; a 16-bit sum would stop growing before. */
static void test_embed_rounding(void)
{
    enum { TOKENS = 1000 };
    union kern_desc d = {.embed = {SHD_BF16, 1, TOKENS, 1}};
    int64_t offset = 0;
    uint16_t g[TOKENS], out[1];
    int32_t ids[TOKENS] = {0};

    for (int t = 0; t < TOKENS; t++)
        g[t] = shd_bf16_from_f32(0.0625f);
    run(&kern_kernel_embed_grad, &d, ids, g, out, &offset);
    ok(shd_bf16_to_f32(out[0]) == 62.5f, "embed: a gradient's sum is rounded once");
}

static void test_embed(void)
{
    FLOATS(dtype)
    {
        check_embed(dtype, 1);
        check_embed(dtype, 300);
    }
    test_embed_rounding();
}

/* ---- pick: a device with classes 4..9 ---- */

static void check_pick(enum shd_dtype dtype, int64_t inner, int64_t choices)
{
    enum { TOKENS = 130, CLASSES = 6 };
    union kern_desc d = {.pick = {dtype, TOKENS, CLASSES, inner, choices}};
    int64_t offset = 4, nx = TOKENS * CLASSES * inner, ny = TOKENS * inner * choices, nbad = 0;
    void *x = random_array(dtype, nx, 3), *y = random_array(dtype, ny, 3);
    void *out = random_array(dtype, ny, 3), *grad = random_array(dtype, nx, 3);
    int32_t *ids = malloc((size_t)ny * sizeof *ids);

    for (int64_t t = 0; t < ny; t++)
        ids[t] = (int32_t)random_below(15) - 1;
    ids[0] = INT32_MIN;
    run(&kern_kernel_pick, &d, x, ids, out, &offset);
    run(&kern_kernel_pick_grad, &d, ids, y, grad, &offset);
    for (int64_t i = 0; i < ny; i++) {
        int64_t class = ids[i] - offset, place = i / choices;
        int64_t at = (place / inner * CLASSES + class) * inner + place % inner;
        double want = class >= 0 && class < CLASSES ? get_elem(dtype, x, at) : 0;

        nbad += get_elem(dtype, out, i) != want;
    }
    ok(nbad == 0, "%s: pick, %d a class, %d choices", shd_dtype_name(dtype), (int)inner,
       (int)choices);
    check_adjoint(dtype, "pick", x, grad, nx, y, out, ny);
    free(x);
    free(y);
    free(out);
    free(grad);
    free(ids);
}

/* One token names its last class, beyond those that are summed at once, a thousand times. */
static void test_pick_rounding(void)
{
    enum { CHOICES = 1000, CLASSES = 1500 };
    union kern_desc d = {.pick = {SHD_BF16, 1, CLASSES, 1, CHOICES}};
    int64_t offset = 0;
    uint16_t g[CHOICES], out[CLASSES];
    int32_t ids[CHOICES];

    for (int i = 0; i < CHOICES; i++) {
        g[i] = shd_bf16_from_f32(0.0625f);
        ids[i] = CLASSES - 1;
    }
    run(&kern_kernel_pick_grad, &d, ids, g, out, &offset);
    ok(shd_bf16_to_f32(out[CLASSES - 1]) == 62.5f && out[0] == 0,
       "pick: a gradient's sum is rounded once");
}

static void test_pick(void)
{
    FLOATS(dtype)
    {
        check_pick(dtype, 1, 1);
        check_pick(dtype, 3, 1);
        check_pick(dtype, 1, 4);
        check_pick(dtype, 2, 3);
    }
    test_pick_rounding();
}

/* ---- repeat: heads 23..28 of a whole with 4 to a key head, which read key heads 5..7 ---- */

static void check_repeat(enum shd_dtype dtype, int64_t inner)
{
    enum { OUTER = 5, HEADS = 6, KV_HEADS = 3, REPEAT = 4 };
    union kern_desc d = {.repeat = {dtype, OUTER, HEADS, KV_HEADS, inner, REPEAT}};
    int64_t offsets[] = {23, 5}, nx = OUTER * KV_HEADS * inner, ny = OUTER * HEADS * inner;
    int64_t nbad = 0;
    void *x = random_array(dtype, nx, 3), *y = random_array(dtype, ny, 3);
    void *out = random_array(dtype, ny, 3), *grad = random_array(dtype, nx, 3);

    run(&kern_kernel_repeat, &d, x, NULL, out, offsets);
    run(&kern_kernel_repeat_sum, &d, y, NULL, grad, offsets);
    for (int64_t i = 0; i < ny; i++) {
        int64_t h = i / inner % HEADS, o = i / inner / HEADS, g = (23 + h) / REPEAT - 5;

        nbad +=
            get_elem(dtype, out, i) != get_elem(dtype, x, (o * KV_HEADS + g) * inner + i % inner);
    }
    ok(nbad == 0, "%s: repeat, heads of %d", shd_dtype_name(dtype), (int)inner);
    check_adjoint(dtype, "repeat", x, grad, nx, y, out, ny);
    free(x);
    free(y);
    free(out);
    free(grad);
}

static void test_repeat(void)
{
    FLOATS(dtype)
    {
        check_repeat(dtype, 1);
        check_repeat(dtype, 700);
    }
}

/* ---- window ---- */

static const struct {
    const char *what;
    struct kern_window w; /* dtype is filled in below */
} windows[] = {
    {"slice", {0, 1, 70, 3, 4, {9, 0}, {2, 0}, {0, 0}, {4, 0}, {0}, {0}, 0, false}},
    {"pad", {0, 1, 3, 5, 9, {4, 0}, {0, 0}, {2, 0}, {4, 0}, {0}, {0}, 0, false}},
    {"concatenation", {0, 2, 67, 2, 7, {3, 4}, {0, 0}, {0, 3}, {3, 4}, {0}, {0}, 0, false}},
    {"the other way round", {0, 2, 2, 1, 7, {3, 4}, {0, 0}, {4, 0}, {3, 4}, {0}, {0}, 0, false}},
    {"parts with a gap", {0, 2, 2, 3, 8, {5, 6}, {1, 2}, {0, 5}, {3, 3}, {0}, {0}, 0, false}},
    {"one input empty", {0, 2, 2, 3, 4, {4, 6}, {0, 6}, {0, 4}, {4, 0}, {0}, {0}, 0, false}},
    {"nothing", {0, 1, 2, 3, 4, {4, 0}, {0, 0}, {0, 0}, {0, 0}, {0}, {0}, 0, false}},
    {"slice with a stride", {0, 1, 66, 3, 3, {9}, {1}, {0}, {3}, {3}, {1}, 0, false}},
    {"reversed", {0, 1, 3, 2, 9, {9}, {8}, {0}, {9}, {-1}, {1}, 0, false}},
    {"places between, filled", {0, 1, 3, 2, 9, {3}, {0}, {1}, {3}, {1}, {3}, -2, false}},
    {"from the end, filled", {0, 1, 65, 1, 9, {5}, {4}, {8}, {3}, {-2}, {-3}, 3, false}},
};

static double window_plain(const struct kern_window *w, void *const *in, int64_t n)
{
    int64_t inner = n % w->inner, at = n / w->inner % w->out_extent;
    int64_t outer = n / w->inner / w->out_extent;

    for (uint32_t i = 0; i < w->ninputs; i++) {
        int64_t by = w->from_step[i] ? w->from_step[i] : 1, to = w->to_step[i] ? w->to_step[i] : 1;

        for (int64_t k = 0; k < w->count[i]; k++)
            if (w->to[i] + k * to == at)
                return get_elem(w->dtype, in[i],
                                (outer * w->in_extent[i] + w->from[i] + k * by) * w->inner + inner);
    }
    return w->fill;
}

static void test_window(void)
{
    DTYPES(dtype)
    {
        for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
            union kern_desc d = {.window = windows[i].w};
            struct kern_window *w = &d.window;
            int64_t each = w->outer * w->inner, n = each * w->out_extent, nbad = 0;
            void *in[2], *out = random_array(dtype, n, 9);

            w->dtype = dtype;
            for (int a = 0; a < 2; a++)
                in[a] = random_array(dtype, each * w->in_extent[a], 9);
            run(&kern_kernel_window, &d, in[0], in[1], out, NULL);
            for (int64_t at = 0; at < n; at++)
                nbad += get_elem(dtype, out, at) != window_plain(w, in, at);
            ok(nbad == 0, "%s: window: %s", shd_dtype_name(dtype), windows[i].what);
            free(in[0]);
            free(in[1]);
            free(out);
        }
    }
}

/* A device's indices are the whole array's indices, from inputs that hold only the device's
 * part. */
static bool is_part(const struct kern_window *whole, void *const *in, int64_t first, int64_t places)
{
    union kern_desc d = {.window = *whole};
    struct kern_window *w = &d.window;
    const int64_t offsets[] = {first}, each = whole->outer * whole->inner;
    void *own[2], *out = random_array(whole->dtype, each * places, 9);
    bool right = true;

    w->cut = true;
    w->out_extent = places;
    for (uint32_t i = 0; i < 2; i++) {
        int64_t by = w->from_step[i] ? w->from_step[i] : 1, to = w->to_step[i] ? w->to_step[i] : 1;
        int64_t k = 0;

        while (w->to[i] + k * to < first)
            k++;
        while (w->to[i] + (k - 1) * to >= first)
            k--;
        w->in_extent[i] = (places + to - 1) / to;
        own[i] = random_array(whole->dtype, each * w->in_extent[i], 9);
        for (int64_t n = 0; n < each * w->in_extent[i]; n++) {
            int64_t at = w->from[i] + (k + n / w->inner % w->in_extent[i]) * by;

            if (i < w->ninputs && at >= 0 && at < whole->in_extent[i])
                memcpy((char *)own[i] + (size_t)n * shd_dtype_size(w->dtype),
                       (char *)in[i] +
                           (size_t)((n / w->inner / w->in_extent[i] * whole->in_extent[i] + at) *
                                        w->inner +
                                    n % w->inner) *
                               shd_dtype_size(w->dtype),
                       shd_dtype_size(w->dtype));
        }
    }
    run(&kern_kernel_window, &d, own[0], own[1], out, offsets);
    for (int64_t n = 0; n < each * places; n++) {
        int64_t at =
            (n / w->inner / places * whole->out_extent + first + n / w->inner % places) * w->inner +
            n % w->inner;

        right &= get_elem(w->dtype, out, n) == window_plain(whole, in, at);
    }
    free(own[0]);
    free(own[1]);
    free(out);
    return right;
}

static void test_window_cut(void)
{
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        struct kern_window w = windows[i].w;
        void *in[2];
        bool right = true;

        w.dtype = SHD_F32;
        if (w.to_step[0] < 0)
            continue;
        for (int a = 0; a < 2; a++)
            in[a] = random_array(w.dtype, w.outer * w.inner * w.in_extent[a], 9);
        for (int64_t places = 1; places <= w.out_extent; places++)
            for (int64_t first = 0; first + places <= w.out_extent; first++)
                right &= is_part(&w, in, first, places);
        ok(right, "window of a device: %s", windows[i].what);
        free(in[0]);
        free(in[1]);
    }
}

/* ---- windows ---- */

/* A device with the windows from 2 on and the elements from 5 on, or those around its windows. */
static const struct kern_taps taps[] = {
    {0, 3, 4, 3, 2, 9, 2, 1, 1, 13, false, 0},
    {0, 1, 5, 2, 3, 9, 1, 3, 0, 12, false, 0.5},
    {0, 2, 4, 3, 1, 11, 3, 1, 4, 20, true, -2},
    {0, 66, 2, 4, 1, 5, 1, 1, 3, 30, true, 0},
};

static void check_taps(enum shd_dtype dtype, size_t which)
{
    union kern_desc d = {.taps = taps[which]};
    struct kern_taps *t = &d.taps;
    const int64_t offsets[] = {2, 5}, first = t->around ? 2 * t->stride - t->low : 5;
    int64_t nx = t->outer * t->extent * t->inner, ny = t->outer * t->windows * t->taps * t->inner;
    int64_t nbad = 0;
    void *x = random_array(dtype, nx, 3), *y = random_array(dtype, ny, 3);
    void *out = random_array(dtype, ny, 3), *grad = random_array(dtype, nx, 3);

    t->dtype = dtype;
    run(&kern_kernel_taps, &d, x, NULL, out, offsets);
    for (int64_t i = 0; i < ny; i++) {
        int64_t k = i / t->inner % t->taps, w = 2 + i / t->inner / t->taps % t->windows;
        int64_t row = i / t->inner / t->taps / t->windows;
        int64_t at = w * t->stride + k * t->dilation - t->low;
        bool is = at >= 0 && at < t->held && at >= first && at < first + t->extent;

        nbad += get_elem(dtype, out, i) !=
                (is ? get_elem(dtype, x, (row * t->extent + at - first) * t->inner + i % t->inner)
                    : t->fill);
    }
    ok(nbad == 0, "%s: windows: %zu", shd_dtype_name(dtype), which);
    t->fill = 0;
    run(&kern_kernel_taps, &d, x, NULL, out, offsets);
    run(&kern_kernel_taps_sum, &d, y, NULL, grad, offsets);
    check_adjoint(dtype, "windows", x, grad, nx, y, out, ny);
    free(x);
    free(y);
    free(out);
    free(grad);
}

static void test_taps(void)
{
    FLOATS(dtype)
    {
        for (size_t i = 0; i < sizeof taps / sizeof *taps; i++)
            check_taps(dtype, i);
    }
}

static void test_overlaps(void)
{
    union kern_desc d = {.overlaps = {SHD_F32, 2, 2, 1, 5, {-1, 3}, {4, 2}}};
    float a[8] = {9, 1, 2, 3, 9, 4, 5, 6}, b[4] = {10, 20, 30, 40}, out[10];
    static const float want[10] = {1, 2, 3, 10, 20, 4, 5, 6, 30, 40};

    run(&kern_kernel_overlaps, &d, a, b, out, NULL);
    ok(!memcmp(out, want, sizeof want), "overlaps: parts before, inside and behind");
}

/* ---- counts ---- */

#define BIG INT64_MAX

static const struct kern_rotation four = {.npairs = 4, .factor = 1}, many = {.npairs = BIG / 2};

static const struct {
    const struct kern_kernel *kernel;
    union kern_desc d;
    uint64_t flops, bytes;
} counts[] = {
    {&kern_kernel_rope, {.rope = {SHD_F32, 2, {3, 8}, {8, 1}, 0, 1, 0, &four, 0, 0}}, 72, 192},
    {&kern_kernel_rope, {.rope = {SHD_F32, 2, {3, 9}, {9, 1}, 0, 1, 0, &four, 0, 0}}, 72, 216},
    {&kern_kernel_causal, {.causal = {SHD_F16, 2, {3, 8}, {8, 1}, 0, 1, 0, 0}}, 0, 2 * (6 + 24)},
    {&kern_kernel_padding, {.causal = {SHD_F16, 2, {3, 8}, {8, 1}, 2, 1, 5, 0}}, 0, 2 * (15 + 24)},
    {&kern_kernel_embed, {.embed = {SHD_BF16, 7, 5, 3}}, 0, 2 * 30 + 20},
    {&kern_kernel_embed_grad, {.embed = {SHD_BF16, 7, 5, 3}}, 15, 30 + 42 + 20},
    {&kern_kernel_pick, {.pick = {SHD_F64, 5, 7, 2, 1}}, 0, 2 * 80 + 40},
    {&kern_kernel_pick_grad, {.pick = {SHD_F64, 5, 7, 2, 3}}, 0, 240 + 560 + 120},
    {&kern_kernel_repeat, {.repeat = {SHD_F32, 2, 6, 3, 5, 2}}, 0, 240 + 120},
    {&kern_kernel_repeat_sum, {.repeat = {SHD_F32, 2, 6, 3, 5, 2}}, 60, 240 + 120},
    {&kern_kernel_window,
     {.window = {SHD_I32, 1, 2, 3, 9, {4}, {0}, {2}, {4}, {0}, {0}, 0, false}},
     0,
     4 * 78},
    {&kern_kernel_taps, {.taps = {SHD_F32, 2, 4, 3, 5, 6, 1, 1, 1, 8, 0, 0}}, 0, 4 * (120 + 60)},
    {&kern_kernel_taps_sum,
     {.taps = {SHD_F32, 2, 4, 3, 5, 6, 1, 1, 1, 8, 0, 0}},
     120,
     4 * (120 + 60)},
    {&kern_kernel_overlaps,
     {.overlaps = {SHD_F32, 2, 2, 1, 5, {-1, 3}, {4, 2}}},
     10,
     4 * (10 + 10)},
    {&kern_kernel_taps_sum,
     {.taps = {SHD_F32, BIG, BIG, BIG, BIG, BIG, 1, 1, 1, 8, 0, 0}},
     UINT64_MAX,
     UINT64_MAX},
    {&kern_kernel_rope,
     {.rope = {SHD_F32, 2, {BIG, BIG}, {8, 1}, 0, 1, 0, &many, 0, 0}},
     UINT64_MAX,
     UINT64_MAX},
    {&kern_kernel_embed_grad, {.embed = {SHD_BF16, BIG, BIG, BIG}}, UINT64_MAX, UINT64_MAX},
    {&kern_kernel_pick_grad, {.pick = {SHD_F64, BIG, BIG, BIG, BIG}}, 0, UINT64_MAX},
    {&kern_kernel_repeat_sum, {.repeat = {SHD_F32, BIG, BIG, BIG, BIG, 1}}, UINT64_MAX, UINT64_MAX},
    {&kern_kernel_window,
     {.window = {SHD_I32, 1, BIG, BIG, BIG, {BIG}, {0}, {0}, {BIG}, {0}, {0}, 0, false}},
     0,
     UINT64_MAX},
};

/* ---- rows put into an array: a device with places 10..15 ---- */

/* The last row with a place, or -1. */
static int64_t row_at(const struct kern_append *a, const int32_t *places, int64_t outer,
                      int64_t place)
{
    int64_t row = -1;

    for (int64_t r = 0; r < a->rows; r++)
        if (places[(a->by_outer ? outer * a->rows : 0) + r] == place)
            row = r;
    return row;
}

static void check_append(enum shd_dtype dtype, int64_t inner, bool by_outer, bool in_place)
{
    enum { OUTER = 3, EXTENT = 6, ROWS = 4 };
    union kern_desc d = {.append = {dtype, OUTER, EXTENT, ROWS, inner, by_outer}};
    int32_t places[OUTER * ROWS] = {12, 9, 12, 15, 10, 16, 11, INT32_MIN, INT32_MAX, 13, 14, 10};
    int64_t n = OUTER * EXTENT * inner, offset = 10, nbad = 0;
    void *array = random_array(dtype, n, 9), *rows = random_array(dtype, OUTER * ROWS * inner, 9);
    void *out = malloc((size_t)n * 8);
    struct kern_args args = {.in = (const void *[]){in_place ? out : array, rows, places},
                             .out = (void *[]){out},
                             .offsets = &offset,
                             .nthreads = TEST_THREADS};

    memcpy(out, array, (size_t)n * shd_dtype_size(dtype));
    flops_differ += kern_kernel_append.run(&d, &args) != 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t o = i / inner / EXTENT, r = row_at(&d.append, places, o, i / inner % EXTENT + 10);
        double want = r < 0 ? get_elem(dtype, array, i)
                            : get_elem(dtype, rows, (o * ROWS + r) * inner + i % inner);

        nbad += get_elem(dtype, out, i) != want;
    }
    ok(nbad == 0, "%s: append: rows of %d%s%s", shd_dtype_name(dtype), (int)inner,
       by_outer ? ", places of each" : "", in_place ? ", in place" : "");
    free(array);
    free(rows);
    free(out);
}

static void test_append(void)
{
    DTYPES(dtype)
    {
        for (int i = 0; i < 8; i++)
            check_append(dtype, i & 4 ? 37 : 1, i & 1, i & 2);
    }
}

static void test_counts(void)
{
    const int64_t offsets[KERN_OFFSETS_MAX] = {0};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const struct kern_kernel *kernel = counts[i].kernel;

        ok(kern_flops(kernel, &counts[i].d, offsets) == counts[i].flops, "%s: flops", kernel->name);
        ok(kernel->bytes(&counts[i].d, offsets) == counts[i].bytes, "%s: bytes", kernel->name);
    }
}

int main(void)
{
    plan(0);
    diag("seed %llu", (unsigned long long)random_state);
    test_rope();
    test_causal();
    test_embed();
    test_pick();
    test_repeat();
    test_window();
    test_window_cut();
    test_taps();
    test_overlaps();
    test_append();
    test_counts();
    ok(flops_differ == 0, "flops counted by the loops are those of the formula");
    return done();
}
