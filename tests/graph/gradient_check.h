/* gradient_check.h - compares an expression's derivatives with central finite differences in
 * float64.
 *
 * Every expression y of up to three arrays x, w, u is tried with three losses: the sum of y, a sum
 * weighted by an array of y's dimensions, and a sum weighted by an array of y's first dimension
 * only, so that incoming gradients may lack dimensions of y or be the constant 1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRADIENT_CHECK_H
#define GRADIENT_CHECK_H

#include "graph/graph.h"
#include "../support/step.h"

#define LEAVES_MAX 4

/* An element of an array, moved by `by`; by 0: no change. */
struct nudge {
    const char *leaf;
    int64_t element;
    double by;
};

struct maker {
    struct graph *graph;
    struct nudge nudge;
    uint32_t nleaves;
    uint32_t leaves[LEAVES_MAX]; /* x, w, u, y */
};

typedef uint32_t (*gradient_build_fn)(struct maker *m, const void *arg);

/* Check d loss / d x, w, u of y = build(m, arg), three results; and that all its nodes, and those
 * of its gradient, are linear where their op's row (graph/ops.h) says so, one result. */
void check_gradient(const char *what, gradient_build_fn build, const void *arg);

/* Ops whose linearity was checked. */
extern bool linear_seen[GRAPH_NOPS];

/* Dimensions by letters: a has 2 elements, b 3, and so on. */
uint32_t dims_of(struct graph *g, const char *letters, uint32_t *dims);

/* An array of values between -1 and 1, nudged as the maker says. */
uint32_t leaf(struct maker *m, const char *name, const char *letters);

/* A leaf x, w, u or y, in this order, whose gradient is checked. */
uint32_t checked_leaf(struct maker *m, const char *letters);

uint32_t map1(struct maker *m, enum kern_fn fn, uint32_t x, double scalar);
uint32_t map2(struct maker *m, enum kern_fn fn, uint32_t x, uint32_t w);
uint32_t einsum(struct maker *m, uint32_t x, uint32_t w, const char *letters);
uint32_t reduce(struct maker *m, enum shd_reduce_op op, uint32_t x, const char *letters);

/* Run a graph on one device. */
bool run_graph(struct step *step, const struct graph *graph);

#endif /* GRADIENT_CHECK_H */
