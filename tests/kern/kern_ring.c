/* Tests attention by positions and spans, with keys that arrive block by block (kern/attention.h):
 * for any order of tokens, many devices together compute the attention of the whole sequence.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "../support/tap.h"

#include <math.h>

#include "kern/kernel.h"
#include "kern/pairs.h"
#include "kern_data.h"

enum { Q, K, V, DO, O, LSE, DQ, DK, DV, NARRAYS };

/* A whole sequence, stored in the order of its sight. */
struct problem {
    struct kern_attention a; /* attention over the whole sequence */
    struct kern_sight sight;
    int64_t blocks;         /* blocks in which the keys go round the ring; 1: each device has all
                             * keys */
    int64_t devices;        /* devices over which the sequence is sharded */
    int64_t batches;        /* devices over which the batch is sharded */
    int64_t width[NARRAYS]; /* elements per token */
    void *array[NARRAYS];   /* [batch][tokens][width], in the type of the problem */
    double *plain[NARRAYS]; /* the same numbers in float64; results are those of the double loop */
    double *got[NARRAYS];   /* results, put together from those of the devices */
    int32_t *first, *last;  /* first and last token of each token's document */
};

static int64_t tokens(const struct problem *p)
{
    return p->sight.order.extent;
}

static int64_t count_of(const struct problem *p, int i)
{
    return p->a.batch * tokens(p) * p->width[i];
}

static void set_widths(struct problem *p)
{
    const struct kern_attention *a = &p->a;

    p->width[Q] = p->width[DQ] = a->heads * a->head_dim;
    p->width[O] = p->width[DO] = a->heads * a->value_dim;
    p->width[K] = p->width[DK] = a->kv_heads * a->head_dim;
    p->width[V] = p->width[DV] = a->kv_heads * a->value_dim;
    p->width[LSE] = a->heads;
}

/* Add documents of random lengths, which differ from row to row. */
static void add_documents(struct problem *p, int64_t rows, int64_t most)
{
    int64_t n = tokens(p);

    p->sight.rows = rows;
    p->first = malloc((size_t)(rows * n) * sizeof *p->first);
    p->last = malloc((size_t)(rows * n) * sizeof *p->last);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t begin = 0, end; begin < n; begin = end) {
            end = begin + 1 + random_below(most);
            end = end < n ? end : n;
            for (int64_t at = begin; at < end; at++) {
                p->first[row * n + at] = (int32_t)begin;
                p->last[row * n + at] = (int32_t)end - 1;
            }
        }
    p->sight.first = p->first;
    p->sight.last = p->last;
}

static void problem_init(struct problem *p)
{
    set_widths(p);
    p->a.queries = p->a.keys = tokens(p);
    p->a.blocks = 1;
    for (int i = 0; i < NARRAYS; i++) {
        p->plain[i] = calloc((size_t)count_of(p, i) + 1, sizeof(double));
        p->got[i] = calloc((size_t)count_of(p, i) + 1, sizeof(double));
        p->array[i] = random_fractions(p->a.dtype, i < O ? count_of(p, i) : 0);
        for (int64_t j = 0; j < count_of(p, i) && i < O; j++)
            p->plain[i][j] = get_elem(p->a.dtype, p->array[i], j);
    }
}

static void problem_fini(struct problem *p)
{
    for (int i = 0; i < NARRAYS; i++) {
        free(p->array[i]);
        free(p->plain[i]);
        free(p->got[i]);
    }
    free(p->first);
    free(p->last);
    free(p->sight.pairs);
}

/* ---- a double loop ---- */

static bool sees(const struct problem *p, int64_t b, int64_t s, int64_t t)
{
    int64_t from = kern_order_position(&p->sight.order, s);
    int64_t to = kern_order_position(&p->sight.order, t);
    bool seen = !p->sight.causal || to <= from;

    if (p->sight.window > 0)
        seen = seen && from - to < p->sight.window;
    if (p->sight.chunk > 0)
        seen = seen && from / p->sight.chunk == to / p->sight.chunk;
    if (p->sight.rows > 0) {
        int64_t row = b % p->sight.rows * tokens(p);

        seen = seen && p->first[row + from] == p->first[row + to];
    }
    return seen;
}

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static double *row_of(double *const *arrays, const struct problem *p, int i, int64_t b, int64_t s,
                      int64_t h)
{
    int64_t heads = i == K || i == V || i == DK || i == DV ? p->a.kv_heads : p->a.heads;

    return arrays[i] + (b * tokens(p) + s) * p->width[i] + h * (p->width[i] / heads);
}

/* Add one query of one head to all results. */
static void plain_query(struct problem *p, int64_t b, int64_t s, int64_t h, double *prob)
{
    int64_t g = h / p->a.repeat, d = p->a.head_dim, e = p->a.value_dim;
    double *q = row_of(p->plain, p, Q, b, s, h), *o = row_of(p->plain, p, O, b, s, h);
    double *grad = row_of(p->plain, p, DO, b, s, h), *dq = row_of(p->plain, p, DQ, b, s, h);
    double most = -INFINITY, sum = 0;

    for (int64_t t = 0; t < tokens(p); t++) {
        prob[t] =
            sees(p, b, s, t) ? p->a.scale * dot(q, row_of(p->plain, p, K, b, t, g), d) : -INFINITY;
        most = fmax(most, prob[t]);
    }
    for (int64_t t = 0; t < tokens(p); t++)
        sum += prob[t] = exp(prob[t] - most);
    *row_of(p->plain, p, LSE, b, s, h) = most + log(sum);
    for (int64_t t = 0; t < tokens(p); t++) {
        prob[t] /= sum;
        for (int64_t i = 0; i < e; i++)
            o[i] += prob[t] * row_of(p->plain, p, V, b, t, g)[i];
    }
    for (int64_t t = 0; t < tokens(p); t++) {
        double *k = row_of(p->plain, p, K, b, t, g), *v = row_of(p->plain, p, V, b, t, g);
        double ds = prob[t] * (dot(v, grad, e) - dot(o, grad, e)) * p->a.scale;

        for (int64_t i = 0; i < d; i++) {
            dq[i] += ds * k[i];
            row_of(p->plain, p, DK, b, t, g)[i] += ds * q[i];
        }
        for (int64_t i = 0; i < e; i++)
            row_of(p->plain, p, DV, b, t, g)[i] += prob[t] * grad[i];
    }
}

static void run_plain(struct problem *p)
{
    double *prob = malloc((size_t)tokens(p) * sizeof *prob);

    for (int64_t b = 0; b < p->a.batch; b++)
        for (int64_t s = 0; s < tokens(p); s++)
            for (int64_t h = 0; h < p->a.heads; h++)
                plain_query(p, b, s, h, prob);
    free(prob);
}

/* ---- devices ---- */

/* A device's part of the sequence, and how far its keys have moved along the ring. */
struct device {
    struct problem *p;
    union kern_desc desc;
    int64_t offsets[KERN_ATTENTION_NOFFSETS];
    void *q, *o, *lse, *grad; /* the device's own parts; lse in the type of sums */
    void *so_far;             /* o in the type of sums */
    int32_t *spans, *positions;
};

static int flops_differ; /* runs whose loops counted other flops than their formula gives */

static enum shd_dtype sums_of(const struct problem *p)
{
    return kern_attention_sums(p->a.dtype);
}

/* The token of the whole sequence at place `local` of a device; `shift` is how far the device's
 * keys have moved. */
static int64_t token_of(const struct device *d, int64_t local, int64_t shift)
{
    const struct kern_attention *a = &d->desc.attention;
    int64_t all = tokens(d->p), moved = shift * (all / d->p->blocks), at;

    if (a->keys == all) /* the device has all keys */
        at = local;
    else
        at = d->offsets[KERN_ATTENTION_QUERY0] + local;
    return ((at - moved) % all + all) % all;
}

/* A copy of the device's part of array `i`: `n` tokens of its queries, or of the keys moved by
 * `shift`. */
static void *part_of(const struct device *d, int i, int64_t n, int64_t shift, bool queries)
{
    const struct problem *p = d->p;
    int64_t width = p->width[i], batch = d->desc.attention.batch;
    void *out = calloc((size_t)(batch * n * width) + KERN_DIMS_MAX, sizeof(double));

    for (int64_t row = 0; row < batch * n; row++) {
        int64_t b = d->offsets[KERN_ATTENTION_BATCH0] + row / n;
        int64_t s =
            queries ? d->offsets[KERN_ATTENTION_QUERY0] + row % n : token_of(d, row % n, shift);

        for (int64_t j = 0; j < width; j++)
            set_elem(p->a.dtype, out, row * width + j,
                     p->plain[i][(b * tokens(p) + s) * width + j]);
    }
    return out;
}

static void add_back(const struct device *d, int i, enum shd_dtype dtype, const void *part,
                     int64_t n, int64_t shift, bool queries)
{
    struct problem *p = d->p;
    int64_t width = p->width[i];

    for (int64_t row = 0; row < d->desc.attention.batch * n; row++) {
        int64_t b = d->offsets[KERN_ATTENTION_BATCH0] + row / n;
        int64_t s =
            queries ? d->offsets[KERN_ATTENTION_QUERY0] + row % n : token_of(d, row % n, shift);

        for (int64_t j = 0; j < width; j++)
            p->got[i][(b * tokens(p) + s) * width + j] += get_elem(dtype, part, row * width + j);
    }
}

/* Let kern_fill() make the spans and positions. */
static void fill_sight(struct device *d, int64_t shift)
{
    const struct problem *p = d->p;
    const struct kern_attention *a = &d->desc.attention;
    int64_t all = tokens(p), rows = p->sight.rows > 0, begin = d->offsets[KERN_ATTENTION_QUERY0];
    const int64_t shape[3] = {p->a.batch, all, 2};
    const int64_t from[3] = {d->offsets[KERN_ATTENTION_BATCH0], begin, 0};
    const int64_t count[3] = {a->batch, a->queries, 2}, keys = a->keys < all ? begin : 0;
    struct kern_source source = {.sight = &p->sight, .sight_array = KERN_SPANS};

    kern_fill(&source, SHD_I32, (uint32_t)(2 + rows), shape + 1 - rows, from + 1 - rows,
              count + 1 - rows, d->spans);
    source.sight_array = KERN_POSITIONS;
    source.moved = shift * (all / p->blocks);
    kern_fill(&source, SHD_I32, 1, &all, &keys, &a->keys, d->positions);
}

/* Run a kernel with a workspace of exactly the size that the kernel asks for. */
static void run_kernel(const struct device *d, const struct kern_kernel *kernel,
                       const void *const *in, void *const *out)
{
    uint64_t bytes = kernel->workspace_bytes(&d->desc);
    struct kern_args args = {in, out, malloc((size_t)bytes + 1), d->offsets,
                             1 + (int)random_below(TEST_THREADS)};

    memset(args.workspace, 0xff, (size_t)bytes);
    flops_differ += kernel->run(&d->desc, &args) != kernel->flops(&d->desc, d->offsets);
    free(args.workspace);
}

static void run_forward(struct device *d, int64_t shift, bool last)
{
    struct kern_attention *a = &d->desc.attention;
    void *k = part_of(d, K, a->keys, shift, false), *v = part_of(d, V, a->keys, shift, false);

    a->shift = shift;
    a->goes_on = shift > 0;
    a->more = !last;
    fill_sight(d, shift);
    run_kernel(d, &kern_kernel_attention,
               (const void *[]){d->q, k, v, d->spans, d->positions, d->so_far, d->lse},
               (void *[]){last ? d->o : d->so_far, d->lse});
    free(k);
    free(v);
}

static void run_backward(struct device *d, int64_t shift)
{
    struct kern_attention *a = &d->desc.attention;
    enum shd_dtype dtype = a->dtype;
    void *k = part_of(d, K, a->keys, shift, false), *v = part_of(d, V, a->keys, shift, false);
    void *dq = part_of(d, Q, a->queries, 0, true);
    void *dk = part_of(d, K, a->keys, shift, false), *dv = part_of(d, V, a->keys, shift, false);

    a->shift = shift;
    a->goes_on = a->more = false;
    fill_sight(d, shift);
    run_kernel(d, &kern_kernel_attention_grad,
               (const void *[]){d->q, k, v, d->o, d->lse, d->grad, d->spans, d->positions},
               (void *[]){dq, dk, dv});
    add_back(d, DQ, dtype, dq, a->queries, 0, true);
    add_back(d, DK, dtype, dk, a->keys, shift, false);
    add_back(d, DV, dtype, dv, a->keys, shift, false);
    free(k);
    free(v);
    free(dq);
    free(dk);
    free(dv);
}

/* Run all steps of the ring for one device, which has one part of the batch and one of the
 * sequence. */
static void run_device(struct problem *p, int64_t device, int64_t part)
{
    struct device d = {.p = p, .desc.attention = p->a};
    struct kern_attention *a = &d.desc.attention;
    size_t nspans;

    a->sight = &p->sight;
    a->batch = p->a.batch / p->batches;
    a->queries = tokens(p) / p->devices;
    a->blocks = p->blocks > 1 ? p->blocks / p->devices : 1;
    a->keys = p->blocks > 1 ? a->queries : tokens(p);
    d.offsets[KERN_ATTENTION_BATCH0] = part * a->batch;
    d.offsets[KERN_ATTENTION_QUERY0] = device * a->queries;
    nspans = (size_t)(2 * a->batch * a->queries);
    d.spans = malloc(nspans * sizeof *d.spans);
    d.positions = malloc((size_t)a->keys * sizeof *d.positions);
    d.q = part_of(&d, Q, a->queries, 0, true);
    d.grad = part_of(&d, DO, a->queries, 0, true);
    d.o = part_of(&d, DO, a->queries, 0, true);
    d.so_far = part_of(&d, DO, a->queries, 0, true);
    d.lse = part_of(&d, LSE, a->queries, 0, true);
    for (int64_t shift = 0; shift < p->blocks; shift++)
        run_forward(&d, shift, shift + 1 == p->blocks);
    for (int64_t shift = 0; shift < p->blocks; shift++)
        run_backward(&d, shift);
    add_back(&d, O, a->dtype, d.o, a->queries, 0, true);
    add_back(&d, LSE, sums_of(p), d.lse, a->queries, 0, true);
    free(d.spans);
    free(d.positions);
    free(d.q);
    free(d.grad);
    free(d.o);
    free(d.so_far);
    free(d.lse);
}

static void run_devices(struct problem *p)
{
    for (int64_t device = 0; device < p->devices; device++)
        for (int64_t part = 0; part < p->batches; part++)
            run_device(p, device, part);
}

/* The largest error of array i relative to its largest element. */
static double error_of(const struct problem *p, int i)
{
    double worst = 0, most = 1e-3;

    for (int64_t j = 0; j < count_of(p, i); j++) {
        double diff = fabs(p->got[i][j] - p->plain[i][j]);

        most = fmax(most, fabs(p->plain[i][j]));
        worst = diff <= worst ? worst : diff; /* a NaN is never smaller, so it stays the worst */
    }
    return worst / most;
}

/* Whether all results agree.  Tolerances are wide, because each device rounds its part of a
 * gradient before the parts are added here. */
static bool agrees(const struct problem *p)
{
    static const char *const name[] = {"q", "k", "v", "do", "o", "lse", "dq", "dk", "dv"};
    static const double tolerance[] = {
        [SHD_F32] = 5e-6, [SHD_F64] = 1e-13, [SHD_BF16] = 2e-2, [SHD_F16] = 4e-3};
    bool all = true;

    for (int i = O; i < NARRAYS; i++) {
        double error = error_of(p, i);

        if (!(error <= tolerance[i == LSE ? sums_of(p) : p->a.dtype])) {
            diag("%s: off by %g of its largest element", name[i], error);
            all = false;
        }
    }
    if (!all)
        diag("%s of %lld parts, %lld tokens: %lld blocks, %lld devices, window %lld, documents of "
             "%lld rows, causal %d",
             kern_order_name(p->sight.order.kind), (long long)p->sight.order.parts,
             (long long)tokens(p), (long long)p->blocks, (long long)p->devices,
             (long long)p->sight.window, (long long)p->sight.rows, p->sight.causal);
    return all;
}

/* ---- cases ---- */

static const struct {
    const char *what;
    struct kern_order order;
    int64_t blocks, devices, batches, window, documents; /* documents: the longest one */
    bool causal;
    int64_t chunk;
} cases[] = {
    {"one device, causal", {KERN_CONTIGUOUS, 1, 200}, 1, 1, 1, 0, 0, true, 0},
    {"gathered keys, zigzag", {KERN_ZIGZAG, 2, 300}, 1, 2, 1, 0, 0, true, 0},
    {"gathered keys, striped", {KERN_STRIPED, 3, 300}, 1, 3, 2, 0, 0, true, 0},
    {"a ring of two", {KERN_CONTIGUOUS, 2, 290}, 2, 2, 1, 0, 0, true, 0},
    {"a ring of four, zigzag", {KERN_ZIGZAG, 4, 328}, 4, 4, 1, 0, 0, true, 0},
    {"a ring of four, striped", {KERN_STRIPED, 4, 328}, 4, 4, 1, 0, 0, true, 0},
    {"a ring of four on one device", {KERN_ZIGZAG, 4, 328}, 4, 1, 1, 0, 0, true, 0},
    {"a ring of six on two, striped", {KERN_STRIPED, 6, 396}, 6, 2, 2, 0, 0, true, 0},
    {"a ring dealt otherwise than cut", {KERN_ZIGZAG, 3, 480}, 4, 4, 1, 0, 0, true, 0},
    {"a ring that sees all", {KERN_CONTIGUOUS, 3, 300}, 3, 3, 1, 0, 0, false, 0},
    {"a window in zigzag", {KERN_ZIGZAG, 2, 400}, 2, 2, 1, 37, 0, true, 0},
    {"a window in stripes", {KERN_STRIPED, 5, 400}, 5, 5, 1, 90, 0, true, 0},
    {"a window, contiguous", {KERN_CONTIGUOUS, 2, 500}, 2, 2, 1, 64, 0, true, 0},
    {"chunks", {KERN_CONTIGUOUS, 1, 400}, 1, 1, 1, 0, 0, true, 70},
    {"chunks in zigzag", {KERN_ZIGZAG, 2, 400}, 2, 2, 1, 0, 0, true, 70},
    {"chunks seen in both directions", {KERN_STRIPED, 2, 400}, 1, 2, 1, 0, 0, false, 33},
    {"documents", {KERN_CONTIGUOUS, 2, 400}, 2, 2, 2, 0, 50, true, 0},
    {"documents in zigzag", {KERN_ZIGZAG, 4, 400}, 4, 2, 1, 0, 150, true, 0},
    {"documents in stripes, gathered", {KERN_STRIPED, 4, 400}, 1, 4, 2, 0, 70, true, 0},
    {"documents with a window", {KERN_ZIGZAG, 2, 400}, 2, 2, 1, 20, 90, true, 0},
    {"documents seen in both directions", {KERN_ZIGZAG, 2, 400}, 2, 2, 2, 0, 60, false, 0},
    {"documents of one or two tokens", {KERN_STRIPED, 2, 150}, 2, 2, 1, 0, 2, true, 0},
};

static bool run_case(struct problem *p)
{
    bool good;

    problem_init(p);
    run_plain(p);
    run_devices(p);
    good = agrees(p);
    problem_fini(p);
    return good;
}

static void test_cases(void)
{
    DTYPES(dtype)
    {
        size_t step = dtype == SHD_F64 || dtype == SHD_BF16 ? 1 : 2;

        if (dtype == SHD_I32)
            continue;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i += step) {
            struct problem p = {.sight = {.order = cases[i].order,
                                          .causal = cases[i].causal,
                                          .window = cases[i].window,
                                          .chunk = cases[i].chunk},
                                .blocks = cases[i].blocks,
                                .devices = cases[i].devices,
                                .batches = cases[i].batches};

            p.a = (struct kern_attention){.dtype = dtype,
                                          .batch = 2,
                                          .heads = 2,
                                          .kv_heads = i % 2 ? 1 : 2,
                                          .head_dim = 8,
                                          .value_dim = i % 3 ? 8 : 5,
                                          .repeat = i % 2 ? 2 : 1,
                                          .scale = 0.5};
            if (cases[i].documents > 0)
                add_documents(&p, 1 + (int64_t)i % 2, cases[i].documents);
            ok(run_case(&p), "%s: %s", shd_dtype_name(dtype), cases[i].what);
        }
    }
    ok(flops_differ == 0, "flops counted by the loops are those of the formula");
}

/* ---- flops ---- */

/* Draw one device of a random ring with a random sight, in a random step. */
static void random_device(struct problem *p)
{
    int64_t cuts = 1 + random_below(6), unit, most = 1 + random_below(900);

    *p = (struct problem){.sight.causal = random_below(4) > 0};
    p->sight.order.kind = (enum kern_order_kind)random_below(KERN_NORDERS);
    p->sight.order.parts = random_below(3) ? cuts : 1 + random_below(6);
    unit = kern_order_unit(p->sight.order.kind, p->sight.order.parts) * cuts;
    p->sight.order.extent = unit * (1 + random_below(1500 / unit));
    p->blocks = random_below(3) ? cuts : 1;
    p->devices = random_below(3) ? cuts : 1;
    p->sight.window = random_below(2) ? 0 : 1 + random_below(600);
    p->sight.chunk = random_below(3) ? 0 : 1 + random_below(600);
    p->a = (struct kern_attention){.dtype = SHD_F32,
                                   .batch = 1 + random_below(3),
                                   .heads = 1,
                                   .kv_heads = 1,
                                   .head_dim = 1 + random_below(3),
                                   .value_dim = 1 + random_below(3),
                                   .repeat = 1,
                                   .scale = 1};
    p->batches = random_below(2) ? 1 : p->a.batch;
    if (random_below(2))
        add_documents(p, 1 + random_below(3), most);
}

static void test_flops(void)
{
    int nruns = random_count(150);

    flops_differ = 0;
    for (int i = 0; i < nruns; i++) {
        struct problem p;

        random_device(&p);
        if (random_below(2))
            p.sight.pairs = calloc(1, kern_pairs_bytes()); /* with a cache of pair counts, from
                                                            * which the second count comes */
        problem_init(&p);
        run_device(&p, random_below(p.devices), random_below(p.batches));
        problem_fini(&p);
        if (flops_differ > 0) {
            diag("%s of %lld parts, %lld tokens: %lld blocks, %lld devices, window %lld, causal %d",
                 kern_order_name(p.sight.order.kind), (long long)p.sight.order.parts,
                 (long long)tokens(&p), (long long)p.blocks, (long long)p.devices,
                 (long long)p.sight.window, p.sight.causal);
            break;
        }
    }
    ok(flops_differ == 0, "also of random devices of random rings, orders, windows and documents");
}

/* ---- the contiguous order is the causal one ---- */

/* Positions in contiguous order give the same bits as causal attention without positions.  They
 * touch the same bytes but for the sight's own arrays.  They take the same flops where tiles of
 * queries and keys end together; elsewhere attention without positions ends its last tile of keys
 * at the last query. */
static void test_contiguous(void)
{
    struct kern_sight sight = {.order = {KERN_CONTIGUOUS, 1, 500}, .causal = true};
    union kern_desc plain = {.attention = {.dtype = SHD_F32,
                                           .batch = 2,
                                           .queries = 320,
                                           .keys = 500,
                                           .heads = 2,
                                           .kv_heads = 1,
                                           .head_dim = 16,
                                           .value_dim = 16,
                                           .repeat = 2,
                                           .scale = 0.2,
                                           .causal = true,
                                           .blocks = 1}};
    union kern_desc sighted = plain;
    int64_t nq = 2 * 320 * 2 * 16, nk = 2 * 500 * 16;
    float *q = random_fractions(SHD_F32, nq), *k = random_fractions(SHD_F32, nk);
    float *v = random_fractions(SHD_F32, nk), *o[2], *lse[2], *dq[2], *dk[2], *dv[2];
    struct problem p = {.sight = sight, .blocks = 1, .a.batch = 2};
    bool same = true, figures = true;

    sighted.attention.causal = false;
    sighted.attention.sight = &sight;
    for (int64_t query0 = 0; query0 <= 180; query0 += 36) {
        for (int i = 0; i < 2; i++) {
            struct device d = {.p = &p,
                               .desc = i ? sighted : plain,
                               .offsets = {[KERN_ATTENTION_QUERY0] = query0},
                               .spans = malloc(640 * sizeof *d.spans),
                               .positions = malloc(500 * sizeof *d.positions)};

            o[i] = random_fractions(SHD_F32, nq);
            lse[i] = random_fractions(SHD_F32, nq / 16);
            dq[i] = random_fractions(SHD_F32, nq);
            dk[i] = random_fractions(SHD_F32, nk);
            dv[i] = random_fractions(SHD_F32, nk);
            fill_sight(&d, 0);
            run_kernel(&d, &kern_kernel_attention, (const void *[]){q, k, v, d.spans, d.positions},
                       (void *[]){o[i], lse[i]});
            run_kernel(&d, &kern_kernel_attention_grad,
                       (const void *[]){q, k, v, o[i], lse[i], q, d.spans, d.positions},
                       (void *[]){dq[i], dk[i], dv[i]});
            free(d.spans);
            free(d.positions);
        }
        same = same && !memcmp(o[0], o[1], (size_t)nq * 4) &&
               !memcmp(lse[0], lse[1], (size_t)nq / 16 * 4) &&
               !memcmp(dq[0], dq[1], (size_t)nq * 4) && !memcmp(dk[0], dk[1], (size_t)nk * 4) &&
               !memcmp(dv[0], dv[1], (size_t)nk * 4);
        for (int i = 0; i < 2; i++) {
            free(o[i]);
            free(lse[i]);
            free(dq[i]);
            free(dk[i]);
            free(dv[i]);
        }
    }
    ok(same, "contiguous positions give the bits of what is causal as the arrays lie");
    for (int64_t query0 = 0; query0 <= 180; query0++) {
        const int64_t offsets[KERN_ATTENTION_NOFFSETS] = {[KERN_ATTENTION_QUERY0] = query0};

        figures = figures &&
                  (query0 % 64 > 0 || kern_kernel_attention.flops(&plain, offsets) ==
                                          kern_kernel_attention.flops(&sighted, offsets)) &&
                  kern_kernel_attention.bytes(&plain, offsets) + 4 * (2 * 320 + 500) ==
                      kern_kernel_attention.bytes(&sighted, offsets) &&
                  kern_kernel_attention_grad.bytes(&plain, offsets) + 4 * (2 * 320 + 500) ==
                      kern_kernel_attention_grad.bytes(&sighted, offsets);
    }
    ok(figures, "and its flops and bytes");
    free(q);
    free(k);
    free(v);
}

/* ---- what is passed over ---- */

/* Columns of a tile of 128 queries, counted from the first to the last group of 32 queries that
 * see at least one of 64 keys. */
static int64_t columns_that_see(const struct problem *p, int64_t s, int64_t nq, int64_t t,
                                int64_t nk)
{
    int64_t from = nq, end = 0;

    for (int64_t i = 0; i < nq; i++)
        for (int64_t j = 0; j < nk; j++)
            if (sees(p, 0, s + i, t + j)) {
                from = from < i ? from : i / 32 * 32;
                end = (i / 32 + 1) * 32;
            }
    end = end < nq ? end : nq;
    return end > from ? end - from : 0;
}

/* Causal attention works on the groups of queries that see a key and passes over the others. */
static void test_passed_over(void)
{
    for (int kind = 0; kind < KERN_NORDERS; kind++) {
        struct problem p = {
            .sight = {.order = {(enum kern_order_kind)kind, 4, 1200}, .causal = true}};
        union kern_desc d = {.attention = {.dtype = SHD_F32,
                                           .batch = 1,
                                           .queries = 300,
                                           .keys = 300,
                                           .heads = 1,
                                           .kv_heads = 1,
                                           .head_dim = 1,
                                           .value_dim = 1,
                                           .repeat = 1,
                                           .blocks = 1,
                                           .sight = &p.sight}};
        bool all = true;

        for (int64_t i = 0; i < 16; i++) {
            const int64_t offsets[KERN_ATTENTION_NOFFSETS] = {[KERN_ATTENTION_QUERY0] =
                                                                  i / 4 * 300};
            int64_t key0 = (i / 4 + 4 - i % 4) % 4 * 300, pairs = 0;

            d.attention.shift = i % 4;
            for (int64_t s = 0; s < 300; s += 128)
                for (int64_t t = 0; t < 300; t += 64) {
                    int64_t nq = 300 - s < 128 ? 300 - s : 128, nk = 300 - t < 64 ? 300 - t : 64;

                    pairs += nk * columns_that_see(&p, i / 4 * 300 + s, nq, key0 + t, nk);
                }
            all = all && kern_kernel_attention.flops(&d, offsets) == 4 * (uint64_t)pairs;
        }
        ok(all, "%s: no group works on keys that it does not see",
           kern_order_name((enum kern_order_kind)kind));
    }
}

/* A query that sees no key in this block, or in no block at all. */
static void test_blind(void)
{
    struct kern_sight sight = {.order = {KERN_CONTIGUOUS, 1, 1}};
    union kern_desc desc = {
        .attention = {SHD_F32, 1, 1, 1, 1, 1, 1, 1, 1, 1, .blocks = 1, .sight = &sight}};
    struct device d = {.desc = desc};
    float one = 1, three = 3, o = 7, lse = 7, grad = 1, dq = 7, dk = 7, dv = 7;
    const int32_t span[2] = {5, 6}, before = 4, at = 5;

    d.desc.attention.more = true;
    flops_differ = 0;
    run_kernel(&d, &kern_kernel_attention, (const void *[]){&one, &one, &three, span, &before},
               (void *[]){&o, &lse});
    ok(o == 0 && lse == -INFINITY, "a query that sees no key: o is 0, lse -infinity");
    run_kernel(&d, &kern_kernel_attention_grad,
               (const void *[]){&one, &one, &three, &o, &lse, &grad, span, &before},
               (void *[]){&dq, &dk, &dv});
    ok(dq == 0 && dk == 0 && dv == 0, "a query that sees no key: no gradient");
    d.desc.attention.goes_on = true;
    run_kernel(&d, &kern_kernel_attention,
               (const void *[]){&one, &one, &three, span, &at, &o, &lse}, (void *[]){&o, &lse});
    ok(o == 3 && lse == 1, "the query continues and sees its first key");
    run_kernel(&d, &kern_kernel_attention,
               (const void *[]){&one, &one, &one, span, &before, &o, &lse}, (void *[]){&o, &lse});
    ok(o == 3 && lse == 1, "the result stays the same over a block without visible keys");
}

/* Steps of a ring with equally many pairs are the same work, whatever their device and shift. */
static void test_same_work(void)
{
    struct kern_sight sight = {.order = {KERN_ZIGZAG, 4, 512}, .causal = true};
    const union kern_desc desc = {
        .attention = {SHD_F32, 1, 128, 128, 1, 1, 8, 8, 1, 1, .blocks = 1, .sight = &sight}};
    uint64_t first[2] = {0}; /* pairs with a device's own keys; with another device's keys */
    bool alike = true;

    for (int64_t device = 0; device < 4; device++)
        for (int64_t shift = 0; shift < 4; shift++) {
            int64_t offsets[KERN_ATTENTION_NOFFSETS] = {device * 128};
            union kern_desc d = desc;
            uint64_t pairs;

            d.attention.shift = shift;
            pairs = kern_kernel_attention.as_work(&d, offsets);
            if (device == 0)
                first[shift > 0] = pairs;
            alike = alike && !d.attention.sight && !d.attention.shift && !offsets[0] &&
                    pairs == first[shift > 0];
        }
    ok(alike, "steps with equally many pairs are equal work");
    ok(first[0] > first[1], "a device's own keys are more");
}

/* Zigzag order balances the devices' work; in contiguous order the last of 8 devices has the
 * most. */
static void test_balance(void)
{
    static const double least[KERN_NORDERS] = {0.53, 1, 0.8};
    static const double most[KERN_NORDERS] = {0.57, 1, 1};

    for (int kind = 0; kind < KERN_NORDERS; kind++) {
        struct kern_sight sight = {.order = {(enum kern_order_kind)kind, 8, 1024}, .causal = true};
        union kern_desc d = {
            .attention = {SHD_BF16, 1, 128, 128, 4, 4, 64, 64, 1, 1, .blocks = 1, .sight = &sight}};
        double sum = 0, max = 0, balance;

        for (int64_t device = 0; device < 8; device++) {
            const int64_t offsets[KERN_ATTENTION_NOFFSETS] = {device * 128};
            double flops = 0;

            for (d.attention.shift = 0; d.attention.shift < 8; d.attention.shift++)
                flops += (double)kern_kernel_attention.flops(&d, offsets);
            sum += flops;
            max = fmax(max, flops);
        }
        balance = sum / 8 / max;
        ok(balance >= least[kind] && balance <= most[kind], "%s: balance of 8 devices is %.3f",
           kern_order_name((enum kern_order_kind)kind), balance);
    }
}

int main(void)
{
    plan(0);
    diag("seed %llu", (unsigned long long)random_state);
    test_cases();
    test_flops();
    test_contiguous();
    test_passed_over();
    test_blind();
    test_same_work();
    test_balance();
    return done();
}
