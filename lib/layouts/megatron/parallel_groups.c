/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/parallel_groups.h>

#include <shd/split.h>

static const char *const axis_names[SHD_PARALLEL_NKINDS] = {"dp", "pp", "cp", "tp"};

const char *shd_parallel_kind_name(enum shd_parallel_kind kind)
{
    static const char *const names[SHD_PARALLEL_NKINDS] = {"data", "pipeline", "context", "tensor"};

    return (unsigned)kind < SHD_PARALLEL_NKINDS ? names[kind] : "no kind of";
}

void shd_parallel_init(struct shd_parallel *out, int32_t world_size, int32_t rank,
                       bool pretend_tensor)
{
    if (!out)
        return;
    *out = (struct shd_parallel){
        .world_size = world_size, .rank = rank, .pretend_tensor = pretend_tensor};
}

/* Find the size of the groups of each kind. */
static int find_sizes(int32_t *out, int32_t world, const struct shd_parallel_sizes *sizes,
                      struct shd_error *err)
{
    int64_t tensor = sizes->tensor < world ? sizes->tensor : world;
    int64_t all, data;
    int status = shd_ensure_divisible(world, tensor, err);

    if (!status)
        status = shd_ensure_divisible(world, sizes->context, err);
    if (status)
        return status;
    if (__builtin_mul_overflow(tensor, sizes->pipeline, &all) ||
        __builtin_mul_overflow(all, sizes->context, &all))
        return shd_error_set(err, SHD_EINDIVISIBLE,
                             "a world of %d is not divisible by sizes this large", (int)world);
    status = shd_divide(&data, world, all, err);
    if (status)
        return status;
    if (tensor < 1 || sizes->pipeline < 1 || sizes->context < 1)
        return shd_error_set(err, SHD_EINVAL,
                             "parallel sizes must be at least 1: tensor %lld, pipeline %lld, "
                             "context %lld",
                             (long long)tensor, (long long)sizes->pipeline,
                             (long long)sizes->context);
    out[SHD_PARALLEL_DATA] = (int32_t)data;
    out[SHD_PARALLEL_PIPELINE] = (int32_t)sizes->pipeline;
    out[SHD_PARALLEL_CONTEXT] = (int32_t)sizes->context;
    out[SHD_PARALLEL_TENSOR] = (int32_t)tensor;
    return SHD_OK;
}

int shd_parallel_create_groups(struct shd_parallel *parallel,
                               const struct shd_parallel_sizes *sizes, struct shd_error *err)
{
    if (!SHD_GIVEN(err, parallel, sizes))
        return SHD_EINVAL;

    struct shd_parallel made = *parallel;
    int32_t extents[SHD_PARALLEL_NKINDS];

    if (parallel->world_size < 1)
        return shd_error_set(err, SHD_EINVAL, "the world of processes is not initialized");

    int status = find_sizes(extents, parallel->world_size, sizes, err);

    if (status)
        return status;
    if (parallel->rank < 0 || parallel->rank >= parallel->world_size)
        return shd_error_set(err, SHD_EINVAL, "there is no rank %d in a world of %d",
                             (int)parallel->rank, (int)parallel->world_size);
    if (parallel->mesh)
        return shd_error_set(err, SHD_EINVAL, "data parallel group is already initialized");
    status = shd_mesh_create(&made.mesh, axis_names, extents, SHD_PARALLEL_NKINDS, err);
    for (uint8_t k = 0; !status && k < SHD_PARALLEL_NKINDS; k++)
        status = shd_groups_init(&made.groups[k], made.mesh, &k, 1, err);
    if (!status)
        *parallel = made;
    return status;
}

void shd_parallel_destroy_groups(struct shd_parallel *parallel)
{
    if (!parallel)
        return;
    shd_mesh_destroy(parallel->mesh);
    shd_parallel_init(parallel, parallel->world_size, parallel->rank, parallel->pretend_tensor);
}

bool shd_parallel_is_initialized(const struct shd_parallel *parallel)
{
    if (!parallel)
        return false;
    return parallel->mesh != NULL;
}

int shd_parallel_group(struct shd_parallel_group *out, const struct shd_parallel *parallel,
                       enum shd_parallel_kind kind, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, parallel))
        return SHD_EINVAL;

    const struct shd_groups *groups;

    if ((unsigned)kind >= SHD_PARALLEL_NKINDS)
        return shd_error_set(err, SHD_EINVAL, "%d is not a kind of parallel group", (int)kind);
    if (!parallel->mesh)
        return shd_error_set(err, SHD_ENOMESH, "%s parallel group is not initialized",
                             shd_parallel_kind_name(kind));
    groups = &parallel->groups[kind];
    *out = (struct shd_parallel_group){groups, shd_groups_find(groups, parallel->rank),
                                       groups->nmembers, shd_groups_member(groups, parallel->rank)};
    return SHD_OK;
}

/* The process's group of a kind; where groups are missing and it may be pretended, a tensor group
 * of this process alone. */
static int group_or_self(struct shd_parallel_group *out, const struct shd_parallel *parallel,
                         enum shd_parallel_kind kind, struct shd_error *err)
{
    if (parallel->mesh || !parallel->pretend_tensor || kind != SHD_PARALLEL_TENSOR)
        return shd_parallel_group(out, parallel, kind, err);
    *out = (struct shd_parallel_group){NULL, parallel->rank, 1, 0};
    return SHD_OK;
}

int shd_parallel_world_size(int32_t *out, const struct shd_parallel *parallel,
                            enum shd_parallel_kind kind, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, parallel))
        return SHD_EINVAL;

    struct shd_parallel_group group;
    int status = group_or_self(&group, parallel, kind, err);

    if (!status)
        *out = group.size;
    return status;
}

int shd_parallel_rank(int32_t *out, const struct shd_parallel *parallel,
                      enum shd_parallel_kind kind, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, parallel))
        return SHD_EINVAL;

    struct shd_parallel_group group;
    int status = group_or_self(&group, parallel, kind, err);

    if (!status)
        *out = group.rank;
    return status;
}

int32_t shd_parallel_member(const struct shd_parallel_group *group, int32_t member)
{
    if (!group)
        return -1;
    return group->groups ? shd_groups_position(group->groups, group->group, member) : group->group;
}

int shd_parallel_source_rank(int32_t *out, const struct shd_parallel *parallel,
                             struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, parallel))
        return SHD_EINVAL;

    struct shd_parallel_group group;
    int status = group_or_self(&group, parallel, SHD_PARALLEL_TENSOR, err);

    if (!status)
        *out = shd_parallel_member(&group, 0);
    return status;
}
