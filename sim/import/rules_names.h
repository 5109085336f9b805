/* import/rules_names.h - what other systems call the parameters that a model has here.
 *
 * A row a parameter: its name here, with '*' for the number of a layer, and there; which dimensions
 * of ours make up each of theirs; and what T5X calls theirs.  [embed, heads, head_dim] is mostly
 * [embed, heads * head_dim] there.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_RULES_NAMES_H
#define IMPORT_RULES_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "scenario/scenario.h"

enum names_system {
    NAMES_EASYDEL,       /* the experts of a layer are one array */
    NAMES_EASYDEL_APART, /* each expert has arrays of its own, as in earlier releases */
    NAMES_OWN,           /* those of this program */
    NAMES_T5X,
    NAMES_NSYSTEMS
};

extern const char *const names_systems[NAMES_NSYSTEMS];

struct names_row {
    const char *ours;
    const char *theirs;
    const char
        *dims; /* "0 12": theirs 0 is ours 0, theirs 1 is ours 1 and 2, the first the major */
    const char *axes; /* of T5X: the logical names of their dimensions, "embed joined_kv" */
    const char *part; /* not NULL: what else is in their array, for a comment */
};

/* The row of a parameter of a model; NULL where that system has no such.  Of NAMES_OWN there are no
 * rows: the names are the same. */
const struct names_row *names_find(enum names_system system, const struct scenario_model *model,
                                   const char *ours);

#endif /* IMPORT_RULES_NAMES_H */
