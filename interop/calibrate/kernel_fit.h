/* kernel_fit.h - a kernel's model (hardware/kernel_model.h), fitted to measured kernels.
 *
 * First the constants of the form, by NLopt's Sbplx, so that the mean |log(modelled / measured)| of
 * at most a few thousand rows is least.  Then the correction: the grid that leaves the least sum of
 * absolute errors with a penalty on bends (second differences), by conjugate gradients on the
 * normal equations, reweighted a few times (iteratively reweighted least squares).  Both are
 * deterministic.
 *
 * The model's error is that of rows left out: a fifth of the shapes at a time, whole shapes, of a
 * model that is fitted to the others; of a single shape a fifth of the rows.  The model itself is
 * fitted to all.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_KERNEL_FIT_H
#define CALIBRATE_KERNEL_FIT_H

#include <shd/error.h>

#include "hardware/kernel_model.h"

/* A measured time: that of `count` equal kernels and of others, whose time is known. */
struct kernel_sample {
    struct kernel_sizes sizes;
    double seconds, others_s, count;
    uint64_t shape; /* equal ones are left out together */
};

struct kernel_samples {
    enum kernel_kind kernel;
    enum kernel_type type;
    char name[KERNEL_NAME_MAX];
    struct kernel_peaks peaks;
    struct kernel_sample *items;
    size_t n, room;
};

/* Fit a model to at least one sample.  On success *out is complete, and its correction is to be
 * freed.  SHD_ENOMEM. */
SHD_MUST_CHECK int kernel_fit(struct kernel_model *out, const struct kernel_samples *samples,
                              struct shd_error *err);

#endif /* CALIBRATE_KERNEL_FIT_H */
