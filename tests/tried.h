/* tried.h - a scenario's text built, executed, verified, and compared with its plan.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TESTS_TRIED_H
#define TESTS_TRIED_H

#include <stdbool.h>
#include <stddef.h>

#include "trial/trial.h"

/* Zeroed it holds nothing; free what it holds with tried_fini(). */
struct tried {
    struct scenario_file *file;
    struct trial trial;
};

/* Build the first strategy of a text; where it is refused the reason is told, and false returned. */
bool tried_init(struct tried *out, const char *text, size_t length);
void tried_fini(struct tried *tried);

/* Execute and verify, and compare with the plan: two points.  Returns whether both are good. */
bool tried_check(struct tried *tried, const char *what);

#endif /* TESTS_TRIED_H */
