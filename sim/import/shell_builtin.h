/* import/shell_builtin.h - commands that a shell does itself: export, test, shift, exit, ...
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_SHELL_BUILTIN_H
#define IMPORT_SHELL_BUILTIN_H

#include "import/shell_reader.h"

/* Do the command in shell->words, of at least one word; false: it is none of these. */
bool shell_builtin(struct shell *shell, enum shell_tri *status);

/* The file that the command reads as a script (`source FILE`), if the caller gave it; else NULL. */
struct shell_file *shell_sourced(struct shell *shell);

/* Whether the words so far are of a command that sets variables, as export does. */
bool shell_is_declaring(const struct shell *shell);

/* The word that is a script in a command as sh -c SCRIPT, also behind another (srun bash -c
 * SCRIPT); 0: there is none.  Whether the command reads what stands behind << as a script. */
size_t shell_find_script(const struct shell *shell);
bool shell_reads_script(const struct shell *shell);

#endif /* IMPORT_SHELL_BUILTIN_H */
