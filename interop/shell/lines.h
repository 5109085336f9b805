/* shell/lines.h - the lines of a script, and texts in it that are scripts of their own: of a
 * here-document, or in a string.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHELL_LINES_H
#define SHELL_LINES_H

#include "shell/reader.h"

/* Pass ends of lines, with the here-documents that were announced on them. */
void shell_skip_lines(struct shell *shell);

/* Run all commands of the text to read next. */
void shell_run_script(struct shell *shell);

/* Run a word as a script; `apart`: its changes of variables are not kept. */
void shell_run_text(struct shell *shell, const struct shell_words *words, size_t word, bool apart);

/* False, reported, and reading ends: commands are nested too deep. */
bool shell_is_shallow(struct shell *shell);

#endif /* SHELL_LINES_H */
