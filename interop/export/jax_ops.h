/* jax_ops.h - expressions of JAX for the nodes of a graph; for jax.c.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXPORT_JAX_OPS_H
#define EXPORT_JAX_OPS_H

#include <stdint.h>

#include <shd/error.h>

#include "base/text.h"
#include "export/export.h"

/* Most dimensions of a graph: einsum's notation has a letter for each. */
#define JAX_DIMS_MAX 52

/* Add the variable of a node's value: the node's name, as Python accepts it, and number. */
void jax_add_variable(struct text *out, const struct graph *graph, uint32_t node);

/* Add a node's expression, in a graph of at most JAX_DIMS_MAX dimensions.  SHD_EUNSUPPORTED: the op
 * has no code. */
SHD_MUST_CHECK int jax_add_expression(struct text *out, const struct export_layout *layout,
                                      uint32_t node, struct shd_error *err);

#endif /* EXPORT_JAX_OPS_H */
