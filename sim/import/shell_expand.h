/* import/shell_expand.h - words of a shell script, with what stands for variables in them.
 *
 *   $TP  ${TP}  ${TP:-2}  ${TP:=2}  ${TP:+2}  ${TP:?}  ${1:-2}  "${LIST[@]}"  "$@"  $#  $((G*N/8))
 *
 * What stands unquoted in a variable is parted at spaces, what stands in double quotes is not.
 * Whatever only a shell knows (the output of commands, other forms of ${}) is one byte, of which
 * shell_words_origin() says that it is not known.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_SHELL_EXPAND_H
#define IMPORT_SHELL_EXPAND_H

#include "import/shell_reader.h"

enum shell_quoting { SHELL_PARTED, SHELL_WHOLE, SHELL_QUOTED };

/* One part of a word: a quote, a variable, or a character. */
void shell_read_part(struct shell *shell, struct shell_words *out, enum shell_quoting quoting);

/* Whether a word ends here: at a space, an operator, or the end. */
bool shell_ends_word(const struct shell *shell);

/* A word from here, which may come to several words, or to none. */
void shell_read_word(struct shell *shell, struct shell_words *out, enum shell_quoting quoting);

/* Spaces, lines that go on, comments. */
void shell_skip_gap(struct shell *shell);

/* The words of (...), up to its end. */
void shell_read_array(struct shell *shell, struct shell_words *out);

/* Past what stands in brackets, with those inside and quotes; the text is at the first. */
void shell_skip_brackets(struct shell *shell, char open, char close);

/* What ((...)) comes to, from its first bracket; false, with the cause: it is not known. */
bool shell_read_sum(struct shell *shell, int64_t *out, uint16_t *cause);

/* A part of a text in double quotes or of several lines, with a backslash before `escapes`. */
void shell_read_quoted(struct shell *shell, struct shell_words *out, const char *escapes);

/* All words of a variable, unquoted. */
void shell_put_variable(struct shell *shell, struct shell_words *out,
                        const struct shell_variable *variable);

/* What the bytes up to `end` come to as one word, as in double quotes. */
void shell_read_until(struct shell *shell, struct shell_words *out, size_t end);

#endif /* IMPORT_SHELL_EXPAND_H */
