/* Our own matrix product: any strides, any computed type, no memory but the stack.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/gemm.h"

#include <string.h>

#include "kern/convert.h"
#include "kern/multiply.h"

/* A block of c, and the parts of a and b that it reads at a time, are on the stack: 56 KiB at
 * most. */
#define BLOCK_M 64
#define BLOCK_N_MAX 64

struct own_run {
    const struct kern_gemm *g;
    const char *a;
    const char *b;
    char *c;
    int64_t nm;
    int64_t nn;
    int64_t nk;
};

/* A block of c: the offsets of its batch, and relative to these those of its rows and columns. */
struct tile {
    int64_t a, b, c;
    size_t nrows, ncols;
    int64_t m_a[BLOCK_M], m_c[BLOCK_M];
    int64_t n_b[BLOCK_N_MAX], n_c[BLOCK_N_MAX];
};

static int64_t nblocks(int64_t n, int64_t block)
{
    return (n + block - 1) / block;
}

static struct tile tile_of(const struct own_run *run, int64_t block_n, int64_t task)
{
    int64_t across = nblocks(run->nn, block_n), down = nblocks(run->nm, BLOCK_M);
    int64_t n = task % across * block_n, m = task / across % down * BLOCK_M;
    struct kern_walk walk;
    struct tile tile;

    kern_walk_init(&walk, &run->g->batch, task / across / down);
    tile.a = walk.offset[0];
    tile.b = walk.offset[1];
    tile.c = walk.offset[2];
    tile.nrows = (size_t)(run->nm - m < BLOCK_M ? run->nm - m : BLOCK_M);
    tile.ncols = (size_t)(run->nn - n < block_n ? run->nn - n : block_n);
    kern_nest_offsets(&run->g->m, m, tile.nrows, tile.m_a, tile.m_c);
    kern_nest_offsets(&run->g->n, n, tile.ncols, tile.n_b, tile.n_c);
    return tile;
}

/* int32 wraps, like unsigned words. */
static void load_u32(enum shd_dtype dtype, const void *base, int64_t stride, size_t n,
                     uint32_t *out)
{
    const int32_t *in = base;

    (void)dtype;
    for (size_t i = 0; i < n; i++)
        out[i] = (uint32_t)in[(int64_t)i * stride];
}

static void store_u32(enum shd_dtype dtype, void *base, int64_t stride, size_t n,
                      const uint32_t *in)
{
    int32_t *out = base;

    (void)dtype;
    for (size_t i = 0; i < n; i++)
        memcpy(&out[(int64_t)i * stride], &in[i], sizeof *in);
}

#define T float
#define PREFIX(name) f32_##name
#define BLOCK_N 64
#define BLOCK_K 64
#define LOAD kern_load_f32
#define STORE kern_store_f32
#define MULTIPLY kern_multiply_f32
#include "kern/gemm_block.inc"

#define T double
#define PREFIX(name) f64_##name
#define BLOCK_N 32
#define BLOCK_K 32
#define LOAD kern_load_f64
#define STORE kern_store_f64
#define MULTIPLY kern_multiply_f64
#include "kern/gemm_block.inc"

#define T uint32_t
#define PREFIX(name) u32_##name
#define BLOCK_N 64
#define BLOCK_K 64
#define LOAD load_u32
#define STORE store_u32
#define MULTIPLY kern_multiply_u32
#include "kern/gemm_block.inc"

uint64_t kern_gemm_own(const struct kern_gemm *g, const void *a, const void *b, void *c,
                       int nthreads)
{
    struct own_run run = {
        .g = g,
        .a = a,
        .b = b,
        .c = c,
        .nm = kern_nest_count(&g->m),
        .nn = kern_nest_count(&g->n),
        .nk = kern_nest_count(&g->k),
    };
    int64_t block_n = g->dtype == SHD_F64 ? 32 : 64;
    int64_t ntasks =
        kern_nest_count(&g->batch) * nblocks(run.nm, BLOCK_M) * nblocks(run.nn, block_n);

    switch (g->dtype) {
    case SHD_F64:
        return kern_parallel(f64_task, &run, ntasks, nthreads);
    case SHD_I32:
        return kern_parallel(u32_task, &run, ntasks, nthreads);
    default:
        return kern_parallel(f32_task, &run, ntasks, nthreads);
    }
}
