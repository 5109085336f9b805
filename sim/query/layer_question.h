/* layer_question.h - what questions about a layer make: its graph, shardings asked for, a program.
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

/* Zeroed it holds nothing; free what it holds with layer_question_fini() at any time. */
struct layer_question {
    const struct layer_kind *kind;
    struct graph *graph;
    uint32_t tensors[LAYER_TENSORS_MAX]; /* nodes by tensor of the kind, or GRAPH_NONE */
    struct shd_mesh *mesh;
    struct shd_sharding *shardings;      /* by node: what is asked for */
    const struct shd_sharding **nodes;   /* by node; NULL: nothing is */
    const struct shd_sharding **outputs; /* by output of the graph; the same */
    enum partition_placement placement;
    struct program *program;
};

/* An empty graph for a layer of a kind, to be placed by search.  SHD_ENOMEM. */
SHD_MUST_CHECK int layer_question_begin(struct layer_question *q, const struct layer_kind *kind,
                                        struct shd_error *err);

/* The graph is complete: room for shardings.  SHD_ENOMEM. */
SHD_MUST_CHECK int layer_question_end(struct layer_question *q, struct shd_error *err);

/* Ask for the sharding of a node by its spec; where either is missing nothing is asked. */
SHD_MUST_CHECK int layer_question_bind(struct layer_question *q, uint32_t node, const json_t *spec,
                                       struct shd_error *err);

/* The program, of what is asked for on the mesh. */
SHD_MUST_CHECK int layer_question_partition(struct layer_question *q, struct shd_error *err);

void layer_question_fini(struct layer_question *q);

#endif /* QUERY_LAYER_QUESTION_H */
