/* Layouts that a system can say, of those that are searched (search_work.h).
 *
 * What a system refuses does not depend on how many devices an axis has, as long as it has more
 * than one, nor on how many sequences a microbatch has.  So one of all layouts that differ in these
 * alone is asked about, and those that are planned are asked about each as it is (layout_plan.c).
 *
 * Before anything is bounded, sets of layouts are left out by what their scenarios say of
 * recomputation, the pipeline and so on, which is soon read.  What a system refuses of axes, their
 * order and ZeRO shows in the sharded graph, with as few layers as show all kinds in an even split,
 * of the first layout that comes to its last bound.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "search/search_work.h"

/* What a system's answer depends on. */
struct search_kind {
    int32_t value[SPACE_NCHOICES];
    bool refused;
    char why[160];
};

/* Which of the replicas, and whether of the devices that share experts, ZeRO shards over. */
static int32_t kind_of_shards(const struct layout *layout)
{
    int32_t shards = layout->value[SPACE_SHARDS], dp = layout->value[SPACE_DP];

    return shards == 1 ? 0 : shards == dp ? 1 : 2 + (int32_t)space_zero_axes(layout);
}

/* The first order that has the axes of more than one device in the same order. */
static int32_t kind_of_order(const struct layout *layout)
{
    const uint8_t *order = space_order(layout->value[SPACE_ORDER]);
    int32_t kind = 0;

    for (int i = 0; i < SPACE_AXES; i++)
        if (layout->value[order[i]] > 1)
            kind = kind * (SPACE_NCHOICES + 1) + order[i] + 1;
    return kind;
}

static struct search_kind kind_of(const struct layout *layout)
{
    static const enum space_choice counts[] = {SPACE_TP, SPACE_PP, SPACE_CP,
                                               SPACE_DP, SPACE_EP, SPACE_VIRTUAL};
    struct search_kind kind = {.refused = false};

    memcpy(kind.value, layout->value, sizeof kind.value);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        kind.value[counts[i]] = layout->value[counts[i]] > 1;
    kind.value[SPACE_EP] += space_expert_replicas(layout) > 1;
    kind.value[SPACE_MICROBATCH] = 0;
    kind.value[SPACE_SHARDS] = kind_of_shards(layout);
    kind.value[SPACE_ORDER] = kind_of_order(layout);
    return kind;
}

/* What the scenarios of a set's layouts say, whatever their axes and ZeRO. */
static struct search_kind kind_of_set(const struct layout *set)
{
    static const enum space_choice unread[] = {SPACE_TP,   SPACE_DP,     SPACE_EP,    SPACE_SP,
                                               SPACE_ZERO, SPACE_SHARDS, SPACE_ORDER, SPACE_FOLD};
    struct search_kind kind = kind_of(set);

    for (size_t i = 0; i < sizeof unread / sizeof unread[0]; i++)
        kind.value[unread[i]] = -1;
    return kind;
}

static struct search_kind *find(const struct search *s, const struct search_kind *kind)
{
    struct map_walk walk = map_find(
        &s->kind_numbers, hash_bytes(HASH_BEGIN, (const char *)kind->value, sizeof kind->value));
    uint32_t i;

    while ((i = map_next(&walk)) != MAP_NONE)
        if (memcmp(s->kinds[i].value, kind->value, sizeof kind->value) == 0)
            return &s->kinds[i];
    return NULL;
}

/* Judge a kind by one of its layouts. */
static int add(struct search *s, const struct search_kind *kind, const struct layout *layout)
{
    struct shd_error err = {.text = ""};
    bool is_set = kind->value[SPACE_ZERO] < 0;
    int status = (is_set ? attempt_read : attempt_check)(s->subject, layout, &err);
    struct search_kind *new;

    if (status == SHD_ENOMEM || !array_make_room(&s->kinds, s->nkinds, sizeof *s->kinds) ||
        !map_add(&s->kind_numbers,
                 hash_bytes(HASH_BEGIN, (const char *)kind->value, sizeof kind->value), s->nkinds))
        return SHD_ENOMEM;
    new = &s->kinds[s->nkinds++];
    *new = *kind;
    new->refused = status != SHD_OK;
    memcpy(new->why, err.text, sizeof new->why - 1);
    return SHD_OK;
}

/* Drop an item if its kind is refused. */
static int drop(struct search *s, struct search_item *item, const struct search_kind *kind)
{
    const struct search_kind *known = find(s, kind);
    int status = known ? SHD_OK : add(s, kind, &item->layout);

    if (status != SHD_OK)
        return status;
    known = known ? known : &s->kinds[s->nkinds - 1];
    item->out = known->refused;
    if (item->out)
        refusals_add(&s->refusals, search_count(item), known->why);
    return SHD_OK;
}

int search_filter(struct search *s, struct search_item *item, bool ask)
{
    const struct search_kind kind = kind_of(&item->layout);

    return s->subject->filter.system && (ask || find(s, &kind)) ? drop(s, item, &kind) : SHD_OK;
}

int search_filter_sets(struct search *s, struct shd_error *err)
{
    for (size_t i = 0; s->subject->filter.system && i < s->nitems; i++) {
        const struct search_kind kind = kind_of_set(&s->items[i].layout);

        if (drop(s, &s->items[i], &kind) != SHD_OK)
            return shd_error_set(err, SHD_ENOMEM, "no memory for kinds of layouts");
        if (s->items[i].out)
            s->nunsaid += s->items[i].nmembers;
    }
    s->nlayouts -= s->nunsaid;
    return SHD_OK;
}
