/* shell/call.h - functions of a script, and files and texts that it runs in its own shell:
 * NAME, source FILE, eval TEXT.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHELL_CALL_H
#define SHELL_CALL_H

#include "shell/reader.h"

/* Length of "NAME ()"; 0: no function begins here. */
size_t shell_function_length(const char *text);

/* Define a function: its body is read and skipped, and run when the function is called. */
enum shell_tri shell_define(struct shell *shell, const char *name, size_t length);

/* function NAME { or function NAME() { */
enum shell_tri shell_read_function(struct shell *shell);

/* The last function with a name, or NULL. */
const struct shell_function *shell_find_function(const struct shell *shell, const char *name);

/* Run the command in shell->words: a function with its arguments; source FILE [ARGUMENT...] with a
 * file that the caller gave; eval TEXT.... */
enum shell_tri shell_call(struct shell *shell, const struct shell_function *function);
enum shell_tri shell_run_file(struct shell *shell, struct shell_file *file);
enum shell_tri shell_eval(struct shell *shell);

#endif /* SHELL_CALL_H */
