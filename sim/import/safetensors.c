/* Reads the header of a safetensors file: {"name": {"dtype", "shape", "data_offsets": [begin,
 * end]}, ...} and maybe "__metadata__".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "import/import.h"

/* Wider unsigned types are read as signed types, because only their size matters. */
static const struct {
    const char *name;
    enum shd_dtype dtype;
} types[] = {
    {"F32", SHD_F32},   {"F64", SHD_F64},        {"BF16", SHD_BF16},      {"F16", SHD_F16},
    {"I32", SHD_I32},   {"U32", SHD_I32},        {"I8", SHD_I8},          {"U8", SHD_U8},
    {"I16", SHD_I16},   {"U16", SHD_I16},        {"I64", SHD_I64},        {"U64", SHD_I64},
    {"BOOL", SHD_BOOL}, {"F8_E4M3", SHD_F8E4M3}, {"F8_E5M2", SHD_F8E5M2},
};

static bool read_type(enum shd_dtype *out, const struct yaml_node *node, const char *name,
                      struct diag *diag)
{
    for (size_t t = 0; node->kind == YAML_TEXT && t < sizeof(types) / sizeof(types[0]); t++) {
        if (!strcmp(types[t].name, node->text)) {
            *out = types[t].dtype;
            return true;
        }
    }
    diag_error(diag, node->place, "the type of '%.100s' is %s; expected one such as F32 or BF16",
               name, yaml_describe(node).text);
    return false;
}

/* Check that the array fits the bytes between its offsets.  The size of the file is not checked: a
 * header is enough to work with. */
static bool check_offsets(const struct yaml_node *node, const struct shd_leaf *leaf,
                          struct diag *diag)
{
    int64_t begin, end;
    uint64_t bytes;
    struct shd_error err;

    if (node->kind != YAML_LIST || node->nitems != 2 || !yaml_read_int(node->items[0], &begin) ||
        !yaml_read_int(node->items[1], &end) || begin < 0 || end < begin) {
        diag_error(diag, node->place, "the offsets of '%.100s' are not [begin, end]", leaf->name);
        return false;
    }
    if (shd_shape_bytes(&bytes, leaf->shape, leaf->rank, leaf->dtype, &err) != SHD_OK) {
        diag_failure(diag, node->place, err.status, "'%.100s': %s", leaf->name, err.text);
        return false;
    }
    if (bytes == (uint64_t)(end - begin))
        return true;
    diag_error(diag, node->place,
               "'%.100s' lies in %" PRId64 " bytes, but type and shape take %" PRIu64, leaf->name,
               end - begin, bytes);
    return false;
}

static int read_array(struct shd_tree *tree, const struct yaml_node *key,
                      const struct yaml_node *node, struct diag *diag)
{
    int64_t shape[SHD_RANK_MAX];
    struct shd_leaf leaf = {.name = key->text, .shape = shape};
    const struct yaml_node *type, *extents, *offsets;

    if (node->kind != YAML_MAP) {
        diag_error(diag, node->place, "'%.100s' is not a map of dtype, shape and data_offsets",
                   key->text);
        return SHD_EINVAL;
    }
    type = yaml_find(node, "dtype");
    extents = yaml_find(node, "shape");
    offsets = yaml_find(node, "data_offsets");
    if (!type || !extents || !offsets) {
        diag_error(diag, node->place, "'%.100s' has no %s", key->text,
                   !type      ? "dtype"
                   : !extents ? "shape"
                              : "data_offsets");
        return SHD_EINVAL;
    }
    if (!read_type(&leaf.dtype, type, key->text, diag) ||
        !import_shape(shape, &leaf.rank, extents, key->text, diag) ||
        !check_offsets(offsets, &leaf, diag))
        return SHD_EINVAL;
    return import_add(tree, &leaf, key->place, diag);
}

static int read_arrays(struct shd_tree *tree, const struct yaml_node *root, struct diag *diag)
{
    int status = SHD_OK;

    for (size_t i = 0; i < root->nitems; i++) {
        int one = SHD_OK;

        if (strcmp(root->keys[i]->text, "__metadata__") != 0)
            one = read_array(tree, root->keys[i], root->items[i], diag);
        if (one != SHD_OK)
            status = one;
        if (one == SHD_ENOMEM || diag_is_full(diag))
            break;
    }
    return status;
}

uint64_t import_safetensors_length(const char *bytes)
{
    uint64_t n = 0;

    for (int i = IMPORT_LENGTH_BYTES; i-- > 0;)
        n = n << 8 | (unsigned char)bytes[i];
    return n > UINT64_MAX - IMPORT_LENGTH_BYTES ? UINT64_MAX : n + IMPORT_LENGTH_BYTES;
}

int import_safetensors(struct shd_tree *tree, const char *path, const char *bytes, size_t length,
                       struct diag *diag)
{
    struct place start = {path, 1, IMPORT_LENGTH_BYTES + 1};
    struct yaml_doc *doc = NULL;
    uint64_t end =
        length >= IMPORT_LENGTH_BYTES ? import_safetensors_length(bytes) : IMPORT_LENGTH_BYTES;
    int status;

    if (end - IMPORT_LENGTH_BYTES > YAML_DOC_BYTES_MAX) {
        diag_error(diag, (struct place){path, 1, 1},
                   "a header of %" PRIu64 " bytes; at most %zu are read", end - IMPORT_LENGTH_BYTES,
                   YAML_DOC_BYTES_MAX);
        return SHD_ERANGE;
    }
    if (length < end || end == IMPORT_LENGTH_BYTES) {
        diag_error(diag, (struct place){path, 1, 1}, "the file ends inside its header");
        return SHD_EINVAL;
    }
    if (bytes[IMPORT_LENGTH_BYTES] != '{') {
        diag_error(diag, start, "this is not a safetensors header; expected '{'");
        return SHD_EINVAL;
    }
    status = yaml_doc_parse(&doc, start, bytes + IMPORT_LENGTH_BYTES,
                            (size_t)(end - IMPORT_LENGTH_BYTES), diag);
    if (status == SHD_OK)
        status = read_arrays(tree, yaml_doc_root(doc), diag);
    yaml_doc_destroy(doc);
    return status;
}
