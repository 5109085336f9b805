/* padding.h - interface between the padding of ops and the walk over a graph's nodes (graph/pad.c).
 *
 * The value in an array's padding is tracked from the leaves, which are zero there: a known number,
 * or unknown.  An op applied to a known number gives a known number everywhere in the padding, so
 * most padding stays zero by itself: of heads, of hidden layers, of sequences without biases.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_OPS_PADDING_H
#define GRAPH_OPS_PADDING_H

#include "graph/ops.h"

struct padding_row {
    struct within at[GRAPH_RANK_MAX]; /* by dimension; unused for unpadded dimensions */
};

struct padding {
    const struct graph *from;
    struct graph *to;
    uint32_t *moved;  /* by node of `from`: its new number ... */
    uint32_t *result; /* ... and the number that outputs use, with padding overwritten if needed */
    bool *stays;      /* by node of `from`: a state */
    uint32_t *masked; /* by node of `to`: a copy with its padding overwritten; GRAPH_NONE: none */
    struct padding_row *rows; /* by node of `to` */
    uint32_t nrows;           /* capacity of the tables */
    const char *op;           /* name of the op that is padded */
};

extern const struct within padding_unknown;

bool padding_in(const struct padding *p, uint32_t dim); /* whether a dimension is padded */

/* Value in the padding along a dimension; unknown for an array without the dimension. */
struct within padding_within(const struct padding *p, uint32_t node, uint32_t dim);

bool padding_is_zero(struct within w);

/* Append a node unchanged; its padding is unknown so far. */
uint32_t padding_append(struct padding *p, const struct graph_node *node);

/* The node that a reader gets: the copy with padding overwritten, if there is one in the reader's
 * part of the step. */
uint32_t padding_newest(const struct padding *p, uint32_t node, const struct graph_node *reader);

/* Overwrite the padding of a node along a dimension, in the reader's part of the step. */
uint32_t padding_overwrite(struct padding *p, uint32_t node, uint32_t dim, double value,
                           const struct graph_node *reader);

/* ---- for `need` of a row ---- */

/* Make an operand equal `value` in the padding of a dimension, if it has the dimension. */
void padding_want(struct padding *p, struct graph_node *reader, uint32_t k, uint32_t dim,
                  double value);

/* Make an operand equal `value` in the padding of all dimensions that the result lacks. */
void padding_want_summed(struct padding *p, struct graph_node *reader, uint32_t k, double value);

/* Fail if a dimension is padded (GRAPH_NONE never is), or one of the operands' or the result's. */
void padding_refuse(struct padding *p, const struct graph_node *n, uint32_t dim, const char *why);
void padding_refuse_all(struct padding *p, struct graph_node *n);

#define PADDING_LOOKS_ACROSS "looks across them"
#define PADDING_COUNTS "counts them"

/* ---- `made` of a row ---- */

/* Zero; as operand 0 has it along the same dimension; zero if operand 0 has zero, else unknown. */
struct within padding_zero(const struct padding *p, const struct graph_node *n, uint32_t d);
struct within padding_kept(const struct padding *p, const struct graph_node *n, uint32_t d);
struct within padding_zero_kept(const struct padding *p, const struct graph_node *n, uint32_t d);

/* ---- gradients of a look-up or a choice: of ids and the result's gradient ---- */

/* They are summed over tokens, so the gradient must be zero in the padding; no id lies in the
 * padding of classes. */
void padding_need_ids_grad(struct padding *p, struct graph_node *n);
struct within padding_ids_grad(const struct padding *p, const struct graph_node *n, uint32_t d);

/* ---- products ---- */

/* Along a summed dimension, one operand must be zero in the padding, and the other finite. */
void padding_need_product(struct padding *p, struct graph_node *n);

struct within padding_product(struct within a, struct within b);

/* `made` of products of operands 0 and 1. */
struct within padding_multiplied(const struct padding *p, const struct graph_node *n, uint32_t d);

#endif /* GRAPH_OPS_PADDING_H */
