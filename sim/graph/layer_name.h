/* layer_name.h - the layer of a model that a name belongs to.
 *
 * A layer's name ends in a component "layers" and a number, with components separated by '/' or
 * '.': "layers/3/mlp/up" belongs to layer 3, "encoder.layers.3.mlp" to layer 3 of another stack.
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
    const char *stack; /* the text before the number, `stack_length` bytes, not NUL-terminated */
    size_t stack_length;
    uint32_t number; /* GRAPH_NO_LAYER: the name belongs to no layer */
};

/* The result points into the name. */
struct graph_layer graph_layer_of(const char *name);

#endif /* GRAPH_LAYER_NAME_H */
