/* shell/fork.h - branches of a script if it is unknown which branch is taken.
 *
 * Each branch runs from the same variables; after the branches a variable has the value that it has
 * in all of them, or is in doubt.  A branch that ends the script does not count, because then
 * nothing is launched.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHELL_FORK_H
#define SHELL_FORK_H

#include "shell/reader.h"

struct shell_fork {
    struct shell_state before, after; /* `after`: merged from the branches so far */
    bool any, sure;                   /* a branch reached its end; the last branch, after none that did */
    uint16_t cause, under;            /* condition of the branches; condition around the whole
                                         fork */
    bool keeps; /* `kept`: value for the condition's variable if the variable is empty */
    struct shell_words kept;
};

void shell_fork_open(struct shell *shell, struct shell_fork *fork, uint16_t cause);

/* Before and after a branch.  `last`: no branch follows, so that this branch is certain if no
 * earlier branch reached its end.  `empty`: the variable in the condition is empty in this
 * branch. */
void shell_fork_begin(struct shell *shell, struct shell_fork *fork, bool last);
void shell_fork_end(struct shell *shell, struct shell_fork *fork, bool empty);

/* After all branches; without `closed` perhaps no branch was taken. */
void shell_fork_close(struct shell *shell, struct shell_fork *fork, bool closed);

/* Before and after commands whose changes are not kept, as in (...). */
void shell_fork_apart(struct shell *shell, struct shell_fork *fork);
void shell_fork_back(struct shell *shell, struct shell_fork *fork);

/* Before a loop or a function, copy the variables to *before; after it, which may have been left
 * early, variables that it changed are in doubt then.  `doubtful`: shell->doubtful before. */
void shell_keep_state(struct shell *shell, struct shell_state *before);
void shell_settle(struct shell *shell, struct shell_state *before, bool doubtful);

#endif /* SHELL_FORK_H */
