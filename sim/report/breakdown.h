/* breakdown.h - the memory of a device by use: the table to read before a launch.
 *
 * The peak, by kind, tells whether a step fits.  Two more columns have the "model states", which
 * formulas count, and each kind's own maximum.  Further lines have the parts of the model that
 * activations at the peak belong to (logits count to `loss` and `head`), the largest transfer's
 * operand and result, and the memory that the runtime of a stated cluster keeps for itself.
 *
 * In a pipeline the figures are for a device of the rank with the highest peak.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_BREAKDOWN_H
#define REPORT_BREAKDOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json_out.h"
#include "base/text.h"
#include "program/record.h"

/* Buffers whose names begin with the same word before a slash: "layers", "loss".  `name` points
 * into the name of one of them. */
struct breakdown_part {
    const char *name;
    size_t length;
    uint128 bytes;
};

struct breakdown {
    const struct program *program; /* not owned */
    uint32_t rank;
    struct program_memory peak;
    uint128 most[PROGRAM_NUSES];   /* maximum of each kind by itself, at any op */
    uint128 states[PROGRAM_NUSES]; /* when all gradients are made and the update begins */
    bool updates;                  /* the step has an update; else `states` is not set */
    double parameters;             /* elements on the device */
    uint128 padding_bytes;         /* of buffers that stay from step to step: behind the ends of
                                      dimensions and of pieces; the mean over devices */
    struct breakdown_part *parts;  /* of activations at the peak, the largest first */
    uint32_t nparts;
    uint32_t transfer;      /* op with the largest operand and result; PROGRAM_NONE: nothing is
                               sent */
    uint128 transfer_bytes; /* size of that operand and result */
    size_t columns;         /* width of a line of text; 0, the default: 80 */
};

/* Walk the step.  SHD_ENOMEM; free with breakdown_fini() either way. */
SHD_MUST_CHECK int breakdown_init(struct breakdown *out, const struct program *program,
                                  struct shd_error *err);
void breakdown_fini(struct breakdown *breakdown);

/* A section of the report; the table of all kinds only where it is to be verbose.  `limit_bytes` of
 * a device, 0: none. */
void breakdown_text(const struct breakdown *breakdown, const struct record *record,
                    uint64_t limit_bytes, bool verbose, struct text *out);

/* {"rank", "op", "phase", "parameters": {"model", "device"}, "at_peak", "most", "before_update",
 * "padding", "activations_at_peak": [{"part", "bytes"}], "transfer", "runtime_bytes"}; all in bytes
 * except the two counts of parameters; null: does not apply. */
void breakdown_json(const struct breakdown *breakdown, const struct record *record,
                    struct json_out *out);

#endif /* REPORT_BREAKDOWN_H */
