/* The families of ops on layout systems (layout_ops.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "layouts/query/layout_ops.h"

const struct query_op *const layout_ops[] = {
    query_easydel_ops,
    query_eformer_analyze_ops,
    query_eformer_auto_ops,
    query_eformer_axes_ops,
    query_eformer_extract_ops,
    query_eformer_match_ops,
    query_eformer_mesh_ops,
    query_eformer_partition_axis_ops,
    query_groups_ops,
    query_rank_order_ops,
    query_regex_ops,
    query_sharding_ops,
    query_split_ops,
    query_t5x_chunk_ops,
    query_t5x_mesh_ops,
    query_t5x_ops,
    NULL,
};
