/* measure.h - the time of a collective on virtual devices, compared with the machine's limits.
 *
 * Samples of the collective, of plain copies and of an empty collective alternate within one run,
 * so that a busy machine slows all of them alike.  The last call is checked.
 *
 * Thread class: measure_run() may be called by several threads, but they would disturb each other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_MEASURE_H
#define RUN_MEASURE_H

#include <stdint.h>

#include <shd/dtype.h>
#include <shd/error.h>
#include <shd/sharding.h>

#include "coll/coll.h"

struct measure_opts {
    const struct coll_algo *algo;
    enum shd_dtype dtype;    /* a type with arithmetic */
    enum shd_reduce_op red;
    uint32_t ndevices;
    uint64_t bytes;          /* larger of a device's operand and result; rounded down */
    uint32_t nwarmups;
    uint32_t nsamples;
    int64_t sample_ns;       /* approximate length of a sample, filled by repeated calls */
    const char *memory;      /* as in shd_run_opts; may be NULL */
    const int *stop_request; /* as in shd_run_opts; may be NULL */
};

struct measure_spread {
    double least, median, most; /* seconds of one call */
};

struct measure {
    uint64_t bytes; /* of the larger of operand and result */
    uint64_t count; /* elements of the operand */
    uint32_t ncalls; /* in a sample */
    uint32_t ncores;
    struct measure_spread call;
    struct measure_spread copy;  /* the cores copy the bytes that must be read and written */
    struct measure_spread floor; /* a collective without data */
    double algorithm_rate; /* bytes a second, by the median */
    double bus_rate;       /* by the bytes that each device must receive; comparable to link
                              rates */
    uint64_t nwrong;       /* elements */
};

/* Errors: SHD_EINVAL (the algorithm does not support this number of devices), and those of
 * shd_run(). */
SHD_MUST_CHECK int measure_run(struct measure *out, const struct measure_opts *opts,
                               struct shd_error *err);

#endif /* RUN_MEASURE_H */
