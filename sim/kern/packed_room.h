/* kern/packed_room.h - memory for packed operands of large matrix products: a room for each core,
 * so that they stay in the caches, however many threads multiply.
 *
 * Thread class: any thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_PACKED_ROOM_H
#define KERN_PACKED_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#define PACKED_ROWS 256       /* of a block of a */
#define PACKED_COLS 1024      /* of a block of b */
#define PACKED_ROW_BYTES 2048 /* of one row's or column's elements in a block: the block's depth */

/* Scratch memory of a thread. */
struct packed_room {
    _Alignas(64) char a[PACKED_ROWS * PACKED_ROW_BYTES];
    _Alignas(64) char b[PACKED_COLS * PACKED_ROW_BYTES];
    int64_t m_a[PACKED_ROWS], m_c[PACKED_ROWS];                   /* offsets of rows ... */
    int64_t n_b[PACKED_COLS], n_c[PACKED_COLS];                   /* ... of columns ... */
    int64_t k_a[PACKED_ROW_BYTES / 4], k_b[PACKED_ROW_BYTES / 4]; /* ... and along the sum */
};

/* Whether there are rooms.  The first call allocates them, if there is memory. */
bool packed_room_any(void);

/* Wait for a free room; there must be rooms. */
struct packed_room *packed_room_take(void);
void packed_room_give(struct packed_room *room);

#endif /* KERN_PACKED_ROOM_H */
