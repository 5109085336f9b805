/* replay_report.h - the communication of another system's program: as text, as JSON, as a matrix,
 * and beside our own program of the same model.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_REPLAY_REPORT_H
#define CAPTURE_REPLAY_REPORT_H

#include <shd/mesh.h>

#include "base/text.h"
#include "capture/capture.h"
#include "capture/rows.h"
#include "draw/figure.h"
#include "hardware/hardware.h"
#include "program/record.h"

struct replay_report {
    const struct capture *capture;
    const struct shd_mesh *mesh;
    bool mesh_is_inferred;
    const struct shd_mesh *fitting;  /* a mesh that fits all groups if `mesh` does not; NULL: `mesh`
                                        fits, or no mesh does */
    const struct hardware *hardware; /* NULL: no times */
    const struct rows *rows;
    const struct record *beside; /* our own program's plan; NULL: none */
    const char *beside_name;
};

/* A page of text of so many columns.  SHD_ENOMEM. */
SHD_MUST_CHECK int replay_text(const struct replay_report *report, size_t width, struct text *out,
                               struct shd_error *err);

/* One object of schema shardsim.replay/1.  SHD_ENOMEM. */
SHD_MUST_CHECK int replay_json(const struct replay_report *report, struct text *out,
                               struct shd_error *err);

/* Bytes from device to device; errors as layouts_matrix(). */
SHD_MUST_CHECK int replay_matrix(const struct replay_report *report, struct figure *out,
                                 struct shd_error *err);

#endif /* CAPTURE_REPLAY_REPORT_H */
