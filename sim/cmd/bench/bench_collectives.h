/* bench_collectives.h - how fast collectives are on virtual devices of this machine.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_BENCH_BENCH_COLLECTIVES_H
#define CMD_BENCH_BENCH_COLLECTIVES_H

#include <shd/sharding.h>

#include "coll/coll.h"

#define BENCH_SIZES_MAX 64 /* of one table: from 1 byte to 2^63 by factors of two */
#define BENCH_OPS_MAX COLL_NKINDS

enum bench_form { BENCH_TEXT, BENCH_JSON, BENCH_CSV };

struct bench {
    uint64_t sizes[BENCH_SIZES_MAX];
    size_t nsizes;
    uint64_t min_bytes, max_bytes, factor;
    int ops[BENCH_OPS_MAX];
    size_t nops;
    const char *algorithm, *memory;
    enum shd_dtype dtype;
    enum shd_reduce_op red;
    uint64_t ndevices, nwarmups, nsamples, sample_ms;
    enum bench_form form;
};

/* Measure, print, and check the results; returns the exit status. */
int bench_run(struct bench *bench);

#endif /* CMD_BENCH_BENCH_COLLECTIVES_H */
