/* cluster.h - a cluster that the command line names, laid out for a mesh of it.
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

/* The cluster of a name or file, with a slice for `ndevices` in as many `slices` as the text says
 * (NULL: one); of the mesh's own shape where that has as many devices, and an axis for each of the
 * torus.  Slices are then cut from the first.
 *
 * On success stores it in *out; free it with hardware_destroy().  On failure says why, leaves *out
 * alone and returns the exit status. */
int cluster_find(struct hardware **out, const char *name, const struct shd_mesh *mesh,
                 int64_t ndevices, const char *slices);

#endif /* COMMAND_CLUSTER_H */
