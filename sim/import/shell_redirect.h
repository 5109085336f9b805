/* import/shell_redirect.h - files and texts that a command reads and writes: 2>&1, <<END.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_SHELL_REDIRECT_H
#define IMPORT_SHELL_REDIRECT_H

#include "import/shell_reader.h"

/* How long what says that something is redirected is, without its file: "2>", "&>>"; 0: nothing. */
size_t shell_redirect_length(const char *text);

/* Pass that, and its file; or keep the end that <<END announces. */
void shell_read_redirect(struct shell *shell, size_t length);

/* All that stand here. */
void shell_read_redirects(struct shell *shell);

/* The text of several lines that begins here, up to a line that is its end, which is passed; one
 * word, which is empty where nobody runs it. */
void shell_read_here_text(struct shell *shell, const struct shell_here *here,
                          struct shell_words *out);

#endif /* IMPORT_SHELL_REDIRECT_H */
