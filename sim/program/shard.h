/* program/shard.h - which elements of an array a device holds, and the initial values of its
 * arguments.
 *
 * Thread class: pure functions of their arguments.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROGRAM_SHARD_H
#define PROGRAM_SHARD_H

#include "program/program.h"

/* Iterator over the elements that the device at a position holds, as boxes that are contiguous
 * in the shard and free of padding, both of pieces (shd/sharding.h) and of dimensions
 * (graph/pad.h). */
struct program_boxes {
    const struct program_buffer *buffer;
    struct shd_box boxes[SHD_BOXES_MAX];
    size_t nboxes, box; /* the next box, and ... */
    int64_t row;        /* ... its next row, where padding splits it into rows */
};

struct program_boxes program_boxes_begin(const struct program_buffer *buffer, int32_t position);
bool program_boxes_next(struct program_boxes *boxes, struct shd_box *out); /* false: the end */

/* Fill a shard from its source, with zeros in its padding. */
void program_shard_fill(void *values, const struct program_buffer *buffer, int32_t position,
                        const struct kern_source *source);

/* Compare a shard with the whole array, which has no padding (kern_compare()). */
struct kern_difference;
void program_shard_compare(const void *values, const struct program_buffer *buffer,
                           int32_t position, const void *whole, const double *allowed,
                           struct kern_difference *found);

#endif /* PROGRAM_SHARD_H */
