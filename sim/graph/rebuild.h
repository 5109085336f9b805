/* rebuild.h - a pass that makes a graph again, node by node, with other nodes beside or instead of
 * some.
 *
 * Thread class: as graph.h, which is changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_REBUILD_H
#define GRAPH_REBUILD_H

#include "graph/graph.h"

/* Make one node again: `old` is its number before the pass, `node` the node itself with its
 * operands as they are numbered now.  It adds what it wants, mostly graph_rebuild_copy(), and
 * returns the node that readers of the old one now read.  A node with further results is only to be
 * copied. */
typedef uint32_t (*graph_rebuild_fn)(void *arg, struct graph *graph, uint32_t old,
                                     const struct graph_node *node);

/* Make all nodes again in their order, and renumber what nodes and outputs say of others.  The old
 * nodes stay where they are until all are made.  Errors stay in the graph. */
void graph_rebuild(struct graph *graph, graph_rebuild_fn make, void *arg);

/* Number what nodes and outputs say of other nodes as `moved` does, beside operands: `nodes` are
 * the `n` old ones, the graph has the new ones. */
void graph_rebuild_renumber(struct graph *graph, const struct graph_node *nodes, uint32_t n,
                            const uint32_t *moved);

/* Add a node that was in the graph before the pass, under its own name. */
uint32_t graph_rebuild_copy(struct graph *graph, const struct graph_node *node);

#endif /* GRAPH_REBUILD_H */
