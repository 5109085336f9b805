/* Tests shd/partitioner.h and shd/context.h: partitioners with their data axes and rules, and
 * contexts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/partitioner.h>

#include "../support/layout_text.h"
#include "../support/tap.h"

static const int64_t ici[] = {1, 4, 1}, dcn[] = {2, 1, 1}, submesh[] = {2, 1, 1, 2};

static void test_request(void)
{
    static const struct {
        const char *what;
        struct shd_partitioner_opts opts;
        int status;
    } rows[] = {
        {"partitions", {.mesh = {.num_partitions = 4}}, SHD_OK},
        {"a submesh", {.mesh = {.submesh = submesh, .nsubmesh = 4}}, SHD_OK},
        {"neither", {.mesh = {.ici = ici, .nici = 3}}, SHD_EINVAL},
        {"both", {.mesh = {2, submesh, 4, NULL, 0, NULL, 0}}, SHD_OK},
        {"both, strict", {.mesh = {2, submesh, 4, NULL, 0, NULL, 0}, .strict = true}, SHD_EINVAL},
        {"a short submesh", {.mesh = {.submesh = submesh, .nsubmesh = 2}}, SHD_OK},
        {"a short submesh, strict",
         {.mesh = {.submesh = submesh, .nsubmesh = 2}, .strict = true},
         SHD_EINVAL},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct shd_partitioner *p = NULL;
        int status = shd_partitioner_create(&p, &rows[i].opts, NULL);

        ok(status == rows[i].status && (status == SHD_OK) == (p != NULL), "create: %s",
           rows[i].what);
        shd_partitioner_destroy(p);
    }
}

static struct shd_partitioner *make(enum shd_partitioner_kind kind, bool hybrid,
                                    const struct shd_logical_rules *rules)
{
    struct shd_partitioner_opts opts = {
        .kind = kind, .mesh = {.num_partitions = 1}, .rules = rules};
    struct shd_partitioner *p = NULL;

    if (hybrid) {
        opts.mesh.ici = ici;
        opts.mesh.dcn = dcn;
        opts.mesh.nici = opts.mesh.ndcn = 3;
    }
    ok(shd_partitioner_create(&p, &opts, NULL) == SHD_OK, "create: %s, %s",
       kind == SHD_PARTITIONER_BASE ? "base" : "logical", hybrid ? "hybrid" : "plain");
    return p;
}

static void test_data_axes(void)
{
    static const struct {
        enum shd_partitioner_kind kind;
        bool hybrid;
        size_t naxes;
        size_t nrules;
    } rows[] = {
        {SHD_PARTITIONER_LOGICAL, false, 1, 13},
        {SHD_PARTITIONER_LOGICAL, true, 2, 13},
        {SHD_PARTITIONER_BASE, false, 1, 0},
        {SHD_PARTITIONER_BASE, true, 2, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct shd_partitioner *p = make(rows[i].kind, rows[i].hybrid, NULL);
        const struct shd_spec_entry *axes = shd_partitioner_data_axes(p);

        ok(axes->naxes == rows[i].naxes &&
               !strcmp(axes->axes[0], rows[i].hybrid ? "replica" : "data") &&
               !strcmp(axes->axes[axes->naxes - 1], "data"),
           "data axes");
        ok(shd_spec_nentries(shd_partitioner_data_spec(p)) == 1 &&
               shd_spec_naxes(shd_partitioner_data_spec(p), 0) == rows[i].naxes,
           "data spec");
        ok(shd_logical_rules_count(shd_partitioner_rules(p)) == rows[i].nrules, "rules");
        shd_partitioner_destroy(p);
    }
}

/* Every rule named batch is sharded over replicas, even one without an axis. */
static void test_batch_rules(void)
{
    static const char *const data[] = {"data"};
    const struct shd_spec_entry none = {NULL, 0}, axis = {data, 1};
    struct shd_logical_rules *rules;
    struct shd_partitioner *p;

    ok(shd_logical_rules_create(&rules, NULL) == SHD_OK &&
           shd_logical_rules_add(rules, "embed", &axis, NULL) == SHD_OK &&
           shd_logical_rules_add(rules, "batch", &none, NULL) == SHD_OK,
       "rules without a data axis");
    p = make(SHD_PARTITIONER_LOGICAL, false, rules);
    ok(shd_partitioner_data_axes(p)->naxes == 0, "no data axis");
    shd_partitioner_destroy(p);
    p = make(SHD_PARTITIONER_LOGICAL, true, rules);
    ok(shd_partitioner_data_axes(p)->naxes == 2 &&
           shd_logical_rules_axes(shd_partitioner_rules(p), 0)->naxes == 1 &&
           shd_logical_rules_axes(shd_partitioner_rules(p), 1)->naxes == 2,
       "but on a hybrid mesh");
    shd_partitioner_destroy(p);
    shd_logical_rules_destroy(rules);
}

static void add_leaf(struct shd_tree *tree, const char *name, const char *axes)
{
    const int64_t shape[] = {8, 8, 8};
    char copy[64];
    const char *words[4];
    struct shd_leaf leaf = {.name = name, .dtype = SHD_F32, .shape = shape};

    leaf.rank = axes ? split_words(copy, sizeof copy, axes, words) : 2;
    leaf.logical_axes = axes ? words : NULL;
    ok(shd_tree_add(tree, &leaf, NULL) == SHD_OK, "leaf %s", name);
}

static void test_tree(void)
{
    struct shd_partitioner *p = make(SHD_PARTITIONER_LOGICAL, false, NULL);
    struct shd_partitioner *base = make(SHD_PARTITIONER_BASE, false, NULL);
    struct shd_spec *specs[4] = {NULL};
    struct shd_error err;
    struct shd_tree *tree;

    ok(shd_tree_create(&tree, NULL) == SHD_OK, "tree");
    add_leaf(tree, "mlp/wo", "mlp embed");
    add_leaf(tree, "step", "");
    add_leaf(tree, "count", NULL);
    ok(shd_partitioner_mesh_axes(specs, p, tree, NULL) == SHD_OK && !specs[2], "mesh axes");
    ok(spec_is(specs[0], "[\"model\",null]") && spec_is(specs[1], "[]"), "by the rules");
    ok(shd_partitioner_logical_axes(p, shd_tree_leaf(tree, 0)) ==
               shd_tree_leaf(tree, 0)->logical_axes &&
           !shd_partitioner_logical_axes(base, shd_tree_leaf(tree, 0)),
       "logical axes: as stored, none in the base");
    ok(shd_partitioner_mesh_axes(specs, base, tree, NULL) == SHD_OK && !specs[0] && !specs[1],
       "mesh axes: none in the base");
    add_leaf(tree, "a/k", "mlp mlp");
    ok(shd_partitioner_mesh_axes(specs, p, tree, &err) == SHD_EDUPAXIS && strstr(err.text, "a/k") &&
           !specs[0] && !specs[1],
       "a leaf that cannot be mapped is named");
    shd_tree_destroy(tree);
    shd_partitioner_destroy(base);
    shd_partitioner_destroy(p);
}

static void test_mesh(void)
{
    struct shd_partitioner *p = make(SHD_PARTITIONER_LOGICAL, true, NULL);
    struct shd_topology t;
    struct shd_mesh *mesh = NULL;
    struct shd_chunker chunker;
    struct shd_data_layout layout;
    char text[64];

    ok(shd_topology_init_hosts(&t, "gpu", 2, 4, 2, NULL) == SHD_OK &&
           shd_partitioner_mesh(&mesh, p, &t, NULL) == SHD_OK &&
           !strcmp(mesh_text(text, sizeof text, mesh, 2), "2x4x1: 0,1"),
       "the mesh of a topology");
    ok(shd_chunker_init_topology(&chunker, mesh, &t, 1, NULL) == SHD_OK &&
           shd_partitioner_data_layout(&layout, p, &chunker, 16, NULL) == SHD_OK &&
           layout.shard_id == 1 && layout.num_shards == 2,
       "the data of host 1");
    shd_mesh_destroy(mesh);
    shd_partitioner_destroy(p);

    struct shd_partitioner_opts opts = {.mesh = {.num_partitions = 4}, .strict = true};

    ok(shd_partitioner_create(&p, &opts, NULL) == SHD_OK &&
           shd_partitioner_mesh(&mesh, p, &t, NULL) == SHD_OK &&
           !strcmp(mesh_text(text, sizeof text, mesh, 2), "2x4: 0,1"),
       "of so many partitions");
    ok(shd_chunker_init_topology(&chunker, mesh, &t, 1, NULL) == SHD_OK &&
           shd_partitioner_data_layout(&layout, p, &chunker, -16, NULL) == SHD_EINVAL,
       "strict: no negative batch");
    shd_mesh_destroy(mesh);
    shd_partitioner_destroy(p);
    opts = (struct shd_partitioner_opts){.mesh = {.num_partitions = 1, .ici = ici, .nici = 3}};
    ok(shd_partitioner_create(&p, &opts, NULL) == SHD_OK &&
           shd_partitioner_data_axes(p)->naxes == 1,
       "ici alone is no hybrid mesh");
    shd_partitioner_destroy(p);
}

static void test_context(void)
{
    static const char *const names[] = {"x"};
    static const int32_t sizes[] = {1};
    struct shd_partitioner *p = make(SHD_PARTITIONER_LOGICAL, false, NULL);
    const struct shd_mesh *found = NULL;
    struct shd_mesh *mesh = NULL, *point = NULL;
    struct shd_context with, without = {NULL, NULL};

    ok(shd_mesh_create(&mesh, names, sizes, 1, NULL) == SHD_OK &&
           shd_mesh_create(&point, NULL, NULL, 0, NULL) == SHD_OK,
       "meshes");
    with = shd_partitioner_context(p, mesh);
    ok(with.rules == shd_partitioner_rules(p), "the context has the rules");
    ok(shd_context_has_mesh(&with) && !shd_context_has_mesh(&without) &&
           !shd_context_has_mesh(NULL),
       "a mesh is defined, or not");
    ok(shd_context_mesh(&found, &with, NULL) == SHD_OK && found == mesh &&
           shd_context_mesh(&found, &without, NULL) == SHD_ENOMESH,
       "and found");
    ok(shd_context_constrains(&with, "gpu") && !shd_context_constrains(&with, "cpu") &&
           !shd_context_constrains(&without, "tpu"),
       "constraints mean something off CPUs with a mesh");
    with.mesh = point;
    ok(!shd_context_has_mesh(&with), "a mesh without axes is none");
    shd_mesh_destroy(mesh);
    shd_mesh_destroy(point);
    shd_partitioner_destroy(p);
    shd_partitioner_destroy(NULL);
}

int main(void)
{
    plan(0);
    test_request();
    test_data_axes();
    test_batch_rules();
    test_tree();
    test_mesh();
    test_context();
    return done();
}
