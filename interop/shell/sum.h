/* shell/sum.h - the arithmetic of a shell, $((G * N / 8)), on whole numbers of 64 bits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHELL_SUM_H
#define SHELL_SUM_H

#include "shell/state.h"

/* Evaluate a text, with variables by their names; false: the value is unknown, because a variable
 * is not set or in doubt, or the text is no number, or assigns.  `culprit` is then the variable in
 * the text that would settle the value, with its length; NULL: none. */
bool shell_sum(int64_t *out, const char *text, const struct shell_state *state,
               const char **culprit, size_t *length);

#endif /* SHELL_SUM_H */
