/* export.h - write a layout as code of another system: the targets, and helpers that they share.
 *
 * A target is one file and one row of export.c's table.  All targets read the same: the graph of
 * the step, the mesh, and the shardings asked for by rules, axes and constraints.  Whatever a
 * target cannot express is an error that names it; nothing is left out silently.
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
    const char *scenario, *strategy, *what; /* names; the model in words */
    const struct shd_mesh *mesh;
    const struct graph *graph;
    const struct model_shardings *shardings;
    struct scenario_overlap overlap; /* as planned; SCENARIO_AS_CLUSTER: neither a cluster nor the
                                        scenario says so */
};

struct export_job; /* roles.h */

/* Whether the system can express something of a job, of which only `source` and `err` may be set.
 * SHD_EUNSUPPORTED: the reason is in job->err. */
typedef int export_check(struct export_job *job);

enum export_serving_kind { EXPORT_TRAINS, EXPORT_SERVES, EXPORT_BOTH };

struct export_target {
    const char *name; /* as on the command line */
    const char *desc;
    /* SHD_EUNSUPPORTED: the target cannot express the layout, which passed the checks below;
     * SHD_ENOMEM. */
    int (*write)(const struct export_layout *layout, struct text *out, struct shd_error *err);
    /* Refuses what no layout would change, such as the model; NULL: nothing is known before a
     * layout is. */
    export_check *source;
    /* Refuse what no other sizes or order of the mesh's axes, and no other ZeRO, would change, such
     * as recomputation; NULL-terminated, or NULL. */
    export_check *const *choices;
    const char *software; /* the scenario's option for a job of the target; NULL: the cluster's */
    enum export_serving_kind serves; /* which steps the target has words for */
    bool one_stage; /* write() leaves a pipeline out, with a comment: a search has none */
    bool offloads; /* write() says what is offloaded, or refuses it; else none can be */
};

extern const struct export_target *const export_targets[]; /* NULL-terminated */

const struct export_target *export_find(const char *name); /* NULL: no such target */

/* The target whose jobs run this software; NULL: none, or `software` is NULL. */
const struct export_target *export_find_software(const char *software);

/* Write a layout for a target, after all checks; as write(). */
SHD_MUST_CHECK int export_write(const struct export_target *target,
                                const struct export_layout *layout, struct text *out,
                                struct shd_error *err);

/* Write a layout whose source passed export_check_source(), perhaps with fewer layers since: what a
 * system has of a model (torchtitan's flavors) depends on all its layers.  As write(). */
SHD_MUST_CHECK int export_write_layout(const struct export_target *target,
                                       const struct export_layout *layout, struct text *out,
                                       struct shd_error *err);

/* Refuse what no layout of a scenario could say to a target, before layouts are searched.
 * SHD_EUNSUPPORTED. */
SHD_MUST_CHECK int export_check_source(const struct export_target *target,
                                       const struct scenario *source, struct shd_error *err);

/* Refuse what a layout's scenario says of all but the sizes and the order of the mesh's axes, and
 * ZeRO, before its graph is built.  SHD_EUNSUPPORTED. */
SHD_MUST_CHECK int export_check_choices(const struct export_target *target,
                                        const struct scenario *source, struct shd_error *err);

/* As export_check_choices(), and refuse what write() would leave out with a comment: a search for the
 * target has no such layout. */
SHD_MUST_CHECK int export_check_searched(const struct export_target *target,
                                         const struct scenario *source, struct shd_error *err);

/* Append the targets that no such check refuses for a scenario: "jax or pytorch"; nothing: none. */
void export_add_accepting(struct text *out, const struct scenario *source);

/* ---- helpers for targets ---- */

/* Comment in shell and TOML on values that are written though the layout does not decide them. */
#define EXPORT_OWN_RATES                                                                         \
    "# Learning rates, weight decay and step count are the scenario's or defaults: choose your " \
    "own; "                                                                                      \
    "the layout does not depend on them.\n"

/* Begins a comment with options of the scenario for which the other system has none: import reads
 * them (training/remarks.c). */
#define EXPORT_REMARK "# shardsim: "

/* Add a number in the fewest digits that read back as an equal number. */
void export_add_number(struct text *out, double value);

/* Add the line "# SCENARIO, STRATEGY: the model in words".  It comes after two other lines, because
 * a comment in the first two lines may be read as Python's encoding (PEP 263) or a shell's
 * interpreter. */
void export_add_title(struct text *out, const struct export_layout *layout);

/* Python: "MESH = {"dp": 2, "tp": 4}", and "(128, 512)", "(8,)", "()". */
void export_add_mesh(struct text *out, const struct shd_mesh *mesh);
void export_add_shape(struct text *out, const int64_t *shape, uint32_t rank);

/* Python: the key of an entry, "    'x': ", and the whole entry of a leaf's shape on one device. */
void export_add_key(struct text *out, const char *name);
void export_add_shard(struct text *out, const struct export_layout *layout, uint32_t node);

/* Whether a node is a parameter (`op` GRAPH_PARAM), or an input of the forward phase
 * (GRAPH_INPUT). */
bool export_is_leaf(const struct graph_node *node, enum graph_op op);

/* Refuse types of gradients, moments and sums that the other system has no option for: with a
 * 16-bit type, its gradients, moments and sums are all float32.  SHD_EUNSUPPORTED. */
SHD_MUST_CHECK int export_check_types(const struct scenario *scenario, const char *system,
                                      struct shd_error *err);

/* The axes of one dimension: "dp", ("x", "y"), None. */
void export_add_axes(struct text *out, const struct shd_mesh *mesh, const struct shd_dim_axes *dim);

/* Add "P('dp', None, ('x', 'y'))", without trailing None's; NULL: "P()". */
void export_add_spec(struct text *out, const struct shd_sharding *sharding);

/* The asked sharding of a parameter or input; NULL: replicated. */
const struct shd_sharding *export_sharding(const struct export_layout *layout, uint32_t node);

/* SHD_EUNSUPPORTED if a parameter is kept in pieces (shd/sharding.h), which `what` cannot
 * express. */
SHD_MUST_CHECK int export_check_pieces(const struct export_layout *layout, const char *what,
                                       struct shd_error *err);

/* Whether the step computes the gradient of a node, as an output or to update a parameter. */
bool export_wants_gradient(const struct graph *graph, uint32_t node);

#endif /* EXPORT_EXPORT_H */
