/* array.h - arrays that grow by one item after the other.
 *
 * How much room an array has is not stored: it is the power of two from its count on, so that a
 * count that is itself a power of two says that the array is full.
 *
 * Thread class: whoever owns the array.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>

/* Whether an array (NULL: none yet) that grows this way is full. */
static inline bool array_is_full(const void *items, size_t count)
{
    return !items || (count & (count - 1)) == 0;
}

/* Room for one more item of `size` bytes behind `count` items.  `array` is the address of the
 * pointer to the first item, which is NULL as long as there is none; its owner frees it.  All items
 * come this way, so that the room is known.  False: no memory, and the array is as it was. */
SHD_MUST_CHECK bool array_make_room(void *array, size_t count, size_t size);

/* The same where counts have 32 bits; also false: it would have more than 2^31 items. */
static inline bool array_make_room32(void *array, uint32_t count, size_t size)
{
    return count < UINT32_MAX / 2 && array_make_room(array, count, size);
}

#endif /* BASE_ARRAY_H */
