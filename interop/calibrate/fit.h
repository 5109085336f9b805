/* fit.h - the constants of a cluster that best model measured times, and the remaining errors.
 *
 * The fit minimises the mean over sets of each set's mean |log(modelled / measured)|, so that a
 * small set counts as much as a large one, and half as much as twice.  The search is Sbplx of NLopt
 * (T.  Rowan, "Functional stability analysis of numerical algorithms", 1990), which needs no
 * derivatives; it starts from the file's constants and is deterministic.
 *
 * Cross-validation: rows of a set are dealt to `folds` folds in turn; for each fold the constants
 * are fitted without its rows, and then model these.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_FIT_H
#define CALIBRATE_FIT_H

#include "calibrate/samples.h"

#define FIT_FOLDS_MAX 20
#define FIT_FEW_ROWS 20 /* for smaller sets the cross-validated error is the median over folds */

/* Relative errors of a set's modelled times. */
struct fit_error {
    double before_mape; /* with the file's constants */
    double mape, bias;  /* mean of |modelled/measured - 1|, and of the same with its sign */
    double cross_validated_mape; /* NAN: no folds */
    size_t worst;                /* index of a sample */
    double worst_error;          /* with its sign */
};

struct fit {
    struct fit_error *sets; /* by set of the samples */
    int evaluations;        /* number of trials of the constants */
};

/* Fit the constants' values, and compute the errors with values rounded as in a file.  `folds` 0:
 * no cross-validation.  SHD_ESTOPPED: *stop_request was set (NULL: never); SHD_ENOMEM. */
SHD_MUST_CHECK int fit_run(struct fit *out, struct samples *samples, struct constants *constants,
                           int folds, const int *stop_request, struct shd_error *err);
void fit_fini(struct fit *fit);

#endif /* CALIBRATE_FIT_H */
