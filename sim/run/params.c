/* Parameters on devices (shd/params.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/params.h"

#include <stdlib.h>
#include <string.h>

#include "run/device.h"
#include "run/relayout.h"

/* ---- arrays and their shardings ---- */

int params_bind(struct shd_sharding *out, const struct shd_mesh *mesh, const struct shd_spec *spec,
                size_t rank, const int64_t *shape, struct shd_error *err)
{
    int status = SHD_OK;

    if (spec)
        status = shd_sharding_bind(out, mesh, spec, rank, err);
    else
        shd_sharding_init(out, mesh, rank);
    return status == SHD_OK ? shd_sharding_check(out, shape, err) : status;
}

int params_bind_leaf(struct shd_sharding *out, const struct shd_mesh *mesh,
                     const struct shd_spec *spec, const struct shd_leaf *leaf,
                     struct shd_error *err)
{
    struct shd_error why;
    int status = params_bind(out, mesh, spec, leaf->rank, leaf->shape, &why);

    return status == SHD_OK ? status
                            : shd_error_set(err, status, "'%.100s': %s", leaf->name, why.text);
}

static int bind_leaf(struct shd_params *params, size_t i, const struct shd_spec *spec,
                     struct shd_error *err)
{
    const struct shd_leaf *leaf = shd_tree_leaf(params->tree, i);
    struct params_leaf *out = &params->leaves[i];
    int status = params_bind_leaf(&out->sharding, params->store->mesh, spec, leaf, err);

    out->shards = params->shards + i * (size_t)params->store->ndevices;
    if (status != SHD_OK)
        return status;
    shd_sharding_shard_shape(&out->sharding, leaf->shape, out->shard_shape);
    return shd_shape_bytes(&out->shard_bytes, out->shard_shape, leaf->rank, leaf->dtype, err);
}

int shd_params_create(struct shd_params **out, struct shd_store *store, const struct shd_tree *tree,
                      const struct shd_spec *const *specs, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, store, tree))
        return SHD_EINVAL;

    struct shd_params *params = calloc(1, sizeof(*params));
    int status = SHD_OK;

    if (!params)
        return shd_error_set(err, SHD_ENOMEM, "no memory for parameters");
    params->store = store;
    params->tree = tree;
    params->nleaves = shd_tree_count(tree);
    params->leaves = calloc(params->nleaves + 1, sizeof(*params->leaves));
    params->shards = calloc(params->nleaves * (size_t)store->ndevices + 1, sizeof(void *));
    if (!params->leaves || !params->shards)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for parameters");
    for (size_t i = 0; !status && i < params->nleaves; i++)
        status = bind_leaf(params, i, specs ? specs[i] : NULL, err);
    if (status == SHD_OK)
        *out = params;
    else
        shd_params_destroy(params);
    return status;
}

/* Create parameters by specs if `status` says that they are there, and free the specs. */
static int create_by(struct shd_params **out, struct shd_store *store, const struct shd_tree *tree,
                     struct shd_spec **specs, int status, struct shd_error *err)
{
    if (status == SHD_OK) {
        status = shd_params_create(out, store, tree, (const struct shd_spec *const *)specs, err);
        for (size_t i = 0; i < shd_tree_count(tree); i++)
            shd_spec_destroy(specs[i]);
    }
    free(specs);
    return status;
}

static int make_specs(struct shd_spec ***out, const struct shd_tree *tree, struct shd_error *err)
{
    *out = calloc(shd_tree_count(tree) + 1, sizeof(**out));
    return *out ? SHD_OK : shd_error_set(err, SHD_ENOMEM, "no memory for specs");
}

int shd_params_create_partitioned(struct shd_params **out, struct shd_store *store,
                                  const struct shd_tree *tree,
                                  const struct shd_partitioner *partitioner, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, store, tree, partitioner))
        return SHD_EINVAL;

    struct shd_spec **specs;
    int status = make_specs(&specs, tree, err);

    if (status == SHD_OK)
        status = shd_partitioner_mesh_axes(specs, partitioner, tree, err);
    return create_by(out, store, tree, specs, status, err);
}

int shd_params_create_auto(struct shd_params **out, struct shd_store *store,
                           const struct shd_tree *tree, const struct shd_auto_options *options,
                           struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, store, tree, options))
        return SHD_EINVAL;

    struct shd_spec **specs;
    int status = make_specs(&specs, tree, err);

    if (status == SHD_OK)
        status = shd_auto_shard(specs, tree, store->mesh, options, err);
    return create_by(out, store, tree, specs, status, err);
}

void params_drop(struct shd_params *params, size_t leaf)
{
    for (int32_t d = 0; d < params->store->ndevices; d++) {
        arena_free(&params->store->arenas[d], params->leaves[leaf].shards[d]);
        params->leaves[leaf].shards[d] = NULL;
    }
}

void shd_params_destroy(struct shd_params *params)
{
    if (!params)
        return;
    for (size_t i = 0; params->leaves && i < params->nleaves; i++)
        if (params->leaves[i].shards)
            params_drop(params, i);
    free(params->leaves);
    free(params->shards);
    free(params);
}

const struct shd_tree *shd_params_tree(const struct shd_params *params)
{
    if (!params)
        return NULL;
    return params->tree;
}

const struct shd_sharding *shd_params_sharding(const struct shd_params *params, size_t leaf)
{
    if (!params)
        return NULL;
    return leaf < params->nleaves ? &params->leaves[leaf].sharding : NULL;
}

bool shd_params_is_placed(const struct shd_params *params, size_t leaf)
{
    if (!params)
        return false;
    return leaf < params->nleaves && params->leaves[leaf].shards[0] != NULL;
}

void *shd_params_shard_at(const struct shd_params *params, size_t leaf, int32_t position)
{
    if (!params)
        return NULL;

    bool there = leaf < params->nleaves && position >= 0 && position < params->store->ndevices;

    return there ? params->leaves[leaf].shards[position] : NULL;
}

/* ---- between host and devices ---- */

/* Leaves first..end-1 of parameters; to[i] or from[i] is leaf first + i on the host. */
struct transfer {
    const struct shd_params *params;
    size_t first, end;
    const void *const *from; /* placing */
    void *const *to;         /* gathering */
};

/* The device's part of an array: offset and extent. */
static void part_of(const struct shd_leaf *leaf, const struct params_leaf *p, int32_t position,
                    int64_t *offset, int64_t *extent)
{
    shd_sharding_offset(&p->sharding, leaf->shape, position, offset);
    memcpy(extent, p->shard_shape, leaf->rank * sizeof(*extent));
}

static int place_leaf(struct shd_device *dev, const struct transfer *t, size_t i,
                      struct shd_error *err)
{
    const struct shd_leaf *leaf = shd_tree_leaf(t->params->tree, i);
    struct params_leaf *p = &t->params->leaves[i];
    void **shard = &p->shards[dev->position];
    struct shd_fetch box = {0};

    if (!*shard) {
        int status = arena_alloc(&dev->arena, p->shard_bytes, leaf->name, shard, err);

        if (status != SHD_OK)
            return status;
        arena_keep(*shard);
    }
    part_of(leaf, p, dev->position, box.source_offset, box.extent);
    relayout_copy(leaf->dtype, leaf->rank, &box, *shard, p->shard_shape, t->from[i - t->first],
                  leaf->shape);
    return SHD_OK;
}

static int place(struct shd_device *dev, void *arg, struct shd_error *err)
{
    const struct transfer *t = arg;
    int status = SHD_OK;

    for (size_t i = t->first; !status && i < t->end; i++) {
        status = shd_device_check_stop(dev, err);
        if (status == SHD_OK)
            status = place_leaf(dev, t, i, err);
    }
    return status;
}

/* Whether a position is the first replica: coordinate 0 on every axis that shards nothing. */
static bool is_first_replica(const struct shd_sharding *sharding, int32_t position)
{
    uint32_t axes = shd_sharding_axes(sharding);

    for (size_t a = 0; a < shd_mesh_naxes(sharding->mesh); a++)
        if (!(axes >> a & 1) && shd_mesh_coord(sharding->mesh, position, a) != 0)
            return false;
    return true;
}

static int fetch(struct shd_device *dev, void *arg, struct shd_error *err)
{
    const struct transfer *t = arg;

    for (size_t i = t->first; i < t->end; i++) {
        const struct shd_leaf *leaf = shd_tree_leaf(t->params->tree, i);
        const struct params_leaf *p = &t->params->leaves[i];
        struct shd_fetch box = {0};
        int status = shd_device_check_stop(dev, err);

        if (status != SHD_OK)
            return status;
        if (!is_first_replica(&p->sharding, dev->position))
            continue;
        part_of(leaf, p, dev->position, box.dest_offset, box.extent);
        relayout_copy(leaf->dtype, leaf->rank, &box, t->to[i - t->first], leaf->shape,
                      p->shards[dev->position], p->shard_shape);
    }
    return SHD_OK;
}

static int no_leaf(const struct shd_params *params, size_t leaf, struct shd_error *err)
{
    return shd_error_set(err, SHD_EINVAL, "there is no array %zu of %zu", leaf, params->nleaves);
}

/* Check the host memory of an array that has elements. */
static int check_host(const struct shd_params *params, size_t i, const void *host,
                      struct shd_error *err)
{
    if (host || params->leaves[i].shard_bytes == 0)
        return SHD_OK;
    return shd_error_set(err, SHD_EINVAL, "'%.200s' has no memory on the host",
                         shd_tree_leaf(params->tree, i)->name);
}

static int shard(struct shd_params *params, size_t first, size_t end, const void *const *host,
                 struct shd_error *err)
{
    struct transfer t = {params, first, end, host, NULL};
    bool *was_placed;
    int status = SHD_OK;

    for (size_t i = first; !status && i < end; i++)
        status = check_host(params, i, host ? host[i - first] : NULL, err);
    if (status != SHD_OK)
        return status;
    was_placed = calloc(end - first + 1, sizeof(*was_placed));
    if (!was_placed)
        return shd_error_set(err, SHD_ENOMEM, "no memory for parameters");
    for (size_t i = first; i < end; i++)
        was_placed[i - first] = shd_params_is_placed(params, i);
    status = shd_store_run(params->store, place, &t, NULL, err);
    for (size_t i = first; status != SHD_OK && i < end; i++)
        if (!was_placed[i - first])
            params_drop(params, i);
    free(was_placed);
    return status;
}

static int gather(const struct shd_params *params, size_t first, size_t end, void *const *host,
                  struct shd_error *err)
{
    struct transfer t = {params, first, end, NULL, host};
    int status = SHD_OK;

    for (size_t i = first; !status && i < end; i++)
        status = check_host(params, i, host ? host[i - first] : NULL, err);
    for (size_t i = first; !status && i < end; i++)
        if (!shd_params_is_placed(params, i))
            return shd_error_set(err, SHD_EINVAL, "'%.200s' is not on the devices",
                                 shd_tree_leaf(params->tree, i)->name);
    if (status != SHD_OK)
        return status;
    return shd_store_run(params->store, fetch, &t, NULL, err);
}

int shd_params_shard(struct shd_params *params, const void *const *host, struct shd_error *err)
{
    if (!SHD_GIVEN(err, params))
        return SHD_EINVAL;
    return shard(params, 0, params->nleaves, host, err);
}

int shd_params_shard_leaf(struct shd_params *params, size_t leaf, const void *host,
                          struct shd_error *err)
{
    if (!SHD_GIVEN(err, params))
        return SHD_EINVAL;
    return leaf < params->nleaves ? shard(params, leaf, leaf + 1, &host, err)
                                  : no_leaf(params, leaf, err);
}

int shd_params_gather(const struct shd_params *params, void *const *host, struct shd_error *err)
{
    if (!SHD_GIVEN(err, params))
        return SHD_EINVAL;
    return gather(params, 0, params->nleaves, host, err);
}

int shd_params_gather_leaf(const struct shd_params *params, size_t leaf, void *host,
                           struct shd_error *err)
{
    if (!SHD_GIVEN(err, params))
        return SHD_EINVAL;
    return leaf < params->nleaves ? gather(params, leaf, leaf + 1, &host, err)
                                  : no_leaf(params, leaf, err);
}
