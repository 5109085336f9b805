/* layout_ops.h - the ops of the layout systems: questions about them and about shardings, which
 * need no simulation.
 *
 * A family of ops is one file with its own table; layout_ops.c lists the families, and query
 * forwards to that list.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef LAYOUTS_QUERY_LAYOUT_OPS_H
#define LAYOUTS_QUERY_LAYOUT_OPS_H

#include "question/op.h"

/* All families; NULL after the last. */
extern const struct query_op *const layout_ops[];

/* Families, each ended by a row without name. */
extern const struct query_op query_easydel_ops[];
extern const struct query_op query_eformer_analyze_ops[];
extern const struct query_op query_eformer_auto_ops[];
extern const struct query_op query_eformer_axes_ops[];
extern const struct query_op query_eformer_extract_ops[];
extern const struct query_op query_eformer_match_ops[];
extern const struct query_op query_eformer_mesh_ops[];
extern const struct query_op query_eformer_partition_axis_ops[];
extern const struct query_op query_groups_ops[];
extern const struct query_op query_rank_order_ops[];
extern const struct query_op query_regex_ops[];
extern const struct query_op query_sharding_ops[];
extern const struct query_op query_split_ops[];
extern const struct query_op query_t5x_chunk_ops[];
extern const struct query_op query_t5x_mesh_ops[];
extern const struct query_op query_t5x_ops[];

#endif /* LAYOUTS_QUERY_LAYOUT_OPS_H */
