/* rule.h - the sharding rule of an op: which dimensions of its arrays must be cut alike.
 *
 * An op is described by factors, the extents of its loops.  Each dimension of an operand or result
 * is one factor; cutting a factor cuts all dimensions with that factor.  A factor that a result
 * lacks is reduced over: an axis on it leaves that result partial.  A factor may have to be whole
 * (the op looks across it), or follow another (key heads follow the query heads that read them as
 * far as they divide; beyond, devices hold the same key heads and their gradient is partial).
 *
 * Every op of the graph is one row of a table: its rule, and how it becomes a kernel on shards.
 * The rule is what Shardy calls an op sharding rule.
 *
 * Thread class: values and pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_RULE_H
#define PARTITION_RULE_H

#include "graph/graph.h"
#include "program/program.h"

#define RULE_FACTORS_MAX (2 * GRAPH_RANK_MAX) /* a product, or a reshape, of all other dims */
#define RULE_RESULTS_MAX (1 + GRAPH_EXTRAS_MAX)
#define RULE_FREE (-1)

struct rule_factor {
    int64_t size;
    bool whole;     /* no axis may cut it */
    bool as_it_lies; /* an operand is taken with its home's cut: rows, or elements of a slice, are
                        pulled from wherever they are */
    int8_t follows;  /* another factor: its axes also shard this factor, as far as they divide the
                        size; or RULE_FREE */
};

struct rule {
    uint32_t nfactors;
    struct rule_factor factors[RULE_FACTORS_MAX];
    uint32_t noperands, nresults; /* result 0 is the node itself, then its extras */
    int8_t operand[GRAPH_INPUTS_MAX][GRAPH_RANK_MAX]; /* factor of each dimension */
    int8_t result[RULE_RESULTS_MAX][GRAPH_RANK_MAX];
    enum shd_reduce_op reduce; /* how partial results are combined */
    uint8_t takes_home;        /* bit k: operand k has a factor that is taken as it lies */
    bool flat; /* all arrays with dimensions have the same ones, factors 0, 1, ...: an axis may
                  cut them flat (shd/sharding.h), since elements meet only in a sum of all */
};

struct rule_op {
    void (*rule)(struct rule *out, const struct graph *graph, uint32_t node);
    const struct kern_kernel *kernel;
    /* Set the description, which is zeroed before, and offsets; `extents` are the factors' local
     * extents, the op's buffers and kernel are set.  NULL: the op does no work (constraint), or is
     * fused with others (`fuses`).  An op that moves rows has no description: `desc` is NULL. */
    void (*lower)(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                  uint32_t node, const struct rule *rule, const int64_t *extents);
    bool fuses;      /* elementwise: see fuse.h */
    bool moves_rows; /* moves rows instead of computing: lower() makes it a PROGRAM_ROWS */
};

/* The row of an op.  Leaves and extras, which are no ops of their own, have no rule(). */
const struct rule_op *rule_of(enum graph_op op);

/* The rule by names: dimensions of equal number are one factor. */
void rule_by_names(struct rule *out, const struct graph *graph, uint32_t node);

/* Set `flat`. */
void rule_find_flat(struct rule *rule, const struct graph *graph, uint32_t node);

/* The factor of a dimension number in an operand or result 0; -1: none. */
int rule_find(const struct rule *rule, const struct graph *graph, uint32_t node, uint32_t dim);

/* Set `takes_home`. */
void rule_find_home(struct rule *rule, const struct graph *graph, uint32_t node);

/* For rules that differ from the rule by names: append a factor. */
int8_t rule_add_factor(struct rule *rule, int64_t size);

/* Local extents and row-major strides of an array whose dimensions are `factors`. */
void rule_strides(int64_t *stride, uint32_t rank, const int8_t *factors, const int64_t *extents);

/* The same strides by factor; returns the bits of the factors that the array has. */
uint32_t rule_factor_strides(int64_t *out, uint32_t rank, const int8_t *factors,
                             const int64_t *extents);

/* Product of the local extents of dimensions [first, last) of an array. */
int64_t rule_product(const int8_t *factors, const int64_t *extents, uint32_t first, uint32_t last);

/* Rows, defined in rules/. */
#define RULE_DECLARED(op, called) extern const struct rule_op rule_##called;
GRAPH_OPS(RULE_DECLARED)
#undef RULE_DECLARED

#endif /* PARTITION_RULE_H */
