/* Layouts that a system can say, of those that are searched (search_work.h).
 *
 * What a system refuses does not depend on how many devices an axis has, as long as it has more
 * than one, nor on how many sequences a microbatch has.  So one of all layouts that differ in these
 * alone is asked about, laid out with a layer a stage; and those that are planned are asked about
 * each as it is (layout_plan.c).
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
    kind.value[SPACE_MICROBATCH] = 0;
    kind.value[SPACE_SHARDS] = kind_of_shards(layout);
    kind.value[SPACE_ORDER] = kind_of_order(layout);
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

static int add(struct search *s, struct search_kind *kind, const struct layout *layout)
{
    struct shd_error err = {.text = ""};
    int status = attempt_check(s->subject, layout, &err);

    kind->refused = status != SHD_OK;
    memcpy(kind->why, err.text, sizeof kind->why - 1);
    if (status == SHD_ENOMEM || !array_make_room(&s->kinds, s->nkinds, sizeof *s->kinds) ||
        !map_add(&s->kind_numbers,
                 hash_bytes(HASH_BEGIN, (const char *)kind->value, sizeof kind->value), s->nkinds))
        return SHD_ENOMEM;
    s->kinds[s->nkinds++] = *kind;
    return SHD_OK;
}

int search_filter(struct search *s, struct search_item *item)
{
    struct search_kind kind = kind_of(&item->layout), *known;

    if (!s->subject->filter.check)
        return SHD_OK;
    known = find(s, &kind);
    if (!known && add(s, &kind, &item->layout) != SHD_OK)
        return SHD_ENOMEM;
    item->out = known ? known->refused : kind.refused;
    if (item->out)
        refusals_add(&s->refusals, 1, known ? known->why : kind.why);
    return SHD_OK;
}
