/* Attention backward: per key head, all tiles of the queries that read it, each with all the tiles
 * of keys that it sees.
 *
 * Probabilities are computed again from the scores and lse.  dk and dv of a head are summed in the
 * workspace, as 16-bit results are rounded only once; that grows with the keys, not their square.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/attention_tile.h"

#include <math.h>
#include <string.h>

#include "kern/convert.h"
#include "kern/error.h"
#include "kern/math32.h"
#include "kern/multiply.h"
#include "kern/nest.h"

#define PARTS_MAX 4 /* fewer than forward: a part is large */

#define T float
#define PREFIX(name) f32_##name
#define LOAD kern_load_f32
#define STORE kern_store_f32
#define MULTIPLY kern_multiply_f32
#define EXP kern_exp32
#include "kern/attention_backward.inc"

#define T double
#define PREFIX(name) f64_##name
#define LOAD kern_load_f64
#define STORE kern_store_f64
#define MULTIPLY kern_multiply_f64
#define EXP exp
#include "kern/attention_backward.inc"

static uint64_t nitems(const struct kern_attention *a)
{
    return kern_elements(2, (const int64_t[]){a->batch, a->kv_heads}, 3);
}

static uint64_t part_bytes(const struct kern_attention *a)
{
    uint64_t keys = attention_round_up((size_t)a->keys, KERN_MULTIPLY_ROWS);
    uint64_t rows = kern_sat_add(6 * QTILE + 2 * KTILE, kern_sat_mul(2, keys));

    return attention_scratch_bytes(
        a, kern_sat_add(kern_sat_mul(rows, attention_pitch(a)), 2 * KTILE * QTILE + 2 * QTILE));
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
    return kern_sat_mul(10, attention_work(&desc->attention, offsets[KERN_ATTENTION_QUERY0]));
}

static uint64_t dense_flops(const union kern_desc *desc)
{
    return kern_sat_mul(10, attention_dense_work(&desc->attention));
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    /* q, o, do, dq; k, v; dk, dv; lse */
    return attention_array_bytes(&desc->attention, offsets[KERN_ATTENTION_QUERY0], 4, 2, 2, 1);
}

const struct kern_kernel kern_kernel_attention_grad = {
    .name = "attention_grad",
    .run = run,
    .flops = flops,
    .bytes = bytes,
    .dense_flops = dense_flops,
    .workspace_bytes = workspace_bytes,
    .error = kern_attention_grad_error,
};
