/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/spread.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "capture/axes.h"

struct spread {
    struct capture *capture;
    const struct shd_mesh *mesh;
    int32_t *typical; /* by device: the traced device that it is assumed to act like; itself if
                         traced */
    int32_t *at;      /* by position in the mesh: the device */
    uint32_t nleft;   /* lists of groups that follow no axes */
    struct shd_error *err;
};

static int no_memory(struct shd_error *err)
{
    return shd_error_set(err, SHD_ENOMEM, "no memory for the groups of other ranks");
}

static int find_typical(struct spread *s)
{
    const struct capture *c = s->capture;
    uint32_t next = 0;

    s->typical = calloc((size_t)c->ndevices, sizeof *s->typical);
    s->at = calloc((size_t)c->ndevices, sizeof *s->at);
    if (!s->typical || !s->at)
        return no_memory(s->err);
    for (int32_t d = 0; d < c->ndevices; d++) {
        while (next < c->ntraced && c->traced[next] <= d)
            next++;
        s->typical[d] = c->traced[next ? next - 1 : 0];
        s->at[shd_mesh_find_device(s->mesh, d)] = d;
    }
    return SHD_OK;
}

/* ---- groups ---- */

/* All groups along some axes; each is a row of `size` devices. */
struct boxes {
    int32_t *ids;
    uint32_t *box_of; /* by device */
    uint32_t n, size;
};

static void boxes_fini(struct boxes *boxes)
{
    free(boxes->ids);
    free(boxes->box_of);
}

static int boxes_init(struct boxes *boxes, const struct spread *s, uint32_t axes)
{
    size_t ndevices = (size_t)s->capture->ndevices;

    *boxes = (struct boxes){.size = (uint32_t)shd_mesh_size_along(s->mesh, axes)};
    boxes->n = (uint32_t)ndevices / boxes->size;
    boxes->ids = calloc(ndevices, sizeof *boxes->ids);
    boxes->box_of = calloc(ndevices, sizeof *boxes->box_of);
    if (!boxes->ids || !boxes->box_of)
        return no_memory(s->err);
    for (int32_t place = 0; place < (int32_t)ndevices; place++) {
        uint32_t box = 0, member = 0;

        for (size_t a = 0; a < shd_mesh_naxes(s->mesh); a++) {
            uint32_t *number = axes >> a & 1 ? &member : &box;

            *number = *number * (uint32_t)shd_mesh_axis_size(s->mesh, a) +
                      (uint32_t)shd_mesh_coord(s->mesh, place, a);
        }
        boxes->ids[(size_t)box * boxes->size + member] = s->at[place];
        boxes->box_of[s->at[place]] = box;
    }
    return SHD_OK;
}

/* Whether a box outside the list has only ranks without a trace, and they act like ranks of a box
 * in the list. */
static bool is_like(const struct spread *s, const struct boxes *boxes, uint32_t box,
                    const bool *listed)
{
    const int32_t *ids = boxes->ids + (size_t)box * boxes->size;
    int32_t lowest = ids[0];

    for (uint32_t i = 0; i < boxes->size; i++) {
        if (s->typical[ids[i]] == ids[i])
            return false;
        lowest = ids[i] < lowest ? ids[i] : lowest;
    }
    return listed[boxes->box_of[s->typical[lowest]]];
}

static int fill(const struct spread *s, struct capture_groups *groups, const struct boxes *boxes,
                const bool *listed)
{
    int32_t *ids = calloc((size_t)s->capture->ndevices, sizeof *ids);
    uint32_t *first = calloc((size_t)boxes->n + 1, sizeof *first), n = 0;

    if (!ids || !first) {
        free(ids);
        free(first);
        return no_memory(s->err);
    }
    for (uint32_t box = 0; box < boxes->n; box++)
        if (listed[box] || is_like(s, boxes, box, listed)) {
            memcpy(ids + (size_t)n * boxes->size, boxes->ids + (size_t)box * boxes->size,
                   boxes->size * sizeof *ids);
            n++;
            first[n] = n * boxes->size;
        }
    free(groups->first);
    free(groups->ids);
    groups->first = first;
    groups->ids = ids;
    groups->ngroups = n;
    return SHD_OK;
}

static int spread_groups(struct spread *s, struct capture_groups *groups)
{
    struct boxes boxes;
    bool follow, *listed;
    uint32_t axes = axes_of(groups, s->mesh, &follow);
    int status;

    if (!axes) {
        s->nleft += !follow;
        return SHD_OK;
    }
    status = boxes_init(&boxes, s, axes);
    listed = calloc((size_t)boxes.n + 1, sizeof *listed);
    if (status == SHD_OK && !listed)
        status = no_memory(s->err);
    for (uint32_t g = 0; g < groups->ngroups && status == SHD_OK; g++)
        listed[boxes.box_of[groups->ids[groups->first[g]]]] = true;
    if (status == SHD_OK)
        status = fill(s, groups, &boxes, listed);
    free(listed);
    boxes_fini(&boxes);
    return status;
}

/* ---- pairs ---- */

/* The device at the same distance from `d` as `to` is from `from`. */
static int32_t moved(const struct spread *s, int32_t d, int32_t from, int32_t to)
{
    int32_t a = shd_mesh_find_device(s->mesh, from), b = shd_mesh_find_device(s->mesh, to);
    int32_t own = shd_mesh_find_device(s->mesh, d), place = 0;

    for (size_t i = 0; i < shd_mesh_naxes(s->mesh); i++) {
        int32_t size = shd_mesh_axis_size(s->mesh, i);
        int32_t step = shd_mesh_coord(s->mesh, b, i) - shd_mesh_coord(s->mesh, a, i);

        place = place * size + (shd_mesh_coord(s->mesh, own, i) + step + size) % size;
    }
    return s->at[place];
}

static int spread_pairs(struct spread *s, struct capture_groups *groups)
{
    uint32_t room = (uint32_t)s->capture->ndevices + groups->ngroups, n = groups->ngroups;
    int32_t *ids = calloc(2 * (size_t)room, sizeof *ids);
    uint32_t *first = calloc((size_t)room + 1, sizeof *first);
    uint32_t *pair_of = calloc((size_t)s->capture->ndevices, sizeof *pair_of); /* by sender:
                                                                                  number of the
                                                                                  pair + 1 */

    if (!ids || !first || !pair_of) {
        free(ids);
        free(first);
        free(pair_of);
        return no_memory(s->err);
    }
    memcpy(ids, groups->ids, 2 * (size_t)n * sizeof *ids);
    for (uint32_t g = 0; g < n; g++) {
        int32_t from = ids[2 * (size_t)g], to = ids[2 * (size_t)g + 1];

        /* A message seen only by its receiver belongs to the receiver. */
        pair_of[s->typical[from] == from ? from : to] = g + 1;
    }
    for (int32_t d = 0; d < s->capture->ndevices; d++) {
        uint32_t pair = pair_of[s->typical[d]];
        int32_t from, to;

        if (s->typical[d] == d || !pair)
            continue;
        from = ids[2 * (size_t)(pair - 1)];
        to = ids[2 * (size_t)(pair - 1) + 1];
        ids[2 * (size_t)n] = s->typical[d] == from ? d : moved(s, d, to, from);
        ids[2 * (size_t)n + 1] = s->typical[d] == from ? moved(s, d, from, to) : d;
        n++;
    }
    for (uint32_t g = 0; g < n; g++)
        first[g + 1] = 2 * (g + 1);
    free(pair_of);
    free(groups->first);
    free(groups->ids);
    groups->first = first;
    groups->ids = ids;
    groups->ngroups = n;
    return SHD_OK;
}

/* ---- */

static int note(struct spread *s)
{
    struct text ranks = TEXT_INIT;
    const struct capture *c = s->capture;
    int status = SHD_OK;

    for (uint32_t i = 0; i < c->ntraced && i < 8; i++)
        text_addf(&ranks, "%s%d", i ? ", " : "", c->traced[i]);
    if (c->ntraced > 8)
        text_addf(&ranks, " and %u more", c->ntraced - 8);
    if (ranks.failed)
        status = no_memory(s->err);
    else
        status = capture_note(
            s->capture, s->err,
            "%s %s of %d %s read; each other rank is assumed to do the same as the nearest traced "
            "rank before it, in its own groups along the same mesh axes.",
            c->ntraced == 1 ? "The trace of rank" : "The traces of ranks", text_get(&ranks),
            c->ndevices, c->ntraced == 1 ? "was" : "were");
    text_fini(&ranks);
    if (status == SHD_OK && s->nleft)
        status = capture_note(s->capture, s->err,
                              "Some groups follow no mesh axes: the groups of untraced ranks are "
                              "unknown and not counted.");
    return status;
}

int spread_over(struct capture *capture, const struct shd_mesh *mesh, struct shd_error *err)
{
    struct spread s = {.capture = capture, .mesh = mesh, .err = err};
    int status = SHD_OK;

    if (!capture->ntraced)
        return SHD_OK;
    status = find_typical(&s);
    for (uint32_t i = 0; i < capture->ngroups && status == SHD_OK; i++)
        status = capture->groups[i].pairs ? spread_pairs(&s, &capture->groups[i])
                                          : spread_groups(&s, &capture->groups[i]);
    if (status == SHD_OK)
        status = note(&s);
    free(s.typical);
    free(s.at);
    return status;
}
