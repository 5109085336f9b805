/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/rank_order.h>

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { NKINDS = 5 };

static const char *const kind_names[NKINDS] = {"tp", "pp", "dp", "ep", "cp"};

static void list_sizes(int64_t *out, const struct shd_rank_sizes *sizes)
{
    const int64_t list[NKINDS] = {sizes->tp, sizes->pp, sizes->dp, sizes->ep, sizes->cp};

    memcpy(out, list, sizeof(list));
}

static bool same_word(const char *text, size_t length, const char *name)
{
    for (size_t i = 0; i < length; i++) {
        if (tolower((unsigned char)text[i]) != name[i])
            return false; /* at the latest at the end of the name, so nothing behind it is read */
    }
    return name[length] == '\0';
}

static size_t find_kind(const char *text, size_t length)
{
    size_t k = 0;

    while (k < NKINDS && !same_word(text, length, kind_names[k]))
        k++;
    return k;
}

/* The kinds in the order of the text, then those that it leaves out.  The ranks of the first one
 * are neighbours. */
static int parse_order(size_t *kinds, const char *order, const int64_t *sizes,
                       struct shd_error *err)
{
    bool seen[NKINDS] = {false};
    size_t n = 0;

    for (const char *word = order;; word++) {
        size_t length = strcspn(word, "-");
        size_t k = find_kind(word, length);

        if (k == NKINDS)
            return shd_error_set(err, SHD_EINVAL, "the order '%.60s' has the unknown kind '%.*s'",
                                 order, (int)(length < 60 ? length : 60), word);
        if (seen[k])
            return shd_error_set(err, SHD_EDUPAXIS, "the order '%.60s' has '%s' twice", order,
                                 kind_names[k]);
        seen[k] = true;
        kinds[n++] = k;
        word += length;
        if (!*word)
            break;
    }
    for (size_t k = 0; k < NKINDS; k++) {
        if (!seen[k] && sizes[k] != 1)
            return shd_error_set(err, SHD_EINVAL,
                                 "'%s' has size %lld but is not in the order '%.60s'",
                                 kind_names[k], (long long)sizes[k], order);
        if (!seen[k])
            kinds[n++] = k;
    }
    return SHD_OK;
}

int shd_rank_order_mesh(struct shd_mesh **out, const char *order,
                        const struct shd_rank_sizes *sizes, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, order, sizes))
        return SHD_EINVAL;

    int64_t list[NKINDS];
    size_t kinds[NKINDS];
    const char *names[NKINDS];
    int32_t extents[NKINDS];

    list_sizes(list, sizes);
    if (sizes->ep != 1 && sizes->cp != 1)
        return shd_error_set(err, SHD_EINVAL,
                             "expert (%lld) and context parallelism (%lld) are not in one order",
                             (long long)sizes->ep, (long long)sizes->cp);

    int status = parse_order(kinds, order, list, err);

    if (status)
        return status;
    for (size_t i = 0; i < NKINDS; i++) {
        size_t a = NKINDS - 1 - i;
        int64_t size = list[kinds[i]];

        if (size < 1 || size > INT32_MAX)
            return shd_error_set(err, size < 1 ? SHD_EINVAL : SHD_ERANGE, "'%s' has size %lld",
                                 kind_names[kinds[i]], (long long)size);
        names[a] = kind_names[kinds[i]];
        extents[a] = (int32_t)size;
    }
    return shd_mesh_create(out, names, extents, NKINDS, err);
}

/* The axis whose name is the `length` bytes at `name`; -1 where there is none. */
static int find_axis(const struct shd_mesh *mesh, const char *name, size_t length)
{
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++) {
        const char *axis = shd_mesh_axis_name(mesh, a);

        if (!strncmp(axis, name, length) && axis[length] == '\0')
            return (int)a;
    }
    return -1;
}

int shd_rank_order_groups(struct shd_groups *out, const struct shd_mesh *mesh, const char *axes,
                          struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, axes))
        return SHD_EINVAL;

    uint32_t named = 0;
    uint8_t list[SHD_MESH_AXES_MAX];
    size_t n = 0;

    if (!mesh)
        return shd_error_set(err, SHD_ENOMESH, "no mesh is given");
    for (const char *word = axes;; word++) {
        size_t length = strcspn(word, "-");
        int a = find_axis(mesh, word, length);

        if (a < 0)
            return shd_error_set(err, SHD_EINVAL, "the mesh has no axis '%.*s'",
                                 (int)(length < 100 ? length : 100), word);
        named |= UINT32_C(1) << a;
        word += length;
        if (!*word)
            break;
    }
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++) {
        if (named >> a & 1)
            list[n++] = (uint8_t)a;
    }
    return shd_groups_init(out, mesh, list, n, err);
}
