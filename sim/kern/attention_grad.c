/* Attention backward: for each key head, all tiles of the queries that read it, each with all tiles
 * of keys that it sees.
 *
 * Probabilities are recomputed from the scores and lse. dk and dv of a head are summed in the
 * workspace, so that 16-bit results are rounded only once; the workspace grows with the keys, not
 * their square.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/attention_tile.h"

#include <math.h>
#include <string.h>

#include "kern/convert.h"
#include "kern/cut.h"
#include "kern/error.h"
#include "kern/math32.h"
#include "kern/multiply.h"
#include "kern/nest.h"

#define PARTS_MAX 4 /* fewer than forward: a part is large */

static size_t padded_keys(const struct kern_attention *a)
{
    return attention_round_up((size_t)attention_block_keys(a), KERN_MULTIPLY_ROWS);
}

#define T float
#define PREFIX(name) f32_##name
#define LOAD kern_load_f32
#define STORE kern_store_f32
#define MULTIPLY kern_multiply_f32
#define EXP kern_exp32
#define TANH kern_tanh32
#include "kern/attention_backward.inc"

#define T double
#define PREFIX(name) f64_##name
#define LOAD kern_load_f64
#define STORE kern_store_f64
#define MULTIPLY kern_multiply_f64
#define EXP exp
#define TANH tanh
#include "kern/attention_backward.inc"

static uint64_t nitems(const struct kern_attention *a)
{
    return kern_elements(3, (const int64_t[]){a->batch, a->blocks, a->kv_heads}, 7);
}

static uint64_t part_bytes(const struct kern_attention *a)
{
    uint64_t keys = padded_keys(a);
    uint64_t rows = kern_sat_add(3 * QTILE + KTILE, keys);
    uint64_t pitches = kern_sat_add(attention_pitch(a->head_dim), attention_pitch(a->value_dim));

    return attention_scratch_bytes(
        a, kern_sat_add(kern_sat_mul(rows, pitches), 2 * KTILE * QTILE + 2 * QTILE));
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
        .spans = a->sight ? args->in[6] : NULL,
        .positions = a->sight ? args->in[7] : NULL,
        .nitems = (int64_t)nitems(a),
        .part_bytes = part_bytes(a),
        .item = a->dtype == SHD_F64 ? f64_item : f32_item,
    };

    return attention_run_items(&all, PARTS_MAX);
}

/* Flops of a query-key pair: products of head_dim for scores, dk and dq, and of value_dim for dp
 * and dv. */
static uint64_t pair_flops(const struct kern_attention *a)
{
    return kern_sat_add(kern_sat_mul(6, (uint64_t)a->head_dim),
                        kern_sat_mul(4, (uint64_t)a->value_dim));
}

static uint64_t flops(const union kern_desc *desc, const int64_t *offsets)
{
    return kern_sat_mul(pair_flops(&desc->attention), attention_pairs(&desc->attention, offsets));
}

static uint64_t dense_flops(const union kern_desc *desc)
{
    return kern_sat_mul(pair_flops(&desc->attention), attention_dense_pairs(&desc->attention));
}

/* Recomputed flops: the scores, of head_dim. */
static uint64_t again_flops(const union kern_desc *desc)
{
    const struct kern_attention *a = &desc->attention;

    return kern_sat_mul(kern_sat_mul(2, (uint64_t)a->head_dim), attention_dense_pairs(a));
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct attention_counts counts = {
        .q = 2, /* with dq */
        .o = 2, /* with do */
        .seen = 1,
        .all = 1, /* dk and dv */
        .sums = 1,
    };

    return attention_array_bytes(&desc->attention, offsets, &counts);
}

const struct kern_kernel kern_kernel_attention_grad = {
    .name = "attention_grad",
    .run = run,
    .flops = flops,
    .bytes = bytes,
    .dense_flops = dense_flops,
    .again_flops = again_flops,
    .skips = attention_skips,
    .as_work = attention_as_work,
    .workspace_bytes = workspace_bytes,
    .error = kern_attention_grad_error,
    .cut = kern_attention_grad_cut,
    .part = kern_attention_part,
};
