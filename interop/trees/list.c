/* Reads a plain list of arrays: names with shapes, and types if wanted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/shape.h"
#include "trees/import.h"

static bool read_type(enum shd_dtype *out, const struct yaml_node *node, struct diag *diag)
{
    *out = SHD_F32;
    if (!node || (node->kind == YAML_TEXT && shd_dtype_parse(out, node->text, NULL) == SHD_OK))
        return true;
    diag_error(diag, node->place, "%s is not a type; expected a type, for example float32 or bf16",
               yaml_describe(node).text);
    return false;
}

static int add(struct shd_tree *tree, const struct yaml_node *name, const struct yaml_node *shape,
               const struct yaml_node *type, struct place place, struct diag *diag)
{
    int64_t extents[SHD_RANK_MAX];
    struct shd_leaf leaf = {.shape = extents};

    if (!name || name->kind != YAML_TEXT || !shape) {
        diag_error(diag, place, "an array has no %s", shape ? "name" : "shape");
        return SHD_EINVAL;
    }
    leaf.name = name->text;
    if (!shape_read(extents, &leaf.rank, shape, name->text, diag) ||
        !read_type(&leaf.dtype, type, diag))
        return SHD_EINVAL;
    return import_add(tree, &leaf, name->place, diag);
}

/* [name, shape, type] or {name, shape, type}. */
static int read_item(struct shd_tree *tree, const struct yaml_node *node, struct diag *diag)
{
    if (node->kind == YAML_MAP)
        return add(tree, yaml_find(node, "name"), yaml_find(node, "shape"),
                   yaml_find(node, "dtype"), node->place, diag);
    if (node->kind == YAML_LIST && (node->nitems == 2 || node->nitems == 3))
        return add(tree, node->items[0], node->items[1], node->nitems == 3 ? node->items[2] : NULL,
                   node->place, diag);
    diag_error(diag, node->place, "an array is %s; expected [name, shape] or {name, shape, dtype}",
               yaml_describe(node).text);
    return SHD_EINVAL;
}

/* name: shape or name: {shape, type} */
static int read_pair(struct shd_tree *tree, const struct yaml_node *name,
                     const struct yaml_node *node, struct diag *diag)
{
    if (node->kind == YAML_MAP)
        return add(tree, name, yaml_find(node, "shape"), yaml_find(node, "dtype"), node->place,
                   diag);
    return add(tree, name, node, NULL, node->place, diag);
}

int import_list(struct shd_tree *tree, const struct yaml_node *root, struct diag *diag)
{
    int status = SHD_OK;

    if (root->kind == YAML_TEXT) {
        diag_error(diag, root->place, "expected a map of names to shapes, or a list of arrays");
        return SHD_EINVAL;
    }
    for (size_t i = 0; i < root->nitems && !diag_is_full(diag); i++) {
        int one = root->kind == YAML_MAP ? read_pair(tree, root->keys[i], root->items[i], diag)
                                         : read_item(tree, root->items[i], diag);

        if (one != SHD_OK)
            status = one;
    }
    return status;
}
