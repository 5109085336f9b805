/* failures_try.h - one run of the program in a process of its own, begun by fork(), in a folder of
 * its own, in which something fails.
 *
 * Thread class: one thread only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FAILURES_TRY_H
#define FAILURES_TRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "failures_cases.h"

/* One request for memory or a thread fails; or all from one on; or files take no more bytes. */
enum failures_way { FAILS_ONCE, FAILS_FROM_THEN_ON, FILES_FULL, FAILURES_NWAYS };

/* What a run left behind. */
struct failures_outcome {
    int exit; /* status of exit(), or -signal */
    struct text out, err;
    struct text files[CASE_OUTPUTS_MAX]; /* those that it may write; `failed`: it is not there */
    bool left_over;                      /* a file that nobody asked for */
    uint64_t nrequests;
};

/* Make the folder and go there; and remove it.  What fails here ends the test. */
void failures_begin(void);
void failures_end(void);

/* Run a case with request `at` failing, from 1, or with at most `at` bytes in a file; FAILS_ONCE
 * and 0: nothing fails. */
void failures_try(struct failures_outcome *out, const struct failure_case *c, enum failures_way way,
                  uint64_t at);
void failures_outcome_fini(struct failures_outcome *outcome);

#endif /* FAILURES_TRY_H */
