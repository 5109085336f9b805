/* layers/quantized.h - kernels stored in 8 or 4 bits: codes and scales in the place of a parameter.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_QUANTIZED_H
#define GRAPH_LAYERS_QUANTIZED_H

#include "graph/graph.h"

/* At most so many scales of NF4 share a factor: QLoRA's number. */
#define QUANTIZED_SCALES 256

/* The inputs of a block as systems have them: 64 of NF4 (QLoRA), 128 of INT4 (GPTQ, AWQ), 32 of
 * MXFP4; 0: all of an output, as of INT8. */
int64_t quantized_block(enum kern_quant_type type);

/* The parameters that stand for a kernel; GRAPH_NONE: not with these bits. */
struct quantized {
    uint32_t codes;
    uint32_t scales;  /* or their codes, if there are factors */
    uint32_t factors; /* of the scales' codes */
    uint32_t mean;    /* of the scales */
};

/* Add what stands for a kernel, a leaf of a graph_rebuild(), in blocks of so many inputs (0: all).
 * The codes have the kernel's name; scales are NAME/absmax, or of NF4 their codes, then with the
 * factors NAME/absmax/absmax and the mean NAME/absmax/mean.  `inputs`: bit d for the kernel's
 * dimension d that products sum over.  An error in the graph (SHD_EINDIVISIBLE) if blocks do not
 * divide these. */
struct quantized quantized_add(struct graph *graph, enum kern_quant_type type, int64_t block,
                               const struct graph_node *kernel, uint32_t inputs);

/* Add the ops that make the kernel for one product. */
uint32_t quantized_read(struct graph *graph, enum kern_quant_type type,
                        const struct graph_node *kernel, const struct quantized *parts);

#endif /* GRAPH_LAYERS_QUANTIZED_H */
