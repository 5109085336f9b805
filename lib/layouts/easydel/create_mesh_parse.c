/* create_mesh_parse.c - meshes from a line of text: the rest of shd/create_mesh.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/create_mesh.h>

#include <stdbool.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int bad_number(const char *text, size_t length, struct shd_error *err)
{
    return shd_error_set(err, SHD_EINVAL, "'%.*s' is not a whole number",
                         (int)(length < 100 ? length : 100), text);
}

/* Read a number as Python's int() does: with blanks around it, a sign, and single underscores
 * between digits. */
static int parse_int(int64_t *out, const char *text, size_t length, struct shd_error *err)
{
    const char *p = text, *end = text + length;
    bool negative = false;
    int64_t value = 0;

    while (p < end && is_blank(*p))
        p++;
    while (end > p && is_blank(end[-1]))
        end--;
    if (p < end && (*p == '-' || *p == '+'))
        negative = *p++ == '-';
    if (p == end)
        return bad_number(text, length, err);
    for (; p < end; p++) {
        if (*p == '_' && p + 1 < end && is_digit(p[-1]) && is_digit(p[1]))
            continue;
        if (!is_digit(*p))
            return bad_number(text, length, err);
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *p - '0', &value))
            return shd_error_set(err, SHD_ERANGE, "'%.*s' is too large",
                                 (int)(length < 100 ? length : 100), text);
    }
    *out = negative ? -value : value;
    return SHD_OK;
}

/* The entry of a list that equals a text of `length` bytes; NULL where there is none. */
static const char *find_name(const char *const *names, size_t n, const char *text, size_t length)
{
    for (size_t i = 0; i < n; i++) {
        if (strlen(names[i]) == length && !memcmp(names[i], text, length))
            return names[i];
    }
    return NULL;
}

/* Read a piece like "name:4", which has exactly one colon. */
static int parse_named(int64_t *dim, const char **name, const char *piece, size_t length,
                       const char *const *names, size_t nnames, struct shd_error *err)
{
    const char *colon = memchr(piece, ':', length);
    int shown = (int)(length < 100 ? length : 100);

    if (!colon || memchr(colon + 1, ':', length - (size_t)(colon + 1 - piece)))
        return shd_error_set(err, SHD_EINVAL, "'%.*s' is not of the form name:size", shown, piece);
    *name = find_name(names, nnames, piece, (size_t)(colon - piece));
    if (!*name)
        return shd_error_set(err, SHD_EINVAL, "'%.*s' names an axis that is not requested", shown,
                             piece);
    return parse_int(dim, colon + 1, length - (size_t)(colon + 1 - piece), err);
}

static int check_names(const char *const *found, const char *const *names, size_t nnames,
                       struct shd_error *err)
{
    for (size_t i = 0; i < nnames; i++) {
        if (!find_name(found, nnames, names[i], strlen(names[i])))
            return shd_error_set(err, SHD_EINVAL, "'%.100s' is given without a size", names[i]);
    }
    return SHD_OK;
}

int shd_mesh_dims_parse(int64_t *dims, const char **dim_names, const char *text,
                        const char *const *names, size_t nnames, struct shd_error *err)
{
    if (!SHD_GIVEN(err, dims, dim_names, text) || !SHD_GIVEN_ARRAY(err, names, nnames))
        return SHD_EINVAL;

    bool named = strchr(text, ':') != NULL;
    const char *p = text;
    size_t n = 0;

    for (bool more = true; more; n++) {
        size_t length = strcspn(p, ",");
        int status;

        if (n == nnames)
            return shd_error_set(err, SHD_EINVAL, "more sizes than the %zu names", nnames);
        dim_names[n] = names[n];
        status = named ? parse_named(&dims[n], &dim_names[n], p, length, names, nnames, err)
                       : parse_int(&dims[n], p, length, err);
        if (status)
            return status;
        more = p[length] == ',';
        p += length + 1;
    }
    if (n < nnames)
        return shd_error_set(err, SHD_EINVAL, "%zu sizes for %zu names", n, nnames);
    return named ? check_names(dim_names, names, nnames, err) : SHD_OK;
}

int shd_mesh_parse(struct shd_mesh **out, const char *text, const char *const *names, size_t nnames,
                   const struct shd_cluster *cluster, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, text, cluster) || !SHD_GIVEN_ARRAY(err, names, nnames))
        return SHD_EINVAL;

    int64_t dims[SHD_MESH_AXES_MAX];
    const char *dim_names[SHD_MESH_AXES_MAX];
    int status;

    if (nnames > SHD_MESH_AXES_MAX)
        return shd_error_set(err, SHD_ERANGE, "a mesh of %zu axes: at most %d are possible", nnames,
                             SHD_MESH_AXES_MAX);
    status = shd_mesh_dims_parse(dims, dim_names, text, names, nnames, err);
    if (status)
        return status;
    return shd_mesh_create_by_dims(out, cluster, dims, nnames, dim_names, nnames, NULL, 0, err);
}
