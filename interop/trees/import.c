/* Finds the kind of model description at a path, and loads the files that an index names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "trees/import.h"

#include <inttypes.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/safetensors.h"

#define SAFETENSORS ".safetensors"
#define INDEX "model.safetensors.index.json"

/* ---- files ---- */

static struct place whole_file(const char *path)
{
    return (struct place){path, 0, 0};
}

/* Read the header alone: the data may be far larger than memory. */
static int read_header(struct text *out, const char *path, struct diag *diag)
{
    char first[SAFETENSORS_LENGTH_BYTES], chunk[1 << 14];
    FILE *file = fopen(path, "rb");
    uint64_t left;

    if (!file && errno == ENOMEM) {
        diag_no_memory(diag);
        return SHD_ENOMEM;
    }
    if (!file) {
        diag_error(diag, whole_file(path), "cannot be opened");
        return SHD_EINVAL;
    }
    text_add_bytes(out, first, fread(first, 1, sizeof(first), file));
    left = out->length == sizeof(first) ? safetensors_length(first) - sizeof(first) : 0;
    while (left > 0 && left <= YAML_DOC_BYTES_MAX) {
        size_t n = fread(chunk, 1, left < sizeof(chunk) ? (size_t)left : sizeof(chunk), file);

        text_add_bytes(out, chunk, n);
        left -= n;
        if (n == 0)
            break;
    }
    fclose(file);
    return SHD_OK;
}

static int load_safetensors(struct shd_tree *tree, const char *path, struct diag *diag)
{
    struct text header = TEXT_INIT;
    int status = read_header(&header, path, diag);

    if (status == SHD_OK && header.failed) {
        diag_no_memory(diag);
        status = SHD_ENOMEM;
    }
    if (status == SHD_OK)
        status = import_safetensors(tree, path, text_get(&header), header.length, diag);
    text_fini(&header);
    return status;
}

/* The path of `name` in the folder of the file `path`. */
static char *beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    struct text out = TEXT_INIT;

    if (slash)
        text_add_bytes(&out, path, (size_t)(slash - path) + 1);
    text_add(&out, name);
    return text_take(&out);
}

static bool seen_before(const struct yaml_node *map, size_t item)
{
    for (size_t i = 0; i < item; i++)
        if (map->items[i]->kind == YAML_TEXT &&
            !strcmp(map->items[i]->text, map->items[item]->text))
            return true;
    return false;
}

/* Load one file of an index; only names count, because paths could lead elsewhere. */
static int load_part(struct shd_tree *tree, const char *index, const struct yaml_node *node,
                     struct diag *diag)
{
    char *path;
    int status;

    if (node->kind != YAML_TEXT || !text_ends_with(node->text, SAFETENSORS) ||
        strchr(node->text, '/')) {
        diag_error(diag, node->place, "%s in the weight map; expected the name of a %s file",
                   yaml_describe(node).text, SAFETENSORS);
        return SHD_EINVAL;
    }
    path = beside(index, node->text);
    if (!path)
        return SHD_ENOMEM;
    status = load_safetensors(tree, path, diag);
    free(path);
    if (status != SHD_OK)
        diag_error(diag, node->place, "cannot read '%.100s'", node->text);
    return status;
}

static int load_parts(struct shd_tree *tree, const char *index, const struct yaml_node *map,
                      struct diag *diag)
{
    int status = SHD_OK;
    size_t nfiles = 0;

    if (map->kind != YAML_MAP) {
        diag_error(diag, map->place, "the weight map must map array names to files");
        return SHD_EINVAL;
    }
    for (size_t i = 0; status == SHD_OK && i < map->nitems; i++) {
        /* Neighbouring arrays are mostly in one file, so that seen_before() runs rarely. */
        if (map->items[i]->kind == YAML_TEXT &&
            ((i > 0 && map->items[i - 1]->kind == YAML_TEXT &&
              !strcmp(map->items[i - 1]->text, map->items[i]->text)) ||
             seen_before(map, i)))
            continue;
        if (++nfiles > IMPORT_FILES_MAX) {
            diag_error(diag, map->items[i]->place, "over %d files", IMPORT_FILES_MAX);
            return SHD_ERANGE;
        }
        status = load_part(tree, index, map->items[i], diag);
    }
    return status;
}

/* The index and the headers must agree on the arrays. */
static int check_map(const struct shd_tree *tree, const struct yaml_node *map, struct diag *diag)
{
    size_t leaf;
    int status = SHD_OK;

    for (size_t i = 0; i < map->nitems; i++) {
        if (shd_tree_find(&leaf, tree, map->keys[i]->text, NULL) == SHD_OK)
            continue;
        diag_error(diag, map->keys[i]->place, "no file contains '%.100s'", map->keys[i]->text);
        status = SHD_EINVAL;
    }
    return status;
}

static int load_yaml(struct shd_tree *tree, const char *path, struct diag *diag)
{
    struct yaml_doc *doc = NULL;
    const struct yaml_node *root, *map;
    int status = yaml_doc_load(&doc, path, diag);

    if (status != SHD_OK)
        return status;
    root = yaml_doc_root(doc);
    map = root->kind == YAML_MAP ? yaml_find(root, "weight_map") : NULL;
    if (map) {
        status = load_parts(tree, path, map, diag);
        if (status == SHD_OK)
            status = check_map(tree, map, diag);
    } else if (root->kind == YAML_MAP && yaml_find(root, "model_type")) {
        status = import_config(tree, root, diag);
    } else {
        status = import_list(tree, root, diag);
    }
    yaml_doc_destroy(doc);
    return status;
}

static int load_file(struct shd_tree *tree, const char *path, struct diag *diag)
{
    return text_ends_with(path, SAFETENSORS) ? load_safetensors(tree, path, diag)
                                             : load_yaml(tree, path, diag);
}

/* The first known file in a directory; the caller frees the path.  NULL, reported: none. */
static char *find_in_directory(const char *path, struct diag *diag)
{
    static const char *const names[] = {INDEX, "model" SAFETENSORS, "config.json", NULL};
    struct stat info;

    for (size_t i = 0; names[i]; i++) {
        struct text file = TEXT_INIT;

        text_addf(&file, "%s/%s", path, names[i]);
        if (file.failed) {
            diag_no_memory(diag);
            text_fini(&file);
            return NULL;
        }
        if (stat(text_get(&file), &info) == 0)
            return text_take(&file);
        text_fini(&file);
    }
    diag_error(diag, whole_file(path), "this directory has no %s, model%s or config.json", INDEX,
               SAFETENSORS);
    return NULL;
}

int import_model(struct shd_tree **out, const char *path, struct diag *diag)
{
    struct shd_tree *tree = NULL;
    char *found = NULL;
    struct stat info;
    int status;

    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        found = find_in_directory(path, diag);
        if (!found)
            return diag->no_memory ? SHD_ENOMEM : SHD_EINVAL;
    }
    status = shd_tree_create(&tree, NULL);
    if (status == SHD_OK)
        status = load_file(tree, found ? found : path, diag);
    if (status == SHD_OK && shd_tree_count(tree) == 0) {
        diag_error(diag, whole_file(path), "the file contains no arrays");
        status = SHD_EINVAL;
    }
    if (status == SHD_OK)
        *out = tree;
    else
        shd_tree_destroy(tree);
    free(found);
    return status;
}
