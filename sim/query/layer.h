/* layer.h - a single layer as a graph, for questions that name its tensors.
 *
 * A kind of layer is a row: its tensors with the dimensions of each, and how they are put together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_LAYER_H
#define QUERY_LAYER_H

#include <jansson.h>

#include "graph/graph.h"

#define LAYER_TENSORS_MAX 16 /* operands of a layer, at most; layer_kinds has the rows */

struct layer_tensor {
    const char *name; /* as in the question */
    const char *dims; /* names of its dimensions: "batch seq embed" */
};

/* Whether a tensor is data that no gradient is taken of: ct, labels, mask. */
bool layer_is_data(const char *tensor);

/* Nodes by the kind's tensors, GRAPH_NONE for those that the question does not bring. */
struct layer_kind {
    const char *name;
    const char *optional; /* tensors that it can do without, beside data: "b1 b2" */
    const char *attrs;    /* attributes that it heeds, beside sizes: "causal rope" */
    struct layer_tensor tensors[LAYER_TENSORS_MAX];
    /* Add the computation and its outputs, all tensors that are not optional given; returns what
     * the loss is taken of: an array (the loss is its product with ct, summed) or, of rank 0, the
     * loss itself. */
    uint32_t (*build)(struct graph *graph, const json_t *attrs, const uint32_t *nodes);
};

extern const struct layer_kind layer_kinds[]; /* ended by a row without name */

const struct layer_kind *layer_find(const char *name);

/* Number of a tensor of the kind, or -1. */
int layer_tensor_find(const struct layer_kind *kind, const char *name);

/* Node of the tensor `name` among `nodes`; GRAPH_NONE when the kind or question has none. */
uint32_t layer_node(const struct layer_kind *kind, const uint32_t *nodes, const char *name);

/* Add a leaf for a tensor of `rank` extents, dimensions named by the kind.  x and data are inputs,
 * all others parameters.  Errors stay in the graph. */
uint32_t layer_add_tensor(struct graph *graph, const struct layer_kind *kind, int tensor,
                          enum shd_dtype dtype, const int64_t *shape, size_t rank,
                          struct kern_source source);

/* SHD_EINVAL: a question has what the kind does not heed: an attribute, a tensor, a spec. */
SHD_MUST_CHECK int layer_check_names(const struct layer_kind *kind, const json_t *in,
                                     struct shd_error *err);

/* Sizes that are given beside the tensors ("d_model": 64) must be those that these have; else an
 * error in the graph. */
void layer_check_sizes(struct graph *graph, const json_t *sizes);

/* What a kind's build() returns, or GRAPH_NONE and an error in the graph: a tensor is missing, or
 * they do not fit each other. */
uint32_t layer_build(struct graph *graph, const struct layer_kind *kind, const json_t *attrs,
                     const uint32_t *nodes);

/* The loss of what layer_build() returned, and the gradient of every tensor but data as outputs. */
void layer_add_gradients(struct graph *graph, const struct layer_kind *kind, uint32_t result,
                         const uint32_t *nodes);

#endif /* QUERY_LAYER_H */
