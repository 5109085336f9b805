/* shd/reshard_figures.h - what a reshard has to move at least, what a plan of it moves, and both in
 * words.
 *
 * The bound is of the bytes that any method makes devices receive.  Where nothing is combined it is
 * exact: the bytes of each new shard that its device does not hold.  Where g parts of every element
 * are to be summed for d devices, the first full sum takes g - 1 receptions at least and every
 * further device one: g + d - 2 an element, one more where none of the d devices has a part of it.
 * Axes that become partial leave devices free to hold zeros: the bound is 0.
 *
 * Seconds are modelled.  In a step, a device's links of every tier work at once, each at its speed;
 * an exchange has the latency of each message one after the other, a collective over n members that
 * of log2 n rounds (an all-reduce twice) over its farthest link; the slowest device counts.
 * Algorithms, congestion and computation are not looked at.
 *
 * Cost: shd_reshard_bound() and shd_reshard_measure() go through all devices one by one, and in
 * exchanges through all boxes, so that their time grows at least linearly with the number of
 * devices: they are meant for the reshards that a user asks about, not for a search over large
 * meshes.  The bytes that shd/reshard.h tells are cheaper.
 *
 * Thread class: pure; scratch memory where SHD_ENOMEM is named.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_RESHARD_FIGURES_H
#define SHD_RESHARD_FIGURES_H

#include <stddef.h>
#include <stdint.h>

#include <shd/reshard.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_reshard_bound {
    uint64_t received_bytes; /* by all devices */
    uint64_t largest_bytes;  /* by one device; with sums, devices need not add up to all */
    size_t ntiers;           /* as in the options */
    /* For each tier, the bytes that must enter its groups of devices from outside.  They are told
     * only where nothing is combined and no axis becomes partial; else they are 0. */
    uint64_t entering_bytes[SHD_LINK_TIERS_MAX];
};

/* The least that a reshard moves; `opts` may be NULL.  The errors of shd_reshard_build(), and
 * SHD_EUNSUPPORTED where a tier's groups are no parts of a mesh's axes, or the device ids of a mesh
 * are not consecutive. */
SHD_API SHD_MUST_CHECK int
shd_reshard_bound(struct shd_reshard_bound *out, const struct shd_sharding *from,
                  const struct shd_sharding *to, const int64_t *shape, enum shd_dtype dtype,
                  const struct shd_reshard_opts *opts, struct shd_error *err);

/* The bytes that the device at a position of `to` receives at least.  shd_reshard_build() must take
 * both shardings. */
SHD_API uint64_t shd_reshard_bound_at(const struct shd_sharding *from,
                                      const struct shd_sharding *to, const int64_t *shape,
                                      enum shd_dtype dtype, int32_t position);

struct shd_reshard_figures {
    uint64_t received_bytes;         /* by all devices */
    uint64_t largest_received_bytes; /* by one device */
    uint64_t largest_sent_bytes;     /* by one device */
    /* From one device to another.  A collective counts as the direct algorithm: one message from
     * each member to each other, or two in an all-reduce. */
    uint64_t nmessages;
    uint64_t peak_bytes;                         /* of one device */
    int32_t group_devices[SHD_LINK_TIERS_MAX];   /* by tier, as in the options */
    size_t ntiers;                               /* as in the options */
    uint64_t entering_bytes[SHD_LINK_TIERS_MAX]; /* by tier: into its groups from outside */
    double seconds;                              /* 0 without links and seconds of the caller's */
};

/* What a plan moves; `opts` may be NULL.  Takes 16 bytes of scratch memory a device.
 * SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_reshard_measure(struct shd_reshard_figures *out,
                                               const struct shd_reshard_plan *plan,
                                               const int64_t *shape,
                                               const struct shd_reshard_opts *opts,
                                               struct shd_error *err);

/* Write one step in words into buf (cut if needed): "all-gather of dimension 0 over dp: 24 B".
 * Returns the length of the whole text. */
SHD_API size_t shd_reshard_step_print(const struct shd_reshard_step *step, char *buf, size_t size);

/* Write a plan in words, a line for each step and for what it comes to: bytes and how far they are
 * from the bound, messages, memory.  `bound` and `figures` are of the plan.  Returns the length of
 * the whole text. */
SHD_API size_t shd_reshard_describe(const struct shd_reshard_plan *plan,
                                    const struct shd_reshard_bound *bound,
                                    const struct shd_reshard_figures *figures, char *buf,
                                    size_t size);

#ifdef __cplusplus
}
#endif

#endif /* SHD_RESHARD_FIGURES_H */
