/* tree_layout.h - a model's parameters laid over a mesh by rules, for `show tree`.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SHOW_TREE_LAYOUT_H
#define CMD_SHOW_TREE_LAYOUT_H

#include <shd/analyze.h>

#include "scenario/scenario.h"

struct tree_layout {
    const char *model; /* not owned */
    struct shd_mesh *mesh;
    struct shd_tree *tree;
    struct yaml_doc *doc; /* the file of the rules, whose places point into it */
    size_t nrules;        /* 0: by shapes alone */
    struct scenario_rule *rules;
    size_t *nmatched;         /* [rule] parameters that follow the rule */
    size_t *rule;             /* [parameter] its rule; SHD_NO_RULE: none needed */
    struct shd_spec **specs;  /* by parameter */
    struct shd_analysis *analysis;
    struct text warnings; /* one a line */
    size_t nwarnings;
};

/* Read the model and the rules (NULL: by shapes alone), match and analyze.  Takes the mesh.  Arrays
 * of fewer than `min_elements` stay whole; replicated arrays of `large_bytes` and more get a
 * warning.  Errors are reported to `diag`; call tree_layout_fini() either way. */
SHD_MUST_CHECK int tree_layout_init(struct tree_layout *out, const char *model, const char *rules,
                                    struct shd_mesh *mesh, int64_t min_elements,
                                    uint64_t large_bytes, struct diag *diag);

void tree_layout_fini(struct tree_layout *layout);

/* Print the layout for people, and as JSON. */
void tree_layout_print(const struct tree_layout *layout, struct text *out);
int tree_layout_print_json(const struct tree_layout *layout, struct text *out);

#endif /* CMD_SHOW_TREE_LAYOUT_H */
