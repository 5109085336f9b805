/* import/shell.h - a shell script, read and never run: its commands, as words.
 *
 * Variables, lists, functions, if, case, for, while, && and || are followed as far as values are
 * known that the script sets itself, or that are given.  Of a condition that is not decided each
 * branch is read, and what differs behind it is SHELL_MAYBE in words.  No command is executed, no
 * other file is read, and expansion is bounded.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_SHELL_H
#define IMPORT_SHELL_H

#include "import/shell_reader.h"

/* Give a variable ("TP=2", "1=2" for the first argument) a value that it keeps, before it is read.
 * False: that is no NAME=VALUE. */
bool shell_give(struct shell *shell, const char *assignment);

/* Read all: `on_command` gets each command that may launch something, in shell->words; with
 * shell->under or shell->doubtful it is not known whether it is run. */
void shell_run(struct shell *shell, void (*on_command)(void *context, struct shell *shell),
               void *context);

/* The options of variables that no command uses, as commands; their names into `names`. */
void shell_offer_variables(struct shell *shell, struct text *names);

/* An error for each variable that was given and that the script does not use. */
void shell_check_given(struct shell *shell);

#endif /* IMPORT_SHELL_H */
