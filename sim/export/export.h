/* export.h - a layout as code of another system: what each target is called, and who writes it.
 *
 * A target is one file and one row of export.c's table.  All read the same: the graph of the step,
 * the mesh, and the shardings that rules, axes and constraints ask for.  What a target cannot say
 * is an error that names it; nothing is left out silently.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include <shd/error.h>
#include <shd/mesh.h>

#include "base/text.h"
#include "graph/graph.h"
#include "model/model.h"
#include "scenario/scenario.h"

struct export_layout {
    const struct scenario *source;
    const char *scenario, *strategy, *what; /* names, and the model in words */
    const struct shd_mesh *mesh;
    const struct graph *graph;
    const struct model_shardings *shardings;
};

struct export_target {
    const char *name; /* on the command line */
    const char *desc;
    /* SHD_EUNSUPPORTED: the target cannot say it; SHD_ENOMEM. */
    int (*write)(const struct export_layout *layout, struct text *out, struct shd_error *err);
};

extern const struct export_target *const export_targets[]; /* ended by NULL */

const struct export_target *export_find(const char *name); /* NULL: there is none */

/* ---- what targets share ---- */

/* A comment in shell and TOML: what a layout does not decide, and yet is written. */
#define EXPORT_OWN_RATES                                                                       \
    "# The rates, decays and number of steps are the scenario's or its defaults: choose your " \
    "own; "                                                                                    \
    "the layout does not depend on them.\n"

/* A number in as few digits as read back as the same. */
void export_add_number(struct text *out, double value);

/* "# SCENARIO, STRATEGY: the model in words", as one line; behind two others, for of the first two
 * lines a comment can be taken for more: Python's encoding (PEP 263), a shell's interpreter. */
void export_add_title(struct text *out, const struct export_layout *layout);

/* Python: "MESH = {"dp": 2, "tp": 4}", and "(128, 512)", "(8,)", "()". */
void export_add_mesh(struct text *out, const struct shd_mesh *mesh);
void export_add_shape(struct text *out, const int64_t *shape, uint32_t rank);

/* Whether a node is a parameter, or an input of the forward phase (`op` says which). */
bool export_is_leaf(const struct graph_node *node, enum graph_op op);

/* Types of gradients, moments and sums that such systems have no option for: with a type of 16 bits
 * all of these are float32 there.  SHD_EUNSUPPORTED. */
SHD_MUST_CHECK int export_check_types(const struct scenario *scenario, const char *system,
                                      struct shd_error *err);

/* The axes of one dimension: "dp", ("x", "y"), None. */
void export_add_axes(struct text *out, const struct shd_mesh *mesh, const struct shd_dim_axes *dim);

/* "P('dp', None, ('x', 'y'))": without trailing None's; NULL: "P()". */
void export_add_spec(struct text *out, const struct shd_sharding *sharding);

/* The sharding that was asked for a parameter or input; NULL: replicated. */
const struct shd_sharding *export_sharding(const struct export_layout *layout, uint32_t node);

/* SHD_EUNSUPPORTED where a parameter is kept in pieces (shd/sharding.h), for which `what` has no
 * word. */
SHD_MUST_CHECK int export_check_pieces(const struct export_layout *layout, const char *what,
                                       struct shd_error *err);

/* Whether an output's gradient is asked for of this node. */
bool export_wants_gradient(const struct graph *graph, uint32_t node);

#endif /* EXPORT_EXPORT_H */
