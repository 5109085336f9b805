/* tried.h - builds a scenario's text, executes and verifies it, and compares the run with its
 * plan.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TESTS_TRIED_H
#define TESTS_TRIED_H

#include <stdbool.h>
#include <stddef.h>

#include "trial/variant.h"

/* Build the first strategy of a text; false if the text is refused, with the reason as a
 * diagnostic; free it with variant_fini() either way. */
bool tried_init(struct variant *out, const char *text, size_t length);

/* Execute, verify and compare with the plan, as two points; returns whether both hold. */
bool tried_check(struct variant *tried, const char *what);

#endif /* TESTS_TRIED_H */
