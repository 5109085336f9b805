/* Tests einsum of kern/kern.h: values, flops, the same bits for any number of threads, accuracy,
 * and calls from several threads at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "../support/tap.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "kern/gemm.h"
#include "kern/isa.h"
#include "kern_data.h"

/* ---- a plain loop ---- */

static bool next(uint32_t ndims, const int64_t *extent, uint32_t which, int64_t *index)
{
    for (uint32_t d = ndims; d-- > 0;) {
        if (!(which >> d & 1))
            continue;
        if (++index[d] < extent[d])
            return true;
        index[d] = 0;
    }
    return false;
}

static int64_t at(uint32_t ndims, uint32_t has, const int64_t *stride, const int64_t *index)
{
    int64_t offset = 0;

    for (uint32_t d = 0; d < ndims; d++)
        offset += (has >> d & 1) ? index[d] * stride[d] : 0;
    return offset;
}

static bool is_empty(const struct kern_einsum *e, uint32_t has)
{
    for (uint32_t d = 0; d < e->ndims; d++) {
        if ((has >> d & 1) && e->extent[d] == 0)
            return true;
    }
    return false;
}

static void plain(const struct kern_einsum *e, const void *a, const void *b, void *c)
{
    uint32_t summed = (e->a_has | e->b_has) & ~e->c_has;
    int64_t i[KERN_DIMS_MAX] = {0};

    if (is_empty(e, e->c_has))
        return;
    do {
        double sum = 0;

        if (!is_empty(e, summed)) {
            do {
                sum += get_elem(e->dtype, a, at(e->ndims, e->a_has, e->a_stride, i)) *
                       get_elem(e->dtype, b, at(e->ndims, e->b_has, e->b_stride, i));
            } while (next(e->ndims, e->extent, summed, i));
        }
        set_elem(e->dtype, c, at(e->ndims, e->c_has, e->c_stride, i), sum);
    } while (next(e->ndims, e->extent, e->c_has, i));
}

/* ---- random einsums ---- */

static void random_einsum(struct kern_einsum *e, enum shd_dtype dtype, int64_t *span)
{
    *e = (struct kern_einsum){.dtype = dtype, .ndims = random_below(8)};
    for (uint32_t d = 0; d < e->ndims; d++) {
        uint32_t roles = 1 + random_below(7);

        e->extent[d] = random_below(30) == 0 ? 0 : 1 + random_below(4);
        if (random_below(12) == 0 && e->ndims < 4)
            e->extent[d] = 60 + random_below(20);
        e->a_has |= (roles & 1) << d;
        e->b_has |= (roles >> 1 & 1) << d;
        e->c_has |= (roles >> 2 & 1) << d;
    }
    span[0] = random_strides(e->ndims, e->extent, e->a_has, e->a_stride);
    span[1] = random_strides(e->ndims, e->extent, e->b_has, e->b_stride);
    span[2] = random_strides(e->ndims, e->extent, e->c_has, e->c_stride);
}

/* Run and compare the whole span of c, whose gaps must stay unchanged, and compare the flops that
 * the loops counted with the formula. */
static bool same_as_plain(const struct kern_einsum *e, const int64_t *span, int nthreads)
{
    size_t c_bytes = (size_t)span[2] * shd_dtype_size(e->dtype);
    void *a = random_array(e->dtype, span[0], 3), *b = random_array(e->dtype, span[1], 3);
    void *want = random_array(e->dtype, span[2], 50), *got = malloc(c_bytes + 1);
    void *workspace = malloc(kern_einsum_workspace_bytes(e) + 1);
    bool same = true;

    memcpy(got, want, c_bytes);
    plain(e, a, b, want);
    same = kern_einsum_run(e, a, b, got, workspace, nthreads) == kern_einsum_flops(e);
    for (int64_t i = 0; i < span[2] && same; i++)
        same = get_elem(e->dtype, got, i) == get_elem(e->dtype, want, i);
    free(a);
    free(b);
    free(want);
    free(got);
    free(workspace);
    return same;
}

static void test_random(enum shd_dtype dtype, enum kern_isa isa)
{
    int nruns = random_count(400), nbad = 0;

    kern_isa_limit(isa);
    for (int i = 0; i < nruns; i++) {
        struct kern_einsum e;
        int64_t span[3];

        random_einsum(&e, dtype, span);
        nbad += !same_as_plain(&e, span, 1 + i % TEST_THREADS);
    }
    kern_isa_limit(KERN_NISAS);
    ok(nbad == 0, "random einsums: %s, width %d: %d of %d differ", shd_dtype_name(dtype), (int)isa,
       nbad, nruns);
}

/* ---- the layers' einsums ---- */

static const struct {
    const char *text; /* a,b->c, row-major */
    int64_t size[26]; /* by letter */
} cases[] = {
#define S(letter) [(letter) - 'a']
    {"bsd,df->bsf", {S('b') = 3, S('s') = 40, S('d') = 64, S('f') = 96}},
    {"bsf,df->bsd", {S('b') = 3, S('s') = 40, S('d') = 64, S('f') = 96}},
    {"bsd,bsf->df", {S('b') = 3, S('s') = 40, S('d') = 64, S('f') = 96}},
    {"bshk,bthk->bhst", {S('b') = 2, S('s') = 80, S('t') = 72, S('h') = 3, S('k') = 64}},
    {"bhst,bthk->bshk", {S('b') = 2, S('s') = 80, S('t') = 72, S('h') = 3, S('k') = 64}},
    {"bhst,bshk->bthk", {S('b') = 2, S('s') = 80, S('t') = 72, S('h') = 3, S('k') = 64}},
    {"bsd,dhk->bshk", {S('b') = 2, S('s') = 70, S('d') = 64, S('h') = 3, S('k') = 40}},
    {"bshk,hkd->bsd", {S('b') = 2, S('s') = 70, S('d') = 64, S('h') = 3, S('k') = 40}},
    {"bsd,bshk->dhk", {S('b') = 2, S('s') = 70, S('d') = 64, S('h') = 3, S('k') = 40}},
    {"bshk,hdk->bsd", {S('b') = 2, S('s') = 70, S('d') = 64, S('h') = 3, S('k') = 64}},
    {"bsd,dhk->bhks", {S('b') = 2, S('s') = 70, S('d') = 64, S('h') = 3, S('k') = 64}},
    {"mk,kn->nm", {S('m') = 600, S('k') = 30, S('n') = 70}},
    {"mk,k->m", {S('m') = 900, S('k') = 600}},
    {"k,kn->n", {S('n') = 900, S('k') = 600}},
    {"m,n->mn", {S('m') = 700, S('n') = 500}},
    {"mk,nk->mn", {S('m') = 65, S('k') = 129, S('n') = 67}},
    /* more than a block of rows, of columns, or of the sum; part of a panel; each operand
     * transposed */
    {"mk,kn->mn", {S('m') = 517, S('k') = 21, S('n') = 37}},
    {"km,kn->mn", {S('m') = 37, S('k') = 17, S('n') = 1061}},
    {"mk,nk->mn", {S('m') = 27, S('k') = 1047, S('n') = 41}},
    {"km,nk->nm", {S('m') = 43, S('k') = 530, S('n') = 23}},
    {"mjk,jkn->mn", {S('m') = 33, S('j') = 5, S('k') = 117, S('n') = 35}},
    {"mkj,jnk->mn", {S('m') = 33, S('j') = 5, S('k') = 117, S('n') = 35}},
#undef S
};

static uint32_t letters(struct kern_einsum *e, char *seen, const char *text, size_t len,
                        const int64_t *size, int64_t *stride, int64_t *span)
{
    uint32_t has = 0;

    *span = 1;
    for (size_t i = len; i-- > 0;) {
        const char *at_letter = strchr(seen, text[i]);
        uint32_t d = at_letter ? (uint32_t)(at_letter - seen) : e->ndims++;

        seen[d] = text[i];
        e->extent[d] = size[text[i] - 'a'];
        stride[d] = *span;
        *span *= e->extent[d];
        has |= 1u << d;
    }
    return has;
}

static void parse(struct kern_einsum *e, enum shd_dtype dtype, const char *text,
                  const int64_t *size, int64_t *span)
{
    const char *comma = strchr(text, ','), *arrow = strchr(text, '-');
    char seen[KERN_DIMS_MAX + 1] = "";

    *e = (struct kern_einsum){.dtype = dtype};
    e->a_has = letters(e, seen, text, (size_t)(comma - text), size, e->a_stride, &span[0]);
    e->b_has =
        letters(e, seen, comma + 1, (size_t)(arrow - comma - 1), size, e->b_stride, &span[1]);
    e->c_has = letters(e, seen, arrow + 2, strlen(arrow + 2), size, e->c_stride, &span[2]);
}

static void test_cases(enum shd_dtype dtype)
{
    size_t step = dtype >= SHD_BF16 && random_count(64) < 64 ? 5 : 1;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i += step) {
        struct kern_einsum e;
        int64_t span[3];

        parse(&e, dtype, cases[i].text, cases[i].size, span);
        ok(same_as_plain(&e, span, 1), "%s, %s", cases[i].text, shd_dtype_name(dtype));
        ok(kern_einsum_workspace_bytes(&e) == 0, "%s: no workspace", cases[i].text);
    }
}

/* ---- threads ---- */

static bool same_bits(const struct kern_einsum *e, const int64_t *span)
{
    size_t bytes = (size_t)span[2] * shd_dtype_size(e->dtype);
    void *a = random_fractions(e->dtype, span[0]), *b = random_fractions(e->dtype, span[1]);
    void *one = calloc(1, bytes), *two = calloc(1, bytes);
    bool same;

    kern_einsum_run(e, a, b, one, NULL, 1);
    kern_einsum_run(e, a, b, two, NULL, TEST_THREADS);
    same = memcmp(one, two, bytes) == 0;
    kern_einsum_run(e, a, b, two, NULL, 1);
    same = same && memcmp(one, two, bytes) == 0;
    free(a);
    free(b);
    free(one);
    free(two);
    return same;
}

static void test_nthreads(void)
{
    DTYPES(dtype)
    {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i += 3) {
            struct kern_einsum e;
            int64_t span[3];

            parse(&e, dtype, cases[i].text, cases[i].size, span);
            ok(same_bits(&e, span), "%s, %s: same bits with more threads", cases[i].text,
               shd_dtype_name(dtype));
        }
    }
}

/* Errors relative to the largest result: for 16-bit types at most the final rounding. */
static void test_accuracy(void)
{
    static const int64_t size[26] = {['m' - 'a'] = 100, ['k' - 'a'] = 700, ['n' - 'a'] = 90};
    static const double bound[] = {
        [SHD_F32] = 2e-6, [SHD_F64] = 4e-15, [SHD_BF16] = 0x1p-8, [SHD_F16] = 0x1p-11};

    for (enum shd_dtype dtype = SHD_F32; dtype <= SHD_F16; dtype++) {
        struct kern_einsum e, wide;
        int64_t span[3];
        double worst = 0, most = 0;
        void *a, *b, *c;
        double *wide_a, *wide_b, *wide_c;

        parse(&e, dtype, "mk,kn->mn", size, span);
        wide = e;
        wide.dtype = SHD_F64;
        a = random_fractions(dtype, span[0]);
        b = random_fractions(dtype, span[1]);
        c = malloc((size_t)span[2] * 8);
        wide_a = malloc((size_t)span[0] * 8);
        wide_b = malloc((size_t)span[1] * 8);
        wide_c = malloc((size_t)span[2] * 8);
        for (int64_t i = 0; i < span[0]; i++)
            wide_a[i] = get_elem(dtype, a, i);
        for (int64_t i = 0; i < span[1]; i++)
            wide_b[i] = get_elem(dtype, b, i);
        plain(&wide, wide_a, wide_b, wide_c);
        kern_einsum_run(&e, a, b, c, NULL, 1);
        for (int64_t i = 0; i < span[2]; i++) {
            worst = fmax(worst, fabs(get_elem(dtype, c, i) - wide_c[i]));
            most = fmax(most, fabs(wide_c[i]));
        }
        ok(worst <= bound[dtype] * most, "accuracy: %s, largest error %.3g of %.3g",
           shd_dtype_name(dtype), worst, most);
        free(a);
        free(b);
        free(c);
        free(wide_a);
        free(wide_b);
        free(wide_c);
    }
}

#define NCALLERS 64

struct caller {
    struct kern_einsum e;
    const void *a, *b, *want;
    size_t bytes;
    void *c;
    bool same;
};

static void *call(void *arg)
{
    struct caller *caller = arg;

    caller->same = true;
    for (int i = 0; i < 4; i++) {
        memset(caller->c, 255, caller->bytes);
        kern_einsum_run(&caller->e, caller->a, caller->b, caller->c, NULL, 1);
        caller->same = caller->same && memcmp(caller->c, caller->want, caller->bytes) == 0;
    }
    return NULL;
}

/* Threads call at the same time, on stacks as small as a device thread's. */
static void test_callers(enum shd_dtype dtype, int64_t extent)
{
    static struct caller callers[NCALLERS];
    int64_t size[26] = {['m' - 'a'] = extent, ['k' - 'a'] = extent, ['n' - 'a'] = extent};
    pthread_t threads[NCALLERS];
    pthread_attr_t attr;
    struct kern_einsum e;
    int64_t span[3];
    void *a, *b, *want;
    int nsame = 0;

    parse(&e, dtype, "mk,kn->mn", size, span);
    a = random_fractions(dtype, span[0]);
    b = random_fractions(dtype, span[1]);
    want = malloc((size_t)span[2] * shd_dtype_size(dtype));
    kern_einsum_run(&e, a, b, want, NULL, 1);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 * 1024);
    for (int i = 0; i < NCALLERS; i++) {
        size_t bytes = (size_t)span[2] * shd_dtype_size(dtype);

        callers[i] = (struct caller){e, a, b, want, bytes, malloc(bytes), false};
        if (pthread_create(&threads[i], &attr, call, &callers[i]) != 0)
            abort();
    }
    for (int i = 0; i < NCALLERS; i++) {
        pthread_join(threads[i], NULL);
        nsame += callers[i].same;
        free(callers[i].c);
    }
    pthread_attr_destroy(&attr);
    ok(nsame == NCALLERS, "%d of %d threads at once get the same bits, %s, %dx%d", nsame, NCALLERS,
       shd_dtype_name(dtype), (int)extent, (int)extent);
    free(a);
    free(b);
    free(want);
}

/* ---- counting ---- */

static void test_counts(void)
{
    static const int64_t size[26] = {
        ['m' - 'a'] = 3, ['k' - 'a'] = 5, ['n' - 'a'] = 7, ['z' - 'a'] = 11};
    static const int64_t huge[26] = {
        ['m' - 'a'] = INT64_MAX, ['k' - 'a'] = INT64_MAX, ['n' - 'a'] = 1};
    static const int64_t none[26] = {
        ['m' - 'a'] = INT64_MAX, ['k' - 'a'] = INT64_MAX, ['n' - 'a'] = 0};
    struct kern_einsum e;
    int64_t span[3];

    parse(&e, SHD_F64, "mk,kn->mn", size, span);
    ok(kern_einsum_flops(&e) == 2 * 3 * 5 * 7, "flops: two per multiply-add");
    ok(kern_einsum_bytes(&e) == 8 * (15 + 35 + 21), "bytes: operands and result, once");
    parse(&e, SHD_BF16, "mk,kn->zmn", size, span);
    ok(kern_einsum_flops(&e) == 2 * 3 * 5 * 7, "flops: copies are none");
    ok(kern_einsum_bytes(&e) == 2 * (15 + 35 + 231), "bytes: all copies are written");
    e = (struct kern_einsum){.dtype = SHD_F32, .ndims = 3, .a_has = 3, .b_has = 6, .c_has = 5};
    memcpy(e.extent, (const int64_t[]){huge['m' - 'a'], huge['k' - 'a'], huge['n' - 'a']}, 24);
    ok(kern_einsum_flops(&e) == UINT64_MAX, "flops: stop at the largest count");
    ok(kern_einsum_bytes(&e) == UINT64_MAX, "bytes: stop at the largest count");
    memcpy(e.extent, (const int64_t[]){none['m' - 'a'], none['k' - 'a'], none['n' - 'a']}, 24);
    ok(kern_einsum_flops(&e) == 0, "flops: none over an empty dimension, whatever the others");
}

static void test_wrap(void)
{
    struct kern_einsum e = {.dtype = SHD_I32,
                            .ndims = 1,
                            .extent = {2},
                            .a_has = 1,
                            .b_has = 1,
                            .a_stride = {1},
                            .b_stride = {1}};
    int32_t a[2] = {INT32_MAX, 1}, b[2] = {1, 1}, c = 0;

    kern_einsum_run(&e, a, b, &c, NULL, 1);
    ok(c == INT32_MIN, "int32 wraps");
}

int main(void)
{
    plan(0);
    diag("seed %llu", (unsigned long long)random_state);
    DTYPES(dtype)
    {
        for (enum kern_isa isa = KERN_ISA_BASE; isa < KERN_NISAS; isa++)
            test_random(dtype, isa);
        test_cases(dtype);
    }
    test_nthreads();
    test_accuracy();
    test_callers(SHD_F32, 96);
    test_callers(SHD_F32, 24);
    test_callers(SHD_F64, 80);
    test_callers(SHD_BF16, 48);
    test_counts();
    test_wrap();
    return done();
}
