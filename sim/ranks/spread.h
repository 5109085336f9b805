/* spread.h - which rank has which devices of a mesh.
 *
 * Thread class: immutable once made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RANKS_SPREAD_H
#define RANKS_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/error.h>
#include <shd/mesh.h>

struct spread {
    int nranks, me;
    int32_t ndevices;
    uint16_t *rank_of; /* [position] */
};

/* Blocks of the devices' order, or (axis not NULL) of the coordinates along an axis, as even as
 * they can be.  NULL where there are fewer devices than ranks: then each rank runs all of them, and
 * all find the same.  SHD_ENOAXIS, SHD_EINVAL (more ranks than the axis has coordinates),
 * SHD_ENOMEM. */
SHD_MUST_CHECK int spread_create(struct spread **out, const struct shd_mesh *mesh, const char *axis,
                                 struct shd_error *err);
void spread_destroy(struct spread *spread); /* NULL is allowed */

/* Whether the device at a position is this rank's; NULL: all are. */
static inline bool spread_has(const struct spread *spread, int32_t position)
{
    return !spread || spread->rank_of[position] == spread->me;
}

/* The lowest position that is this rank's, or -1. */
int32_t spread_first(const struct spread *spread, int32_t ndevices);

/* Rows by position, of which each rank has filled its own: fill those of others, too.  NULL spread:
 * nothing to do. */
void spread_merge_rows(const struct spread *spread, void *rows, uint64_t row_bytes);

#endif /* RANKS_SPREAD_H */
