/* Tests base/pool.h: allocations live until the pool is freed or they are dropped, in the order of
 * a stack; work that finds no memory ends where it is, and nothing stays behind (the address
 * sanitizer looks for what does).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/pool.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "../support/tap.h"

/* What was ended, by number, in order. */
static char ended[16];

static void end(void *object)
{
    strncat(ended, object, 1);
}

static void test_arrays(void)
{
    struct pool pool = {0};
    struct wide {
        uint64_t n[5];
    } *wide = NULL;
    uint32_t *first = pool_array(&pool, 100, sizeof *first), *moved;
    bool zeros = true, kept = true;

    for (size_t i = 0; i < 100; i++)
        zeros &= first[i] == 0;
    ok(zeros, "an array is zeros");
    ok(pool_array(&pool, 0, 8) != NULL, "an array of nothing");
    for (size_t n = 0; n < 1000; n++) {
        pool_make_room(&pool, &wide, n, sizeof *wide);
        wide[n].n[4] = n;
        first[n % 100] = (uint32_t)n;
    }
    moved = pool_resize(&pool, first, 100000, sizeof *moved); /* between its neighbours */
    for (size_t n = 0; n < 1000; n++)
        kept &= wide[n].n[4] == n && moved[n % 100] == 900 + n % 100;
    ok(kept, "arrays that grow keep their items");
    pool_drop(&pool, moved);
    pool_drop(&pool, NULL);
    pool_free(&pool);
    pool_free(&pool);
    ok(!pool.last, "empty");
}

static void test_ends(void)
{
    struct pool pool = {0}, *inner;

    *ended = '\0';
    pool_on_free(&pool, end, "1");
    inner = pool_in(&pool);
    pool_on_free(inner, end, "2");
    pool_on_free(inner, end, "3");
    pool_on_free(&pool, end, "4");
    pool_drop(&pool, inner);
    ok(!strcmp(ended, "32"), "an inner pool that is dropped: the last first: %s", ended);
    inner = pool_in(pool_in(&pool));
    pool_on_free(inner, end, "5");
    pool_on_free(&pool, end, "6");
    pool_free(&pool);
    ok(!strcmp(ended, "326541"), "the pool with the pools inside: %s", ended);
}

/* ---- without memory ---- */

struct asks {
    struct pool *pool;
    size_t n, size; /* of the array asked for, after one of 10 bytes that grows */
    bool grows, came_back;
};

/* Asks in an inner pool, below a call that catches nothing. */
static int ask(void *argument, struct shd_error *err)
{
    struct asks *a = argument;
    struct pool *inner = pool_in(a->pool);
    void *array = pool_array(inner, 10, 1);

    (void)err;
    pool_on_free(inner, end, "i");
    if (a->grows)
        pool_resize(inner, array, a->n, a->size);
    else
        pool_array(inner, a->n, a->size);
    a->came_back = true;
    return SHD_OK;
}

/* Asks too much inside, and goes on. */
static int ask_inside(void *argument, struct shd_error *err)
{
    struct asks *a = argument;
    struct asks much = {.pool = a->pool, .n = SIZE_MAX, .size = 2};

    if (pool_try(a->pool, ask, &much, err) != SHD_ENOMEM || much.came_back)
        return SHD_EINVAL;
    return ask(a, err);
}

static void test_try(void)
{
    struct pool pool = {0};
    /* Bytes that overflow; tests/failures lets requests for fewer fail. */
    struct asks asks[] = {{&pool, SIZE_MAX / 2, 4, false, false},
                          {&pool, SIZE_MAX / 2, 4, true, false},
                          {&pool, SIZE_MAX, 1, false, false},
                          {&pool, SIZE_MAX, 1, true, false}};
    struct asks little = {.pool = &pool, .n = 10, .size = 8};
    struct shd_error err;

    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        *ended = '\0';
        ok(pool_try(&pool, ask, &asks[i], &err) == SHD_ENOMEM && !asks[i].came_back &&
               err.status == SHD_ENOMEM && !strcmp(err.text, "out of memory"),
           "request %zu: the work ends, with an error", i);
        ok(!*ended, "what it made is still there");
        pool_free(&pool);
        ok(!strcmp(ended, "i"), "until the pool is freed");
    }
    ok(pool_try(&pool, ask, &little, &err) == SHD_OK && little.came_back, "less is there");
    little.came_back = false;
    ok(pool_try(&pool, ask_inside, &little, &err) == SHD_OK && little.came_back,
       "work inside ends alone");
    ok(!pool.caught, "nothing is caught behind");
    pool_free(&pool);
}

static void test_map(void)
{
    struct pool pool = {0};
    struct map map = {0};
    bool found = true;

    for (uint32_t i = 0; i < 1000; i++)
        map_add_in(&map, &pool, UINT64_C(0x9e3779b97f4a7c15) * i, i);
    for (uint32_t i = 0; i < 1000; i++) {
        struct map_walk walk = map_find(&map, UINT64_C(0x9e3779b97f4a7c15) * i);

        found &= map_next(&walk) == i;
    }
    ok(found && map.n == 1000, "a map in a pool");
    pool_free(&pool);
}

int main(void)
{
    plan(0);
    test_arrays();
    test_ends();
    test_try();
    test_map();
    return done();
}
