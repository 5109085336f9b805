/* One array of an imported tree: the tree that it is added to, and arrays of safetensors files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/safetensors.h"
#include "trees/import.h"

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

struct adding {
    struct shd_tree *tree;
    struct diag *diag;
};

static int add_stored(void *arg, const struct safetensors_array *array)
{
    const struct adding *adding = arg;
    const struct shd_leaf leaf = {
        .name = array->name, .dtype = array->dtype, .shape = array->shape, .rank = array->rank};

    return import_add(adding->tree, &leaf, array->place, adding->diag);
}

int import_safetensors(struct shd_tree *tree, const char *path, const char *bytes, size_t length,
                       struct diag *diag)
{
    struct adding adding = {tree, diag};

    return safetensors_read(path, bytes, length, add_stored, &adding, diag);
}
