/* rules/layout.h - finds the spec that another system's rules give each parameter of a
 * model.
 *
 * Each parameter is looked up by its name and shape in the other system, and its spec is translated
 * to its dimensions here: if one dimension there is heads and head_dim together, its axes go to
 * heads as long as they divide heads, and to head_dim once a device has one head.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RULES_LAYOUT_H
#define RULES_LAYOUT_H

#include "graph/graph.h"
#include "rules/rules.h"

struct rules_layout_param {
    char *ours;       /* name here; free all texts with rules_layout_fini() */
    char *any;        /* `ours` with '*' for the number of a layer */
    char *theirs;     /* name in the other system, with '*', followed by its logical axes in T5X */
    char *spec;       /* as scenarios write it, "[null, tp]" */
    bool small;       /* replicated: too few elements for a rule to count */
    const char *part; /* further contents of the other system's array, or NULL */
    size_t kind;      /* the first parameter that is equal except for the layer */
    size_t alike;     /* the first parameter of this kind with the same spec, ... */
    size_t nalike;    /* ... and there the number of parameters with this spec */
};

struct rules_layout {
    size_t count;
    struct rules_layout_param *list; /* in the order of the model */
};

/* Look up all parameters of a graph, and note in the rules which parameters they gave a spec.
 * Reports a parameter without a name in the other system or without a rule, a spec with more
 * entries than the array has dimensions, and a dimension that does not divide.  Free with
 * rules_layout_fini() either way. */
void rules_layout_init(struct rules_layout *out, struct import_rules *rules,
                       const struct scenario *scenario, const struct graph *graph,
                       struct diag *diag);
void rules_layout_fini(struct rules_layout *layout);

/* Print the spec of T5X's logical axes (NULL: a dimension without a name), as scenarios write it;
 * does not note which rules were found. */
void rules_layout_logical(struct text *out, const struct import_rules *rules,
                          const char *const *names, size_t nnames, struct diag *diag);

#endif /* RULES_LAYOUT_H */
