/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/hlo_groups.h"

#include <stdlib.h>
#include <string.h>

#define DIMENSIONS_MAX 16
#define LISTED_MAX                                                            \
    (CAPTURE_DEVICES_MAX * 2) /* ids, and groups: in pairs a device may occur \
                                 twice */

/* Groups of ids as listed in the text. */
struct listed {
    uint32_t ngroups;
    uint32_t *first; /* [ngroups + 1] */
    int32_t *ids;
    size_t nids;
};

static void listed_fini(struct listed *listed)
{
    free(listed->first);
    free(listed->ids);
}

static int listed_init(struct listed *out, uint32_t ngroups, size_t nids, struct shd_error *err)
{
    out->ngroups = ngroups;
    out->nids = nids;
    out->first = calloc((size_t)ngroups + 1, sizeof *out->first);
    out->ids = calloc(nids ? nids : 1, sizeof *out->ids);
    return out->first && out->ids
               ? SHD_OK
               : shd_error_set(err, SHD_ENOMEM, "no memory for %u groups of devices", ngroups);
}

static int bad_groups(struct shd_error *err)
{
    return shd_error_set(err, SHD_EINVAL,
                         "invalid groups; expected {{0,1},{2,3}}, [2,4]<=[8], [4,2]<=[2,4]T(1,0), "
                         "or mesh['x'=2,'y'=4] {'y'}");
}

/* ---- {{0,1},{2,3}} ---- */

static bool next_group(struct hlo_piece *all, struct hlo_piece *group)
{
    (void)hlo_take(all, ',');
    return hlo_take_bracket(all, group);
}

/* Read a group's ids into ids[n] and on (NULL: count only); returns the new n, or SIZE_MAX. */
static size_t read_ids(struct hlo_piece group, int32_t *ids, size_t n)
{
    uint64_t id;

    for (hlo_skip(&group); group.at < group.end; hlo_skip(&group)) {
        if (!hlo_take_number(&group, &id) || id >= CAPTURE_DEVICES_MAX || n >= LISTED_MAX)
            return SIZE_MAX;
        if (ids)
            ids[n] = (int32_t)id;
        n++;
        (void)hlo_take(&group, ',');
    }
    return n;
}

static int read_explicit(struct listed *out, struct hlo_piece value, struct shd_error *err)
{
    struct hlo_piece all, rest, group;
    uint32_t ngroups = 0;
    size_t nids = 0;
    int status;

    if (!hlo_take_bracket(&value, &all))
        return bad_groups(err);
    for (rest = all; next_group(&rest, &group); ngroups++)
        if (nids != SIZE_MAX)
            nids = read_ids(group, NULL, nids);
    hlo_skip(&rest);
    if (nids == SIZE_MAX || rest.at != rest.end)
        return bad_groups(err);
    status = listed_init(out, ngroups, nids, err);
    if (status != SHD_OK)
        return status;
    nids = 0;
    for (uint32_t g = 0; g < ngroups && next_group(&all, &group); g++) {
        nids = read_ids(group, out->ids, nids);
        out->first[g + 1] = (uint32_t)nids;
    }
    return SHD_OK;
}

/* ---- [4,2]<=[2,4]T(1,0) ---- */

struct dimensions {
    uint32_t n;
    uint64_t extents[DIMENSIONS_MAX];
    uint64_t size; /* of all */
};

/* Read numbers separated by commas. */
static bool read_numbers(struct dimensions *out, struct hlo_piece inside)
{
    *out = (struct dimensions){.size = 1};
    for (hlo_skip(&inside); inside.at < inside.end; hlo_skip(&inside)) {
        if (out->n == DIMENSIONS_MAX || !hlo_take_number(&inside, &out->extents[out->n]) ||
            __builtin_mul_overflow(out->size, out->extents[out->n], &out->size))
            return false;
        out->n++;
        (void)hlo_take(&inside, ',');
    }
    return true;
}

static bool read_dimensions(struct dimensions *out, struct hlo_piece inside)
{
    return read_numbers(out, inside) && out->size >= 1 && out->size <= CAPTURE_DEVICES_MAX;
}

static bool is_permutation(const struct dimensions *order)
{
    uint32_t seen = 0;

    for (uint32_t i = 0; i < order->n; i++) {
        if (order->extents[i] >= order->n || (seen >> order->extents[i] & 1))
            return false;
        seen |= UINT32_C(1) << order->extents[i];
    }
    return true;
}

/* Read "[2,4]T(1,0)" or "[8]", and write 0, 1, 2, ... of that shape, transposed, into ids. */
static bool read_iota(int32_t *ids, size_t nids, struct hlo_piece *value)
{
    struct dimensions shape, order = {.n = 0}, at = {.n = 0};
    struct hlo_piece inside;
    uint64_t stride[DIMENSIONS_MAX], step = 1;

    if (!hlo_take_bracket(value, &inside) || !read_dimensions(&shape, inside) || shape.size != nids)
        return false;
    for (uint32_t i = 0; i < shape.n; i++)
        order.extents[order.n++] = i;
    if (hlo_take_word(value, "T") &&
        (!hlo_take_bracket(value, &inside) || !read_numbers(&order, inside) || order.n != shape.n ||
         !is_permutation(&order)))
        return false;
    for (uint32_t i = shape.n; i-- > 0;) {
        stride[i] = step;
        step *= shape.extents[i];
    }
    for (size_t k = 0; k < nids; k++) {
        uint64_t id = 0;

        for (uint32_t i = 0; i < shape.n; i++)
            id += at.extents[i] * stride[order.extents[i]];
        ids[k] = (int32_t)id;
        for (uint32_t i = shape.n; i-- > 0;) {
            if (++at.extents[i] < shape.extents[order.extents[i]])
                break;
            at.extents[i] = 0;
        }
    }
    return true;
}

static int read_tiled(struct listed *out, struct hlo_piece value, struct shd_error *err)
{
    struct dimensions tile;
    struct hlo_piece inside;
    uint64_t members;
    int status;

    if (!hlo_take_bracket(&value, &inside) || !read_dimensions(&tile, inside) || tile.n < 1 ||
        !hlo_take_word(&value, "<="))
        return bad_groups(err);
    members = tile.extents[tile.n - 1];
    status = listed_init(out, (uint32_t)(tile.size / members), tile.size, err);
    if (status != SHD_OK)
        return status;
    if (!read_iota(out->ids, out->nids, &value))
        return bad_groups(err);
    for (uint32_t g = 0; g <= out->ngroups; g++)
        out->first[g] = (uint32_t)(g * members);
    return SHD_OK;
}

/* ---- mesh['x'=4,'y'=2], device_ids=([2,2,2]T(0,2,1)) {'x':(2)2,'y'} ---- */

struct mesh_axes {
    struct dimensions sizes;
    struct hlo_piece names[DIMENSIONS_MAX];
};

static bool take_quoted(struct hlo_piece *piece, struct hlo_piece *name)
{
    if (!hlo_take(piece, '\''))
        return false;
    name->at = piece->at;
    while (piece->at < piece->end && *piece->at != '\'')
        piece->at++;
    name->end = piece->at;
    return hlo_take(piece, '\'');
}

static bool read_mesh(struct mesh_axes *out, struct hlo_piece inside)
{
    struct dimensions *sizes = &out->sizes;

    *sizes = (struct dimensions){.size = 1};
    for (hlo_skip(&inside); inside.at < inside.end; hlo_skip(&inside)) {
        if (sizes->n == DIMENSIONS_MAX || !take_quoted(&inside, &out->names[sizes->n]) ||
            !hlo_take(&inside, '=') || !hlo_take_number(&inside, &sizes->extents[sizes->n]) ||
            __builtin_mul_overflow(sizes->size, sizes->extents[sizes->n], &sizes->size))
            return false;
        sizes->n++;
        (void)hlo_take(&inside, ',');
    }
    return sizes->size >= 1 && sizes->size <= CAPTURE_DEVICES_MAX;
}

/* An axis, or a part of an axis, along which groups lie: distance of neighbours, and their
 * number. */
struct along {
    uint64_t stride, extent;
};

static bool read_along(struct along *out, struct hlo_piece *piece, const struct mesh_axes *mesh)
{
    struct hlo_piece name, before;
    uint64_t outer = 1, stride = 1;
    uint32_t axis = mesh->sizes.n;

    if (!take_quoted(piece, &name))
        return false;
    while (axis > 0) {
        const struct hlo_piece *own = &mesh->names[--axis];

        if (own->end - own->at == name.end - name.at &&
            !memcmp(own->at, name.at, (size_t)(name.end - name.at)))
            break;
        if (axis == 0)
            return false;
        stride *= mesh->sizes.extents[axis];
    }
    if (mesh->sizes.n == 0)
        return false;
    out->extent = mesh->sizes.extents[axis];
    if (hlo_take(piece, ':') &&
        (!hlo_take_bracket(piece, &before) || !hlo_take_number(&before, &outer) ||
         !hlo_take_number(piece, &out->extent) || outer == 0 || out->extent == 0))
        return false;
    if (outer > mesh->sizes.extents[axis] || out->extent > mesh->sizes.extents[axis] / outer ||
        mesh->sizes.extents[axis] % (outer * out->extent))
        return false;
    out->stride = stride * (mesh->sizes.extents[axis] / (outer * out->extent));
    return true;
}

/* Read the device at each position: "('x','y')", "([2,4]T(1,0))" or "(0,2,1,3)". */
static bool read_device_ids(int32_t *ids, size_t nids, struct hlo_piece *value)
{
    struct hlo_piece inside, rest;

    if (!hlo_take_bracket(value, &inside))
        return false;
    rest = inside;
    hlo_skip(&rest);
    if (rest.at < rest.end && *rest.at == '[')
        return read_iota(ids, nids, &rest);
    return read_ids(inside, NULL, 0) == nids && read_ids(inside, ids, 0) == nids;
}

/* Fill in groups: positions that differ along the group's axes only form a group. */
static int fill_mesh_groups(struct listed *out, const int32_t *device, const struct along *along,
                            uint32_t nalong, uint64_t members, struct shd_error *err)
{
    uint32_t *group_of = calloc(out->nids, sizeof *group_of), ngroups = 0;

    if (!group_of)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the groups of a mesh");
    for (size_t position = 0; position < out->nids; position++) {
        uint64_t first = position, member = 0;

        for (uint32_t i = 0; i < nalong; i++) {
            uint64_t coordinate = position / along[i].stride % along[i].extent;

            member = member * along[i].extent + coordinate;
            first -= coordinate * along[i].stride;
        }
        if (first == position)
            group_of[position] = ngroups++;
        out->ids[group_of[first] * members + member] = device[position];
    }
    free(group_of);
    for (uint32_t g = 0; g <= out->ngroups; g++)
        out->first[g] = (uint32_t)(g * members);
    return SHD_OK;
}

/* Whether no two parts overlap, so that each coordinate counts once. */
static bool along_are_apart(const struct along *along, uint32_t n, uint64_t size, uint64_t *members)
{
    *members = 1;
    for (uint32_t i = 0; i < n; i++) {
        if (__builtin_mul_overflow(*members, along[i].extent, members) || *members > size)
            return false;
        for (uint32_t j = 0; j < i; j++)
            if (along[i].extent > 1 && along[j].extent > 1 &&
                along[i].stride < along[j].stride * along[j].extent &&
                along[j].stride < along[i].stride * along[i].extent)
                return false;
    }
    return size % *members == 0;
}

static int read_mesh_groups(struct listed *out, struct hlo_piece value, struct shd_error *err)
{
    struct along along[DIMENSIONS_MAX];
    struct mesh_axes mesh;
    struct hlo_piece inside;
    uint64_t members = 1;
    uint32_t nalong = 0;
    int32_t *device;
    bool good;
    int status;

    if (!hlo_take_word(&value, "mesh") || !hlo_take_bracket(&value, &inside) ||
        !read_mesh(&mesh, inside))
        return bad_groups(err);
    device = calloc(mesh.sizes.size, sizeof *device);
    if (!device)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the devices of a mesh");
    for (size_t i = 0; i < mesh.sizes.size; i++)
        device[i] = (int32_t)i;
    good = true;
    if (hlo_take(&value, ','))
        good = hlo_take_word(&value, "device_ids=") &&
               read_device_ids(device, mesh.sizes.size, &value);
    good = good && hlo_take_bracket(&value, &inside);
    for (; good && (hlo_skip(&inside), inside.at < inside.end); nalong++) {
        good = nalong < DIMENSIONS_MAX && read_along(&along[nalong], &inside, &mesh);
        (void)hlo_take(&inside, ',');
    }
    status = good && along_are_apart(along, nalong, mesh.sizes.size, &members) ? SHD_OK
                                                                               : bad_groups(err);
    if (status == SHD_OK)
        status = listed_init(out, (uint32_t)(mesh.sizes.size / members), mesh.sizes.size, err);
    if (status == SHD_OK)
        status = fill_mesh_groups(out, device, along, nalong, members, err);
    free(device);
    return status;
}

/* ---- from listed ids to devices ---- */

static int read_listed(struct listed *out, struct hlo_piece value, struct shd_error *err)
{
    *out = (struct listed){.first = NULL};
    hlo_skip(&value);
    if (value.at == value.end)
        return bad_groups(err);
    switch (*value.at) {
    case '{':
        return read_explicit(out, value, err);
    case '[':
        return read_tiled(out, value, err);
    default:
        return read_mesh_groups(out, value, err);
    }
}

/* Replace a list by one group of all ids, the meaning of "{}". */
static int list_all(struct listed *listed, int32_t n, struct shd_error *err)
{
    int status;

    listed_fini(listed);
    status = listed_init(listed, 1, (size_t)n, err);
    for (int32_t i = 0; status == SHD_OK && i < n; i++)
        listed->ids[i] = i;
    if (status == SHD_OK)
        listed->first[1] = (uint32_t)n;
    return status;
}

/* How many groups of devices a listed group stands for, how many devices an id stands for, and the
 * limit of ids. */
static void copies(enum hlo_ids ids, const struct hlo_devices *devices, int32_t *of_groups,
                   int32_t *of_ids, int32_t *limit)
{
    *of_groups = ids == HLO_REPLICAS     ? devices->partitions
                 : ids == HLO_PARTITIONS ? devices->replicas
                                         : 1;
    *of_ids = ids == HLO_REPLICAS_WITH_PARTS ? devices->partitions : 1;
    *limit = ids == HLO_DEVICES      ? devices->replicas * devices->partitions
             : ids == HLO_PARTITIONS ? devices->partitions
                                     : devices->replicas;
}

static int32_t device_of(enum hlo_ids ids, const struct hlo_devices *devices, int32_t id,
                         int32_t copy, int32_t part)
{
    switch (ids) {
    case HLO_REPLICAS:
        return id * devices->partitions + copy;
    case HLO_PARTITIONS:
        return copy * devices->partitions + id;
    case HLO_REPLICAS_WITH_PARTS:
        return id * devices->partitions + part;
    default:
        return id;
    }
}

static int check_ids(const struct listed *listed, int32_t limit, bool pairs, struct shd_error *err)
{
    bool *seen = calloc((size_t)limit + 1, sizeof *seen);
    int status = seen ? SHD_OK : shd_error_set(err, SHD_ENOMEM, "no memory for ids");

    for (size_t i = 0; status == SHD_OK && i < listed->nids; i++) {
        int32_t id = listed->ids[i];

        if (id >= limit)
            status = shd_error_set(err, SHD_EINVAL,
                                   "device %d is in a group, but there are only %d devices; change "
                                   "it with --devices=N",
                                   id, limit);
        else if (seen[id] && !pairs)
            status = shd_error_set(err, SHD_EINVAL, "device %d is in two groups", id);
        else
            seen[id] = true;
    }
    free(seen);
    return status;
}

static int to_devices(uint32_t *out, struct capture *capture, const struct listed *listed,
                      enum hlo_ids ids, const struct hlo_devices *devices, struct shd_error *err)
{
    int32_t of_groups, of_ids, limit;
    struct capture_groups *groups;
    uint32_t g = 0, n = 0;
    int status;

    copies(ids, devices, &of_groups, &of_ids, &limit);
    if ((uint64_t)listed->ngroups * (uint64_t)of_groups > LISTED_MAX ||
        (uint64_t)listed->nids * (uint64_t)of_groups * (uint64_t)of_ids > LISTED_MAX)
        return shd_error_set(err, SHD_EINVAL, "more than %d devices in groups", LISTED_MAX);
    status = capture_add_groups(out, capture, listed->ngroups * (uint32_t)of_groups,
                                listed->nids * (size_t)of_groups * (size_t)of_ids, err);
    if (status != SHD_OK)
        return status;
    groups = &capture->groups[*out];
    for (int32_t copy = 0; copy < of_groups; copy++)
        for (uint32_t l = 0; l < listed->ngroups; l++) {
            for (uint32_t i = listed->first[l]; i < listed->first[l + 1]; i++)
                for (int32_t part = 0; part < of_ids; part++)
                    groups->ids[n++] = device_of(ids, devices, listed->ids[i], copy, part);
            groups->first[++g] = n;
        }
    return SHD_OK;
}

/* ---- lists read before ---- */

/* The text of a value, without the rest of the instruction. */
static struct hlo_piece extent_of(struct hlo_piece value)
{
    struct hlo_piece rest = value, inside;

    if (hlo_take_word(&rest, "mesh")) {
        (void)hlo_take_bracket(&rest, &inside);
        if (hlo_take(&rest, ',') && hlo_take_word(&rest, "device_ids="))
            (void)hlo_take_bracket(&rest, &inside);
        (void)hlo_take_bracket(&rest, &inside);
    } else {
        (void)hlo_take_until(&rest, ',');
    }
    return (struct hlo_piece){value.at, rest.at};
}

static int read_new(uint32_t *out, struct capture *capture, struct hlo_piece value, bool pairs,
                    enum hlo_ids ids, const struct hlo_devices *devices, struct shd_error *err)
{
    int32_t of_groups, of_ids, limit;
    struct listed listed;
    int status = read_listed(&listed, value, err);

    copies(ids, devices, &of_groups, &of_ids, &limit);
    if (status == SHD_OK && listed.ngroups == 0 && !pairs)
        status = list_all(&listed, limit, err);
    if (status == SHD_OK)
        status = check_ids(&listed, limit, pairs, err);
    for (uint32_t g = 0; status == SHD_OK && pairs && g < listed.ngroups; g++)
        if (listed.first[g + 1] - listed.first[g] != 2)
            status = shd_error_set(err, SHD_EINVAL,
                                   "a pair of %u devices; expected a source and a target",
                                   listed.first[g + 1] - listed.first[g]);
    if (status == SHD_OK)
        status = to_devices(out, capture, &listed, ids, devices, err);
    listed_fini(&listed);
    return status;
}

static int read_or_find(uint32_t *out, struct hlo_lists *lists, struct hlo_piece value, bool pairs,
                        enum hlo_ids ids, struct shd_error *err)
{
    struct hlo_piece text = extent_of(value);
    uint32_t scope = (uint32_t)ids * 2 + pairs;
    int status = SHD_OK;

    *out = hlo_names_find(&lists->numbers, text, scope);
    if (*out != HLO_NO_NUMBER)
        return SHD_OK;
    status = read_new(out, lists->capture, value, pairs, ids, &lists->devices, err);
    if (status != SHD_OK)
        return status;
    lists->capture->groups[*out].pairs = pairs;
    return hlo_names_put(&lists->numbers, text, scope, *out)
               ? SHD_OK
               : shd_error_set(err, SHD_ENOMEM, "no memory for groups of devices");
}

int hlo_groups(uint32_t *out, struct hlo_lists *lists, struct hlo_piece value, enum hlo_ids ids,
               struct shd_error *err)
{
    return read_or_find(out, lists, value, false, ids, err);
}

int hlo_pairs(uint32_t *out, struct hlo_lists *lists, struct hlo_piece value, enum hlo_ids ids,
              struct shd_error *err)
{
    return read_or_find(out, lists, value, true, ids, err);
}
