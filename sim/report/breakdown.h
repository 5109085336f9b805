/* breakdown.h - what the memory of a device is for: the table that one wants before a launch.
 *
 * The peak, by kind, tells whether a step fits.  It is not what formulas for "model states" count,
 * nor what each kind needs at its worst: those are two columns more.  Besides them the parts of the
 * model that activations at the peak belong to (logits are those of `loss` and `head`), the largest
 * transfer's operand and result, and what the runtime of a stated cluster keeps for itself.
 *
 * Of a pipeline it is of a device of the rank that has most.
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

/* What names of arrays begin with, up to a slash: "layers", "loss"; of a buffer of the program. */
struct breakdown_part {
    const char *name;
    size_t length;
    uint128 bytes;
};

struct breakdown {
    const struct program *program; /* not owned */
    uint32_t rank;
    struct program_memory peak;
    uint128 most[PROGRAM_NUSES];   /* of each kind by itself, at whichever op */
    uint128 states[PROGRAM_NUSES]; /* when all gradients are there and the update begins */
    bool updates;                  /* there is an update: else `states` is not set */
    double parameters;             /* elements on the device */
    uint128 padding_bytes;         /* of what stays from step to step: behind the ends of
                                      dimensions and of pieces; of a device, the mean */
    struct breakdown_part *parts;  /* of activations at the peak, the largest first */
    uint32_t nparts;
    uint32_t transfer;      /* op that has most bytes in hand; PROGRAM_NONE: nothing is sent */
    uint128 transfer_bytes; /* read and written by it */
    size_t columns;         /* of a line of text; 0, as it begins: 80 */
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
 * but for the two counts of parameters; null for what is not there. */
void breakdown_json(const struct breakdown *breakdown, const struct record *record,
                    struct json_out *out);

#endif /* REPORT_BREAKDOWN_H */
