/* products.h - products of 8 or 4 bits: operands are rounded to codes with scales before they are
 * multiplied (kern/coded.h).
 *
 * A pass over a graph that has its gradients: each chosen product y = x w of the forward phase, and
 * the products of its gradient, dx = dy w and dw = dy x, read codes in place of arrays.  So the
 * gradient is that of products that are not rounded, as in all training in FP8.  An array that
 * several products round alike is rounded once; what the backward phase rereads is kept as codes.
 *
 * Thread class: as graph.h, which is changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_PRODUCTS_H
#define GRAPH_PRODUCTS_H

#include "graph/graph.h"

enum products_recipe {
    PRODUCTS_TENSORWISE, /* a scale for each array */
    PRODUCTS_ROWWISE,    /* for each row: an index of the dimensions that are not summed over */
    PRODUCTS_BLOCKWISE,  /* for 1 x `block` elements, of weights `block` x `block`
                            (DeepSeek-V3, arXiv 2412.19437) */
    PRODUCTS_MXFP8,      /* for `block` elements, a power of two */
    PRODUCTS_NVFP4,      /* for `block` elements in e4m3, and as tensorwise; codes of 4 bits */
};

struct products_opts {
    enum products_recipe recipe;
    enum shd_dtype code, gradients; /* of weights and activations, and of gradients */
    int64_t block; /* elements along the innermost dimension summed over; a shorter dimension is
                      one block */
    bool dispatch; /* rows go to experts as codes; needs blocks along their width */
    bool gathers;  /* weights are quantized shard by shard before the gather; else each phase
                      quantizes the gathered weight (attr.constraint.gathered) */
    /* Into how many parts, each with magnitudes of its own, a dimension of data is cut, by
     * dimension, and of a weight, by node and place: the devices' shards, so that no magnitude
     * needs elements of another device.  0 and 1: uncut; NULL: no array is.  Not owned. */
    const int64_t *data_parts;
    const int64_t (*weight_parts)[GRAPH_RANK_MAX];
    uint32_t ndims;   /* that data_parts has */
    bool padded;      /* dimensions that their parts do not divide are padded after the rounding,
                         which parts with magnitudes of their own do not allow */
    bool stored;      /* weights that only products read are stored as codes and their magnitudes,
                         parameters in their place: of a model that is served, not learned */
    bool frozen;      /* as `stored`, for frozen weights */
    bool known;       /* the magnitudes of data, one for each array, were found before and are kept
                         beside the weights */
    bool keeps_codes; /* an array of the forward phase that the backward phase rounds otherwise is
                         rounded in the forward phase for both, and not kept itself */
};

/* What products_round() rounds a product's operands as: the product's weight is inputs[weight]. */
struct products_chosen {
    uint32_t node;   /* a GRAPH_EINSUM or GRAPH_GROUPED of the forward phase */
    uint32_t weight; /* 0 or 1 */
};

/* Round the operands of chosen products and of their gradients' products.  Renumbers nodes; errors
 * stay in the graph: SHD_EINDIVISIBLE where blocks do not divide a dimension. */
void products_round(struct graph *graph, const struct products_chosen *chosen, uint32_t nchosen,
                    const struct products_opts *opts);

#endif /* GRAPH_PRODUCTS_H */
