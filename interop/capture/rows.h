/* rows.h - a capture folded: a row for equal collectives, with their bytes and, on a cluster, their
 * time.
 *
 * Collectives are equal if they have the same op, operands, groups, phase and place in the program.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_ROWS_H
#define CAPTURE_ROWS_H

#include <shd/mesh.h>

#include "capture/capture.h"
#include "hardware/hardware.h"

struct rows_row {
    const struct capture_collective *first; /* in the capture */
    bool follows;                           /* the groups lie along mesh axes: */
    uint32_t axes;                          /* a bit each */
    uint64_t count, instructions;
    uint128 received_bytes; /* by all devices */
    double seconds;         /* total, without overlap; 0 without a cluster */
};

struct rows {
    struct rows_row *rows;
    size_t nrows;
    uint128 received_bytes;
    double seconds;
};

/* Fold a capture; `hardware` may be NULL.  Rows are in the order of the capture.  SHD_ENOMEM. */
SHD_MUST_CHECK int rows_init(struct rows *out, const struct capture *capture,
                             const struct shd_mesh *mesh, const struct hardware *hardware,
                             struct shd_error *err);
void rows_fini(struct rows *rows);

#endif /* CAPTURE_ROWS_H */
