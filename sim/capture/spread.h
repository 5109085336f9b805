/* spread.h - what ranks without a trace do, taken from those with one.
 *
 * A rank is taken to do what the nearest traced rank before it does, in the groups that it is in
 * along the same axes of a mesh; ranks before the first are like the first.  So one trace stands
 * for a job whose ranks are alike, and one a stage for a pipeline whose stages are the slowest
 * axis.
 *
 * Thread class: pure functions; the capture is written to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_SPREAD_H
#define CAPTURE_SPREAD_H

#include <shd/mesh.h>

#include "capture/capture.h"

/* Add the groups of ranks that have no trace, and note how they were taken.  Nothing, if all have
 * one, or the capture was not traced.  The mesh has the capture's devices.  SHD_ENOMEM. */
SHD_MUST_CHECK int spread_over(struct capture *capture, const struct shd_mesh *mesh,
                               struct shd_error *err);

#endif /* CAPTURE_SPREAD_H */
