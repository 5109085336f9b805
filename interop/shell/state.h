/* shell/state.h - the variables of a shell script, which can be copied before a branch that
 * may not be taken, and merged after the branch.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHELL_STATE_H
#define SHELL_STATE_H

#include "shell/words.h"

#define SHELL_VARIABLES_MAX 1000 /* far more than people write */

struct shell_variable {
    char *name;               /* "1", "2", ... are the arguments */
    struct shell_words value; /* one word, or the words of an array */
    bool set;
    bool given; /* by the caller: the script does not change the value */
    bool used;  /* somewhere in the script */
};

/* Variables are only added: a copy has the same variables at the same indexes. */
struct shell_state {
    struct shell_variable *list;
    size_t count;
    bool failed; /* no memory, or over SHELL_VARIABLES_MAX */
};

/* A state of zeros is empty. */
void shell_state_fini(struct shell_state *state);

/* The variable with a name, set or not; NULL: none. */
struct shell_variable *shell_state_find(const struct shell_state *state, const char *name,
                                        size_t length);

/* The variable with a name, added if necessary; NULL: `failed`. */
struct shell_variable *shell_state_add(struct shell_state *state, const char *name, size_t length);

/* Copy a state; without memory the copy has `failed`. */
void shell_state_copy(struct shell_state *copy, const struct shell_state *state);

/* Bytes of a copy, approximately. */
size_t shell_state_bytes(const struct shell_state *state);

/* Merge `other` into `state` if either of the two may hold: values that differ become SHELL_MAYBE
 * from the first difference on, those of `state` before those of `other`.  Frees `other`. */
void shell_state_merge(struct shell_state *state, struct shell_state *other, uint16_t cause);

#endif /* SHELL_STATE_H */
