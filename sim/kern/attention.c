/* Attention forward: per tile of queries, all visible tiles of keys in order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/attention_tile.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kern/convert.h"
#include "kern/cut.h"
#include "kern/error.h"
#include "kern/math32.h"
#include "kern/multiply.h"
#include "kern/nest.h"

#define PARTS_MAX 16

#define T float
#define PREFIX(name) f32_##name
#define LOAD kern_load_f32
#define STORE kern_store_f32
#define MULTIPLY kern_multiply_f32
#define EXP kern_exp32
#define LOG kern_log32
#define TANH kern_tanh32
#define LARGER(x, y) kern_select32((x) > (y), x, y)
#define LOWEST (-FLT_MAX)
#include "kern/attention_forward.inc"

#define T double
#define PREFIX(name) f64_##name
#define LOAD kern_load_f64
#define STORE kern_store_f64
#define MULTIPLY kern_multiply_f64
#define EXP exp
#define LOG log
#define TANH tanh
#define LARGER(x, y) ((x) > (y) ? (x) : (y))
#define LOWEST (-DBL_MAX)
#include "kern/attention_forward.inc"

static uint64_t nitems(const struct kern_attention *a)
{
    int64_t ntiles = attention_block_queries(a) / QTILE + (attention_block_queries(a) % QTILE > 0);

    return kern_elements(4, (const int64_t[]){a->batch, a->blocks, a->heads, ntiles}, 15);
}

static uint64_t part_bytes(const struct kern_attention *a)
{
    uint64_t kpitch = attention_pitch(a->head_dim), vpitch = attention_pitch(a->value_dim);
    uint64_t tiles = kern_sat_mul(QTILE + KTILE, kern_sat_add(kpitch, vpitch));

    tiles = kern_sat_add(tiles, kern_sat_mul(QTILE, kpitch > vpitch ? kpitch : vpitch));
    return attention_scratch_bytes(a, kern_sat_add(tiles, KTILE * QTILE + 3 * QTILE));
}

static uint64_t workspace_bytes(const union kern_desc *desc)
{
    const struct kern_attention *a = &desc->attention;

    return attention_workspace_bytes(a, nitems(a), PARTS_MAX, part_bytes(a));
}

static uint64_t run(const union kern_desc *desc, const struct kern_args *args)
{
    const struct kern_attention *a = &desc->attention;
    struct attention_run all = {
        .desc = a,
        .args = args,
        .spans = a->sight ? args->in[3] : NULL,
        .positions = a->sight ? args->in[4] : NULL,
        .table = a->pages ? args->in[5] : NULL,
        .nitems = (int64_t)nitems(a),
        .part_bytes = part_bytes(a),
        .item = a->dtype == SHD_F64 ? f64_item : f32_item,
    };

    return attention_run_items(&all, PARTS_MAX);
}

/* Flops of a query-key pair: a product of head_dim, and one of value_dim. */
static uint64_t pair_flops(const struct kern_attention *a)
{
    return kern_sat_add(kern_sat_mul(2, (uint64_t)a->head_dim),
                        kern_sat_mul(2, (uint64_t)a->value_dim));
}

static uint64_t flops(const union kern_desc *desc, const int64_t *offsets)
{
    return kern_sat_mul(pair_flops(&desc->attention), attention_pairs(&desc->attention, offsets));
}

static uint64_t dense_flops(const union kern_desc *desc)
{
    return kern_sat_mul(pair_flops(&desc->attention), attention_dense_pairs(&desc->attention));
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_attention *a = &desc->attention;
    const struct attention_counts counts = {
        .q = 1,
        .o = !a->more,
        .seen = 1,
        .sums = 1 + a->goes_on, /* lse */
        .o_of_sums = a->more + a->goes_on,
    };

    return kern_sat_add(attention_array_bytes(a, offsets, &counts),
                        a->sinks ? kern_elements(1, &a->heads, kern_size(a->dtype)) : 0);
}

const struct kern_kernel kern_kernel_attention = {
    .name = "attention",
    .run = run,
    .flops = flops,
    .bytes = bytes,
    .dense_flops = dense_flops,
    .skips = attention_skips,
    .as_work = attention_as_work,
    .workspace_bytes = workspace_bytes,
    .error = kern_attention_error,
    .cut = kern_attention_cut,
    .part = kern_attention_part,
};
