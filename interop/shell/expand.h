/* shell/expand.h - reads words of a shell script and expands the variables in them.
 *
 * $TP  ${TP}  ${TP:-2}  ${TP:=2}  ${TP:+2}  ${TP:?}  ${1:-2}  "${LIST[@]}"  "$@"  $#  $((G*N/8))
 *
 * Unquoted values of variables are split at spaces, values in double quotes are not.  A value that
 * only a shell knows (the output of commands, other forms of ${}) becomes one byte, which
 * shell_words_origin() marks as unknown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHELL_EXPAND_H
#define SHELL_EXPAND_H

#include "shell/reader.h"

enum shell_quoting { SHELL_PARTED, SHELL_WHOLE, SHELL_QUOTED };

/* Read one part of a word: a quote, a variable, or a character. */
void shell_read_part(struct shell *shell, struct shell_words *out, enum shell_quoting quoting);

/* Whether a word ends here: at a space, an operator, or the end. */
bool shell_ends_word(const struct shell *shell);

/* Read a word, which may expand to several words, or to none. */
void shell_read_word(struct shell *shell, struct shell_words *out, enum shell_quoting quoting);

/* Read a word that may be empty, joined to one, into an empty list. */
void shell_read_whole(struct shell *shell, struct shell_words *out);

/* Skip spaces, continued lines and comments. */
void shell_skip_gap(struct shell *shell);

/* Read the words of (...), up to its end. */
void shell_read_array(struct shell *shell, struct shell_words *out);

/* Skip a bracketed text, with nested brackets and quotes; the text is at the first bracket. */
void shell_skip_brackets(struct shell *shell, char open, char close);

/* Evaluate ((...)), from its first bracket; false, with the cause: the value is unknown. */
bool shell_read_sum(struct shell *shell, int64_t *out, uint16_t *cause);

/* Read a part of a text in double quotes or of several lines, with a backslash before `escapes`. */
void shell_read_quoted(struct shell *shell, struct shell_words *out, const char *escapes);

/* Append all words of a variable, unquoted. */
void shell_put_variable(struct shell *shell, struct shell_words *out,
                        const struct shell_variable *variable);

/* Expand the bytes up to `end` to one word, like a text in double quotes. */
void shell_read_until(struct shell *shell, struct shell_words *out, size_t end);

#endif /* SHELL_EXPAND_H */
