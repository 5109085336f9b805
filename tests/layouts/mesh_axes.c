/* Tests shd/mesh_axes.h and shd/extract.h: sizes and indexes along axes, meshes by context, and
 * axes extracted from specs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/extract.h>
#include <shd/mesh_axes.h>

#include "../support/layout.h"
#include "../support/tap.h"

static const struct test_axis axes[] = {{"dp", 4}, {"tp", 2}, {NULL, 0}};

static void test_sizes(const struct shd_mesh *mesh)
{
    static const struct {
        const char *axes[3];
        size_t naxes;
        int status;
        int64_t size, index; /* size and index of position 5, which is (2, 1) */
    } rows[] = {
        {{"dp", "tp"}, 2, SHD_OK, 8, 5},  {{"tp", "dp"}, 2, SHD_OK, 8, 6},
        {{"dp"}, 1, SHD_OK, 4, 2},        {{NULL}, 0, SHD_OK, 1, 0},
        {{"dp", "dp"}, 2, SHD_OK, 16, 10}, {{"dp", "zz"}, 2, SHD_ENOAXIS, 0, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t size = 0, index = 0;

        ok(shd_mesh_axes_size(&size, mesh, rows[i].axes, rows[i].naxes, NULL) == rows[i].status &&
               size == rows[i].size,
           "size of row %zu", i);
        ok(shd_mesh_axes_index(&index, mesh, rows[i].axes, rows[i].naxes, 5, NULL) ==
                   rows[i].status &&
               index == rows[i].index,
           "index of row %zu", i);
    }

    int64_t n;

    ok(shd_mesh_axes_size(&n, NULL, NULL, 0, NULL) == SHD_ENOMESH, "size: no mesh");
    ok(shd_mesh_axes_index(&n, mesh, NULL, 0, 8, NULL) == SHD_ERANGE, "index: no such position");
    ok(shd_mesh_axes_index(&n, NULL, NULL, 0, 0, NULL) == SHD_ENOMESH, "index: no mesh");
}

static void test_find(const struct shd_mesh *mesh)
{
    const char *const both[] = {"tp", "dp"}, *const other[] = {"dp", "ep"};
    const struct shd_mesh *found = NULL;
    struct shd_mesh *context = mesh_of((struct test_axis[]){{"x", 2}, {NULL, 0}});

    ok(!shd_mesh_find(&found, mesh, context, NULL) && found == mesh, "find: the given one first");
    shd_mesh_destroy(context);
    ok(!shd_mesh_find(&found, mesh, NULL, NULL) && found == mesh, "find: the one given");
    ok(!shd_mesh_find(&found, NULL, mesh, NULL) && found == mesh, "find: the one in context");
    ok(shd_mesh_find(&found, NULL, NULL, NULL) == SHD_ENOMESH, "find: none");
    ok(shd_mesh_has_axes(mesh, both, 2) && !shd_mesh_has_axes(mesh, other, 2), "has axes");
    ok(shd_mesh_has_axes(NULL, NULL, 0) && !shd_mesh_has_axes(NULL, both, 1), "no mesh, no axes");
}

static void test_names(void)
{
    struct shd_spec *a = spec_of("[[fsdp, dp], null, [sp, tp]]"), *b = spec_of("[dp, x]");
    const struct shd_spec *specs[] = {a, NULL, b};
    const char *names[8] = {0};

    ok(shd_specs_count_axes(specs, 3) == 6, "six axes are named");
    ok(shd_specs_axis_names(names, 8, specs, 3) == 5 && !strcmp(names[0], "dp") &&
           !strcmp(names[1], "fsdp") && !strcmp(names[2], "sp") && !strcmp(names[3], "tp") &&
           !strcmp(names[4], "x"),
       "five names, sorted");
    ok(shd_specs_axis_names(names, 2, specs, 3) == 2, "no more than there is room for");
    shd_spec_destroy(a);
    shd_spec_destroy(b);
}

static void test_constraint(const struct shd_mesh *mesh)
{
    static const struct {
        const char *spec;
        bool is_device_array, has_own, has_context;
        int status;
        bool applies;
        int strict_status;
        bool applies_strictly;
    } rows[] = {
        {"[]", true, false, true, SHD_OK, true, SHD_OK, true},
        {"[]", true, false, false, SHD_ENOMESH, false, SHD_ENOMESH, false},
        {"[[dp, tp]]", true, false, true, SHD_OK, true, SHD_OK, true},
        {"[null, ep]", true, false, true, SHD_OK, false, SHD_ENOAXIS, false},
        {"[dp]", true, true, false, SHD_OK, false, SHD_OK, true},
        {"[]", true, true, false, SHD_OK, true, SHD_OK, true},
        {"[dp]", false, false, false, SHD_OK, false, SHD_OK, false},
        {"[dp]", false, false, true, SHD_OK, false, SHD_OK, false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct shd_mesh *own = rows[i].has_own ? mesh : NULL;
        const struct shd_mesh *context = rows[i].has_context ? mesh : NULL;
        struct shd_spec *spec = spec_of(rows[i].spec);
        bool applies = false, strictly = false;

        ok(shd_constraint_applies(&applies, rows[i].is_device_array, spec, own, context, NULL) ==
                   rows[i].status &&
               applies == rows[i].applies,
           "constraint %s, row %zu", rows[i].spec, i);
        ok(shd_constraint_applies_strict(&strictly, rows[i].is_device_array, spec, own, context,
                                         NULL) == rows[i].strict_status &&
               strictly == rows[i].applies_strictly,
           "strict constraint %s, row %zu", rows[i].spec, i);
        shd_spec_destroy(spec);
    }
}

static void test_extract(const struct shd_mesh *mesh)
{
    struct shd_spec *spec = spec_of("[dp, tp]"), *bad = spec_of("[ep]"), *empty = spec_of("[]");
    const struct shd_value values[] = {
        {SHD_VALUE_PLACED, "a", spec}, {SHD_VALUE_PLANNED, "b", spec}, {SHD_VALUE_BARE, "c", spec},
        {SHD_VALUE_ON_DEVICE, "d", NULL}, {SHD_VALUE_NUMBER, "e", NULL},
        {SHD_VALUE_OTHER, "f", NULL},  {SHD_VALUE_NONE, "g", NULL}};
    const struct shd_value numbers[] = {values[0], values[4], values[6]};
    const struct shd_value wrong = {SHD_VALUE_BARE, "w", bad};
    const struct shd_spec *out[7];

    ok(!shd_extract_shardings(out, values, 7, mesh, NULL) && out[0] == spec && out[1] == spec &&
           out[2] == spec && !out[3] && !out[4] && !out[5] && !out[6],
       "shardings: the values that have a spec");
    ok(shd_extract_shardings(out, values, 0, NULL, NULL) == SHD_ENOMESH, "shardings: a mesh first");
    ok(shd_extract_shardings(out, &wrong, 1, mesh, NULL) == SHD_ENOAXIS,
       "shardings: a bare spec must fit the mesh");
    shd_extract_structure(out, values, 7);
    ok(out[0] == spec && !out[1] && !out[2] && !out[3] && !out[6], "structure: arrays only");
    ok(!shd_extract_specs(out, numbers, 3, empty, NULL) && out[0] == spec && out[1] == empty &&
           !out[2],
       "specs: arrays and numbers");
    ok(shd_extract_specs(out, &values[3], 1, empty, NULL) == SHD_ETYPE, "specs: on one device");
    ok(shd_extract_specs(out, &values[5], 1, empty, NULL) == SHD_EINVAL, "specs: a text");
    ok(shd_extract_specs(out, &values[1], 1, empty, NULL) == SHD_EINVAL, "specs: a plan");
    shd_spec_destroy(spec);
    shd_spec_destroy(bad);
    shd_spec_destroy(empty);
}

int main(void)
{
    struct shd_mesh *mesh = mesh_of(axes);

    plan(0);
    test_sizes(mesh);
    test_find(mesh);
    test_names();
    test_constraint(mesh);
    test_extract(mesh);
    shd_mesh_destroy(mesh);
    return done();
}
