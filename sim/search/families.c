/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/families.h"

#include "search/undivided.h"

/* The choices whose values make a family; ZeRO's stage makes families of plain data parallelism
 * only. */
static const enum space_choice axes[] = {SPACE_TP, SPACE_PP, SPACE_CP, SPACE_EP};
#define NAXES (sizeof axes / sizeof axes[0])

static const char *const stages[] = {"ZeRO 0", "ZeRO 1", "ZeRO 2", "FSDP"};
#define NSTAGES (sizeof stages / sizeof stages[0])

static const char *const names[NAXES][2] = {{"tensor", "no tensor"},
                                            {"pipeline", "no pipeline"},
                                            {"context", "no context"},
                                            {"experts", "no experts"}};

static void add_range(struct space *space, enum space_choice choice, int32_t least, int32_t most)
{
    space->ranges[space->nranges++] =
        (struct space_range){.choice = choice, .least = least, .most = most};
}

/* Whether the search's own ranges allow some value in each range of a family. */
static bool is_allowed(const struct space *space, const struct space *family)
{
    for (size_t r = 0; r < family->nranges; r++) {
        const struct space_range *range = &family->ranges[r];
        bool any = false;

        for (int64_t v = range->least; v <= range->most && !any; v++)
            any = space_allows(space, range->choice, v);
        if (!any)
            return false;
    }
    return true;
}

/* Find the rule that leaves a family empty: a count that does not divide, or a choice that is tried
 * only with a range. */
static void find_rule(struct family *out, const struct space *space, const struct space *family)
{
    struct space asked = *space;
    struct space_division division;

    out->state = FAMILY_NONE;
    for (size_t r = 0; r < family->nranges && asked.nranges < SPACE_RANGES_MAX; r++)
        asked.ranges[asked.nranges++] = family->ranges[r];
    if (space_any(&asked)) {
        out->range = space_choice_name(family->ranges[0].choice);
    } else if (undivided_find(&division, &asked)) {
        out->undivided = division.what;
        out->whole = division.whole;
        out->parts = division.parts;
        out->by = division.by == SPACE_NCHOICES ? "tp x pp x cp" : space_choice_name(division.by);
    }
}

/* The best planned layout of a family; UINT32_MAX: none. */
static uint32_t best_in(const struct search *s, const struct space *family)
{
    for (size_t rank = 0; rank < s->nbest; rank++) {
        uint32_t item = s->plans[s->best[rank]].item;

        if (space_has(family, &s->items[item].layout))
            return item;
    }
    return UINT32_MAX;
}

static int look_at(struct family *out, struct search *s, const struct space *family,
                   const struct search_opts *opts, struct shd_error *err)
{
    int status = search_among(s, family, opts, &out->item, err);

    out->state = FAMILY_OPEN;
    if (status == SHD_OK && best_in(s, family) != UINT32_MAX) {
        out->state = FAMILY_FITS;
        out->item = best_in(s, family);
    } else if (status == SHD_OK && out->item == UINT32_MAX) {
        status = search_least_memory(s, family, opts, &out->item, err);
        out->state = out->item == UINT32_MAX ? FAMILY_REFUSED : FAMILY_TOO_BIG;
    }
    return status;
}

static int add(struct families *out, const char *name, struct search *s, const struct space *family,
               const struct search_opts *opts, struct shd_error *err)
{
    const struct space *space = &s->subject->space;
    struct family *new = &out->of[out->n];

    if (!is_allowed(space, family) ||
        space_has(family, &s->items[s->plans[s->best[0]].item].layout) ||
        (opts->stop && __atomic_load_n(opts->stop, __ATOMIC_RELAXED)))
        return SHD_OK;
    *new = (struct family){.name = name, .item = UINT32_MAX};
    out->n++;
    if (search_has(s, family))
        return look_at(new, s, family, opts, err);
    find_rule(new, space, family);
    return SHD_OK;
}

int families_find(struct families *out, struct search *s, const struct search_opts *opts,
                  struct shd_error *err)
{
    const struct layout best = s->items[s->plans[s->best[0]].item].layout;
    int32_t devices = (int32_t)s->subject->space.devices;
    int status = SHD_OK;

    out->n = 0;
    for (int32_t z = 0; z < (int32_t)NSTAGES && status == SHD_OK; z++) {
        struct space plain = {.nranges = 0};

        add_range(&plain, SPACE_ZERO, z, z);
        for (size_t a = 0; a < NAXES; a++)
            add_range(&plain, axes[a], 1, 1);
        status = add(out, stages[z], s, &plain, opts, err);
    }
    for (size_t a = 0; a < NAXES && status == SHD_OK; a++) {
        bool has = best.value[axes[a]] > 1;
        struct space family = {.nranges = 0};

        if (axes[a] == SPACE_EP && s->subject->space.experts == 0)
            continue;
        add_range(&family, axes[a], has ? 1 : 2, has ? 1 : devices);
        status = add(out, names[a][has], s, &family, opts, err);
    }
    return status;
}
