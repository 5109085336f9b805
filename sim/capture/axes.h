/* axes.h - along which axes of a mesh the groups of a capture lie, and a mesh where none is given.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_AXES_H
#define CAPTURE_AXES_H

#include <shd/mesh.h>

#include "capture/capture.h"

/* The axes of the mesh (a bit each) along which groups lie: all groups there are along these axes,
 * or pairs that differ in their coordinates along these alone.  0: along none, as no device is in
 * them with another, or as they do not follow the mesh (*follow is false then). */
uint32_t axes_of(const struct capture_groups *groups, const struct shd_mesh *mesh, bool *follow);

/* A mesh of the devices in which groups lie along axes, as far as one can be told from them: axes
 * "axis0", "axis1", ... from the slowest to the fastest, or as the groups along them are called
 * ("mesh_tp": "tp"); one axis if none can.  Free it with shd_mesh_destroy().  SHD_ENOMEM. */
SHD_MUST_CHECK int axes_infer(struct shd_mesh **out, const struct capture *capture,
                              struct shd_error *err);

/* "dp,tp" into buf, cut if needed; "-" for none.  Returns buf. */
const char *axes_print(char *buf, size_t size, const struct shd_mesh *mesh, uint32_t axes);

#endif /* CAPTURE_AXES_H */
