/* tried.h - builds a scenario's text, executes and verifies it, and compares the run with its
 * plan.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TESTS_TRIED_H
#define TESTS_TRIED_H

#include <stdbool.h>
#include <stddef.h>

#include "trial/trial.h"

/* A zeroed struct is empty; free the contents with tried_fini(). */
struct tried {
    struct scenario_file *file;
    struct trial trial;
};

/* Build the first strategy of a text; false if the text is refused, with the reason as a
 * diagnostic. */
bool tried_init(struct tried *out, const char *text, size_t length);
void tried_fini(struct tried *tried);

/* Execute, verify and compare with the plan, as two points; returns whether both hold. */
bool tried_check(struct tried *tried, const char *what);

#endif /* TESTS_TRIED_H */
