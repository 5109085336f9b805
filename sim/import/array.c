/* One array of an imported tree: its shape, and the tree that it is added to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "import/import.h"

bool import_shape(int64_t *shape, size_t *rank, const struct yaml_node *node, const char *name,
                  struct diag *diag)
{
    if (node->kind != YAML_LIST || node->nitems > SHD_RANK_MAX) {
        diag_error(diag, node->place,
                   "the shape of '%.100s' is %s; expected a list of at most %d "
                   "extents",
                   name, yaml_describe(node).text, SHD_RANK_MAX);
        return false;
    }
    for (size_t d = 0; d < node->nitems; d++) {
        if (!yaml_read_int(node->items[d], &shape[d]) || shape[d] < 0) {
            diag_error(diag, node->items[d]->place,
                       "an extent of '%.100s' is %s; expected a whole number of at least 0", name,
                       yaml_describe(node->items[d]).text);
            return false;
        }
    }
    *rank = node->nitems;
    return true;
}

int import_add(struct shd_tree *tree, const struct shd_leaf *leaf, struct place place,
               struct diag *diag)
{
    struct shd_error err;
    int status = SHD_OK;

    if (shd_tree_count(tree) >= IMPORT_ARRAYS_MAX)
        status = shd_error_set(&err, SHD_ERANGE, "over %d arrays", IMPORT_ARRAYS_MAX);
    if (status == SHD_OK)
        status = shd_tree_add(tree, leaf, &err);
    if (status != SHD_OK)
        diag_failure(diag, place, err.status, "%s", err.text);
    return status;
}
