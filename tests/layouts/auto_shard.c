/* Tests shd/auto_shard.h: suggested methods, specs chosen by shape, strict specs, and whole trees.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/auto_shard.h>

#include "../support/layout.h"
#include "../support/tap.h"

static const struct test_axis full[] = {{"dp", 2}, {"fsdp", 4}, {"ep", 1},
                                        {"tp", 2}, {"sp", 1},   {NULL, 0}};
static const struct test_axis pair[] = {{"fsdp", 4}, {"sp", 2}, {NULL, 0}};
static const struct test_axis three[] = {{"dp", 2}, {"fsdp", 4}, {"sp", 2}, {NULL, 0}};
static const struct test_axis two[] = {{"fsdp", 16}, {"tp", 4}, {NULL, 0}};

static const char *const fsdp_sp[] = {"fsdp", "sp"}, *const tp_tp[] = {"tp", "tp"};
static const char *const zz[] = {"zz"};

/* The suggested methods of each mesh and shape, and the specs made of them. */
static const struct {
    const struct test_axis *mesh;
    size_t rank;
    int64_t shape[4];
    const char *methods; /* joined */
    const char *spec, *strict;
} cases[] = {
    {full, 2, {1024, 4096}, "fsdp sp,dp,tp", "[fsdp, sp]", "[fsdp, sp]"},
    {full, 0, {0}, "tp,fsdp", "[]", "[]"},
    {full, 1, {4096}, "dp,tp,fsdp", "[dp]", "[dp]"},
    {full, 1, {7}, "dp,tp,fsdp", "[null]", "[null]"},
    {full, 2, {1, 4096}, "fsdp sp,dp,tp", "[null, dp]", "[null, dp]"},
    {pair, 2, {6, 4}, "fsdp sp", "[fsdp, sp]", "[null, null]"},
    {pair, 2, {8, 3}, "fsdp sp", "[fsdp, sp]", "[[fsdp, sp], null]"},
    {pair, 2, {2048, 3}, "fsdp sp", "[fsdp, sp]", "[[fsdp, sp], null]"},
    {three, 2, {4096, 1}, "fsdp sp,dp", "[dp, null]", "[[fsdp, sp], null]"},
    {two, 2, {4096, 4096}, "tp,fsdp", "[tp, fsdp]", "[tp, fsdp]"},
    {pair, 2, {1, 2}, "sp,fsdp", "[null, null]", "[null, null]"},
    {full, 1, {1024}, "dp,tp,fsdp", "[dp]", "[dp]"},
    {three, 3, {4, 2, 2048}, "fsdp sp,dp", "[fsdp, sp, null]", "[fsdp, sp, null]"},
    {three, 2, {5, 1026}, "fsdp sp,dp", "[null, dp]", "[null, dp]"},
    {full, 2, {INT64_C(1) << 40, INT64_C(1) << 40}, "fsdp sp,dp,tp", "[fsdp, sp]", "[fsdp, sp]"},
};

static void join(char *text, size_t size, const struct shd_spec_entry *methods, size_t n)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t m = 0; m < n; m++) {
        for (size_t a = 0; a < methods[m].naxes; a++)
            used += (size_t)snprintf(text + used, size - used, "%s%s",
                                     a   ? " "
                                     : m ? ","
                                         : "",
                                     methods[m].axes[a]);
    }
}

static void test_case(size_t row)
{
    struct shd_mesh *mesh = mesh_of(cases[row].mesh);
    struct shd_spec_entry methods[SHD_AUTO_METHODS_MAX];
    size_t n = shd_auto_methods(methods, mesh, cases[row].shape, cases[row].rank);
    struct shd_auto_options options = shd_auto_defaults();
    struct shd_spec *spec = NULL, *strict = NULL;
    int64_t shard[4];
    char text[64];

    join(text, sizeof(text), methods, n);
    ok(!strcmp(text, cases[row].methods), "methods of row %zu: %s", row, text);
    must(shd_auto_spec(&spec, mesh, cases[row].shape, cases[row].rank, methods, n, &options, NULL),
         "a spec");
    options.strict = true;
    must(
        shd_auto_spec(&strict, mesh, cases[row].shape, cases[row].rank, methods, n, &options, NULL),
        "a strict spec");
    ok(!strcmp(text_of(spec), cases[row].spec), "spec of row %zu: %s", row, text_of(spec));
    ok(!strcmp(text_of(strict), cases[row].strict) &&
           !shd_auto_shard_shape(shard, mesh, strict, cases[row].shape, cases[row].rank, NULL),
       "strict spec of row %zu: %s", row, text_of(strict));
    shd_spec_destroy(spec);
    shd_spec_destroy(strict);
    shd_mesh_destroy(mesh);
}

/* A strict spec divides any shape. */
static void test_strict(void)
{
    static const int64_t extents[] = {0, 1, 2, 3, 4, 6, 8, 12, 64, 1023, 2048};
    const struct shd_auto_options options = {.min_elements = 2, .strict = true};
    const struct shd_spec_entry methods[] = {
        {fsdp_sp, 1}, {fsdp_sp, 2}, {tp_tp, 1}, {tp_tp, 2}, {tp_tp, 1}};
    struct shd_mesh *mesh =
        mesh_of((const struct test_axis[]){{"fsdp", 4}, {"sp", 2}, {"tp", 3}, {NULL, 0}});
    size_t n = sizeof(extents) / sizeof(extents[0]), faults = 0;

    for (size_t i = 0; i < n * n * 5; i++) {
        int64_t shape[] = {extents[i % n], extents[i / n % n]}, shard[2];
        struct shd_spec *spec = NULL;

        if (shd_auto_spec(&spec, mesh, shape, 2, methods, 1 + i / (n * n), &options, NULL) ||
            shd_auto_shard_shape(shard, mesh, spec, shape, 2, NULL))
            faults++;
        shd_spec_destroy(spec);
    }
    ok(faults == 0, "strict specs can be placed, all of %zu", n * n * 5);
    shd_mesh_destroy(mesh);
}

/* A dimension is sharded only if it has elements / (2 x devices) elements: for 256 x 96 elements on
 * 64 devices at least 192. */
static void test_share(void)
{
    const struct shd_auto_options small = {1, false};
    const int64_t shape[] = {256, 96};
    struct shd_mesh *mesh = mesh_of(two);
    struct shd_spec_entry methods[SHD_AUTO_METHODS_MAX];
    struct shd_spec *spec = NULL;

    must(shd_auto_spec(&spec, mesh, shape, 2, methods, shd_auto_methods(methods, mesh, shape, 2),
                       &small, NULL),
         "a spec");
    ok(!strcmp(text_of(spec), "[tp, null]"), "the share counts: %s", text_of(spec));
    ok(shd_auto_defaults().min_elements == 1024 && !shd_auto_defaults().strict,
       "the original's defaults");
    shd_spec_destroy(spec);
    shd_mesh_destroy(mesh);
}

static void test_bad(void)
{
    struct shd_mesh *mesh = mesh_of(full);
    const struct shd_spec_entry pair_method = {fsdp_sp, 2}, unknown = {zz, 1};
    const struct shd_auto_options small = {1, false}, large = {1000, false}, strict = {1, true};
    const int64_t shape[SHD_RANK_MAX + 1] = {16};
    struct shd_spec *spec = NULL;

    ok(shd_auto_spec(&spec, mesh, shape, 1, &pair_method, 1, &small, NULL) == SHD_ERANGE,
       "(fsdp, sp) on one dimension");
    ok(shd_auto_spec(&spec, mesh, shape, 1, &unknown, 1, &small, NULL) == SHD_ENOAXIS,
       "an unknown axis that is tried");
    ok(!shd_auto_spec(&spec, mesh, shape, 1, &unknown, 1, &large, NULL),
       "an unknown axis that is not tried");
    shd_spec_destroy(spec);
    ok(!shd_auto_spec(&spec, mesh, shape, 1, &pair_method, 1, &strict, NULL),
       "strict: (fsdp, sp) on one dimension is passed over");
    shd_spec_destroy(spec);
    ok(shd_auto_spec(&spec, mesh, shape, SHD_RANK_MAX + 1, NULL, 0, &small, NULL) == SHD_ERANGE,
       "too many dimensions");
    shd_mesh_destroy(mesh);
}

static void test_tree(void)
{
    static const struct {
        const char *name;
        size_t rank;
        int64_t shape[2];
    } leaves[] = {{"c", 2, {64, 64}}, {"a-b/x", 1, {8}}, {"a/y", 2, {64, 64}}, {"a/x", 0, {0}}};
    struct shd_auto_options options = shd_auto_defaults();
    struct shd_mesh *mesh = mesh_of(full), *uneven = mesh_of(pair);
    struct shd_tree *tree = NULL;
    struct shd_spec *specs[5];
    size_t firsts[5], n = 0;

    must(shd_tree_create(&tree, NULL), "a tree");
    for (size_t i = 0; i < 4; i++) {
        struct shd_leaf leaf = {
            .name = leaves[i].name, .rank = leaves[i].rank, .shape = leaves[i].shape};

        must(shd_tree_add(tree, &leaf, NULL), leaf.name);
    }
    ok(!shd_auto_shapes(firsts, &n, tree, NULL) && n == 3 && firsts[0] == 3 && firsts[1] == 2 &&
           firsts[2] == 1,
       "shapes: the first of each by path, whose parts are compared");
    ok(!shd_auto_shard(specs, tree, mesh, &options, NULL) &&
           !strcmp(text_of(specs[0]), "[fsdp, sp]") && !strcmp(text_of(specs[1]), "[null]") &&
           !strcmp(text_of(specs[3]), "[]"),
       "tree: sharded");
    for (size_t i = 0; i < 4; i++)
        shd_spec_destroy(specs[i]);

    struct shd_leaf odd = {.name = "odd", .rank = 2, .shape = (const int64_t[]){6, 4}};
    struct shd_error err = {0};

    must(shd_tree_add(tree, &odd, NULL), "odd");
    ok(shd_auto_shard(specs, tree, uneven, &options, &err) == SHD_EINDIVISIBLE &&
           strstr(err.text, "'odd'"),
       "tree: an indivisible array is reported: %s", err.text);
    options.strict = true;
    ok(!shd_auto_shard(specs, tree, uneven, &options, NULL), "tree, strict: everything divides");
    for (size_t i = 0; i < 5; i++)
        shd_spec_destroy(specs[i]);
    shd_tree_destroy(tree);
    shd_mesh_destroy(mesh);
    shd_mesh_destroy(uneven);
}

int main(void)
{
    plan(0);
    for (size_t row = 0; row < sizeof(cases) / sizeof(cases[0]); row++)
        test_case(row);
    test_strict();
    test_share();
    test_bad();
    test_tree();
    return done();
}
