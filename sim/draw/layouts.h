/* layouts.h - figures of meshes, shardings, process groups and traffic.
 *
 * Each function fills an initialised figure and returns SHD_OK; SHD_ERANGE if there are too many cells
 * to read; or SHD_ENOMEM.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DRAW_LAYOUTS_H
#define DRAW_LAYOUTS_H

#include <shd/error.h>
#include <shd/group.h>
#include <shd/mesh.h>
#include <shd/sharding.h>

#include "base/uint128.h"
#include "draw/figure.h"

/* Draw device ids by coordinates, with a colour each. */
SHD_MUST_CHECK int layouts_mesh(struct figure *out, const struct shd_mesh *mesh,
                                struct shd_error *err);

/* Draw the blocks of an array and the devices that hold each: replicas of a block have one colour.
 * The shape must divide. */
SHD_MUST_CHECK int layouts_sharding(struct figure *out, const struct shd_sharding *sharding,
                                    const int64_t *shape, struct shd_error *err);

/* Add the drawing of layouts_sharding() to a figure, below its grids, under `title` and without a
 * title or notes of the figure. */
SHD_MUST_CHECK int layouts_blocks(struct figure *out, const struct shd_sharding *sharding,
                                  const int64_t *shape, const char *title, struct shd_error *err);

/* Draw the mesh with a colour for each group. */
SHD_MUST_CHECK int layouts_groups(struct figure *out, const struct shd_groups *groups,
                                  struct shd_error *err);

/* Draw bytes by receiver (rows) and source: matrix[receiver][source].  More devices would have too
 * many cells. */
#define LAYOUTS_MATRIX_MAX 256
SHD_MUST_CHECK int layouts_matrix(struct figure *out, const struct shd_mesh *mesh,
                                  const uint128 *matrix, struct shd_error *err);

/* Add the drawing of layouts_matrix() for `n` devices, given by their ids, below a figure's
 * grids. */
SHD_MUST_CHECK int layouts_traffic(struct figure *out, const int32_t *ids, uint32_t n,
                                   const uint128 *matrix, struct shd_error *err);

/* Bytes in labelled rows and columns, exact to the last byte: bytes[row][column]. */
struct layouts_table {
    const char *row_title, *column_title;
    uint32_t nrows, ncolumns;
    char *const *rows, *const *columns;
    const uint128 *bytes;
};
SHD_MUST_CHECK int layouts_bytes(struct figure *out, const struct layouts_table *table,
                                 struct shd_error *err);

#endif /* DRAW_LAYOUTS_H */
