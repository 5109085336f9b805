/* quant.h - arrays of few bits: codes of blocks that share a scale, and what makes floats of them.
 *
 * A block is a box of an array: `box` elements along each dimension.  An element is its code's
 * level times the scale of its block.  With 8 bits the levels are -127..127, and a scale is the
 * largest size in the block / 127 (LLM.int8, arXiv 2208.07339, without its outliers).  Types of 4
 * bits have 16 levels; two codes are a byte, the first in its upper half:
 *
 *   NF4    the quantiles of a normal distribution; a scale is the largest size in the block. Scales
 *          are quantized themselves: the mean of all is taken off, and the rest are codes of 8 bits
 *          in boxes of their own (QLoRA, arXiv 2305.14314; the linear levels are those of torchao)
 *   INT4   -8..7; a scale is the largest size / 7 (symmetric, without zero points)
 *   MXFP4  the numbers of e2m1; a scale is a power of two: that of the largest size, less 2, kept
 * as its exponent + 127 in a byte; what is larger than 6 then saturates (OCP Microscaling
 *          Formats 1.0)
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_QUANT_H
#define KERN_QUANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kern/kern.h"

#define KERN_QUANT_DIMS_MAX 12
#define KERN_QUANT_LEVELS 16
#define KERN_QUANT_BOXED_MAX 2 /* dimensions along which a box has several elements */

enum kern_quant_type { KERN_INT8, KERN_NF4, KERN_INT4, KERN_MXFP4, KERN_NQUANT_TYPES };

/* What the codes of a type of 4 bits stand for; NULL: of 8 bits. */
const float *kern_quant_levels(enum kern_quant_type type);

/* The scale of a block by the largest size in it, and as it is kept: of MXFP4, where it is a power
 * of two, by its exponent + 127, which kern_quant_scale() makes a number again. */
double kern_quant_scale_of(enum kern_quant_type type, double most);
double kern_quant_kept_scale(enum kern_quant_type type, double scale);
double kern_quant_scale(double exponent);

/* Of the types of 4 bits, the code of the level nearest to a value, of two the first; and how far
 * the farther neighbour of a code's level is. */
unsigned kern_quant_code(enum kern_quant_type type, double value, double scale);
double kern_quant_step(enum kern_quant_type type, unsigned code);

/* The parts of a quantized array. */
enum kern_quant_part {
    KERN_QUANT_CODES,
    KERN_QUANT_SCALES,      /* in a type of floats, of MXFP4 exponents, or instead ... */
    KERN_QUANT_SCALE_CODES, /* ... their codes, ... */
    KERN_QUANT_FACTORS,     /* ... the scales of these, ... */
    KERN_QUANT_MEAN         /* ... and the mean: one number */
};

/* How an array of `shape` is quantized.  Boxes divide it, and `outer` boxes the array of scales. */
struct kern_quant {
    const struct kern_source *of; /* the array's values */
    enum kern_quant_type type;
    uint32_t rank;
    uint32_t pair_dim; /* of 4 bits: the dimension along which two codes are a byte */
    int64_t shape[KERN_QUANT_DIMS_MAX];
    int64_t box[KERN_QUANT_DIMS_MAX], outer[KERN_QUANT_DIMS_MAX];
};

/* One element of a source's array. */
typedef double (*kern_element_fn)(const struct kern_source *source, uint64_t index);

/* The scales of an array before they are quantized, and their mean.  Without memory for the scales
 * each is found again whenever it is read. */
struct kern_quant_scales {
    double *each; /* NULL: no memory */
    double mean;
};
void kern_quant_scales_init(struct kern_quant_scales *out, const struct kern_quant *quant,
                            kern_element_fn element);
void kern_quant_scales_fini(struct kern_quant_scales *scales);

/* The elements first, first + stride, ... (n of them) of a part's array, row-major. */
void kern_quant_values(const struct kern_quant *quant, enum kern_quant_part part,
                       kern_element_fn element, const struct kern_quant_scales *scales,
                       int64_t first, int64_t stride, size_t n, double *out);

/* out = level of in[0] * in[1]: codes, int8 or two to a byte along `pair_dim`, and the scales of
 * boxes; all row-major.  offsets: of each of the `nboxed` dimensions, the first element of out and
 * the first scale.  No flops, as a conversion. */
struct kern_dequantize {
    enum shd_dtype dtype, scale_dtype;
    enum kern_quant_type type;
    uint32_t ndims, pair_dim, nboxed, boxed[KERN_QUANT_BOXED_MAX];
    int64_t extent[KERN_QUANT_DIMS_MAX]; /* of out */
    int64_t scales[KERN_QUANT_DIMS_MAX]; /* extents of in[1] */
    int64_t box[KERN_QUANT_DIMS_MAX];
};

/* out[0] = codes of in[0], `rows` of `width` elements, with out[1], the scales of each `box` of
 * them; of types of 4 bits, whose scales are of one number: INT4 and MXFP4.  The variance of a byte
 * of codes is that of the byte as a number: finite where its codes may be their neighbours.  No
 * flops, as a conversion. */
struct kern_quantize {
    enum shd_dtype dtype, scale_dtype;
    enum kern_quant_type type;
    int64_t rows, width, box;
};

#endif /* KERN_QUANT_H */
