/* Tests kern/attention.h: attention and its gradient against double loops in float64, with the
 * same bits for any number of threads, split and instruction set, at extremes, and with the flops
 * of their formulas.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "../support/tap.h"

#include <math.h>

#include "kern/isa.h"
#include "kern/kernel.h"
#include "kern_data.h"

enum { Q, K, V, O, LSE, DO, DQ, DK, DV, SINKS, NARRAYS };

/* A case: the arrays of a device in the case's type, and the same numbers in doubles. */
struct problem {
    union kern_desc desc;
    int64_t offsets[KERN_ATTENTION_NOFFSETS];
    int64_t count[NARRAYS];
    void *array[NARRAYS];
    double *plain[NARRAYS];
};

static enum shd_dtype lse_dtype(enum shd_dtype dtype)
{
    return dtype == SHD_F64 ? SHD_F64 : SHD_F32;
}

static enum shd_dtype dtype_of(const struct problem *p, int i)
{
    enum shd_dtype dtype = p->desc.attention.dtype;

    return i == LSE ? lse_dtype(dtype) : dtype;
}

static void problem_init(struct problem *p, const struct kern_attention *a, int64_t query0,
                         int64_t head0, int64_t kv_head0)
{
    int64_t nq = a->batch * a->queries * a->heads * a->head_dim;
    int64_t nk = a->batch * a->keys * a->kv_heads * a->head_dim;

    *p = (struct problem){.desc.attention = *a, .offsets = {query0, head0, kv_head0}};
    for (int i = 0; i < NARRAYS; i++) {
        p->count[i] = i == SINKS                               ? a->heads
                      : i == LSE                               ? nq / a->head_dim
                      : i == K || i == V || i == DK || i == DV ? nk
                                                               : nq;
        p->array[i] = random_fractions(dtype_of(p, i), p->count[i]);
        p->plain[i] = calloc((size_t)p->count[i] + 1, sizeof(double));
        for (int64_t j = 0; j < p->count[i]; j++)
            p->plain[i][j] = get_elem(dtype_of(p, i), p->array[i], j);
    }
}

static void problem_fini(struct problem *p)
{
    for (int i = 0; i < NARRAYS; i++) {
        free(p->array[i]);
        free(p->plain[i]);
    }
}

static int64_t row_of_q(const struct kern_attention *a, int64_t b, int64_t s, int64_t h)
{
    return (b * a->queries + s) * a->heads + h;
}

static int64_t row_of_k(const struct problem *p, int64_t b, int64_t t, int64_t h)
{
    const struct kern_attention *a = &p->desc.attention;
    int64_t g =
        (p->offsets[KERN_ATTENTION_HEAD0] + h) / a->repeat - p->offsets[KERN_ATTENTION_KV_HEAD0];

    return (b * a->keys + t) * a->kv_heads + g;
}

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Probabilities of one query over all keys; returns the log of the sum of exp. */
static double softmax(const struct problem *p, int64_t b, int64_t s, int64_t h, double *prob)
{
    const struct kern_attention *a = &p->desc.attention;
    int64_t n = a->head_dim, row = row_of_q(a, b, s, h);
    double most = -INFINITY, sum = 0;

    for (int64_t t = 0; t < a->keys; t++) {
        bool seen = !a->causal || t <= s + p->offsets[KERN_ATTENTION_QUERY0];

        prob[t] = -INFINITY;
        if (seen)
            prob[t] =
                a->scale * dot(p->plain[Q] + row * n, p->plain[K] + row_of_k(p, b, t, h) * n, n);
        if (a->cap > 0 && seen)
            prob[t] = a->cap * tanh(prob[t] / a->cap);
        most = fmax(most, prob[t]);
    }
    if (a->sinks)
        most = fmax(most, p->plain[SINKS][h]);
    for (int64_t t = 0; t < a->keys; t++)
        sum += prob[t] = exp(prob[t] - most);
    if (a->sinks)
        sum += exp(p->plain[SINKS][h] - most);
    for (int64_t t = 0; t < a->keys; t++)
        prob[t] /= sum;
    return most + log(sum);
}

/* Add one query of one head to all results. */
static void plain_query(struct problem *p, int64_t b, int64_t s, int64_t h, double *prob)
{
    const struct kern_attention *a = &p->desc.attention;
    int64_t n = a->head_dim, row = row_of_q(a, b, s, h);
    const double *q = p->plain[Q] + row * n, *grad = p->plain[DO] + row * n;
    double *o = p->plain[O] + row * n, delta;

    p->plain[LSE][row] = softmax(p, b, s, h, prob);
    for (int64_t t = 0; t < a->keys; t++) {
        for (int64_t k = 0; k < n; k++)
            o[k] += prob[t] * p->plain[V][row_of_k(p, b, t, h) * n + k];
    }
    delta = dot(o, grad, n);
    for (int64_t t = 0; t < a->keys; t++) {
        int64_t at = row_of_k(p, b, t, h) * n;
        double ds = prob[t] * (dot(p->plain[V] + at, grad, n) - delta) * a->scale;

        if (a->cap > 0)
            ds *= 1 - pow(tanh(a->scale * dot(q, p->plain[K] + at, n) / a->cap), 2);
        for (int64_t k = 0; k < n; k++) {
            p->plain[DQ][row * n + k] += ds * p->plain[K][at + k];
            p->plain[DK][at + k] += ds * q[k];
            p->plain[DV][at + k] += prob[t] * grad[k];
        }
    }
}

static void run_plain(struct problem *p)
{
    const struct kern_attention *a = &p->desc.attention;
    double *prob = malloc((size_t)a->keys * sizeof *prob + 1);

    for (int i = O; i < SINKS; i++) {
        if (i != DO)
            memset(p->plain[i], 0, (size_t)p->count[i] * sizeof(double));
    }
    for (int64_t b = 0; b < a->batch; b++) {
        for (int64_t s = 0; s < a->queries; s++) {
            for (int64_t h = 0; h < a->heads; h++)
                plain_query(p, b, s, h, prob);
        }
    }
    free(prob);
}

static int flops_differ; /* runs whose loops counted other flops than their formula gives */

/* Run one kernel with a workspace of exactly the size that the kernel asks for. */
static void run_kernel(const struct problem *p, const struct kern_kernel *kernel,
                       const void *const *in, void *const *out, int nthreads)
{
    struct kern_args args = {
        .in = in,
        .out = out,
        .workspace = malloc((size_t)kernel->workspace_bytes(&p->desc) + 1),
        .offsets = p->offsets,
        .nthreads = nthreads,
    };

    memset(args.workspace, 0xff, (size_t)kernel->workspace_bytes(&p->desc)); /* NaNs */
    flops_differ += kernel->run(&p->desc, &args) != kernel->flops(&p->desc, p->offsets);
    free(args.workspace);
}

static void run_both(struct problem *p, int nthreads)
{
    void **x = p->array;

    run_kernel(p, &kern_kernel_attention, (const void *[]){x[Q], x[K], x[V], x[SINKS]},
               (void *[]){x[O], x[LSE]}, nthreads);
    run_kernel(p, &kern_kernel_attention_grad,
               (const void *[]){x[Q], x[K], x[V], x[O], x[LSE], x[DO]},
               (void *[]){x[DQ], x[DK], x[DV]}, nthreads);
}

/* The largest error of array i relative to its largest element. */
static double error_of(const struct problem *p, int i)
{
    double worst = 0, most = 1e-3;

    for (int64_t j = 0; j < p->count[i]; j++) {
        double diff = fabs(get_elem(dtype_of(p, i), p->array[i], j) - p->plain[i][j]);

        most = fmax(most, fabs(p->plain[i][j]));
        worst = diff <= worst ? worst : diff; /* a NaN is never smaller, so it stays the worst */
    }
    return worst / most;
}

static double tolerance(enum shd_dtype dtype)
{
    static const double of[] = {
        [SHD_F32] = 5e-6, [SHD_F64] = 1e-13, [SHD_BF16] = 1e-2, [SHD_F16] = 2e-3};

    return of[dtype];
}

/* Whether all results agree; gradients of 16-bit types are computed from a rounded `o`. */
static bool agrees(struct problem *p)
{
    static const char *const name[] = {"q", "k", "v", "o", "lse", "do", "dq", "dk", "dv"};
    bool all = true;

    for (int i = O; i < SINKS; i++) {
        double error = error_of(p, i), most = tolerance(dtype_of(p, i));

        if (!(error <= most)) {
            diag("%s: off by %g of its largest element", name[i], error);
            all = false;
        }
    }
    return all;
}

static const struct {
    const char *what;
    struct kern_attention a; /* dtype and scale are filled in below */
    int64_t query0, head0, kv_head0;
} cases[] = {
    {"one query, one key", {0, 1, 1, 1, 1, 1, 1, 1, 1, 0, .causal = false, .blocks = 1}, 0, 0, 0},
    {"one query", {0, 2, 1, 200, 2, 2, 16, 16, 1, 0, .causal = false, .blocks = 1}, 0, 0, 0},
    {"one query, the last", {0, 1, 1, 70, 2, 1, 8, 8, 2, 0, .causal = true, .blocks = 1}, 69, 0, 0},
    {"one query in the middle",
     {0, 1, 1, 200, 1, 1, 5, 5, 1, 0, .causal = true, .blocks = 1},
     65,
     0,
     0},
    {"head of one element", {0, 2, 67, 66, 2, 2, 1, 1, 1, 0, .causal = true, .blocks = 1}, 0, 0, 0},
    {"whole tiles", {0, 1, 128, 128, 2, 2, 64, 64, 1, 0, .causal = false, .blocks = 1}, 0, 0, 0},
    {"whole tiles, causal",
     {0, 1, 128, 128, 2, 2, 32, 32, 1, 0, .causal = true, .blocks = 1},
     0,
     0,
     0},
    {"odd sizes", {0, 2, 77, 131, 3, 3, 37, 37, 1, 0, .causal = false, .blocks = 1}, 0, 0, 0},
    {"odd sizes, causal",
     {0, 2, 131, 131, 3, 3, 41, 41, 1, 0, .causal = true, .blocks = 1},
     0,
     0,
     0},
    {"long heads", {0, 1, 66, 67, 1, 1, 130, 130, 1, 0, .causal = true, .blocks = 1}, 0, 0, 0},
    {"second half of the queries",
     {0, 1, 65, 130, 2, 2, 16, 16, 1, 0, .causal = true, .blocks = 1},
     65,
     0,
     0},
    {"queries off the tiles",
     {0, 1, 100, 170, 1, 1, 16, 16, 1, 0, .causal = true, .blocks = 1},
     33,
     0,
     0},
    {"queries past the keys",
     {0, 1, 70, 20, 1, 1, 16, 16, 1, 0, .causal = true, .blocks = 1},
     0,
     0,
     0},
    {"grouped heads", {0, 2, 40, 40, 6, 2, 16, 16, 3, 0, .causal = true, .blocks = 1}, 0, 0, 0},
    {"grouped heads, in the middle",
     {0, 1, 40, 80, 4, 2, 16, 16, 4, 0, .causal = true, .blocks = 1},
     40,
     6,
     1},
    {"one key head of more",
     {0, 1, 65, 65, 2, 1, 16, 16, 4, 0, .causal = false, .blocks = 1},
     0,
     10,
     2},
    {"more key heads than used",
     {0, 1, 30, 30, 2, 3, 16, 16, 2, 0, .causal = false, .blocks = 1},
     0,
     4,
     1},
};

static void test_plain(void)
{
    DTYPES(dtype)
    {
        if (dtype == SHD_I32)
            continue;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct kern_attention a = cases[i].a;
            struct problem p;

            a.dtype = dtype;
            a.scale = 0.3 / sqrt((double)a.head_dim);
            problem_init(&p, &a, cases[i].query0, cases[i].head0, cases[i].kv_head0);
            run_plain(&p);
            run_both(&p, 1 + (int)i % TEST_THREADS);
            ok(agrees(&p), "%s: %s", shd_dtype_name(dtype), cases[i].what);
            p.desc.attention.cap = 0.1;
            p.desc.attention.sinks = true;
            run_plain(&p);
            run_both(&p, 1 + (int)i % TEST_THREADS);
            ok(agrees(&p), "%s: %s, capped, with sinks", shd_dtype_name(dtype), cases[i].what);
            problem_fini(&p);
        }
    }
}

static const struct kern_attention middle = {
    SHD_F32, 2, 150, 150, 4, 2, 24, 24, 2, 0.2, .causal = true, .blocks = 1};

static void test_bits(void)
{
    for (int wide = 0; wide < 2; wide++) {
        struct kern_attention a = middle;
        struct problem p;
        void *first[NARRAYS];
        bool same = true;

        a.dtype = wide ? SHD_F64 : SHD_BF16;
        problem_init(&p, &a, 0, 0, 0);
        run_both(&p, 1);
        for (int i = 0; i < NARRAYS; i++) {
            size_t size = (size_t)p.count[i] * shd_dtype_size(dtype_of(&p, i));

            first[i] = malloc(size);
            memcpy(first[i], p.array[i], size);
        }
        run_both(&p, TEST_THREADS);
        for (int i = 0; i < NARRAYS; i++) {
            size_t size = (size_t)p.count[i] * shd_dtype_size(dtype_of(&p, i));

            same = same && memcmp(first[i], p.array[i], size) == 0;
            free(first[i]);
        }
        ok(same, "%s: same bits for any number of threads", shd_dtype_name(a.dtype));
        problem_fini(&p);
    }
}

/* The queries of each half give the same bits as in the whole. */
static void test_split(void)
{
    struct kern_attention a = middle;
    struct problem whole, part;
    bool same = true;
    int64_t half, row = a.heads * a.head_dim;

    a.batch = 1;
    problem_init(&whole, &a, 0, 0, 0);
    run_both(&whole, 1);
    half = a.queries /= 2;
    for (int64_t query0 = 0; query0 < 2 * half; query0 += half) {
        const float *o = whole.array[O];

        problem_init(&part, &a, query0, 0, 0);
        memcpy(part.array[Q], (float *)whole.array[Q] + query0 * row, (size_t)(half * row) * 4);
        memcpy(part.array[K], whole.array[K], (size_t)part.count[K] * 4);
        memcpy(part.array[V], whole.array[V], (size_t)part.count[V] * 4);
        run_both(&part, 1);
        same = same && memcmp(o + query0 * row, part.array[O], (size_t)(half * row) * 4) == 0;
        problem_fini(&part);
    }
    ok(same, "a part of the queries gives the bits of the whole");
    problem_fini(&whole);
}

static void test_isa(void)
{
    for (enum kern_isa isa = KERN_ISA_BASE; isa <= KERN_ISA_AVX2; isa++) {
        struct problem p;

        kern_isa_limit(isa);
        problem_init(&p, &middle, 0, 0, 0);
        run_plain(&p);
        run_both(&p, 1);
        ok(agrees(&p), "vector width %d", (int)isa);
        problem_fini(&p);
    }
    kern_isa_limit(KERN_NISAS);
}

static void test_extremes(void)
{
    struct kern_attention a = {SHD_F32, 1, 3, 2, 1, 1, 1, 1, 1, 1, .causal = false, .blocks = 1};
    float q[3] = {1e4f, -1e4f, 1}, k[2] = {1, -1}, v[2] = {3, 5}, o[3], lse[3];
    struct problem p = {.desc.attention = a};

    run_kernel(&p, &kern_kernel_attention, (const void *[]){q, k, v}, (void *[]){o, lse}, 1);
    ok(o[0] == 3 && o[1] == 5 && lse[0] == 1e4f, "large scores do not overflow");
    k[1] = NAN;
    run_kernel(&p, &kern_kernel_attention, (const void *[]){q, k, v}, (void *[]){o, lse}, 1);
    ok(isnan(o[2]) && isnan(lse[2]), "a NaN stays");
    k[1] = -INFINITY;
    run_kernel(&p, &kern_kernel_attention, (const void *[]){q, k, v}, (void *[]){o, lse}, 1);
    ok(o[2] == 3 && lse[2] == 1, "a score of -inf weighs nothing");
}

static void test_empty(void)
{
    struct kern_attention a = {SHD_F32, 1, 2, 0, 1, 1, 1, 1, 1, 1, .causal = false, .blocks = 1};
    float q[2] = {1, 2}, o[2] = {7, 7}, lse[2] = {7, 7}, grad[2] = {1, 1}, dq[2] = {7, 7};
    struct problem p = {.desc.attention = a};

    run_kernel(&p, &kern_kernel_attention, (const void *[]){q, q, q}, (void *[]){o, lse}, 1);
    ok(o[0] == 0 && o[1] == 0 && lse[1] == -INFINITY, "no keys: the result is 0 and lse -inf");
    run_kernel(&p, &kern_kernel_attention_grad, (const void *[]){q, q, q, o, lse, grad},
               (void *[]){dq, q, q}, 1);
    ok(dq[0] == 0 && dq[1] == 0, "no keys: no gradient");
    p.desc.attention.queries = 0;
    p.desc.attention.keys = 2;
    run_kernel(&p, &kern_kernel_attention_grad, (const void *[]){q, q, q, o, lse, grad},
               (void *[]){dq, o, lse}, 1);
    ok(o[0] == 0 && o[1] == 0 && lse[1] == 0, "no queries: dk and dv are 0");
}

static void test_counts(void)
{
    const struct kern_kernel *forward = &kern_kernel_attention;
    const struct kern_kernel *backward = &kern_kernel_attention_grad;
    union kern_desc d = {
        .attention = {SHD_BF16, 2, 3, 5, 4, 2, 8, 8, 2, 1, .causal = true, .blocks = 1}};
    const int64_t none[KERN_ATTENTION_NOFFSETS] = {0}, last[KERN_ATTENTION_NOFFSETS] = {2};
    uint64_t small, grad_small;

    ok(forward->dense_flops(&d) == 4 * 2 * 4 * 3 * 5 * 8, "dense flops: two matmuls, mask or not");
    ok(backward->dense_flops(&d) == 10 * 2 * 4 * 3 * 5 * 8, "dense flops: five matmuls backward");
    ok(forward->flops(&d, none) == 4 * 2 * 4 * 3 * 3 * 8, "flops: keys that some query sees");
    ok(backward->flops(&d, none) == 10 * 2 * 4 * 3 * 3 * 8, "flops: such keys, backward");
    ok(forward->flops(&d, last) == 4 * 2 * 4 * 3 * 5 * 8, "flops: all keys for the last queries");
    ok(forward->bytes(&d, none) == 2 * (2 * 192 + 2 * 96) + 4 * 24, "bytes: seen keys once");
    ok(forward->bytes(&d, last) == 2 * (2 * 192 + 2 * 160) + 4 * 24, "bytes: each array once");
    ok(backward->bytes(&d, none) == 2 * (4 * 192 + 2 * 96 + 2 * 160) + 4 * 24,
       "bytes: seen keys read, all their gradients written");
    d.attention.queries = d.attention.keys = 1 << 13;
    small = forward->workspace_bytes(&d);
    grad_small = backward->workspace_bytes(&d);
    d.attention.queries = d.attention.keys = 1 << 14;
    ok(forward->workspace_bytes(&d) == small, "workspace does not grow with the sequence");
    ok(backward->workspace_bytes(&d) <= 2 * grad_small, "backward not faster than the sequence");
    d.attention.batch = d.attention.heads = d.attention.queries = INT64_MAX;
    d.attention.kv_heads = d.attention.keys = INT64_MAX;
    d.attention.head_dim = d.attention.value_dim = INT64_MAX;
    ok(forward->flops(&d, none) == UINT64_MAX && backward->flops(&d, none) == UINT64_MAX &&
           forward->dense_flops(&d) == UINT64_MAX && backward->dense_flops(&d) == UINT64_MAX &&
           forward->bytes(&d, none) == UINT64_MAX && backward->bytes(&d, none) == UINT64_MAX &&
           forward->workspace_bytes(&d) == UINT64_MAX &&
           backward->workspace_bytes(&d) == UINT64_MAX,
       "counts stop at the largest");
}

/* The formula counts the flops of a whole sequence of tiles, the loops those of one tile after the
 * other. */
static void test_flops(void)
{
    int nruns = random_count(200);

    ok(flops_differ == 0, "flops counted by the loops are those of the formula");
    flops_differ = 0;
    for (int i = 0; i < nruns; i++) {
        struct kern_attention a = {SHD_F32, 1, 1 + random_below(600), random_below(700), 2, 1, 4, 4,
                                   2,       1, random_below(4) > 0,   .blocks = 1};
        struct problem p;

        problem_init(&p, &a, random_below(2) ? random_below(20) * 32 : random_below(500), 0, 0);
        run_both(&p, 1);
        problem_fini(&p);
    }
    ok(flops_differ == 0, "also of random sizes at random places");
}

/* A causal sequence in contiguous parts: the first of 8 devices has the least work, the last the
 * most.  Counting half of all pairs and the diagonal, the mean is 36/64 of the maximum; slightly
 * less, as tiles are partly passed over. */
static void test_balance(void)
{
    const struct kern_kernel *kernels[] = {&kern_kernel_attention, &kern_kernel_attention_grad};
    union kern_desc d = {
        .attention = {SHD_BF16, 1, 1024, 8192, 4, 4, 64, 64, 1, 1, .causal = true, .blocks = 1}};

    for (int k = 0; k < 2; k++) {
        double sum = 0, most = 0, balance;

        for (int64_t device = 0; device < 8; device++) {
            int64_t offsets[KERN_ATTENTION_NOFFSETS] = {device * d.attention.queries};
            double flops = (double)kernels[k]->flops(&d, offsets);

            sum += flops;
            most = fmax(most, flops);
        }
        balance = sum / 8 / most;
        ok(balance > 0.53 && balance < 0.57, "%s: balance of 8 devices in a row is %.3f",
           kernels[k]->name, balance);
    }
}

int main(void)
{
    plan(0);
    diag("seed %llu", (unsigned long long)random_state);
    test_plain();
    test_bits();
    test_split();
    test_isa();
    test_extremes();
    test_empty();
    test_counts();
    test_flops();
    test_balance();
    return done();
}
