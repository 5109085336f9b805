/* Elementwise expressions, block by block (kern.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kern.h"

#include "kern/convert.h"
#include "kern/map_fn.h"
#include "kern/nest.h"

/* Elements of a block: all its registers fit the first-level cache and a small stack (24 KiB).  An
 * element's value does not depend on the thread that computes it. */
#define BLOCK_F32 256
#define BLOCK_F64 128
#define NREGS (KERN_MAP_INPUTS_MAX + KERN_MAP_INSTRS_MAX)
#define TASK_BLOCKS 64 /* blocks in one task */

struct map_run {
    const struct kern_map *map;
    const void *const *inputs;
    void *out;
    struct kern_nest nest; /* array 0 is the result, 1 + i is input i */
    int64_t count;
};

union regs {
    float f32[NREGS][BLOCK_F32];
    double f64[NREGS][BLOCK_F64];
};

static size_t round_up(size_t n)
{
    return (n + KERN_LANES - 1) / KERN_LANES * KERN_LANES;
}

/* Whether registers are doubles, which hold all values of every type. */
static bool is_wide(const struct kern_map *map)
{
    bool wide = map->dtype == SHD_F64 || map->dtype == SHD_I32;

    for (uint32_t i = 0; i < map->ninputs; i++)
        wide |= map->in_dtype[i] == SHD_F64;
    return wide;
}

static const char *place(const struct map_run *run, const struct kern_walk *walk, uint32_t input)
{
    return (const char *)run->inputs[input] +
           walk->offset[1 + input] * (int64_t)kern_size(run->map->in_dtype[input]);
}

static int64_t inner_stride(const struct kern_nest *nest, uint32_t array)
{
    return nest->ndims ? nest->stride[array][nest->ndims - 1] : 1;
}

/* Load a run of n elements of all inputs, at `at` in their registers. */
static void load_run(const struct map_run *run, const struct kern_walk *walk, size_t at, size_t n,
                     bool wide, union regs *regs)
{
    for (uint32_t i = 0; i < run->map->ninputs; i++) {
        enum shd_dtype dtype = run->map->in_dtype[i];
        int64_t stride = inner_stride(&run->nest, 1 + i);

        if (wide)
            kern_load_f64(dtype, place(run, walk, i), stride, n, regs->f64[i] + at);
        else
            kern_load_f32(dtype, place(run, walk, i), stride, n, regs->f32[i] + at);
    }
}

static void store_run(const struct map_run *run, const struct kern_walk *walk, size_t at, size_t n,
                      bool wide, const union regs *regs, uint32_t result)
{
    enum shd_dtype dtype = run->map->dtype;
    int64_t stride = inner_stride(&run->nest, 0);
    char *out = (char *)run->out + walk->offset[0] * (int64_t)kern_size(dtype);

    if (wide)
        kern_store_f64(dtype, out, stride, n, regs->f64[result] + at);
    else
        kern_store_f32(dtype, out, stride, n, regs->f32[result] + at);
}

/* Compute a block; returns the flops: n for each function. */
static uint64_t compute(const struct kern_map *map, size_t n, bool wide, union regs *regs)
{
    uint64_t flops = 0;

    for (uint32_t i = 0; i < map->ninstrs; i++) {
        const struct kern_instr *instr = &map->instrs[i];
        uint32_t to = map->ninputs + i;
        const float *f32[KERN_OPERANDS_MAX];
        const double *f64[KERN_OPERANDS_MAX];

        for (uint32_t k = 0; k < KERN_OPERANDS_MAX; k++) {
            /* What is not read only must not be the output register. */
            uint32_t from = k < kern_fns[instr->fn].noperands ? instr->src[k] : to == 0;

            f32[k] = regs->f32[from];
            f64[k] = regs->f64[from];
        }
        if (!wide)
            kern_fn_f32(instr->fn, round_up(n), f32, (float)instr->scalar, regs->f32[to]);
        else if (map->dtype == SHD_I32)
            kern_fn_i32(instr->fn, n, f64, instr->scalar, regs->f64[to]);
        else
            kern_fn_f64(instr->fn, n, f64, instr->scalar, regs->f64[to]);
        flops += n * kern_fns[instr->fn].flops;
    }
    return flops;
}

/* Fill the lanes past n, which are computed, too, with a value that is quick and harmless. */
static void pad(const struct kern_map *map, size_t n, bool wide, union regs *regs)
{
    for (uint32_t i = 0; i < map->ninputs && !wide; i++) {
        for (size_t j = n; j < round_up(n); j++)
            regs->f32[i][j] = 1.0f;
    }
}

static uint64_t run_block(const struct map_run *run, struct kern_walk *walk, size_t n, bool wide,
                          union regs *regs)
{
    struct kern_walk start = *walk;
    uint64_t flops;
    size_t at;

    for (at = 0; at < n;) {
        int64_t left = kern_walk_run(walk);
        size_t length = (size_t)left < n - at ? (size_t)left : n - at;

        load_run(run, walk, at, length, wide, regs);
        kern_walk_advance(walk, (int64_t)length);
        at += length;
    }
    pad(run->map, n, wide, regs);
    flops = compute(run->map, n, wide, regs);
    for (at = 0; at < n;) {
        int64_t left = kern_walk_run(&start);
        size_t length = (size_t)left < n - at ? (size_t)left : n - at;

        store_run(run, &start, at, length, wide, regs, run->map->ninputs + run->map->ninstrs - 1);
        kern_walk_advance(&start, (int64_t)length);
        at += length;
    }
    return flops;
}

static uint64_t task(void *arg, int64_t id)
{
    const struct map_run *run = arg;
    bool wide = is_wide(run->map);
    int64_t block = wide ? BLOCK_F64 : BLOCK_F32;
    int64_t at = id * block * TASK_BLOCKS, end = at + block * TASK_BLOCKS;
    struct kern_walk walk;
    _Alignas(64) union regs regs;
    uint64_t flops = 0;

    end = end < run->count ? end : run->count;
    kern_walk_init(&walk, &run->nest, at);
    for (; at < end; at += block)
        flops += run_block(run, &walk, (size_t)(end - at < block ? end - at : block), wide, &regs);
    return flops;
}

uint64_t kern_map_flops(const struct kern_map *m)
{
    uint64_t each = 0;

    for (uint32_t i = 0; i < m->ninstrs; i++)
        each += kern_fns[m->instrs[i].fn].flops;
    return kern_sat_mul(each, kern_elements(m->ndims, m->extent, UINT32_MAX));
}

/* Bytes read of an input; one that is broadcast along a dimension is read once. */
static uint64_t input_bytes(const struct kern_map *m, uint32_t input)
{
    uint64_t count = kern_size(m->in_dtype[input]);

    for (uint32_t d = 0; d < m->ndims; d++) {
        if (m->in_stride[input][d] != 0)
            count = kern_sat_mul(count, (uint64_t)m->extent[d]);
    }
    return count;
}

uint64_t kern_map_bytes(const struct kern_map *m)
{
    uint64_t count = kern_elements(m->ndims, m->extent, UINT32_MAX);

    if (count == 0)
        return 0;
    count = kern_sat_mul(count, kern_size(m->dtype));
    for (uint32_t i = 0; i < m->ninputs; i++)
        count = kern_sat_add(count, input_bytes(m, i));
    return count;
}

uint64_t kern_map_run(const struct kern_map *m, const void *const *inputs, void *out, int nthreads)
{
    struct map_run run = {.map = m, .inputs = inputs, .out = out};
    int64_t block = is_wide(m) ? BLOCK_F64 : BLOCK_F32;

    if (kern_elements(m->ndims, m->extent, UINT32_MAX) == 0)
        return 0;
    run.nest.narrays = 1 + m->ninputs;
    for (uint32_t d = 0; d < m->ndims; d++) {
        int64_t strides[1 + KERN_MAP_INPUTS_MAX] = {m->out_stride[d]};

        for (uint32_t i = 0; i < m->ninputs; i++)
            strides[1 + i] = m->in_stride[i][d];
        kern_nest_add(&run.nest, m->extent[d], strides);
    }
    kern_nest_simplify(&run.nest, 0);
    run.count = kern_nest_count(&run.nest);
    block *= TASK_BLOCKS;
    return kern_parallel(task, &run, (run.count + block - 1) / block, nthreads);
}
