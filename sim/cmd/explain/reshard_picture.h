/* reshard_picture.h - a figure of a reshard: the blocks before, the bytes from device to device,
 * and the blocks after.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_EXPLAIN_RESHARD_PICTURE_H
#define CMD_EXPLAIN_RESHARD_PICTURE_H

#include <shd/reshard.h>

#include "draw/figure.h"

/* Make the figure of a plan between two shardings of an array, with its steps in the notes.  Sums
 * are drawn as direct sends: each member gets the parts of its chunk from its group.  SHD_ERANGE:
 * too many devices or blocks for a picture; SHD_ENOMEM. */
SHD_MUST_CHECK int reshard_picture(struct figure *out, const struct shd_reshard_plan *plan,
                                   const struct shd_sharding *from, const struct shd_sharding *to,
                                   const int64_t *shape, struct shd_error *err);

#endif /* CMD_EXPLAIN_RESHARD_PICTURE_H */
