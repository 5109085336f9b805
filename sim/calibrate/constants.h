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
    double start; /* what the file says, in the file's units: seconds, bytes a second ... */
    double value; /* what was found */
    double least, most;
    bool log;     /* is looked for by its logarithm */
    double scale; /* what the search takes for 1, of the value or of its logarithm */
};

struct constants {
    struct constant *items;
    size_t n;
};

/* The constants of a list of paths with commas between, or (NULL) those that the file says are
 * fitted.  A path that is none is an error, with the nearest there is.  SHD_EINVAL, SHD_ENOMEM. */
SHD_MUST_CHECK int constants_read(struct constants *out, const struct hardware *hardware,
                                  const char *paths, struct diag *diag);
void constants_fini(struct constants *constants);

/* A constant as the search has it, and back. */
double constant_to_search(const struct constant *constant, double value);
double constant_of_search(const struct constant *constant, double x);

/* Have a cluster say so. */
void constants_set(struct hardware *hardware, const struct constants *constants,
                   const double *values);

/* A value as a file has it: of four digits, times to the nanosecond. */
double constant_rounded(const struct constant *constant, double value);

/* What a file says for a value, with its unit. */
void constant_print(struct text *out, const struct constant *constant, double value);

#endif /* CALIBRATE_CONSTANTS_H */
