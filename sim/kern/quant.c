/* The values of quantized arrays (quant.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/quant.h"

#include <math.h>
#include <stdlib.h>

/* QLoRA, appendix E. */
static const float nf4_levels[KERN_QUANT_LEVELS] = {
    -1.0f,
    -0.6961928009986877f,
    -0.5250730514526367f,
    -0.39491748809814453f,
    -0.28444138169288635f,
    -0.18477343022823334f,
    -0.09105003625154495f,
    0.0f,
    0.07958029955625534f,
    0.16093020141124725f,
    0.24611230194568634f,
    0.33791524171829224f,
    0.44070982933044434f,
    0.5626170039176941f,
    0.7229568362236023f,
    1.0f,
};

static const float int4_levels[KERN_QUANT_LEVELS] = {-8, -7, -6, -5, -4, -3, -2, -1,
                                                     0,  1,  2,  3,  4,  5,  6,  7};

/* A sign, two bits of exponent and one of mantissa. */
static const float e2m1_levels[KERN_QUANT_LEVELS] = {0,     0.5f,  1,  1.5f,  2,  3,  4,  6,
                                                     -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

#define E2M1_EXPONENT 2   /* of its largest number */
#define EXPONENT_BIAS 127 /* of a power of two in a byte */

const float *kern_quant_levels(enum kern_quant_type type)
{
    static const float *const levels[KERN_NQUANT_TYPES] = {
        [KERN_NF4] = nf4_levels, [KERN_INT4] = int4_levels, [KERN_MXFP4] = e2m1_levels};

    return levels[type];
}

double kern_quant_scale(double exponent)
{
    return ldexp(1, (int)exponent - EXPONENT_BIAS);
}

struct quantizing {
    const struct kern_quant *quant;
    kern_element_fn element;
    const struct kern_quant_scales *scales;
    uint64_t last; /* the outer box whose factor ... */
    double factor; /* ... this is */
};

/* Split a row-major index over extents. */
static void split(uint64_t index, uint32_t rank, const int64_t *extent, int64_t *at)
{
    for (uint32_t d = rank; d-- > 0;) {
        at[d] = (int64_t)(index % (uint64_t)extent[d]);
        index /= (uint64_t)extent[d];
    }
}

static uint64_t join(const int64_t *at, uint32_t rank, const int64_t *extent)
{
    uint64_t index = 0;

    for (uint32_t d = 0; d < rank; d++)
        index = index * (uint64_t)extent[d] + (uint64_t)at[d];
    return index;
}

static uint64_t product(const int64_t *extent, uint32_t rank)
{
    uint64_t n = 1;

    for (uint32_t d = 0; d < rank; d++)
        n *= (uint64_t)extent[d];
    return n;
}

static double element_at(const struct quantizing *q, const int64_t *at)
{
    return q->element(q->quant->of, join(at, q->quant->rank, q->quant->shape));
}

/* The extents of the array of scales, and of that of their factors. */
static void scale_shape(const struct kern_quant *k, int64_t *out)
{
    for (uint32_t d = 0; d < k->rank; d++)
        out[d] = k->shape[d] / k->box[d];
}

static void factor_shape(const struct kern_quant *k, int64_t *out)
{
    scale_shape(k, out);
    for (uint32_t d = 0; d < k->rank; d++)
        out[d] /= k->outer[d];
}

double kern_quant_scale_of(enum kern_quant_type type, double most)
{
    switch (type) {
    case KERN_NF4:
        return most;
    case KERN_INT4:
        return (double)((float)most / 7.0f);
    case KERN_MXFP4:
        return most > 0 ? exp2(fmax(-EXPONENT_BIAS, ilogb(most) - E2M1_EXPONENT)) : 0;
    default:
        return (double)((float)most / 127.0f);
    }
}

/* The scale of the block at `at`, counted in blocks, from its elements. */
static double find_scale(const struct quantizing *q, const int64_t *at)
{
    const struct kern_quant *k = q->quant;
    int64_t inside[KERN_QUANT_DIMS_MAX];
    double most = 0;

    for (uint64_t i = product(k->box, k->rank); i-- > 0;) {
        split(i, k->rank, k->box, inside);
        for (uint32_t d = 0; d < k->rank; d++)
            inside[d] += at[d] * k->box[d];
        most = fmax(most, fabs(element_at(q, inside)));
    }
    return kern_quant_scale_of(k->type, most);
}

static double scale_at(const struct quantizing *q, const int64_t *at)
{
    int64_t shape[KERN_QUANT_DIMS_MAX];

    if (!q->scales->each)
        return find_scale(q, at);
    scale_shape(q->quant, shape);
    return q->scales->each[join(at, q->quant->rank, shape)];
}

void kern_quant_scales_init(struct kern_quant_scales *out, const struct kern_quant *quant,
                            kern_element_fn element)
{
    const struct quantizing q = {.quant = quant, .element = element};
    int64_t shape[KERN_QUANT_DIMS_MAX], at[KERN_QUANT_DIMS_MAX];
    double sum = 0;
    uint64_t n;

    scale_shape(quant, shape);
    n = product(shape, quant->rank);
    out->each = malloc((size_t)n * sizeof *out->each);
    for (uint64_t i = 0; i < n; i++) {
        double scale;

        split(i, quant->rank, shape, at);
        scale = find_scale(&q, at);
        sum += scale;
        if (out->each)
            out->each[i] = scale;
    }
    out->mean = n > 0 ? (double)(float)(sum / (double)n) : 0;
}

void kern_quant_scales_fini(struct kern_quant_scales *scales)
{
    free(scales->each);
}

/* The factor of the outer box at `at`, counted in outer boxes. */
static double factor_at(const struct quantizing *q, const int64_t *at)
{
    const struct kern_quant *k = q->quant;
    int64_t inside[KERN_QUANT_DIMS_MAX];
    double most = 0;

    for (uint64_t i = product(k->outer, k->rank); i-- > 0;) {
        split(i, k->rank, k->outer, inside);
        for (uint32_t d = 0; d < k->rank; d++)
            inside[d] += at[d] * k->outer[d];
        most = fmax(most, fabs(scale_at(q, inside) - q->scales->mean));
    }
    return (double)((float)most / 127.0f);
}

/* A code of 8 bits: rounded to nearest, ties to even. */
static double code_of(double value, double scale)
{
    double code = scale > 0 ? nearbyint((double)((float)value / (float)scale)) : 0;

    return fmax(-127, fmin(127, code));
}

unsigned kern_quant_code(enum kern_quant_type type, double value, double scale)
{
    const float *levels = kern_quant_levels(type);
    float x = scale > 0 ? (float)value / (float)scale : 0;
    unsigned nearest = 0;

    for (unsigned i = 1; i < KERN_QUANT_LEVELS; i++)
        if (fabsf(levels[i] - x) < fabsf(levels[nearest] - x))
            nearest = i;
    return nearest;
}

double kern_quant_step(enum kern_quant_type type, unsigned code)
{
    const float *levels = kern_quant_levels(type);
    double below = INFINITY, above = INFINITY;

    for (unsigned i = 0; i < KERN_QUANT_LEVELS; i++) {
        double to = (double)levels[i] - (double)levels[code];

        if (to > 0)
            above = fmin(above, to);
        if (to < 0)
            below = fmin(below, -to);
    }
    return isinf(below) || isinf(above) ? fmin(below, above) : fmax(below, above);
}

static double scale_of_element(const struct quantizing *q, const int64_t *at)
{
    int64_t block[KERN_QUANT_DIMS_MAX];

    for (uint32_t d = 0; d < q->quant->rank; d++)
        block[d] = at[d] / q->quant->box[d];
    return scale_at(q, block);
}

static double code_at(const struct quantizing *q, uint64_t index)
{
    const struct kern_quant *k = q->quant;
    const float *levels = kern_quant_levels(k->type);
    int64_t shape[KERN_QUANT_DIMS_MAX], at[KERN_QUANT_DIMS_MAX] = {0};
    unsigned first;

    for (uint32_t d = 0; d < k->rank; d++)
        shape[d] = levels && d == k->pair_dim ? k->shape[d] / 2 : k->shape[d];
    split(index, k->rank, shape, at);
    if (!levels)
        return code_of(element_at(q, at), scale_of_element(q, at));
    at[k->pair_dim] *= 2;
    first = kern_quant_code(k->type, element_at(q, at), scale_of_element(q, at));
    at[k->pair_dim]++;
    return first * KERN_QUANT_LEVELS +
           kern_quant_code(k->type, element_at(q, at), scale_of_element(q, at));
}

static double scale_code_at(struct quantizing *q, uint64_t index)
{
    const struct kern_quant *k = q->quant;
    int64_t shape[KERN_QUANT_DIMS_MAX], at[KERN_QUANT_DIMS_MAX], box[KERN_QUANT_DIMS_MAX];
    uint64_t outer;

    scale_shape(k, shape);
    split(index, k->rank, shape, at);
    for (uint32_t d = 0; d < k->rank; d++) {
        box[d] = at[d] / k->outer[d];
        shape[d] /= k->outer[d];
    }
    outer = join(box, k->rank, shape);
    if (outer != q->last) {
        q->factor = factor_at(q, box);
        q->last = outer;
    }
    return code_of(scale_at(q, at) - q->scales->mean, q->factor);
}

double kern_quant_kept_scale(enum kern_quant_type type, double scale)
{
    return type != KERN_MXFP4 ? scale : scale > 0 ? ilogb(scale) + EXPONENT_BIAS : 0;
}

static double value_of(struct quantizing *q, enum kern_quant_part part, uint64_t index)
{
    int64_t shape[KERN_QUANT_DIMS_MAX], at[KERN_QUANT_DIMS_MAX];

    switch (part) {
    case KERN_QUANT_CODES:
        return code_at(q, index);
    case KERN_QUANT_SCALE_CODES:
        return scale_code_at(q, index);
    case KERN_QUANT_FACTORS:
        factor_shape(q->quant, shape);
        split(index, q->quant->rank, shape, at);
        return factor_at(q, at);
    case KERN_QUANT_MEAN:
        return q->scales->mean;
    default:
        scale_shape(q->quant, shape);
        split(index, q->quant->rank, shape, at);
        return kern_quant_kept_scale(q->quant->type, scale_at(q, at));
    }
}

void kern_quant_values(const struct kern_quant *quant, enum kern_quant_part part,
                       kern_element_fn element, const struct kern_quant_scales *scales,
                       int64_t first, int64_t stride, size_t n, double *out)
{
    struct quantizing q = {quant, element, scales, UINT64_MAX, 0};

    for (size_t i = 0; i < n; i++)
        out[i] = value_of(&q, part, (uint64_t)(first + (int64_t)i * stride));
}
