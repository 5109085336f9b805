/* reshard_picture.h - a reshard on a slide: the blocks before, who sends how much to whom, and the
 * blocks after.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPLAIN_RESHARD_PICTURE_H
#define EXPLAIN_RESHARD_PICTURE_H

#include <shd/reshard.h>

#include "draw/figure.h"

/* The figure of a plan between two shardings of an array, its steps in the notes.  Sums are sent
 * directly, each member's part of its group's chunks.  SHD_ERANGE where there are more devices than
 * fit a picture, or more blocks; SHD_ENOMEM. */
SHD_MUST_CHECK int reshard_picture(struct figure *out, const struct shd_reshard_plan *plan,
                                   const struct shd_sharding *from, const struct shd_sharding *to,
                                   const int64_t *shape, struct shd_error *err);

#endif /* EXPLAIN_RESHARD_PICTURE_H */
