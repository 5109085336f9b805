/* shd/reshard.h - from one sharding of an array to another: the steps, and the bytes they move.
 *
 * A plan is a short sequence of steps; each is a collective over groups along mesh axes, or local.
 * Axes of size 1 mean nothing: the steps' shardings do not name them, and the first step's `from`
 * and the last one's `to` are the given shardings without them.  Between the two, each step starts
 * where the one before ended.  A plan without steps has nothing to do.
 *
 * The two meshes may differ; equal device ids are the same device.  What has to be combined then is
 * combined on the first mesh, and one step (a slice where nothing moves, else a permute or an
 * exchange) leads to the second: its `from` and `to` have different meshes.
 *
 * Received bytes are those that reach a device from another device.  A group of g members with an
 * operand of b bytes each receives in all: all-gather g(g-1)b, reduce-scatter and all-to-all
 * (g-1)b, all-reduce 2(g-1)b; permute b for every position whose shard was elsewhere; exchange
 * exactly the bytes of each new shard that its device did not hold.  While nothing has to be
 * combined, no plan moves more than these last, which no method can undercut; see also
 * shd/reshard_figures.h.
 *
 * Thread class: plans and steps are values; all calls are pure, and allocate nothing unless they
 * say so.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_RESHARD_H
#define SHD_RESHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/dtype.h>
#include <shd/error.h>
#include <shd/mesh.h>
#include <shd/shape.h>
#include <shd/sharding.h>

#ifdef __cplusplus
extern "C" {
#endif

enum shd_reshard_kind {
    SHD_RESHARD_SLICE,          /* local: dimensions get further minor axes */
    SHD_RESHARD_MASK,           /* local: replicated -> partial sum; all but coordinate 0 on the
                                 * step's axes become zero */
    SHD_RESHARD_ALL_GATHER,     /* `dim` loses its minor-most axes, the step's axes */
    SHD_RESHARD_ALL_TO_ALL,     /* the minor-most axes of `dim` become those of `dim2` */
    SHD_RESHARD_REDUCE_SCATTER, /* partial axes become the minor-most axes of `dim` */
    SHD_RESHARD_ALL_REDUCE,     /* partial axes are combined */
    SHD_RESHARD_PERMUTE,        /* every new shard is one old shard, most of another device */
    SHD_RESHARD_EXCHANGE,       /* every device fetches the boxes it lacks from their holders */
    SHD_RESHARD_NKINDS
};

/* How many kinds of links are told apart, as inside a chip, a host and a rack, and beyond. */
#define SHD_LINK_TIERS_MAX 4

/* The links inside groups of devices.  Devices whose ids are equal when divided by `ndevices` are
 * in one group. */
struct shd_link_tier {
    int32_t ndevices;   /* of a group; 0, in the last tier only: all */
    double latency_s;   /* of one message */
    double bytes_per_s; /* into, and out of, one device */
};

struct shd_reshard_step;

/* What a step takes by a model of the caller's; at least 0, and the same for the same step. */
typedef double (*shd_reshard_seconds_fn)(const void *arg, const struct shd_reshard_step *step,
                                         const int64_t *shape, enum shd_dtype dtype);

/* Zeros are the defaults. */
struct shd_reshard_opts {
    uint64_t memory_bytes; /* of one device, for a step's operand and result at once; 0: what the
                            * first operand and the last result need */
    size_t ntiers;         /* 0: nothing is known of links */
    /* The nearest links first; the groups of each tier are parts of those of the next. */
    struct shd_link_tier tiers[SHD_LINK_TIERS_MAX];
    /* In place of the seconds that shd_reshard_measure() tells of tiers; NULL: those.  Tiers still
     * say which holders are the nearest. */
    shd_reshard_seconds_fn seconds;
    const void *seconds_arg;
    /* Bit a: no step goes along axis a of the mesh, as along the axis of a pipeline, where devices
     * hold different arrays.  Both shardings are on one mesh then and have none of these axes, and
     * no tiers are given. */
    uint16_t excluded_axes;
};

struct shd_reshard_step {
    enum shd_reshard_kind kind;
    uint8_t naxes;                   /* 0 for slice, permute and exchange */
    uint8_t axes[SHD_MESH_AXES_MAX]; /* that groups span, the first the most major */
    int dim;  /* all-gather, reduce-scatter: the dimension; all-to-all: the one that is gathered,
               * i.e. loses the axes; of a shift the one along which it goes; else -1 */
    int dim2; /* all-to-all: the dimension that is split, i.e. gets the axes; else -1 */
    int32_t near[SHD_LINK_TIERS_MAX]; /* permute, exchange: sizes of groups of devices, the nearest
                                       * first, ended by 0: boxes come from the nearest holders */
    uint64_t received_bytes;          /* by all devices */
    int64_t shift; /* of shd_reshard_shift(): elements by which `dim` is moved on; else 0 */
    struct shd_reach {
        int64_t by, first, extent;
        int64_t apart, base, stride;
    } reach; /* of shd_reshard_reach(): what each index along `dim` gets; else 0 */
    struct shd_sharding from;
    struct shd_sharding to;
};

/* The most steps of a plan.  A step that slices or combines uses up an axis of the mesh, of which
 * there are at most SHD_MESH_AXES_MAX = 16; a plan may have a mask, an all-reduce and an exchange
 * besides.  A way of named collectives that needs more steps is not taken. */
#define SHD_RESHARD_STEPS_MAX 24

/* Only the first `nsteps` steps are set. */
struct shd_reshard_plan {
    enum shd_dtype dtype;
    size_t nsteps;
    uint64_t received_bytes; /* by all devices, in all steps */
    uint64_t peak_bytes;     /* of one device: the largest operand and result of one step */
    struct shd_reshard_step steps[SHD_RESHARD_STEPS_MAX];
};

/* Plan the way from one sharding to another of an array.  `shape` is the extents of the whole
 * array, as many as the shardings' rank.  Of the ways that are tried, and that need no more memory
 * than the first operand and the last result together, the plan is the one that moves the fewest
 * bytes and, of those, has the fewest steps.  Pieces (a flat cut) are gathered before anything else
 * and made after it, before what is left is combined.  Where something has to be combined, or axes
 * become partial, and every way needs more memory than that, the limit does not count.
 *
 * Both shardings have equal ranks (SHD_EINVAL) and divide the shape (SHD_EINDIVISIBLE).  On equal
 * meshes, axes that are partial in both need the same operation (SHD_EINVAL); axes that become
 * partial need SHD_SUM, and pieces have one mesh (SHD_EUNSUPPORTED).  SHD_ERANGE when bytes do not
 * fit a uint64_t. */
SHD_API SHD_MUST_CHECK int shd_reshard_build(struct shd_reshard_plan *out,
                                             const struct shd_sharding *from,
                                             const struct shd_sharding *to, const int64_t *shape,
                                             enum shd_dtype dtype, struct shd_error *err);

/* The same with options (NULL: as above).  With links or seconds more ways are tried, and the plan
 * is the one that takes the least time; by shd_reshard_measure(), where no seconds are given, and
 * then time and memory grow with the devices.
 * SHD_EINVAL for tiers that are not each a part of the next or have no speed, and for excluded axes
 * that a sharding has, or that come with tiers or two meshes; SHD_EDEVMEM where every way needs more
 * memory than was asked for; SHD_ENOMEM, as links need scratch memory. */
SHD_API SHD_MUST_CHECK int
shd_reshard_build_with(struct shd_reshard_plan *out, const struct shd_sharding *from,
                       const struct shd_sharding *to, const int64_t *shape, enum shd_dtype dtype,
                       const struct shd_reshard_opts *opts, struct shd_error *err);

/* The plan of way number i of those that are tried when links are known, whatever memory it needs;
 * SHD_ENOTFOUND when there are no more than i of them.  Some ways may have equal plans. */
SHD_API SHD_MUST_CHECK int
shd_reshard_candidate(struct shd_reshard_plan *out, size_t i, const struct shd_sharding *from,
                      const struct shd_sharding *to, const int64_t *shape, enum shd_dtype dtype,
                      const struct shd_reshard_opts *opts, struct shd_error *err);

/* A step that is part of no plan, as it makes another array: element i of the new one along `dim`
 * is element i - `by` of the old one, cyclically.  Both lie as `sharding` says.  A permute where
 * whole shards change hands, an exchange where they are cut, a slice (local) where `dim` is whole.
 * SHD_EINVAL for a dimension that there is not; SHD_EINDIVISIBLE; SHD_ERANGE when bytes do not fit
 * a uint64_t. */
SHD_API SHD_MUST_CHECK int shd_reshard_shift(struct shd_reshard_step *out,
                                             const struct shd_sharding *sharding,
                                             const int64_t *shape, enum shd_dtype dtype, int dim,
                                             int64_t by, struct shd_error *err);

/* Another such step: index i along `dim` of the new sharding gets `extent` elements of the old
 * array, numbers base + (n + t) * stride for t from 0 on, where n is (i * by + first) / apart,
 * rounded up.  With the defaults, which are 1 for `apart` and `stride`, as zeros are, and 0 for
 * `base`, these are the elements [i * by + first, i * by + first + extent): its own and those of
 * its neighbours (a halo).  A slice along a cut dimension has by = extent, a stride, or a negative
 * one, takes elements apart, and what lies between is not moved.  The shardings are equal but for
 * the axes of `dim`; the new array has `extent` elements along `dim` for each index
 * (shd_reshard_step_shape()), and those that the old one lacks are not written.  An exchange, in
 * which each device receives just what it gets and does not hold, or a slice (local) where none
 * receives anything.  `extent` and `apart` are at least 1.  Errors as above; SHD_EUNSUPPORTED for
 * shards that are uneven or flat. */
SHD_API SHD_MUST_CHECK int shd_reshard_reach(struct shd_reshard_step *out,
                                             const struct shd_sharding *from,
                                             const struct shd_sharding *to, const int64_t *shape,
                                             enum shd_dtype dtype, int dim,
                                             const struct shd_reach *reach, struct shd_error *err);

/* The extents of the array that a step makes of one of `shape`: others only in a reach.  All other
 * functions take the old array's. */
SHD_API void shd_reshard_step_shape(const struct shd_reshard_step *step, const int64_t *shape,
                                    int64_t *out);

/* The element of the old array, or one before it, for which the first place of a position's new
 * shard is; with a shift, the element of the new one. */
SHD_API void shd_reshard_step_offset(const struct shd_reshard_step *step, const int64_t *shape,
                                     int32_t position, int64_t *out);

/* Whether a step makes pieces of shards, or shards of pieces (struct shd_sharding's flat cut): an
 * all-gather, a reduce-scatter or a slice, whose `dim` is -1.  Pieces lie in a row in the shard,
 * with their padding behind its end. */
SHD_API bool shd_reshard_is_flat(const struct shd_reshard_step *step);

/* Elements of one device's operand as the collective of a step counts them: with the padding of all
 * pieces, or of chunks that do not divide, where a reduce-scatter makes these. */
SHD_API uint64_t shd_reshard_operand_count(const struct shd_reshard_step *step,
                                           const int64_t *shape);

/* The axes along which devices exchange something in a step: of a collective its
 * own, of a permute or exchange those that cut a dimension otherwise afterwards, or the one that is
 * shifted.  Returns how many: 0 of a slice or mask, and between meshes, which have no axes in
 * common. */
SHD_API size_t shd_reshard_step_axes(const struct shd_reshard_step *step,
                                     uint8_t axes[SHD_MESH_AXES_MAX]);

/* The received bytes of shd_reshard_build()'s plan, UINT64_MAX when there is none. */
SHD_API uint64_t shd_reshard_cost(const struct shd_sharding *from, const struct shd_sharding *to,
                                  const int64_t *shape, enum shd_dtype dtype);

/* The bytes that a position (of the step's `to`) receives in a step, the bytes that a position (of
 * its `from`) sends in it, and the bytes that a device receives in the whole plan.  In an
 * all-reduce the operand's elements are cut into chunks, one for each member; where they do not
 * divide, the first chunks are one element longer.
 *
 * The time to tell these does not depend on the number of devices, but for what is sent in a
 * permute or exchange: where old and new intervals do not lie within each other, that goes through
 * the devices that want part of the shard; with links, or between meshes without a common one,
 * through the boxes of all devices. */
SHD_API uint64_t shd_reshard_step_received(const struct shd_reshard_step *step,
                                           const int64_t *shape, enum shd_dtype dtype,
                                           int32_t position);
SHD_API uint64_t shd_reshard_step_sent(const struct shd_reshard_step *step, const int64_t *shape,
                                       enum shd_dtype dtype, int32_t position);
SHD_API uint64_t shd_reshard_received(const struct shd_reshard_plan *plan, const int64_t *shape,
                                      int32_t device_id);

/* A box of elements that a position copies.  Extents and offsets are in elements. */
struct shd_fetch {
    int32_t source; /* a position of the step's `from`, in whose old shard the box lies */
    bool own;       /* the source is the device itself, which then receives nothing */
    int64_t extent[SHD_RANK_MAX];
    int64_t source_offset[SHD_RANK_MAX]; /* inside the source's old shard */
    int64_t dest_offset[SHD_RANK_MAX];   /* inside the position's new shard */
    int64_t source_stride[SHD_RANK_MAX]; /* from one to the next in the old shard; 0 is 1 */
};

/* The boxes that make up the new shard of a position (of the step's `to`), for any step that
 * neither combines nor masks: their number, and box i.  Each lies in one old shard; together they
 * fill the new shard once.  The source is the device itself where it holds the box; else one of the
 * nearest holders, which take turns: without links none sends more boxes than its share of those of
 * its shard, rounded up (and one more where two meshes have the same devices in orders of which no
 * common mesh can be made). */
SHD_API int64_t shd_reshard_fetch_count(const struct shd_reshard_step *step, const int64_t *shape,
                                        int32_t position);
SHD_API void shd_reshard_fetch(const struct shd_reshard_step *step, const int64_t *shape,
                               int32_t position, int64_t i, struct shd_fetch *out);

/* The bytes of a box of an array of `rank` dimensions. */
SHD_API uint64_t shd_fetch_bytes(const struct shd_fetch *box, size_t rank, enum shd_dtype dtype);

/* "slice", "mask", "all-gather", "all-to-all", "reduce-scatter", "all-reduce", "permute",
 * "exchange".  Static. */
SHD_API const char *shd_reshard_kind_name(enum shd_reshard_kind kind);

#ifdef __cplusplus
}
#endif

#endif /* SHD_RESHARD_H */
