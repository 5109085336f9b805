/* reshard_case.h - arrays in plain memory and random shardings, for the tests of resharding.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RESHARD_CASE_H
#define RESHARD_CASE_H

#include <stdint.h>

#include <shd/group.h>
#include <shd/sharding.h>

static inline int64_t count_of(const int64_t *extent, size_t rank)
{
    int64_t count = 1;

    for (size_t d = 0; d < rank; d++)
        count *= extent[d];
    return count;
}

/* The number in a row-major array of `shape` of an element of a box. */
static inline int64_t flat(const int64_t *shape, const int64_t *offset, const int64_t *index,
                           size_t rank)
{
    int64_t at = 0;

    for (size_t d = 0; d < rank; d++)
        at = at * shape[d] + offset[d] + index[d];
    return at;
}

/* Go to the next element of a box; 0 after the last one. */
static inline int next_index(const int64_t *extent, int64_t *index, size_t rank)
{
    for (size_t d = rank; d-- > 0;) {
        if (++index[d] < extent[d])
            return 1;
        index[d] = 0;
    }
    return 0;
}

/* The groups of positions over which a sharding is partial: 0, or the status of the failure. */
static inline int partial_groups(struct shd_groups *out, const struct shd_sharding *sharding)
{
    uint8_t axes[SHD_MESH_AXES_MAX];
    size_t naxes = 0;

    for (uint8_t a = 0; a < shd_mesh_naxes(sharding->mesh); a++) {
        if (sharding->partial >> a & 1)
            axes[naxes++] = a;
    }
    return shd_groups_init(out, sharding->mesh, axes, naxes, NULL);
}

/* The value of the whole array at an element. */
static inline int64_t value_of(int64_t element)
{
    return element * 7 % 1009 + 1;
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a;
    int64_t y = b;

    while (y > 0) {
        int64_t rest = x % y;

        x = y;
        y = rest;
    }
    return a / x * b;
}

static uint64_t random_state; /* the seed; not 0 */

static uint32_t random_below(uint32_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 20) % n);
}

/* A sharding in which each axis, in a random order, shards a dimension or none, or is partial. */
static struct shd_sharding random_sharding(const struct shd_mesh *mesh, size_t rank,
                                           uint32_t partial_percent)
{
    struct shd_sharding sharding;
    size_t naxes = shd_mesh_naxes(mesh);
    uint8_t order[SHD_MESH_AXES_MAX];

    shd_sharding_init(&sharding, mesh, rank);
    for (size_t i = 0; i < naxes; i++) {
        size_t j = random_below((uint32_t)i + 1);

        order[i] = order[j];
        order[j] = (uint8_t)i;
    }
    for (size_t i = 0; i < naxes; i++) {
        size_t d = random_below((uint32_t)rank + 1);

        if (random_below(100) < partial_percent) {
            sharding.partial = (uint16_t)(sharding.partial | 1U << order[i]);
        } else if (d < rank) {
            struct shd_dim_axes *dim = &sharding.dims[d];

            dim->axes[dim->naxes++] = order[i];
        }
    }
    return sharding;
}

#endif /* RESHARD_CASE_H */
