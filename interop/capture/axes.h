/* axes.h - the mesh axes along which a capture's groups lie, and a mesh inferred from the groups.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_AXES_H
#define CAPTURE_AXES_H

#include <shd/mesh.h>

#include "capture/capture.h"

/* The axes of the mesh (a bit each) along which groups lie: the groups are all groups along these
 * axes, or pairs that differ along these axes only. 0: every device is in a group by itself, or the
 * groups do not follow the mesh (then *follow is false). */
uint32_t axes_of(const struct capture_groups *groups, const struct shd_mesh *mesh, bool *follow);

/* Infer a mesh from the groups: axes "axis0", "axis1", ... from the slowest to the fastest, or
 * named after their groups ("mesh_tp": "tp"); a single axis if the groups fit no mesh.  Free it
 * with shd_mesh_destroy().  SHD_ENOMEM. */
SHD_MUST_CHECK int axes_infer(struct shd_mesh **out, const struct capture *capture,
                              struct shd_error *err);

/* Write "dp,tp" into buf, cut if needed; "-" for none.  Returns buf. */
const char *axes_print(char *buf, size_t size, const struct shd_mesh *mesh, uint32_t axes);

#endif /* CAPTURE_AXES_H */
