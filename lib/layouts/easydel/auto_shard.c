/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/auto_shard.h>

#include <stdlib.h>
#include <string.h>

#include <shd/shape.h>
#include <shd/sharding.h>

__extension__ typedef __int128 wide; /* for products of two extents */

static const char *const fsdp_sp[] = {"fsdp", "sp"};
static const char *const dp[] = {"dp"};
static const char *const tp[] = {"tp"};

struct shd_auto_options shd_auto_defaults(void)
{
    return (struct shd_auto_options){SHD_AUTO_MIN_ELEMENTS, false};
}

/* The size of an axis; 0 where the mesh has no axis of that name. */
static int32_t size_of(const struct shd_mesh *mesh, const char *name)
{
    int axis = shd_mesh_find_axis(mesh, name);

    return axis < 0 ? 0 : shd_mesh_axis_size(mesh, (size_t)axis);
}

size_t shd_auto_methods(struct shd_spec_entry methods[SHD_AUTO_METHODS_MAX],
                        const struct shd_mesh *mesh, const int64_t *shape, size_t rank)
{
    if (!mesh)
        return 0;

    int32_t nfsdp = size_of(mesh, "fsdp"), nsp = size_of(mesh, "sp");
    bool pair = rank > 1 && nfsdp > 0 && nsp > 0 && (wide)shape[0] * shape[1] >= (wide)nfsdp * nsp;
    size_t n = 0;

    if (pair)
        methods[n++] = (struct shd_spec_entry){fsdp_sp, 2};
    if (rank > 0 && size_of(mesh, "dp") > 0)
        methods[n++] = (struct shd_spec_entry){dp, 1};
    if (rank > 1 && nsp > 0 && !pair)
        methods[n++] = (struct shd_spec_entry){&fsdp_sp[1], 1};
    if (size_of(mesh, "tp") > 0)
        methods[n++] = (struct shd_spec_entry){tp, 1};
    if (nfsdp > 0 && !pair)
        methods[n++] = (struct shd_spec_entry){fsdp_sp, 1};
    return n;
}

/* A walk over methods, and the entries of the spec that it has come to. */
struct walk {
    const struct shd_mesh *mesh;
    const int64_t *shape;
    size_t rank;
    bool strict;
    struct shd_spec_entry entries[SHD_RANK_MAX + 1];
    bool any;  /* some dimension has been given an axis */
    bool done; /* a pair has been given, which ends the walk */
};

static bool is_free(const struct walk *walk, size_t dim)
{
    return walk->entries[dim].naxes == 0;
}

static void give(struct walk *walk, size_t dim, const char *const *axes, size_t naxes)
{
    walk->entries[dim] = (struct shd_spec_entry){axes, naxes};
    walk->any = true;
}

static int find_size(int32_t *size, const struct walk *walk, const char *name,
                     struct shd_error *err)
{
    *size = size_of(walk->mesh, name);
    if (*size == 0)
        return shd_error_set(err, SHD_ENOAXIS, "the mesh has no axis '%.100s'", name);
    return SHD_OK;
}

static bool is_used(const struct walk *walk, const char *name)
{
    for (size_t d = 0; d < walk->rank; d++) {
        for (size_t a = 0; a < walk->entries[d].naxes; a++) {
            if (!strcmp(walk->entries[d].axes[a], name))
                return true;
        }
    }
    return false;
}

/* Give an axis to the first dimension that takes it. */
static int try_axis(struct walk *walk, const char *const *axis, int64_t least,
                    struct shd_error *err)
{
    if (walk->strict && is_used(walk, *axis))
        return SHD_OK;
    for (size_t d = 0; d < walk->rank; d++) {
        int32_t size;
        int status;

        if (walk->shape[d] < least)
            continue;
        status = find_size(&size, walk, *axis, err);
        if (status)
            return status;
        if (walk->shape[d] % size == 0 && is_free(walk, d)) {
            give(walk, d, axis, 1);
            return SHD_OK;
        }
    }
    return SHD_OK;
}

static void give_pair(struct walk *walk, const char *const *pair)
{
    give(walk, 0, &pair[0], 1);
    give(walk, 1, &pair[1], 1);
    walk->done = true;
}

static void give_both(struct walk *walk, const char *const *pair)
{
    give(walk, 0, pair, 2);
    walk->done = true;
}

/* Try two axes, as the first walk does.  The original asks for the size of an axis only in some of
 * these cases; a missing axis must be an error in these and in no others. */
static int try_pair(struct walk *walk, const char *const *pair, struct shd_error *err)
{
    int32_t first = size_of(walk->mesh, pair[0]), second = size_of(walk->mesh, pair[1]);
    wide combined = (wide)(first ? first : 1) * (second ? second : 1);
    int status;

    if (walk->rank < 2)
        return SHD_OK;

    wide product = (wide)walk->shape[0] * walk->shape[1];

    if (product < combined || product % combined != 0) {
        if (walk->shape[0] >= combined && walk->shape[0] % combined == 0 && is_free(walk, 0))
            give_both(walk, pair);
        return SHD_OK;
    }
    status = find_size(&first, walk, pair[0], err);
    if (status || walk->shape[0] < first)
        return status;
    status = find_size(&second, walk, pair[1], err);
    if (status || walk->shape[1] < second)
        return status;
    if (is_free(walk, 0) && is_free(walk, 1))
        give_pair(walk, pair);
    return SHD_OK;
}

/* Try two axes strictly: each on its own dimension, or both on dimension 0. */
static int try_pair_strict(struct walk *walk, const char *const *pair, struct shd_error *err)
{
    int32_t first, second;
    int status = find_size(&first, walk, pair[0], err);

    if (!status)
        status = find_size(&second, walk, pair[1], err);
    if (status || walk->rank < 2 || is_used(walk, pair[0]) || is_used(walk, pair[1]) ||
        !strcmp(pair[0], pair[1]) || !is_free(walk, 0))
        return status;
    if (walk->shape[0] % first == 0 && walk->shape[1] % second == 0 && is_free(walk, 1))
        give_pair(walk, pair);
    else if (walk->shape[0] % ((wide)first * second) == 0)
        give_both(walk, pair);
    return SHD_OK;
}

/* Give two axes in the second walk, which does so only for (fsdp, sp), and whatever their sizes. */
static int take_pair(struct walk *walk, const char *const *pair, struct shd_error *err)
{
    if (strcmp(pair[0], "fsdp") != 0 || strcmp(pair[1], "sp") != 0)
        return SHD_OK;
    if (is_free(walk, 0) && walk->rank < 2)
        return shd_error_set(err, SHD_ERANGE, "(fsdp, sp) needs two dimensions, not one");
    if (is_free(walk, 0) && is_free(walk, 1))
        give_pair(walk, pair);
    else if (is_free(walk, 0))
        give_both(walk, pair);
    return SHD_OK;
}

static int run(struct walk *walk, const struct shd_spec_entry *methods, size_t nmethods,
               int64_t least, bool first, struct shd_error *err)
{
    int status = SHD_OK;

    for (size_t m = 0; !status && !walk->done && m < nmethods; m++) {
        const char *const *axes = methods[m].axes;

        if (methods[m].naxes == 1)
            status = try_axis(walk, axes, least, err);
        else if (methods[m].naxes == 2 && walk->strict)
            status = try_pair_strict(walk, axes, err);
        else if (methods[m].naxes == 2)
            status = first ? try_pair(walk, axes, err) : take_pair(walk, axes, err);
    }
    return status;
}

/* The elements of a shape as the original counts them: in 64 bits, wrapping around. */
static int64_t count_elements(const int64_t *shape, size_t rank)
{
    uint64_t n = 1;

    for (size_t d = 0; d < rank; d++)
        n *= (uint64_t)shape[d];
    return (int64_t)n;
}

/* Divide and round down, also for counts that have wrapped around below 0. */
static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

int shd_auto_spec(struct shd_spec **out, const struct shd_mesh *mesh, const int64_t *shape,
                  size_t rank, const struct shd_spec_entry *methods, size_t nmethods,
                  const struct shd_auto_options *options, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, options) || !SHD_GIVEN_ARRAY(err, shape, rank) ||
        !SHD_GIVEN_ARRAY(err, methods, nmethods))
        return SHD_EINVAL;

    struct walk walk = {.mesh = mesh, .shape = shape, .rank = rank, .strict = options->strict};
    int status;

    if (!mesh)
        return shd_error_set(err, SHD_ENOMESH, "no mesh is given");
    if (rank > SHD_RANK_MAX)
        return shd_error_set(err, SHD_ERANGE, "%zu dimensions: at most %d are possible", rank,
                             SHD_RANK_MAX);
    if (rank == 0)
        return shd_spec_create(out, NULL, 0, err);

    int64_t share = floor_divide(count_elements(shape, rank), 2 * (int64_t)shd_mesh_size(mesh));
    int64_t least = share > options->min_elements ? share : options->min_elements;

    status = run(&walk, methods, nmethods, least, true, err);
    if (!status && !walk.any)
        status = run(&walk, methods, nmethods, options->min_elements, false, err);
    return status ? status : shd_spec_create(out, walk.entries, rank, err);
}

int shd_auto_shard_shape(int64_t *out, const struct shd_mesh *mesh, const struct shd_spec *spec,
                         const int64_t *shape, size_t rank, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, spec) || !SHD_GIVEN_ARRAY(err, shape, rank))
        return SHD_EINVAL;

    struct shd_sharding sharding;
    int status = shd_sharding_bind(&sharding, mesh, spec, rank, err);

    if (!status)
        status = shd_sharding_check(&sharding, shape, err);
    if (!status)
        shd_sharding_shard_shape(&sharding, shape, out);
    return status;
}

/* A leaf being sorted. */
struct entry {
    const struct shd_leaf *leaf;
    size_t number;
    size_t place; /* its rank when sorted by path */
};

/* Compare paths part by part, which is the order in which nested maps are walked: the '/' that ends
 * a part comes before every character. */
static int compare_paths(const void *a, const void *b)
{
    const unsigned char *x = (const unsigned char *)((const struct entry *)a)->leaf->name;
    const unsigned char *y = (const unsigned char *)((const struct entry *)b)->leaf->name;

    while (*x && *x == *y) {
        x++;
        y++;
    }
    return (*x == '/' ? 0 : *x) - (*y == '/' ? 0 : *y);
}

static int compare_shapes(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->leaf->rank != y->leaf->rank)
        return x->leaf->rank < y->leaf->rank ? -1 : 1;
    for (size_t d = 0; d < x->leaf->rank; d++) {
        if (x->leaf->shape[d] != y->leaf->shape[d])
            return x->leaf->shape[d] < y->leaf->shape[d] ? -1 : 1;
    }
    return 0;
}

static int compare_shapes_then_places(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = compare_shapes(a, b);

    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static int compare_places(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return (x->place > y->place) - (x->place < y->place);
}

int shd_auto_shapes(size_t *leaves, size_t *nleaves, const struct shd_tree *tree,
                    struct shd_error *err)
{
    if (!SHD_GIVEN(err, leaves, nleaves, tree))
        return SHD_EINVAL;

    size_t n = shd_tree_count(tree), kept = 0;
    struct entry *entries = calloc(n + 1, sizeof(*entries));

    if (!entries)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the shapes of %zu arrays", n);
    for (size_t i = 0; i < n; i++)
        entries[i] = (struct entry){shd_tree_leaf(tree, i), i, 0};
    qsort(entries, n, sizeof(*entries), compare_paths);
    for (size_t i = 0; i < n; i++)
        entries[i].place = i;

    /* Bring equal shapes side by side, the first one by path in front, and keep only that one. */
    qsort(entries, n, sizeof(*entries), compare_shapes_then_places);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || compare_shapes(&entries[i], &entries[kept - 1]) != 0)
            entries[kept++] = entries[i];
    }
    qsort(entries, kept, sizeof(*entries), compare_places);
    for (size_t i = 0; i < kept; i++)
        leaves[i] = entries[i].number;
    *nleaves = kept;
    free(entries);
    return SHD_OK;
}

static int shard_leaf(struct shd_spec **out, const struct shd_leaf *leaf,
                      const struct shd_mesh *mesh, const struct shd_auto_options *options,
                      struct shd_error *err)
{
    struct shd_spec_entry methods[SHD_AUTO_METHODS_MAX];
    int64_t shard[SHD_RANK_MAX];
    struct shd_spec *spec;
    struct shd_error why;
    size_t n = shd_auto_methods(methods, mesh, leaf->shape, leaf->rank);
    int status = shd_auto_spec(&spec, mesh, leaf->shape, leaf->rank, methods, n, options, err);

    if (status)
        return status;
    status = shd_auto_shard_shape(shard, mesh, spec, leaf->shape, leaf->rank, &why);
    if (status) {
        shd_spec_destroy(spec);
        return shd_error_set(err, status, "'%.100s': %.140s", leaf->name, why.text);
    }
    *out = spec;
    return SHD_OK;
}

int shd_auto_shard(struct shd_spec **specs, const struct shd_tree *tree,
                   const struct shd_mesh *mesh, const struct shd_auto_options *options,
                   struct shd_error *err)
{
    if (!SHD_GIVEN(err, tree, options) || !SHD_GIVEN_ARRAY(err, specs, shd_tree_count(tree)))
        return SHD_EINVAL;
    if (!mesh)
        return shd_error_set(err, SHD_ENOMESH, "no mesh is given");
    for (size_t i = 0; i < shd_tree_count(tree); i++) {
        int status = shard_leaf(&specs[i], shd_tree_leaf(tree, i), mesh, options, err);

        if (status) {
            while (i-- > 0) {
                shd_spec_destroy(specs[i]);
                specs[i] = NULL; /* the caller may free all that is in the array */
            }
            return status;
        }
    }
    return SHD_OK;
}
