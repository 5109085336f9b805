/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool array_make_room(void *array, size_t count, size_t size)
{
    size_t room = count ? 2 * count : 1;
    void *items;

    memcpy(&items, array, sizeof items); /* a pointer of any type */
    if (!array_is_full(items, count))
        return true;
    if (count > SIZE_MAX / 2 || room > SIZE_MAX / size)
        return false;
    items = realloc(items, room * size);
    if (!items)
        return false;
    memcpy(array, &items, sizeof items);
    return true;
}
