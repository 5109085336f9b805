/* shell/builtin.h - commands that a shell executes by itself: export, test, shift, exit, ...
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHELL_BUILTIN_H
#define SHELL_BUILTIN_H

#include "shell/reader.h"

/* Execute the command in shell->words, which has at least one word; false: not a builtin
 * command. */
bool shell_builtin(struct shell *shell, enum shell_tri *status);

/* The file that a `source FILE` reads as a script, if the caller gave the file; else NULL. */
struct shell_file *shell_sourced(struct shell *shell);

/* Whether the words read so far begin an assignment command such as export. */
bool shell_is_declaring(const struct shell *shell);

/* The number of the word with the script in a command like sh -c SCRIPT, also after another command
 * (srun bash -c SCRIPT); 0: none.  And whether the command reads the text after << as a script. */
size_t shell_find_script(const struct shell *shell);
bool shell_reads_script(const struct shell *shell);

#endif /* SHELL_BUILTIN_H */
