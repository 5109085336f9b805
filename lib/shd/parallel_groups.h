/* shd/parallel_groups.h - the tensor, pipeline, context and data groups of a process.
 *
 * Ranks are laid out row-major as [data][pipeline][context][tensor], so that tensor groups are of
 * neighbours.  The groups are shd_groups over that mesh: nothing is stored per rank, and any rank's
 * view is there without creating anything.
 *
 * Thread class: owned by one thread while groups are created or destroyed; else any number may
 * read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_PARALLEL_GROUPS_H
#define SHD_PARALLEL_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/error.h>
#include <shd/group.h>
#include <shd/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In the order of the mesh's axes, which have the names "dp", "pp", "cp" and "tp". */
enum shd_parallel_kind {
    SHD_PARALLEL_DATA,
    SHD_PARALLEL_PIPELINE,
    SHD_PARALLEL_CONTEXT,
    SHD_PARALLEL_TENSOR,
    SHD_PARALLEL_NKINDS
};

struct shd_parallel_sizes {
    int64_t tensor;
    int64_t pipeline;
    int64_t context;
};

/* No parallelism but over data. */
#define SHD_PARALLEL_SIZES_INIT \
    {                           \
        1, 1, 1                 \
    }

/* Initialised by shd_parallel_init(); fields are read only. */
struct shd_parallel {
    int32_t world_size; /* 0: the world is not initialised */
    int32_t rank;
    /* Before the groups are created, a tensor group of one rank is pretended: its size is 1, the
     * rank in it 0, its source this rank.  Else asking for it is an error. */
    bool pretend_tensor;
    struct shd_mesh *mesh; /* NULL: the groups are not created */
    struct shd_groups groups[SHD_PARALLEL_NKINDS];
};

/* A process of a world, without groups yet. */
SHD_API void shd_parallel_init(struct shd_parallel *out, int32_t world_size, int32_t rank,
                               bool pretend_tensor);

/* Create the groups of all kinds.  A tensor size over the world's is the world's; the data size is
 * what remains.  On failure nothing is created.  SHD_EINVAL (no world, a rank outside of it, a size
 * below 1, groups that exist already), SHD_EINDIVISIBLE (the world by tensor, context, or all three
 * sizes), SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_parallel_create_groups(struct shd_parallel *parallel,
                                                      const struct shd_parallel_sizes *sizes,
                                                      struct shd_error *err);

/* Forget the groups; they may be created again, in other sizes.  Without groups nothing is done. */
SHD_API void shd_parallel_destroy_groups(struct shd_parallel *parallel);

/* Whether the groups of all kinds are created. */
SHD_API bool shd_parallel_is_initialized(const struct shd_parallel *parallel);

/* The group of a kind that the process is in: which of shd_groups, how many members, and which of
 * them it is. */
struct shd_parallel_group {
    const struct shd_groups *groups; /* NULL where it is pretended */
    int32_t group;
    int32_t size;
    int32_t rank;
};

/* SHD_ENOMESH when the groups are not created. */
SHD_API SHD_MUST_CHECK int shd_parallel_group(struct shd_parallel_group *out,
                                              const struct shd_parallel *parallel,
                                              enum shd_parallel_kind kind, struct shd_error *err);

/* The size of the process's group, and its rank in it, of which the tensor group's may be
 * pretended.  SHD_ENOMESH. */
SHD_API SHD_MUST_CHECK int shd_parallel_world_size(int32_t *out,
                                                   const struct shd_parallel *parallel,
                                                   enum shd_parallel_kind kind,
                                                   struct shd_error *err);
SHD_API SHD_MUST_CHECK int shd_parallel_rank(int32_t *out, const struct shd_parallel *parallel,
                                             enum shd_parallel_kind kind, struct shd_error *err);

/* The world's rank of member 0..size-1 of a group from shd_parallel_group(). */
SHD_API int32_t shd_parallel_member(const struct shd_parallel_group *group, int32_t member);

/* The world's rank of the first member of the process's tensor group.  SHD_ENOMESH. */
SHD_API SHD_MUST_CHECK int
shd_parallel_source_rank(int32_t *out, const struct shd_parallel *parallel, struct shd_error *err);

/* "data", "pipeline", "context", "tensor".  Static. */
SHD_API const char *shd_parallel_kind_name(enum shd_parallel_kind kind);

#ifdef __cplusplus
}
#endif

#endif /* SHD_PARALLEL_GROUPS_H */
