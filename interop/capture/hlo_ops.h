/* hlo_ops.h - instructions of a module that communicate, and how shapes give their bytes.
 *
 * Thread class: immutable tables and pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_HLO_OPS_H
#define CAPTURE_HLO_OPS_H

#include "capture/capture.h"
#include "capture/hlo_text.h"

/* The part of an instruction's shape whose bytes count. */
enum hlo_shape_of {
    HLO_RESULT,         /* the whole shape */
    HLO_SECOND,         /* the second item: (operands, results, contexts...) of an asynchronous
                           start */
    HLO_FIRST,          /* the first item: the operand of a send */
    HLO_SECOND_IF_TUPLE /* the second item of a tuple, else the whole; XLA versions differ */
};

struct hlo_op {
    const char *name; /* as in the text */
    const char *op;   /* as reported */
    enum coll_kind kind;
    enum hlo_shape_of of;
    bool result_is_gathered;  /* the result has g times the bytes of IN */
    bool result_is_scattered; /* the result has one g-th of the bytes of IN */
    bool pairs;               /* groups are pairs of source and target */
    bool any_channel;         /* with a channel, ids are partitions (else replicas with all their
                                 partitions) */
};

/* The row of an instruction's name; NULL: it does not communicate, or only ends an asynchronous
 * op. */
const struct hlo_op *hlo_op_find(struct hlo_piece name);

/* IN of one member (coll.h), of `members`.  SHD_EINVAL: the shape does not fit the op; SHD_ENOMEM.
 */
SHD_MUST_CHECK int hlo_op_bytes(uint64_t *bytes, uint64_t *npieces, const struct hlo_op *op,
                                struct hlo_piece shape, uint32_t members);

#endif /* CAPTURE_HLO_OPS_H */
