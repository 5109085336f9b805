/* jax_ops.h - what a node computes, as an expression of JAX; for jax.c.
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

/* A letter for each dimension of a graph, in einsum's notation. */
#define JAX_DIMS_MAX 52

/* The variable that holds a node's value: its name, as Python takes it, and its number. */
void jax_add_variable(struct text *out, const struct graph *graph, uint32_t node);

/* Of a graph of at most JAX_DIMS_MAX dimensions.  SHD_EUNSUPPORTED: there is no code for the op. */
SHD_MUST_CHECK int jax_add_expression(struct text *out, const struct export_layout *layout,
                                      uint32_t node, struct shd_error *err);

#endif /* EXPORT_JAX_OPS_H */
