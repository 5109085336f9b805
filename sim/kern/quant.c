/* The values of quantized arrays (quant.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/quant.h"

#include <math.h>
#include <stdlib.h>

/* QLoRA, appendix E. */
const float kern_nf4_levels[KERN_NF4_LEVELS] = {
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
    return k->nf4 ? most : (double)((float)most / 127.0f);
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

/* The nearest of NF4's levels; of two, the lower one. */
static unsigned level_of(double value, double scale)
{
    float x = scale > 0 ? (float)value / (float)scale : 0;
    unsigned nearest = 0;

    for (unsigned i = 1; i < KERN_NF4_LEVELS; i++)
        if (fabsf(kern_nf4_levels[i] - x) < fabsf(kern_nf4_levels[nearest] - x))
            nearest = i;
    return nearest;
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
    int64_t shape[KERN_QUANT_DIMS_MAX], at[KERN_QUANT_DIMS_MAX] = {0};
    unsigned first;

    for (uint32_t d = 0; d < k->rank; d++)
        shape[d] = k->nf4 && d == k->pair_dim ? k->shape[d] / 2 : k->shape[d];
    split(index, k->rank, shape, at);
    if (!k->nf4)
        return code_of(element_at(q, at), scale_of_element(q, at));
    at[k->pair_dim] *= 2;
    first = level_of(element_at(q, at), scale_of_element(q, at));
    at[k->pair_dim]++;
    return first * KERN_NF4_LEVELS + level_of(element_at(q, at), scale_of_element(q, at));
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
        return scale_at(q, at);
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
