/* Reading the header of a safetensors file (base/safetensors.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/safetensors.h"

#include <inttypes.h>
#include <string.h>

#include <shd/shape.h>

#include "base/shape.h"
#include "base/yaml.h"

/* The first row of a type is the one that is written. */
static const struct stored_type {
    const char *name;
    enum shd_dtype dtype;
    bool is_unsigned;
} types[] = {
    {"F32", SHD_F32, false},   {"F64", SHD_F64, false},        {"BF16", SHD_BF16, false},
    {"F16", SHD_F16, false},   {"I32", SHD_I32, false},        {"U32", SHD_I32, true},
    {"I8", SHD_I8, false},     {"U8", SHD_U8, false},          {"I16", SHD_I16, false},
    {"U16", SHD_I16, true},    {"I64", SHD_I64, false},        {"U64", SHD_I64, true},
    {"BOOL", SHD_BOOL, false}, {"F8_E4M3", SHD_F8E4M3, false}, {"F8_E5M2", SHD_F8E5M2, false},
};

static bool read_type(struct safetensors_array *array, const struct yaml_node *node,
                      struct diag *diag)
{
    for (size_t t = 0; node->kind == YAML_TEXT && t < sizeof types / sizeof types[0]; t++) {
        if (!strcmp(types[t].name, node->text)) {
            array->dtype = types[t].dtype;
            array->is_unsigned = types[t].is_unsigned;
            return true;
        }
    }
    diag_error(diag, node->place,
               "the type of '%.100s' is %s; expected F32, BF16 or another type of safetensors",
               array->name, yaml_describe(node).text);
    return false;
}

/* Read the offsets, and check that the array fits the bytes between them.  The size of the file is
 * not checked: a header is enough to work with. */
static bool read_offsets(struct safetensors_array *array, const struct yaml_node *node,
                         struct diag *diag)
{
    int64_t begin, end;
    uint64_t bytes;
    struct shd_error err;

    if (node->kind != YAML_LIST || node->nitems != 2 || !yaml_read_int(node->items[0], &begin) ||
        !yaml_read_int(node->items[1], &end) || begin < 0 || end < begin) {
        diag_error(diag, node->place, "the offsets of '%.100s' are not [begin, end]", array->name);
        return false;
    }
    if (shd_shape_bytes(&bytes, array->shape, array->rank, array->dtype, &err) != SHD_OK) {
        diag_failure(diag, node->place, err.status, "'%.100s': %s", array->name, err.text);
        return false;
    }
    array->begin = (uint64_t)begin;
    array->end = (uint64_t)end;
    if (bytes == array->end - array->begin)
        return true;
    diag_error(diag, node->place,
               "'%.100s' has %" PRId64 " bytes, but type and shape need %" PRIu64, array->name,
               end - begin, bytes);
    return false;
}

static int read_array(const struct yaml_node *key, const struct yaml_node *node, safetensors_fn fn,
                      void *arg, struct diag *diag)
{
    int64_t shape[SHD_RANK_MAX];
    struct safetensors_array array = {.name = key->text, .shape = shape, .place = key->place};
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
    if (!read_type(&array, type, diag) ||
        !shape_read(shape, &array.rank, extents, key->text, diag) ||
        !read_offsets(&array, offsets, diag))
        return SHD_EINVAL;
    return fn(arg, &array);
}

static int read_arrays(const struct yaml_node *root, safetensors_fn fn, void *arg,
                       struct diag *diag)
{
    int status = SHD_OK;

    for (size_t i = 0; i < root->nitems; i++) {
        int one = SHD_OK;

        if (strcmp(root->keys[i]->text, "__metadata__") != 0)
            one = read_array(root->keys[i], root->items[i], fn, arg, diag);
        if (one != SHD_OK)
            status = one;
        if (one == SHD_ENOMEM || diag_is_full(diag))
            break;
    }
    return status;
}

uint64_t safetensors_length(const char *bytes)
{
    uint64_t n = 0;

    for (int i = SAFETENSORS_LENGTH_BYTES; i-- > 0;)
        n = n << 8 | (unsigned char)bytes[i];
    return n > UINT64_MAX - SAFETENSORS_LENGTH_BYTES ? UINT64_MAX : n + SAFETENSORS_LENGTH_BYTES;
}

int safetensors_read(const char *path, const char *bytes, size_t length, safetensors_fn fn,
                     void *arg, struct diag *diag)
{
    const uint64_t before = SAFETENSORS_LENGTH_BYTES;
    struct place start = {path, 1, SAFETENSORS_LENGTH_BYTES + 1};
    struct yaml_doc *doc = NULL;
    uint64_t end = length >= before ? safetensors_length(bytes) : before;
    int status;

    if (end - before > YAML_DOC_BYTES_MAX) {
        diag_error(diag, (struct place){path, 1, 1},
                   "a header of %" PRIu64 " bytes; at most %zu are read", end - before,
                   YAML_DOC_BYTES_MAX);
        return SHD_ERANGE;
    }
    if (length < end || end == before) {
        diag_error(diag, (struct place){path, 1, 1}, "the file ends inside its header");
        return SHD_EINVAL;
    }
    if (bytes[before] != '{') {
        diag_error(diag, start, "this is not a safetensors header; expected '{'");
        return SHD_EINVAL;
    }
    status = yaml_doc_parse(&doc, start, bytes + before, (size_t)(end - before), diag);
    if (status == SHD_OK)
        status = read_arrays(yaml_doc_root(doc), fn, arg, diag);
    yaml_doc_destroy(doc);
    return status;
}

static const char *type_name(enum shd_dtype dtype)
{
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        if (types[t].dtype == dtype)
            return types[t].name;
    return "U8"; /* e2m1, one a byte */
}

void safetensors_begin(struct safetensors_writer *writer)
{
    text_init(&writer->header);
    writer->end = 0;
    json_out_init_text(&writer->json, &writer->header, JSON_OUT_COMPACT);
    json_out_begin_object(&writer->json);
}

void safetensors_add(struct safetensors_writer *writer, const char *name, enum shd_dtype dtype,
                     const int64_t *shape, size_t rank)
{
    struct json_out *json = &writer->json;
    uint64_t bytes = shd_dtype_size(dtype);

    json_out_key(json, name);
    json_out_begin_object(json);
    json_out_key_string(json, "dtype", type_name(dtype));
    json_out_key(json, "shape");
    json_out_begin_array(json);
    for (size_t d = 0; d < rank; d++) {
        bytes *= (uint64_t)shape[d];
        json_out_int(json, shape[d]);
    }
    json_out_end_array(json);
    json_out_key(json, "data_offsets");
    json_out_begin_array(json);
    json_out_uint(json, writer->end);
    json_out_uint(json, writer->end += bytes);
    json_out_end_array(json);
    json_out_end_object(json);
}

void safetensors_end(struct safetensors_writer *writer, struct text *out)
{
    json_out_end_object(&writer->json);
    (void)json_out_fini(&writer->json); /* a lack of memory is in the text */
    while (writer->header.length % 8 > 0 && !writer->header.failed)
        text_add_char(&writer->header, ' ');
    for (int i = 0; i < SAFETENSORS_LENGTH_BYTES; i++)
        text_add_char(out, (char)((uint64_t)writer->header.length >> 8 * i & 0xff));
    text_join(out, &writer->header);
}
