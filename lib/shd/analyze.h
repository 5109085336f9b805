/* shd/analyze.h - what a sharding strategy means: eformer's analyze_sharding_strategy().
 *
 * The original returns two totals, and promises memory per device, load balance, communication cost
 * and statistics by parameter, which it never fills.  shd_analyze_totals() and
 * shd_analyze_floor_bytes() are what it does; shd_analyze() is what it promises, under these
 * definitions:
 *
 *   shard       a dimension d cut into n intervals has intervals of ceil(d/n) elements; the last
 *               ones may be shorter, or empty.  A dimension of several axes has the product of
 *               their sizes as n.
 *   memory      what the fullest device holds: the sum over arrays of the bytes of the largest
 *               shard.  The device at position 0 always holds that.
 *   balance     mean over maximum of the bytes that devices hold: 1 when every array divides
 *               evenly (and when there are no bytes at all), less the more unevenly they are cut.
 *   gather      bytes that a device receives when each sharded array is made whole on it once, as
 *               in a forward pass with sharded weights: the sum over arrays of the bytes of the
 *               array less those of its largest shard.
 *   sync        bytes that a device receives when the replicas of each shard sum their gradients
 *               in a ring: 2(r-1)/r of the largest shard, rounded up, for r replicas.
 *
 * Thread class: pure functions; an analysis is immutable once created.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_ANALYZE_H
#define SHD_ANALYZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>
#include <shd/mesh.h>
#include <shd/shape.h>
#include <shd/spec.h>
#include <shd/tree.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_totals {
    int64_t total_parameters;   /* elements of all arrays */
    int64_t sharded_parameters; /* elements of arrays with a spec other than []; [none] counts as
                                   sharded */
};

/* The original's totals; specs[i] belongs to leaf i.  The original fails where this returns
 * SHD_ENOMESH (mesh is NULL), SHD_ETYPE (a spec is NULL) or SHD_ENOAXIS (an axis that is not in the
 * mesh, or an entry of several axes). */
SHD_API SHD_MUST_CHECK int shd_analyze_totals(struct shd_totals *out, const struct shd_tree *tree,
                                              const struct shd_spec *const *specs,
                                              const struct shd_mesh *mesh, struct shd_error *err);

/* The bytes of one array divided by the size of each axis in turn, rounding down each time: what
 * the original computes and throws away.  Rank and repeated axes are not looked at.  Errors as
 * above, and SHD_ERANGE. */
SHD_API SHD_MUST_CHECK int shd_analyze_floor_bytes(uint64_t *out, const struct shd_leaf *leaf,
                                                   const struct shd_spec *spec,
                                                   const struct shd_mesh *mesh,
                                                   struct shd_error *err);

/* The statistics of one array, in the terms defined above. */
struct shd_leaf_stats {
    int64_t nelements;
    uint64_t bytes;
    int64_t shard_shape[SHD_RANK_MAX]; /* of the largest shard */
    uint64_t shard_bytes;
    int64_t nshards;   /* the product over dimensions of their numbers of intervals */
    int64_t nreplicas; /* devices that hold the same shard */
    bool is_sharded;   /* cut into more than one shard */
    bool is_even;      /* every dimension divides by its intervals */
    uint64_t gather_bytes, sync_bytes;
};

struct shd_analysis {
    struct shd_totals totals;
    uint64_t total_bytes;  /* of all arrays, once */
    uint64_t device_bytes; /* of the fullest device: `memory` above */
    double balance;
    uint64_t gather_bytes, sync_bytes; /* of one device */
    size_t nuneven;                    /* arrays that do not divide */
    size_t nleaves;
    struct shd_leaf_stats *leaves; /* in the tree's order */
};

/* Analyze; free *out with shd_analysis_destroy().  Beside SHD_ENOMESH and SHD_ETYPE the errors of
 * shd_sharding_bind(), SHD_ERANGE (sums over 2^64) and SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_analyze(struct shd_analysis **out, const struct shd_tree *tree,
                                       const struct shd_spec *const *specs,
                                       const struct shd_mesh *mesh, struct shd_error *err);

SHD_API void shd_analysis_destroy(struct shd_analysis *analysis); /* NULL is allowed */

/* The bytes that the device at a position of the mesh really holds.  SHD_ERANGE for a position that
 * is not in it; else as shd_analyze(). */
SHD_API SHD_MUST_CHECK int shd_analyze_device_bytes(uint64_t *out, const struct shd_tree *tree,
                                                    const struct shd_spec *const *specs,
                                                    const struct shd_mesh *mesh, int32_t position,
                                                    struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_ANALYZE_H */
