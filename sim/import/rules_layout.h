/* import/rules_layout.h - what rules of another system say of the parameters of a model here.
 *
 * Each parameter is looked up by the name and in the shape that it has there, and the spec that it
 * gets is brought to its dimensions here: the axes of one dimension that is heads and head_dim
 * together go to heads as long as they divide it, and to head_dim once a device has one head.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_RULES_LAYOUT_H
#define IMPORT_RULES_LAYOUT_H

#include "graph/graph.h"
#include "import/rules.h"

struct rules_layout_param {
    char *ours;       /* its name; free with rules_layout_fini() as all here */
    char *any;        /* the same with '*' for the number of a layer */
    char *theirs;     /* its name there, with '*', and behind it its logical axes of T5X */
    char *spec;       /* as scenarios write it, "[null, tp]" */
    bool small;       /* replicated, as it has too few elements for a rule to count */
    const char *part; /* what else is in their array, or NULL */
    size_t kind;      /* the first of those that are the same but for the layer */
    size_t alike;     /* the first of these that has the same spec, */
    size_t nalike;    /* and there how many have it */
};

struct rules_layout {
    size_t count;
    struct rules_layout_param *list; /* in the order of the model */
};

/* Look up all parameters of a graph.  What rules gave is noted in them, too.  Reports a parameter
 * without a name there or without a rule, a spec of more entries than the array has dimensions, a
 * dimension that does not divide.  Free with rules_layout_fini() either way. */
void rules_layout_init(struct rules_layout *out, struct import_rules *rules,
                       const struct scenario *scenario, const struct graph *graph,
                       struct diag *diag);
void rules_layout_fini(struct rules_layout *layout);

/* The spec of logical axes (NULL: a dimension of none), of T5X, as scenarios write it; of no rule
 * that is found anything is noted. */
void rules_layout_logical(struct text *out, const struct import_rules *rules,
                          const char *const *names, size_t nnames, struct diag *diag);

#endif /* IMPORT_RULES_LAYOUT_H */
