/* Large matrix products of float and double, any strides: packed by blocks that fit the caches.
 *
 * The loops are those of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
 * (2008): a panel of b stays in the first-level cache, a block of a in the second.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/packed_room.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "kern/gemm.h"
#include "kern/isa.h"
#include "kern/multiply.h"

#define PANEL_M KERN_MULTIPLY_PANEL
#define PANEL_N ((size_t)KERN_MULTIPLY_COLS)

struct packed_run {
    const struct kern_gemm *g;
    const void *a, *b;
    void *c;
    int64_t nm, nn, nk;
    int64_t rows; /* in a task */
};

/* The packed contents of a room. */
struct block {
    struct packed_room *room;
    size_t nrows, ncols, depth;
    uint64_t flops; /* of all blocks up to this block */
};

/* The destination of a tile of c. */
struct tile_place {
    const int64_t *rows, *cols;
    size_t nrows, ncols;
    bool in_rows; /* its columns are adjacent in memory */
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Two registers of 8 from two others: halves of each, side by side. */
#define EXCHANGE(low, high, x, y, by) low = by##_LOW(x, y), high = by##_HIGH(x, y)
#define BY_ONE_LOW(x, y) __builtin_shufflevector(x, y, 0, 8, 2, 10, 4, 12, 6, 14)
#define BY_ONE_HIGH(x, y) __builtin_shufflevector(x, y, 1, 9, 3, 11, 5, 13, 7, 15)
#define BY_TWO_LOW(x, y) __builtin_shufflevector(x, y, 0, 1, 8, 9, 4, 5, 12, 13)
#define BY_TWO_HIGH(x, y) __builtin_shufflevector(x, y, 2, 3, 10, 11, 6, 7, 14, 15)
#define BY_FOUR_LOW(x, y) __builtin_shufflevector(x, y, 0, 1, 2, 3, 8, 9, 10, 11)
#define BY_FOUR_HIGH(x, y) __builtin_shufflevector(x, y, 4, 5, 6, 7, 12, 13, 14, 15)
#define EACH_OF_EIGHT(what) what(0), what(1), what(2), what(3), what(4), what(5), what(6), what(7)

/* Prefetch a tile of c while the product is computed. */
KERN_BODY void fetch_tile(const void *c, size_t size, const struct tile_place *at)
{
    for (size_t i = 0; i < at->nrows; i++) {
        const char *row = (const char *)c + (at->rows[i] + at->cols[0]) * (int64_t)size;

        __builtin_prefetch(row, 1);
        if (at->in_rows)
            __builtin_prefetch(row + (at->ncols - 1) * size, 1);
    }
}

#define T float
#define PREFIX(name) f32_##name
#define MULTIPLY kern_multiply_f32
#include "kern/packed_block.inc"

#define T double
#define PREFIX(name) f64_##name
#define MULTIPLY kern_multiply_f64
#include "kern/packed_block.inc"

/* Rows in a task, so that all threads have some; the thread that computes an element does not
 * change its value. */
static int64_t rows_of_task(const struct packed_run *run, int64_t nbatches, int nthreads)
{
    int64_t pieces = nthreads > nbatches ? (nthreads + nbatches - 1) / nbatches : 1;
    int64_t rows = (run->nm + pieces - 1) / pieces;

    return (rows + PANEL_M - 1) / PANEL_M * PANEL_M;
}

static uint64_t task(void *arg, int64_t id)
{
    const struct packed_run *run = arg;
    int64_t pieces = (run->nm + run->rows - 1) / run->rows;
    int64_t first = id % pieces * run->rows, last = first + run->rows;
    struct packed_room *room = packed_room_take();
    struct kern_walk batch;
    uint64_t flops;

    kern_walk_init(&batch, &run->g->batch, id / pieces);
    last = last < run->nm ? last : run->nm;
    if (run->g->dtype == SHD_F64)
        flops = f64_rows(run, batch.offset, first, last, room);
    else
        flops = f32_rows(run, batch.offset, first, last, room);
    packed_room_give(room);
    return flops;
}

bool kern_gemm_packed(const struct kern_gemm *g, const void *a, const void *b, void *c,
                      int nthreads, uint64_t *flops)
{
    struct packed_run run = {.g = g,
                             .a = a,
                             .b = b,
                             .c = c,
                             .nm = kern_nest_count(&g->m),
                             .nn = kern_nest_count(&g->n),
                             .nk = kern_nest_count(&g->k)};
    int64_t nbatches = kern_nest_count(&g->batch);

    if ((g->dtype != SHD_F32 && g->dtype != SHD_F64) ||
        (double)run.nm * (double)run.nn * (double)run.nk < KERN_PACKED_WORK_MIN ||
        !packed_room_any())
        return false;
    run.rows = rows_of_task(&run, nbatches, nthreads);
    *flops = kern_parallel(task, &run, nbatches * ((run.nm + run.rows - 1) / run.rows), nthreads);
    return true;
}
