/* import/shell_fork.h - branches of a script of which one is taken, and it is not known which.
 *
 * Each is run from the same variables; behind them a variable has what it has in all, or is in
 * doubt.  A branch that ends the script is none, for then nothing is launched.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_SHELL_FORK_H
#define IMPORT_SHELL_FORK_H

#include "import/shell_reader.h"

struct shell_fork {
    struct shell_state before, after; /* `after`: of the branches that have been */
    bool any, sure;                   /* a branch came to its end; all others did not */
    uint16_t cause, under;            /* the condition; that of the whole */
    bool keeps; /* what the condition's variable is set to where it is empty */
    struct shell_words kept;
};

void shell_fork_open(struct shell *shell, struct shell_fork *fork, uint16_t cause);

/* Before and after a branch.  `last`: there is no other, so that it is sure where none of those
 * before came to its end.  `empty`: in it the variable that the condition asks for is empty. */
void shell_fork_begin(struct shell *shell, struct shell_fork *fork, bool last);
void shell_fork_end(struct shell *shell, struct shell_fork *fork, bool empty);

/* Behind all; without `closed` it may be that none of them was taken. */
void shell_fork_close(struct shell *shell, struct shell_fork *fork, bool closed);

/* Run commands whose changes are not kept, as in (...): between these two. */
void shell_fork_apart(struct shell *shell, struct shell_fork *fork);
void shell_fork_back(struct shell *shell, struct shell_fork *fork);

#endif /* IMPORT_SHELL_FORK_H */
