/* graph.h - the whole-array computation: values with named dimensions, and the ops between them.
 *
 * A graph has shapes and names, but no mesh and no devices.  Nodes are numbered so that operands
 * come before their readers; a node is its result.  Dimensions are named once per graph: the
 * partitioner relies on "batch" being the same dimension in two arrays.  An op sums (or reduces)
 * over a dimension that only operands have, and broadcasts along one that only the result has.
 *
 * Building keeps the first error and turns every later call into a no-op that returns GRAPH_NONE,
 * so that layers read like mathematics; graph_status() returns the error.
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
#include "kern/coded.h"
#include "kern/kern.h"
#include "kern/pages.h"
#include "kern/quant.h"
#include "kern/rotation.h"
#include "kern/routing.h"

#define GRAPH_NONE UINT32_MAX
#define GRAPH_RANK_MAX 12  /* dimensions of an array; attention has four */
#define GRAPH_INPUTS_MAX 8 /* operands; attention and its gradient have 8 */
#define GRAPH_EXTRAS_MAX 5 /* further results; the gradient of linear attention has 5 */

/* The ops.  GRAPH_INPUT and GRAPH_PARAM are leaves, and come first. */
#define GRAPH_OPS(ROW)                                                                            \
    ROW(GRAPH_INPUT, input)           /* data from outside; `source` has its values */            \
    ROW(GRAPH_PARAM, param)           /* a learned array from outside */                          \
    ROW(GRAPH_EINSUM, einsum)         /* product of two arrays, summed over other dims */         \
    ROW(GRAPH_MAP, map)               /* elementwise function of one or two arrays */             \
    ROW(GRAPH_REDUCE, reduce)         /* sum, max or min over dims that the result lacks */       \
    ROW(GRAPH_CONSTRAINT, constraint) /* where a sharding may be asked for by name */             \
    ROW(GRAPH_EXTRA, extra)           /* a further result of its operand's op */                  \
    ROW(GRAPH_ATTENTION, attention)   /* q, k, v, [mask], [o, lse so far] -> o, lse */            \
    ROW(GRAPH_ATTENTION_GRAD, attention_grad) /* q, k, v, o, lse, do, [mask] -> dq, dk, dv */     \
    ROW(GRAPH_LINEAR_ATTENTION, linear_attention) /* q, k, v, [decay], [beta], [state] -> o, */   \
                                                  /* [state behind] */                            \
    ROW(GRAPH_LINEAR_ATTENTION_GRAD, linear_attention_grad) /* the same, do, [d state behind] */  \
                                                            /* -> a gradient of each */           \
    ROW(GRAPH_ROPE, rope)                     /* rotary position embedding */                     \
    ROW(GRAPH_CAUSAL, causal)                 /* mask of keys ahead of queries, or of padding */  \
    ROW(GRAPH_EMBED, embed)                   /* table, ids -> rows */                            \
    ROW(GRAPH_EMBED_GRAD, embed_grad)         /* ids, g -> d table */                             \
    ROW(GRAPH_PICK, pick)                     /* x, ids -> the element at each id */              \
    ROW(GRAPH_PICK_GRAD, pick_grad)           /* ids, g -> d x */                                 \
    ROW(GRAPH_DEQUANTIZE, dequantize)         /* codes, scales of a weight's blocks -> floats */  \
    ROW(GRAPH_QUANTIZE, quantize)             /* floats -> codes, scales of blocks */             \
    ROW(GRAPH_RESTORE, restore)               /* codes, scales that a step made -> floats */      \
    ROW(GRAPH_REPEAT, repeat)                 /* each element several times along a longer dim */ \
    ROW(GRAPH_REPEAT_SUM, repeat_sum)         /* back again: the copies summed */                 \
    ROW(GRAPH_WINDOW, window)                 /* slice, padding, concatenation along one dim */   \
    ROW(GRAPH_RESHAPE, reshape)               /* the same elements under other dimensions */      \
    ROW(GRAPH_TAPS, taps)                     /* windows of a dim, for convolution and pooling */ \
    ROW(GRAPH_TAPS_SUM, taps_sum)             /* back again: the taps summed */                   \
    ROW(GRAPH_APPEND, append)                 /* rows written into an array at places */          \
    ROW(GRAPH_SCAN, scan)                     /* cumulative sums and such, recurrences */         \
    ROW(GRAPH_SHIFT, shift)                   /* elements moved along a dim, cyclically */        \
    ROW(GRAPH_ACCUMULATE, accumulate)         /* sum over the microbatches of a step */           \
    ROW(GRAPH_TOPK, topk)                     /* scores -> indices of the largest */              \
    ROW(GRAPH_DEAL, deal)                     /* ids of experts -> places of their copies */      \
    ROW(GRAPH_SLOTS, slots)       /* ids of experts -> slots in their queues, counts */           \
    ROW(GRAPH_COUNT, count)       /* ids -> number of times each occurs */                        \
    ROW(GRAPH_GROUPED, grouped)   /* product of experts' arrays, without empty slots */           \
    ROW(GRAPH_DISPATCH, dispatch) /* tokens, ids, slots -> rows of experts */                     \
    ROW(GRAPH_COMBINE, combine)   /* rows, ids, slots -> the row of each choice */                \
    ROW(GRAPH_AMAX, amax)         /* largest magnitude of each group of elements */               \
    ROW(GRAPH_ENCODE, encode)     /* x, amax -> codes of 8 or 4 bits */                           \
    ROW(GRAPH_DECODE, decode)     /* codes, amax -> x */                                          \
    ROW(GRAPH_CODED, coded)       /* product of two arrays of codes, with their magnitudes */     \
    ROW(GRAPH_CODED_GROUPED, coded_grouped) /* the same of experts' arrays, without empty slots */

enum graph_op {
#define GRAPH_OP_NUMBER(op, called) op,
    GRAPH_OPS(GRAPH_OP_NUMBER)
#undef GRAPH_OP_NUMBER
        GRAPH_NOPS
};

/* Group-limited routing: experts lie in `groups` equal groups, and a token chooses from the `kept`
 * best groups only.  A group's score is the sum of its two largest scores, or its largest score.
 */
struct graph_limits {
    uint32_t groups, kept; /* 1, 1: no limit */
    bool by_largest;
    bool smallest; /* the smallest scores are chosen, in rising order */
};

/* A dimension cut into blocks of `each` elements, which begin anew after every `period` elements;
 * the dimension `blocks` numbers them. */
struct graph_coarse {
    uint32_t dim, blocks;
    int64_t each, period;
};

/* How an array is rounded to codes (kern/coded.h).  The magnitudes have the dimensions of the
 * groups: of the array's own some, and in place of those cut into blocks of `each` elements the
 * dimension of the blocks.  Blocks begin anew with each `period` elements, as a group's slots. */
struct graph_coding {
    enum shd_dtype code;
    enum kern_scaling scaling;
    uint32_t ncoarse, nparts;
    struct graph_coarse coarse[KERN_COARSE_MAX]; /* from `ncoarse` on those of the parts that
                                                    KERN_SCALE_DOUBLE has scales for */
};

/* How an op has to do with experts. */
struct graph_experts {
    uint32_t expert_dim, slot_dim, choice_dim; /* GRAPH_NONE if the op lacks the dimension */
    uint32_t groups;
    bool sums; /* a combine adds up the rows of a token; of a dispatch the gradient does */
    const struct kern_routing *routing; /* defines the queues, and what a plan counts */
};

/* Windows of a dimension: tap t of window w is the element w * stride + t * dilation - low of it,
 * or `fill` where it has none. */
struct graph_taps {
    int64_t stride, dilation, low; /* stride and dilation are at least 1 */
    double fill;
};

/* Where an optimizer needs whole matrices of a parameter, `state_of` a constraint. */
enum graph_matrix_place {
    GRAPH_NO_MATRIX,
    GRAPH_MATRIX, /* before they are computed with */
    GRAPH_HOME,   /* the same, of matrices numbered by dimension 0 that are shared out */
    GRAPH_BACK    /* after that */
};

#define GRAPH_RENAMES_MAX 6

/* Dimensions that a product reads under other names: `dim` of operand `operand` counts as `as`, of
 * the same size.  So an array meets itself: x[r, c] x[r -> s, c] is the Gram matrix [r, s]. */
struct graph_renames {
    uint32_t n;
    struct {
        uint32_t operand, dim, as;
    } list[GRAPH_RENAMES_MAX];
};

/* Attributes of ops, besides their operands. */
union graph_attr {
    struct graph_renames renames; /* einsum */
    struct {
        double scale;
        bool causal;
        double cap;                     /* of the scores; 0: none */
        bool sinks;                     /* the last operand is a score more of each head */
        bool goes_on, more;             /* o and lse of earlier keys are operands; o is an
                                           operand of a later part */
        uint32_t blocks;                /* at least 1 */
        int64_t shift;                  /* 0..blocks-1 */
        const struct kern_sight *sight; /* NULL: no spans and positions */
    } attention;
    struct {
        int64_t chunk;
        bool decays, by_channel, delta, starts, ends;
    } linear_attention; /* as struct kern_linear_attention */
    struct {
        uint32_t position_dim, pair_dim;
        int64_t position0; /* of the first element */
        const struct kern_rotation *rotation;
        bool inverse;
    } rope;
    struct {
        uint32_t query_dim, key_dim; /* GRAPH_NONE for queries: the mask hides padding */
        double masked;
    } causal;
    struct {
        uint32_t dim; /* indexed by the ids */
    } choice;         /* embed, pick and their gradients, count */
    struct {
        uint32_t dim;
        struct graph_limits limits;
    } topk;
    struct graph_experts experts; /* deal, slots, grouped product, dispatch, combine */
    struct {
        uint32_t from_dim, to_dim;
    } repeat;
    struct {
        enum kern_quant_type type;
        uint32_t
            pair_dim; /* of the result: two of its elements are one of the codes'; GRAPH_NONE */
    } dequantize;     /* and restore; quantize has a type alone */
    struct {
        uint32_t to_dim;                                            /* of the result */
        uint32_t dim[2];                                            /* of each operand */
        int64_t from[2], to[2], count[2], from_step[2], to_step[2]; /* as struct kern_window */
        double fill;
    } window;
    struct {
        uint32_t dim;
        enum kern_scan_fn fn;
        bool reverse;
    } scan;
    struct {
        uint32_t dim, window_dim, tap_dim; /* the dimension of the elements, and those of windows */
        struct graph_taps how;
    } taps;
    struct {
        uint32_t dim;
        int64_t by; /* elements, from 0 to the dimension's size - 1 */
    } shift;
    struct {
        struct graph_experts experts;  /* of experts' products */
        struct graph_coding coding[2]; /* amax, encode, decode: [0]; products: of each
                                          operand */
    } coded;
    struct {
        bool gathered; /* a parameter without ZeRO's axes, before it is rounded */
        enum graph_matrix_place place;
        uint16_t shorter, longer; /* of these: bit d, dimension d of the parameter is one of the
                                     shorter, or of the longer side; stacks have them as their
                                     last two dimensions, behind those that number matrices */
    } constraint;
};

enum graph_phase { GRAPH_FORWARD, GRAPH_BACKWARD, GRAPH_OPTIMIZER, GRAPH_NPHASES };

struct graph_dim {
    const char *name; /* a logical axis name: "batch", "embed" */
    int64_t size;
    int64_t held; /* elements without padding (pad.h) */
    uint32_t of;  /* the dimension of which an element here stands for several; GRAPH_NONE */
    const struct kern_routing
        *routing; /* of experts' slots: the routing that fills the slots, ... */
    uint32_t experts;                   /* ... and the dimension of these; NULL: no slots */
};

/* How tokens lie in a cache: [batch, tokens, ..] in an order, or in pages [pools, slots, ..]. */
struct graph_kept {
    int64_t from; /* the first cached token; the order starts there */
    struct kern_order order;
    const struct kern_pages *pages; /* NULL: none */
};

/* What a fused kernel makes and reads itself: values between the operands and the result of an
 * activation, copies of logits, and experts' results before their gates, which software does not
 * have that multiplies the experts' activations by the gates. */
enum graph_interim {
    GRAPH_NOT_INTERIM,
    GRAPH_OF_ACTIVATION,
    GRAPH_OF_LOSS,
    GRAPH_OF_GATES
};

struct graph_node {
    enum graph_op op;
    enum graph_phase phase;
    uint32_t stage; /* pipeline stage; graph/stages.h */
    bool weights;   /* in the backward phase: only gradients of parameters depend on the node */
    bool again;     /* in the backward phase: a recomputed node of the forward phase
                       (recompute.h) */
    enum graph_interim interim; /* the fused kernel that makes and reads the value itself */
    bool inside;    /* an interim value of fused software: it takes no memory of the device */
    uint32_t chunks; /* of a loss computed for chunks of tokens, one after the other: how many;
                        the device has memory for one of them; 0: all at once */
    bool forgotten; /* in the forward phase: recomputed by the backward phase, which does not
                       read this node */
    enum shd_dtype dtype;
    enum shd_dtype stored; /* the type asked for; differs from `dtype` after graph_in_dtype() */
    const char *name;      /* "layers/0/mlp/up"; unique for inputs and parameters */
    uint32_t rank;
    uint32_t dims[GRAPH_RANK_MAX]; /* dimension numbers, in the order of storage (row-major) */
    uint32_t ninputs;
    uint32_t inputs[GRAPH_INPUTS_MAX]; /* nodes */
    enum kern_fn fn;                   /* GRAPH_MAP */
    double scalar;                     /* GRAPH_MAP */
    enum shd_reduce_op reduce;         /* GRAPH_REDUCE */
    struct kern_source source;         /* GRAPH_INPUT, GRAPH_PARAM */
    bool unread;                       /* computed even if no node reads it */
    uint32_t holds;                    /* number of an earlier node, plus one, whose result is not
                                          freed before this node is done; 0: none */
    bool stop_gradient;                /* no gradient passes to the operands */
    bool frozen;                       /* GRAPH_PARAM: not learned: no gradient, no update */
    uint8_t packs;                     /* GRAPH_PARAM: parameters of the model in an element; 0: the
                                          array is beside one that has them */
    const char *base;                  /* GRAPH_PARAM: the name of the parameter, an earlier node,
                                          that it adapts and whose dimensions it has, beside some
                                          of its own; GRAPH_INPUT: of the parameter that makes
                                          what is cached; NULL: none */
    const struct graph_kept *kept;     /* GRAPH_INPUT: what is kept of tokens; NULL: another one */
    uint32_t gradient_of;              /* the forward node whose gradient, or part of it, this
                                          node is */
    uint32_t state_of;                 /* GRAPH_INPUT: the parameter whose optimizer state the
                                          node is; GRAPH_CONSTRAINT: the parameter whose gradient
                                          it is, as the optimizer reads it, or its matrices */
    uint32_t nextras;
    uint32_t extras[GRAPH_EXTRAS_MAX]; /* further results, as nodes */
    union graph_attr attr;
};

enum graph_output_kind {
    GRAPH_OUTPUT,
    GRAPH_LOSS,
    GRAPH_GRADIENT,
    GRAPH_NEXT /* value of an input or parameter in the next step: state */
};

struct graph_output {
    enum graph_output_kind kind;
    const char *name; /* for a gradient or next value: name of the parameter or input */
    uint32_t node;
    uint32_t of; /* GRAPH_GRADIENT, GRAPH_NEXT: the parameter or input */
};

/* A routing that a graph holds (kern/routing.h). */
struct graph_routing {
    const struct kern_routing *routing;
    struct graph_routing *next;
};

struct graph {
    struct graph_dim *dims;
    uint32_t ndims;
    struct graph_node *nodes;
    uint32_t nnodes;
    struct graph_output *outputs;
    uint32_t noutputs;
    enum graph_phase phase; /* phase ... */
    uint32_t stage;         /* ... and stage of nodes that are added */
    uint32_t nstages;       /* at least 1 */
    uint32_t microbatches;  /* how often a step runs all but the optimizer's phase, on different
                               data */
    struct shd_error err;   /* the first error, or SHD_OK */
    struct graph_text *texts;
    struct graph_routing *routings;
    struct graph_names leaves; /* names of inputs and parameters, which are unique */
};

/* Returns NULL when the host has no memory. */
struct graph *graph_create(void);
void graph_destroy(struct graph *graph); /* NULL is allowed */

/* Capacity for an array of `n` nodes that replaces `nodes`: a power of two, so that the graph can
 * grow further. */
size_t graph_room(uint32_t n);

/* SHD_OK, or the first error of the building calls. */
int graph_status(const struct graph *graph, struct shd_error *err);

/* Record an error that a builder found; returns GRAPH_NONE. */
uint32_t graph_fail(struct graph *graph, int status, const char *fmt, ...) SHD_PRINTF(3, 4);

/* A text owned by the graph. */
const char *graph_text(struct graph *graph, const char *fmt, ...) SHD_PRINTF(2, 3);

/* Memory owned by the graph, not zeroed; NULL, with an error in the graph, if there is none. */
void *graph_memory(struct graph *graph, size_t count, size_t size);
double *graph_numbers(struct graph *graph, size_t count);
uint8_t *graph_bytes(struct graph *graph, size_t count);

/* A copy of a mask description with its documents, owned by the graph; NULL as above. */
const struct kern_sight *graph_sight(struct graph *graph, const struct kern_sight *sight);

/* The dimension of a name, added if new.  An error if it exists with another size. */
uint32_t graph_dim(struct graph *graph, const char *name, int64_t size);

/* The dimension whose elements stand for `several` each of another, of which the number is a
 * divisor; the dimension itself for 1. */
uint32_t graph_dim_of(struct graph *graph, uint32_t dim, int64_t several);

/* The dimension of a name, or GRAPH_NONE. */
uint32_t graph_find_dim(const struct graph *graph, const char *name);

/* Add an array from outside.  `dims` has `rank` dimension numbers, all different. */
uint32_t graph_input(struct graph *graph, const char *name, enum shd_dtype dtype,
                     const uint32_t *dims, uint32_t rank, struct kern_source source);
uint32_t graph_param(struct graph *graph, const char *name, enum shd_dtype dtype,
                     const uint32_t *dims, uint32_t rank, struct kern_source source);

/* Product of `a` and `b` with the result's dimensions in any order, each of which an operand must
 * have.  Dimensions that only one operand has and the result lacks are summed first, by a node of
 * their own.
 */
uint32_t graph_einsum(struct graph *graph, const char *name, uint32_t a, uint32_t b,
                      const uint32_t *dims, uint32_t rank);

/* The same with dimensions of the operands renamed.  Nothing is summed beforehand: a dimension that
 * the result lacks is one of both operands.  No gradient passes. */
uint32_t graph_einsum_renamed(struct graph *graph, const char *name, uint32_t a, uint32_t b,
                              const struct graph_renames *renames, const uint32_t *dims,
                              uint32_t rank);

/* a where the condition is not 0, else b.  The result has the dimensions of the operand with most,
 * then those that only others have; the condition may be of another type than a and b. */
uint32_t graph_select(struct graph *graph, const char *name, uint32_t condition, uint32_t a,
                      uint32_t b);

/* fn(a) or fn(a, b); the result has a's dimensions, then those that only b has.  `b` is GRAPH_NONE
 * for functions of one operand; `scalar` is for functions that take one. */
uint32_t graph_map(struct graph *graph, const char *name, enum kern_fn fn, uint32_t a, uint32_t b,
                   double scalar);

/* a converted to another type by rounding each element; of a partial sum over devices, each part is
 * rounded.  Returns `a` itself if it has the type already. */
uint32_t graph_convert(struct graph *graph, const char *name, enum shd_dtype dtype, uint32_t a);

/* Reduce over all dimensions not in `dims`, which must be dimensions of `a`.  SHD_MEAN is a sum and
 * a scaling. */
uint32_t graph_reduce(struct graph *graph, const char *name, enum shd_reduce_op op, uint32_t a,
                      const uint32_t *dims, uint32_t rank);

/* Add a constraint: a name under which a sharding may be asked for. */
uint32_t graph_constraint(struct graph *graph, const char *name, uint32_t a);

/* Let no gradient pass from a node to its operands. */
void graph_stop_gradient(struct graph *graph, uint32_t node);

/* ---- ops of one file each, in ops/ ---- */

struct graph_attention {
    double scale; /* of the scores */
    double cap;   /* scores are cap * tanh(score / cap); 0: as they are */
    bool causal;  /* query s sees the keys t <= s in order of storage; blocks must be 1 */
    /* Data-defined mask in place of `causal`, all three or none (GRAPH_NONE, NULL): spans[batch,
     * seq, span] of the queries (without batch if there are no documents) and positions[keys] of
     * the keys, both int32 and in order of storage; span has size 2: the first and last position
     * that a query sees.  Both are filled from `sight`, a result of graph_sight(), by which plans
     * count. */
    uint32_t spans, positions;
    const struct kern_sight *sight;
    uint32_t table; /* [batch, entries]: with sight->pages, where keys and values lie: k and v are
                       [pools, slots, kv_heads, ..]; else GRAPH_NONE */
    /* Queries and keys are cut into `blocks` equal blocks (0 means 1); a block of queries sees only
     * the block of keys in the same place. */
    uint32_t blocks;
    int64_t shift;   /* blocks, 0..blocks-1, by which k and v (and positions) were moved around:
                        their block b is block (b - shift) mod blocks of the sequence */
    uint32_t before; /* an attention of the same q to other keys, with `more` set, whose o and
                        lse this one continues; or GRAPH_NONE */
    bool more;       /* a later attention continues this one: o has the type of lse */
    uint32_t sinks;  /* [heads]: one more score of each query, of a key without a value; not with
                        `more`; or GRAPH_NONE */
};

#define GRAPH_ATTENTION_INIT                                                                 \
    .spans = GRAPH_NONE, .positions = GRAPH_NONE, .table = GRAPH_NONE, .before = GRAPH_NONE, \
    .sinks = GRAPH_NONE /* all else 0 */

/* Attention of q[batch, seq, heads, head_dim] to k[batch, keys, kv_heads, head_dim] and v[batch,
 * keys, kv_heads, value_dim]: names of dimensions may differ, their order may not; heads must be a
 * multiple of kv_heads.  Returns o[batch, seq, heads, value_dim]; its extra is lse[batch, seq,
 * heads], float32 for 16-bit types, of all scores and the sink.  For a query that sees no key, o is
 * 0 and lse -infinity. */
uint32_t graph_attention(struct graph *graph, const char *name, uint32_t q, uint32_t k, uint32_t v,
                         const struct graph_attention *opts);

/* The gradient of an attention to some keys: q, k, v and `opts` as for the attention, except
 * `before` and `more`; o and lse of all keys together, and the gradient of o.  Returns dq; its
 * extras are dk and dv; `names` are the names of the three. */
uint32_t graph_attention_grad(struct graph *graph, const char *const names[3],
                              const uint32_t qkv[3], uint32_t o, uint32_t lse, uint32_t grad,
                              const struct graph_attention *opts);

/* Linear attention (kern/linear_attention.h) of q, k[batch, seq, heads, key_dim] and v[batch, seq,
 * heads, value_dim]; returns o[batch, seq, heads, value_dim].  With `ends` its extra is the state
 * behind the last token, of which the backward phase has no gradient. */
struct graph_linear_attention {
    uint32_t decay; /* [batch, seq, heads] or [batch, seq, heads, key_dim], the operands' type or
                       float32: logarithms of the factors; or GRAPH_NONE */
    uint32_t beta;  /* [batch, seq, heads]: the delta rule's steps; or GRAPH_NONE: k v^T is added */
    uint32_t state; /* [batch, heads, key_dim, value_dim] before the first token, float32 for 16-bit
                       types; or GRAPH_NONE: 0 */
    bool ends;
    int64_t chunk; /* 0: GRAPH_LINEAR_CHUNK */
};

#define GRAPH_LINEAR_CHUNK 64 /* tokens, as in most implementations */

uint32_t graph_linear_attention(struct graph *graph, const char *name, uint32_t q, uint32_t k,
                                uint32_t v, const struct graph_linear_attention *opts);

/* A rotation of all pairs of x along `pair_dim` (an even extent), or of `npairs`, with the
 * frequencies of `theta` and a factor of 1; all of it may be changed before it is used.  Lives as
 * long as the graph; NULL, with an error in the graph, if it cannot be. */
struct kern_rotation *graph_rotation(struct graph *graph, uint32_t x, uint32_t pair_dim,
                                     double theta, bool interleaved);
struct kern_rotation *graph_rotation_pairs(struct graph *graph, int64_t npairs, double theta,
                                           bool interleaved);

/* Rotate pairs along `pair_dim` by position along `position_dim`, which starts at `position0`. The
 * rotation lives as long as the graph. */
uint32_t graph_rope(struct graph *graph, const char *name, uint32_t x, uint32_t position_dim,
                    uint32_t pair_dim, int64_t position0, const struct kern_rotation *rotation);

/* The same, with element i along the dimension of positions[seq] (int32) at position
 * positions[i]. */
uint32_t graph_rope_at(struct graph *graph, const char *name, uint32_t x, uint32_t positions,
                       uint32_t pair_dim, const struct kern_rotation *rotation);

/* x where key <= query, else `masked`. */
uint32_t graph_causal_mask(struct graph *graph, const char *name, uint32_t x, uint32_t query_dim,
                           uint32_t key_dim, double masked);

/* Rows of table[rows, ...] by ids (int32): dimensions of ids, then those behind the rows. */
uint32_t graph_embed(struct graph *graph, const char *name, uint32_t table, uint32_t ids);

/* The other way: the elements of x, which has the dimensions of ids and others behind them, added
 * up in the rows of `dim` that the ids number: [dim, others]. */
uint32_t graph_embed_add(struct graph *graph, const char *name, uint32_t x, uint32_t ids,
                         uint32_t dim);

/* The elements of x along `dim` at the given ids (int32): ids has x's other dimensions in x's
 * order, and may have more behind them, for a token's choices. */
uint32_t graph_pick(struct graph *graph, const char *name, uint32_t x, uint32_t ids, uint32_t dim);

/* The other way: the elements of x, which has the dimensions of ids, added up along the new
 * dimension `dim` at the given ids; the last `nchoices` dimensions of ids number several elements
 * of one place, and the result lacks them. */
uint32_t graph_pick_add(struct graph *graph, const char *name, uint32_t x, uint32_t ids,
                        uint32_t dim, uint32_t nchoices);

/* x with `from_dim` repeated to `to_dim`, whose size is a multiple: element i is element i / times
 * of x.  Equal sizes only rename the dimension. */
uint32_t graph_repeat(struct graph *graph, const char *name, uint32_t x, uint32_t from_dim,
                      uint32_t to_dim);

/* The array [dims] of codes and scales (kern/quant.h), in the scales' type or another: both have
 * its rank, and dimensions that graph_dim_of() made of its own, in this order; codes are int8, or
 * of 4 bits uint8, two to a byte along one dimension.  Has no gradient. */
uint32_t graph_dequantize(struct graph *graph, const char *name, enum kern_quant_type type,
                          enum shd_dtype dtype, uint32_t codes, uint32_t scales,
                          const uint32_t *dims, uint32_t rank);

/* x as codes of 4 bits with a scale of each `box` elements along its last dimension, which it
 * divides into pairs: uint8, two to a byte.  Its extra are the scales, of MXFP4 uint8, else
 * float32.  graph_restore() is graph_dequantize() of such, which are no weight's. */
uint32_t graph_quantize(struct graph *graph, const char *name, enum kern_quant_type type,
                        uint32_t x, int64_t box);
uint32_t graph_restore(struct graph *graph, const char *name, enum kern_quant_type type,
                       enum shd_dtype dtype, uint32_t codes, uint32_t scales, const uint32_t *dims,
                       uint32_t rank);

/* Elements [start, start + size of to_dim) of x along `dim`, which becomes `to_dim`. */
uint32_t graph_slice(struct graph *graph, const char *name, uint32_t x, uint32_t dim,
                     uint32_t to_dim, int64_t start);

/* Elements of x along `dim`, which becomes `to_dim`: element `from` + k * `from_step` goes to place
 * `to` + k * `to_step`, for as many k from 0 on as are in both dimensions, and `fill` to all other
 * places: slices with a stride, reversal, padding also between elements.  Steps are not 0; an error
 * if there is no element. */
struct graph_placing {
    int64_t from, to, from_step, to_step;
    double fill;
};
uint32_t graph_placed(struct graph *graph, const char *name, uint32_t x, uint32_t dim,
                      uint32_t to_dim, const struct graph_placing *placing);

/* a, then b, along a's `a_dim` and b's `b_dim`, which become `to_dim`; all other dimensions are
 * equal and in the same order. */
uint32_t graph_concat(struct graph *graph, const char *name, uint32_t a, uint32_t a_dim, uint32_t b,
                      uint32_t b_dim, uint32_t to_dim);

/* x with `window_dim` and `tap_dim` in place of `dim`: the windows of a convolution or pooling.
 * `window_dim` may be `dim`. */
uint32_t graph_windows(struct graph *graph, const char *name, uint32_t x, uint32_t dim,
                       uint32_t window_dim, uint32_t tap_dim, const struct graph_taps *how);

/* The other way: x with `dim` in place of windows and taps, which are added up at their elements;
 * the taps' dimension follows that of windows. */
uint32_t graph_windows_add(struct graph *graph, const char *name, uint32_t x, uint32_t window_dim,
                           uint32_t tap_dim, uint32_t dim, const struct graph_taps *how);

/* Each element of x combined with all before it along `dim`, or with `reverse` all behind it; of a
 * recurrence (KERN_SCAN_LINEAR) h = a * h + x with the h before, for `a` of x's dimensions, else
 * GRAPH_NONE. */
uint32_t graph_scan(struct graph *graph, const char *name, enum kern_scan_fn fn, uint32_t x,
                    uint32_t a, uint32_t dim, bool reverse);

/* `array` with rows in place of some of its elements along `dim`: `rows` has the array's dimensions
 * but for `dim`, in whose place it has those of `places` (int32) that the array lacks; `places` may
 * have the dimensions before `dim`, too.  A place that the array lacks is passed over.  If the
 * result is the next value of `array`, nothing but the rows is moved.  Has no gradient. */
uint32_t graph_append(struct graph *graph, const char *name, uint32_t array, uint32_t rows,
                      uint32_t places, uint32_t dim);

/* x with its elements moved along `dim`, cyclically: element i of the result is element i - `by` of
 * x.  If `dim` is sharded, devices pass their shards on. */
uint32_t graph_shift(struct graph *graph, const char *name, uint32_t x, uint32_t dim, int64_t by);

/* The elements of x, in the order of storage, with other dimensions of as many elements. */
uint32_t graph_reshape(struct graph *graph, const char *name, uint32_t x, const uint32_t *dims,
                       uint32_t rank);

/* The sum of x over the microbatches of a step, complete after the last one.  The optimizer's phase
 * reads values of the microbatches only through such sums.  `dtype` is the type of the sum. */
uint32_t graph_accumulate(struct graph *graph, const char *name, enum shd_dtype dtype, uint32_t x);

/* ---- mixtures of experts ----
 *
 * Tokens [batch, seq] name experts: ids[batch, seq, choice], int32, -1 where there is no choice.
 * Rows of the batch are cut into equal groups with queues of their own.  Experts keep their tokens
 * in rows [expert, slot, ..]: group g's are slots [g * capacity, (g + 1) * capacity).  What is
 * beyond an expert's count in a group is zero, and neither computed nor sent. */

/* A routing that the graph holds. */
const struct kern_routing *graph_routing(struct graph *graph, const struct kern_routing_spec *spec);

/* The same to the places of copies: `more` of them beside the experts', on `devices`, which divide
 * all places; the specification's capacity is that of a copy. */
const struct kern_routing *graph_routing_to_copies(struct graph *graph,
                                                   const struct kern_routing *routing,
                                                   const struct kern_routing_spec *spec,
                                                   uint32_t more, uint32_t devices);

/* Indices of the largest scores along `dim`, the last dimension, which becomes `choice_dim` with
 * one entry per choice: largest first, ties by lowest index, NaN above all numbers.  `limits` may
 * be NULL.  Has no gradient. */
uint32_t graph_topk(struct graph *graph, const char *name, uint32_t scores, uint32_t dim,
                    uint32_t choice_dim, const struct graph_limits *limits);

/* The places of the copies (kern/copies.h) that tokens go to, for ids[batch, seq, choice] of
 * experts, -1 where there is no choice: what takes the place of ids in the calls below.  Tokens are
 * numbered in each group of the routing. */
uint32_t graph_deal(struct graph *graph, const char *name, uint32_t ids,
                    const struct kern_routing *routing);

/* Slots in the queues of experts for ids[batch, .., choice], -1 if dropped, by the routing's
 * capacity and order.  Further result (extras[0]): counts[group_dim, expert_dim], int32, the number
 * that each expert keeps of each group; the sizes of these dimensions are the numbers of groups and
 * experts. */
uint32_t graph_slots(struct graph *graph, const char *name, uint32_t ids,
                     const struct kern_routing *routing, uint32_t group_dim, uint32_t expert_dim);

/* How many ids name each element of `expert_dim`, in a floating-point type. */
uint32_t graph_count(struct graph *graph, const char *name, enum shd_dtype dtype, uint32_t ids,
                     uint32_t expert_dim);

/* As graph_einsum(), of arrays with the dimensions expert (as in counts) and `slot_dim`: slots
 * beyond the counts count as zeros, in operands and result.  `a` has both dimensions, and b has
 * slots if the result lacks them; the experts' dimension comes first in every array, then the
 * slots'. */
uint32_t graph_grouped(struct graph *graph, const char *name, uint32_t a, uint32_t b,
                       uint32_t counts, const struct kern_routing *routing, uint32_t slot_dim,
                       const uint32_t *dims, uint32_t rank);

/* Rows[expert, slot, width], copied from src[batch, seq, width] or [batch, seq, choice, width];
 * zeros in empty slots. */
uint32_t graph_dispatch(struct graph *graph, const char *name, uint32_t src, uint32_t ids,
                        uint32_t slots, uint32_t expert_dim, uint32_t slot_dim, uint32_t groups,
                        const struct kern_routing *routing);

/* Copies of rows[expert, slot, width] at [batch, seq, choice, width]; zeros for dropped choices. */
uint32_t graph_combine(struct graph *graph, const char *name, uint32_t rows, uint32_t ids,
                       uint32_t slots, uint32_t groups, const struct kern_routing *routing);

/* Rows[expert, slot, width] added up over the choices of each token, in float32 or wider:
 * [batch, seq, width]. */
uint32_t graph_combine_sums(struct graph *graph, const char *name, uint32_t rows, uint32_t ids,
                            uint32_t slots, uint32_t groups, const struct kern_routing *routing);

/* Note that the gradient of a dispatch, derived later, adds up the rows of a token where they
 * are: it is a graph_combine_sums(). */
void graph_dispatch_sums(struct graph *graph, uint32_t node);

/* ---- products of 8 and 4 bits ---- */

/* The largest magnitudes of x's groups, with the dimensions `dims`. */
uint32_t graph_amax(struct graph *graph, const char *name, uint32_t x,
                    const struct graph_coding *coding, const uint32_t *dims, uint32_t rank);

/* A rounded array: its codes, and the magnitudes of its groups and, with twofold scales, of its
 * parts (else GRAPH_NONE).  Codes of e2m1 may be bytes of two, along a dimension of pairs. */
struct graph_codes {
    uint32_t codes, amax, whole;
    struct graph_coding coding;
};

/* Set out->codes to x rounded as the other fields say. */
void graph_encode(struct graph *graph, const char *name, uint32_t x, struct graph_codes *out);

/* The array that codes stand for, in the magnitudes' type. */
uint32_t graph_decode(struct graph *graph, const char *name, const struct graph_codes *codes);

/* As graph_einsum() of two rounded arrays; the result has the magnitudes' type.  No gradient
 * passes: gradients are derived from products that are not rounded (products.h). */
uint32_t graph_coded(struct graph *graph, const char *name, const struct graph_codes *a,
                     const struct graph_codes *b, const uint32_t *dims, uint32_t rank);

/* As graph_grouped() of two rounded arrays, in place of a node of that kind, whose counts are
 * `counts` here. */
uint32_t graph_coded_grouped(struct graph *graph, const struct graph_codes *a,
                             const struct graph_codes *b, uint32_t counts,
                             const struct graph_node *product);

/* x with its dimensions in another order. */
uint32_t graph_transpose(struct graph *graph, const char *name, uint32_t x, const uint32_t *dims,
                         uint32_t rank);

/* ---- for files in ops/ ---- */

/* Whether an operand is usable: no error so far, and the node exists. */
bool graph_usable(const struct graph *graph, uint32_t node);

/* A node with one operand, of its type and dimensions, not yet added. */
struct graph_node graph_like(const struct graph *graph, enum graph_op op, uint32_t x);

/* Add a node of any op, with a name; checks dimensions and operands. */
uint32_t graph_add(struct graph *graph, const struct graph_node *node, const char *name);

/* Add a further result of a node. */
uint32_t graph_add_extra(struct graph *graph, uint32_t node, const char *name, enum shd_dtype dtype,
                         const uint32_t *dims, uint32_t rank);

/* Make a node an output of the computation. */
void graph_output(struct graph *graph, enum graph_output_kind kind, const char *name, uint32_t node,
                  uint32_t of);

/* A copy that computes in another type: every floating-point array becomes `dtype`.  Names,
 * dimensions and outputs are shared with the original, which must outlive the copy.  NULL: no
 * memory. */
struct graph *graph_in_dtype(const struct graph *graph, enum shd_dtype dtype);

/* Index of a dimension in a node's array (its rank if it lacks the dimension), and whether it has
 * the dimension. */
uint32_t graph_place(const struct graph_node *node, uint32_t dim);
bool graph_has_dim(const struct graph_node *node, uint32_t dim);

/* The value that a node is, perhaps converted or under a name of its own. */
uint32_t graph_origin(const struct graph *graph, uint32_t node);

/* The dimension that a node reads `dim` of operand k as. */
uint32_t graph_read_as(const struct graph_node *node, uint32_t k, uint32_t dim);

/* Extents of a node's array, and how many elements it has. */
void graph_shape(const struct graph *graph, uint32_t node, int64_t *shape);
double graph_elements(const struct graph *graph, const struct graph_node *node);

const char *graph_phase_name(enum graph_phase phase);

#endif /* GRAPH_GRAPH_H */
