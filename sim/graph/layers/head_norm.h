/* head_norm.h - norms of queries and keys[batch, seq, heads, head_dim]: of each head by itself, or
 * of all heads together; if heads are sharded then, only statistics are communicated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_HEAD_NORM_H
#define GRAPH_LAYERS_HEAD_NORM_H

#include "graph/graph.h"

struct head_norm {
    bool whole;           /* all heads together; false: each head */
    bool centred;         /* a layer norm; false: an RMS norm */
    bool one_plus;        /* multiplies by 1 + scale */
    uint32_t scale, bias; /* [head_dim] or [heads, head_dim], or GRAPH_NONE: none */
    double eps;
};

/* x[batch, seq, heads, head_dim] normalised. */
uint32_t layer_head_norm(struct graph *graph, const char *name, uint32_t x,
                         const struct head_norm *norm);

#endif /* GRAPH_LAYERS_HEAD_NORM_H */
