/* Sets of layouts that share all but ZeRO and the order of the mesh's axes: their bounds, and their
 * members (search_work.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "search/layout_bounds.h"
#include "search/search_work.h"

/* ---- views ---- */

/* Members of a set that stand for all: with each placement of the axes that pieces of layers and
 * messages between stages depend on, and with the stage of ZeRO that adds the least gradients. */
struct views {
    struct layout of[SPACE_ORDERS];
    int n;
};

/* Whether two members have their axes at the same distances, those of replicas aside. */
static bool is_same_view(const struct layout *a, const struct layout *b)
{
    static const enum space_choice axes[] = {SPACE_TP, SPACE_CP, SPACE_PP};

    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++)
        if (a->value[axes[i]] > 1 && space_stride(a, axes[i]) != space_stride(b, axes[i]))
            return false;
    return space_expert_replicas(a) == 1 || space_stride(a, SPACE_DP) == space_stride(b, SPACE_DP);
}

static void add_view(struct views *views, const struct layout *view)
{
    for (int i = 0; i < views->n; i++)
        if (is_same_view(&views->of[i], view))
            return;
    views->of[views->n++] = *view;
}

static void find_views(struct views *out, const struct search *s, const struct search_item *set)
{
    const struct space *space = &s->subject->space;
    struct layout view = set->layout;

    out->n = 0;
    view.value[SPACE_ZERO] = space_allows(space, SPACE_ZERO, 2)   ? 2
                             : space_allows(space, SPACE_ZERO, 3) ? 3
                                                                  : 0;
    for (int32_t o = 0; (o = space_next_order(space, &view, o)) >= 0; o++) {
        view.value[SPACE_ORDER] = o;
        add_view(out, &view);
    }
}

/* ---- bounds ---- */

/* The same layout with more sequences at a time, a multiple, so that many layouts share a piece:
 * its time for each sequence is the least.  With experts the multiple is limited, because dispatch
 * of many tokens to experts takes long. */
static struct layout scaled_layout(const struct space *space, const struct layout *layout)
{
    int64_t own = layout->value[SPACE_MICROBATCH], most = space_most_sequences(space, layout);
    struct layout scaled = *layout;

    scaled.value[SPACE_MICROBATCH] = (int32_t)(space->experts == 0 ? space->batch
                                               : own < most        ? most / own * own
                                                                   : own);
    return scaled;
}

/* The layout whose piece of layers bounds a view at a level. */
static struct layout layout_at(const struct space *space, const struct layout *view,
                               enum search_level level)
{
    struct layout at = level < SEARCH_SET ? scaled_layout(space, view) : *view;

    if (level == SEARCH_ROUGH && space_tries(space, SPACE_RECOMPUTE, SPACE_NONE))
        at.value[SPACE_RECOMPUTE] = SPACE_NONE;
    return at;
}

static uint32_t piece_of(const struct search *s, const struct layout *view, enum search_level level)
{
    const struct layout at = layout_at(&s->subject->space, view, level);

    return pieces_find(s->pieces, &at, ATTEMPT_LAYERS);
}

/* A view with a stage of ZeRO. */
static struct layout with_zero(const struct layout *view, int32_t zero)
{
    struct layout layout = *view;

    layout.value[SPACE_ZERO] = zero;
    layout.value[SPACE_SHARDS] = 1;
    return layout;
}

#define ZEROS 4

static bool find_least(struct search *s, const struct layout *view)
{
    for (int32_t zero = 0; zero < ZEROS; zero++) {
        const struct layout layout = with_zero(view, zero);

        if (least_find(s->least, &layout) == UINT32_MAX)
            return false;
    }
    return true;
}

bool search_find_of_set(struct search *s, const struct search_item *set, enum search_level level)
{
    struct views views;

    find_views(&views, s, set);
    for (int i = 0; i < views.n; i++)
        if (piece_of(s, &views.of[i], level) == UINT32_MAX ||
            (level >= SEARCH_LEAST && !find_least(s, &views.of[i])))
            return false;
    return true;
}

/* The piece of layers that bounds a view.  On a cluster whose caches are faster than its memory,
 * more work at a time may be slower, and a scaled piece says nothing. */
static struct piece layers_of(const struct search *s, const struct layout *view,
                              enum search_level level, const struct piece *piece)
{
    struct piece scaled = {.failed = false};

    if (level == SEARCH_SET)
        return *piece;
    if (!piece->failed && !(s->subject->hardware->cache_bytes_per_s > 0))
        piece_scale(&scaled, piece,
                    (double)view->value[SPACE_MICROBATCH] /
                        scaled_layout(&s->subject->space, view).value[SPACE_MICROBATCH]);
    return scaled;
}

struct set_bound {
    double seconds, bytes; /* infinite: all are refused */
    double fitting_s;      /* the seconds of what may fit */
};

/* Lower the bound on a set to that of a view with a stage of ZeRO. */
static void admit(struct set_bound *bound, const struct search *s, double seconds, double bytes)
{
    bound->seconds = fmin(bound->seconds, seconds);
    bound->bytes = fmin(bound->bytes, bytes);
    if (s->all || bytes <= s->subject->hardware->memory_bytes)
        bound->fitting_s = fmin(bound->fitting_s, seconds);
}

/* Bound a view for all stages of ZeRO. */
static void bound_view(struct set_bound *bound, const struct search *s, const struct layout *view,
                       enum search_level level, const struct piece *layers)
{
    static const struct piece none;
    const struct piece *held = level == SEARCH_SET ? layers : NULL;
    double seconds = bound_time(s->subject, view, &none, layers);

    if (level < SEARCH_LEAST) {
        admit(bound, s, seconds, 0);
        return;
    }
    for (int32_t zero = 0; zero < ZEROS; zero++) {
        const struct layout layout = with_zero(view, zero);
        const struct piece *least = least_get(s->least, least_find(s->least, &layout));

        if (least)
            admit(bound, s,
                  fmax(seconds, bound_time(s->subject, &layout, least, layers) * (1 - BOUND_ALIKE)),
                  bound_memory(s->subject, &layout, least, held));
    }
}

void search_bound_set(const struct search *s, struct search_item *set, enum search_level level)
{
    struct set_bound bound = {INFINITY, INFINITY, INFINITY};
    struct views views;

    find_views(&views, s, set);
    for (int i = 0; i < views.n; i++) {
        const struct piece *piece = pieces_get(s->pieces, piece_of(s, &views.of[i], level));
        const struct piece layers = layers_of(s, &views.of[i], level, piece);

        if (!layers.failed)
            bound_view(&bound, s, &views.of[i], level, &layers);
    }
    set->level = (uint8_t)level;
    set->out = bound.seconds == INFINITY; /* all members are refused */
    if (set->out)
        return;
    set->bound_s =
        fmax(set->bound_s, bound.fitting_s == INFINITY ? bound.seconds : bound.fitting_s);
    if (bound.bytes > set->bound_bytes)
        set->bound_bytes = (float)bound.bytes;
}

const char *search_why_set(const struct search *s, const struct search_item *set)
{
    const char *why = NULL;
    struct views views;

    find_views(&views, s, set);
    for (int i = 0; i < views.n; i++) {
        const struct piece *piece = pieces_get(s->pieces, piece_of(s, &views.of[i], SEARCH_SET));

        if (!piece->failed)
            return NULL;
        why = piece->why;
    }
    return why;
}

/* ---- members ---- */

bool search_is_shared(enum space_choice choice)
{
    return choice != SPACE_ZERO && choice != SPACE_SHARDS && choice != SPACE_ORDER;
}

struct layout search_as_member(const struct layout *set, const struct layout *other)
{
    struct layout member = *set;

    for (int c = 0; c < SPACE_NCHOICES; c++)
        if (!search_is_shared((enum space_choice)c))
            member.value[c] = other->value[c];
    return member;
}

bool search_may_have(const struct space *part, const struct search_item *item)
{
    for (int c = 0; c < SPACE_NCHOICES; c++)
        if ((item->nmembers == 0 || search_is_shared((enum space_choice)c)) &&
            !space_allows(part, (enum space_choice)c, item->layout.value[c]))
            return false;
    return true;
}

/* Room for n more items, in the queue as well. */
static bool make_room(struct search *s, size_t n)
{
    uint32_t *queue;

    if (s->nitems + n >= UINT32_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!array_make_room(&s->items, s->nitems + i, sizeof *s->items))
            return false;
    if (s->queue_room >= s->nitems + n)
        return true;
    queue = realloc(s->queue, 2 * (s->nitems + n) * sizeof *queue);
    if (!queue)
        return false;
    s->queue = queue;
    s->queue_room = 2 * (s->nitems + n);
    return true;
}

int search_open(struct search *s, uint32_t set, const struct space *part, struct shd_error *err)
{
    struct layout *members;
    uint32_t n;
    int status = space_list_members(&members, &n, &s->subject->space, &s->items[set].layout, err);

    if (status != SHD_OK)
        return status;
    if (!make_room(s, n)) {
        free(members);
        return shd_error_set(err, SHD_ENOMEM, "no memory for %zu layouts", s->nitems);
    }
    s->items[set].out = s->items[set].opened = true;
    for (uint32_t k = 0; k < n; k++) {
        struct search_item *item = &s->items[s->nitems];

        *item = s->items[set];
        item->layout = members[k];
        item->number += k;
        item->nmembers = 0;
        item->level = SEARCH_SET;
        item->out = item->opened = false;
        if (!part || space_has(part, &item->layout))
            search_push(s, (uint32_t)s->nitems);
        s->nitems++;
    }
    free(members);
    return SHD_OK;
}

bool search_is_member(const struct layout *set, const struct layout *layout)
{
    const struct layout member = search_as_member(set, layout);

    return memcmp(&member, layout, sizeof member) == 0;
}

int search_item_of(struct search *s, const struct layout *layout, uint32_t *item,
                   struct shd_error *err)
{
    int status = SHD_OK;
    uint32_t set = 0;

    while (set < s->nitems && !search_is_member(&s->items[set].layout, layout))
        set++;
    *item = UINT32_MAX;
    if (set == s->nitems || (s->items[set].out && !s->items[set].opened))
        return SHD_OK;
    if (!s->items[set].opened)
        status = search_open(s, set, NULL, err);
    for (size_t i = s->nitems; status == SHD_OK && *item == UINT32_MAX && i-- > set + 1;)
        if (s->items[i].nmembers == 0 && memcmp(&s->items[i].layout, layout, sizeof *layout) == 0)
            *item = (uint32_t)i;
    return status;
}

/* ---- parts of the space ---- */

int search_open_near(struct search *s, const struct layout *layout, struct shd_error *err)
{
    size_t nsets = s->nitems;
    int status = SHD_OK;

    for (uint32_t i = 0; i < nsets && status == SHD_OK; i++) {
        const struct layout near = search_as_member(&s->items[i].layout, layout);
        enum space_choice which;

        if (s->items[i].nmembers == 0 || s->items[i].out)
            continue;
        if (space_differs(&near, layout, &which) <= 1)
            status = search_open(s, i, NULL, err);
    }
    return status;
}

/* Whether a member of a set is in a part of the space. */
static bool member_is_in(const struct space *space, const struct layout *set,
                         const struct space *part)
{
    struct shd_error err;
    struct layout *members;
    bool found = false;
    uint32_t n;

    if (space_list_members(&members, &n, space, set, &err) != SHD_OK)
        return true; /* a closer look will tell that there is no memory */
    for (uint32_t k = 0; k < n && !found; k++)
        found = space_has(part, &members[k]);
    free(members);
    return found;
}

bool search_has(const struct search *s, const struct space *part)
{
    for (size_t i = 0; i < s->nitems; i++)
        if (s->items[i].nmembers > 0 && search_may_have(part, &s->items[i]) &&
            member_is_in(&s->subject->space, &s->items[i].layout, part))
            return true;
    return false;
}
