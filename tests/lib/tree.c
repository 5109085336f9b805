/* Tests shd/tree.h: leaves and their names, totals, and copies.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include <shd/tree.h>

#include "../support/tap.h"

static int add(struct shd_tree *tree, const char *name, int64_t extent)
{
    const struct shd_leaf leaf = {name, SHD_F32, 1, &extent, NULL};

    return shd_tree_add(tree, &leaf, NULL);
}

/* Add the leaves to one tree, row by row. */
static void test_add_table(void)
{
    static const struct {
        const char *name;
        int64_t extent;
        int status;
    } cases[] = {
        {"a/b/kernel", 2, SHD_OK},
        {"a/b/bias", 3, SHD_OK},
        {"c", 4, SHD_OK},
        {"a/bb", 0, SHD_OK},
        {"a/b/kernel", 2, SHD_EDUPAXIS},
        {"c", 4, SHD_EDUPAXIS},
        {"a", 1, SHD_EINVAL},
        {"a/b", 1, SHD_EINVAL},
        {"c/d", 1, SHD_EINVAL},
        {"a/b/bias/d/e", 1, SHD_EINVAL},
        {"", 1, SHD_EINVAL},
        {"/a", 1, SHD_EINVAL},
        {"x/", 1, SHD_EINVAL},
        {"x//y", 1, SHD_EINVAL},
        {"x", -1, SHD_EINVAL},
        {"x", INT64_MAX, SHD_ERANGE},
        {"x", INT64_MAX / 4, SHD_OK},
        {"a/b/b", 1, SHD_OK},
    };
    struct shd_tree *tree = NULL;
    size_t i;

    if (!ok(!shd_tree_create(&tree, NULL), "create"))
        return;
    ok(shd_tree_count(tree) == 0 && shd_tree_nelements(tree) == 0 && shd_tree_bytes(tree) == 0,
       "create: empty");
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ok(add(tree, cases[i].name, cases[i].extent) == cases[i].status, "add '%s' of %lld",
           cases[i].name, (long long)cases[i].extent);
    }
    shd_tree_destroy(tree);
    shd_tree_destroy(NULL);
}

static void test_totals(void)
{
    struct shd_tree *tree = NULL;
    const int64_t extent = INT64_MAX - 6;
    const struct shd_leaf large = {"c", SHD_I8, 1, &extent, NULL};
    size_t i = 99;

    if (!ok(!shd_tree_create(&tree, NULL), "totals: create"))
        return;
    ok(!add(tree, "a/x", 2) && !add(tree, "b", 5), "totals: add");
    ok(shd_tree_add(tree, &large, NULL) == SHD_ERANGE, "totals: more elements than fit");
    ok(shd_tree_count(tree) == 2 && shd_tree_nelements(tree) == 7 && shd_tree_bytes(tree) == 28,
       "totals: as before after a failure");
    ok(shd_tree_find(&i, tree, "c", NULL) == SHD_ENOTFOUND,
       "find: a leaf whose add() failed does not exist");
    ok(shd_tree_find(&i, tree, "a", NULL) == SHD_ENOTFOUND && i == 99, "find: an inner node");
    ok(!shd_tree_find(&i, tree, "b", NULL) && i == 1, "find: a leaf");
    ok(!add(tree, "c/d", 1), "add: under a name that failed");
    shd_tree_destroy(tree);
}

static void test_copied(void)
{
    struct shd_tree *tree = NULL;
    char name[] = "block/kernel";
    char axis[] = "embed";
    int64_t shape[] = {8, 4};
    const char *axes[] = {axis, NULL};
    const struct shd_leaf leaf = {name, SHD_BF16, 2, shape, axes};
    const struct shd_leaf scalar = {"scale", SHD_F32, 0, NULL, NULL};
    const struct shd_leaf wide = {"wide", SHD_F32, SHD_RANK_MAX + 1, shape, NULL};

    if (!ok(!shd_tree_create(&tree, NULL) && !shd_tree_add(tree, &leaf, NULL) &&
                !shd_tree_add(tree, &scalar, NULL),
            "copied: add"))
        return;
    ok(shd_tree_add(tree, &wide, NULL) == SHD_ERANGE, "add: too many dimensions");
    name[0] = axis[0] = 'X';
    shape[0] = 0;

    const struct shd_leaf *got = shd_tree_leaf(tree, 0);

    ok(!strcmp(got->name, "block/kernel") && got->dtype == SHD_BF16 && got->rank == 2,
       "copied: name");
    ok(got->shape[0] == 8 && got->shape[1] == 4, "copied: shape");
    ok(!strcmp(got->logical_axes[0], "embed") && !got->logical_axes[1], "copied: logical axes");
    ok(!shd_tree_leaf(tree, 1)->logical_axes, "copied: no logical axes");
    ok(shd_tree_bytes(tree) == 68, "bytes: of several types");
    shd_tree_destroy(tree);
}

static void test_many(void)
{
    struct shd_tree *tree = NULL;
    char name[64];
    int all = 1;

    if (!ok(!shd_tree_create(&tree, NULL), "many: create"))
        return;
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "layers/%d/%s/kernel", i / 5, i % 5 > 2 ? "mlp" : "attn");
        if (i % 5 != 0 && i % 5 != 3)
            snprintf(name, sizeof(name), "layers/%d/norm_%d", i / 5, i % 5);
        all &= !add(tree, name, i);
    }
    ok(all && shd_tree_count(tree) == 5000, "many: added");
    for (size_t i = 0; i < shd_tree_count(tree); i++) {
        size_t found = 0;

        all &= !shd_tree_find(&found, tree, shd_tree_leaf(tree, i)->name, NULL) && found == i;
        all &= shd_tree_leaf(tree, i)->shape[0] == (int64_t)i;
    }
    ok(all, "many: found, in order");
    shd_tree_destroy(tree);
}

int main(void)
{
    plan(0);
    test_add_table();
    test_totals();
    test_copied();
    test_many();
    return done();
}
