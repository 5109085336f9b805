/* cmd/init/first_serving.h - the first scenario of serving that `shardsim init --serve` writes: the
 * layout with the most tokens a second among those that servers have.
 *
 * Tensor parallelism within a node is tried in each width, with data parallelism over the rest and
 * experts dealt out over all devices.  Each is given as many sequences as have room for their
 * caches, up to a number that servers take.  No clock is read: the answer is always the same.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_INIT_FIRST_SERVING_H
#define CMD_INIT_FIRST_SERVING_H

#include "cmd/init/first.h"

/* Write the scenario of the best layout that fits or, where none does, of one that saves memory;
 * asked->batch 0: as many sequences as fit.  SHD_OK; else `diag` says why what was written cannot
 * be planned. */
SHD_MUST_CHECK int first_serving_write(struct text *out, struct first_figures *need,
                                       const struct first_asked *asked, struct diag *diag);

#endif /* CMD_INIT_FIRST_SERVING_H */
