/* Filling and comparing tensors (kern.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kern.h"

#include <math.h>

#include "base/stored_array.h"
#include "kern/coded.h"
#include "kern/convert.h"
#include "kern/copies.h"
#include "kern/nest.h"
#include "kern/pages.h"
#include "kern/quant.h"
#include "kern/routing.h"

#define BLOCK 256 /* elements filled or compared at a time, on the stack */

/* Row-major strides. */
static void strides_of(uint32_t rank, const int64_t *shape, int64_t *stride)
{
    int64_t n = 1;

    for (uint32_t d = rank; d-- > 0;) {
        stride[d] = n;
        n *= shape[d];
    }
}

/* A nest over a shard: array 0 is the shard, array 1 the whole array.  Returns the whole array's
 * index of the first element. */
static int64_t shard_nest(uint32_t rank, const int64_t *shape, const int64_t *offset,
                          const int64_t *extent, struct kern_nest *nest)
{
    int64_t local[KERN_DIMS_MAX], whole[KERN_DIMS_MAX], first = 0;

    *nest = (struct kern_nest){.narrays = 2};
    strides_of(rank, extent, local);
    strides_of(rank, shape, whole);
    for (uint32_t d = 0; d < rank; d++) {
        kern_nest_add(nest, extent[d], (const int64_t[]){local[d], whole[d]});
        first += offset[d] * whole[d];
    }
    kern_nest_simplify(nest, 0);
    return first;
}

double kern_round(enum shd_dtype dtype, double value)
{
    if (dtype == SHD_F32)
        return (double)(float)value;
    if (dtype == SHD_BF16)
        return (double)shd_bf16_to_f32(shd_bf16_from_f32((float)value));
    if (dtype == SHD_F16)
        return (double)shd_f16_to_f32(shd_f16_from_f32((float)value));
    if (dtype == SHD_F8E4M3 || dtype == SHD_F8E5M2 || dtype == SHD_F4E2M1)
        return kern_code_round(dtype, value);
    return value;
}

bool kern_holds(enum shd_dtype dtype, enum shd_dtype other)
{
    return dtype == other || dtype == SHD_F64 ||
           (dtype == SHD_F32 && (other == SHD_BF16 || other == SHD_F16));
}

bool kern_source_changes(const struct kern_source *source)
{
    if (source->sight)
        return source->sight->queries.each > 0 && source->sight_array != KERN_POSITIONS &&
               source->sight_array != KERN_TABLE;
    return source->by_step || source->place.per_step > 0 || source->place.per_microbatch > 0 ||
           (source->routing && source->routing->rotate > 0);
}

bool kern_source_is_number(const struct kern_source *source)
{
    bool other = source->index || source->by_step || source->bytes || source->file ||
                 source->stored || source->copies || source->sight || source->routing ||
                 source->quant;

    return source->scale == 0 && source->modulus == 0 && !other;
}

static uint64_t place_of(const struct kern_source *source, uint64_t index)
{
    const struct kern_place *p = &source->place;
    uint64_t extent = (uint64_t)source->order.extent;
    uint64_t inner = source->inner > 0 ? (uint64_t)source->inner : 1, token = index / inner;

    if (extent > 0) {
        token += (uint64_t)kern_order_position(&source->order, (int64_t)(token % extent)) -
                 token % extent;
        index = token * inner + index % inner;
    }
    if (p->columns > 0)
        index = index / p->columns * p->row + index % p->columns;
    return p->first + source->step * p->per_step + source->microbatch * p->per_microbatch + index;
}

static double value_by_step(const struct kern_source *source)
{
    uint32_t last = source->nsteps - 1;

    return source->by_step[source->step < last ? source->step : last];
}

/* Of the queries of a step. */
static double query_value(const struct kern_source *source, int64_t index)
{
    const struct kern_sight *sight = source->sight;
    bool spans = source->sight_array == KERN_SPANS;
    int64_t query = (spans ? index / 2 : index) % sight->queries.count;
    int64_t position = kern_sight_query(sight, source->step, query);
    struct kern_span span;

    if (source->sight_array == KERN_PLACES && position < 0)
        return -1;
    if (source->sight_array == KERN_PLACES)
        position = kern_order_index(&sight->order, position);
    if (source->sight_array == KERN_PLACES && sight->pages)
        position = kern_pages_slot(sight->pages, index / sight->queries.count, position);
    if (!spans)
        return (double)position;
    span = kern_sight_span(sight, 0, position);
    return (double)(index % 2 ? span.last : span.first);
}

static double entry_value(const struct kern_pages *pages, int64_t index)
{
    int64_t entries = kern_pages_entries(pages), row = index / (pages->parts * entries);

    return (double)kern_pages_entry(pages, row % pages->rows, index % entries);
}

static double seen_value(const struct kern_source *source, int64_t index)
{
    const struct kern_sight *sight = source->sight;
    int64_t extent = sight->order.extent;
    struct kern_span span;

    if (source->sight_array == KERN_POSITIONS) {
        int64_t at = (index - source->moved) % extent;

        return (double)kern_order_position(&sight->order, at < 0 ? at + extent : at);
    }
    if (source->sight_array == KERN_TABLE)
        return entry_value(sight->pages, index);
    if (sight->queries.count > 0)
        return query_value(source, index);
    span = kern_sight_span(sight, index / 2 / extent,
                           kern_order_position(&sight->order, index / 2 % extent));
    return (double)(index % 2 ? span.last : span.first);
}

static double source_value(const struct kern_source *source, uint64_t index)
{
    uint32_t u = (uint32_t)(index * 2654435761u + source->seed);
    double value = (double)(float)((u / 4294967296.0 - 0.5) * source->scale) + source->offset;

    if (source->bytes)
        return source->bytes[index % source->nbytes];
    if (source->routing)
        return kern_routing_id(source->routing, index, source->step);
    if (source->index)
        return (double)index;
    if (source->modulus > 0)
        return (double)((u >> 8) % source->modulus);
    if (source->by_step)
        value = value_by_step(source);
    return kern_round(source->rounded, value);
}

/* Read a file's bytes, many at a time. */
static void file_values(const struct kern_source *source, int64_t first, int64_t stride, size_t n,
                        double *out)
{
    uint8_t bytes[BLOCK];
    uint64_t count = file_bytes_count(source->file), from = 0;
    size_t nread = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t at = place_of(source, (uint64_t)(first + (int64_t)i * stride)) % count;

        if (at < from || at - from >= nread) {
            from = at;
            nread = file_bytes_read(source->file, at, bytes, sizeof bytes);
        }
        out[i] = bytes[at - from];
    }
}

void kern_stored_values(const struct stored_array *stored, int64_t first, int64_t stride, size_t n,
                        double *out)
{
    _Alignas(8) uint8_t bytes[BLOCK * sizeof(double)];
    double values[BLOCK], whole = ldexp(1, (int)(8 * kern_size(stored->dtype)));
    size_t size = kern_size(stored->dtype), width = stride > 1 ? (size_t)stride : 1;
    size_t each = (BLOCK - 1) / width + 1; /* values that one read has */

    for (size_t i = 0; i < n; i += each) {
        size_t some = n - i < each ? n - i : each;
        uint64_t at = (uint64_t)(first + (int64_t)i * stride) * size;

        if (!stored->memory)
            file_bytes_read(stored->file, stored->at + at, bytes, ((some - 1) * width + 1) * size);
        kern_load_f64(stored->dtype,
                      stored->memory ? (const uint8_t *)stored->memory + at
                                     : (const uint8_t *)bytes,
                      (int64_t)width, some, values);
        for (size_t k = 0; k < some; k++) /* adding nothing to -0 keeps the sign */
            out[i + k] = stored->is_unsigned && values[k] < 0 ? values[k] + whole : values[k];
    }
}

static void stored_values(const struct kern_source *source, int64_t first, int64_t stride, size_t n,
                          double *out)
{
    if (source->place.per_step > 0) /* steps beyond the last, which are timed, begin anew */
        first += (int64_t)(source->step * source->place.per_step %
                           (source->stored->bytes / kern_size(source->stored->dtype)));
    kern_stored_values(source->stored, first, stride, n, out);
    for (size_t i = 0; i < n; i++)
        out[i] = kern_round(source->rounded, out[i]);
}

/* Values at whole-array indexes first, first + stride, ... (n values). */
static void source_values(const struct kern_source *source, const struct kern_quant_scales *scales,
                          int64_t first, int64_t stride, size_t n, double *out)
{
    if (source->file) {
        file_values(source, first, stride, n, out);
        return;
    }
    if (source->stored) {
        stored_values(source, first, stride, n, out);
        return;
    }
    if (source->quant) {
        kern_quant_values(source->quant, (enum kern_quant_part)source->quant_part, source_value,
                          scales, first, stride, n, out);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t at = first + (int64_t)i * stride;

        out[i] = source->sight ? seen_value(source, at)
                               : source_value(source, place_of(source, (uint64_t)at));
    }
}

/* The same of an array of copies, each of which has `each` values of its expert. */
static void copied_values(const struct kern_source *source, const struct kern_quant_scales *scales,
                          int64_t each, int64_t first, int64_t stride, int64_t n, double *out)
{
    while (n > 0) {
        int64_t inside = first % each, some = n;

        if (stride > 0 && (each - inside + stride - 1) / stride < n)
            some = (each - inside + stride - 1) / stride;
        source_values(source, scales, source->copies->expert[first / each] * each + inside, stride,
                      (size_t)some, out);
        out += some;
        first += some * stride;
        n -= some;
    }
}

void kern_fill(const struct kern_source *source, enum shd_dtype dtype, uint32_t rank,
               const int64_t *shape, const int64_t *offset, const int64_t *extent, void *out)
{
    struct kern_quant_scales scales = {NULL, 0};
    struct kern_nest nest;
    struct kern_walk walk;
    double values[BLOCK];
    int64_t count, first, each = 0;

    if (kern_elements(rank, extent, UINT32_MAX) == 0)
        return;
    if (source->quant)
        kern_quant_scales_init(&scales, source->quant, source_value);
    if (source->copies)
        each = (int64_t)kern_elements(rank, shape, UINT32_MAX) / source->copies->places;
    first = shard_nest(rank, shape, offset, extent, &nest);
    count = kern_nest_count(&nest);
    kern_walk_init(&walk, &nest, 0);
    while (count > 0) {
        int64_t n = kern_walk_run(&walk);
        int64_t stride = nest.ndims ? nest.stride[1][nest.ndims - 1] : 1;

        n = n < BLOCK ? n : BLOCK;
        if (each > 0)
            copied_values(source, &scales, each, first + walk.offset[1], stride, n, values);
        else
            source_values(source, &scales, first + walk.offset[1], stride, (size_t)n, values);
        kern_store_f64(dtype, (char *)out + walk.offset[0] * (int64_t)kern_size(dtype), 1,
                       (size_t)n, values);
        kern_walk_advance(&walk, n);
        count -= n;
    }
    kern_quant_scales_fini(&scales);
}

/* The error ratio.  If `want` is not finite, or NaN, only the same value is allowed. */
static double ratio_of(double got, double want, double allowed)
{
    double diff = fabs(got - want);

    if (got == want || (isnan(got) && isnan(want)))
        return 0;
    return isfinite(diff) && allowed > 0 ? diff / allowed : INFINITY;
}

static void compare_one(double got, double want, double allowed, int64_t at,
                        struct kern_difference *d)
{
    double ratio;

    if (isfinite(got) && isfinite(want)) {
        d->most = fmax(d->most, fabs(got - want));
        d->size = fmax(d->size, fabs(want));
    }
    d->infinite += isinf(got) != 0;
    d->nan += isnan(got) != 0;
    if (isinf(allowed)) {
        d->nopen++;
        return;
    }
    d->widest = fmax(d->widest, allowed);
    ratio = ratio_of(got, want, allowed);
    if (ratio > d->ratio) {
        d->ratio = ratio;
        d->at = at;
        d->got = got;
        d->want = want;
        d->allowed = allowed;
    }
}

void kern_compare(enum shd_dtype dtype, uint32_t rank, const int64_t *shape, const int64_t *offset,
                  const int64_t *extent, const void *got, const double *want,
                  const double *allowed, struct kern_difference *d)
{
    struct kern_nest nest;
    struct kern_walk walk;
    double values[BLOCK];
    int64_t count, first;

    if (kern_elements(rank, extent, UINT32_MAX) == 0)
        return;
    first = shard_nest(rank, shape, offset, extent, &nest);
    count = kern_nest_count(&nest);
    kern_walk_init(&walk, &nest, 0);
    while (count > 0) {
        int64_t n = kern_walk_run(&walk);
        int64_t stride = nest.ndims ? nest.stride[1][nest.ndims - 1] : 1;

        n = n < BLOCK ? n : BLOCK;
        kern_load_f64(dtype, (const char *)got + walk.offset[0] * (int64_t)kern_size(dtype), 1,
                      (size_t)n, values);
        for (int64_t i = 0; i < n; i++) {
            int64_t at = first + walk.offset[1] + i * stride;

            compare_one(values[i], want[at], allowed ? allowed[at] : 0, at, d);
        }
        kern_walk_advance(&walk, n);
        count -= n;
    }
}
