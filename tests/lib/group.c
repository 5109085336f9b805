/* Tests shd/group.h: groups of devices along axes, their members and positions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include <shd/group.h>

#include "../support/tap.h"

static struct shd_mesh *mesh; /* a=2, b=3, c=4 */

static const struct {
    const char *what;
    uint8_t axes[3];
    size_t naxes;
    int32_t ngroups;
    int32_t nmembers;
    int32_t group; /* a group and the positions of its first members */
    int32_t positions[4];
} cases[] = {
    {"no axes", {0}, 0, 24, 1, 5, {5}},
    {"the last axis", {2}, 1, 6, 4, 1, {4, 5, 6, 7}},
    {"the first axis", {0}, 1, 12, 2, 3, {3, 15}},
    {"outer axes", {0, 2}, 2, 3, 8, 1, {4, 5, 6, 7}},
    {"outer axes, swapped", {2, 0}, 2, 3, 8, 1, {4, 16, 5, 17}},
    {"all axes, reversed", {2, 1, 0}, 3, 1, 24, 0, {0, 12, 4, 16}},
};

static void test_table(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct shd_groups groups;
        int same = 1;

        if (!ok(!shd_groups_init(&groups, mesh, cases[i].axes, cases[i].naxes, NULL), "init, %s",
                cases[i].what))
            continue;
        ok(groups.ngroups == cases[i].ngroups && groups.nmembers == cases[i].nmembers, "counts, %s",
           cases[i].what);
        for (int32_t m = 0; m < 4 && m < groups.nmembers; m++)
            same &= shd_groups_position(&groups, cases[i].group, m) == cases[i].positions[m];
        ok(same, "positions, %s", cases[i].what);
    }
}

/* Groups and members follow from their definition. */
static void test_all(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct shd_groups groups;
        int back = 1;
        int lowest = 1;

        if (shd_groups_init(&groups, mesh, cases[i].axes, cases[i].naxes, NULL))
            continue;
        for (int32_t p = 0; p < shd_mesh_size(mesh); p++) {
            int32_t g = shd_groups_find(&groups, p);
            int32_t m = shd_groups_member(&groups, p);

            back &= shd_groups_position(&groups, g, m) == p;
            lowest &= shd_groups_position(&groups, g, 0) <= p;
        }
        for (int32_t g = 1; g < groups.ngroups; g++)
            lowest &= shd_groups_position(&groups, g - 1, 0) < shd_groups_position(&groups, g, 0);
        ok(back, "there and back, %s", cases[i].what);
        ok(lowest, "numbered by the lowest position, %s", cases[i].what);
    }
}

static void test_errors(void)
{
    const uint8_t twice[] = {1, 1};
    const uint8_t none[] = {0, 3};
    struct shd_groups groups = {.ngroups = 7};

    ok(shd_groups_init(&groups, mesh, twice, 2, NULL) == SHD_EDUPAXIS, "an axis twice");
    ok(shd_groups_init(&groups, mesh, none, 2, NULL) == SHD_ENOAXIS, "no such axis");
    ok(groups.ngroups == 7, "output untouched");
    if (shd_groups_init(&groups, mesh, twice, 1, NULL))
        return;
    ok(shd_groups_position(&groups, 8, 0) == -1 && shd_groups_position(&groups, -1, 0) == -1 &&
           shd_groups_position(&groups, 0, 3) == -1 && shd_groups_position(&groups, 7, 2) >= 0,
       "a missing group or member");
    ok(shd_groups_find(&groups, 24) == -1 && shd_groups_find(&groups, -1) == -1 &&
           shd_groups_member(&groups, 24) == -1 && shd_groups_member(&groups, 23) >= 0,
       "a missing position");
}

int main(void)
{
    const char *const names[] = {"a", "b", "c"};
    const int32_t sizes[] = {2, 3, 4};

    plan(0);
    if (!ok(!shd_mesh_create(&mesh, names, sizes, 3, NULL), "mesh"))
        return done();
    test_table();
    test_all();
    test_errors();
    shd_mesh_destroy(mesh);
    return done();
}
