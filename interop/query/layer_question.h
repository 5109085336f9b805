/* layer_question.h - state of a question about a layer: its graph, requested shardings, its
 * program.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_LAYER_QUESTION_H
#define QUERY_LAYER_QUESTION_H

#include <jansson.h>

#include <shd/mesh.h>
#include <shd/sharding.h>

#include "partition/partition.h"
#include "program/program.h"
#include "query/layer.h"

/* Zero-initialised it is empty; layer_question_fini() may be called at any time. */
struct layer_question {
    const struct layer_kind *kind;
    struct graph *graph;
    uint32_t tensors[LAYER_TENSORS_MAX]; /* nodes by tensor of the kind, or GRAPH_NONE */
    struct shd_mesh *mesh;
    struct shd_sharding *shardings;      /* by node: storage of requests */
    const struct shd_sharding **nodes;   /* by node; NULL: no request */
    const struct shd_sharding **outputs; /* by output of the graph; NULL: no request */
    enum partition_placement placement;
    struct program *program;
};

/* Start an empty graph for a layer of a kind, with placement by search.  SHD_ENOMEM. */
SHD_MUST_CHECK int layer_question_begin(struct layer_question *q, const struct layer_kind *kind,
                                        struct shd_error *err);

/* Complete the graph and allocate shardings.  SHD_ENOMEM. */
SHD_MUST_CHECK int layer_question_end(struct layer_question *q, struct shd_error *err);

/* Request the sharding of a node by its spec; no request if node or spec is missing. */
SHD_MUST_CHECK int layer_question_bind(struct layer_question *q, uint32_t node, const json_t *spec,
                                       struct shd_error *err);

/* Partition the graph on the mesh according to the requests. */
SHD_MUST_CHECK int layer_question_partition(struct layer_question *q, struct shd_error *err);

void layer_question_fini(struct layer_question *q);

#endif /* QUERY_LAYER_QUESTION_H */
