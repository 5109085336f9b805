/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 64

void map_fini(struct map *map)
{
    free(map->slots);
    *map = (struct map){.slots = NULL};
}

static void put(struct map *map, uint32_t hash, uint32_t number)
{
    uint32_t at = hash;

    while (map->slots[at & (map->nslots - 1)].number != MAP_NONE)
        at++;
    map->slots[at & (map->nslots - 1)] = (struct map_slot){hash, number};
}

/* Double the slots, in a pool or (NULL) not. */
static bool grow(struct map *map, struct pool *pool)
{
    struct map more = {.nslots = map->nslots ? 2 * map->nslots : FIRST_SLOTS, .n = map->n};

    if (map->nslots > UINT32_MAX / 2)
        return false;
    more.slots = pool ? pool_array(pool, more.nslots, sizeof *more.slots)
                      : malloc(more.nslots * sizeof *more.slots);
    if (!more.slots)
        return false;
    memset(more.slots, 0xff, more.nslots * sizeof *more.slots); /* MAP_NONE */
    for (uint32_t i = 0; i < map->nslots; i++)
        if (map->slots[i].number != MAP_NONE)
            put(&more, map->slots[i].hash, map->slots[i].number);
    if (pool)
        pool_drop(pool, map->slots);
    else
        free(map->slots);
    *map = more;
    return true;
}

static bool add(struct map *map, struct pool *pool, uint64_t hash, uint32_t number)
{
    if (map->n >= map->nslots / 2 && !grow(map, pool))
        return false;
    put(map, map_fold(hash), number);
    map->n++;
    return true;
}

bool map_add(struct map *map, uint64_t hash, uint32_t number)
{
    return add(map, NULL, hash, number);
}

void map_add_in(struct map *map, struct pool *pool, uint64_t hash, uint32_t number)
{
    if (!add(map, pool, hash, number))
        pool_fail(pool);
}
