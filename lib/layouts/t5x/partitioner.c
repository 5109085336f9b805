/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/partitioner.h>

#include <stdlib.h>
#include <string.h>

struct shd_partitioner {
    enum shd_partitioner_kind kind;
    bool strict;
    struct shd_mesh_request mesh; /* the arrays it points to are owned */
    struct shd_logical_rules *rules;
    const char **data_names; /* the array in data_axes; its names are inside data_spec */
    struct shd_spec_entry data_axes;
    struct shd_spec *data_spec;
};

static const char *const replica_data[] = {"replica", "data"};
static const struct shd_spec_entry replica_data_axes = {replica_data, 2};
static const struct shd_spec_entry data_axis = {replica_data + 1, 1};

static bool is_hybrid(const struct shd_mesh_request *mesh)
{
    return mesh->ici && mesh->dcn;
}

static int check_request(const struct shd_partitioner_opts *opts, struct shd_error *err)
{
    const struct shd_mesh_request *mesh = &opts->mesh;

    if (mesh->num_partitions == 0 && mesh->nsubmesh == 0)
        return shd_error_set(err, SHD_EINVAL,
                             "a partitioner needs a number of partitions or a submesh");
    if (!opts->strict)
        return SHD_OK;
    if (mesh->num_partitions != 0 && mesh->nsubmesh > 0)
        return shd_error_set(err, SHD_EINVAL,
                             "both %lld partitions and a submesh are given; expected only one",
                             (long long)mesh->num_partitions);
    if (mesh->nsubmesh > 0 && mesh->nsubmesh != 4)
        return shd_error_set(err, SHD_EINVAL, "the submesh has %zu extents, not 4", mesh->nsubmesh);
    return SHD_OK;
}

/* Copy extents.  NULL stays NULL, which means something else than no extents do. */
static int copy_extents(const int64_t **out, const int64_t *extents, size_t n,
                        struct shd_error *err)
{
    if (!extents)
        return SHD_OK;

    int64_t *copy = malloc((n + 1) * sizeof(*copy));

    if (!copy)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a partitioner");
    if (n > 0)
        memcpy(copy, extents, n * sizeof(*copy));
    *out = copy;
    return SHD_OK;
}

static int copy_request(struct shd_mesh_request *out, const struct shd_mesh_request *mesh,
                        struct shd_error *err)
{
    *out = *mesh;
    out->submesh = out->ici = out->dcn = NULL;

    int status = copy_extents(&out->submesh, mesh->submesh, mesh->nsubmesh, err);

    if (!status)
        status = copy_extents(&out->ici, mesh->ici, mesh->nici, err);
    if (!status)
        status = copy_extents(&out->dcn, mesh->dcn, mesh->ndcn, err);
    return status;
}

/* Copy the given rules; on a hybrid mesh those of the batch split it over replicas too. */
static int copy_rules(struct shd_logical_rules **out, const struct shd_logical_rules *rules,
                      bool hybrid, struct shd_error *err)
{
    int status = shd_logical_rules_create(out, err);

    for (size_t i = 0; !status && i < shd_logical_rules_count(rules); i++) {
        const char *name = shd_logical_rules_name(rules, i);
        bool split = hybrid && !strcmp(name, "batch");

        status = shd_logical_rules_add(
            *out, name, split ? &replica_data_axes : shd_logical_rules_axes(rules, i), err);
    }
    return status;
}

static int set_rules(struct shd_partitioner *p, const struct shd_partitioner_opts *opts,
                     struct shd_error *err)
{
    const struct shd_logical_rules *rules = opts->rules;
    struct shd_logical_rules *standard = NULL;
    int status = SHD_OK;

    if (p->kind == SHD_PARTITIONER_BASE)
        return shd_logical_rules_create(&p->rules, err);
    if (!rules) {
        status = shd_logical_rules_standard(&standard, 1, 1, NULL, err);
        rules = standard;
    }
    if (!status)
        status = copy_rules(&p->rules, rules, is_hybrid(&p->mesh), err);
    shd_logical_rules_destroy(standard);
    return status;
}

static int set_data_axes(struct shd_partitioner *p, struct shd_error *err)
{
    static const char *const batch[] = {"batch"};
    int status;

    if (p->kind == SHD_PARTITIONER_BASE)
        status = shd_spec_create(&p->data_spec,
                                 is_hybrid(&p->mesh) ? &replica_data_axes : &data_axis, 1, err);
    else
        status = shd_logical_rules_spec(&p->data_spec, p->rules, batch, 1, err);
    if (status)
        return status;

    size_t naxes = shd_spec_naxes(p->data_spec, 0);

    p->data_names = malloc((naxes + 1) * sizeof(*p->data_names));
    if (!p->data_names)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a partitioner");
    for (size_t a = 0; a < naxes; a++)
        p->data_names[a] = shd_spec_axis(p->data_spec, 0, a);
    p->data_axes = (struct shd_spec_entry){p->data_names, naxes};
    return SHD_OK;
}

int shd_partitioner_create(struct shd_partitioner **out, const struct shd_partitioner_opts *opts,
                           struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, opts))
        return SHD_EINVAL;

    int status = check_request(opts, err);

    if (status)
        return status;

    struct shd_partitioner *p = calloc(1, sizeof(*p));

    if (!p)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a partitioner");
    p->kind = opts->kind;
    p->strict = opts->strict;
    status = copy_request(&p->mesh, &opts->mesh, err);
    if (!status)
        status = set_rules(p, opts, err);
    if (!status)
        status = set_data_axes(p, err);
    if (status)
        shd_partitioner_destroy(p);
    else
        *out = p;
    return status;
}

void shd_partitioner_destroy(struct shd_partitioner *partitioner)
{
    if (!partitioner)
        return;
    free((void *)partitioner->mesh.submesh);
    free((void *)partitioner->mesh.ici);
    free((void *)partitioner->mesh.dcn);
    shd_logical_rules_destroy(partitioner->rules);
    free(partitioner->data_names);
    shd_spec_destroy(partitioner->data_spec);
    free(partitioner);
}

const struct shd_logical_rules *shd_partitioner_rules(const struct shd_partitioner *partitioner)
{
    if (!partitioner)
        return NULL;
    return partitioner->rules;
}

const struct shd_spec_entry *shd_partitioner_data_axes(const struct shd_partitioner *partitioner)
{
    if (!partitioner)
        return NULL;
    return &partitioner->data_axes;
}

const struct shd_spec *shd_partitioner_data_spec(const struct shd_partitioner *partitioner)
{
    if (!partitioner)
        return NULL;
    return partitioner->data_spec;
}

int shd_partitioner_mesh(struct shd_mesh **out, const struct shd_partitioner *partitioner,
                         const struct shd_topology *topology, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, partitioner, topology))
        return SHD_EINVAL;
    return shd_default_mesh_create(out, topology, &partitioner->mesh, err);
}

const char *const *shd_partitioner_logical_axes(const struct shd_partitioner *partitioner,
                                                const struct shd_leaf *leaf)
{
    if (!partitioner)
        return NULL;
    return partitioner->kind == SHD_PARTITIONER_BASE ? NULL : leaf->logical_axes;
}

int shd_partitioner_leaf_axes(struct shd_spec **out, const struct shd_partitioner *partitioner,
                              const struct shd_leaf *leaf, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, partitioner))
        return SHD_EINVAL;

    const char *const *names = shd_partitioner_logical_axes(partitioner, leaf);
    struct shd_error why = {.status = SHD_OK};

    if (!names) {
        *out = NULL;
        return SHD_OK;
    }

    int status = shd_logical_rules_spec(out, partitioner->rules, names, leaf->rank, &why);

    if (status)
        return shd_error_set(err, status, "the logical axes of %.100s: %.120s", leaf->name,
                             why.text);
    return SHD_OK;
}

int shd_partitioner_mesh_axes(struct shd_spec **specs, const struct shd_partitioner *partitioner,
                              const struct shd_tree *tree, struct shd_error *err)
{
    if (!SHD_GIVEN(err, partitioner, tree) || !SHD_GIVEN_ARRAY(err, specs, shd_tree_count(tree)))
        return SHD_EINVAL;

    size_t n = shd_tree_count(tree);
    size_t done = 0;
    int status = SHD_OK;

    for (; !status && done < n; done++)
        status =
            shd_partitioner_leaf_axes(&specs[done], partitioner, shd_tree_leaf(tree, done), err);
    if (status) {
        for (size_t i = 0; i + 1 < done; i++) {
            shd_spec_destroy(specs[i]);
            specs[i] = NULL;
        }
    }
    return status;
}

int shd_partitioner_data_layout(struct shd_data_layout *out,
                                const struct shd_partitioner *partitioner,
                                const struct shd_chunker *chunker, int64_t batch_size,
                                struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, partitioner, chunker))
        return SHD_EINVAL;
    return shd_data_layout_init(out, chunker, &partitioner->data_axes, batch_size,
                                partitioner->strict, err);
}

struct shd_context shd_partitioner_context(const struct shd_partitioner *partitioner,
                                           const struct shd_mesh *mesh)
{
    if (!partitioner)
        return (struct shd_context){0};
    return (struct shd_context){mesh, partitioner->rules};
}
