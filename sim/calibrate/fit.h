/* fit.h - the constants of a cluster that model measured times best, and how far off they are.
 *
 * What is made small is the mean over sets of a set's mean |log(modelled / measured)|, so that a
 * small set counts as much as a large one, and half counts as much as twice.  The search is Sbplx
 * of NLopt (T. Rowan, "Functional stability analysis of numerical algorithms", 1990), which needs
 * no derivatives; it begins at the file's constants and is the same every time.
 *
 * Cross-validation: rows of a set go round `folds` folds; for each fold the constants are looked
 * for without its rows, and then model these.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_FIT_H
#define CALIBRATE_FIT_H

#include "calibrate/samples.h"

#define FIT_FOLDS_MAX 20
#define FIT_FEW_ROWS 20 /* a set of fewer: its cross-validated error is the median over folds */

/* How far modelled times of a set are from measured ones; fractions. */
struct fit_error {
    double before_mape; /* with the file's constants */
    double mape, bias;  /* mean of |modelled/measured - 1|, and of the same with its sign */
    double cross_validated_mape; /* NAN: there were no folds */
    size_t worst;                /* of the samples */
    double worst_error;          /* with its sign */
};

struct fit {
    struct fit_error *sets; /* [set of the samples] */
    int evaluations;        /* of the constants */
};

/* Find the constants' values, and the errors that files' digits of these have.  `folds` 0: no
 * cross-validation.  SHD_ESTOPPED: *stop_request was set (NULL: never); SHD_ENOMEM. */
SHD_MUST_CHECK int fit_run(struct fit *out, struct samples *samples, struct constants *constants,
                           int folds, const int *stop_request, struct shd_error *err);
void fit_fini(struct fit *fit);

#endif /* CALIBRATE_FIT_H */
