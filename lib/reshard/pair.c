/* Finding a common mesh for two shardings (reshard/pair.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "pair.h"

#include <string.h>

/* Upper limit on ends: an axis begins at its stride and ends at stride times size, both in
 * positions, on two meshes; each tier has one group size; and there are 1 and the size of the
 * mesh. */
#define ENDS_MAX (4 * SHD_MESH_AXES_MAX + SHD_LINK_TIERS_MAX + 2)

struct ends {
    size_t n;
    int32_t at[ENDS_MAX]; /* ascending, each once */
};

static void add_end(struct ends *ends, int32_t end)
{
    size_t i = ends->n;

    for (size_t j = 0; j < ends->n; j++) {
        if (ends->at[j] == end)
            return;
    }
    for (; i > 0 && ends->at[i - 1] > end; i--)
        ends->at[i] = ends->at[i - 1];
    ends->at[i] = end;
    ends->n++;
}

static void add_axes(struct ends *ends, const struct shd_mesh *mesh)
{
    for (size_t a = 0; a < mesh->naxes; a++) {
        add_end(ends, mesh->strides[a]);
        add_end(ends, mesh->strides[a] * mesh->sizes[a]);
    }
}

/* Build the mesh whose axes lie between successive ends; false if an end does not divide the
 * next. */
static bool refine(struct shd_mesh *mesh, const struct ends *ends)
{
    size_t naxes = ends->n - 1;

    if (naxes > SHD_MESH_AXES_MAX)
        return false;
    memset(mesh, 0, sizeof(*mesh));
    mesh->naxes = naxes;
    mesh->size = ends->at[naxes];
    for (size_t a = 0; a < naxes; a++) {
        int32_t stride = ends->at[naxes - 1 - a];
        int32_t end = ends->at[naxes - a];

        if (end % stride != 0)
            return false;
        mesh->strides[a] = stride;
        mesh->sizes[a] = end / stride;
    }
    return true;
}

/* The axes of the common mesh that together are one axis of the mesh `asked`, as a mask; unless
 * `out` is NULL they are also appended to it, the most significant first. */
static uint32_t parts_of(const struct shd_mesh *mesh, const struct shd_mesh *asked, size_t axis,
                         struct shd_dim_axes *out)
{
    int32_t stride = asked->strides[axis];
    uint32_t mask = 0;

    for (uint8_t a = 0; a < mesh->naxes; a++) {
        if (mesh->strides[a] < stride || mesh->strides[a] / stride >= asked->sizes[axis])
            continue;
        mask |= UINT32_C(1) << a;
        if (out)
            out->axes[out->naxes++] = a;
    }
    return mask;
}

/* Express a sharding on the common mesh. */
static void split_axes(struct shd_sharding *out, const struct shd_sharding *sharding,
                       const struct shd_mesh *mesh)
{
    shd_sharding_init(out, mesh, sharding->rank);
    for (size_t d = 0; d < sharding->rank; d++) {
        for (size_t i = 0; i < sharding->dims[d].naxes; i++)
            parts_of(mesh, sharding->mesh, sharding->dims[d].axes[i], &out->dims[d]);
    }
    for (size_t a = 0; a < sharding->mesh->naxes; a++) {
        if (sharding->partial >> a & 1)
            out->partial = (uint16_t)(out->partial | parts_of(mesh, sharding->mesh, a, NULL));
    }
    out->partial_op = sharding->partial_op;
    out->uneven = sharding->uneven;
}

/* Whether equal positions in the two meshes are the same device. */
static bool same_devices(const struct shd_mesh *a, const struct shd_mesh *b)
{
    if (a->size != b->size || !a->ids != !b->ids)
        return false;
    return !a->ids || !memcmp(a->ids, b->ids, (size_t)a->size * sizeof(*a->ids));
}

void reshard_pair_init(struct reshard_pair *pair, const struct shd_sharding *from,
                       const struct shd_sharding *to, const int32_t *near)
{
    struct ends ends = {.n = 0};
    int32_t size = from->mesh->size;
    bool grouped = near && near[0] > 0;

    pair->from = from;
    pair->to = to;
    if (!grouped && (from->mesh == to->mesh || shd_mesh_equal(from->mesh, to->mesh)))
        return;
    pair->from = NULL;
    if (!same_devices(from->mesh, to->mesh) || (grouped && from->mesh->ids))
        return;
    add_end(&ends, 1);
    add_end(&ends, size);
    add_axes(&ends, from->mesh);
    add_axes(&ends, to->mesh);
    for (size_t t = 0; grouped && t < SHD_LINK_TIERS_MAX && near[t] > 0; t++) {
        if (near[t] < size)
            add_end(&ends, near[t]);
    }
    if (!refine(&pair->mesh, &ends))
        return;
    split_axes(&pair->parts[0], from, &pair->mesh);
    split_axes(&pair->parts[1], to, &pair->mesh);
    pair->from = &pair->parts[0];
    pair->to = &pair->parts[1];
}
