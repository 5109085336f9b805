/* spread.h - the assignment of a mesh's devices to ranks.
 *
 * Thread class: immutable once made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_RANKS_SPREAD_H
#define RUN_RANKS_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/error.h>
#include <shd/mesh.h>

struct spread {
    int nranks, me;
    int32_t ndevices;
    uint16_t rank_of[]; /* [position] */
};

/* Assign blocks of consecutive devices, or (axis not NULL) of consecutive coordinates along an
 * axis, as evenly as possible.  NULL if there are fewer devices than ranks: then each rank runs all
 * devices, with equal results.  SHD_ENOAXIS, SHD_EINVAL (more ranks than coordinates on the axis),
 * SHD_ENOMEM. */
SHD_MUST_CHECK int spread_create(struct spread **out, const struct shd_mesh *mesh, const char *axis,
                                 struct shd_error *err);
void spread_destroy(struct spread *spread); /* NULL is allowed */

/* Whether the device at a position belongs to this rank; NULL: all do. */
static inline bool spread_has(const struct spread *spread, int32_t position)
{
    return !spread || spread->rank_of[position] == spread->me;
}

/* The lowest position that belongs to this rank, or -1. */
int32_t spread_first(const struct spread *spread, int32_t ndevices);

/* Fill in the rows of all devices, of which each rank has set those of its own devices.  NULL
 * spread: nothing to do. */
void spread_merge_rows(const struct spread *spread, void *rows, uint64_t row_bytes);

#endif /* RUN_RANKS_SPREAD_H */
