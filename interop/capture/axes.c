/* Relate groups of devices to the axes of a mesh.
 *
 * Groups follow a mesh if each is a box in it: its members have all coordinates along some axes,
 * and equal coordinates along the others.
 *
 * A mesh is inferred from the strides of ids: the group 0, 1, 4, 5 has neighbours 1 apart up to 2,
 * and 4 apart up to 8, so axes begin at the strides 1, 2, 4 and 8.  If the strides of all groups
 * divide each other, they are the axes of a mesh.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "capture/axes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"
#include "base/text.h"

#define AXIS_NAME_MAX 32

/* Axes on which two devices have different coordinates. */
static uint32_t differing(const struct shd_mesh *mesh, int32_t a, int32_t b)
{
    int32_t from = shd_mesh_find_device(mesh, a), to = shd_mesh_find_device(mesh, b);
    uint32_t axes = 0;

    for (size_t i = 0; i < shd_mesh_naxes(mesh); i++)
        if (shd_mesh_coord(mesh, from, i) != shd_mesh_coord(mesh, to, i))
            axes |= UINT32_C(1) << i;
    return axes;
}

static uint32_t differing_in(const struct capture_groups *groups, uint32_t g,
                             const struct shd_mesh *mesh)
{
    uint32_t axes = 0;

    for (uint32_t i = groups->first[g] + 1; i < groups->first[g + 1]; i++)
        axes |= differing(mesh, groups->ids[groups->first[g]], groups->ids[i]);
    return axes;
}

uint32_t axes_of(const struct capture_groups *groups, const struct shd_mesh *mesh, bool *follow)
{
    uint32_t axes = 0;

    *follow = true;
    for (uint32_t g = 0; g < groups->ngroups; g++)
        axes |= differing_in(groups, g, mesh);
    for (uint32_t g = 0; g < groups->ngroups && !groups->pairs && *follow; g++)
        *follow = capture_size_of(groups, g) < 2 ||
                  capture_size_of(groups, g) == shd_mesh_size_along(mesh, axes);
    return *follow ? axes : 0;
}

const char *axes_print(char *buf, size_t size, const struct shd_mesh *mesh, uint32_t axes)
{
    size_t n = 0;

    snprintf(buf, size, "-");
    for (size_t i = 0; i < shd_mesh_naxes(mesh); i++)
        if (axes >> i & 1 && n < size) {
            int wrote =
                snprintf(buf + n, size - n, "%s%s", n ? "," : "", shd_mesh_axis_name(mesh, i));

            n += wrote > 0 ? (size_t)wrote : 0;
        }
    return buf;
}

/* ---- a mesh from groups ---- */

struct strides {
    int64_t *values; /* ascending, distinct; the last is the number of devices */
    size_t n;
};

static int add_stride(struct strides *s, int64_t value, struct shd_error *err)
{
    size_t at = 0;

    while (at < s->n && s->values[at] < value)
        at++;
    if (at < s->n && s->values[at] == value)
        return SHD_OK;
    if (!array_make_room(&s->values, s->n, sizeof *s->values))
        return shd_error_set(err, SHD_ENOMEM, "no memory for the strides of groups");
    memmove(s->values + at + 1, s->values + at, (s->n - at) * sizeof *s->values);
    s->values[at] = value;
    s->n++;
    return SHD_OK;
}

/* Add the strides of a group's sorted ids, level by level: runs of equal steps, then runs of such
 * runs. */
static int add_group(struct strides *s, const int32_t *ids, uint32_t n, struct shd_error *err)
{
    uint32_t run = 1; /* ids in a run of the level below */
    int status = SHD_OK;

    while (status == SHD_OK && run < n) {
        int64_t step = ids[run] - ids[0];
        uint32_t count = 2;

        while (run * count < n && ids[run * count] - ids[run * (count - 1)] == step)
            count++;
        status = add_stride(s, step, err);
        if (status == SHD_OK)
            status = add_stride(s, step * count, err);
        if (run > n / count)
            break;
        run *= count;
    }
    return status;
}

/* Devices connected with the first pair through other pairs, in either direction: a ring or a
 * chain.  Stores them in ids[ndevices], ascending, and returns how many. */
static uint32_t chain_of(int32_t *ids, int32_t *next, const struct capture_groups *pairs,
                         int32_t ndevices)
{
    uint32_t n = 0, begin = UINT32_MAX;

    /* next[]: a tree for each chain, with the chain's lowest device as root (union-find). */
    for (int32_t d = 0; d < ndevices; d++)
        next[d] = d;
    for (uint32_t g = 0; g < pairs->ngroups; g++) {
        int32_t a = pairs->ids[2 * g], b = pairs->ids[2 * g + 1];

        if (a != b && begin == UINT32_MAX)
            begin = g;
        while (next[a] != a)
            a = next[a] = next[next[a]];
        while (next[b] != b)
            b = next[b] = next[next[b]];
        next[a > b ? a : b] = a > b ? b : a;
    }
    for (int32_t d = 0; begin != UINT32_MAX && d < ndevices; d++) {
        int32_t root = d, own = pairs->ids[2 * begin];

        while (next[root] != root)
            root = next[root];
        while (next[own] != own)
            own = next[own];
        if (root == own)
            ids[n++] = d;
    }
    return n;
}

static int add_list(struct strides *s, const struct capture_groups *groups, int32_t ndevices,
                    struct shd_error *err)
{
    int32_t *ids = calloc(2 * (size_t)ndevices, sizeof *ids);
    uint32_t n = groups->ngroups && !groups->pairs ? capture_size_of(groups, 0) : 0;
    int status;

    if (!ids)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the strides of groups");
    if (groups->pairs)
        n = chain_of(ids, ids + ndevices, groups, ndevices);
    else
        memcpy(ids, groups->ids, n * sizeof *ids);
    qsort(ids, n, sizeof *ids, order_int32);
    status = add_group(s, ids, n, err);
    free(ids);
    return status;
}

/* Whether each stride divides the next, from 1 to the number of devices. */
static bool is_mesh(const struct strides *s, int64_t ndevices)
{
    for (size_t i = 0; i + 1 < s->n; i++)
        if (s->values[i + 1] % s->values[i])
            return false;
    return s->n - 1 <= SHD_MESH_AXES_MAX && s->values[s->n - 1] == ndevices;
}

/* An axis name from the name of its groups: PyTorch calls groups along a mesh axis "mesh_dp".
 * False: no such name.
 */
static bool axis_name(char *out, size_t size, const char *groups_name)
{
    static const char prefix[] = "mesh_";
    const char *name = groups_name ? groups_name : "";

    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return false;
    name += sizeof prefix - 1;
    for (const char *c = name; *c; c++)
        if (!(*c >= 'a' && *c <= 'z') && !(*c >= 'A' && *c <= 'Z') && *c != '_' &&
            !(c > name && *c >= '0' && *c <= '9'))
            return false;
    return *name && snprintf(out, size, "%s", name) < (int)size;
}

static bool is_name(char names[][AXIS_NAME_MAX], size_t naxes, const char *name)
{
    for (size_t a = 0; a < naxes; a++)
        if (!strcmp(names[a], name))
            return true;
    return false;
}

/* Name axes after the groups along them, if these have a name. */
static void take_names(char names[][AXIS_NAME_MAX], const struct capture *capture,
                       const struct shd_mesh *mesh)
{
    size_t naxes = shd_mesh_naxes(mesh);

    for (uint32_t i = 0; i < capture->ngroups; i++) {
        char name[AXIS_NAME_MAX];
        uint32_t axes;
        bool follow;

        if (!axis_name(name, sizeof name, capture->groups[i].name) || is_name(names, naxes, name))
            continue;
        axes = axes_of(&capture->groups[i], mesh, &follow);
        for (size_t a = 0; a < naxes; a++)
            if (axes == UINT32_C(1) << a && !strcmp(names[a], shd_mesh_axis_name(mesh, a)))
                memcpy(names[a], name, sizeof name);
    }
}

static int make_mesh(struct shd_mesh **out, const struct capture *capture, const struct strides *s,
                     struct shd_error *err)
{
    char names[SHD_MESH_AXES_MAX][AXIS_NAME_MAX];
    const char *pointers[SHD_MESH_AXES_MAX];
    int32_t sizes[SHD_MESH_AXES_MAX];
    size_t naxes = s->n - 1;
    struct shd_mesh *unnamed;
    int status;

    for (size_t i = 0; i < naxes; i++) {
        snprintf(names[i], sizeof names[i], "axis%zu", i);
        pointers[i] = names[i];
        sizes[i] = (int32_t)(s->values[naxes - i] / s->values[naxes - i - 1]);
    }
    status = shd_mesh_create(&unnamed, pointers, sizes, naxes, err);
    if (status != SHD_OK)
        return status;
    take_names(names, capture, unnamed);
    shd_mesh_destroy(unnamed);
    return shd_mesh_create(out, pointers, sizes, naxes, err);
}

int axes_infer(struct shd_mesh **out, const struct capture *capture, struct shd_error *err)
{
    struct strides s = {.n = 0};
    int status = add_stride(&s, 1, err);

    if (status == SHD_OK)
        status = add_stride(&s, capture->ndevices, err);
    /* Messages between a few traced ranks do not show how far an axis reaches. */
    for (uint32_t i = 0; i < capture->ngroups && status == SHD_OK; i++)
        if (!capture->groups[i].pairs || !capture->ntraced)
            status = add_list(&s, &capture->groups[i], capture->ndevices, err);
    if (status == SHD_OK && !is_mesh(&s, capture->ndevices)) {
        s.n = 0;
        status = add_stride(&s, 1, err);
        if (status == SHD_OK)
            status = add_stride(&s, capture->ndevices, err);
    }
    if (status == SHD_OK)
        status = make_mesh(out, capture, &s, err);
    free(s.values);
    return status;
}
