/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/analyze.h>

#include <stdlib.h>
#include <string.h>

#include <shd/sharding.h>

static int check_inputs(const struct shd_leaf *leaf, const struct shd_spec *spec,
                        const struct shd_mesh *mesh, struct shd_error *err)
{
    if (!mesh)
        return shd_error_set(err, SHD_ENOMESH, "no mesh is given and none is in context");
    if (!spec)
        return shd_error_set(err, SHD_ETYPE, "'%.150s' has no spec", leaf->name);
    return SHD_OK;
}

/* The axis of an entry.  The original looks the entry up in the mesh as it is, so that a tuple of
 * several axes is never found. */
static int find_entry(size_t *axis, const struct shd_spec *spec, size_t entry,
                      const struct shd_mesh *mesh, struct shd_error *err)
{
    int found = shd_mesh_find_axis(mesh, shd_spec_axis(spec, entry, 0));

    if (found < 0)
        return shd_error_set(err, SHD_ENOAXIS, "the mesh has no axis '%.100s'",
                             shd_spec_axis(spec, entry, 0));
    if (shd_spec_naxes(spec, entry) > 1)
        return shd_error_set(err, SHD_ENOAXIS, "entry %zu of a spec has %zu axes; expected one",
                             entry, shd_spec_naxes(spec, entry));
    *axis = (size_t)found;
    return SHD_OK;
}

int shd_analyze_floor_bytes(uint64_t *out, const struct shd_leaf *leaf, const struct shd_spec *spec,
                            const struct shd_mesh *mesh, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, leaf))
        return SHD_EINVAL;

    uint64_t bytes;
    int status = check_inputs(leaf, spec, mesh, err);

    if (!status)
        status = shd_shape_bytes(&bytes, leaf->shape, leaf->rank, leaf->dtype, err);
    for (size_t e = 0; !status && e < shd_spec_nentries(spec); e++) {
        size_t axis = 0;

        if (shd_spec_naxes(spec, e) == 0)
            continue;
        status = find_entry(&axis, spec, e, mesh, err);
        if (!status)
            bytes /= (uint64_t)shd_mesh_axis_size(mesh, axis);
    }
    if (!status)
        *out = bytes;
    return status;
}

/* The elements of a leaf.  Counts fit: shd_tree_add() has checked each of them, and their sum. */
static int64_t count_elements(const struct shd_leaf *leaf)
{
    int64_t n;

    return shd_shape_count(&n, leaf->shape, leaf->rank, NULL) == SHD_OK ? n : 0;
}

static void add_totals(struct shd_totals *totals, const struct shd_leaf *leaf,
                       const struct shd_spec *spec)
{
    int64_t n = count_elements(leaf);

    totals->total_parameters += n;
    if (shd_spec_nentries(spec) > 0)
        totals->sharded_parameters += n;
}

int shd_analyze_totals(struct shd_totals *out, const struct shd_tree *tree,
                       const struct shd_spec *const *specs, const struct shd_mesh *mesh,
                       struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, tree) || !SHD_GIVEN_ARRAY(err, specs, shd_tree_count(tree)))
        return SHD_EINVAL;

    struct shd_totals totals = {0, 0};

    if (!mesh)
        return shd_error_set(err, SHD_ENOMESH, "no mesh is given and none is in context");
    for (size_t i = 0; i < shd_tree_count(tree); i++) {
        uint64_t bytes;
        int status = shd_analyze_floor_bytes(&bytes, shd_tree_leaf(tree, i), specs[i], mesh, err);

        if (status)
            return status;
        add_totals(&totals, shd_tree_leaf(tree, i), specs[i]);
    }
    *out = totals;
    return SHD_OK;
}

static int bind(struct shd_sharding *out, const struct shd_leaf *leaf, const struct shd_spec *spec,
                const struct shd_mesh *mesh, struct shd_error *err)
{
    struct shd_error why;
    int status = check_inputs(leaf, spec, mesh, err);

    if (status)
        return status;
    status = shd_sharding_bind(out, mesh, spec, leaf->rank, &why);
    if (status)
        return shd_error_set(err, status, "'%.100s': %.140s", leaf->name, why.text);
    return SHD_OK;
}

/* The extent of the longest interval of a dimension. */
static int64_t interval(int64_t extent, int64_t nshards)
{
    return extent / nshards + (extent % nshards > 0);
}

/* 2(r-1)/r of `bytes`, rounded up; UINT64_MAX where that does not fit. */
static uint64_t ring_bytes(uint64_t bytes, int64_t nreplicas)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t r = (uint64_t)nreplicas;
    wide sum = ((wide)2 * (r - 1) * bytes + r - 1) / r;

    return sum < UINT64_MAX ? (uint64_t)sum : UINT64_MAX;
}

static void measure(struct shd_leaf_stats *stats, const struct shd_leaf *leaf,
                    const struct shd_sharding *sharding)
{
    uint64_t shard_bytes = shd_dtype_size(leaf->dtype);

    *stats = (struct shd_leaf_stats){.nshards = 1, .is_even = true};
    stats->nelements = count_elements(leaf);
    stats->bytes = (uint64_t)stats->nelements * shd_dtype_size(leaf->dtype);
    for (size_t d = 0; d < leaf->rank; d++) {
        int64_t n = shd_sharding_nshards(sharding, d);

        stats->nshards *= n;
        stats->is_even &= leaf->shape[d] % n == 0;
        stats->shard_shape[d] = interval(leaf->shape[d], n);
        shard_bytes *= (uint64_t)stats->shard_shape[d]; /* at most those of the whole array */
    }
    stats->shard_bytes = stats->bytes == 0 ? 0 : shard_bytes;
    stats->nreplicas = shd_mesh_size(sharding->mesh) / stats->nshards;
    stats->is_sharded = stats->nshards > 1;
    stats->gather_bytes = stats->bytes - stats->shard_bytes;
    stats->sync_bytes = ring_bytes(stats->shard_bytes, stats->nreplicas);
}

static int add_stats(struct shd_analysis *sum, const struct shd_leaf_stats *stats, double *mean,
                     struct shd_error *err)
{
    if (stats->sync_bytes == UINT64_MAX ||
        __builtin_add_overflow(sum->sync_bytes, stats->sync_bytes, &sum->sync_bytes))
        return shd_error_set(err, SHD_ERANGE, "the bytes to move are over 2^64");
    sum->total_bytes += stats->bytes; /* fits: the tree has added them */
    sum->device_bytes += stats->shard_bytes;
    sum->gather_bytes += stats->gather_bytes;
    sum->nuneven += !stats->is_even;
    *mean += (double)stats->bytes / (double)stats->nshards;
    return SHD_OK;
}

static int analyze_leaves(struct shd_analysis *analysis, const struct shd_tree *tree,
                          const struct shd_spec *const *specs, const struct shd_mesh *mesh,
                          struct shd_error *err)
{
    double mean = 0;
    bool even = true;

    for (size_t i = 0; i < analysis->nleaves; i++) {
        const struct shd_leaf *leaf = shd_tree_leaf(tree, i);
        struct shd_sharding sharding;
        int status = bind(&sharding, leaf, specs[i], mesh, err);

        if (status)
            return status;
        measure(&analysis->leaves[i], leaf, &sharding);
        add_totals(&analysis->totals, leaf, specs[i]);
        status = add_stats(analysis, &analysis->leaves[i], &mean, err);
        if (status)
            return status;
        even &= analysis->leaves[i].is_even;
    }
    /* Exactly 1 where nothing is uneven; the quotient of two rounded sums may not be that. */
    analysis->balance =
        even || analysis->device_bytes == 0 ? 1.0 : mean / (double)analysis->device_bytes;
    return SHD_OK;
}

int shd_analyze(struct shd_analysis **out, const struct shd_tree *tree,
                const struct shd_spec *const *specs, const struct shd_mesh *mesh,
                struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, tree) || !SHD_GIVEN_ARRAY(err, specs, shd_tree_count(tree)))
        return SHD_EINVAL;

    size_t n = shd_tree_count(tree);
    int status;

    if (!mesh)
        return shd_error_set(err, SHD_ENOMESH, "no mesh is given and none is in context");

    struct shd_analysis *analysis = calloc(1, sizeof(*analysis));

    if (analysis)
        analysis->leaves = calloc(n + 1, sizeof(*analysis->leaves));
    if (analysis && analysis->leaves) {
        analysis->nleaves = n;
        status = analyze_leaves(analysis, tree, specs, mesh, err);
    } else {
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the statistics of %zu arrays", n);
    }
    if (status)
        shd_analysis_destroy(analysis);
    else
        *out = analysis;
    return status;
}

void shd_analysis_destroy(struct shd_analysis *analysis)
{
    if (!analysis)
        return;
    free(analysis->leaves);
    free(analysis);
}

/* The extent of interval number `index` of a dimension; the last ones may be shorter, or empty. */
static int64_t held(int64_t extent, int64_t nshards, int64_t index)
{
    int64_t size = interval(extent, nshards);

    if (size == 0 || index > extent / size)
        return 0;
    return extent - index * size < size ? extent - index * size : size;
}

int shd_analyze_device_bytes(uint64_t *out, const struct shd_tree *tree,
                             const struct shd_spec *const *specs, const struct shd_mesh *mesh,
                             int32_t position, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, tree) || !SHD_GIVEN_ARRAY(err, specs, shd_tree_count(tree)))
        return SHD_EINVAL;

    uint64_t sum = 0;

    if (!mesh)
        return shd_error_set(err, SHD_ENOMESH, "no mesh is given and none is in context");
    if (position < 0 || position >= shd_mesh_size(mesh))
        return shd_error_set(err, SHD_ERANGE, "position %d is not in a mesh of %d devices",
                             (int)position, (int)shd_mesh_size(mesh));
    for (size_t i = 0; i < shd_tree_count(tree); i++) {
        const struct shd_leaf *leaf = shd_tree_leaf(tree, i);
        struct shd_sharding sharding;
        uint64_t bytes = shd_dtype_size(leaf->dtype);
        int status = bind(&sharding, leaf, specs[i], mesh, err);

        if (status)
            return status;
        for (size_t d = 0; d < leaf->rank; d++)
            bytes *= (uint64_t)held(leaf->shape[d], shd_sharding_nshards(&sharding, d),
                                    shd_sharding_index(&sharding, d, position));
        sum += bytes;
    }
    *out = sum;
    return SHD_OK;
}
