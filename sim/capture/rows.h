/* rows.h - a capture folded: one row for collectives that are alike, with what they move and, on a
 * cluster, how long they take.
 *
 * Alike are those of one op with equal operands in the same groups and phase, made of the same
 * place of the program.
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
    const struct capture_collective *first; /* the capture's */
    bool follows;                           /* its groups lie along axes of the mesh: */
    uint32_t axes;                          /* a bit each */
    uint64_t count, instructions;
    uint128 received_bytes; /* by all devices */
    double seconds;         /* of all of them, one after the other; 0 without a cluster */
};

struct rows {
    struct rows_row *rows;
    size_t nrows;
    uint128 received_bytes;
    double seconds;
};

/* Fold; `hardware` may be NULL.  Rows are in the order of the capture.  SHD_ENOMEM. */
SHD_MUST_CHECK int rows_init(struct rows *out, const struct capture *capture,
                             const struct shd_mesh *mesh, const struct hardware *hardware,
                             struct shd_error *err);
void rows_fini(struct rows *rows);

#endif /* CAPTURE_ROWS_H */
