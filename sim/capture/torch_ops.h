/* torch_ops.h - the collectives of PyTorch by all their names, and its element types.
 *
 * One collective has many names: "all_reduce" is `c10d::allreduce_` as an op, `allreduce` to the
 * process group and `nccl:all_reduce` as a label.  Leading and trailing underscores tell nothing.
 *
 * Thread class: immutable tables and pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_TORCH_OPS_H
#define CAPTURE_TORCH_OPS_H

#include "base/json_text.h"
#include "capture/capture.h"

/* From which of its arrays a call's operand (IN of coll.h) follows, where the trace has both. */
enum torch_operand {
    TORCH_INPUT,              /* the input */
    TORCH_INPUT_OR_SCATTERED, /* the input, else the output of each member */
    TORCH_SCATTERED,          /* the output of each member: only the root has an input */
    TORCH_NO_ARRAY
};

struct torch_op {
    const char *name; /* as PyTorch has it, without underscores at its ends */
    const char *op;   /* as it is told; NULL: it moves nothing, and is passed over */
    enum coll_kind kind;
    enum torch_operand operand;
    bool sends, receives; /* a message to one other */
};

/* NULL: none of this name. */
const struct torch_op *torch_op_find(struct json_piece name);

/* Bytes of an element: "Float", "float", "c10::BFloat16", "Tensor(long int)".  0: no such type. */
uint64_t torch_element_bytes(struct json_piece type);

#endif /* CAPTURE_TORCH_OPS_H */
