/* partition.h - partitioned and compiled functions, shared by the files of the room.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_PARTITION_H
#define RUN_PARTITION_H

#include <shd/partition.h>

struct partition_side {
    struct shd_resources *list; /* entries, paths and specs are copies */
    size_t count;
};

struct shd_partitioned {
    shd_partitioned_fn fn;
    shd_results_fn results_fn;
    void *arg;
    struct shd_context context;
    struct partition_side args, results;
};

/* One argument or result of a compiled function; both NULL for a static one. */
struct compiled_tree {
    struct shd_tree *tree;
    const struct shd_spec **specs; /* by leaf, the partitioned function's; NULL: replicated */
    struct shd_sharding *shardings;
};

struct shd_compiled {
    const struct shd_partitioned *fn;
    const void **constants;     /* by argument */
    struct compiled_tree *args; /* as many as fn->args.count */
    struct compiled_tree *results;
};

#endif /* RUN_PARTITION_H */
