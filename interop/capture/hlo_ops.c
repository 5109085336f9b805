/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/hlo_ops.h"

#include <stdlib.h>

#define GATHERED .result_is_gathered = true
#define SCATTERED .result_is_scattered = true

static const struct hlo_op ops[] = {
    {"all-reduce", "all-reduce", COLL_ALL_REDUCE, HLO_RESULT, .pairs = false},
    {"all-reduce-start", "all-reduce", COLL_ALL_REDUCE, HLO_RESULT, .pairs = false},
    {"all-gather", "all-gather", COLL_ALL_GATHER, HLO_RESULT, GATHERED},
    {"all-gather-start", "all-gather", COLL_ALL_GATHER, HLO_SECOND, GATHERED},
    {"reduce-scatter", "reduce-scatter", COLL_REDUCE_SCATTER, HLO_RESULT, SCATTERED},
    {"reduce-scatter-start", "reduce-scatter", COLL_REDUCE_SCATTER, HLO_SECOND, SCATTERED},
    {"all-to-all", "all-to-all", COLL_ALL_TO_ALL, HLO_RESULT, .any_channel = true},
    {"all-to-all-start", "all-to-all", COLL_ALL_TO_ALL, HLO_SECOND, .any_channel = true},
    {"ragged-all-to-all", "ragged-all-to-all", COLL_ALL_TO_ALL, HLO_RESULT, .any_channel = true},
    {"ragged-all-to-all-start", "ragged-all-to-all", COLL_ALL_TO_ALL, HLO_SECOND,
     .any_channel = true},
    {"collective-broadcast", "collective-broadcast", COLL_BROADCAST, HLO_RESULT,
     .any_channel = true},
    {"collective-broadcast-start", "collective-broadcast", COLL_BROADCAST, HLO_SECOND,
     .any_channel = true},
    {"collective-permute", "collective-permute", COLL_PERMUTE, HLO_RESULT, .pairs = true,
     .any_channel = true},
    {"collective-permute-start", "collective-permute", COLL_PERMUTE, HLO_SECOND_IF_TUPLE,
     .pairs = true, .any_channel = true},
    {"send", "send", COLL_PERMUTE, HLO_FIRST, .pairs = true, .any_channel = true},
};

const struct hlo_op *hlo_op_find(struct hlo_piece name)
{
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (hlo_equal(name, ops[i].name))
            return &ops[i];
    return NULL;
}

static bool sum(uint64_t *out, const uint64_t *bytes, size_t n)
{
    *out = 0;
    for (size_t i = 0; i < n; i++)
        if (__builtin_add_overflow(*out, bytes[i], out))
            return false;
    return true;
}

/* Pick the bytes that count from a shape's items; *npieces is known for plain results only. */
static bool pick(uint64_t *out, uint64_t *npieces, enum hlo_shape_of of, const uint64_t *bytes,
                 size_t n)
{
    *npieces = 1;
    switch (of) {
    case HLO_FIRST:
        *out = bytes[0];
        return true;
    case HLO_SECOND_IF_TUPLE:
        *out = bytes[n > 1 ? 1 : 0];
        return true;
    case HLO_SECOND:
        *out = n > 1 ? bytes[1] : 0;
        return n > 1;
    default:
        *npieces = n;
        return sum(out, bytes, n);
    }
}

int hlo_op_bytes(uint64_t *bytes, uint64_t *npieces, const struct hlo_op *op,
                 struct hlo_piece shape, uint32_t members)
{
    uint64_t *items = calloc(HLO_ITEMS_MAX, sizeof *items);
    size_t n = items ? hlo_take_shape(&shape, items, HLO_ITEMS_MAX) : 0;
    bool good = n > 0 && pick(bytes, npieces, op->of, items, n);

    if (!items)
        return SHD_ENOMEM;
    free(items);
    if (!good || *bytes > CAPTURE_BYTES_MAX)
        return SHD_EINVAL;
    if (op->result_is_gathered) {
        if (members == 0 || *bytes % members)
            return SHD_EINVAL;
        *bytes /= members;
    }
    if (op->result_is_scattered && __builtin_mul_overflow(*bytes, members, bytes))
        return SHD_EINVAL;
    return *bytes <= CAPTURE_BYTES_MAX ? SHD_OK : SHD_EINVAL;
}
