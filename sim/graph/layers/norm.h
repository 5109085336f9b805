/* norm.h - normalisation over one dimension, or over two, as all heads together; if they are
 * sharded, only statistics are communicated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYERS_NORM_H
#define GRAPH_LAYERS_NORM_H

#include "graph/graph.h"

/* x / sqrt(mean(x^2) + eps) * scale, over x's last dimension; scale[embed] may be GRAPH_NONE. */
uint32_t layer_rms_norm(struct graph *graph, const char *name, uint32_t x, uint32_t scale,
                        double eps);

/* (x - mean) / sqrt(var + eps) * scale + bias, var biased; scale and bias may be GRAPH_NONE. */
uint32_t layer_layer_norm(struct graph *graph, const char *name, uint32_t x, uint32_t scale,
                          uint32_t bias, double eps);

/* Nodes of a norm's parameters. */
struct norm_weights {
    bool used;      /* false: no norm, and the other fields are unused */
    bool centred;   /* a layer norm; false: an RMS norm */
    bool one_plus;  /* multiply by 1 + scale */
    bool whole;     /* over x's last two dimensions; false: over the last one */
    uint32_t scale; /* as x's last dimension, or last two; GRAPH_NONE: none */
    uint32_t bias;  /* likewise */
    double eps;
};

/* An RMS norm with a scale, or with GRAPH_NONE without. */
struct norm_weights norm_rms(uint32_t scale, double eps);

uint32_t layer_norm(struct graph *graph, const char *name, uint32_t x,
                    const struct norm_weights *weights);

#endif /* GRAPH_LAYERS_NORM_H */
