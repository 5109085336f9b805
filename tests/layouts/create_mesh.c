/* Tests shd/create_mesh.h: meshes from the dimensions of a cluster, with open dimensions, hosts
 * and names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/create_mesh.h>

#include "../support/layout.h"
#include "../support/tap.h"

#define MANY 4096

static const struct {
    struct shd_cluster cluster;
    int64_t dims[5];
    int64_t dcn[5]; /* all 0: no dimensions across hosts are given */
    int status;
    int32_t sizes[5];
    int32_t ids[4]; /* of the first positions */
} cases[] = {
    {{8, 1, 0, 0}, {2, -1, 1, 2, 1}, {0}, SHD_OK, {2, 2, 1, 2, 1}, {0, 1, 2, 3}},
    {{8, 1, 0, 0}, {-2, 4, 1, 1, 1}, {0}, SHD_OK, {2, 4, 1, 1, 1}, {0, 1, 2, 3}},
    {{8, 1, 0, 0}, {3, -1, 1, 1, 1}, {0}, SHD_EINDIVISIBLE, {0}, {0}},
    {{8, 1, 0, 0}, {0, -1, 1, 1, 1}, {0}, SHD_EINDIVISIBLE, {0}, {0}},
    {{8, 1, 0, 0}, {2, 2, 1, 1, 1}, {0}, SHD_EINDIVISIBLE, {0}, {0}},
    {{8, 1, 0, 0}, {-1, -1, 1, 1, 1}, {0}, SHD_EINVAL, {0}, {0}},
    {{8, 1, 0, 0}, {INT64_MAX, INT64_MAX, 1, 1, -1}, {0}, SHD_EINDIVISIBLE, {0}, {0}},
    {{16, 2, 2, 0}, {1, 8, 1, 2, 1}, {1, 1, 1, 2, 1}, SHD_OK, {1, 4, 1, 4, 1}, {0, 1, 8, 9}},
    {{18, 2, 2, 0}, {3, 3, 1, 2, 1}, {0}, SHD_OK, {3, 3, 1, 2, 1}, {0, 9, 1, 10}},
    {{18, 2, 2, 0}, {3, 3, 1, 1, 2}, {0}, SHD_OK, {3, 3, 1, 1, 2}, {0, 9, 1, 10}},
    {{9, 3, 3, 0}, {9, 1, 1, 1, 1}, {1, 1, -1, 1, 1}, SHD_OK, {3, 1, 3, 1, 1}, {0, 3, 6, 1}},
    {{8, 1, 0, 2}, {8, 1, 1, 1, 1}, {0}, SHD_EINVAL, {0}, {0}},
    {{16, 4, 0, 0}, {4, 4, 1, 1, 1}, {-1, 2, 1, 1, 1}, SHD_OK, {2, 8, 1, 1, 1}, {0, 1, 2, 3}},
    {{16, 4, 0, 0}, {1, -1, 1, 1, 1}, {3, 1, 1, 1, 1}, SHD_EINDIVISIBLE, {0}, {0}},
    {{16, 4, 0, 0}, {1, -1, 1, 1, 1}, {-1, -1, 1, 1, 1}, SHD_EINVAL, {0}, {0}},
    {{16, 4, 0, 0}, {1, -1, 1, 1, 1}, {-2, 1, 1, 1, 1}, SHD_EINVAL, {0}, {0}},
    {{12, 2, 0, 0}, {3, 4, 1, 1, 1}, {0}, SHD_EINVAL, {0}, {0}},
    {{8, 3, 0, 0}, {8, 1, 1, 1, 1}, {0}, SHD_EINVAL, {0}, {0}},
    {{0, 1, 0, 0}, {1, 1, 1, 1, 1}, {0}, SHD_EINVAL, {0}, {0}},
    {{4, 2, 2, 0}, {1, 3, 1, 1, -1}, {0}, SHD_EINDIVISIBLE, {0}, {0}},
    /* 2x5 is not a multiple of hosts of 1x2, so all hosts lie along the first dimension */
    {{10, 5, 0, 0}, {2, 5, 1, 1, 1}, {0}, SHD_OK, {5, 2, 1, 1, 1}, {0, 1, 2, 3}},
};

static bool is_permutation(const struct shd_mesh *mesh)
{
    static bool seen[MANY];

    memset(seen, 0, sizeof(seen));
    for (int32_t p = 0; p < shd_mesh_size(mesh); p++) {
        int32_t id = shd_mesh_device_id(mesh, p);

        if (id < 0 || id >= shd_mesh_size(mesh) || seen[id])
            return false;
        seen[id] = true;
    }
    return true;
}

static void test_case(size_t row)
{
    const int64_t *dcn = cases[row].dcn[0] || cases[row].dcn[2] ? cases[row].dcn : NULL;
    struct shd_mesh *mesh = NULL;
    int status = shd_mesh_create_by_dims(&mesh, &cases[row].cluster, cases[row].dims, 5,
                                         shd_default_mesh_names(), 5, dcn, 5, NULL);
    bool right = status == cases[row].status;

    for (size_t a = 0; right && mesh && a < 5; a++)
        right = shd_mesh_axis_size(mesh, a) == cases[row].sizes[a];
    for (int32_t p = 0; right && mesh && p < 4; p++)
        right = shd_mesh_device_id(mesh, p) == cases[row].ids[p];
    ok(right && (!mesh || is_permutation(mesh)), "mesh of row %zu: %d", row, status);
    shd_mesh_destroy(mesh);
}

static void test_host_shape(void)
{
    static const struct {
        int32_t dims[3];
        size_t ndims;
        int32_t ndevices, nprocesses;
        int status;
        int32_t shape[3];
    } rows[] = {
        {{2, 4, 8}, 3, 8, 8, SHD_OK, {1, 1, 8}}, {{8, 4}, 2, 4, 8, SHD_OK, {1, 4}},
        {{3, 4}, 2, 4, 3, SHD_OK, {1, 4}},       {{3, 4}, 2, 6, 2, SHD_EINVAL, {0}},
        {{2, 2}, 2, 3, 2, SHD_EINVAL, {0}},      {{4, 6}, 2, 4, 6, SHD_EINVAL, {0}},
        {{0, 6}, 2, 0, 6, SHD_EINVAL, {0}},      {{4, 2}, 2, 2, 3, SHD_EINVAL, {0}},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int32_t shape[3] = {0};
        int status = shd_host_mesh_shape(shape, rows[i].dims, rows[i].ndims, rows[i].ndevices,
                                         rows[i].nprocesses, NULL);

        ok(status == rows[i].status &&
               (status || !memcmp(shape, rows[i].shape, rows[i].ndims * sizeof(*shape))),
           "host shape of row %zu", i);
    }
}

static void test_parse(void)
{
    static const char *const names[] = {"dp", "tp"};
    static const struct shd_cluster eight = {8, 1, 0, 0};
    static const struct {
        const char *text;
        int status;
        const char *printed;
    } rows[] = {
        {"dp:2,tp:4", SHD_OK, "dp=2, tp=4"},    {"tp:4,dp:2", SHD_OK, "tp=4, dp=2"},
        {"2,4", SHD_OK, "dp=2, tp=4"},          {"dp:-1,tp:4", SHD_OK, "dp=2, tp=4"},
        {"dp: 2,tp:4 ", SHD_OK, "dp=2, tp=4"},  {"dp:+2,tp:0_4", SHD_OK, "dp=2, tp=4"},
        {" dp:2,tp:4", SHD_EINVAL, NULL},       {"dp:2,xx:4", SHD_EINVAL, NULL},
        {"dp:8", SHD_EINVAL, NULL},             {"2,2,2", SHD_EINVAL, NULL},
        {"dp:2,dp:4", SHD_EINVAL, NULL},        {"dp:2:3,tp:4", SHD_EINVAL, NULL},
        {"a,b", SHD_EINVAL, NULL},              {"", SHD_EINVAL, NULL},
        {"2", SHD_EINVAL, NULL},                {"2,", SHD_EINVAL, NULL},
        {"2,4_", SHD_EINVAL, NULL},             {"2,-", SHD_EINVAL, NULL},
        {"2,99999999999999999999", SHD_ERANGE, NULL}, {"dp:2,tp:2", SHD_EINDIVISIBLE, NULL},
        {"2,tp:4", SHD_EINVAL, NULL},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct shd_mesh *mesh = NULL;
        int status = shd_mesh_parse(&mesh, rows[i].text, names, 2, &eight, NULL);
        char text[64] = "";

        if (mesh)
            shd_mesh_print(mesh, text, sizeof(text));
        ok(status == rows[i].status && (status || !strcmp(text, rows[i].printed)),
           "parse '%s': %s", rows[i].text, text);
        shd_mesh_destroy(mesh);
    }
}

static void test_names(void)
{
    static const struct shd_cluster eight = {8, 1, 0, 0}, million = {1000000, 1000, 0, 0};
    static const char *const twice[] = {"x", "x"};
    struct shd_mesh *mesh = NULL;
    struct shd_mesh_grid grid;

    ok(shd_mesh_create_by_dims(&mesh, &eight, (const int64_t[]){2, 4}, 2, twice, 2, NULL, 0,
                               NULL) == SHD_EDUPAXIS,
       "a name twice is refused");
    ok(shd_mesh_create_by_dims(&mesh, &eight, (const int64_t[]){2, 4}, 2, twice, 1, NULL, 0,
                               NULL) == SHD_EINVAL,
       "names and dimensions must agree in number");
    ok(shd_mesh_create_by_dims(&mesh, &eight, (const int64_t[17]){1}, 17, twice, 2, NULL, 0,
                               NULL) == SHD_ERANGE,
       "too many dimensions");
    must(shd_mesh_grid_init(&grid, &million, (const int64_t[]){1000, -1}, 2, NULL, 0, NULL),
         "a million devices");
    ok(!grid.device_ids && grid.sizes[1] == 1000, "a million devices in order are not listed");
    shd_mesh_grid_fini(&grid);
    must(shd_mesh_grid_init(&grid, &eight, (const int64_t[]){8}, 1, (const int64_t[]){5}, 1, NULL),
         "one process");
    ok(grid.ndims == 1, "the spread does not matter where there is one process");
    shd_mesh_grid_fini(&grid);

    static const char *const names[] = {"dp", "fsdp", "ep", "tp", "sp"};
    static const int64_t dims[] = {1, -1, 1, 1, 1}, open[] = {-1, -1};
    bool same = SHD_DEFAULT_MESH_AXES == 5;
    int32_t out[2];

    for (size_t a = 0; a < 5; a++)
        same = same && shd_default_mesh_dims()[a] == dims[a] &&
               !strcmp(shd_default_mesh_names()[a], names[a]);
    ok(same, "the original's default axes");
    ok(shd_mesh_dims_fill(out, open, 2, 4, NULL) == SHD_EINVAL, "two dimensions left open");
}

int main(void)
{
    plan(0);
    for (size_t row = 0; row < sizeof(cases) / sizeof(cases[0]); row++)
        test_case(row);
    test_host_shape();
    test_parse();
    test_names();
    return done();
}
