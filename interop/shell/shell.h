/* shell/shell.h - reads a shell script without running it: its commands, as words.
 *
 * Variables, lists, functions, if, case, for, while, && and || are followed as far as values are
 * known: set by the script itself, or given.  If a condition is not decided, each branch is read,
 * and values that differ after the branches are SHELL_MAYBE in words.  No command is executed, only
 * given files are read, and expansion is bounded.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHELL_SHELL_H
#define SHELL_SHELL_H

#include "shell/reader.h"

/* Give a variable ("TP=2", "1=2" for the first argument) a fixed value, before the script is read.
 * False: the text is no NAME=VALUE. */
bool shell_give(struct shell *shell, const char *assignment);

/* Read the whole script: `on_command` gets each command that may launch something, in shell->words;
 * with shell->under or shell->doubtful the command may not run.  `on_operand` gets each variable of
 * a known sum. */
void shell_run(struct shell *shell, void (*on_command)(void *context, struct shell *shell),
               void (*on_operand)(void *context, struct shell *shell,
                                  const struct shell_variable *variable),
               void *context);

/* Take the options in variables that no command uses, as commands; the variables' names go to
 * `names`. */
void shell_offer_variables(struct shell *shell, struct text *names);

/* Report each given variable that the script does not use. */
void shell_check_given(struct shell *shell);

#endif /* SHELL_SHELL_H */
