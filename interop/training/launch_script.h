/* training/launch_script.h - finds the options of a system's command in the script that launches
 * the command.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRAINING_LAUNCH_SCRIPT_H
#define TRAINING_LAUNCH_SCRIPT_H

#include "shell/shell.h"
#include "training/job.h"

/* How commands of a system are told from other commands, and read. */
struct launch_system {
    const char *name;                    /* for messages */
    const struct import_option *options; /* ended by a row without a name */
    const char *example;                 /* a command */
    const char *printed;                 /* the remedy for values that only a shell knows */
    bool argparse; /* as Python's argparse reads: options with one dash, beginnings of names,
                      --no-NAME; words before the program are of other programs */
    /* How many words follow an option, where its row does not say: none behind a name of `bare`,
     * all up to the next option behind one of `lists`, else one.  Words (base/words.h); one of
     * `bare` that ends in '-' is the beginning of names, but for those of `valued`. */
    const char *bare, *valued, *lists;
    const char *positional; /* option whose value is the one word that belongs to no option; NULL:
                               such words have no meaning */
    const char *by_node; /* options in which the commands of a server's nodes differ, words; NULL:
                            none */
    /* Whether the words of a command are of the system; *program becomes the word from which on
     * options are the system's. */
    bool (*find)(const struct shell *shell, size_t *program);
    /* Look at the words of a command before its options are read; NULL: no need. */
    void (*read_words)(struct import_job *job, const struct shell *shell, size_t program);
    /* Take variables of a file without a command; NULL: none. */
    void (*take_variables)(struct import_job *job, struct shell *shell);
};

/* The remedy of a system whose command begins with `program`. */
#define LAUNCH_PRINTED(program)                                                            \
    "expected the command with its values; to print it, put " program "() { echo " program \
    " \"$@\"; } on top of the script"

/* Read a command, or the script that launches one, with the given variables of the job.  Faults are
 * reported, and unknown values that matter. */
void launch_script_read(struct import_job *job, const struct launch_system *system,
                        struct place first, const char *text, struct diag *diag);

/* Whether a word of a command is an option, rather than a value or a number below 0. */
bool launch_script_is_option(const struct launch_system *system, const struct shell *shell,
                             size_t word);

/* Append the known parts of all words, separated by spaces; a part with an unknown byte is left
 * out. */
void launch_script_add_known(struct text *out, const struct shell *shell);

#endif /* TRAINING_LAUNCH_SCRIPT_H */
