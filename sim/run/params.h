/* params.h - parameters on devices, shared by the files of the room.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_PARAMS_H
#define RUN_PARAMS_H

#include <shd/params.h>

#include "run/store.h"

struct params_leaf {
    struct shd_sharding sharding;
    uint64_t shard_bytes;
    int64_t shard_shape[SHD_RANK_MAX];
    void **shards; /* by position, within a single block; NULL: not placed */
};

struct shd_params {
    struct shd_store *store;
    const struct shd_tree *tree;
    size_t nleaves;
    struct params_leaf *leaves;
    void **shards; /* [leaf][position] */
};

/* Free a leaf's memory on all devices. */
void params_drop(struct shd_params *params, size_t leaf);

/* The sharding of an array by a spec (NULL: replicated), which must divide its shape; a message of
 * the latter names the array.  Errors as of shd_sharding_bind() and shd_sharding_check(). */
int params_bind(struct shd_sharding *out, const struct shd_mesh *mesh, const struct shd_spec *spec,
                size_t rank, const int64_t *shape, struct shd_error *err);
int params_bind_leaf(struct shd_sharding *out, const struct shd_mesh *mesh,
                     const struct shd_spec *spec, const struct shd_leaf *leaf,
                     struct shd_error *err);

#endif /* RUN_PARAMS_H */
