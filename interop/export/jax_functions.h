/* jax_functions.h - Python functions that exported JAX code calls; for jax.c.
 *
 * An op that is more than an expression in JAX has a function: one row of the table.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPORT_JAX_FUNCTIONS_H
#define EXPORT_JAX_FUNCTIONS_H

#include "base/text.h"

/* Add the functions that the code calls, directly or indirectly, two blank lines before each. */
void jax_add_functions(struct text *out, const char *code);

#endif /* EXPORT_JAX_FUNCTIONS_H */
