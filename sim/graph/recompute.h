/* recompute.h - activations that the backward phase computes again instead of keeping them.
 *
 * A pass over a graph that has its gradients: forward values that are marked are cloned into the
 * backward phase, just before what reads them there, from values that are not marked.  So they need
 * not live from one phase to the other; which memory that saves, and which work and transfers are
 * done twice, follows from the program.
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
    RECOMPUTE_SELECTIVE, /* attention, from its queries, keys and values (arXiv 2205.05198): where
                            it is written out, its scores and what is made of them */
    RECOMPUTE_FULL,      /* all that is inside a layer, from what the layer before gave */
    RECOMPUTE_NKINDS
};

/* Of which layers.  They are taken in groups of `group`, from layer 0 on; of each `every`-th group,
 * up to layer `first` - 1.  RECOMPUTE_FULL keeps nothing between the layers of a group.  Megatron's
 * --recompute-method uniform is `group`, block is `first`.  All are at least 1. */
struct recompute_layers {
    uint32_t group, every, first;
};

#define RECOMPUTE_ALL_LAYERS \
    {                        \
        1, 1, UINT32_MAX     \
    }

/* "none", "selective", "full"; NULL beyond. */
const char *recompute_name(enum recompute kind);
int recompute_find(const char *name); /* -1: there is none of that name */

/* Mark the forward values of a kind in again[node].  Names say the layer: graph/layer_name.h. */
void recompute_mark(bool *again, const struct graph *graph, enum recompute kind,
                    const struct recompute_layers *layers);

/* Which forward values are computed again as soon as one of them is, marked or not: a number by
 * node that those have in common, GRAPH_NONE for those that are alone.  With RECOMPUTE_FULL it is
 * all of a group of layers, with its last product though nobody reads that again; with
 * RECOMPUTE_SELECTIVE all of an attention.  `again` is as recompute_mark() left it. */
void recompute_together(uint32_t *together, const bool *again, const struct graph *graph,
                        enum recompute kind, const struct recompute_layers *layers);

/* Clone what is marked: forward values that are computed, the results of an op all or none; and
 * what is done together with these (`together` may be NULL: nothing).  Nodes get other numbers;
 * errors stay in the graph. */
void recompute_clone(struct graph *graph, const bool *again, const uint32_t *together);

/* Mark and clone. */
void recompute_add(struct graph *graph, enum recompute kind, const struct recompute_layers *layers);

#endif /* GRAPH_RECOMPUTE_H */
