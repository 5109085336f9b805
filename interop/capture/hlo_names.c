/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/hlo_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

void hlo_names_fini(struct hlo_names *names)
{
    free(names->items);
    map_fini(&names->index);
    *names = (struct hlo_names){.items = NULL};
}

static size_t length(struct hlo_piece name)
{
    return (size_t)(name.end - name.at);
}

static uint64_t hash_of(struct hlo_piece name, uint32_t scope)
{
    return hash_bytes(hash_bytes(HASH_BEGIN, &scope, sizeof scope), name.at, length(name));
}

static struct hlo_name *find(const struct hlo_names *names, struct hlo_piece name, uint32_t scope)
{
    struct map_walk walk = map_find(&names->index, hash_of(name, scope));

    for (uint32_t i; (i = map_next(&walk)) != MAP_NONE;) {
        struct hlo_name *item = &names->items[i];

        if (item->scope == scope && length(item->name) == length(name) &&
            !memcmp(item->name.at, name.at, length(name)))
            return item;
    }
    return NULL;
}

bool hlo_names_put(struct hlo_names *names, struct hlo_piece name, uint32_t scope, uint32_t number)
{
    struct hlo_name *item = find(names, name, scope);

    if (!item) {
        if (!array_make_room(&names->items, names->n, sizeof *names->items) ||
            !map_add(&names->index, hash_of(name, scope), names->n))
            return false;
        item = &names->items[names->n++];
    }
    *item = (struct hlo_name){name, scope, number};
    return true;
}

uint32_t hlo_names_find(const struct hlo_names *names, struct hlo_piece name, uint32_t scope)
{
    const struct hlo_name *item = find(names, name, scope);

    return item ? item->number : HLO_NO_NUMBER;
}
