/* reverse.h - interface between the derivatives of ops and the backward walk (graph/gradient.c).
 *
 * A derivative gets a node and its adjoint (d loss / d node, which may lack dimensions of the node)
 * and adds to the adjoints of the operands.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_OPS_REVERSE_H
#define GRAPH_OPS_REVERSE_H

#include "graph/ops.h"

/* The adjoint of a node: zero so far, the constant 1, or a node. */
struct adjoint {
    enum { ADJOINT_ZERO, ADJOINT_ONE, ADJOINT_NODE } is;
    uint32_t node;
    bool wanted;    /* something that a gradient is asked for is among the node's operands, theirs,
                       and so on, or is the node itself */
    bool unpacks;   /* the node's op does (graph/ops.h) */
    uint32_t again; /* a backward node that recomputes the forward node's value, which need not
                       be kept then; 0: none */
};

struct reverse {
    struct graph *graph;
    struct adjoint *adjoints; /* of each forward node */
};

/* Add to the adjoint of a node; GRAPH_NONE (a failed build, or a contribution that is not wanted)
 * adds nothing. */
void reverse_add(struct reverse *r, uint32_t into, uint32_t contribution);

/* Add the constant 1 to the adjoint of a node. */
void reverse_add_one(struct reverse *r, uint32_t into);

/* The adjoint of a node as a node; the constant 1 is written out. */
uint32_t reverse_adjoint(struct reverse *r, uint32_t of);

/* "layers/0/mlp/up" and an operand "layers/0/mlp/up/kernel" -> "layers/0/mlp/up.dkernel" */
const char *reverse_name(struct graph *graph, uint32_t node, uint32_t operand);

/* A node with exactly the dimensions of another, in its order; missing dimensions are broadcast. */
uint32_t reverse_shaped_like(struct graph *graph, uint32_t node, uint32_t like, const char *name);

/* The node that the backward phase reads in place of a forward value. */
uint32_t reverse_value(const struct reverse *r, uint32_t node);

/* The same for an operand of a product; what codes stand for (an op that unpacks) is made again, so
 * that only the codes are kept. */
uint32_t reverse_operand(struct reverse *r, uint32_t node);

/* Sum a contribution over the dimensions of `node` that its operand lacks.  Here and below,
 * GRAPH_NONE for an operand whose adjoint is not wanted. */
uint32_t reverse_sum_to(struct reverse *r, uint32_t contribution, uint32_t node, uint32_t operand);

/* adjoint * factor, summed over all but the operand's dimensions by one op. */
uint32_t reverse_product(struct reverse *r, uint32_t adjoint, uint32_t factor, uint32_t node,
                         uint32_t operand);

/* For an op of an array and ids: the array's gradient, by an op of the ids and the node's gradient
 * that has the same attributes. */
void reverse_by_ids(struct reverse *r, uint32_t node, uint32_t adjoint, enum graph_op op);

/* The same for an op of ids and elements to add up: the elements' gradient, by a look-up. */
void reverse_of_sums(struct reverse *r, uint32_t node, uint32_t adjoint, enum graph_op op);

/* attention_reverse.c */
void reverse_attention(struct reverse *r, uint32_t node, uint32_t adjoint);

#endif /* GRAPH_OPS_REVERSE_H */
