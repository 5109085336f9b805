/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/prefix.h>

#include <stdbool.h>
#include <string.h>

static bool covers(const char *path, const char *name)
{
    size_t length = strlen(path);

    return length == 0 ||
           (!strncmp(path, name, length) && (name[length] == '\0' || name[length] == '/'));
}

static int find_entry(const struct shd_spec **spec, const char *name,
                      const struct shd_prefix *entries, size_t nentries, struct shd_error *err)
{
    const struct shd_prefix *found = NULL;

    for (size_t e = 0; e < nentries; e++) {
        if (!covers(entries[e].path, name))
            continue;
        if (found)
            return shd_error_set(err, SHD_EDUPAXIS, "'%.80s' has two specs, of '%.60s' and '%.60s'",
                                 name, found->path, entries[e].path);
        found = &entries[e];
    }
    if (!found && nentries > 0)
        return shd_error_set(err, SHD_ENOTFOUND, "no spec covers '%.200s'", name);
    *spec = found ? found->spec : NULL;
    return SHD_OK;
}

static int check_used(const struct shd_tree *tree, const struct shd_prefix *entry,
                      struct shd_error *err)
{
    for (size_t i = 0; i < shd_tree_count(tree); i++)
        if (covers(entry->path, shd_tree_leaf(tree, i)->name))
            return SHD_OK;
    if (entry->path[0] == '\0')
        return SHD_OK; /* the whole tree, which has no leaves */
    return shd_error_set(err, SHD_ENOTFOUND, "the spec of '%.200s' covers no array", entry->path);
}

int shd_prefix_specs(const struct shd_spec **specs, const struct shd_tree *tree,
                     const struct shd_prefix *entries, size_t nentries, struct shd_error *err)
{
    if (!SHD_GIVEN(err, tree) || !SHD_GIVEN_ARRAY(err, specs, shd_tree_count(tree)) ||
        !SHD_GIVEN_ARRAY(err, entries, nentries))
        return SHD_EINVAL;

    int status = SHD_OK;

    for (size_t e = 0; e < nentries; e++)
        if (!SHD_GIVEN(err, entries[e].path))
            return SHD_EINVAL;
    for (size_t i = 0; !status && i < shd_tree_count(tree); i++)
        status = find_entry(&specs[i], shd_tree_leaf(tree, i)->name, entries, nentries, err);
    for (size_t e = 0; !status && e < nentries; e++)
        status = check_used(tree, &entries[e], err);
    return status;
}
