/* recompute.h - activation recomputation: the backward phase recomputes activations instead of
 * keeping them.
 *
 * A pass over a graph that has its gradients: marked forward values are cloned into the backward
 * phase, just before their readers, from values that are not marked.  So marked values need not
 * live from one phase to the other; which memory is saved, and which work and transfers are
 * repeated, follows from the program.
 *
 * Thread class: as graph.h, which is changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_RECOMPUTE_H
#define GRAPH_RECOMPUTE_H

#include "graph/graph.h"

enum recompute {
    RECOMPUTE_NONE,
    RECOMPUTE_SELECTIVE, /* attention, from its queries, keys and values (arXiv 2205.05198); if
                            unfused, its scores and everything made from them */
    RECOMPUTE_FULL,      /* everything inside a layer, from the layer's input */
    RECOMPUTE_NKINDS
};

/* The layers to recompute, in groups of `group` from layer 0 on; of each `every` groups the one at
 * `offset`, up to layer `first` - 1.  RECOMPUTE_FULL keeps no values between layers of a group.
 * Megatron's --recompute-method uniform is `group`, block is `first`, both counted in each stage.
 * group, every and first are at least 1, offset is less than `every`. */
struct recompute_layers {
    uint32_t group, every, first, offset;
    const uint32_t *start; /* by node: the number of the layer from which its layer is counted, as
                              recompute_find_starts() has it; NULL: layer 0 */
};

#define RECOMPUTE_ALL_LAYERS      \
    {                             \
        1, 1, UINT32_MAX, 0, NULL \
    }

/* Find the first layer of each node's stage, of the node's own stack. */
void recompute_find_starts(uint32_t *start, const struct graph *graph);

/* "none", "selective", "full"; NULL beyond. */
const char *recompute_name(enum recompute kind);
int recompute_find(const char *name); /* -1: unknown name */

/* Mark in again[node] the forward values to recompute.  Names tell the layer:
 * graph/layer_name.h. */
void recompute_mark(bool *again, const struct graph *graph, enum recompute kind,
                    const struct recompute_layers *layers);

/* Group forward values of which all are recomputed if one is, marked or not: a common number by
 * node, GRAPH_NONE for ungrouped nodes.  With RECOMPUTE_FULL a group is a group of layers,
 * including its last product, which is not read again; with RECOMPUTE_SELECTIVE it is an attention.
 * `again` is as recompute_mark() left it. */
void recompute_together(uint32_t *together, const bool *again, const struct graph *graph,
                        enum recompute kind, const struct recompute_layers *layers);

/* Whether the layer of a node is among the layers; values outside of layers are. */
bool recompute_is_chosen(const struct recompute_layers *layers, const struct graph *graph,
                         uint32_t node);

/* Group consecutive marked values of a layer: a group is recomputed as one part of the layer. */
void recompute_join(uint32_t *together, const bool *again, const struct graph *graph,
                    const struct recompute_layers *layers);

/* Clone marked forward values (of an op all results or none), and values grouped with them
 * (`together` may be NULL: no groups).  Results of `held` nodes (NULL: none) that the backward
 * phase does not read are freed only when their layer is computed again.  Renumbers nodes; errors
 * stay in the graph. */
void recompute_clone(struct graph *graph, const bool *again, const uint32_t *together,
                     const bool *held);

/* Mark and clone. */
void recompute_add(struct graph *graph, enum recompute kind, const struct recompute_layers *layers);

#endif /* GRAPH_RECOMPUTE_H */
