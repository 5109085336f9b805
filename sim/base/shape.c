/* Reading a shape (base/shape.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/shape.h"

bool shape_read(int64_t *shape, size_t *rank, const struct yaml_node *node, const char *name,
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
