/* kernel_grid.h - the values of a grid's points that interpolate to given values.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_KERNEL_GRID_H
#define CALIBRATE_KERNEL_GRID_H

#include "hardware/kernel_model.h"

/* A value, at a place between points (kernel_model_weigh()). */
struct kernel_grid_row {
    size_t points[1 << KERNEL_AXES_MAX];
    double weights[1 << KERNEL_AXES_MAX];
    double value;
};

/* Set the values of all points, so that the sum of the absolute errors of the rows is small, and
 * the values bend little.  Points without rows lie on the line of their neighbours.  False: no
 * memory. */
bool kernel_grid_fit(double *values, const struct kernel_grid *grid, int naxes,
                     const struct kernel_grid_row *rows, size_t nrows);

#endif /* CALIBRATE_KERNEL_GRID_H */
