/* constants.h - the constants of a cluster's file that a calibration may change.
 *
 * Thread class: owned by one thread; constants_set() of different clusters at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CALIBRATE_CONSTANTS_H
#define CALIBRATE_CONSTANTS_H

#include "hardware/constant.h"

struct constant {
    char *path;
    struct hardware_constant key;
    double start; /* the file's value, in the file's units: seconds, bytes a second ... */
    double value; /* the fitted value */
    double least, most;
    bool log;     /* searched on a logarithmic scale */
    double scale; /* unit of the search, for the value or its logarithm */
};

struct constants {
    struct constant *items;
    size_t n;
};

/* Read the constants in a comma-separated list of paths, or (NULL) those that the file lists as
 * fitted.  An unknown path is an error that suggests the nearest one.  SHD_EINVAL, SHD_ENOMEM. */
SHD_MUST_CHECK int constants_read(struct constants *out, const struct hardware *hardware,
                                  const char *paths, struct diag *diag);
void constants_fini(struct constants *constants);

/* Convert a constant's value to the search's coordinate, and back. */
double constant_to_search(const struct constant *constant, double value);
double constant_of_search(const struct constant *constant, double x);

/* Set these values in a cluster. */
void constants_set(struct hardware *hardware, const struct constants *constants,
                   const double *values);

/* Round a value as a file has it: to four digits, times to the nanosecond. */
double constant_rounded(const struct constant *constant, double value);

/* Print a value as in a file, with its unit. */
void constant_print(struct text *out, const struct constant *constant, double value);

#endif /* CALIBRATE_CONSTANTS_H */
