/* layers/quantized.h - kernels stored in 8 or 4 bits: codes and scales in the place of a parameter.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_QUANTIZED_H
#define GRAPH_LAYERS_QUANTIZED_H

#include "graph/graph.h"

/* Inputs of a block of NF4, and at most so many scales that share a factor; QLoRA's numbers. */
#define QUANTIZED_BLOCK 64
#define QUANTIZED_SCALES 256

/* The parameters that stand for a kernel; GRAPH_NONE: not with these bits. */
struct quantized {
    uint32_t codes;
    uint32_t scales;  /* or their codes, if there are factors */
    uint32_t factors; /* of the scales' codes */
    uint32_t mean;    /* of the scales */
};

/* Add what stands for a kernel, a leaf of a graph_rebuild(), in NF4 or else 8 bits.  The codes have
 * the kernel's name; scales are NAME/absmax, or their codes, then with the factors
 * NAME/absmax/absmax and the mean NAME/absmax/mean.  `inputs`: bit d for the kernel's dimension d
 * that products sum over.  An error in the graph (SHD_EINDIVISIBLE) if blocks do not divide these.
 */
struct quantized quantized_add(struct graph *graph, bool nf4, const struct graph_node *kernel,
                               uint32_t inputs);

/* Add the ops that make the kernel for one product. */
uint32_t quantized_read(struct graph *graph, const struct graph_node *kernel,
                        const struct quantized *parts);

#endif /* GRAPH_LAYERS_QUANTIZED_H */
