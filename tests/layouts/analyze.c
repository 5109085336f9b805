/* Tests shd/analyze.h: bytes of shards, of gathers and of gradient sums, on each device and in
 * total.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/analyze.h>

#include "../support/layout.h"
#include "../support/tap.h"

static const struct test_axis axes[] = {{"dp", 2}, {"fsdp", 4}, {"tp", 2}, {"sp", 1}, {NULL, 0}};

static const struct {
    const char *what;
    enum shd_dtype dtype;
    size_t rank;
    int64_t shape[3];
    const char *spec;
    int status; /* status of the part that follows the original */
    uint64_t floor_bytes;
    int strict_status; /* status of shd_analyze() */
    uint64_t shard_bytes, gather_bytes, sync_bytes;
    double balance;
} cases[] = {
    {"even",
     SHD_F32,
     2,
     {1024, 1024},
     "[fsdp, tp]",
     SHD_OK,
     524288,
     SHD_OK,
     524288,
     3670016,
     524288,
     1},
    {"replicated", SHD_F32, 2, {16, 16}, "[]", SHD_OK, 1024, SHD_OK, 1024, 0, 1920, 1},
    {"none counts as sharded",
     SHD_F32,
     2,
     {16, 16},
     "[null]",
     SHD_OK,
     1024,
     SHD_OK,
     1024,
     0,
     1920,
     1},
    {"several axes",
     SHD_F32,
     2,
     {1024, 1024},
     "[[fsdp, tp]]",
     SHD_ENOAXIS,
     0,
     SHD_OK,
     524288,
     3670016,
     524288,
     1},
    {"uneven", SHD_F32, 2, {7, 3}, "[fsdp, tp]", SHD_OK, 10, SHD_OK, 16, 68, 16, 84.0 / 8 / 16},
    {"more devices than elements", SHD_F32, 1, {3}, "[fsdp]", SHD_OK, 3, SHD_OK, 4, 8, 6, 0.75},
    {"empty shards", SHD_F32, 1, {5}, "[fsdp]", SHD_OK, 5, SHD_OK, 8, 12, 12, 0.625},
    {"rank 0", SHD_F32, 0, {0}, "[]", SHD_OK, 4, SHD_OK, 4, 0, 8, 1},
    {"no elements", SHD_F32, 2, {0, 16}, "[dp]", SHD_OK, 0, SHD_OK, 0, 0, 0, 1},
    {"more to move than 2^64",
     SHD_F64,
     1,
     {INT64_C(3) << 59},
     "[]",
     SHD_OK,
     UINT64_C(3) << 62,
     SHD_ERANGE,
     0,
     0,
     0,
     0},
    {"unknown axis", SHD_F32, 1, {16}, "[ep]", SHD_ENOAXIS, 0, SHD_ENOAXIS, 0, 0, 0, 0},
    {"an axis twice", SHD_F16, 2, {5, 5}, "[fsdp, fsdp]", SHD_OK, 3, SHD_EDUPAXIS, 0, 0, 0, 0},
    {"longer than the rank",
     SHD_F32,
     1,
     {16},
     "[dp, tp, fsdp]",
     SHD_OK,
     4,
     SHD_ESPECLONG,
     0,
     0,
     0,
     0},
};

static struct shd_tree *tree_of(size_t row)
{
    struct shd_leaf leaf = {
        .name = "w", .dtype = cases[row].dtype, .rank = cases[row].rank, .shape = cases[row].shape};
    struct shd_tree *tree = NULL;

    must(shd_tree_create(&tree, NULL), "a tree");
    must(shd_tree_add(tree, &leaf, NULL), "a leaf");
    return tree;
}

/* Whether the figures follow from their definition, device by device: the first device holds the
 * most, and the balance is the mean over the maximum. */
static bool devices_agree(const struct shd_analysis *analysis, const struct shd_tree *tree,
                          const struct shd_spec *const *specs, const struct shd_mesh *mesh)
{
    uint64_t sum = 0, most = 0, first = 0;

    for (int32_t p = 0; p < shd_mesh_size(mesh); p++) {
        uint64_t bytes = 0;

        if (shd_analyze_device_bytes(&bytes, tree, specs, mesh, p, NULL))
            return false;
        first = p == 0 ? bytes : first;
        most = bytes > most ? bytes : most;
        sum += bytes;
    }

    double balance = most ? (double)sum / shd_mesh_size(mesh) / (double)most : 1;

    return most == first && most == analysis->device_bytes && balance - analysis->balance < 1e-12 &&
           analysis->balance - balance < 1e-12;
}

static void test_case(size_t row, const struct shd_mesh *mesh)
{
    struct shd_tree *tree = tree_of(row);
    struct shd_spec *spec = spec_of(cases[row].spec);
    const struct shd_spec *specs[] = {spec};
    struct shd_analysis *analysis = NULL;
    struct shd_totals totals = {0, 0};
    uint64_t bytes = 0;
    int64_t n = shd_tree_nelements(tree);
    int status = shd_analyze_floor_bytes(&bytes, shd_tree_leaf(tree, 0), spec, mesh, NULL);

    ok(status == cases[row].status && bytes == cases[row].floor_bytes, "%s: floor bytes",
       cases[row].what);
    status = shd_analyze_totals(&totals, tree, specs, mesh, NULL);
    ok(status == cases[row].status &&
           (status || (totals.total_parameters == n &&
                       totals.sharded_parameters == (shd_spec_nentries(spec) ? n : 0))),
       "%s: totals", cases[row].what);
    status = shd_analyze(&analysis, tree, specs, mesh, NULL);
    ok(status == cases[row].strict_status &&
           (status || (analysis->device_bytes == cases[row].shard_bytes &&
                       analysis->leaves[0].shard_bytes == cases[row].shard_bytes &&
                       analysis->gather_bytes == cases[row].gather_bytes &&
                       analysis->sync_bytes == cases[row].sync_bytes &&
                       analysis->leaves[0].is_sharded ==
                           (strcmp(cases[row].spec, "[]") && strcmp(cases[row].spec, "[null]")) &&
                       analysis->nuneven == (cases[row].balance < 1) &&
                       analysis->balance == cases[row].balance)),
       "%s: analysis", cases[row].what);
    if (analysis)
        ok(devices_agree(analysis, tree, specs, mesh), "%s: devices", cases[row].what);
    shd_analysis_destroy(analysis);
    shd_spec_destroy(spec);
    shd_tree_destroy(tree);
}

static void test_bad(const struct shd_mesh *mesh)
{
    struct shd_tree *tree = tree_of(0);
    const struct shd_spec *specs[] = {NULL};
    struct shd_analysis *analysis = NULL;
    struct shd_totals totals;
    uint64_t bytes;

    ok(shd_analyze(&analysis, tree, specs, mesh, NULL) == SHD_ETYPE && !analysis, "no spec");
    ok(shd_analyze_totals(&totals, tree, specs, mesh, NULL) == SHD_ETYPE, "totals: no spec");
    ok(shd_analyze(&analysis, tree, specs, NULL, NULL) == SHD_ENOMESH, "no mesh");
    ok(shd_analyze_totals(&totals, tree, specs, NULL, NULL) == SHD_ENOMESH, "totals: no mesh");
    ok(shd_analyze_device_bytes(&bytes, tree, specs, mesh, 16, NULL) == SHD_ERANGE,
       "no such device");
    shd_analysis_destroy(NULL);
    shd_tree_destroy(tree);
}

int main(void)
{
    struct shd_mesh *mesh = mesh_of(axes);

    plan(0);
    for (size_t row = 0; row < sizeof(cases) / sizeof(cases[0]); row++)
        test_case(row, mesh);
    test_bad(mesh);
    shd_mesh_destroy(mesh);
    return done();
}
