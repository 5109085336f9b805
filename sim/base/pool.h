/* pool.h - memory that is freed together: all that is made for one partition, or one attempt.
 *
 *     struct pool pool = {0};
 *     int status = pool_try(&pool, work, argument, err);
 *
 *     pool_free(&pool);
 *
 * Allocations in a pool never return NULL.  If memory runs out, the work that pool_try() called
 * ends there (longjmp), and pool_try() returns SHD_ENOMEM: neither the work nor the functions below
 * it have a branch for missing memory.  A resource from elsewhere (a mesh, a program, a file) that
 * such a function holds during an allocation is registered with pool_on_free().
 *
 * Every allocation is a malloc() of its own, so that sanitizers know its bounds.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stddef.h>

#include <shd/error.h>

/* All zeros: empty. */
struct pool {
    struct pool_piece *last; /* the latest allocation */
    struct pool *outer;      /* the pool that this one lies in; NULL: none */
    void *caught;            /* where pool_try() goes on without memory */
};

/* Call work(argument, err).  Returns its status, or SHD_ENOMEM if memory ran out in the pool or in
 * a pool inside.  The pool keeps what was allocated. */
SHD_MUST_CHECK int pool_try(struct pool *pool, int (*work)(void *argument, struct shd_error *err),
                            void *argument, struct shd_error *err);

/* Free everything, the latest allocation first.  The pool is empty and usable again. */
void pool_free(struct pool *pool);

/* An array of n items of `size` bytes, all zeros. */
void *pool_array(struct pool *pool, size_t n, size_t size);

/* The same for an array (NULL: none yet) that gets another number of items; new ones are not set.
 */
void *pool_resize(struct pool *pool, void *array, size_t n, size_t size);

/* Room for one more item behind `count` items of an array that only grows this way; `array` is the
 * address of the pointer to the first item, NULL as long as there is none. */
void pool_make_room(struct pool *pool, void *array, size_t count, size_t size);

/* A pool inside a pool, for temporaries: freed with the outer pool, or before by pool_drop(). */
struct pool *pool_in(struct pool *pool);

/* Free one allocation of the pool, or a pool inside it, before the others.  NULL is allowed. */
void pool_drop(struct pool *pool, void *allocation);

/* Call end(object) when the pool is freed. */
void pool_on_free(struct pool *pool, void (*end)(void *object), void *object);

/* Memory ran out outside the pool: end the work. */
_Noreturn void pool_fail(struct pool *pool);

#endif /* BASE_POOL_H */
