/* import/shell_state.h - the variables of a shell script, which may be copied before a branch that
 * may not be taken, and brought together behind it.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_SHELL_STATE_H
#define IMPORT_SHELL_STATE_H

#include "import/shell_words.h"

#define SHELL_VARIABLES_MAX 1000 /* far more than people write */

struct shell_variable {
    char *name;               /* "1", "2", ... are the arguments */
    struct shell_words value; /* one word, or those of an array */
    bool set;
    bool given; /* by the caller, for good: the script does not change it */
    bool used;  /* somewhere in the script */
};

/* Only ever grows, so that a copy has the same variables at the same indexes. */
struct shell_state {
    struct shell_variable *list;
    size_t count;
    bool failed; /* no memory, or over SHELL_VARIABLES_MAX */
};

/* All zeros is none. */
void shell_state_fini(struct shell_state *state);

/* The variable, also when it is not set; or NULL. */
struct shell_variable *shell_state_find(const struct shell_state *state, const char *name,
                                        size_t length);

/* The variable, which is added if need be; NULL: `failed`. */
struct shell_variable *shell_state_add(struct shell_state *state, const char *name, size_t length);

/* Where there is no memory the copy's `failed`. */
void shell_state_copy(struct shell_state *copy, const struct shell_state *state);

/* How many bytes a copy takes, about. */
size_t shell_state_bytes(const struct shell_state *state);

/* What `state` is if it may as well be the `other`: values that differ are from where they do
 * SHELL_MAYBE, those of both one behind the other.  The other is freed. */
void shell_state_merge(struct shell_state *state, struct shell_state *other, uint16_t cause);

#endif /* IMPORT_SHELL_STATE_H */
