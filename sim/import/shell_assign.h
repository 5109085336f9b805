/* import/shell_assign.h - what sets variables of a script, and its arguments.
 *
 * Nothing is set while commands are skipped, nor a variable that the caller gave.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_SHELL_ASSIGN_H
#define IMPORT_SHELL_ASSIGN_H

#include "import/shell_reader.h"

/* Set a variable to part of a word from a byte on, or to what is not known. */
void shell_set_word(struct shell *shell, const char *name, size_t length,
                    const struct shell_words *from, size_t word, size_t first);
void shell_set_unknown(struct shell *shell, const char *name, size_t length, uint32_t at);
void shell_unset(struct shell *shell, const char *name, size_t length);

/* How long "NAME=" or "NAME+=" is, or "NAME[...]=" of one element; 0: it is none. */
size_t shell_assignment_length(const char *text);
size_t shell_element_length(const char *text);

/* Read such an assignment, whose length is given.  A list of which one element is changed is not
 * known any more. */
void shell_assign(struct shell *shell, size_t length);
void shell_assign_element(struct shell *shell, size_t length);

/* ((i++)) and ((N = 2)) change variables, to what is not followed: those of the text from `from`
 * to `end`, if it assigns. */
void shell_forget_assigned(struct shell *shell, size_t from, size_t end);

/* The words from `first` on become the arguments $1, $2, ...; or all arguments, a word each. */
void shell_set_arguments(struct shell *shell, const struct shell_words *words, size_t first);
void shell_get_arguments(const struct shell *shell, struct shell_words *out);

#endif /* IMPORT_SHELL_ASSIGN_H */
