/* limits.h - limits on what a question may execute, so that the next one is answered soon.
 *
 * The limits are equal on every machine, like the answers; `shardsim run` has none.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_LIMITS_H
#define QUERY_LIMITS_H

#include <shd/error.h>

#include "program/program.h"

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define LIMIT_DEVICES 1024                        /* threads */
#define LIMIT_BYTES ((uint64_t)2 << 30)           /* peak memory of all devices */
#define LIMIT_FLOPS UINT64_C(100000000000)        /* of all devices: some seconds */
#define LIMIT_LISTED_ELEMENTS ((uint64_t)1 << 24) /* numbers in an answer */
#define LIMIT_ACTIONS UINT64_C(30000000)          /* ops of all devices, in all steps */
#else /* small limits for fuzzers, which ask many questions a second and check every step */
#define LIMIT_DEVICES 32
#define LIMIT_BYTES ((uint64_t)8 << 20)
#define LIMIT_FLOPS UINT64_C(10000000)
#define LIMIT_LISTED_ELEMENTS ((uint64_t)1 << 16)
#define LIMIT_ACTIONS UINT64_C(100000)
#endif

/* SHD_ERANGE if executing `nsteps` of the program, or listing its results' elements (`listed`),
 * exceeds the limits. */
SHD_MUST_CHECK int limits_check(const struct program *program, uint32_t nsteps, bool listed,
                                struct shd_error *err);

#endif /* QUERY_LIMITS_H */
