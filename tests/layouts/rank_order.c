/* Tests shd/rank_order.h: groups of ranks in the order of an order string.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/rank_order.h>

#include "../support/layout_text.h"
#include "../support/tap.h"

static void test_groups(void)
{
    static const struct {
        const char *order;
        struct shd_rank_sizes sizes;
        const char *axes;
        const char *groups;
    } rows[] = {
        {"tp-cp-ep-dp-pp", {2, 1, 1, 2, 2}, "tp", "0,1;2,3;4,5;6,7"},
        {"tp-cp-ep-dp-pp", {2, 1, 1, 2, 2}, "dp", "0,2;1,3;4,6;5,7"},
        {"tp-cp-ep-dp-pp", {2, 1, 1, 2, 2}, "pp", "0,4;1,5;2,6;3,7"},
        {"tp-cp-ep-dp-pp", {2, 1, 1, 2, 2}, "tp-pp", "0,1,4,5;2,3,6,7"},
        {"tp-cp-ep-dp-pp", {2, 1, 1, 2, 2}, "pp-tp", "0,1,4,5;2,3,6,7"},
        {"tp-cp-ep-dp-pp", {2, 1, 1, 2, 2}, "tp-tp", "0,1;2,3;4,5;6,7"},
        {"tp-pp-dp", {2, 1, 1, 2, 2}, "dp", "0,4;1,5;2,6;3,7"},
        {"TP-PP-DP", {2, 1, 1, 2, 2}, "dp", "0,4;1,5;2,6;3,7"},
        {"pp-dp-tp", {3, 1, 1, 1, 2}, "tp", "0,2,4;1,3,5"},
        {"tp", {2, 1, 1, 1, 1}, "cp", "0;1"},
        {"tp-cp-ep-dp-pp", {1, 1, 2, 2, 1}, "ep", "0,1;2,3"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct shd_mesh *mesh = NULL;
        struct shd_groups groups;
        char text[128] = "";

        ok(shd_rank_order_mesh(&mesh, rows[i].order, &rows[i].sizes, NULL) == SHD_OK &&
               shd_rank_order_groups(&groups, mesh, rows[i].axes, NULL) == SHD_OK &&
               !strcmp(groups_text(text, sizeof text, &groups), rows[i].groups),
           "%s along %s: %s", rows[i].order, rows[i].axes, text);
        shd_mesh_destroy(mesh);
    }
}

static void test_bad(void)
{
    static const struct {
        const char *order;
        struct shd_rank_sizes sizes;
        int status;
    } rows[] = {
        {"tp-pp-dp", {2, 2, 1, 2, 2}, SHD_EINVAL}, /* cp is missing */
        {"tp-xp", {2, 1, 1, 1, 1}, SHD_EINVAL},
        {"", {1, 1, 1, 1, 1}, SHD_EINVAL},
        {"tp-", {1, 1, 1, 1, 1}, SHD_EINVAL},
        {"tpp", {1, 1, 1, 1, 1}, SHD_EINVAL},
        {"tp-dp-tp", {2, 1, 1, 2, 1}, SHD_EDUPAXIS},
        {"tp-cp-ep-dp-pp", {1, 2, 2, 1, 1}, SHD_EINVAL},
        {"tp-dp", {0, 1, 1, 1, 1}, SHD_EINVAL},
        {"tp-dp", {-1, 1, 1, 1, 1}, SHD_EINVAL},
        {"tp-dp", {65536, 1, 1, 65536, 1}, SHD_ERANGE},
        {"tp-dp", {INT64_MAX, 1, 1, 1, 1}, SHD_ERANGE},
    };
    const struct shd_rank_sizes ones = {1, 1, 1, 1, 1};
    static const char *const bad[] = {"", "xp", "tp-", "t", "tp-xp"};
    struct shd_mesh *mesh = NULL;
    struct shd_groups groups;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ok(shd_rank_order_mesh(&mesh, rows[i].order, &rows[i].sizes, NULL) == rows[i].status &&
               !mesh,
           "refused: '%s'", rows[i].order);
    ok(shd_rank_order_mesh(&mesh, "tp", &ones, NULL) == SHD_OK && shd_mesh_size(mesh) == 1,
       "a world of one");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ok(shd_rank_order_groups(&groups, mesh, bad[i], NULL) == SHD_EINVAL, "no groups along '%s'",
           bad[i]);
    shd_mesh_destroy(mesh);
}

int main(void)
{
    plan(0);
    test_groups();
    test_bad();
    return done();
}
