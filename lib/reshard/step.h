/* reshard/step.h - a reshard plan under construction: its current sharding, and the steps to add.
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

/* A reshard request.  Axes of size 1 have been removed from both shardings. */
struct reshard_ask {
    struct shd_sharding from;
    struct shd_sharding to;
    const int64_t *shape;
    enum shd_dtype dtype;
    bool cross;                       /* the two shardings are on different meshes */
    uint32_t excluded_axes;           /* as in struct shd_reshard_opts */
    uint64_t limit_bytes;             /* of one device, for a step's operand and result together */
    int32_t near[SHD_LINK_TIERS_MAX]; /* as in struct shd_reshard_step */
};

/* The total time of a plan by the caller's model, opts->seconds. */
double reshard_asked_seconds(const struct shd_reshard_plan *plan, const int64_t *shape,
                             const struct shd_reshard_opts *opts);

/* Check a request and store it in *out, which keeps a pointer to `shape`. */
int reshard_ask(struct reshard_ask *out, const struct shd_sharding *from,
                const struct shd_sharding *to, const int64_t *shape, enum shd_dtype dtype,
                const struct shd_reshard_opts *opts, struct shd_error *err);

/* How to move data once nothing is left to combine. */
enum reshard_mode {
    RESHARD_FEWEST, /* named collectives if these move no more than the minimum, else one
                       exchange */
    RESHARD_NAMED,  /* named collectives, whatever they move */
    RESHARD_DIRECT  /* one exchange */
};

/* A plan under construction, and the sharding that it has reached. */
struct reshard_way {
    struct shd_reshard_plan *plan;
    const struct reshard_ask *ask;
    struct shd_sharding at; /* sharding after the plan's steps so far */
    uint64_t count;         /* elements of one shard of `at` */
};

/* Begin an empty plan. */
void reshard_begin(struct reshard_way *way, struct shd_reshard_plan *plan,
                   const struct reshard_ask *ask);

/* Multiply and add counts of elements and bytes.  A result that overflows is UINT64_MAX and remains
 * so; a plan of UINT64_MAX bytes is refused. */
uint64_t reshard_mul(uint64_t a, uint64_t b);
uint64_t reshard_add(uint64_t a, uint64_t b);

/* Whether some dimension does not divide: old and new intervals then do not nest regularly. */
bool reshard_is_uneven(const struct shd_sharding *sharding, const int64_t *shape);

/* Elements of the shard at a position, and of all shards together. */
uint64_t reshard_count_at(const struct shd_sharding *sharding, const int64_t *shape,
                          int32_t position);
uint64_t reshard_count_all(const struct shd_sharding *sharding, const int64_t *shape);

/* Elements of the longest shard, with its padding. */
uint64_t reshard_shard_count(const struct shd_sharding *sharding, const int64_t *shape);

/* The elements of new shards that devices do not hold in their old ones, summed over all
 * devices. */
uint64_t reshard_moved(const struct shd_sharding *from, const struct shd_sharding *to,
                       const int64_t *shape);

/* The elements of the new shard at a position (of `to`) that its device holds in its old shard. */
uint64_t reshard_held(const struct shd_reshard_step *step, const int64_t *shape, int32_t position);

/* Of a reach: the element that the first place of an index is for. */
int64_t reshard_reach_origin(const struct shd_reshard_step *step, int64_t index);

/* Of a reach: the elements that a position gets, and the elements of its shard that are sent. */
uint64_t reshard_reached(const struct shd_reshard_step *step, const int64_t *shape,
                         int32_t position);
uint64_t reshard_reached_by_others(const struct shd_reshard_step *step, const int64_t *shape,
                                   int32_t position);

/* The size of a step's groups; 1 if the step has no groups. */
uint64_t reshard_group_size(const struct shd_reshard_step *step);

/* Whether a step is a collective of groups of devices that send to each other. */
bool reshard_is_collective(const struct shd_reshard_step *step);

/* The elements that all devices together receive in a collective; `count` is the elements of one
 * operand. */
uint64_t reshard_collective_received(const struct shd_reshard_step *step, uint64_t count);

/* A mask of the axes that a step may slice along: those that neither shard a dimension nor are
 * partial, without the excluded ones. */
uint32_t reshard_free_axes(const struct reshard_way *way);

/* How many leading axes two dimensions have in common. */
size_t reshard_common(const struct shd_dim_axes *a, const struct shd_dim_axes *b);

/* The sharding nearest to `to` that a slice, which moves nothing, can reach: a dimension whose axes
 * are the first of its axes in `to` gets the axes that follow, as long as they are free.  False if
 * no dimension gets an axis. */
bool reshard_sliced(struct shd_sharding *next, const struct reshard_way *way,
                    const struct shd_sharding *to);

/* Add the slice of reshard_sliced(), if there is one. */
void reshard_slice(struct reshard_way *way, const struct shd_sharding *to);

/* Add a slice to a sharding in which each dimension keeps its axes and may gain free ones after
 * them. */
void reshard_slice_to(struct reshard_way *way, const struct shd_sharding *to);

/* Add a collective; enum shd_reshard_kind says what happens to the axes.  An all-gather and an
 * all-to-all use the last `naxes` axes of `dim`; a reduce-scatter uses `axes`, in the order in
 * which `dim` gets them; an all-reduce uses a mask of axes. */
void reshard_all_gather(struct reshard_way *way, size_t dim, size_t naxes);
void reshard_all_to_all(struct reshard_way *way, size_t dim, size_t dim2, size_t naxes);
void reshard_reduce_scatter(struct reshard_way *way, size_t dim, const uint8_t *axes, size_t naxes);
void reshard_all_reduce(struct reshard_way *way, uint32_t axes);
/* Add the step that turns the axes that become partial in `to` into partial sums. */
void reshard_mask(struct reshard_way *way, const struct shd_sharding *to);

/* The axes that cut a dimension, from its tuple's entry `first` on: bit a for axis a. */
uint32_t reshard_axes_from(const struct shd_dim_axes *dim, uint8_t first);

/* Add the step from pieces to shards; and the step from shards to the pieces of `to`: a
 * reduce-scatter if all its flat axes are partial, else a slice, which requires that none is. */
void reshard_gather_pieces(struct reshard_way *way);
void reshard_make_pieces(struct reshard_way *way, const struct shd_sharding *to);

/* Build the plan of a reshard from or to pieces, for which there is only one way.
 * SHD_EUNSUPPORTED, or as shd_reshard_build(). */
SHD_MUST_CHECK int reshard_go_flat(struct shd_reshard_plan *plan, const struct reshard_ask *ask,
                                   struct shd_error *err);

/* Add one step to any other sharding with the same partial axes, on any mesh: an exchange, or a
 * permute where whole shards change their device, or a slice where no element moves. */
void reshard_exchange(struct reshard_way *way, const struct shd_sharding *to);

/* Add the steps to another sharding with the same partial axes on the same mesh.  False if the mode
 * does not reach it, or would only repeat the plan of the mode before. */
bool reshard_move(struct reshard_way *way, const struct shd_sharding *to, enum reshard_mode mode);

/* ---- complete plans ---- */

/* How many ways to try; `wide` adds those that can only be better when links have speeds. */
size_t reshard_nways(const struct reshard_ask *ask, bool wide);

/* Build the plan of way number i; false if that way does not lead from `from` to `to`. */
bool reshard_go(struct shd_reshard_plan *plan, const struct reshard_ask *ask, bool wide, size_t i);

/* Build the plan that moves the fewest bytes and, among those, has the fewest steps; within the
 * memory limit if possible. */
void reshard_go_fewest(struct shd_reshard_plan *plan, const struct reshard_ask *ask);

/* Whether to prefer plan `a` to `b`: the one within the memory limit, then the one that receives
 * fewer bytes, then the one with fewer steps. */
bool reshard_is_better(const struct reshard_ask *ask, const struct shd_reshard_plan *a,
                       const struct shd_reshard_plan *b);

/* Copy a plan, with only those steps that are set. */
void reshard_copy_plan(struct shd_reshard_plan *out, const struct shd_reshard_plan *plan);

#endif /* RESHARD_STEP_H */
