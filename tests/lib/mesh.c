/* Tests shd/mesh.h: meshes, coordinates, device ids and equality.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <shd/mesh.h>

#include "../support/tap.h"

static const struct {
    const char *what;
    const char *names[3];
    int32_t sizes[3];
    size_t naxes;
    int status;
    int32_t size;
    const char *text;
} cases[] = {
    {"no axes", {NULL}, {0}, 0, SHD_OK, 1, ""},
    {"one axis", {"x"}, {5}, 1, SHD_OK, 5, "x=5"},
    {"two axes", {"dp", "tp"}, {2, 4}, 2, SHD_OK, 8, "dp=2, tp=4"},
    {"the most devices", {"a"}, {INT32_MAX}, 1, SHD_OK, INT32_MAX, "a=2147483647"},
    {"duplicate name", {"a", "b", "a"}, {2, 2, 2}, 3, SHD_EDUPAXIS, 0, NULL},
    {"empty name", {"a", ""}, {2, 2}, 2, SHD_EINVAL, 0, NULL},
    {"size 0", {"a", "b"}, {2, 0}, 2, SHD_EINVAL, 0, NULL},
    {"negative size", {"a"}, {-1}, 1, SHD_EINVAL, 0, NULL},
    {"too many devices", {"a", "b"}, {65536, 32768}, 2, SHD_ERANGE, 0, NULL},
};

static void test_create_table(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct shd_mesh *mesh = NULL;
        struct shd_error err = {0};
        char text[32];
        int status = shd_mesh_create(&mesh, cases[i].names, cases[i].sizes, cases[i].naxes, &err);

        ok(status == cases[i].status, "create, %s: status", cases[i].what);
        if (status) {
            ok(!mesh && err.status == status && err.text[0], "create, %s: told", cases[i].what);
            continue;
        }
        ok(shd_mesh_size(mesh) == cases[i].size && shd_mesh_naxes(mesh) == cases[i].naxes,
           "create, %s: size", cases[i].what);
        ok(shd_mesh_print(mesh, text, sizeof(text)) == strlen(cases[i].text) &&
               !strcmp(text, cases[i].text),
           "print, %s", cases[i].what);
        shd_mesh_destroy(mesh);
    }
}

static void test_too_many_axes(void)
{
    const char *names[SHD_MESH_AXES_MAX + 1];
    int32_t sizes[SHD_MESH_AXES_MAX + 1];
    char text[SHD_MESH_AXES_MAX + 1][2];
    struct shd_mesh *mesh = NULL;

    for (int i = 0; i <= SHD_MESH_AXES_MAX; i++) {
        text[i][0] = (char)('a' + i);
        text[i][1] = '\0';
        names[i] = text[i];
        sizes[i] = i < 3 ? 2 : 1;
    }
    ok(shd_mesh_create(&mesh, names, sizes, SHD_MESH_AXES_MAX + 1, NULL) == SHD_ERANGE,
       "create: more axes than possible");
    ok(!shd_mesh_create(&mesh, names, sizes, SHD_MESH_AXES_MAX, NULL) && shd_mesh_size(mesh) == 8,
       "create: the largest number of axes");
    shd_mesh_destroy(mesh);
    shd_mesh_destroy(NULL);
}

static void test_coords(void)
{
    const char *const names[] = {"a", "b", "c"};
    const int32_t sizes[] = {2, 3, 4};
    struct shd_mesh *mesh = NULL;
    int same = 1;

    ok(!shd_mesh_create(&mesh, names, sizes, 3, NULL), "create: three axes");
    for (int32_t p = 0; p < 24; p++) {
        int32_t coords[3];

        shd_mesh_coords(mesh, p, coords);
        same &= coords[0] == p / 12 && coords[1] == p / 4 % 3 && coords[2] == p % 4;
        same &= shd_mesh_position(mesh, coords) == p;
        for (size_t a = 0; a < 3; a++)
            same &= shd_mesh_coord(mesh, p, a) == coords[a];
    }
    ok(same, "coords: row-major, and back");
    ok(shd_mesh_find_axis(mesh, "c") == 2, "find_axis: there");
    ok(shd_mesh_find_axis(mesh, "d") == -1 && shd_mesh_find_axis(mesh, "") == -1,
       "find_axis: not there");
    ok(!strcmp(shd_mesh_axis_name(mesh, 1), "b") && shd_mesh_axis_size(mesh, 1) == 3,
       "axis: name and size");
    ok(shd_mesh_size_along(mesh, 0) == 1 && shd_mesh_size_along(mesh, 5) == 8 &&
           shd_mesh_size_along(mesh, 7) == 24,
       "size along: product of a mask's axes");
    ok(shd_mesh_size_of_axes(mesh, (const uint8_t[]){2, 1}, 2) == 12 &&
           shd_mesh_size_of_axes(mesh, NULL, 0) == 1,
       "size of axes: product of those listed");
    ok(shd_mesh_device_id(mesh, 7) == 7, "device ids: row-major");
    ok(shd_mesh_find_device(mesh, 23) == 23 && shd_mesh_find_device(mesh, 24) == -1 &&
           shd_mesh_find_device(mesh, -2) == -1,
       "find_device: default ids");
    shd_mesh_destroy(mesh);
}

static void test_ids(void)
{
    const char *const names[] = {"a"};
    const int32_t sizes[] = {4};
    const int32_t ids[] = {70, 3, 9, 0};
    const int32_t twice[] = {1, 2, 3, 2};
    const int32_t negative[] = {0, 1, -2, 3};
    const int32_t plain[] = {0, 1, 2, 3};
    struct shd_mesh *mesh = NULL;
    struct shd_mesh *same = NULL;
    struct shd_mesh *other = NULL;

    ok(shd_mesh_create_with_ids(&mesh, names, sizes, 1, twice, NULL) == SHD_EINVAL && !mesh,
       "ids: twice the same");
    ok(shd_mesh_create_with_ids(&mesh, names, sizes, 1, negative, NULL) == SHD_EINVAL && !mesh,
       "ids: negative");
    ok(!shd_mesh_create_with_ids(&mesh, names, sizes, 1, ids, NULL) &&
           !shd_mesh_create_with_ids(&same, names, sizes, 1, ids, NULL) &&
           !shd_mesh_create_with_ids(&other, names, sizes, 1, plain, NULL),
       "ids: create");
    ok(shd_mesh_device_id(mesh, 0) == 70 && shd_mesh_device_id(mesh, 3) == 0, "ids: by position");
    ok(shd_mesh_find_device(mesh, 9) == 2 && shd_mesh_find_device(mesh, 0) == 3 &&
           shd_mesh_find_device(mesh, 1) == -1,
       "ids: found");
    ok(shd_mesh_equal(mesh, same) && !shd_mesh_equal(mesh, other) && !shd_mesh_equal(other, mesh),
       "equal: ids count");
    shd_mesh_destroy(same);
    ok(!shd_mesh_create(&same, names, sizes, 1, NULL) && shd_mesh_equal(same, other),
       "equal: ids that are the positions are no ids");
    shd_mesh_destroy(mesh);
    shd_mesh_destroy(same);
    shd_mesh_destroy(other);
}

static void test_equal(void)
{
    static const struct {
        const char *what;
        const char *names[2];
        int32_t sizes[2];
        size_t naxes;
    } others[] = {
        {"other name", {"a", "c"}, {2, 4}, 2},
        {"other size", {"a", "b"}, {4, 2}, 2},
        {"fewer axes", {"a"}, {8}, 1},
    };
    const char *const names[] = {"a", "b"};
    const int32_t sizes[] = {2, 4};
    struct shd_mesh *mesh = NULL;

    if (!ok(!shd_mesh_create(&mesh, names, sizes, 2, NULL), "equal: create"))
        return;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct shd_mesh *other = NULL;

        if (!shd_mesh_create(&other, others[i].names, others[i].sizes, others[i].naxes, NULL))
            ok(!shd_mesh_equal(mesh, other), "equal: %s", others[i].what);
        shd_mesh_destroy(other);
    }
    shd_mesh_destroy(mesh);
}

int main(void)
{
    plan(0);
    test_create_table();
    test_too_many_axes();
    test_coords();
    test_ids();
    test_equal();
    return done();
}
