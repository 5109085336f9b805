/* Shardings of arrays over a mesh (shd/sharding.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/sharding.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bound.h"
#include "print.h"

static bool axes_exist(const struct shd_dim_axes *axes, size_t naxes)
{
    if (axes->naxes > SHD_MESH_AXES_MAX)
        return false;
    for (size_t i = 0; i < axes->naxes; i++)
        if (axes->axes[i] >= naxes)
            return false;
    return true;
}

bool sharding_is_bound(const struct shd_sharding *sharding)
{
    size_t naxes;

    if (!sharding || !sharding->mesh || sharding->rank > SHD_RANK_MAX ||
        sharding->flat_dims > sharding->rank || sharding->partial_op > SHD_MIN)
        return false;
    naxes = shd_mesh_naxes(sharding->mesh);
    for (size_t d = 0; d < sharding->rank; d++)
        if (!axes_exist(&sharding->dims[d], naxes))
            return false;
    return sharding->partial >> naxes == 0 && axes_exist(&sharding->flat, naxes);
}

int check_bound(const struct shd_sharding *sharding, const char *name, struct shd_error *err)
{
    if (sharding_is_bound(sharding))
        return SHD_OK;
    return shd_error_set(
        err, SHD_EINVAL,
        "argument '%s' is not a sharding; expected one that shd_sharding_bind() or "
        "shd_sharding_init() filled",
        name);
}

void shd_sharding_init(struct shd_sharding *out, const struct shd_mesh *mesh, size_t rank)
{
    if (!out)
        return;
    memset(out, 0, sizeof(*out));
    out->mesh = mesh;
    out->rank = (uint32_t)rank;
}

/* Whether a name occurs in a spec before axis number `axis` of an entry. */
static bool comes_before(const struct shd_spec *spec, size_t entry, size_t axis, const char *name)
{
    for (size_t e = 0; e <= entry; e++) {
        size_t naxes = e < entry ? shd_spec_naxes(spec, e) : axis;

        for (size_t i = 0; i < naxes; i++) {
            if (!strcmp(name, shd_spec_axis(spec, e, i)))
                return true;
        }
    }
    return false;
}

static int check_duplicates(const struct shd_spec *spec, struct shd_error *err)
{
    for (size_t e = 0; e < shd_spec_nentries(spec); e++) {
        for (size_t i = 0; i < shd_spec_naxes(spec, e); i++) {
            const char *name = shd_spec_axis(spec, e, i);

            if (comes_before(spec, e, i, name))
                return shd_error_set(err, SHD_EDUPAXIS, "the spec has axis '%.100s' twice", name);
        }
    }
    return SHD_OK;
}

static int unknown_axis(const char *name, const struct shd_mesh *mesh, struct shd_error *err)
{
    char text[120];

    shd_mesh_print(mesh, text, sizeof(text));
    return shd_error_set(err, SHD_ENOAXIS, "axis '%.80s' is not in the mesh (%s)", name, text);
}

static int check_axes(const struct shd_spec *spec, const struct shd_mesh *mesh,
                      struct shd_error *err)
{
    for (size_t e = 0; e < shd_spec_nentries(spec); e++) {
        for (size_t i = 0; i < shd_spec_naxes(spec, e); i++) {
            const char *name = shd_spec_axis(spec, e, i);

            if (shd_mesh_find_axis(mesh, name) < 0)
                return unknown_axis(name, mesh, err);
        }
    }
    return SHD_OK;
}

int shd_sharding_bind(struct shd_sharding *out, const struct shd_mesh *mesh,
                      const struct shd_spec *spec, size_t rank, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out, spec))
        return SHD_EINVAL;

    size_t nentries = shd_spec_nentries(spec);
    int status;

    if (!mesh)
        return shd_error_set(err, SHD_ENOMESH, "no mesh is given");
    status = check_duplicates(spec, err);
    if (!status)
        status = check_axes(spec, mesh, err);
    if (status)
        return status;
    if (nentries > rank)
        return shd_error_set(err, SHD_ESPECLONG,
                             "the spec has %zu entries, the array %zu dimensions", nentries, rank);
    if (rank > SHD_RANK_MAX)
        return shd_error_set(err, SHD_ERANGE, "%zu dimensions: at most %d are possible", rank,
                             SHD_RANK_MAX);

    shd_sharding_init(out, mesh, rank);
    for (size_t d = 0; d < nentries; d++) {
        struct shd_dim_axes *dim = &out->dims[d];

        dim->naxes = (uint8_t)shd_spec_naxes(spec, d);
        for (size_t i = 0; i < dim->naxes; i++)
            dim->axes[i] = (uint8_t)shd_mesh_find_axis(mesh, shd_spec_axis(spec, d, i));
    }
    return SHD_OK;
}

#define HINTED_SHARDS_MAX 65536 /* largest number of shards for which divisors are suggested */

/* Write "; 2 or 4 shards would" into buf: the nearest divisors of an extent below and above
 * `nshards`. */
static const char *divisors_near(char *buf, size_t size, int64_t extent, int64_t nshards)
{
    int64_t below = nshards - 1, above = nshards + 1;

    buf[0] = '\0';
    if (extent < 1 || nshards > HINTED_SHARDS_MAX)
        return buf;
    while (extent % below)
        below--;
    while (above < 2 * nshards && above <= extent && extent % above)
        above++;
    if (above <= extent && extent % above == 0)
        snprintf(buf, size, "; %" PRId64 " or %" PRId64 " would do", below, above);
    else
        snprintf(buf, size, "; %" PRId64 " would do", below);
    return buf;
}

int shd_sharding_check(const struct shd_sharding *sharding, const int64_t *shape,
                       struct shd_error *err)
{
    if (check_bound(sharding, "sharding", err) || !SHD_GIVEN_ARRAY(err, shape, sharding->rank))
        return SHD_EINVAL;

    char hint[64];

    if (sharding->uneven && sharding->flat.naxes > 0)
        return shd_error_set(err, SHD_EUNSUPPORTED, "pieces of shards that do not divide");
    for (size_t d = 0; d < sharding->rank && !sharding->uneven; d++) {
        int64_t nshards = shd_sharding_nshards(sharding, d);

        if (shape[d] % nshards != 0)
            return shd_error_set(
                err, SHD_EINDIVISIBLE,
                "dimension %zu of extent %" PRId64 " does not divide into %" PRId64 " shards%s", d,
                shape[d], nshards, divisors_near(hint, sizeof hint, shape[d], nshards));
    }
    return SHD_OK;
}

int shd_sharding_spec(struct shd_spec **out, const struct shd_sharding *sharding,
                      struct shd_error *err)
{
    if (!SHD_GIVEN(err, out) || check_bound(sharding, "sharding", err))
        return SHD_EINVAL;

    const char *names[SHD_RANK_MAX][SHD_MESH_AXES_MAX];
    struct shd_spec_entry entries[SHD_RANK_MAX];

    for (size_t d = 0; d < sharding->rank; d++) {
        const struct shd_dim_axes *dim = &sharding->dims[d];

        for (size_t i = 0; i < dim->naxes; i++)
            names[d][i] = shd_mesh_axis_name(sharding->mesh, dim->axes[i]);
        entries[d] = (struct shd_spec_entry){names[d], dim->naxes};
    }
    return shd_spec_create(out, entries, sharding->rank, err);
}

bool shd_sharding_equal(const struct shd_sharding *a, const struct shd_sharding *b)
{
    if (!a || !b)
        return a == b;
    return a->rank == b->rank && a->partial == b->partial && a->partial_op == b->partial_op &&
           a->flat_dims == b->flat_dims && a->uneven == b->uneven &&
           !memcmp(&a->flat, &b->flat, sizeof(a->flat)) &&
           !memcmp(a->dims, b->dims, sizeof(a->dims)) && shd_mesh_equal(a->mesh, b->mesh);
}

static void simplify_axes(struct shd_dim_axes *out, const struct shd_mesh *mesh,
                          const struct shd_dim_axes *axes)
{
    for (uint8_t a = 0; a < axes->naxes; a++)
        if (shd_mesh_axis_size(mesh, axes->axes[a]) > 1)
            out->axes[out->naxes++] = axes->axes[a];
}

void shd_sharding_simplify(struct shd_sharding *out, const struct shd_sharding *sharding)
{
    if (!out || !sharding)
        return;

    struct shd_sharding s;

    shd_sharding_init(&s, sharding->mesh, sharding->rank);
    for (uint32_t d = 0; d < s.rank; d++)
        simplify_axes(&s.dims[d], s.mesh, &sharding->dims[d]);
    simplify_axes(&s.flat, s.mesh, &sharding->flat);
    s.flat_dims = s.flat.naxes > 0 ? sharding->flat_dims : 0;
    s.uneven = sharding->uneven;
    for (size_t a = 0; a < shd_mesh_naxes(s.mesh); a++)
        if (sharding->partial >> a & 1 && shd_mesh_axis_size(s.mesh, a) > 1)
            s.partial |= (uint16_t)(1u << a);
    if (s.partial)
        s.partial_op = sharding->partial_op;
    *out = s;
}

uint32_t shd_sharding_axes(const struct shd_sharding *sharding)
{
    if (!sharding)
        return 0;

    uint32_t axes = 0;

    for (size_t d = 0; d < sharding->rank; d++) {
        for (size_t i = 0; i < sharding->dims[d].naxes; i++)
            axes |= UINT32_C(1) << sharding->dims[d].axes[i];
    }
    for (size_t i = 0; i < sharding->flat.naxes; i++)
        axes |= UINT32_C(1) << sharding->flat.axes[i];
    return axes;
}

static int64_t count_parts(const struct shd_mesh *mesh, const struct shd_dim_axes *axes)
{
    return shd_mesh_size_of_axes(mesh, axes->axes, axes->naxes);
}

static int64_t find_part(const struct shd_mesh *mesh, const struct shd_dim_axes *axes,
                         int32_t position)
{
    int64_t index = 0;

    for (size_t i = 0; i < axes->naxes; i++)
        index = index * shd_mesh_axis_size(mesh, axes->axes[i]) +
                shd_mesh_coord(mesh, position, axes->axes[i]);
    return index;
}

int64_t shd_sharding_nshards(const struct shd_sharding *sharding, size_t dim)
{
    if (!sharding || dim >= SHD_RANK_MAX)
        return 0;
    return count_parts(sharding->mesh, &sharding->dims[dim]);
}

int64_t shd_sharding_index(const struct shd_sharding *sharding, size_t dim, int32_t position)
{
    if (!sharding || dim >= SHD_RANK_MAX)
        return -1;
    return find_part(sharding->mesh, &sharding->dims[dim], position);
}

int64_t shd_sharding_npieces(const struct shd_sharding *sharding)
{
    if (!sharding)
        return 0;
    return count_parts(sharding->mesh, &sharding->flat);
}

int64_t shd_sharding_piece(const struct shd_sharding *sharding, int32_t position)
{
    if (!sharding)
        return -1;
    return find_part(sharding->mesh, &sharding->flat, position);
}

/* The longest of `nparts` parts, which are equal except that the last ones may be shorter. */
static int64_t longest_part(int64_t extent, int64_t nparts)
{
    return extent / nparts + (extent % nparts != 0);
}

int64_t shd_sharding_extent(const struct shd_sharding *sharding, const int64_t *shape, size_t dim)
{
    if (!sharding || !shape || dim >= sharding->rank)
        return 0;
    return longest_part(shape[dim], shd_sharding_nshards(sharding, dim));
}

/* Reduce the extents of a shard to those of one of its pieces. */
static void cut_flat(const struct shd_sharding *sharding, int64_t *local)
{
    int64_t count = 1;

    for (size_t d = 0; d < sharding->flat_dims; d++) {
        count *= local[d];
        local[d] = 1;
    }
    if (sharding->flat_dims > 0)
        local[sharding->flat_dims - 1] = longest_part(count, shd_sharding_npieces(sharding));
}

void shd_sharding_shard_shape(const struct shd_sharding *sharding, const int64_t *shape,
                              int64_t *out)
{
    if (!sharding || !out || (!shape && sharding->rank > 0))
        return;
    for (size_t d = 0; d < sharding->rank; d++)
        out[d] = shd_sharding_extent(sharding, shape, d);
    cut_flat(sharding, out);
}

void shd_sharding_offset(const struct shd_sharding *sharding, const int64_t *shape,
                         int32_t position, int64_t *out)
{
    if (!sharding || !out || (!shape && sharding->rank > 0))
        return;

    int64_t local[SHD_RANK_MAX];

    for (size_t d = 0; d < sharding->rank; d++)
        local[d] = shd_sharding_extent(sharding, shape, d);
    cut_flat(sharding, local);
    for (size_t d = 0; d < sharding->rank; d++) {
        out[d] = local[d] * shd_sharding_index(sharding, d, position);
        if (sharding->uneven && out[d] > shape[d])
            out[d] = shape[d];
    }
    if (sharding->flat_dims > 0) {
        size_t last = sharding->flat_dims - 1u;

        out[last] = local[last] * (shd_sharding_index(sharding, last, position) *
                                       shd_sharding_npieces(sharding) +
                                   shd_sharding_piece(sharding, position));
    }
}

/* The longest box of a shard that begins at element `from` of its first `n` dimensions, taken as
 * one, and ends at `end` at most; returns how many of these elements it has. */
static int64_t box_from(struct shd_box *box, const int64_t *local, size_t n, int64_t from,
                        int64_t end)
{
    int64_t stride = 1;
    size_t d = n;

    /* Find the outermost dimension that the box can extend along: it must begin at 0, and be
     * covered completely, in all dimensions further inside. */
    while (d > 1 && from % (stride * local[d - 1]) == 0 && from + stride * local[d - 1] <= end)
        stride *= local[--d];
    d--;
    for (size_t e = n; e-- > 0;) {
        int64_t inner = 1;

        for (size_t f = e + 1; f < n; f++)
            inner *= local[f];
        box->start[e] = e > d ? 0 : from / inner % local[e];
        box->extent[e] = e > d ? local[e] : 1;
    }
    box->extent[d] = (end - from) / stride;
    if (box->extent[d] > local[d] - box->start[d])
        box->extent[d] = local[d] - box->start[d];
    return box->extent[d] * stride;
}

/* Cut off the part of a box past the array's end; false if nothing is left. */
static bool cut_off(const struct shd_sharding *sharding, const int64_t *shape, struct shd_box *box)
{
    bool any = true;

    for (size_t d = 0; d < sharding->rank; d++) {
        if (box->extent[d] > shape[d] - box->start[d])
            box->extent[d] = shape[d] - box->start[d];
        any = any && (box->extent[d] > 0 || shape[d] == 0);
    }
    return any;
}

size_t shd_sharding_boxes(const struct shd_sharding *sharding, const int64_t *shape,
                          int32_t position, struct shd_box out[SHD_BOXES_MAX])
{
    if (!sharding || !out || (!shape && sharding->rank > 0))
        return 0;

    struct shd_sharding whole = *sharding;
    int64_t local[SHD_RANK_MAX], offset[SHD_RANK_MAX], count = 1, rest = 1, piece, from, end;
    size_t n = 0;

    whole.flat_dims = 0;
    shd_sharding_shard_shape(&whole, shape, local);
    shd_sharding_offset(&whole, shape, position, offset);
    for (size_t d = 0; d < sharding->rank; d++)
        *(d < sharding->flat_dims ? &count : &rest) *= local[d];
    piece = longest_part(count, shd_sharding_npieces(sharding));
    from = piece * shd_sharding_piece(sharding, position);
    end = from + piece < count ? from + piece : count;
    for (int64_t at = from; (at < end && rest > 0) || sharding->flat_dims == 0; n++) {
        memcpy(out[n].start, offset, sharding->rank * sizeof *offset);
        memcpy(out[n].extent, local, sharding->rank * sizeof *local);
        out[n].at = (at - from) * rest;
        if (sharding->flat_dims == 0)
            return cut_off(sharding, shape, &out[n]);
        at += box_from(&out[n], local, sharding->flat_dims, at, end);
        for (size_t d = 0; d < sharding->flat_dims; d++)
            out[n].start[d] += offset[d];
    }
    return n;
}

bool shd_sharding_is_replicated(const struct shd_sharding *sharding)
{
    if (!sharding || !sharding->mesh)
        return false;
    if (shd_sharding_npieces(sharding) != 1)
        return false;
    for (size_t d = 0; d < sharding->rank; d++) {
        if (shd_sharding_nshards(sharding, d) != 1)
            return false;
    }
    return true;
}

/* A mask of the axes along which slices differ.  Axes that cut a dimension without elements do not
 * count. */
static uint32_t slicing_axes(const struct shd_sharding *sharding, const int64_t *shape)
{
    struct shd_sharding seen = *sharding;

    for (size_t d = 0; d < sharding->rank; d++) {
        if (shape[d] == 0)
            seen.dims[d].naxes = 0;
    }
    return shd_sharding_axes(&seen);
}

/* Positions hold equal slices if they differ only along axes that do not slice.  The first position
 * of a group has coordinate 0 on those, so that counting through the other axes, in the mesh's
 * order, numbers groups by their first position. */
int32_t shd_sharding_replica_groups(const struct shd_sharding *sharding, const int64_t *shape,
                                    int32_t *group_ids, int32_t *replica_ids)
{
    if (!sharding || (!shape && sharding->rank > 0))
        return 0;

    const struct shd_mesh *mesh = sharding->mesh;
    uint32_t slicing = slicing_axes(sharding, shape);
    size_t naxes = shd_mesh_naxes(mesh);
    int32_t ngroups = (int32_t)shd_mesh_size_along(mesh, slicing);

    for (int32_t p = 0; p < shd_mesh_size(mesh); p++) {
        int32_t ids[2] = {0, 0}; /* of the replica, of the group */

        for (size_t a = 0; a < naxes; a++) {
            int32_t *id = &ids[slicing >> a & 1];

            *id = *id * shd_mesh_axis_size(mesh, a) + shd_mesh_coord(mesh, p, a);
        }
        if (replica_ids)
            replica_ids[p] = ids[0];
        if (group_ids)
            group_ids[p] = ids[1];
    }
    return ngroups;
}

static void print_partial(struct print *print, const struct shd_sharding *sharding)
{
    static const char *const ops[] = {"sum", "mean", "max", "min"};
    const char *separator = "";

    print_add(print, " partial %s over {", ops[sharding->partial_op]);
    for (size_t a = 0; a < shd_mesh_naxes(sharding->mesh); a++) {
        if (!(sharding->partial >> a & 1))
            continue;
        print_add(print, "%s%s", separator, shd_mesh_axis_name(sharding->mesh, a));
        separator = ",";
    }
    print_add(print, "}");
}

static void print_flat(struct print *print, const struct shd_sharding *sharding)
{
    print_add(print, " %s over {", sharding->flat_dims == sharding->rank ? "flat" : "rows");
    for (size_t i = 0; i < sharding->flat.naxes; i++)
        print_add(print, "%s%s", i > 0 ? "," : "",
                  shd_mesh_axis_name(sharding->mesh, sharding->flat.axes[i]));
    print_add(print, "}");
}

size_t shd_sharding_print(const struct shd_sharding *sharding, char *buf, size_t size)
{
    if (!sharding || (!buf && size > 0))
        return 0;

    struct print print;

    print_init(&print, buf, size);
    print_add(&print, "[");
    for (size_t d = 0; d < sharding->rank; d++) {
        const struct shd_dim_axes *dim = &sharding->dims[d];

        print_add(&print, "%s{", d > 0 ? ", " : "");
        for (size_t i = 0; i < dim->naxes; i++)
            print_add(&print, "%s%s", i > 0 ? "," : "",
                      shd_mesh_axis_name(sharding->mesh, dim->axes[i]));
        print_add(&print, "}");
    }
    print_add(&print, "]");
    if (sharding->flat.naxes > 0)
        print_flat(&print, sharding);
    if (sharding->partial)
        print_partial(&print, sharding);
    return print.length;
}
