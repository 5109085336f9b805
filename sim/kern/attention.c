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
#define LARGER(x, y) ((x) > (y) ? (x) : (y))
#define LOWEST (-DBL_MAX)
#include "kern/attention_forward.inc"

static uint64_t nitems(const struct kern_attention *a)
{
    uint64_t ntiles = ((uint64_t)a->queries + QTILE - 1) / QTILE;

    return kern_sat_mul(kern_elements(2, (const int64_t[]){a->batch, a->heads}, 3), ntiles);
}

static uint64_t part_bytes(const struct kern_attention *a)
{
    uint64_t tiles = kern_sat_mul(3 * QTILE + 2 * KTILE, attention_pitch(a));

    return attention_scratch_bytes(a, kern_sat_add(tiles, KTILE * QTILE + 3 * QTILE));
}

static uint64_t workspace_bytes(const union kern_desc *desc)
{
    const struct kern_attention *a = &desc->attention;

    return attention_parts_bytes(nitems(a), PARTS_MAX, part_bytes(a));
}

static uint64_t run(const union kern_desc *desc, const struct kern_args *args)
{
    const struct kern_attention *a = &desc->attention;
    struct attention_run all = {
        .desc = a,
        .args = args,
        .nitems = (int64_t)nitems(a),
        .part_bytes = part_bytes(a),
        .item = a->dtype == SHD_F64 ? f64_item : f32_item,
    };

    return attention_run_items(&all, PARTS_MAX);
}

static uint64_t flops(const union kern_desc *desc, const int64_t *offsets)
{
    return kern_sat_mul(4, attention_work(&desc->attention, offsets[KERN_ATTENTION_QUERY0]));
}

static uint64_t dense_flops(const union kern_desc *desc)
{
    return kern_sat_mul(4, attention_dense_work(&desc->attention));
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    /* q, o; k, v; lse */
    return attention_array_bytes(&desc->attention, offsets[KERN_ATTENTION_QUERY0], 2, 2, 0, 1);
}

const struct kern_kernel kern_kernel_attention = {
    .name = "attention",
    .run = run,
    .flops = flops,
    .bytes = bytes,
    .dense_flops = dense_flops,
    .workspace_bytes = workspace_bytes,
    .error = kern_attention_error,
};
