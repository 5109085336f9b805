/* shell/assign.h - assignments to variables of a script, and its arguments.
 *
 * Nothing is set while commands are skipped; a variable that the caller gave is never set.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHELL_ASSIGN_H
#define SHELL_ASSIGN_H

#include "shell/reader.h"

/* Set a variable to the part of a word from a byte on, or to an unknown value. */
void shell_set_word(struct shell *shell, const char *name, size_t length,
                    const struct shell_words *from, size_t word, size_t first);
void shell_set_unknown(struct shell *shell, const char *name, size_t length, uint32_t at);
void shell_unset(struct shell *shell, const char *name, size_t length);

/* Length of "NAME=" or "NAME+=", or of "NAME[...]=" for one element; 0: no assignment. */
size_t shell_assignment_length(const char *text);
size_t shell_element_length(const char *text);

/* Read an assignment whose "NAME=" has this length.  Setting one element makes a whole list
 * unknown. */
void shell_assign(struct shell *shell, size_t length);
void shell_assign_element(struct shell *shell, size_t length);

/* ((i++)) and ((N = 2)) change variables to values that are not followed: the variables in the text
 * from `from` to `end` become unknown, if the text assigns. */
void shell_forget_assigned(struct shell *shell, size_t from, size_t end);

/* Make the words from `first` on the arguments $1, $2, ...; append all arguments, a word each. */
void shell_set_arguments(struct shell *shell, const struct shell_words *words, size_t first);
void shell_get_arguments(const struct shell *shell, struct shell_words *out);

#endif /* SHELL_ASSIGN_H */
