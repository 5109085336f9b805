/* hlo_ops.h - which instructions of a module communicate, and what their shapes say of the bytes.
 *
 * Thread class: immutable tables and pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_HLO_OPS_H
#define CAPTURE_HLO_OPS_H

#include "capture/capture.h"
#include "capture/hlo_text.h"

/* Where the bytes are that the op brings to a device, in the shape of the instruction. */
enum hlo_shape_of {
    HLO_RESULT,         /* all of it */
    HLO_SECOND,         /* the second item: (operands, results, contexts...) of what begins here */
    HLO_FIRST,          /* the first: the operand of a send */
    HLO_SECOND_IF_TUPLE /* either, as texts of different ages have it */
};

struct hlo_op {
    const char *name; /* in the text */
    const char *op;   /* what it is told as */
    enum coll_kind kind;
    enum hlo_shape_of of;
    bool result_is_gathered;  /* g times IN of a member */
    bool result_is_scattered; /* one g-th of it */
    bool pairs;               /* of source and target, in place of groups */
    bool any_channel;         /* with a channel its ids are partitions (else replicas with all) */
};

/* The row of an instruction's name; NULL: it does not communicate, or only ends what began. */
const struct hlo_op *hlo_op_find(struct hlo_piece name);

/* IN of one member (coll.h), of `members`.  SHD_EINVAL: the shape does not fit the op; SHD_ENOMEM.
 */
SHD_MUST_CHECK int hlo_op_bytes(uint64_t *bytes, uint64_t *npieces, const struct hlo_op *op,
                                struct hlo_piece shape, uint32_t members);

#endif /* CAPTURE_HLO_OPS_H */
