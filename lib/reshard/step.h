/* reshard/step.h - a reshard plan under construction: where it stands, and the steps to add.
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

/* What is asked for; axes of size 1 are gone from the shardings. */
struct reshard_ask {
    struct shd_sharding from;
    struct shd_sharding to;
    const int64_t *shape;
    enum shd_dtype dtype;
    bool cross;                       /* to another mesh */
    uint64_t limit_bytes;             /* of the memory that a step needs */
    int32_t near[SHD_LINK_TIERS_MAX]; /* as in a step */
};

/* Check what the caller gave, and take it over. */
int reshard_ask(struct reshard_ask *out, const struct shd_sharding *from,
                const struct shd_sharding *to, const int64_t *shape, enum shd_dtype dtype,
                const struct shd_reshard_opts *opts, struct shd_error *err);

/* How data moves once nothing is left to combine. */
enum reshard_mode {
    RESHARD_FEWEST, /* named collectives if these move no more than the least, else one exchange */
    RESHARD_NAMED,  /* named collectives, whatever they move */
    RESHARD_DIRECT  /* one exchange */
};

struct reshard_way {
    struct shd_reshard_plan *plan;
    const struct reshard_ask *ask;
    struct shd_sharding at; /* what the array is after the plan's steps so far */
    uint64_t count;         /* elements of a shard of that */
};

/* Begin an empty plan. */
void reshard_begin(struct reshard_way *way, struct shd_reshard_plan *plan,
                   const struct reshard_ask *ask);

/* Byte counts that do not fit stay at UINT64_MAX, which no plan may have. */
uint64_t reshard_mul(uint64_t a, uint64_t b);
uint64_t reshard_add(uint64_t a, uint64_t b);

/* Elements of one shard. */
uint64_t reshard_shard_count(const struct shd_sharding *sharding, const int64_t *shape);

/* Elements of all new shards that are not in the same device's old shard, over all devices. */
uint64_t reshard_moved(const struct shd_sharding *from, const struct shd_sharding *to,
                       const int64_t *shape);

/* Elements of the new shard of a position (of `to`) that are in its device's old shard. */
uint64_t reshard_held(const struct shd_reshard_step *step, const int64_t *shape, int32_t position);

/* The members of a step's groups; 1 where it has no groups. */
uint64_t reshard_group_size(const struct shd_reshard_step *step);

/* Whether it is done by groups that receive something. */
bool reshard_is_collective(const struct shd_reshard_step *step);

/* Elements that all devices receive in a collective; `count` is of one operand. */
uint64_t reshard_collective_received(const struct shd_reshard_step *step, uint64_t count);

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

/* To any other sharding of the same partial axes, of any mesh: permute where whole shards move, a
 * slice where nothing does. */
void reshard_exchange(struct reshard_way *way, const struct shd_sharding *to);

/* To another sharding of the same partial axes and mesh; false where the mode does not lead there,
 * or does not differ from the one before. */
bool reshard_move(struct reshard_way *way, const struct shd_sharding *to, enum reshard_mode mode);

/* ---- whole ways ---- */

/* How many ways there are: `wide` with those that only pay for some links. */
size_t reshard_nways(const struct reshard_ask *ask, bool wide);

/* Go way number i; false where it does not apply. */
bool reshard_go(struct shd_reshard_plan *plan, const struct reshard_ask *ask, bool wide, size_t i);

/* Go the way that moves the fewest bytes, then has the fewest steps, within the limit of memory if
 * any is. */
void reshard_go_fewest(struct shd_reshard_plan *plan, const struct reshard_ask *ask);

/* Within the limit of memory sooner than not, then the least of what is compared. */
bool reshard_is_better(const struct reshard_ask *ask, const struct shd_reshard_plan *a,
                       const struct shd_reshard_plan *b);

void reshard_copy_plan(struct shd_reshard_plan *out, const struct shd_reshard_plan *plan);

#endif /* RESHARD_STEP_H */
