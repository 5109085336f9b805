/* graph.h - the whole-array computation: values with named dimensions, and the ops between them.
 *
 * A graph knows shapes and names, no mesh and no device.  Nodes are numbered in an order in which
 * every operand comes before its reader; a node is its result.  Dimensions are named once per
 * graph: that "batch" in two arrays is the same dimension is what the partitioner works by.  An
 * array's dimension that its op's result lacks is summed (or reduced) over; one that only the
 * result has is broadcast.
 *
 * Building keeps the first error and makes every later call a no-op that returns GRAPH_NONE, so
 * that a layer reads as mathematics; graph_status() tells.
 *
 * Thread class: owned by one thread while built, immutable afterwards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/dtype.h>
#include <shd/error.h>
#include <shd/sharding.h>

#include "graph/names.h"
#include "kern/kern.h"

#define GRAPH_NONE UINT32_MAX
#define GRAPH_RANK_MAX 8   /* dimensions of an array; those of attention have four */
#define GRAPH_INPUTS_MAX 6 /* operands: the gradient of attention has so many */
#define GRAPH_EXTRAS_MAX 2 /* further results: again that gradient */

enum graph_op {
    GRAPH_INPUT,          /* data that comes from outside; `source` says what is in it */
    GRAPH_PARAM,          /* the same, for what is learned */
    GRAPH_EINSUM,         /* product of two arrays, summed over what the result lacks */
    GRAPH_MAP,            /* one elementwise function of one or two arrays */
    GRAPH_REDUCE,         /* sum, max or min over what the result lacks */
    GRAPH_CONSTRAINT,     /* the identity, at a place where a sharding may be asked for by name */
    GRAPH_EXTRA,          /* a further result of the op that is its operand */
    GRAPH_ATTENTION,      /* q, k, v -> o, lse */
    GRAPH_ATTENTION_GRAD, /* q, k, v, o, lse, do -> dq, dk, dv */
    GRAPH_ROPE,           /* rotary position embedding */
    GRAPH_CAUSAL,         /* mask of what lies ahead */
    GRAPH_EMBED,          /* table, ids -> rows */
    GRAPH_EMBED_GRAD,     /* ids, g -> d table */
    GRAPH_PICK,           /* x, ids -> the element at each id */
    GRAPH_PICK_GRAD,      /* ids, g -> d x */
    GRAPH_REPEAT,         /* a dimension becomes a longer one, each element several times */
    GRAPH_REPEAT_SUM,     /* and back: the copies summed */
    GRAPH_WINDOW,         /* slice, padding, concatenation along one dimension */
    GRAPH_ACCUMULATE,     /* the sum of a value over the microbatches of a step */
    GRAPH_NOPS
};

/* What the ops below GRAPH_EXTRA need to know besides their operands. */
union graph_attr {
    struct {
        double scale;
        bool causal;
    } attention;
    struct {
        uint32_t position_dim, pair_dim;
        int64_t position0; /* of the first element */
        double theta;
        bool interleaved, inverse;
    } rope;
    struct {
        uint32_t query_dim, key_dim;
        double masked;
    } causal;
    struct {
        uint32_t dim; /* that the ids number */
    } choice;         /* embed, pick and their gradients */
    struct {
        uint32_t from_dim, to_dim;
    } repeat;
    struct {
        uint32_t to_dim;                  /* of the result */
        uint32_t dim[2];                  /* of each operand */
        int64_t from[2], to[2], count[2]; /* as struct kern_window */
    } window;
};

enum graph_phase { GRAPH_FORWARD, GRAPH_BACKWARD, GRAPH_OPTIMIZER, GRAPH_NPHASES };

struct graph_dim {
    const char *name; /* a logical axis name: "batch", "embed" */
    int64_t size;
};

struct graph_node {
    enum graph_op op;
    enum graph_phase phase;
    uint32_t stage; /* of a pipeline; graph/stages.h */
    bool weights;   /* in the backward phase: only gradients of parameters come of it */
    enum shd_dtype dtype;
    enum shd_dtype stored; /* the type it is asked for in: not `dtype` in a graph_in_dtype() */
    const char *name;      /* "layers/0/mlp/up"; unique for inputs and parameters */
    uint32_t rank;
    uint32_t dims[GRAPH_RANK_MAX]; /* dimension numbers, as the array is stored (row-major) */
    uint32_t ninputs;
    uint32_t inputs[GRAPH_INPUTS_MAX]; /* nodes */
    enum kern_fn fn;                   /* GRAPH_MAP */
    double scalar;                     /* GRAPH_MAP */
    enum shd_reduce_op reduce;         /* GRAPH_REDUCE */
    struct kern_source source;         /* GRAPH_INPUT, GRAPH_PARAM */
    bool stop_gradient;                /* no gradient goes through to the operands */
    uint32_t gradient_of;              /* the forward node whose gradient, or part of it, this is */
    uint32_t state_of;                 /* GRAPH_INPUT: the parameter whose optimizer's state it is;
                                          GRAPH_CONSTRAINT: the parameter whose gradient, as the
                                          optimizer reads it */
    uint32_t nextras;
    uint32_t extras[GRAPH_EXTRAS_MAX]; /* nodes that are its further results */
    union graph_attr attr;
};

enum graph_output_kind {
    GRAPH_OUTPUT,
    GRAPH_LOSS,
    GRAPH_GRADIENT,
    GRAPH_NEXT /* what an input or a parameter is in the next step: it stays from step to step */
};

struct graph_output {
    enum graph_output_kind kind;
    const char *name; /* of a gradient or next value: the parameter or input it belongs to */
    uint32_t node;
    uint32_t of; /* GRAPH_GRADIENT, GRAPH_NEXT: the node it belongs to */
};

struct graph {
    struct graph_dim *dims;
    uint32_t ndims;
    struct graph_node *nodes;
    uint32_t nnodes;
    struct graph_output *outputs;
    uint32_t noutputs;
    enum graph_phase phase; /* given to nodes that are added, as is ... */
    uint32_t stage;         /* ... the stage */
    uint32_t nstages;       /* at least 1 */
    uint32_t microbatches;  /* how often a step does all but the optimizer's phase, on other data */
    struct shd_error err;   /* the first error, or SHD_OK */
    struct graph_text *texts;
    struct graph_names leaves; /* of inputs and parameters: each has one of its own */
};

/* Returns NULL when the host has no memory. */
struct graph *graph_create(void);
void graph_destroy(struct graph *graph); /* NULL is allowed */

/* For how many nodes an array must have room that takes the place of `nodes` and holds `n`: a power of
 * two, in which the graph can grow further. */
size_t graph_room(uint32_t n);

/* SHD_OK, or the first error of the building calls. */
int graph_status(const struct graph *graph, struct shd_error *err);

/* Keep an error that a builder found itself; returns GRAPH_NONE. */
uint32_t graph_fail(struct graph *graph, int status, const char *fmt, ...) SHD_PRINTF(3, 4);

/* A text that lives as long as the graph. */
const char *graph_text(struct graph *graph, const char *fmt, ...) SHD_PRINTF(2, 3);

/* Room for numbers that live as long as the graph; NULL, and an error in the graph: no memory. */
double *graph_numbers(struct graph *graph, size_t count);
uint8_t *graph_bytes(struct graph *graph, size_t count);

/* The dimension of a name; added when new.  An error when it has another size already. */
uint32_t graph_dim(struct graph *graph, const char *name, int64_t size);

/* The dimension of a name, or GRAPH_NONE. */
uint32_t graph_find_dim(const struct graph *graph, const char *name);

/* Arrays from outside.  `dims` holds `rank` dimension numbers, all different. */
uint32_t graph_input(struct graph *graph, const char *name, enum shd_dtype dtype,
                     const uint32_t *dims, uint32_t rank, struct kern_source source);
uint32_t graph_param(struct graph *graph, const char *name, enum shd_dtype dtype,
                     const uint32_t *dims, uint32_t rank, struct kern_source source);

/* Product of `a` and `b` with the result's dimensions in any order; every one of them must be in an
 * operand.  What only one operand has and the result lacks is summed first, by a node of its own.
 */
uint32_t graph_einsum(struct graph *graph, const char *name, uint32_t a, uint32_t b,
                      const uint32_t *dims, uint32_t rank);

/* fn(a) or fn(a, b); the result has a's dimensions followed by those only b has.  `b` is GRAPH_NONE
 * for functions of one operand; `scalar` is for those that take one. */
uint32_t graph_map(struct graph *graph, const char *name, enum kern_fn fn, uint32_t a, uint32_t b,
                   double scalar);

/* a in another type: each element rounded to it, of a value that is a sum of parts over devices
 * each part.  `a` itself where it is of that type. */
uint32_t graph_convert(struct graph *graph, const char *name, enum shd_dtype dtype, uint32_t a);

/* Reduce over all dimensions that `dims` does not list; what it lists, `a` must have.  SHD_MEAN is
 * a sum and a scaling. */
uint32_t graph_reduce(struct graph *graph, const char *name, enum shd_reduce_op op, uint32_t a,
                      const uint32_t *dims, uint32_t rank);

/* Name a place where a sharding may be asked for. */
uint32_t graph_constraint(struct graph *graph, const char *name, uint32_t a);

/* Let no gradient pass from a node to its operands. */
void graph_stop_gradient(struct graph *graph, uint32_t node);

/* ---- ops of one file each, in ops/ ---- */

/* Attention of q[batch, seq, heads, head_dim] to k, v[batch, seq, kv_heads, head_dim]: the names
 * may be others, the order is this; heads divide by kv_heads.  Returns o of q's dimensions. */
uint32_t graph_attention(struct graph *graph, const char *name, uint32_t q, uint32_t k, uint32_t v,
                         bool causal, double scale);

/* Rotate pairs along `pair_dim` (an even extent) by position along `position_dim`, which starts at
 * `position0`. */
uint32_t graph_rope(struct graph *graph, const char *name, uint32_t x, uint32_t position_dim,
                    uint32_t pair_dim, int64_t position0, double theta, bool interleaved);

/* x where key <= query, else `masked`. */
uint32_t graph_causal_mask(struct graph *graph, const char *name, uint32_t x, uint32_t query_dim,
                           uint32_t key_dim, double masked);

/* Rows of table[rows, width] by ids (int32): dimensions of ids, then width. */
uint32_t graph_embed(struct graph *graph, const char *name, uint32_t table, uint32_t ids);

/* The elements of x along `dim` that ids (int32, x's other dimensions in x's order) number. */
uint32_t graph_pick(struct graph *graph, const char *name, uint32_t x, uint32_t ids, uint32_t dim);

/* x with `from_dim` made `to_dim`, a multiple of it: element i of the new one is i / times of the
 * old.  With equal sizes it only renames. */
uint32_t graph_repeat(struct graph *graph, const char *name, uint32_t x, uint32_t from_dim,
                      uint32_t to_dim);

/* Elements [start, start + size of to_dim) of x along `dim`, which becomes `to_dim`. */
uint32_t graph_slice(struct graph *graph, const char *name, uint32_t x, uint32_t dim,
                     uint32_t to_dim, int64_t start);

/* a, then b, along a's `a_dim` and b's `b_dim`, which become `to_dim`; else they have the same
 * dimensions in the same order. */
uint32_t graph_concat(struct graph *graph, const char *name, uint32_t a, uint32_t a_dim, uint32_t b,
                      uint32_t b_dim, uint32_t to_dim);

/* The sum of x over the microbatches of a step, which is there when the last one is done: the
 * optimizer's phase reads what the others made through such sums.  `dtype` is that of the sum. */
uint32_t graph_accumulate(struct graph *graph, const char *name, enum shd_dtype dtype, uint32_t x);

/* x with its dimensions in another order. */
uint32_t graph_transpose(struct graph *graph, const char *name, uint32_t x, const uint32_t *dims,
                         uint32_t rank);

/* ---- for the files of ops/ ---- */

/* Add a node of any op as it stands, with a name; checks dimensions and operands. */
uint32_t graph_add(struct graph *graph, const struct graph_node *node, const char *name);

/* Add a further result of a node. */
uint32_t graph_add_extra(struct graph *graph, uint32_t node, const char *name, enum shd_dtype dtype,
                         const uint32_t *dims, uint32_t rank);

/* Make a node an output of the computation. */
void graph_output(struct graph *graph, enum graph_output_kind kind, const char *name, uint32_t node,
                  uint32_t of);

/* A copy that computes in another type: every floating-point array becomes `dtype`.  Names,
 * dimensions and outputs are those of the original, which must outlive it.  NULL: no memory. */
struct graph *graph_in_dtype(const struct graph *graph, enum shd_dtype dtype);

/* Whether a node's array has a dimension. */
bool graph_has_dim(const struct graph_node *node, uint32_t dim);

/* Extents of a node's array. */
void graph_shape(const struct graph *graph, uint32_t node, int64_t *shape);

const char *graph_op_name(enum graph_op op);
const char *graph_phase_name(enum graph_phase phase);

#endif /* GRAPH_GRAPH_H */
