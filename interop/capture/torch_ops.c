/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/torch_ops.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define ALL_REDUCE "all-reduce", COLL_ALL_REDUCE, TORCH_INPUT, .sends = false
#define ALL_GATHER "all-gather", COLL_ALL_GATHER, TORCH_INPUT, .sends = false
#define REDUCE_SCATTER \
    "reduce-scatter", COLL_REDUCE_SCATTER, TORCH_INPUT_OR_SCATTERED, .sends = false
#define ALL_TO_ALL "all-to-all", COLL_ALL_TO_ALL, TORCH_INPUT, .sends = false
#define BROADCAST "broadcast", COLL_BROADCAST, TORCH_INPUT, .sends = false
#define REDUCE "reduce", COLL_REDUCE, TORCH_INPUT, .sends = false
#define GATHER "gather", COLL_GATHER, TORCH_INPUT, .sends = false
#define SCATTER "scatter", COLL_SCATTER, TORCH_SCATTERED, .sends = false
#define SEND "send", COLL_PERMUTE, TORCH_INPUT, .sends = true
#define RECV "send", COLL_PERMUTE, TORCH_INPUT, .receives = true
#define BARRIER "barrier", COLL_BARRIER, TORCH_NO_ARRAY, .sends = false
#define NOTHING NULL, COLL_BARRIER, TORCH_NO_ARRAY, .sends = false

static const struct torch_op ops[] = {
    {"all_gather", ALL_GATHER},
    {"all_gather_base", ALL_GATHER},
    {"all_gather_coalesced", ALL_GATHER},
    {"all_gather_into_tensor", ALL_GATHER},
    {"all_gather_into_tensor_coalesced", ALL_GATHER},
    {"all_gather_into_tensor_out", ALL_GATHER},
    {"all_gather_single", ALL_GATHER},
    {"all_reduce", ALL_REDUCE},
    {"all_reduce_barrier", BARRIER},
    {"all_reduce_coalesced", ALL_REDUCE},
    {"all_reduce_sparse", ALL_REDUCE},
    {"all_to_all", ALL_TO_ALL},
    {"all_to_all_base", ALL_TO_ALL},
    {"all_to_all_single", ALL_TO_ALL},
    {"all_to_allv", ALL_TO_ALL},
    {"allgather", ALL_GATHER},
    {"allgather_base", ALL_GATHER},
    {"allgather_coalesced", ALL_GATHER},
    {"allgather_into_tensor_coalesced", ALL_GATHER},
    {"allreduce", ALL_REDUCE},
    {"allreduce_coalesced", ALL_REDUCE},
    {"allreduce_sparse", ALL_REDUCE},
    {"alltoall", ALL_TO_ALL},
    {"alltoall_base", ALL_TO_ALL},
    {"barrier", BARRIER},
    {"broadcast", BROADCAST},
    {"broadcast_oop", BROADCAST},
    {"coalesced", NOTHING},
    {"gather", GATHER},
    {"gather_into_tensor", GATHER},
    {"init", NOTHING},
    {"irecv", RECV},
    {"isend", SEND},
    {"monitored_barrier", BARRIER},
    {"recv", RECV},
    {"recv_any_source", RECV},
    {"recvAnysource", RECV},
    {"reduce", REDUCE},
    {"reduce_oop", REDUCE},
    {"reduce_scatter", REDUCE_SCATTER},
    {"reduce_scatter_base", REDUCE_SCATTER},
    {"reduce_scatter_coalesced", REDUCE_SCATTER},
    {"reduce_scatter_single", REDUCE_SCATTER},
    {"reduce_scatter_tensor", REDUCE_SCATTER},
    {"reduce_scatter_tensor_coalesced", REDUCE_SCATTER},
    {"scatter", SCATTER},
    {"send", SEND},
    {"wait", NOTHING},
    {"wait_tensor", NOTHING},
};

const struct torch_op *torch_op_find(struct json_piece name)
{
    while (name.length && *name.at == '_') {
        name.at++;
        name.length--;
    }
    while (name.length && name.at[name.length - 1] == '_')
        name.length--;
    for (size_t i = 0; i < COUNT(ops); i++)
        if (json_piece_is(name, ops[i].name))
            return &ops[i];
    return NULL;
}

/* Names of element types in c10::ScalarType and in C++, with '|' between them. */
static const struct {
    const char *names;
    uint64_t bytes;
} types[] = {
    {"Bits1x8|Bits2x4|Bits4x2|Bits8|Bool|Byte|Char|Float4_e2m1fn_x2|Float8_e4m3fn|"
     "Float8_e4m3fnuz|Float8_e5m2|Float8_e5m2fnuz|Float8_e8m0fnu|QInt8|QUInt2x4|QUInt4x2|QUInt8|"
     "bool|signed char|unsigned char",
     1},
    {"BFloat16|Bits16|Half|Short|UInt16|short|short int|unsigned short", 2},
    {"ComplexHalf|Float|Int|QInt32|UInt32|complex<Half>|complex<c10::Half>|float|int|unsigned int",
     4},
    {"ComplexFloat|Double|Long|UInt64|complex<float>|double|long|long int|unsigned long", 8},
    {"ComplexDouble|complex<double>", 16},
};

static bool is_among(const char *names, struct json_piece name)
{
    for (size_t n; *names; names += n + (names[n] == '|')) {
        n = strcspn(names, "|");
        if (n == name.length && !memcmp(names, name.at, n))
            return true;
    }
    return false;
}

uint64_t torch_element_bytes(struct json_piece type)
{
    static const char tensor[] = "Tensor(", space[] = "c10::";

    if (json_piece_begins(type, tensor) && type.at[type.length - 1] == ')')
        type = (struct json_piece){type.at + sizeof tensor - 1, type.length - sizeof tensor};
    if (json_piece_begins(type, space))
        type = (struct json_piece){type.at + sizeof space - 1, type.length - sizeof space + 1};
    for (size_t i = 0; i < COUNT(types); i++)
        if (is_among(types[i].names, type))
            return types[i].bytes;
    return 0;
}
