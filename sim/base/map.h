/* map.h - numbers found by hash: which items of an array may be the one that is looked for.
 *
 * The map keeps the hash of each number; whether an item is really the one, its owner sees:
 *
 *     struct map_walk walk = map_find(&map, hash);
 *
 *     while ((i = map_next(&walk)) != MAP_NONE)
 *         if (is_same(&items[i], wanted))
 *             return i;
 *
 * Thread class: owned by one thread; several may read a map that nobody changes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"

#define MAP_NONE UINT32_MAX

struct map_slot {
    uint32_t hash, number; /* MAP_NONE: free */
};

/* All zeros: empty. */
struct map {
    struct map_slot *slots; /* at most half of them are taken */
    uint32_t nslots;        /* a power of two, or 0 */
    uint32_t n;
};

void map_fini(struct map *map);

/* Add a number (not MAP_NONE) under a hash.  False: no memory, and the map is as it was. */
SHD_MUST_CHECK bool map_add(struct map *map, uint64_t hash, uint32_t number);

/* The same for a map whose memory is in a pool; it has no map_fini(). */
void map_add_in(struct map *map, struct pool *pool, uint64_t hash, uint32_t number);

struct map_walk {
    const struct map *map;
    uint32_t hash, at;
};

/* All 64 bits count. */
static inline uint32_t map_fold(uint64_t hash)
{
    return (uint32_t)(hash ^ hash >> 32);
}

static inline struct map_walk map_find(const struct map *map, uint64_t hash)
{
    return (struct map_walk){map, map_fold(hash), map_fold(hash)};
}

/* The next number under the hash; MAP_NONE: there is no further. */
static inline uint32_t map_next(struct map_walk *walk)
{
    const struct map *map = walk->map;

    while (map->nslots > 0) {
        const struct map_slot *slot = &map->slots[walk->at++ & (map->nslots - 1)];

        if (slot->number == MAP_NONE || slot->hash == walk->hash)
            return slot->number;
    }
    return MAP_NONE;
}

#endif /* BASE_MAP_H */
