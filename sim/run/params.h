/* params.h - parameters on devices, shared by the files of sim/api.
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

#endif /* RUN_PARAMS_H */
