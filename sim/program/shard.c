/* Walking a shard's elements, filling and comparing shards (program/shard.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "program/shard.h"

#include <string.h>

#include "kern/kern.h"

static bool has_padding(const struct program_buffer *b)
{
    return b->sharding.flat_dims > 0 || b->sharding.uneven ||
           memcmp(b->held, b->shape, b->rank * sizeof *b->shape) != 0;
}

struct program_boxes program_boxes_begin(const struct program_buffer *buffer, int32_t position)
{
    struct program_boxes boxes = {.buffer = buffer};

    boxes.nboxes = shd_sharding_boxes(&buffer->sharding, buffer->shape, position, boxes.boxes);
    return boxes;
}

/* The extents of the memory that a box lies in: of the whole shard if it is uneven, else of the
 * box. */
static const int64_t *room_of(const struct program_buffer *b, const struct shd_box *box)
{
    return b->sharding.uneven ? b->local : box->extent;
}

/* The extents of a box without padding, and the last dimension that padding follows: rows below it
 * are not contiguous.  False if the box is padding only. */
static bool held_extents(int64_t *extent, uint32_t *parted, const struct program_buffer *b,
                         const struct shd_box *box)
{
    const int64_t *room = room_of(b, box);
    bool any = true;

    *parted = 0;
    for (uint32_t d = 0; d < b->rank; d++) {
        int64_t left = b->held[d] - box->start[d];

        extent[d] = left < box->extent[d] ? left : box->extent[d];
        if (extent[d] < room[d])
            *parted = d;
        any = any && (extent[d] > 0 || box->extent[d] == 0);
    }
    return any;
}

bool program_boxes_next(struct program_boxes *boxes, struct shd_box *out)
{
    const struct program_buffer *b = boxes->buffer;

    for (; boxes->box < boxes->nboxes; boxes->box++, boxes->row = 0) {
        const struct shd_box *box = &boxes->boxes[boxes->box];
        int64_t extent[PROGRAM_RANK_MAX], inner = 1, rest = boxes->row, nrows = 1;
        uint32_t parted;

        if (!held_extents(extent, &parted, b, box))
            continue;
        for (uint32_t d = 0; d < parted; d++)
            nrows *= extent[d];
        if (boxes->row >= nrows)
            continue;
        *out = *box;
        memcpy(out->extent, extent, b->rank * sizeof *extent);
        for (uint32_t d = b->rank; d-- > 0; inner *= room_of(b, box)[d]) {
            if (d >= parted)
                continue;
            out->start[d] += rest % extent[d];
            out->at += rest % extent[d] * inner;
            out->extent[d] = 1;
            rest /= extent[d];
        }
        boxes->row++;
        return true;
    }
    return false;
}

void program_shard_fill(void *values, const struct program_buffer *buffer, int32_t position,
                        const struct kern_source *source)
{
    struct program_boxes boxes = program_boxes_begin(buffer, position);
    struct shd_box box;

    if (has_padding(buffer))
        memset(values, 0, buffer->bytes);
    while (program_boxes_next(&boxes, &box))
        kern_fill(source, buffer->dtype, buffer->rank, buffer->held, box.start, box.extent,
                  (char *)values + (uint64_t)box.at * shd_dtype_size(buffer->dtype));
}

void program_shard_compare(const void *values, const struct program_buffer *buffer,
                           int32_t position, const void *whole, const double *allowed,
                           struct kern_difference *found)
{
    struct program_boxes boxes = program_boxes_begin(buffer, position);
    struct shd_box box;

    while (program_boxes_next(&boxes, &box))
        kern_compare(buffer->dtype, buffer->rank, buffer->held, box.start, box.extent,
                     (const char *)values + (uint64_t)box.at * shd_dtype_size(buffer->dtype), whole,
                     allowed, found);
}
