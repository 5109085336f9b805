/* cluster.h - a cluster named on the command line, laid out for a mesh.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMMAND_CLUSTER_H
#define COMMAND_CLUSTER_H

#include <shd/mesh.h>

#include "hardware/hardware.h"

/* The cluster of a name or file, whole.  On success stores it in *out; free it with
 * hardware_destroy().  On failure says why, leaves *out alone and returns the exit status. */
int cluster_load(struct hardware **out, const char *name);

/* The cluster of a name or file, laid out for `ndevices` devices in `slices` slices (text; NULL: one).
 * If the mesh has as many devices and no more axes than the torus, the torus has the mesh's shape, and
 * slices divide its first axis.
 *
 * On success stores it in *out; free it with hardware_destroy().  On failure says why, leaves *out
 * alone and returns the exit status. */
int cluster_find(struct hardware **out, const char *name, const struct shd_mesh *mesh,
                 int64_t ndevices, const char *slices);

#endif /* COMMAND_CLUSTER_H */
