/* failures_try.h - one run of the program in which something fails, in a process of its own (by
 * fork()) and a folder of its own.
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

/* One request for memory or a thread fails, or all requests from one on, or files take no more
 * bytes. */
enum failures_way { FAILS_ONCE, FAILS_FROM_THEN_ON, FILES_FULL, FAILURES_NWAYS };

/* The status, output and files of a run. */
struct failures_outcome {
    int exit; /* status of exit(), or -signal */
    struct text out, err;
    struct text files[CASE_OUTPUTS_MAX]; /* contents of case.outputs; `failed`: the file does not
                                          * exist */
    bool left_over;                      /* a file that is no output of the case */
    uint64_t nrequests;
};

/* Create the folder and enter it; leave and remove it.  Errors end the test. */
void failures_begin(void);
void failures_end(void);

/* Run a case with request `at` (from 1) failing, or with files of at most `at` bytes; FAILS_ONCE
 * and 0: nothing fails. */
void failures_try(struct failures_outcome *out, const struct failure_case *c, enum failures_way way,
                  uint64_t at);
void failures_outcome_fini(struct failures_outcome *outcome);

#endif /* FAILURES_TRY_H */
