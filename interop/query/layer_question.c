/* State of a question about a layer (layer_question.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/layer_question.h"

#include <stdlib.h>

#include "partition/partition.h"
#include "question/read_field.h"

int layer_question_begin(struct layer_question *q, const struct layer_kind *kind,
                         struct shd_error *err)
{
    q->kind = kind;
    for (int t = 0; t < LAYER_TENSORS_MAX; t++)
        q->tensors[t] = GRAPH_NONE;
    q->graph = graph_create();
    return q->graph ? SHD_OK : shd_error_set(err, SHD_ENOMEM, "no memory for the graph");
}

int layer_question_end(struct layer_question *q, struct shd_error *err)
{
    q->shardings = calloc((size_t)q->graph->nnodes + 1, sizeof *q->shardings);
    q->nodes = calloc((size_t)q->graph->nnodes + 1, sizeof *q->nodes);
    q->outputs = calloc((size_t)q->graph->noutputs + 1, sizeof *q->outputs);
    if (!q->shardings || !q->nodes || !q->outputs)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the shardings");
    return SHD_OK;
}

int layer_question_bind(struct layer_question *q, uint32_t node, const json_t *spec,
                        struct shd_error *err)
{
    int64_t shape[GRAPH_RANK_MAX];
    int status;

    if (!spec || node == GRAPH_NONE)
        return SHD_OK;
    graph_shape(q->graph, node, shape);
    status = read_sharding_value(&q->shardings[node], spec, q->mesh, shape,
                                 q->graph->nodes[node].rank, err);
    if (status == SHD_OK)
        q->nodes[node] = &q->shardings[node];
    return status;
}

int layer_question_partition(struct layer_question *q, struct shd_error *err)
{
    const struct partition_request request = {
        .graph = q->graph,
        .mesh = q->mesh,
        .nodes = q->nodes,
        .outputs = q->outputs,
        .placement = q->placement,
    };

    return partition_build(&q->program, &request, err);
}

void layer_question_fini(struct layer_question *q)
{
    program_destroy(q->program);
    free(q->shardings);
    free(q->nodes);
    free(q->outputs);
    shd_mesh_destroy(q->mesh);
    graph_destroy(q->graph);
}
