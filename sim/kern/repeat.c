/* Key heads copied for each of their query heads, and the sum over these copies.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kernel.h"

#include <assert.h>
#include <string.h>

#include "kern/convert.h"
#include "kern/cut.h"
#include "kern/error.h"
#include "kern/nest.h"

#define BLOCK 256 /* elements of a sum at a time */

struct repeat_run {
    const struct kern_repeat *repeat;
    const char *in;
    char *out;
    int64_t head0;
    int64_t kv_head0;
};

/* The local key head of a local head. */
static int64_t kv_head(const struct repeat_run *run, int64_t h)
{
    int64_t g = (run->head0 + h) / run->repeat->repeat - run->kv_head0;

    assert(g >= 0 && g < run->repeat->kv_heads);
    return g;
}

static uint64_t copy(void *arg, int64_t outer)
{
    const struct repeat_run *run = arg;
    const struct kern_repeat *r = run->repeat;
    size_t n = (size_t)r->inner * kern_size(r->dtype);

    for (int64_t h = 0; h < r->heads; h++)
        memcpy(run->out + (size_t)(outer * r->heads + h) * n,
               run->in + (size_t)(outer * r->kv_heads + kv_head(run, h)) * n, n);
    return 0;
}

#define SUM_HEADS(name, T, load, store)                                                            \
    static uint64_t name(const struct repeat_run *run, int64_t outer, int64_t g, int64_t at,       \
                         size_t n)                                                                 \
    {                                                                                              \
        const struct kern_repeat *r = run->repeat;                                                 \
        int64_t size = (int64_t)kern_size(r->dtype);                                               \
        T sum[BLOCK], more[BLOCK];                                                                 \
        uint64_t flops = 0;                                                                        \
                                                                                                   \
        memset(sum, 0, n * sizeof *sum);                                                           \
        for (int64_t h = 0; h < r->heads; h++) {                                                   \
            if (kv_head(run, h) != g)                                                              \
                continue;                                                                          \
            load(r->dtype, run->in + ((outer * r->heads + h) * r->inner + at) * size, 1, n, more); \
            for (size_t i = 0; i < n; i++)                                                         \
                sum[i] += more[i];                                                                 \
            flops += n;                                                                            \
        }                                                                                          \
        store(r->dtype, run->out + ((outer * r->kv_heads + g) * r->inner + at) * size, 1, n, sum); \
        return flops;                                                                              \
    }

SUM_HEADS(sum_heads_f32, float, kern_load_f32, kern_store_f32)
SUM_HEADS(sum_heads_f64, double, kern_load_f64, kern_store_f64)

static uint64_t add_up(void *arg, int64_t outer)
{
    const struct repeat_run *run = arg;
    const struct kern_repeat *r = run->repeat;
    uint64_t flops = 0;

    for (int64_t g = 0; g < r->kv_heads; g++) {
        for (int64_t at = 0; at < r->inner; at += BLOCK) {
            size_t n = (size_t)(r->inner - at < BLOCK ? r->inner - at : BLOCK);

            if (r->dtype == SHD_F64)
                flops += sum_heads_f64(run, outer, g, at, n);
            else
                flops += sum_heads_f32(run, outer, g, at, n);
        }
    }
    return flops;
}

static uint64_t run_tasks(const union kern_desc *desc, const struct kern_args *args,
                          kern_task_fn task)
{
    struct repeat_run run = {.repeat = &desc->repeat,
                             .in = args->in[0],
                             .out = args->out[0],
                             .head0 = args->offsets[0],
                             .kv_head0 = args->offsets[1]};

    return kern_parallel(task, &run, desc->repeat.outer, args->nthreads);
}

static uint64_t run_repeat(const union kern_desc *desc, const struct kern_args *args)
{
    return run_tasks(desc, args, copy);
}

static uint64_t run_repeat_sum(const union kern_desc *desc, const struct kern_args *args)
{
    return run_tasks(desc, args, add_up);
}

static uint64_t nelems(const struct kern_repeat *r, int64_t heads)
{
    const int64_t extent[] = {r->outer, heads, r->inner};

    return kern_elements(3, extent, 7);
}

static uint64_t sum_flops(const union kern_desc *desc, const int64_t *offsets)
{
    (void)offsets;
    return nelems(&desc->repeat, desc->repeat.heads);
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_repeat *r = &desc->repeat;

    (void)offsets;
    return kern_sat_mul(kern_sat_add(nelems(r, r->heads), nelems(r, r->kv_heads)),
                        kern_size(r->dtype));
}

static bool error(const union kern_desc *desc, struct kern_error *e)
{
    return kern_error_moved(&kern_kernel_repeat, desc, e, 0, 1);
}

static bool sum_error(const union kern_desc *desc, struct kern_error *e)
{
    const struct kern_repeat *r = &desc->repeat;

    return kern_error_added(&kern_kernel_repeat_sum, desc, e, 0, nelems(r, r->heads),
                            nelems(r, r->kv_heads), (double)r->repeat,
                            kern_compute_roundoff(e->type));
}

/* Cut the dimensions outside the heads, or inside each head. */
static void cut_either(const struct kern_repeat *r, struct kern_cut *out,
                       struct kern_cut_array *heads, struct kern_cut_array *kv_heads)
{
    out->dim = r->inner > r->outer;
    out->rows = out->dim ? r->inner : r->outer;
    *heads = (struct kern_cut_array){1, 1, r->heads * r->inner};
    *kv_heads = (struct kern_cut_array){1, 1, r->kv_heads * r->inner};
    if (out->dim) {
        *heads = (struct kern_cut_array){r->outer * r->heads, 1, 1};
        *kv_heads = (struct kern_cut_array){r->outer * r->kv_heads, 1, 1};
    }
    if (r->outer * r->heads * r->kv_heads * r->inner == 0)
        out->rows = 0;
}

static void cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    (void)wanted;
    cut_either(&desc->repeat, out, &out->out[0], &out->in[0]);
}

static void sum_cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    (void)wanted;
    cut_either(&desc->repeat, out, &out->in[0], &out->out[0]);
}

static void part(union kern_desc *desc, const struct kern_cut *cut, int64_t first, int64_t count,
                 int64_t *offsets)
{
    (void)first, (void)offsets;
    *(cut->dim ? &desc->repeat.inner : &desc->repeat.outer) = count;
}

const struct kern_kernel kern_kernel_repeat = {
    .name = "repeat", .run = run_repeat, .bytes = bytes, .error = error, .cut = cut, .part = part};

const struct kern_kernel kern_kernel_repeat_sum = {.name = "repeat_sum",
                                                   .run = run_repeat_sum,
                                                   .flops = sum_flops,
                                                   .bytes = bytes,
                                                   .error = sum_error,
                                                   .cut = sum_cut,
                                                   .part = part};
