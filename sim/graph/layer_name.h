/* layer_name.h - which layer of a model a name is of.
 *
 * A layer is what names say up to a part that is "layers" and its number, parts being divided by
 * '/' or '.': "layers/3/mlp/up" is of layer 3, "encoder.layers.3.mlp" of layer 3 of another stack.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_LAYER_NAME_H
#define GRAPH_LAYER_NAME_H

#include <stddef.h>
#include <stdint.h>

#define GRAPH_NO_LAYER UINT32_MAX

struct graph_layer {
    const char *stack; /* what stands before the number: so many bytes, not ended */
    size_t stack_length;
    uint32_t number; /* GRAPH_NO_LAYER: the name is of none */
};

/* Points into the name. */
struct graph_layer graph_layer_of(const char *name);

#endif /* GRAPH_LAYER_NAME_H */
