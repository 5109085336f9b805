/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/pool.h"

#include <assert.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* The head of an allocation, whose bytes follow. */
struct pool_piece {
    _Alignas(max_align_t) struct pool_piece *before; /* the allocation before, or NULL */
    struct pool_piece *after;
    void (*end)(void *object); /* NULL: nothing but memory */
    void *object;
};

_Noreturn void pool_fail(struct pool *pool)
{
    while (pool->outer)
        pool = pool->outer;
    assert(pool->caught);
    longjmp(*(jmp_buf *)pool->caught, 1);
}

int pool_try(struct pool *pool, int (*work)(void *argument, struct shd_error *err), void *argument,
             struct shd_error *err)
{
    void *const before = pool->caught;
    jmp_buf here;
    int status;

    pool->caught = &here;
    if (setjmp(here) == 0)
        status = work(argument, err);
    else
        status = shd_error_set(err, SHD_ENOMEM, "out of memory");
    pool->caught = before;
    return status;
}

/* Bytes of an allocation with its head; the pool fails if they cannot be counted. */
static size_t bytes_of(struct pool *pool, size_t n, size_t size)
{
    if (size && n > (SIZE_MAX - sizeof(struct pool_piece)) / size)
        pool_fail(pool);
    return sizeof(struct pool_piece) + n * size;
}

/* Link a piece that is new or was moved, between its neighbours. */
static void link_piece(struct pool *pool, struct pool_piece *piece)
{
    if (piece->before)
        piece->before->after = piece;
    if (piece->after)
        piece->after->before = piece;
    else
        pool->last = piece;
}

void *pool_array(struct pool *pool, size_t n, size_t size)
{
    struct pool_piece *piece = calloc(1, bytes_of(pool, n, size));

    if (!piece)
        pool_fail(pool);
    piece->before = pool->last;
    link_piece(pool, piece);
    return piece + 1;
}

void *pool_resize(struct pool *pool, void *array, size_t n, size_t size)
{
    struct pool_piece *piece;

    if (!array)
        return pool_array(pool, n, size);
    piece = realloc((struct pool_piece *)array - 1, bytes_of(pool, n, size));
    if (!piece)
        pool_fail(pool);
    link_piece(pool, piece);
    return piece + 1;
}

void pool_make_room(struct pool *pool, void *array, size_t count, size_t size)
{
    void *items;

    memcpy(&items, array, sizeof items); /* a pointer of any type */
    if (!array_is_full(items, count))
        return;
    if (count > SIZE_MAX / 2)
        pool_fail(pool);
    items = pool_resize(pool, items, count ? 2 * count : 1, size);
    memcpy(array, &items, sizeof items);
}

void pool_on_free(struct pool *pool, void (*end)(void *object), void *object)
{
    struct pool_piece *piece = (struct pool_piece *)pool_array(pool, 0, 0) - 1;

    piece->end = end;
    piece->object = object;
}

static void free_inner(void *pool)
{
    pool_free(pool);
}

struct pool *pool_in(struct pool *pool)
{
    struct pool *inner = pool_array(pool, 1, sizeof *inner);
    struct pool_piece *piece = (struct pool_piece *)inner - 1;

    inner->outer = pool;
    piece->end = free_inner;
    piece->object = inner;
    return inner;
}

void pool_drop(struct pool *pool, void *allocation)
{
    struct pool_piece *piece;

    if (!allocation)
        return;
    piece = (struct pool_piece *)allocation - 1;
    if (piece->before)
        piece->before->after = piece->after;
    if (piece->after)
        piece->after->before = piece->before;
    else
        pool->last = piece->before;
    if (piece->end)
        piece->end(piece->object);
    free(piece);
}

void pool_free(struct pool *pool)
{
    while (pool->last)
        pool_drop(pool, pool->last + 1);
}
