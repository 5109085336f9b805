/* tell.h - printing the outcomes of `shardsim check` as they arrive: TAP, annotations for
 * GitHub; and JUnit at the end.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CHECK_TELL_H
#define CHECK_TELL_H

#include <shd/error.h>

#include "report/outcome.h"

struct check_tell {
    const char *junit; /* a file; NULL: none is written */
    struct outcome *outcomes;
    size_t noutcomes;
    size_t nfailures, nerrors;
    char why[SHD_ERROR_TEXT_MAX]; /* the check stops; "": already printed on standard error */
};

void check_tell_fini(struct check_tell *tell);

/* Report an outcome: given in words, or packed by another rank.  Returns the exit status. */
int check_tell_words(struct check_tell *tell, enum outcome_kind kind, const char *file,
                     const char *suite, const char *name, const char *words);
int check_tell_packed(struct check_tell *tell, struct unpack *from);

/* Print why the check stops, on standard error and at the end of the report; returns CMD_CANNOT. */
int check_tell_stop(struct check_tell *tell, const char *fmt, ...) SHD_PRINTF(2, 3);

/* Print the end of the report: the TAP plan, or why the check stops; and JUnit.  Returns the exit
 * status of the whole check, given the work's. */
int check_tell_end(struct check_tell *tell, int exit);

/* Whether an environment variable is set to a true value. */
bool check_is_on(const char *name);

#endif /* CHECK_TELL_H */
