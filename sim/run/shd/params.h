/* shd/params.h - a tree of arrays on device memory: placed by specs, gathered back.
 *
 * Parameters are a tree, a sharding for each leaf, and, once placed, each device's shard of each
 * leaf in a store's memory.  A shard is row-major and takes exactly its elements' bytes, so that a
 * device holds what shd_analyze_device_bytes() says.  Placing and gathering run on the device
 * threads, each of which copies its own part; between host and devices no bytes are counted as
 * sent.
 *
 * Where the originals hand out two trees of functions (make_shard_and_gather_fns), leaf i's pair is
 * shd_params_shard_leaf() and shd_params_gather_leaf() of one object.
 *
 * Thread class: owned by the store's thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_PARAMS_H
#define SHD_PARAMS_H

#include <shd/auto_shard.h>
#include <shd/partitioner.h>
#include <shd/sharding.h>
#include <shd/spec.h>
#include <shd/store.h>
#include <shd/tree.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_params; /* opaque */

/* Bind a spec to each leaf; specs[i] NULL: replicated, and `specs` NULL: all are.  Nothing is
 * placed yet.  Store and tree must outlive the parameters; specs need not.  Errors of
 * shd_sharding_bind() and shd_sharding_check() naming the leaf, SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_params_create(struct shd_params **out, struct shd_store *store,
                                             const struct shd_tree *tree,
                                             const struct shd_spec *const *specs,
                                             struct shd_error *err);

/* The same by a partitioner's axes of the tree: with shd_params_shard(), T5X's
 * move_params_to_devices(). */
SHD_API SHD_MUST_CHECK int shd_params_create_partitioned(struct shd_params **out,
                                                         struct shd_store *store,
                                                         const struct shd_tree *tree,
                                                         const struct shd_partitioner *partitioner,
                                                         struct shd_error *err);

/* The same by shapes alone: with shd_params_shard(), eformer's auto_shard_pytree(). */
SHD_API SHD_MUST_CHECK int shd_params_create_auto(struct shd_params **out, struct shd_store *store,
                                                  const struct shd_tree *tree,
                                                  const struct shd_auto_options *options,
                                                  struct shd_error *err);

/* Free the parameters and their memory on the devices.  NULL is allowed. */
SHD_API void shd_params_destroy(struct shd_params *params);

SHD_API const struct shd_tree *shd_params_tree(const struct shd_params *params);
SHD_API const struct shd_sharding *shd_params_sharding(const struct shd_params *params,
                                                       size_t leaf);
SHD_API bool shd_params_is_placed(const struct shd_params *params, size_t leaf);

/* Numbers of leaves that are not there, and positions, are SHD_EINVAL, false and NULL here; so is
 * host memory that is NULL where an array has elements. */

/* Place all leaves, or one: host[i] is leaf i whole, row-major.  What was placed before is
 * overwritten.  On failure (SHD_EDEVMEM, SHD_ENOMEM, SHD_ESYSTEM, SHD_ESTOPPED) leaves that were
 * not placed before are not. */
SHD_API SHD_MUST_CHECK int shd_params_shard(struct shd_params *params, const void *const *host,
                                            struct shd_error *err);
SHD_API SHD_MUST_CHECK int shd_params_shard_leaf(struct shd_params *params, size_t leaf,
                                                 const void *host, struct shd_error *err);

/* Copy all leaves, or one, whole into host memory; of replicas the one at the lowest position
 * counts.  SHD_EINVAL when a leaf is not placed. */
SHD_API SHD_MUST_CHECK int shd_params_gather(const struct shd_params *params, void *const *host,
                                             struct shd_error *err);
SHD_API SHD_MUST_CHECK int shd_params_gather_leaf(const struct shd_params *params, size_t leaf,
                                                  void *host, struct shd_error *err);

/* A device's shard; NULL when it is not placed.  Device functions that run on the store may write
 * their own. */
SHD_API void *shd_params_shard_at(const struct shd_params *params, size_t leaf, int32_t position);

#ifdef __cplusplus
}
#endif

#endif /* SHD_PARAMS_H */
