/* jax_functions.h - Python functions that exported JAX code calls; for jax.c.
 *
 * An op of ours that is more than an expression in JAX has a function there: one row of the table.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPORT_JAX_FUNCTIONS_H
#define EXPORT_JAX_FUNCTIONS_H

#include "base/text.h"

/* Those that the code calls, and those that these call, two blank lines before each. */
void jax_add_functions(struct text *out, const char *code);

#endif /* EXPORT_JAX_FUNCTIONS_H */
