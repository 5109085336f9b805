/* kern/coded.h - arrays of 8 or 4 bits: codes, and beside them the largest magnitudes from which
 * the codes' scales follow.
 *
 * An array x is cut into groups.  amax of a group is the largest magnitude in it; its scale maps
 * amax near the largest number of the code's type.  codes = x * scale, rounded to nearest (ties to
 * even) and saturated; a code times 1 / scale is the value again.  Groups may be the whole array,
 * rows, or blocks along one or two dimensions: a grid says where an element's amax lies.
 *
 * Scales are computed in float32 wherever they are needed, and so are the same on all devices.
 * Formats: arXiv 2209.05433 (e4m3, e5m2), OCP Microscaling Formats 1.0 (e2m1, scales of powers of
 * two), NVIDIA's NVFP4 (scales in e4m3 below a scale of the whole array).
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_CODED_H
#define KERN_CODED_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/dtype.h>

#include "kern/experts.h"
#include "kern/kern.h"
#include "kern/select.h"

enum kern_scaling {
    KERN_SCALE_EXACT,  /* largest / amax, in float32 */
    KERN_SCALE_POWER,  /* the largest power of two that does not push amax beyond the largest */
    KERN_SCALE_DOUBLE, /* 1 / (d * t): t, the scale of an array or of a device's part of one, is
                          that part's amax / (448 * largest), d is amax / (largest * t) in e4m3 */
    KERN_SCALE_KEPT,   /* the same of weights that were rounded before: in place of a group's amax d
                          is kept, in e4m3, and t in place of the whole array's */
};

/* Whether there are scales above those of the groups. */
static inline bool kern_scaling_is_twofold(enum kern_scaling scaling)
{
    return scaling == KERN_SCALE_DOUBLE || scaling == KERN_SCALE_KEPT;
}

#define KERN_COARSE_MAX 6 /* dimensions of an array that are cut into blocks or devices' parts */

/* A dimension cut into blocks of `each` elements, which begin anew after every `period` elements:
 * offsets[at] is the device's first element along it, offsets[at + 1] its first block. */
struct kern_coarse {
    uint32_t dim;
    int64_t each, period;
    uint32_t at;
};

/* An array, row-major, and where its magnitudes lie: at strides (0: one for the whole dimension;
 * for a dimension in blocks, the distance of two blocks). */
struct kern_grid {
    uint32_t ndims;
    int64_t extent[KERN_SELECT_DIMS_MAX], stride[KERN_SELECT_DIMS_MAX];
    uint32_t ncoarse;
    struct kern_coarse coarse[KERN_COARSE_MAX];
    uint64_t count;      /* magnitudes */
    enum shd_dtype code; /* SHD_F8E4M3, SHD_F8E5M2 or SHD_F4E2M1 */
    enum kern_scaling scaling;
    bool pairs;        /* two codes of e2m1 are a byte along dimension `pair_dim`, the first in its
                          upper half; else a code is a byte */
    uint32_t pair_dim; /* whose elements offsets count in bytes */
};

/* in: x; out: amax, of x's type */
struct kern_amax {
    enum shd_dtype dtype;
    struct kern_grid grid;
};

/* in: x, amax, and with KERN_SCALE_DOUBLE amax of each part; out: codes, float64 if dtype is, else
 * of type `code`.  `parts` says where the amax of an element's part lies; a group is in one part.
 */
struct kern_encode {
    enum shd_dtype dtype; /* of x and amax */
    struct kern_grid grid, parts;
};

/* A struct kern_encode describes the way back, too: in: codes, amax, ..; out: x, each element a
 * code multiplied by its scale in float32 (float64). */

/* in: codes of a, codes of b, amax of a, amax of b, and with twofold scales those of the parts
 * of a and of b; of experts' arrays then their counts; out: c, in dtype, each sum added up in
 * float32 (float64) and rounded once.  Of experts' arrays offsets[0] is the device's first expert,
 * and those of blocks follow. */
struct kern_coded {
    enum shd_dtype dtype; /* of c and amax */
    struct kern_grouped
        product; /* of a and b, row-major; but for experts' arrays only its einsum */
    struct kern_grid a, b, a_parts, b_parts;
};

/* The largest number of a code's type. */
double kern_code_largest(enum shd_dtype code);

/* A value rounded to a code's type, saturated; NaN stays NaN. */
double kern_code_round(enum shd_dtype code, double value);

/* What x is multiplied by to become a code, and what a code is multiplied by.  `whole`, the amax of
 * the group's part, is read with twofold scales only; with KERN_SCALE_KEPT both are scales. */
struct kern_scale {
    float to, from;
};
struct kern_scale kern_scale_of(enum shd_dtype code, enum kern_scaling scaling, float amax,
                                float whole);

/* The variance of a code times the `from` of its scale, given those of the code and of its amax,
 * from which the scale follows.  Where amax is 0, what is decoded is no larger than an amax that is
 * off. */
double kern_decoded_variance(double code, double from, double amax, double code_variance,
                             double amax_variance);

/* Set at[i] to the index of the amax of element `first` + i of row `row`, for n elements; rows are
 * those of the innermost dimension. */
void kern_grid_find(const struct kern_grid *grid, const int64_t *offsets, int64_t row,
                    int64_t first, size_t n, int64_t *at);

/* Elements of a row, 1 for an array without dimensions; and rows. */
int64_t kern_grid_width(const struct kern_grid *grid);
int64_t kern_grid_rows(const struct kern_grid *grid);
uint64_t kern_grid_elements(const struct kern_grid *grid);

/* The number of blocks along a dimension. */
int64_t kern_blocks(int64_t size, int64_t each, int64_t period);

union kern_desc;    /* kernel.h */
struct kern_kernel; /* kernel.h */

/* Whether a kernel is a product of codes, of which the description is a struct kern_coded. */
bool kern_multiplies_codes(const struct kern_kernel *kernel);

/* as_work() of the kernels, but for experts' products: offsets only say where magnitudes lie. */
uint64_t kern_coded_as_work(union kern_desc *desc, int64_t *offsets);

#endif /* KERN_CODED_H */
