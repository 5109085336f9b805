/* Checking questions against the fields of their op (fields.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "question/fields.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"

#define KEYS_MAX 64  /* of one object; the longest has some twenty */
#define KEYS_TOLD 8 /* longer lists of keys are reduced to the nearest key, to keep messages
                       short */

/* Fields of type tensor, in any question. */
static const struct query_field tensor_fields[] = {
    {"shape", "shape", NULL, "Extents."},
    {"seed", "whole number from 0 to 4294967295", "0", "Of its numbers."},
    {"scale", "number", "1", "Of its numbers."},
    {"offset", "number", "0", "Of its numbers."},
    {NULL, NULL, NULL, NULL}};

static bool starts_with(const char *text, const char *start)
{
    return !strncmp(text, start, strlen(start));
}

int fields_unknown(const char *key, const char *where, const char *const *keys, size_t nkeys,
                   struct shd_error *err)
{
    struct text expected = TEXT_INIT;
    struct nearest near;
    int status;

    nearest_init(&near, key);
    for (size_t k = 0; k < nkeys; k++) {
        nearest_add(&near, keys[k]);
        if (nkeys <= KEYS_TOLD)
            text_addf(&expected, "%s%s", k == 0 ? "; expected " : k + 1 < nkeys ? ", " : " or ",
                      keys[k]);
    }
    if (expected.failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the keys of %.60s", where);
    else
        status = shd_error_set(err, SHD_EINVAL, "unknown key '%.40s' in %.60s%s%s", key, where,
                               text_get(&expected), nearest_hint(&near).text);
    text_fini(&expected);
    return status;
}

/* The key of a row directly below `path`; NULL for a row elsewhere. */
static const char *key_below(const struct query_field *row, const char *path)
{
    size_t length = strlen(path);
    const char *key = row->name;

    if (length > 0) {
        if (!starts_with(key, path) || key[length] != '.')
            return NULL;
        key += length + 1;
    }
    return strchr(key, '.') ? NULL : key;
}

static const struct query_field *find_row(const struct query_field *fields, const char *path,
                                          const char *key)
{
    for (const struct query_field *row = fields; row->type; row++) {
        const char *known = key_below(row, path);

        if (known && (!strcmp(known, "*") || !strcmp(known, key)))
            return row;
    }
    return NULL;
}

static size_t list_keys(const char **keys, const struct query_field *fields, const char *path)
{
    size_t n = 0;

    for (const struct query_field *row = fields; row->type && n < KEYS_MAX; row++)
        if (key_below(row, path))
            keys[n++] = key_below(row, path);
    return n;
}

static int check_whole(const char *name, const char *type, const json_t *value,
                       struct shd_error *err)
{
    long long least = INT32_MIN, most = INT32_MAX;

    if (strstr(type, " of 64 bits"))
        return SHD_OK;
    if (strstr(type, " from "))
        (void)sscanf(strstr(type, " from "), " from %lld to %lld", &least, &most);
    if (json_integer_value(value) >= least && json_integer_value(value) <= most)
        return SHD_OK;
    return shd_error_set(err, SHD_ERANGE,
                         "'%.60s' is %lld; expected at least %lld and at most %lld", name,
                         (long long)json_integer_value(value), least, most);
}

/* Whether a type allows only lists and null. */
static bool is_list(const char *type)
{
    const char *otherwise = strstr(type, " or ");

    if (otherwise && strcmp(otherwise, " or null") != 0)
        return false;
    return starts_with(type, "list") || starts_with(type, "names") || starts_with(type, "mesh") ||
           starts_with(type, "shape");
}

/* Check types whose form the manual defines; the op checks the others. */
static int check_type(const struct query_field *row, const json_t *value, struct shd_error *err)
{
    const char *type = row->type, *expected = NULL;
    int status = SHD_OK;

    if (starts_with(type, "whole number") && !json_is_integer(value))
        expected = "a whole number";
    else if (starts_with(type, "whole number"))
        return check_whole(row->name, type, value, err);
    else if (starts_with(type, "number") && !json_is_number(value))
        expected = "a number";
    else if (!strcmp(type, "boolean") && !json_is_boolean(value))
        expected = "true or false";
    else if (!strcmp(type, "text") && !json_is_string(value))
        expected = "a text";
    else if ((!strcmp(type, "object") || !strcmp(type, "tensor")) && !json_is_object(value))
        expected = "an object";
    else if (is_list(type) && !json_is_array(value))
        expected = "a list";
    if (expected)
        return shd_error_set(err, SHD_ETYPE, "'%.60s' must be %s", row->name, expected);
    if (!strcmp(type, "list of whole numbers"))
        for (size_t i = 0; i < json_array_size(value) && status == SHD_OK; i++)
            if (json_is_integer(json_array_get(value, i)))
                status = check_whole(row->name, type, json_array_get(value, i), err);
    return status;
}

/* Check an object against the rows below `path`. */
static int check_object(const struct query_field *fields, const char *path, const char *where,
                        const json_t *object, struct shd_error *err)
{
    const char *keys[KEYS_MAX];
    size_t nkeys = list_keys(keys, fields, path);
    int status = SHD_OK;

    if (nkeys == 0 && *path)
        return SHD_OK;
    for (void *i = json_object_iter((json_t *)object); i && status == SHD_OK;
         i = json_object_iter_next((json_t *)object, i)) {
        const char *key = json_object_iter_key(i);
        const json_t *value = json_object_iter_value(i);
        const struct query_field *row = find_row(fields, path, key);

        if (!row)
            return fields_unknown(key, *path ? path : where, keys, nkeys, err);
        if (json_is_null(value))
            continue;
        status = check_type(row, value, err);
        if (status == SHD_OK && !strcmp(row->type, "tensor"))
            status = fields_check(tensor_fields, row->name, value, err);
        else if (status == SHD_OK && json_is_object(value))
            status = check_object(fields, row->name, where, value, err);
    }
    return status;
}

int fields_check(const struct query_field *fields, const char *where, const json_t *in,
                 struct shd_error *err)
{
    return check_object(fields, "", where, in, err);
}
