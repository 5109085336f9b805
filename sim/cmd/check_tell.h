/* check_tell.h - what `shardsim check` says of each strategy, as it comes: TAP, annotations for
 * GitHub; and JUnit at the end.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_CHECK_TELL_H
#define CMD_CHECK_TELL_H

#include "report/outcome.h"

struct check_tell {
    const char *junit; /* a file; NULL: none is written */
    struct outcome *outcomes;
    size_t noutcomes;
    bool failed;
};

#define CHECK_TELL_INIT      \
    {                        \
        NULL, NULL, 0, false \
    }
void check_tell_fini(struct check_tell *tell);

/* Tell of an outcome: in words, or as another rank has packed it.  The exit status. */
int check_tell_words(struct check_tell *tell, enum outcome_kind kind, const char *file,
                     const char *suite, const char *name, const char *words);
int check_tell_packed(struct check_tell *tell, struct unpack *from);

/* The end of the report: the plan of TAP, or why it stops; JUnit.  The exit status of it all, where
 * `exit` is what has come of the work. */
int check_tell_end(struct check_tell *tell, int exit);

/* Whether an environment variable is set to something that means yes. */
bool check_is_on(const char *name);

#endif /* CMD_CHECK_TELL_H */
