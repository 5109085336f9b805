/* Tests base/map.h: every number is found under its hash, and under no other hash.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/map.h"

#include <stdlib.h>

#include "base/hash.h"
#include "../support/tap.h"

#define NUMBERS 5000

static uint64_t hash_of(uint32_t number, bool collides)
{
    uint64_t hash = hash_word(HASH_BEGIN, number);

    return collides ? hash % 7 : hash;
}

/* How often a number is found under a hash. */
static unsigned found(const struct map *map, uint64_t hash, uint32_t number)
{
    struct map_walk walk = map_find(map, hash);
    unsigned n = 0;
    uint32_t i;

    while ((i = map_next(&walk)) != MAP_NONE)
        n += i == number;
    return n;
}

static void test_numbers(bool collides, uint32_t count)
{
    struct map map = {.slots = NULL};
    bool good = found(&map, 1, 1) == 0;

    for (uint32_t i = 0; i < count; i++)
        if (!map_add(&map, hash_of(i, collides), i))
            exit(99);
    for (uint32_t i = 0; i < count; i++)
        good &= found(&map, hash_of(i, collides), i) == 1;
    for (uint32_t i = count; i < 2 * count; i++)
        good &= found(&map, hash_of(i, collides), i) == 0;
    ok(good && map.n == count && 2 * map.n <= map.nslots, "%u numbers%s", count,
       collides ? " of seven hashes" : "");
    map_fini(&map);
    ok(map.n == 0 && !map.slots && found(&map, 1, 1) == 0, "and none");
}

/* Hashes that differ only in their upper half are different. */
static void test_upper_half(void)
{
    struct map map = {.slots = NULL};

    if (!map_add(&map, UINT64_C(1) << 40, 1) || !map_add(&map, UINT64_C(1) << 50, 2))
        exit(99);
    ok(found(&map, UINT64_C(1) << 40, 1) == 1 && found(&map, UINT64_C(1) << 40, 2) == 0 &&
           found(&map, UINT64_C(1) << 50, 2) == 1,
       "the upper half of a hash counts");
    map_fini(&map);
}

int main(void)
{
    plan(0);
    test_numbers(false, NUMBERS);
    test_numbers(true, 300);
    test_upper_half();
    return done();
}
