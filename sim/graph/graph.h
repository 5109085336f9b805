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
#include "kern/routing.h"

#define GRAPH_NONE UINT32_MAX
#define GRAPH_RANK_MAX 8   /* dimensions of an array; those of attention have four */
#define GRAPH_INPUTS_MAX 8 /* operands: the gradient of attention has so many */
#define GRAPH_EXTRAS_MAX 2 /* further results: again that gradient */

enum graph_op {
    GRAPH_INPUT,          /* data that comes from outside; `source` says what is in it */
    GRAPH_PARAM,          /* the same, for what is learned */
    GRAPH_EINSUM,         /* product of two arrays, summed over what the result lacks */
    GRAPH_MAP,            /* one elementwise function of one or two arrays */
    GRAPH_REDUCE,         /* sum, max or min over what the result lacks */
    GRAPH_CONSTRAINT,     /* the identity, at a place where a sharding may be asked for by name */
    GRAPH_EXTRA,          /* a further result of the op that is its operand */
    GRAPH_ATTENTION,      /* q, k, v, [spans, positions], [o, lse so far] -> o, lse */
    GRAPH_ATTENTION_GRAD, /* q, k, v, o, lse, do, [spans, positions] -> dq, dk, dv */
    GRAPH_ROPE,           /* rotary position embedding */
    GRAPH_CAUSAL,         /* mask of what lies ahead, or of padding */
    GRAPH_EMBED,          /* table, ids -> rows */
    GRAPH_EMBED_GRAD,     /* ids, g -> d table */
    GRAPH_PICK,           /* x, ids -> the element at each id */
    GRAPH_PICK_GRAD,      /* ids, g -> d x */
    GRAPH_REPEAT,         /* a dimension becomes a longer one, each element several times */
    GRAPH_REPEAT_SUM,     /* and back: the copies summed */
    GRAPH_WINDOW,         /* slice, padding, concatenation along one dimension */
    GRAPH_SHIFT,          /* elements moved on along a dimension, cyclically */
    GRAPH_ACCUMULATE,     /* the sum of a value over the microbatches of a step */
    GRAPH_TOPK,           /* scores -> numbers of the largest */
    GRAPH_SLOTS,          /* ids of experts -> places in their queues, how many each keeps */
    GRAPH_COUNT,          /* ids -> how often each is there */
    GRAPH_GROUPED,        /* product of arrays of experts, without the slots that are empty */
    GRAPH_DISPATCH,       /* tokens, ids, slots -> rows of experts */
    GRAPH_COMBINE,        /* and back: rows, ids, slots -> what each choice of a token got */
    GRAPH_NOPS
};

/* From which experts a token may choose: they lie in `groups` equal groups, of which it looks at
 * the `kept` best.  A group is as good as its two largest scores together, or as its largest one.
 */
struct graph_limits {
    uint32_t groups, kept; /* 1, 1: at all */
    bool by_largest;
};

/* What the ops below GRAPH_EXTRA need to know besides their operands. */
union graph_attr {
    struct {
        double scale;
        bool causal;
        bool goes_on, more;             /* operands have o and lse so far; o is taken up again */
        uint32_t blocks;                /* at least 1 */
        int64_t shift;                  /* 0..blocks-1 */
        const struct kern_sight *sight; /* NULL: there are no spans and positions */
    } attention;
    struct {
        uint32_t position_dim, pair_dim;
        int64_t position0; /* of the first element */
        double theta;
        bool interleaved, inverse;
    } rope;
    struct {
        uint32_t query_dim, key_dim; /* without queries (GRAPH_NONE) what lies ahead is padding */
        double masked;
    } causal;
    struct {
        uint32_t dim; /* that the ids number */
    } choice;         /* embed, pick and their gradients, count */
    struct {
        uint32_t dim;
        struct graph_limits limits;
    } topk;
    struct {
        uint32_t expert_dim, slot_dim, choice_dim; /* GRAPH_NONE where an op has none */
        uint32_t groups;
        const struct kern_routing *routing; /* for the queues, and what a plan counts */
    } experts;                              /* slots, grouped product, dispatch, combine */
    struct {
        uint32_t from_dim, to_dim;
    } repeat;
    struct {
        uint32_t to_dim;                  /* of the result */
        uint32_t dim[2];                  /* of each operand */
        int64_t from[2], to[2], count[2]; /* as struct kern_window */
    } window;
    struct {
        uint32_t dim;
        int64_t by; /* elements, from 0 to the dimension's size - 1 */
    } shift;
};

enum graph_phase { GRAPH_FORWARD, GRAPH_BACKWARD, GRAPH_OPTIMIZER, GRAPH_NPHASES };

struct graph_dim {
    const char *name; /* a logical axis name: "batch", "embed" */
    int64_t size;
    int64_t held; /* elements; what is behind them, up to the size, is padding (pad.h) */
};

struct graph_node {
    enum graph_op op;
    enum graph_phase phase;
    uint32_t stage; /* of a pipeline; graph/stages.h */
    bool weights;   /* in the backward phase: only gradients of parameters come of it */
    bool again;     /* in the backward phase: of the forward phase, done once more (recompute.h) */
    bool forgotten; /* in the forward phase: the backward phase does it again, not reads it */
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
    bool unread;                       /* it is done though nobody reads it */
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

/* For how many nodes an array must have room that takes the place of `nodes` and holds `n`: a power
 * of two, in which the graph can grow further. */
size_t graph_room(uint32_t n);

/* SHD_OK, or the first error of the building calls. */
int graph_status(const struct graph *graph, struct shd_error *err);

/* Keep an error that a builder found itself; returns GRAPH_NONE. */
uint32_t graph_fail(struct graph *graph, int status, const char *fmt, ...) SHD_PRINTF(3, 4);

/* A text that lives as long as the graph. */
const char *graph_text(struct graph *graph, const char *fmt, ...) SHD_PRINTF(2, 3);

/* Room, not zeroed, that lives as long as the graph; NULL, and an error in the graph: no memory. */
void *graph_memory(struct graph *graph, size_t count, size_t size);
double *graph_numbers(struct graph *graph, size_t count);
uint8_t *graph_bytes(struct graph *graph, size_t count);

/* A copy of what is seen, with its documents, that lives as long as the graph; NULL as above. */
const struct kern_sight *graph_sight(struct graph *graph, const struct kern_sight *sight);

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

struct graph_attention {
    double scale; /* of the scores */
    bool causal;  /* query s sees the keys t <= s, as they lie; then blocks is 1 */
    /* Instead of that, as data, all three or none (GRAPH_NONE, NULL): spans[batch, seq, span], or
     * without batch where there are no documents, of the queries as they lie, and positions[keys]
     * of the keys as they lie (int32, span has 2: the first and last position that is seen).  They
     * are filled from `sight`, which plans reckon with; it is one of graph_sight(). */
    uint32_t spans, positions;
    const struct kern_sight *sight;
    /* Queries and keys are cut into so many equal blocks, and queries of a block see keys of the
     * block in the same place only; 0 is 1. */
    uint32_t blocks;
    int64_t shift; /* blocks, 0..blocks-1, that k and v (and positions) were moved on around: block
                      b of them is block (b - shift) mod blocks of the sequence */
    uint32_t before; /* an attention of the same q to other keys, with `more` set, from whose o and
                        lse this one goes on; or GRAPH_NONE */
    bool more;       /* another one goes on from this: its o is of the type of lse */
};

#define GRAPH_ATTENTION_INIT \
    .spans = GRAPH_NONE, .positions = GRAPH_NONE, .before = GRAPH_NONE /* all else 0 */

/* Attention of q[batch, seq, heads, head_dim] to k[batch, keys, kv_heads, head_dim] and
 * v[batch, keys, kv_heads, value_dim]: the names may be others, the order is this; heads divide by
 * kv_heads.  Returns o[batch, seq, heads, value_dim]; its extra is lse[batch, seq, heads], float32
 * for 16-bit types.  Where a query sees nothing o is 0 and lse -infinity. */
uint32_t graph_attention(struct graph *graph, const char *name, uint32_t q, uint32_t k, uint32_t v,
                         const struct graph_attention *opts);

/* The gradient of an attention to some keys: q, k, v and `opts` as above but for what says how it
 * goes on; o and lse of all keys together, and the gradient of o.  Returns dq; its extras are dk
 * and dv; `names` are those of the three. */
uint32_t graph_attention_grad(struct graph *graph, const char *const names[3],
                              const uint32_t qkv[3], uint32_t o, uint32_t lse, uint32_t grad,
                              const struct graph_attention *opts);

/* Rotate pairs along `pair_dim` (an even extent) by position along `position_dim`, which starts at
 * `position0`. */
uint32_t graph_rope(struct graph *graph, const char *name, uint32_t x, uint32_t position_dim,
                    uint32_t pair_dim, int64_t position0, double theta, bool interleaved);

/* The same where element i along the dimension of positions[seq] (int32) is at position
 * positions[i]. */
uint32_t graph_rope_at(struct graph *graph, const char *name, uint32_t x, uint32_t positions,
                       uint32_t pair_dim, double theta, bool interleaved);

/* x where key <= query, else `masked`. */
uint32_t graph_causal_mask(struct graph *graph, const char *name, uint32_t x, uint32_t query_dim,
                           uint32_t key_dim, double masked);

/* Rows of table[rows, width] by ids (int32): dimensions of ids, then width. */
uint32_t graph_embed(struct graph *graph, const char *name, uint32_t table, uint32_t ids);

/* The elements of x along `dim` that ids number: ids (int32) has x's other dimensions in x's order,
 * and may have more behind them, as a token's choices. */
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

/* x with its elements moved on along `dim`, cyclically: element i of the result is element i - `by`
 * of x.  Where `dim` is cut, devices hand their shards on to each other. */
uint32_t graph_shift(struct graph *graph, const char *name, uint32_t x, uint32_t dim, int64_t by);

/* The sum of x over the microbatches of a step, which is there when the last one is done: the
 * optimizer's phase reads what the others made through such sums.  `dtype` is that of the sum. */
uint32_t graph_accumulate(struct graph *graph, const char *name, enum shd_dtype dtype, uint32_t x);

/* ---- mixtures of experts ----
 *
 * Tokens [batch, seq] name experts: ids[batch, seq, choice], int32, -1 where there is no choice.
 * Rows of the batch are cut into equal groups with queues of their own.  Experts keep their tokens
 * in rows [expert, slot, ..]: group g's are slots [g * capacity, (g + 1) * capacity).  What is
 * beyond an expert's count in a group is zero, and neither computed nor sent. */

/* A routing that lives as long as the graph. */
const struct kern_routing *graph_routing(struct graph *graph, const struct kern_routing_spec *spec);

/* Numbers of the largest scores along `dim`, the last one, which becomes `choice_dim` with
 * that many choices: the largest first, of equal ones the one with the lowest number.  `limits` may
 * be NULL.  No gradient. */
uint32_t graph_topk(struct graph *graph, const char *name, uint32_t scores, uint32_t dim,
                    uint32_t choice_dim, const struct graph_limits *limits);

/* Places in the queues of experts, -1 where there is none: of ids[batch, .., choice], as routing
 * says (its capacity and order).  Further result (extras[0]): counts[group_dim, expert_dim], int32,
 * what each expert keeps of each group; the sizes of these dimensions say how many there are. */
uint32_t graph_slots(struct graph *graph, const char *name, uint32_t ids,
                     const struct kern_routing *routing, uint32_t group_dim, uint32_t expert_dim);

/* How many ids name each of `expert_dim`, as numbers of a floating-point type. */
uint32_t graph_count(struct graph *graph, const char *name, enum shd_dtype dtype, uint32_t ids,
                     uint32_t expert_dim);

/* As graph_einsum(), of arrays with dimensions expert (that of counts) and `slot_dim`: slots beyond
 * the counts are taken for zeros, of operands and of the result.  `a` has both dimensions, and b
 * where the result lacks slots; arrays have the experts first and then the slots. */
uint32_t graph_grouped(struct graph *graph, const char *name, uint32_t a, uint32_t b,
                       uint32_t counts, const struct kern_routing *routing, uint32_t slot_dim,
                       const uint32_t *dims, uint32_t rank);

/* Copies of src[batch, seq, width] or [batch, seq, choice, width] in rows[expert, slot, width],
 * zeros where none came. */
uint32_t graph_dispatch(struct graph *graph, const char *name, uint32_t src, uint32_t ids,
                        uint32_t slots, uint32_t expert_dim, uint32_t slot_dim, uint32_t groups,
                        const struct kern_routing *routing);

/* Copies of rows[expert, slot, width] at [batch, seq, choice, width], zeros where a choice was
 * dropped. */
uint32_t graph_combine(struct graph *graph, const char *name, uint32_t rows, uint32_t ids,
                       uint32_t slots, uint32_t groups, const struct kern_routing *routing);

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
