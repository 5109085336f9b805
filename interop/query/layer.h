/* layer.h - single layers as graphs, for questions that name their tensors.
 *
 * A kind of layer is a table row: its tensors with their dimensions, and how to combine them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_LAYER_H
#define QUERY_LAYER_H

#include <jansson.h>

#include "graph/graph.h"

#define LAYER_TENSORS_MAX 16 /* maximum operands of a layer; layer_kinds has the rows */

struct layer_tensor {
    const char *name; /* as in the question */
    const char *dims; /* names of its dimensions: "batch seq embed" */
};

/* Whether a tensor is data without a gradient: ct, labels, mask. */
bool layer_is_data(const char *tensor);

/* A kind of layer.  Nodes are indexed by its tensors, GRAPH_NONE for tensors that the question
 * lacks. */
struct layer_kind {
    const char *name;
    const char *optional; /* tensors that may be missing, in addition to data: "b1 b2" */
    const char *attrs;    /* supported attributes, in addition to sizes: "causal rope" */
    struct layer_tensor tensors[LAYER_TENSORS_MAX];
    /* Add the computation and its outputs; all tensors that are not optional are given.  Returns
     * the node for the loss: an array (the loss is the sum of its product with ct) or, of rank 0,
     * the loss itself. */
    uint32_t (*build)(struct graph *graph, const json_t *attrs, const uint32_t *nodes);
};

extern const struct layer_kind layer_kinds[]; /* ended by a row without name */

const struct layer_kind *layer_find(const char *name);

/* The index of a kind's tensor, or -1. */
int layer_tensor_find(const struct layer_kind *kind, const char *name);

/* The node of the tensor `name` in `nodes`; GRAPH_NONE if the kind or the question lacks it. */
uint32_t layer_node(const struct layer_kind *kind, const uint32_t *nodes, const char *name);

/* Read the content of a tensor: {"seed", "scale", "offset"}.  SHD_ETYPE, SHD_ERANGE. */
SHD_MUST_CHECK int layer_read_source(struct kern_source *out, const json_t *tensor,
                                     struct shd_error *err);

/* Add a leaf for a tensor with `rank` extents; the kind names its dimensions. x and data are
 * inputs, all others parameters.  Errors stay in the graph. */
uint32_t layer_add_tensor(struct graph *graph, const struct layer_kind *kind, int tensor,
                          enum shd_dtype dtype, const int64_t *shape, size_t rank,
                          struct kern_source source);

/* SHD_EINVAL if a question has something unknown to the kind: an attribute, a tensor, a spec. */
SHD_MUST_CHECK int layer_check_names(const struct layer_kind *kind, const json_t *in,
                                     struct shd_error *err);

/* Check that sizes given beside the tensors ("d_model": 64) equal those of the tensors; otherwise
 * an error in the graph. */
void layer_check_sizes(struct graph *graph, const json_t *sizes);

/* The node from the kind's build(); or GRAPH_NONE and an error in the graph, if a tensor is missing
 * or the tensors do not fit. */
uint32_t layer_build(struct graph *graph, const struct layer_kind *kind, const json_t *attrs,
                     const uint32_t *nodes);

/* Add the loss of the node from layer_build(), and the gradient of every tensor but data as
 * outputs. */
void layer_add_gradients(struct graph *graph, const struct layer_kind *kind, uint32_t result,
                         const uint32_t *nodes);

#endif /* QUERY_LAYER_H */
