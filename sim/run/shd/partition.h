/* shd/partition.h - a function partitioned over a mesh: T5X's partition() and compile() on threads.
 *
 * A partitioned function takes arguments, each a tree of arrays on the devices of a store or a
 * static value, and gives results, each such a tree.  How they are sharded is said by axis
 * resources: specs for the tree or for its branches (shd/prefix.h).  A call brings every argument
 * into its layout, runs the function on every device, which sees its own shards, and hands out the
 * results.
 *
 * The steps: shd_partition() binds resources to a function; shd_compile() adds what is known of the
 * arguments beforehand - names, types and shapes, and the static values themselves; a
 * shd_compiled_call() then takes only arguments that look the same.
 *
 * A donated argument is used up by the call, also if that fails.  A result leaf of the same shape,
 * type and layout as a donated one not yet so used lies in its very memory: a function that writes
 * the one must not need the other any more, at least not these elements.
 *
 * Thread class: partitioned and compiled functions are immutable; a call belongs to the store's
 * thread, a shd_call to its device's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_PARTITION_H
#define SHD_PARTITION_H

#include <stdbool.h>
#include <stddef.h>

#include <shd/context.h>
#include <shd/params.h>
#include <shd/prefix.h>
#include <shd/store.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_call;        /* one device's view of a call; opaque */
struct shd_partitioned; /* opaque */
struct shd_compiled;    /* opaque */

/* What is known of an argument before a call. */
struct shd_argument {
    const struct shd_tree *tree; /* NULL for a static argument */
    const void *constant;        /* of a static argument; must outlive what is compiled with it */
};

/* The body, run by every device; SHD_OK or a failure with *err filled. */
typedef int (*shd_partitioned_fn)(struct shd_call *call, void *arg, struct shd_error *err);

/* Add the leaves of all results, of arrays as a whole, to these empty trees. */
typedef int (*shd_results_fn)(struct shd_tree *const *results, const struct shd_argument *args,
                              void *arg, struct shd_error *err);

struct shd_resources {
    const struct shd_prefix *entries; /* none: all replicated */
    size_t nentries;
    bool is_static;  /* arguments only */
    bool is_donated; /* arguments only */
};

struct shd_partition_opts {
    shd_partitioned_fn fn;
    shd_results_fn results_fn; /* NULL: there are no leaves in any result */
    void *arg;                 /* of both functions */
    const struct shd_resources *args;
    size_t nargs;
    const struct shd_resources *results;
    size_t nresults;
};

/* Bind resources, copied, to a function.  The context's mesh and rules must outlive what is made of
 * it.  SHD_ENOMESH (no mesh in context), SHD_EINVAL (a static argument with specs or donated, a
 * result that is either), SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_partition(struct shd_partitioned **out,
                                         const struct shd_partition_opts *opts,
                                         const struct shd_context *context, struct shd_error *err);
SHD_API void shd_partitioned_destroy(struct shd_partitioned *fn); /* NULL is allowed */

/* Fix the shapes: one value for each argument; trees are copied.  The partitioned function must
 * outlive the compiled one.  Errors of shd_prefix_specs(), shd_sharding_bind() and
 * shd_sharding_check(); SHD_EINVAL (a tree where a constant belongs, or none where one does);
 * what results_fn returns; SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_compile(struct shd_compiled **out, const struct shd_partitioned *fn,
                                       const struct shd_argument *args, struct shd_error *err);
SHD_API void shd_compiled_destroy(struct shd_compiled *fn); /* NULL is allowed */

/* The tree of a result; NULL for a result that does not exist. */
SHD_API const struct shd_tree *shd_compiled_result_tree(const struct shd_compiled *fn,
                                                        size_t result);

/* Call on a store: args[i] is NULL where argument i is static.  Stores the results, placed; destroy
 * each with shd_params_destroy(), before the compiled function.  `stats` may be NULL; bytes include
 * those that bring arguments into their layouts.
 *
 * SHD_EINVAL (another mesh than the context's; an argument that is of another store, looks
 * otherwise than when compiled, is not placed, or is donated and passed twice): nothing is used up.
 * Else as shd_run(). */
SHD_API SHD_MUST_CHECK int shd_compiled_call(const struct shd_compiled *fn, struct shd_store *store,
                                             struct shd_params *const *args,
                                             struct shd_params **results,
                                             struct shd_run_stats *stats, struct shd_error *err);

/* ---- inside a partitioned function ---- */

/* A device's view of an array: its shard. */
struct shd_local {
    void *data; /* the device's shard, row-major */
    enum shd_dtype dtype;
    struct shd_sharding sharding;
    int64_t shape[SHD_RANK_MAX]; /* of the whole array; the sharding has the rank */
};

SHD_API struct shd_device *shd_call_device(const struct shd_call *call);
SHD_API const struct shd_context *shd_call_context(const struct shd_call *call);

/* Leaf `leaf` of an argument (to be read only, unless donated), a static argument, and leaf `leaf`
 * of a result, to be written.  Data is NULL for what is not there. */
SHD_API struct shd_local shd_call_arg(const struct shd_call *call, size_t arg, size_t leaf);
SHD_API const void *shd_call_static(const struct shd_call *call, size_t arg);
SHD_API struct shd_local shd_call_result(const struct shd_call *call, size_t result, size_t leaf);

/* with_sharding_constraint(): the array laid out by a spec (NULL: replicated) of the context's
 * mesh.  All devices call it together.  Where it is sharded so already *out is *in; else out->data
 * is device memory of its own, to be freed by shd_device_free() or at the end of the call.  Errors
 * of shd_sharding_bind() and shd_sharding_check(); SHD_EUNSUPPORTED (a partial sum), SHD_EDEVMEM,
 * SHD_ENOMEM, and those of a collective. */
SHD_API SHD_MUST_CHECK int shd_call_constrain(struct shd_call *call, struct shd_local *out,
                                              const struct shd_local *in,
                                              const struct shd_spec *spec, struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_PARTITION_H */
