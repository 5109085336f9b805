/* Leaves of trees in questions (leaves.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "layouts/query/leaves.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

static int out_of_memory(struct shd_error *err)
{
    return shd_error_set(err, SHD_ENOMEM, "no memory for a tree");
}

static int add_leaf(struct layout_leaves *leaves, const char *path, const json_t *node,
                    const json_t *beside, struct shd_error *err)
{
    if (!array_make_room(&leaves->leaves, leaves->n, sizeof *leaves->leaves))
        return out_of_memory(err);

    struct layout_leaf leaf = {strdup(path), node, beside};

    if (!leaf.path)
        return out_of_memory(err);
    leaves->leaves[leaves->n++] = leaf;
    return SHD_OK;
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sort the keys of an object; free *out. */
static int sort_keys(const char ***out, const json_t *object, struct shd_error *err)
{
    const char **keys = calloc(json_object_size(object) + 1, sizeof *keys);
    size_t n = 0;

    if (!keys)
        return out_of_memory(err);
    for (void *i = json_object_iter((json_t *)object); i;
         i = json_object_iter_next((json_t *)object, i))
        keys[n++] = json_object_iter_key(i);
    qsort(keys, n, sizeof *keys, compare_keys);
    *out = keys;
    return SHD_OK;
}

/* State of a walk through a tree. */
struct walk {
    struct layout_leaves *leaves;
    layout_is_leaf *is_leaf;
    struct text path;
    bool has_beside;
};

static const json_t *list_of(const json_t *node)
{
    const json_t *list = json_object_get(node, "$list");

    if (json_is_array(node))
        return node;
    return json_object_size(node) == 1 && json_is_array(list) ? list : NULL;
}

/* Append a key to the path; returns the path's former length. */
static size_t push(struct walk *walk, const char *key)
{
    size_t mark = walk->path.length;

    if (mark > 0)
        text_add_char(&walk->path, '/');
    text_add(&walk->path, key);
    return mark;
}

static int differ(const struct walk *walk, struct shd_error *err)
{
    return shd_error_set(err, SHD_EINVAL, "the two trees differ in what is in '%.150s'",
                         text_get(&walk->path));
}

static int walk_node(struct walk *walk, const json_t *node, const json_t *beside,
                     struct shd_error *err);

static int walk_list(struct walk *walk, const json_t *list, const json_t *beside,
                     struct shd_error *err)
{
    const json_t *others = beside ? list_of(beside) : NULL;
    int status = SHD_OK;

    if (walk->has_beside && json_array_size(others) != json_array_size(list))
        return differ(walk, err);
    for (size_t i = 0; status == SHD_OK && i < json_array_size(list); i++) {
        char key[24];
        size_t mark;

        snprintf(key, sizeof key, "%zu", i);
        mark = push(walk, key);
        status = walk_node(walk, json_array_get(list, i), json_array_get(others, i), err);
        text_cut(&walk->path, mark);
    }
    return status;
}

static int walk_object(struct walk *walk, const json_t *object, const json_t *beside,
                       struct shd_error *err)
{
    const char **keys = NULL;
    int status;

    if (walk->has_beside &&
        (!json_is_object(beside) || json_object_size(beside) != json_object_size(object)))
        return differ(walk, err);
    status = sort_keys(&keys, object, err);
    if (status != SHD_OK)
        return status;
    for (size_t i = 0; status == SHD_OK && i < json_object_size(object); i++) {
        const json_t *other = json_object_get(beside, keys[i]);
        size_t mark;

        if (walk->has_beside && !other) {
            status = differ(walk, err);
            break;
        }
        mark = push(walk, keys[i]);
        status = walk_node(walk, json_object_get(object, keys[i]), other, err);
        text_cut(&walk->path, mark);
    }
    free(keys);
    return status;
}

static int walk_node(struct walk *walk, const json_t *node, const json_t *beside,
                     struct shd_error *err)
{
    if (walk->path.failed)
        return out_of_memory(err);
    if (json_is_null(node) || walk->is_leaf(node))
        return add_leaf(walk->leaves, text_get(&walk->path), node, beside, err);
    if (list_of(node))
        return walk_list(walk, list_of(node), beside, err);
    if (json_is_object(node))
        return walk_object(walk, node, beside, err);
    return add_leaf(walk->leaves, text_get(&walk->path), node, beside, err);
}

int layout_collect(struct layout_leaves *out, const json_t *tree, const json_t *beside,
                   layout_is_leaf *is_leaf, struct shd_error *err)
{
    struct walk walk = {out, is_leaf, TEXT_INIT, beside != NULL};
    int status;

    *out = (struct layout_leaves){0, NULL};
    if (!tree)
        return shd_error_set(err, SHD_ETYPE, "there is no tree");
    status = walk_node(&walk, tree, beside, err);
    text_fini(&walk.path);
    return status;
}

void layout_leaves_fini(struct layout_leaves *leaves)
{
    for (size_t i = 0; i < leaves->n; i++)
        free(leaves->leaves[i].path);
    free(leaves->leaves);
}
