/* torch_ops.h - PyTorch's collectives under all their names, and its element types.
 *
 * A collective has several names: "all_reduce" is `c10d::allreduce_` as an op, `allreduce` to the
 * process group and `nccl:all_reduce` as a label.  Leading and trailing underscores are ignored.
 *
 * Thread class: immutable tables and pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_TORCH_OPS_H
#define CAPTURE_TORCH_OPS_H

#include "base/json_text.h"
#include "capture/capture.h"

/* The array of a call that gives its operand (IN of coll.h), if the trace has both. */
enum torch_operand {
    TORCH_INPUT,              /* the input */
    TORCH_INPUT_OR_SCATTERED, /* the input, else the output times the members */
    TORCH_SCATTERED,          /* the output times the members: only the root has an input */
    TORCH_NO_ARRAY
};

struct torch_op {
    const char *name; /* PyTorch's name, without leading and trailing underscores */
    const char *op;   /* as reported; NULL: moves nothing, skipped */
    enum coll_kind kind;
    enum torch_operand operand;
    bool sends, receives; /* a message between two ranks */
};

/* NULL: unknown name. */
const struct torch_op *torch_op_find(struct json_piece name);

/* Bytes of an element of type "Float", "float", "c10::BFloat16", "Tensor(long int)". 0: unknown
 * type. */
uint64_t torch_element_bytes(struct json_piece type);

#endif /* CAPTURE_TORCH_OPS_H */
