/* layers/adapter.h - an adapter of low rank beside a product (LoRA, arXiv 2106.09685).
 *
 * y = x W becomes y + factor * (x A) B, with A[in, rank] and B[rank, out] where W is [in, out]; any
 * number of dimensions may stand for `in` and for `out`.  Dimensions that x, W and y share, as the
 * experts', are A's and B's too.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_ADAPTER_H
#define GRAPH_LAYERS_ADAPTER_H

#include "graph/graph.h"

/* The shapes of A and B, which follow from a product and its kernel; rank 0: the kernel has no
 * dimension that is summed, or none that is new in the product. */
struct adapter_shape {
    uint32_t a_dims[GRAPH_RANK_MAX], a_rank; /* shared, in, rank */
    uint32_t b_dims[GRAPH_RANK_MAX], b_rank; /* shared, rank, out */
    double inputs;                           /* the product of the sizes of `in` */
};

/* `product` is an einsum or a grouped product of which `kernel` is an operand. */
struct adapter_shape adapter_shape(const struct graph *graph, const struct graph_node *product,
                                   const struct graph_node *kernel, uint32_t rank_dim);

/* Add the adapter's products behind the product `y`, of which operand `k` is the kernel; returns
 * the sum. */
uint32_t layer_adapter(struct graph *graph, uint32_t y, uint32_t k, uint32_t a, uint32_t b,
                       double factor);

#endif /* GRAPH_LAYERS_ADAPTER_H */
