/* calibration.h - a cluster's constants fitted to times that were measured on it.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_CALIBRATE_CALIBRATION_H
#define CMD_CALIBRATE_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>

#define CALIBRATION_FILES_MAX 64 /* of each kind */

struct calibration {
    const char *hardware, *constants, *output;
    const char *kernels; /* a folder of tables; NULL: none */
    const char *steps[CALIBRATION_FILES_MAX], *collectives[CALIBRATION_FILES_MAX];
    size_t nsteps, ncollectives;
    size_t rows;
    int folds;
    bool force; /* overwrite an existing file */
};

/* Fit, and print the cluster's file and how far off its times are; returns the exit status. */
int calibration_run(const struct calibration *calibration);

#endif /* CMD_CALIBRATE_CALIBRATION_H */
