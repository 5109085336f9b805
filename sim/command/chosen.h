/* chosen.h - one strategy of one scenario file, for commands that work on a single strategy.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMMAND_CHOSEN_H
#define COMMAND_CHOSEN_H

#include "base/text.h"
#include "trial/trial.h"

#define CHOSEN_SETS_MAX 64 /* most --set options in one command, more than there are settings */

struct chosen {
    const char *path, *strategy;
    const char *sets[CHOSEN_SETS_MAX];
    size_t nsets;
    bool executes; /* the program may be executed, here or where it is exported to */
    const struct text *text; /* of the file, read by chosen_keep(); NULL: read the file */
    /* After chosen_load(): */
    struct scenario_file *file;
    struct trial trial;
};

/* Load the file and build the program of the strategy; without a name the file must have only one.
 * Prints errors; returns the exit status.  End with chosen_fini() in any case. */
int chosen_load(struct chosen *chosen);

/* Read the file's text once for several strategies or values, because standard input can only be
 * read once.  The text is the caller's, and must outlive the use of copies of `chosen`; returns
 * the status. */
int chosen_keep(struct chosen *chosen, struct text *text, struct diag *diag);

/* Read the file and find the strategy, without building its program.  End with chosen_fini();
 * returns the status. */
int chosen_read(struct chosen *chosen, const struct scenario **out, struct diag *diag);

/* Like chosen_load(), but errors go to `diag`; returns the status. */
int chosen_try(struct chosen *chosen, struct diag *diag);

/* Print why a step failed, at the scenario's place if the step is refused; returns the exit
 * status. */
int chosen_failed(const struct chosen *chosen, const struct shd_error *err);
void chosen_fini(struct chosen *chosen);

#endif /* COMMAND_CHOSEN_H */
