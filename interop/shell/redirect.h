/* shell/redirect.h - redirections of a command's input and output: 2>&1, <<END.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHELL_REDIRECT_H
#define SHELL_REDIRECT_H

#include "shell/reader.h"

/* Length of a redirection's operator, without its file: "2>", "&>>"; 0: no redirection. */
size_t shell_redirect_length(const char *text);

/* Pass a redirection with its file; for <<END keep the end mark of the here-document. */
void shell_read_redirect(struct shell *shell, size_t length);

/* Length of a placeholder of people who wrote a command for others, as <MODEL>; 0: none.  A shell
 * would take it for redirections. */
size_t shell_placeholder_length(const char *text);

/* Read a placeholder as a word that is not known. */
void shell_read_placeholder(struct shell *shell, size_t length);

/* Pass all redirections that come next. */
void shell_read_redirects(struct shell *shell);

/* Read a here-document as one word, up to the line with its end mark, which is passed; the word is
 * empty if no command runs the text. */
void shell_read_here_text(struct shell *shell, const struct shell_here *here,
                          struct shell_words *out);

#endif /* SHELL_REDIRECT_H */
