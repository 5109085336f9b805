/* scenario/types.h - the types of values, for the table of options.
 *
 * Thread class: immutable data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_TYPES_H
#define SCENARIO_TYPES_H

#include "scenario/option.h"

/* scalar.c: one field of struct scenario, at the option's offset. */
extern const struct value_type value_name;   /* char *, owned */
extern const struct value_type value_int;    /* int64_t or uint64_t, in min..max */
extern const struct value_type value_number; /* double, above 0 and at most max; null is 0 */
extern const struct value_type value_amount; /* double, 0 to max */
extern const struct value_type value_axis;   /* char *, owned: a mesh axis; null is NULL */
extern const struct value_type value_axis_list; /* struct scenario_axis_list: one, several, none */
extern const struct value_type value_bool;
extern const struct value_type value_memory; /* struct scenario_memory_limit; null is none */
extern const struct value_type value_rate;  /* uint64_t bytes a second, at least 1 */
extern const struct value_type value_time;  /* int64_t ns */
extern const struct value_type value_word;  /* an enum: the position in `words` */

extern const struct value_type value_mesh;                      /* mesh_value.c */
extern const struct value_type value_axes;                      /* logical_values.c */
extern const struct value_type value_partition_axis;            /* partition_axis_value.c */
extern const struct value_type value_params, value_constraints; /* rule_values.c */
extern const struct value_type value_step, value_algorithms;    /* step_values.c */
extern const struct value_type value_rope;                      /* rope_value.c */
extern const struct value_type value_layer_types;               /* layer_types_value.c */
extern const struct value_type value_betas, value_coefficients; /* betas.c */
extern const struct value_type value_layers, value_places;      /* stage_values.c */
extern const struct value_type value_recompute;                 /* recompute_value.c */
extern const struct value_type value_patterns; /* patterns_value.c: struct scenario_patterns */
extern const struct value_type value_values; /* values_value.c: struct scenario_values */
extern const struct value_type value_reshard;                   /* reshard_value.c: int64_t */
extern const struct value_type value_documents;                 /* documents.c */
extern const struct value_type value_size;     /* published.c: int64_t, a row of its table */
extern const struct value_type value_fraction; /* fraction.c: double, above 0 to 1 */
extern const struct value_type value_cluster;  /* path_values.c: char *, owned: a name or path */
extern const struct value_type value_file; /* path_values.c: char *, owned: a path; null is NULL */
extern const struct value_type value_dims, value_ops, value_outputs; /* graph_values.c */
extern const struct value_type value_arrays; /* graph_values.c: struct scenario_arrays */

#endif /* SCENARIO_TYPES_H */
