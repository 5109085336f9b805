/* rules/names.h - the names of a model's parameters in other systems.
 *
 * A row for each parameter: its name here, with '*' for the number of a layer, and its name there;
 * the dimensions here that make up each dimension there; and T5X's logical names of the dimensions.
 * [embed, heads, head_dim] is mostly [embed, heads * head_dim] there.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RULES_NAMES_H
#define RULES_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "scenario/scenario.h"

enum names_system {
    NAMES_EASYDEL,       /* the experts of a layer are one array */
    NAMES_EASYDEL_APART, /* each expert has arrays of its own, as in earlier releases */
    NAMES_OWN,           /* the names of this program */
    NAMES_T5X,
    NAMES_NSYSTEMS
};

extern const char *const names_systems[NAMES_NSYSTEMS];

struct names_row {
    const char *ours;
    const char *theirs;
    const char
        *dims; /* "0 12": dimension 0 there is 0 here, dimension 1 there is 1 (the major) and 2
                  here */
    const char *axes; /* T5X's logical names of the dimensions there, "embed joined_kv" */
    const char *part; /* not NULL: other contents of the array there, for a comment */
};

/* The row of a parameter of a model; NULL: the system has no such parameter.  NAMES_OWN has no
 * rows, because the names are the same. */
const struct names_row *names_find(enum names_system system, const struct scenario_model *model,
                                   const char *ours);

#endif /* RULES_NAMES_H */
