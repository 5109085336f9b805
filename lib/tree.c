/* Trees of named arrays (shd/tree.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/tree.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A node of the tree, found by its full path in a hash table; leaves are numbered. */
struct node {
    const char *path; /* part of the name of a leaf below the node; NULL: free slot */
    uint32_t length;
    uint32_t leaf; /* number of the leaf; INNER for an inner node */
};

#define INNER UINT32_MAX /* no leaf has that number */

struct shd_tree {
    struct shd_leaf *leaves;
    size_t nleaves;
    size_t size;        /* capacity of leaves[] */
    struct node *nodes; /* open addressing; a power of two, at most half full */
    size_t nslots;
    size_t nnodes;
    int64_t nelements;
    uint64_t bytes;
};

int shd_tree_create(struct shd_tree **out, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out))
        return SHD_EINVAL;

    struct shd_tree *tree = calloc(1, sizeof(*tree));

    if (!tree)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a parameter tree");
    *out = tree;
    return SHD_OK;
}

void shd_tree_destroy(struct shd_tree *tree)
{
    if (!tree)
        return;
    for (size_t i = 0; i < tree->nleaves; i++)
        free((void *)tree->leaves[i].shape); /* start of the leaf's single block */
    free(tree->leaves);
    free(tree->nodes);
    free(tree);
}

/* The slot of a path, or the free slot where it belongs. */
static struct node *find_slot(struct node *nodes, size_t nslots, const char *path, size_t length)
{
    /* 64-bit FNV-1a: its offset basis and its prime. */
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)path[i]) * UINT64_C(1099511628211);

    size_t slot = (size_t)(hash ^ hash >> 32) & (nslots - 1);

    while (nodes[slot].path &&
           (nodes[slot].length != length || memcmp(nodes[slot].path, path, length) != 0))
        slot = (slot + 1) & (nslots - 1);
    return &nodes[slot];
}

static const struct node *find_node(const struct shd_tree *tree, const char *path, size_t length)
{
    if (tree->nslots == 0)
        return NULL;

    const struct node *node = find_slot(tree->nodes, tree->nslots, path, length);

    return node->path ? node : NULL;
}

/* Add a node, unless the path already has one. */
static void add_node(struct shd_tree *tree, const char *path, size_t length, uint32_t leaf)
{
    struct node *node = find_slot(tree->nodes, tree->nslots, path, length);

    if (node->path)
        return;
    *node = (struct node){path, (uint32_t)length, leaf};
    tree->nnodes++;
}

/* Make room for `n` more nodes. */
static int grow_nodes(struct shd_tree *tree, size_t n, struct shd_error *err)
{
    size_t nslots = tree->nslots > 0 ? tree->nslots : 64;

    while (2 * (tree->nnodes + n) > nslots)
        nslots *= 2;
    if (nslots == tree->nslots)
        return SHD_OK;

    struct node *nodes = calloc(nslots, sizeof(*nodes));

    if (!nodes)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a parameter tree");
    for (size_t i = 0; i < tree->nslots; i++) {
        const struct node *node = &tree->nodes[i];

        if (node->path)
            *find_slot(nodes, nslots, node->path, node->length) = *node;
    }
    free(tree->nodes);
    tree->nodes = nodes;
    tree->nslots = nslots;
    return SHD_OK;
}

static int grow_leaves(struct shd_tree *tree, struct shd_error *err)
{
    if (tree->nleaves < tree->size)
        return SHD_OK;

    size_t size = tree->size > 0 ? 2 * tree->size : 32;
    struct shd_leaf *leaves = realloc(tree->leaves, size * sizeof(*leaves));

    if (!leaves)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a parameter tree");
    tree->leaves = leaves;
    tree->size = size;
    return SHD_OK;
}

/* Check that a name can be added: it has no empty component, no leaf is above it, and the path is
 * free. */
static int check_name(const struct shd_tree *tree, const char *name, struct shd_error *err)
{
    size_t length = strlen(name);

    if (length == 0 || name[0] == '/' || name[length - 1] == '/' || strstr(name, "//"))
        return shd_error_set(err, SHD_EINVAL, "the name '%.200s' has an empty part", name);
    for (const char *p = strchr(name, '/'); p; p = strchr(p + 1, '/')) {
        const struct node *node = find_node(tree, name, (size_t)(p - name));

        if (node && node->leaf != INNER)
            return shd_error_set(err, SHD_EINVAL, "'%.200s' is below another leaf", name);
    }

    const struct node *node = find_node(tree, name, length);

    if (!node)
        return SHD_OK;
    if (node->leaf == INNER)
        return shd_error_set(err, SHD_EINVAL, "'%.200s' is a leaf and an inner node", name);
    return shd_error_set(err, SHD_EDUPAXIS, "the name '%.200s' is in the tree twice", name);
}

/* Copy a leaf into one block: extents, pointers to axis names, then all text. */
static int copy_leaf(struct shd_leaf *out, const struct shd_leaf *leaf, struct shd_error *err)
{
    size_t naxes = leaf->logical_axes ? leaf->rank : 0;
    size_t text_size = strlen(leaf->name) + 1;

    for (size_t d = 0; d < naxes; d++)
        text_size += leaf->logical_axes[d] ? strlen(leaf->logical_axes[d]) + 1 : 0;

    int64_t *shape = malloc(leaf->rank * sizeof(*shape) + naxes * sizeof(char *) + text_size);

    if (!shape)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a parameter tree");

    const char **axes = (const char **)(shape + leaf->rank);
    char *text = (char *)(axes + naxes);

    if (leaf->rank > 0)
        memcpy(shape, leaf->shape, leaf->rank * sizeof(*shape));
    *out = *leaf;
    out->shape = shape;
    out->logical_axes = leaf->logical_axes ? axes : NULL;
    out->name = memcpy(text, leaf->name, strlen(leaf->name) + 1);
    text += strlen(text) + 1;
    for (size_t d = 0; d < naxes; d++) {
        axes[d] = NULL;
        if (leaf->logical_axes[d]) {
            axes[d] = memcpy(text, leaf->logical_axes[d], strlen(leaf->logical_axes[d]) + 1);
            text += strlen(text) + 1;
        }
    }
    return SHD_OK;
}

static int count_leaf(const struct shd_tree *tree, const struct shd_leaf *leaf, int64_t *nelements,
                      uint64_t *bytes, struct shd_error *err)
{
    if (leaf->rank > SHD_RANK_MAX)
        return shd_error_set(err, SHD_ERANGE, "'%.100s' has %zu dimensions: at most %d", leaf->name,
                             leaf->rank, SHD_RANK_MAX);

    int status = shd_shape_bytes(bytes, leaf->shape, leaf->rank, leaf->dtype, err);

    if (!status)
        status = shd_shape_count(nelements, leaf->shape, leaf->rank, err);
    if (status)
        return status;
    if (__builtin_add_overflow(*nelements, tree->nelements, nelements) ||
        __builtin_add_overflow(*bytes, tree->bytes, bytes) || tree->nleaves >= INNER ||
        strlen(leaf->name) > UINT32_MAX)
        return shd_error_set(err, SHD_ERANGE, "the tree is too large with '%.100s'", leaf->name);
    return SHD_OK;
}

static size_t nparts(const char *name)
{
    size_t n = 1;

    for (; *name; name++)
        n += *name == '/';
    return n;
}

int shd_tree_add(struct shd_tree *tree, const struct shd_leaf *leaf, struct shd_error *err)
{
    if (!SHD_GIVEN(err, tree, leaf))
        return SHD_EINVAL;

    struct shd_leaf copy;
    int64_t nelements;
    uint64_t bytes;
    int status;

    if (!SHD_GIVEN(err, leaf->name) || !SHD_GIVEN_ARRAY(err, leaf->shape, leaf->rank))
        return SHD_EINVAL;
    status = check_name(tree, leaf->name, err);

    if (!status)
        status = count_leaf(tree, leaf, &nelements, &bytes, err);
    if (!status)
        status = grow_leaves(tree, err);
    if (!status)
        status = grow_nodes(tree, nparts(leaf->name), err);
    if (!status)
        status = copy_leaf(&copy, leaf, err);
    if (status)
        return status;

    for (const char *p = strchr(copy.name, '/'); p; p = strchr(p + 1, '/'))
        add_node(tree, copy.name, (size_t)(p - copy.name), INNER);
    add_node(tree, copy.name, strlen(copy.name), (uint32_t)tree->nleaves);
    tree->leaves[tree->nleaves++] = copy;
    tree->nelements = nelements;
    tree->bytes = bytes;
    return SHD_OK;
}

size_t shd_tree_count(const struct shd_tree *tree)
{
    if (!tree)
        return 0;
    return tree->nleaves;
}

const struct shd_leaf *shd_tree_leaf(const struct shd_tree *tree, size_t i)
{
    if (!tree || i >= tree->nleaves)
        return NULL;
    return &tree->leaves[i];
}

int shd_tree_find(size_t *out, const struct shd_tree *tree, const char *name, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, tree, name))
        return SHD_EINVAL;

    const struct node *node = find_node(tree, name, strlen(name));

    if (!node || node->leaf == INNER)
        return shd_error_set(err, SHD_ENOTFOUND, "the tree has no leaf '%.200s'", name);
    *out = node->leaf;
    return SHD_OK;
}

int64_t shd_tree_nelements(const struct shd_tree *tree)
{
    if (!tree)
        return 0;
    return tree->nelements;
}

uint64_t shd_tree_bytes(const struct shd_tree *tree)
{
    if (!tree)
        return 0;
    return tree->bytes;
}
