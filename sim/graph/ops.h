/* ops.h - what is true of each op of a graph: one row an op, which all readers ask.
 *
 * A row ends the op's file in ops/, behind what builds its nodes; GRAPH_OPS (graph.h) lists the
 * ops. partition/rules/ has the op's second row, by the same list: how it may be cut, and its
 * kernel, which is a row of kern/ (flops, bytes, rounding errors).
 *
 * Thread class: immutable data and pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_OPS_H
#define GRAPH_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/graph.h"

struct padding; /* ops/padding.h */
struct reverse; /* ops/reverse.h */
struct text;    /* base/text.h */

/* The value in an array's padding along one dimension. */
struct within {
    bool known;
    double value;
};

struct graph_op_row {
    const char *name; /* for messages */
    /* Of operands in floating point: ids, positions and counts are as they are.  GRAPH_MAP is as
     * its function is, GRAPH_REDUCE as its reduction, and nothing that is filled with another
     * number than 0 is linear (graph_linearity()). */
    enum kern_linear linear;
    /* Linear in all operands together, and the result is not much larger: partial sums over devices
     * pass the op, and are combined after it. */
    bool passes_sums;
    bool flat;  /* elements meet only in a sum of all: arrays may be cut flat (shd/sharding.h) */
    bool unpacks; /* the result takes more bytes than what is unpacked: gathers are of that, and the
                     backward phase unpacks again instead of keeping it */
    bool heavy; /* takes much longer to compute than to read its operands */
    /* Add what the adjoint of a node contributes to those of its operands.  NULL: the op has no
     * derivative. */
    void (*reverse)(struct reverse *r, uint32_t node, uint32_t adjoint);
    /* Overwrite operands' padding where the op requires it, and refuse padding where that does not
     * help.  NULL: any padding will do. */
    void (*need)(struct padding *p, struct graph_node *n);
    /* The padding along dimension `d` of the result.  NULL: unknown. */
    struct within (*made)(const struct padding *p, const struct graph_node *n, uint32_t d);
    /* Append the op as JAX computes it, where `$0` is operand 0, `$a` and `$b` are operands 0 and 1
     * with the dimensions of the result, `$A` and `$B` the letters of operands' dimensions and `$R`
     * of the result's, `$s` the scalar, and `$G` the sharding of groups of tokens.  NULL: only
     * gradients have the op, which JAX derives itself. */
    void (*jax)(struct text *out, const struct graph *graph, const struct graph_node *n);
};

const struct graph_op_row *graph_op(enum graph_op op);

/* Whether a node is a parameter, or what is unpacked of its codes. */
bool graph_is_weight(const struct graph *graph, uint32_t node);

/* In which floating-point operands a node is linear. */
enum kern_linear graph_linearity(const struct graph_node *node);

/* Whether a node is linear in operand `k` while the others stay as they are, or change alike if it
 * is linear in all: so that partial sums of the operand may give partial sums of the result. */
bool graph_is_linear(const struct graph *graph, const struct graph_node *node, uint32_t k);

/* Rows, in ops/. */
#define GRAPH_OP_DECLARED(op, called) extern const struct graph_op_row graph_op_##called;
GRAPH_OPS(GRAPH_OP_DECLARED)
#undef GRAPH_OP_DECLARED

#endif /* GRAPH_OPS_H */
