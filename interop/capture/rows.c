/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "capture/axes.h"
#include "capture/sums.h"

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool alike(const struct capture_collective *a, const struct capture_collective *b)
{
    return !strcmp(a->op, b->op) && a->groups == b->groups && a->phase == b->phase &&
           a->bytes == b->bytes && a->npieces == b->npieces && same_text(a->where, b->where);
}

static uint64_t hash_of(const struct capture_collective *c)
{
    const uint64_t numbers[] = {c->groups, (uint64_t)c->phase, c->bytes, c->npieces};
    uint64_t hash = hash_bytes(HASH_BEGIN, numbers, sizeof numbers);

    hash = hash_bytes(hash, c->op, strlen(c->op));
    return c->where ? hash_bytes(hash, c->where, strlen(c->where)) : hash;
}

/* The row of a collective, which is empty if it is new; NULL: no memory. */
static struct rows_row *find_row(struct map *index, struct rows *rows,
                                 const struct capture_collective *c)
{
    struct map_walk walk = map_find(index, hash_of(c));

    for (uint32_t i; (i = map_next(&walk)) != MAP_NONE;)
        if (alike(rows->rows[i].first, c))
            return &rows->rows[i];
    if (!map_add(index, hash_of(c), (uint32_t)rows->nrows))
        return NULL;
    rows->rows[rows->nrows] = (struct rows_row){.first = c};
    return &rows->rows[rows->nrows++];
}

/* Hardware group of ids that follow no axes: how many of the first group's members share each tier
 * with its first member. */
static void group_of_ids(struct hardware_group *out, const struct hardware *hardware,
                         const struct capture_groups *groups)
{
    *out = (struct hardware_group){.along = {1, 1, 1}, .step = {1, 1, 1}};
    out->members = groups->ngroups ? groups->first[1] : 1;
    for (int t = 0; t < hardware->ntiers; t++)
        for (uint32_t i = 0; groups->ngroups && i < groups->first[1]; i++)
            out->inside[t] += hardware_tier_between(hardware, groups->ids[0], groups->ids[i]) <= t;
}

/* Seconds of a permute: its slowest pair. */
static double pairs_seconds(const struct hardware *hardware, const struct capture_groups *groups,
                            double bytes)
{
    double most = 0;

    for (uint32_t g = 0; g < groups->ngroups; g++) {
        int32_t from = groups->ids[groups->first[g]], to = groups->ids[groups->first[g] + 1];
        double seconds = from == to ? 0 : hardware_message_seconds(hardware, from, to, bytes);

        most = seconds > most ? seconds : most;
    }
    return most;
}

static double seconds_of(const struct rows_row *row, const struct capture *capture,
                         const struct shd_mesh *mesh, const struct hardware *hardware)
{
    const struct capture_groups *groups = &capture->groups[row->first->groups];
    struct hardware_group group;
    uint8_t axes[SHD_MESH_AXES_MAX];
    size_t naxes = 0;

    if (groups->pairs)
        return pairs_seconds(hardware, groups, (double)row->first->bytes);
    for (size_t a = 0; a < shd_mesh_naxes(mesh); a++)
        if (row->axes >> a & 1)
            axes[naxes++] = (uint8_t)a;
    if (row->follows && naxes > 0)
        hardware_group_of(&group, hardware, mesh, axes, naxes);
    else
        group_of_ids(&group, hardware, groups);
    return hardware_collective_seconds(hardware, row->first->kind, &group,
                                       (double)row->first->bytes);
}

/* Axes of a list of groups, cached per list. */
struct looked {
    bool known, follows;
    uint32_t axes;
};

static void look(struct rows_row *row, struct looked *looked, const struct capture *capture,
                 const struct shd_mesh *mesh)
{
    const struct capture_collective *c = row->first;

    if (!looked->known)
        looked->axes = axes_of(&capture->groups[c->groups], mesh, &looked->follows);
    looked->known = true;
    row->axes = looked->axes;
    row->follows = looked->follows;
}

static bool fold(struct rows *out, struct map *index, struct looked *looked,
                 const struct capture *capture, const struct shd_mesh *mesh)
{
    for (uint32_t i = 0; i < capture->ncollectives; i++) {
        const struct capture_collective *c = &capture->collectives[i];
        struct rows_row *row = find_row(index, out, c);

        if (!row)
            return false;
        if (row->instructions++ == 0)
            look(row, &looked[c->groups], capture, mesh);
        row->count += c->times;
        row->received_bytes += sums_collective(capture, c);
    }
    return true;
}

int rows_init(struct rows *out, const struct capture *capture, const struct shd_mesh *mesh,
              const struct hardware *hardware, struct shd_error *err)
{
    struct looked *looked = calloc((size_t)capture->ngroups + 1, sizeof *looked);
    struct map index = {.n = 0};
    bool good;

    *out = (struct rows){.rows = calloc((size_t)capture->ncollectives + 1, sizeof *out->rows)};
    good = out->rows && looked && fold(out, &index, looked, capture, mesh);
    free(looked);
    map_fini(&index);
    if (!good) {
        rows_fini(out);
        return shd_error_set(err, SHD_ENOMEM, "no memory for %u rows", capture->ncollectives);
    }
    for (size_t i = 0; i < out->nrows; i++) {
        struct rows_row *row = &out->rows[i];

        if (hardware)
            row->seconds = (double)row->count * seconds_of(row, capture, mesh, hardware);
        out->received_bytes += row->received_bytes;
        out->seconds += row->seconds;
    }
    return SHD_OK;
}

void rows_fini(struct rows *rows)
{
    free(rows->rows);
    *rows = (struct rows){.rows = NULL};
}
