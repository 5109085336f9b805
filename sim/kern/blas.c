/* Large matrix products by OpenBLAS, called with one thread and behind a gate.
 *
 * OpenBLAS keeps a fixed table of buffers and crashes when more threads than that are inside; the
 * gate lets in as many as there are processors, more would only wait for each other anyway.
 *
 * It is loaded by the first product that is large enough.  A library that the program is linked
 * with has its thread-local storage cleared, hence resident, in every thread; here that is 60 KiB.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/gemm.h"

#ifndef HAVE_OPENBLAS

bool kern_gemm_blas(const struct kern_gemm *g, const void *a, const void *b, void *c, int nthreads)
{
    (void)g;
    (void)a;
    (void)b;
    (void)c;
    (void)nthreads;
    return false;
}

const char *kern_blas_name(void)
{
    return "none";
}

#else

#include <cblas.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One call computes at most this much of c.  Constants, so that the bits do not depend on the
 * number of threads. */
#define CALL_ROWS 512
#define CALL_COLS 2048
#define GATE_MAX 64 /* half of what OpenBLAS bears */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t gate;
static char name[128] = "none";

static struct {
    bool loaded;
    __typeof__(cblas_sgemm) *sgemm;
    __typeof__(cblas_dgemm) *dgemm;
    __typeof__(openblas_set_num_threads) *set_num_threads;
    __typeof__(openblas_get_config) *get_config;
    __typeof__(openblas_get_corename) *get_corename;
} blas;

/* Not without everything that is called. */
static bool load(void)
{
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return false;
    blas.sgemm = (__typeof__(blas.sgemm))dlsym(library, "cblas_sgemm");
    blas.dgemm = (__typeof__(blas.dgemm))dlsym(library, "cblas_dgemm");
    blas.set_num_threads =
        (__typeof__(blas.set_num_threads))dlsym(library, "openblas_set_num_threads");
    blas.get_config = (__typeof__(blas.get_config))dlsym(library, "openblas_get_config");
    blas.get_corename = (__typeof__(blas.get_corename))dlsym(library, "openblas_get_corename");
    return blas.sgemm && blas.dgemm && blas.set_num_threads && blas.get_config && blas.get_corename;
}

static void setup(void)
{
    long ncpus = sysconf(_SC_NPROCESSORS_ONLN);
    const char *config, *blank;
    size_t len;

    blas.loaded = load();
    if (!blas.loaded)
        return;
    config = blas.get_config(); /* "OpenBLAS 0.3.21 NO_LAPACKE ..." */
    blank = strchr(config, ' ');
    len = blank ? strcspn(blank + 1, " ") + (size_t)(blank + 1 - config) : strlen(config);
    blas.set_num_threads(1);
    if (ncpus < 1)
        ncpus = 1;
    sem_init(&gate, 0, (unsigned)(ncpus < GATE_MAX ? ncpus : GATE_MAX));
    snprintf(name, sizeof name, "%.*s %s", (int)len, config, blas.get_corename());
}

const char *kern_blas_name(void)
{
    pthread_once(&once, setup);
    return name;
}

/* How a rows x cols matrix lies in memory, in the BLAS's words. */
struct layout {
    bool transposed;
    int64_t ld;
};

static bool find_layout(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride,
                        struct layout *out)
{
    if ((col_stride == 1 || cols == 1) && (row_stride >= cols || rows == 1)) {
        *out = (struct layout){false, rows == 1 ? cols : row_stride};
        return out->ld <= INT_MAX;
    }
    if ((row_stride == 1 || rows == 1) && (col_stride >= rows || cols == 1)) {
        *out = (struct layout){true, cols == 1 ? rows : col_stride};
        return out->ld <= INT_MAX;
    }
    return false;
}

/* One dimension of a nest, or none: extent 1. */
struct dim {
    uint32_t id;
    int64_t extent;
    int64_t stride[2];
};

static struct dim dim_at(const struct kern_nest *nest, uint32_t id)
{
    if (id >= nest->ndims)
        return (struct dim){UINT32_MAX, 1, {0, 0}};
    return (struct dim){id, nest->extent[id], {nest->stride[0][id], nest->stride[1][id]}};
}

/* The three dimensions that a call works on; the others are looped over. */
struct call {
    struct dim m, n, k;
    struct layout a, b, c;
};

static bool set_layouts(struct call *call)
{
    return call->k.extent <= INT_MAX &&
           find_layout(call->m.extent, call->k.extent, call->m.stride[0], call->k.stride[0],
                       &call->a) &&
           find_layout(call->k.extent, call->n.extent, call->k.stride[1], call->n.stride[0],
                       &call->b) &&
           find_layout(call->m.extent, call->n.extent, call->m.stride[1], call->n.stride[1],
                       &call->c);
}

static uint32_t nchoices(const struct kern_nest *nest)
{
    return nest->ndims ? nest->ndims : 1;
}

/* The choice that leaves the BLAS the most work a call. */
static bool choose(const struct kern_gemm *g, struct call *best)
{
    double most = 0;

    for (uint32_t m = 0; m < nchoices(&g->m); m++) {
        for (uint32_t n = 0; n < nchoices(&g->n); n++) {
            for (uint32_t k = 0; k < nchoices(&g->k); k++) {
                struct call call = {
                    .m = dim_at(&g->m, m), .n = dim_at(&g->n, n), .k = dim_at(&g->k, k)};
                double work = (double)call.m.extent * (double)call.n.extent * (double)call.k.extent;

                if (work > most && set_layouts(&call)) {
                    *best = call;
                    most = work;
                }
            }
        }
    }
    return most >= KERN_BLAS_WORK_MIN;
}

struct blas_run {
    enum shd_dtype dtype;
    struct call call;
    const char *a;
    const char *b;
    char *c;
    struct kern_nest outer; /* arrays a, b, c: what is neither in the call nor summed over */
    struct kern_nest sums;  /* arrays a, b: what is summed over outside the call */
    int64_t nsums;
    int64_t down;
    int64_t across;
};

static void add_others(struct kern_nest *to, const struct kern_nest *from, uint32_t skip,
                       const int *array)
{
    for (uint32_t d = 0; d < from->ndims; d++) {
        int64_t strides[3] = {0, 0, 0};

        for (uint32_t i = 0; i < from->narrays; i++)
            strides[array[i]] = from->stride[i][d];
        if (d != skip)
            kern_nest_add(to, from->extent[d], strides);
    }
}

/* One call: c = a*b, or c += a*b for all but the first of the sums. */
static void call_blas(const struct blas_run *run, int64_t rows, int64_t cols, const char *a,
                      const char *b, char *c, bool add)
{
    const struct call *call = &run->call;
    int m = (int)rows, n = (int)cols, k = (int)call->k.extent;
    int lda = (int)call->a.ld, ldb = (int)call->b.ld, ldc = (int)call->c.ld;
    /* A column-major c is a row-major one to a BLAS that is told everything lies the other way. */
    bool flip = call->c.transposed;
    CBLAS_ORDER order = flip ? CblasColMajor : CblasRowMajor;
    CBLAS_TRANSPOSE ta = call->a.transposed != flip ? CblasTrans : CblasNoTrans;
    CBLAS_TRANSPOSE tb = call->b.transposed != flip ? CblasTrans : CblasNoTrans;

    while (sem_wait(&gate) != 0 && errno == EINTR)
        ;
    if (run->dtype == SHD_F32)
        blas.sgemm(order, ta, tb, m, n, k, 1, (const float *)a, lda, (const float *)b, ldb,
                   add ? 1 : 0, (float *)c, ldc);
    else
        blas.dgemm(order, ta, tb, m, n, k, 1, (const double *)a, lda, (const double *)b, ldb,
                   add ? 1 : 0, (double *)c, ldc);
    sem_post(&gate);
}

static void task(void *arg, int64_t id)
{
    const struct blas_run *run = arg;
    const struct call *call = &run->call;
    int64_t n = id % run->across * CALL_COLS, m = id / run->across % run->down * CALL_ROWS;
    int64_t rows = call->m.extent - m < CALL_ROWS ? call->m.extent - m : CALL_ROWS;
    int64_t cols = call->n.extent - n < CALL_COLS ? call->n.extent - n : CALL_COLS;
    int64_t size = run->dtype == SHD_F32 ? 4 : 8;
    struct kern_walk at, sum;

    kern_walk_init(&at, &run->outer, id / run->across / run->down);
    kern_walk_init(&sum, &run->sums, 0);
    for (int64_t i = 0; i < run->nsums; i++) {
        int64_t a = at.offset[0] + m * call->m.stride[0] + sum.offset[0];
        int64_t b = at.offset[1] + n * call->n.stride[0] + sum.offset[1];
        int64_t c = at.offset[2] + m * call->m.stride[1] + n * call->n.stride[1];

        call_blas(run, rows, cols, run->a + a * size, run->b + b * size, run->c + c * size, i > 0);
        kern_walk_advance(&sum, 1);
    }
}

static int64_t nblocks(int64_t n, int64_t block)
{
    return (n + block - 1) / block;
}

bool kern_gemm_blas(const struct kern_gemm *g, const void *a, const void *b, void *c, int nthreads)
{
    static const int of_batch[] = {0, 1, 2}, of_m[] = {0, 2}, of_n[] = {1, 2}, of_k[] = {0, 1};
    struct blas_run run = {.dtype = g->dtype, .a = a, .b = b, .c = c};

    if ((g->dtype != SHD_F32 && g->dtype != SHD_F64) || !choose(g, &run.call))
        return false;
    pthread_once(&once, setup);
    if (!blas.loaded)
        return false;
    run.outer.narrays = 3;
    run.sums.narrays = 2;
    add_others(&run.outer, &g->batch, UINT32_MAX, of_batch);
    add_others(&run.outer, &g->m, run.call.m.id, of_m);
    add_others(&run.outer, &g->n, run.call.n.id, of_n);
    add_others(&run.sums, &g->k, run.call.k.id, of_k);
    run.nsums = kern_nest_count(&run.sums);
    run.down = nblocks(run.call.m.extent, CALL_ROWS);
    run.across = nblocks(run.call.n.extent, CALL_COLS);
    kern_parallel(task, &run, kern_nest_count(&run.outer) * run.down * run.across, nthreads);
    return true;
}

#endif /* HAVE_OPENBLAS */
