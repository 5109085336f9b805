/* reshard_step.h - a reshard plan under construction: where it stands, and the steps to add.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RESHARD_STEP_H
#define RESHARD_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/reshard.h>

struct reshard_way {
    struct shd_reshard_plan *plan;
    const int64_t *shape;
    struct shd_sharding at; /* what the array is after the plan's steps so far */
};

/* Byte counts that do not fit stay at UINT64_MAX, which no plan may have. */
uint64_t reshard_mul(uint64_t a, uint64_t b);
uint64_t reshard_add(uint64_t a, uint64_t b);

/* Elements of one shard. */
uint64_t reshard_shard_count(const struct shd_sharding *sharding, const int64_t *shape);

/* Elements of all new shards that are not in the same device's old shard, over all devices. */
uint64_t reshard_moved(const struct shd_sharding *from, const struct shd_sharding *to,
                       const int64_t *shape);

/* The axes that neither shard nor are partial. */
uint32_t reshard_free_axes(const struct shd_sharding *sharding);

/* How many of the first axes of two tuples agree. */
size_t reshard_common(const struct shd_dim_axes *a, const struct shd_dim_axes *b);

/* The largest sharding between where the way stands and `to` that needs no bytes: dimensions that
 * begin as in `to` get the free axes that follow there.  Adds no step where there are none. */
void reshard_slice(struct reshard_way *way, const struct shd_sharding *to);

/* Local, to a sharding whose dimensions continue the present ones by free axes. */
void reshard_slice_to(struct reshard_way *way, const struct shd_sharding *to);

void reshard_all_gather(struct reshard_way *way, size_t dim, size_t naxes);
void reshard_all_to_all(struct reshard_way *way, size_t dim, size_t dim2, size_t naxes);
void reshard_reduce_scatter(struct reshard_way *way, size_t dim, const uint8_t *axes, size_t naxes);
void reshard_all_reduce(struct reshard_way *way, uint32_t axes);
void reshard_mask(struct reshard_way *way, const struct shd_sharding *to);

/* To any other sharding of the same partial axes: permute where whole shards move. */
void reshard_exchange(struct reshard_way *way, const struct shd_sharding *to);

/* The same by named collectives where these move no more, else by one exchange. */
void reshard_move(struct reshard_way *way, const struct shd_sharding *to);

#endif /* RESHARD_STEP_H */
