/* export/rounding.h - which products a layout rounds to fewer bits, for systems that say so by
 * modules or by layers.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPORT_ROUNDING_H
#define EXPORT_ROUNDING_H

#include <shd/error.h>

#include "graph/graph.h"
#include "scenario/scenario.h"

/* Refuse products of fewer bits that a system does not have: of recipes that are not among
 * `recipes` (bit r: recipe r), or with other scales than the system's.  SHD_EUNSUPPORTED. */
SHD_MUST_CHECK int export_check_products(const struct scenario *scenario, const char *system,
                                         unsigned recipes, struct shd_error *err);

/* Names of products of a group, each the first of its sort; NULL: there is none. */
struct export_rounding {
    const char *rounded, *wide; /* owned by the graph */
};

/* Sort the products of a graph into `ngroups` groups: a product is of the first whose pattern is
 * found in its name.  SHD_ENOMEM. */
SHD_MUST_CHECK int export_find_rounding(struct export_rounding *out, const struct graph *graph,
                                        const struct scenario_rule *groups, size_t ngroups,
                                        struct shd_error *err);

/* Refuse groups with products of both sorts.  SHD_EUNSUPPORTED. */
SHD_MUST_CHECK int export_check_even(const struct export_rounding *rounding, size_t ngroups,
                                     const char *system, struct shd_error *err);

/* How many of the first and last layers are not rounded.  Refuses what Megatron-LM cannot say:
 * other products of 16 bits than those layers', the head's and routers'.
 * SHD_EUNSUPPORTED, SHD_ENOMEM. */
SHD_MUST_CHECK int export_find_wide_ends(int64_t *first, int64_t *last, const struct graph *graph,
                                         int64_t layers, const char *system, struct shd_error *err);

#endif /* EXPORT_ROUNDING_H */
