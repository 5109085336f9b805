/* kern.h - local math on one device's shard; every kernel has its flops and bytes beside it.
 *
 * Kernels know nothing of devices or meshes: they get extents, strides and pointers.  Strides are
 * in elements.  All arithmetic is in the element type, but 16-bit floats are computed in float32
 * and rounded once when stored.  Results do not depend on the number of threads or on the
 * processor count.  Kernels allocate nothing: the caller brings the workspace they ask for.  They
 * return the flops that their loops did, which is what their figure says.
 *
 * Thread class: pure functions of their arguments; callable from any number of threads at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_KERN_H
#define KERN_KERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/dtype.h>
#include <shd/sharding.h>

#include "kern/sight.h"

/* Three arrays of 12 dimensions each, none of them shared. */
#define KERN_DIMS_MAX 36

struct file_bytes;   /* base/file.h */
struct stored_array; /* base/stored_array.h */
struct kern_copies;  /* copies.h */
struct kern_quant;   /* quant.h */
struct kern_routing; /* routing.h */

/* Whole numbers: ids and codes, which are never rounded, summed over devices, or converted. */
static inline bool kern_is_whole(enum shd_dtype dtype)
{
    return dtype == SHD_I32 || dtype == SHD_I8 || dtype == SHD_U8;
}

/* ---- einsum: c[..] = sum of a[..] * b[..] over the dimensions that c lacks ---- */

struct kern_einsum {
    enum shd_dtype dtype;
    uint32_t ndims;
    int64_t extent[KERN_DIMS_MAX];
    uint32_t a_has, b_has, c_has;    /* bit d: the array has dimension d */
    int64_t a_stride[KERN_DIMS_MAX]; /* where it has the dimension */
    int64_t b_stride[KERN_DIMS_MAX];
    int64_t c_stride[KERN_DIMS_MAX];
};

/* Bytes of scratch for kern_einsum_run(), equal on every machine; 0 so far, as every layout is read
 * in place or packed on the stack (below 64 KiB). */
uint64_t kern_einsum_workspace_bytes(const struct kern_einsum *e);
uint64_t kern_einsum_flops(const struct kern_einsum *e); /* 2 per multiply-add */
uint64_t kern_einsum_bytes(const struct kern_einsum *e); /* operands read + result written, once */
uint64_t kern_einsum_run(const struct kern_einsum *e, const void *a, const void *b, void *c,
                         void *workspace, int nthreads);

/* ---- map: an elementwise expression, evaluated block by block in the first-level cache ---- */

enum kern_fn {
    KERN_COPY,
    KERN_ADD,
    KERN_SUB,
    KERN_MUL,
    KERN_DIV,
    KERN_MAX,
    KERN_MIN,
    KERN_NEG,
    KERN_EXP,
    KERN_LOG,
    KERN_SQRT,
    KERN_RSQRT,
    KERN_TANH,
    KERN_RELU,
    KERN_SIGMOID,
    KERN_GELU,       /* 0.5x(1+tanh(sqrt(2/pi)(x+0.044715x^3))) */
    KERN_GELU_GRAD,  /* derivative of gelu at the operand */
    KERN_GELU_EXACT, /* x * the normal distribution's cumulative function at x */
    KERN_GELU_EXACT_GRAD,
    KERN_SILU, /* x*sigmoid(x) */
    KERN_SILU_GRAD,
    KERN_QUICK_GELU, /* x*sigmoid(1.702x) */
    KERN_QUICK_GELU_GRAD,
    KERN_RELU_SQUARED,
    KERN_STEP,       /* 1 where x > 0, else 0: the derivative of relu */
    KERN_EQUAL,      /* 1 where a == b, else 0 */
    KERN_SCALE,      /* x * scalar */
    KERN_ADD_SCALAR, /* x + scalar */
    KERN_FILL,       /* scalar; no operand */
    KERN_FINITE,     /* 1 where x is finite, else 0 */
    KERN_GATE,       /* a where b is not 0; else 0, whatever a is */
    KERN_SIN,
    KERN_COS,
    KERN_TAN,
    KERN_EXP2,  /* 2^x */
    KERN_LOG1P, /* log(1 + x) */
    KERN_EXPM1, /* exp(x) - 1 */
    KERN_ERF,
    KERN_ERFC,  /* 1 - erf(x) */
    KERN_ATAN2, /* the angle of (x, y) = (b, a) */
    KERN_POW,
    KERN_REM, /* of the division a / b that is rounded towards 0: it has the sign of a */
    KERN_ABS,
    KERN_SIGN,
    KERN_FLOOR,
    KERN_CEIL,
    KERN_ROUND, /* halves to even */
    KERN_LESS,  /* a comparison is 1 where it holds, else 0 */
    KERN_LESS_EQUAL,
    KERN_NOT_EQUAL,
    KERN_AND, /* of truth: what is not 0 is true */
    KERN_OR,
    KERN_XOR,
    KERN_NOT,
    KERN_BIT_AND, /* of whole numbers alone, as words of 32 bits */
    KERN_BIT_OR,
    KERN_BIT_XOR,
    KERN_BIT_NOT,
    KERN_SHIFT_LEFT,
    KERN_SHIFT_RIGHT,          /* zeros follow; by 32 and more, or by less than 0, it is 0 */
    KERN_SELECT,               /* a where c is not 0, else b */
    KERN_NSAME,                /* all functions above have operands and result of one type */
    KERN_CONVERT = KERN_NSAME, /* type conversion of the operand */
    KERN_NFNS
};

/* In which operands an operation is linear, so that the results of partial sums are partial sums of
 * the result. */
enum kern_linear {
    KERN_NOT_LINEAR,
    KERN_LINEAR_IN_FIRST, /* in the first operand alone, as a quotient */
    KERN_LINEAR_IN_EACH,  /* in each operand while the other is fixed, as a product */
    KERN_LINEAR_IN_ALL    /* in all operands together, as a sum */
};

/* How a function rounds its result in float32 (map_error.c). */
enum kern_rounding {
    KERN_EXACT,         /* not at all: the result is exact, or an operand */
    KERN_ROUNDED,       /* correctly, once */
    KERN_CURVED,        /* by an approximation of math32.h */
    KERN_CURVED_INSIDE, /* ... whose argument is rounded, too */
    KERN_CURVED_SUM     /* ... that ends in a sum with terms of size 1 */
};

/* The numbers that a function takes. */
enum kern_takes { KERN_FRACTIONS, KERN_WHOLE, KERN_NUMBERS };

/* What is true of each function: whoever needs to know asks here. */
struct kern_fn_info {
    const char *name; /* as written in graphs: "gelu" */
    uint8_t noperands; /* up to KERN_OPERANDS_MAX */
    bool has_scalar;
    uint8_t flops; /* per element, by convention */
    enum kern_linear linear;
    enum kern_rounding rounding;
    enum kern_takes takes;
    const char *jax; /* as JAX spells it: $a, $b and $c are the operands, $s the scalar */
};
extern const struct kern_fn_info kern_fns[KERN_NFNS];

#define KERN_OPERANDS_MAX 3
#define KERN_MAP_INPUTS_MAX 8
#define KERN_MAP_INSTRS_MAX 16

/* If any array is float64 everything is computed in float64.  Registers 0..ninputs-1 are the
 * inputs; instruction i writes register ninputs+i; the last instruction's register is the
 * result.  The last operand of a gate and of a selection may be of any type. */
struct kern_instr {
    enum kern_fn fn;
    uint8_t src[KERN_OPERANDS_MAX];
    double scalar;
};

struct kern_map {
    enum shd_dtype dtype; /* of the result */
    enum shd_dtype in_dtype[KERN_MAP_INPUTS_MAX];
    uint32_t ndims;
    int64_t extent[KERN_DIMS_MAX];
    int64_t out_stride[KERN_DIMS_MAX];
    uint32_t ninputs;
    int64_t in_stride[KERN_MAP_INPUTS_MAX][KERN_DIMS_MAX]; /* 0 broadcasts */
    uint32_t ninstrs;
    struct kern_instr instrs[KERN_MAP_INSTRS_MAX];
};

uint64_t kern_map_flops(const struct kern_map *m);
uint64_t kern_map_bytes(const struct kern_map *m);
/* `out` may be one of the inputs when their strides are equal. */
uint64_t kern_map_run(const struct kern_map *m, const void *const *inputs, void *out, int nthreads);

/* ---- reduce: out[..] = sum, max or min of in[..] over the dimensions that out lacks ---- */

struct kern_reduce {
    enum shd_dtype dtype;
    enum shd_reduce_op op; /* not SHD_MEAN */
    uint32_t ndims;
    int64_t extent[KERN_DIMS_MAX];
    int64_t in_stride[KERN_DIMS_MAX];
    uint32_t out_has;
    int64_t out_stride[KERN_DIMS_MAX];
};

uint64_t kern_reduce_flops(const struct kern_reduce *r);
uint64_t kern_reduce_bytes(const struct kern_reduce *r);
uint64_t kern_reduce_run(const struct kern_reduce *r, const void *in, void *out, int nthreads);

/* ---- moving ---- */

/* Copy a box of elements of `elem_bytes` each between two strided arrays.  Returns how many it
 * copied. */
uint64_t kern_copy_box(size_t elem_bytes, uint32_t ndims, const int64_t *extent, void *dst,
                       const int64_t *dst_stride, const void *src, const int64_t *src_stride);

/* dst[i] = dst[i] op srcs[0][i] op srcs[1][i] .. in this order; SHD_MEAN combines as a sum (scale
 * by kern_scale afterwards). */
void kern_combine(enum shd_dtype dtype, enum shd_reduce_op op, void *dst, const void *const *srcs,
                  uint32_t nsrcs, uint64_t count);
void kern_scale(enum shd_dtype dtype, void *dst, double factor, uint64_t count);

/* ---- data ---- */

/* An array's elements in a longer sequence: element i is number
 * first + step * per_step + microbatch * per_microbatch + (i / columns) * row + i % columns of
 * that, modulo 2^64, or with columns = 0 ... + i.  So the rows of a batch of tokens, and those of
 * the next; or with row = -1 the distances between places of two sequences. */
struct kern_place {
    uint64_t first, per_step, per_microbatch, columns, row;
};

/* Arrays of integers that tell a kernel which keys are seen: spans[row, extent, 2] (without rows if
 * there are no documents), for each query in memory order the first and last position that it sees;
 * positions[extent], of each key in memory order.  Of a sight with queries of their own: spans of
 * these, over and over if the array is longer; queries[count], their positions; places[count],
 * their indices among the keys, or with pages the slots of each sequence's, [pools, rows, count];
 * table[batch, entries], the pages of each sequence's keys. */
enum kern_sight_array { KERN_SPANS, KERN_POSITIONS, KERN_QUERIES, KERN_PLACES, KERN_TABLE };

/* What a tensor's elements are: u(i) = (i*2654435761 + seed) mod 2^32 with i the row-major index in
 * the whole array, or what `place` makes of it; the value is (u/2^32 - 0.5)*scale + offset rounded
 * to float32, then to `rounded`, then to the array's own type: so that a float64 array can hold
 * exactly what a bfloat16 one does.
 * With `modulus` m > 0 instead (u >> 8) mod m, a whole number; with `index` simply i; with
 * `by_step` the value of that step in every element, rounded as above; with `bytes` the byte at
 * that place, as whole numbers that follow each other in a ring, and with `file` those of a file
 * (whoever fills asks file_bytes_check() whether they were there); with `stored` the values of an
 * array of a file, from place.per_step times the step on and rounded as above (array_file_check());
 * with `routing` the experts of each token (routing.h). With an `order` of extent > 0 a dimension
 * is a sequence of that extent which lies in that order: each element is what would be at its
 * token's position; `inner` are the elements of a token.  With `copies` the array is of these, each
 * of which has the elements of its expert in an array of the experts.  With `sight` an array of
 * what is seen, in every microbatch the same, and in every step but for queries of their own. */
struct kern_source {
    uint32_t seed;
    double scale, offset;
    uint32_t modulus;
    enum shd_dtype rounded; /* SHD_F32 (0): no further rounding */
    bool index;
    struct kern_place place;
    const double *by_step; /* not owned; later steps use the last of `nsteps` values */
    uint32_t nsteps;
    const uint8_t *bytes; /* not owned; NULL: none */
    uint64_t nbytes;
    struct file_bytes *file; /* not owned; NULL: none */
    const struct stored_array *stored; /* not owned; NULL: none */
    struct kern_order order;
    int64_t inner; /* of an order: consecutive elements of each token; 0 is 1 */
    const struct kern_copies *copies; /* not owned; NULL: none */
    const struct kern_sight *sight; /* not owned; NULL: none */
    enum kern_sight_array sight_array;
    int64_t moved; /* of positions: places by which the keys were moved on, around the sequence */
    const struct kern_routing *routing; /* not owned; NULL: none */
    const struct kern_quant *quant;     /* not owned; NULL: none */
    uint32_t quant_part;                /* enum kern_quant_part */
    uint32_t step, microbatch; /* the step and microbatch to fill for, from 0 */
};

/* Whether a source's values differ between steps, or between microbatches of a step. */
bool kern_source_changes(const struct kern_source *source);

/* Whether a source's values are one number, the same for all elements and steps. */
bool kern_source_is_number(const struct kern_source *source);

/* Read n values of a stored array from number `first` on, `stride` values apart. */
void kern_stored_values(const struct stored_array *stored, int64_t first, int64_t stride, size_t n,
                        double *out);

/* Whether a floating-point type can represent all values of another. */
bool kern_holds(enum shd_dtype dtype, enum shd_dtype other);

/* A value rounded to a type. */
double kern_round(enum shd_dtype dtype, double value);

/* Fill a shard, stored row-major: `extent` elements for each dimension from `offset` of an array of
 * `shape`. */
void kern_fill(const struct kern_source *source, enum shd_dtype dtype, uint32_t rank,
               const int64_t *shape, const int64_t *offset, const int64_t *extent, void *out);

/* The result of comparing; start with zeros. */
struct kern_difference {
    double ratio;       /* the largest |got - want| / allowed; infinity where nothing is allowed */
    int64_t at;         /* its index: row-major, in the whole array */
    double got, want, allowed; /* at that index */
    double most, size;  /* the largest |got - want|, and |want|, where both are finite */
    double widest;      /* the largest finite `allowed` */
    uint64_t nopen;     /* places where any value is allowed */
    uint64_t infinite, nan; /* places where `got` is infinite, and where it is not a number */
};

/* Compare a shard with the same slice of a whole float64 array `want` (row-major, of `shape`), and
 * update the maxima and counts in *d.  Each element may be off by its own `allowed` (NULL:
 * nothing); infinity leaves it open.  NaN or infinity in one must be equal in the other, and does
 * not count in `most` and `size`. */
void kern_compare(enum shd_dtype dtype, uint32_t rank, const int64_t *shape, const int64_t *offset,
                  const int64_t *extent, const void *got, const double *want,
                  const double *allowed, struct kern_difference *d);

#endif /* KERN_KERN_H */
