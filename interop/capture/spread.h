/* spread.h - extend a capture to ranks without a trace.
 *
 * A rank without a trace is assumed to act like the nearest traced rank before it, or else like the
 * first traced rank, in its own groups along the same mesh axes.  So one trace is enough for a job
 * of equal ranks, and one per stage for a pipeline whose stages are the slowest axis.
 *
 * Thread class: pure functions; the capture is written to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CAPTURE_SPREAD_H
#define CAPTURE_SPREAD_H

#include <shd/mesh.h>

#include "capture/capture.h"

/* Add the groups of ranks without a trace, and note the assumption.  Does nothing if all ranks have
 * a trace, or the capture has no traces.  The mesh must have the capture's devices.  SHD_ENOMEM. */
SHD_MUST_CHECK int spread_over(struct capture *capture, const struct shd_mesh *mesh,
                               struct shd_error *err);

#endif /* CAPTURE_SPREAD_H */
