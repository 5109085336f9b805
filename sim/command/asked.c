/* Parsing meshes, axes, shapes and shardings (asked.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "command/asked.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "command/command.h"

static const char *skip(const char *s, const char *what)
{
    return s + strspn(s, what);
}

/* One "name=size" from *s on; the name is copied. */
static int parse_axis(const char **s, char **name, int32_t *size, struct shd_error *err)
{
    static const char expected[] = "expected axes as 'dp=2,tp=4'";
    size_t length = strcspn(*s, "=:, {}");
    const char *at = skip(*s + length, " ");
    char *end;
    long n;

    if (length == 0 || (*at != '=' && *at != ':'))
        return shd_error_set(err, SHD_EINVAL, expected);
    at = skip(at + 1, " ");
    n = strtol(at, &end, 10);
    if (!isdigit((unsigned char)*at) || n < 1 || n > INT32_MAX)
        return shd_error_set(err, SHD_EINVAL,
                             "the size of an axis is a whole number of at least 1");
    *name = strndup(*s, length);
    if (!*name)
        return shd_error_set(err, SHD_ENOMEM, "no memory");
    *size = (int32_t)n;
    *s = skip(end, " ");
    if (**s && **s != ',' && **s != '}')
        return shd_error_set(err, SHD_EINVAL, expected);
    *s = skip(*s, ", }");
    return SHD_OK;
}

int asked_mesh(struct shd_mesh **out, const char *text)
{
    char *names[SHD_MESH_AXES_MAX] = {NULL};
    int32_t sizes[SHD_MESH_AXES_MAX];
    const char *s = skip(text, " {");
    struct shd_error err;
    size_t n = 0;
    int status = SHD_OK;

    while (status == SHD_OK && (*s || n == 0)) {
        if (n == SHD_MESH_AXES_MAX)
            status = shd_error_set(&err, SHD_EINVAL, "too many axes");
        else
            status = parse_axis(&s, &names[n], &sizes[n], &err);
        n++;
    }
    if (status == SHD_OK)
        status = shd_mesh_create(out, (const char *const *)names, sizes, n, &err);
    if (status != SHD_OK)
        cmd_error("mesh '%s': %s", text, err.text);
    for (size_t i = 0; i < SHD_MESH_AXES_MAX; i++)
        free(names[i]);
    return status == SHD_OK ? CMD_OK : status == SHD_ENOMEM ? CMD_CANNOT : CMD_USAGE;
}

int asked_axes(uint8_t *axes, size_t *naxes, const char *text, const struct shd_mesh *mesh)
{
    char name[64];

    for (*naxes = 0; *text; text += strspn(text, ", ")) {
        size_t length = strcspn(text, ", ");
        int axis;

        snprintf(name, sizeof name, "%.*s", (int)length, text);
        text += length;
        axis = shd_mesh_find_axis(mesh, name);
        if (axis < 0 || *naxes == SHD_MESH_AXES_MAX) {
            struct nearest near;

            nearest_init(&near, name);
            for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
                nearest_add(&near, shd_mesh_axis_name(mesh, a));
            cmd_error("axes: the mesh has no axis '%s'%s", name, nearest_hint(&near).text);
            return CMD_USAGE;
        }
        axes[(*naxes)++] = (uint8_t)axis;
    }
    return CMD_OK;
}

int asked_shape(int64_t *shape, const char *text)
{
    int rank = 0;

    text += strspn(text, " ([");
    while (*text && *text != ')' && *text != ']') {
        char *end;

        if (!isdigit((unsigned char)*text) || rank == SHD_RANK_MAX)
            return -1;
        shape[rank] = strtoll(text, &end, 10);
        if (shape[rank++] > (int64_t)1 << 40)
            return -1;
        text = end + strspn(end, " ");
        if (*text && !strchr(",x)]", *text))
            return -1;
        text += strspn(text, ",x ");
    }
    text += strspn(text, ")] ");
    return *text ? -1 : rank;
}

/* Parse a complete spec, or else the entries of one: "dp,tp" is "[dp,tp]". */
static int parse_spec(struct shd_spec **out, const char *text, struct shd_error *err)
{
    struct text entries = TEXT_INIT;
    struct shd_error other;
    int status = shd_spec_parse(out, text, err), again;

    if (status == SHD_OK || status == SHD_ENOMEM)
        return status;
    text_addf(&entries, "[%s]", text);
    if (entries.failed)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the spec");
    again = shd_spec_parse(out, text_get(&entries), &other);
    if (again == SHD_OK || again == SHD_ENOMEM || !strpbrk(text, "[(")) {
        status = again;
        if (err)
            *err = other;
    }
    text_fini(&entries);
    return status;
}

int asked_sharding(struct shd_sharding *out, const struct shd_mesh *mesh, const char *text,
                        const int64_t *shape, size_t rank, struct shd_error *err)
{
    struct shd_spec *spec = NULL;
    int status = parse_spec(&spec, text, err);

    if (status == SHD_OK)
        status = shd_sharding_bind(out, mesh, spec, rank, err);
    if (status == SHD_OK)
        status = shd_sharding_check(out, shape, err);
    if (status == SHD_ENOAXIS) {
        struct shd_error plain = *err;

        (void)shd_error_set(err, status, "%s%s", plain.text, asked_axis_hint(spec, mesh).text);
    }
    shd_spec_destroy(spec);
    return status;
}

struct nearest_text asked_axis_hint(const struct shd_spec *spec, const struct shd_mesh *mesh)
{
    struct nearest near = {.best = NULL};

    for (size_t e = 0; e < shd_spec_nentries(spec); e++)
        for (size_t i = 0; i < shd_spec_naxes(spec, e); i++) {
            if (shd_mesh_find_axis(mesh, shd_spec_axis(spec, e, i)) >= 0)
                continue;
            nearest_init(&near, shd_spec_axis(spec, e, i));
            for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
                nearest_add(&near, shd_mesh_axis_name(mesh, a));
            return nearest_hint(&near);
        }
    return nearest_hint(&near);
}

long asked_number(const char *what, const char *text, long first, long last, const char *as)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (end != text && !*end && n >= first && n <= last)
        return n;
    cmd_error("%s is '%s'; expected a whole number from %ld to %ld%s", what, text, first, last, as);
    return -1;
}

int asked_collective(const char *name)
{
    int kind = coll_kind_parse(name);

    if (kind < 0)
        cmd_error("there is no collective '%s'%s", name, coll_kind_hint(name).text);
    return kind;
}

const struct coll_algo *asked_algorithm(enum coll_kind kind, const char *name)
{
    const struct coll_algo *algo = coll_find(kind, name);
    char names[COLL_NAMES_MAX];

    if (algo)
        return algo;
    cmd_error("%s has no algorithm '%s'; expected %s%s", coll_kind_name(kind), name,
              coll_names(kind, names), coll_algo_hint(kind, name).text);
    return NULL;
}

bool asked_size(long *out, const char *arg, long least, long most)
{
    char *end;
    long n = strtol(arg, &end, 10);
    long unit = *end == 'k' || *end == 'K' ? 1L << 10 : *end == 'm' || *end == 'M' ? 1L << 20 : 1;

    end += unit > 1;
    if (!isdigit((unsigned char)*arg) || *end || n > most / unit || n * unit < least)
        return false;
    *out = n * unit;
    return true;
}
