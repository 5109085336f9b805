/* A good layout early: while bounds are still being raised, a descent from a few simple layouts
 * finds one to plan, so that a search that is ended has an answer (search_work.h).
 *
 * The simple layouts have one sequence a microbatch, one stage a rank and as little else as the
 * space allows.  From the best of them, one choice is changed at a time while the bound on the step
 * falls. Bounds stand for plans; what plans of a kind take of memory above their bounds is learned
 * from those that are too big.
 * For a first layout there is one start with stages and one or, with experts, up to three without,
 * and only the ends are planned.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "search/search_work.h"

#define STARTS_LOOKED_AT 96 /* sets that are bounded to find the starts */
#define STARTS 4
#define STARTS_MOST (2 * STARTS + 1) /* two layouts of each, and the scenario's own */
#define SWEEPS 4                     /* over all choices, at most */
#define ROUNDS 4                     /* of descents and plans, for each start */
#define POLISH_PLANS 16
#define NEIGHBORS 64 /* layouts beside another that are looked at */
#define TAKEN 2      /* of them with one value of a choice */
#define LEARNED 32   /* kinds of layouts whose memory was learned */

/* Memory of a plan that was too big, over its bound. */
struct learned {
    struct layout like;
    double more;
};

struct probe {
    struct search *s;          /* whose items are what was looked at */
    const struct search *sets; /* whose items are the sets of the space */
    const struct search_opts *opts;
    struct learned learned[LEARNED];
    uint32_t nlearned;
};

/* Whether a descent changes a choice.  Bounds do not tell what ZeRO's transfers cost, so a first
 * layout keeps its start's. */
static bool is_turned(const struct probe *p, enum space_choice choice)
{
    return choice != SPACE_DP &&
           !(p->opts->first && (choice == SPACE_ZERO || choice == SPACE_SHARDS));
}

/* Whether no more plans are to be made. */
static bool is_done(const struct probe *p)
{
    return search_is_stopped(p->opts) || (p->opts->nplans && p->s->nplans >= p->opts->nplans);
}

/* ---- comparing ---- */

/* Whether gathered parameters, which bounds leave out, are of the same kind. */
static bool is_like(const struct layout *a, const struct layout *b)
{
    return (a->value[SPACE_EP] > 1) == (b->value[SPACE_EP] > 1) &&
           a->value[SPACE_ZERO] == b->value[SPACE_ZERO] &&
           (a->value[SPACE_PP] > 1) == (b->value[SPACE_PP] > 1);
}

/* Bounds leave out the first layers, without experts: each is taken to hold as much as one with
 * experts.  Layers without experts between these, which may be half of all, are left out here, too:
 * a plan teaches what they hold. */
static bool fits(const struct probe *p, const struct search_item *item)
{
    const struct space *space = &p->s->subject->space;
    double usual = (double)space_usual(space, space->layers);
    double more = 1 + (double)space->first_dense / fmax(1, usual);

    for (uint32_t k = 0; k < p->nlearned; k++)
        if (is_like(&item->layout, &p->learned[k].like))
            more = fmax(more, p->learned[k].more);
    return item->bound_bytes * more <= p->s->subject->hardware->memory_bytes;
}

/* What fits is before what is too big, and that before what is refused. */
static int rank_of(const struct probe *p, const struct search_item *item)
{
    if (item->out && !search_is_too_big(p->s, item))
        return 2;
    return fits(p, item) ? 0 : 1;
}

static bool is_better(const struct probe *p, uint32_t a, uint32_t b)
{
    const struct search_item *x = &p->s->items[a], *y = &p->s->items[b];

    if (rank_of(p, x) != rank_of(p, y))
        return rank_of(p, x) < rank_of(p, y);
    if (!fits(p, x))
        return x->bound_bytes < y->bound_bytes;
    return search_bound_of(p->s, a) < search_bound_of(p->s, b);
}

/* The level that an item is raised to next.  A first layout takes what replicas cost from the
 * program of other numbers of them: to be a thousandth closer, each would need its own. */
static enum search_level next_level(const struct probe *p, const struct search_item *item)
{
    bool alike = p->opts->first && item->level == SEARCH_ALIKE &&
                 !pieces_get(p->s->pieces, item->replicas)->failed;

    return alike ? SEARCH_TIMED : (enum search_level)(item->level + 1);
}

/* Raise the bounds of items to a level. */
static int look(struct probe *p, const uint32_t *items, uint32_t n, enum search_level level,
                struct shd_error *err)
{
    int status = SHD_OK;

    for (int next = SEARCH_SCALED; next <= (int)level && status == SHD_OK; next++) {
        uint32_t ready[STARTS_LOOKED_AT], nready = 0;

        for (uint32_t k = 0; k < n; k++)
            if (!p->s->items[items[k]].out && (int)next_level(p, &p->s->items[items[k]]) == next)
                ready[nready++] = items[k];
        if (nready > 0 && !is_done(p))
            status = search_bound_batch(p->s, ready, nready, (enum search_level)next, p->opts, err);
    }
    return status;
}

/* ---- starts ---- */

/* Neither all of an axis on one device nor over a usual node. */
static bool is_between(const struct layout *l, enum space_choice axis)
{
    return l->value[axis] != 1 && l->value[axis] != 8;
}

/* How far a set is from the simplest. */
static int misses(const struct layout *l)
{
    int32_t recompute = l->value[SPACE_RECOMPUTE];

    return is_between(l, SPACE_TP) + is_between(l, SPACE_PP) + is_between(l, SPACE_CP) +
           is_between(l, SPACE_EP) + (l->value[SPACE_MICROBATCH] > 1) +
           (l->value[SPACE_VIRTUAL] > 1) + !space_is_implied(l) +
           (l->value[SPACE_SPLIT] != SPACE_SPLIT_EVEN) + (l->value[SPACE_METHOD] != SPACE_RING) +
           (l->value[SPACE_PRODUCTS] > 0) + (l->value[SPACE_SP] != (l->value[SPACE_TP] > 1)) +
           (recompute != SPACE_NONE && recompute != SPACE_FULL);
}

/* The item of a layout or, with members, of a set; UINT32_MAX: no memory. */
static uint32_t find(struct probe *p, const struct layout *layout, uint32_t nmembers)
{
    struct search *s = p->s;

    for (uint32_t i = 0; i < s->nitems; i++)
        if (s->items[i].nmembers == nmembers &&
            memcmp(&s->items[i].layout, layout, sizeof *layout) == 0)
            return i;
    if (!array_make_room(&s->items, s->nitems, sizeof *s->items))
        return UINT32_MAX;
    s->items[s->nitems] = (struct search_item){.layout = *layout,
                                               .number = s->nitems,
                                               .nmembers = nmembers,
                                               .level = nmembers > 0 ? SEARCH_ROUGH : SEARCH_SET,
                                               .replicas = UINT32_MAX,
                                               .layers = UINT32_MAX,
                                               .plan = UINT32_MAX};
    return (uint32_t)s->nitems++;
}

static int no_memory(struct shd_error *err)
{
    return shd_error_set(err, SHD_ENOMEM, "no memory for the first layouts of a search");
}

/* Insert an item among the n best, in their order, of which `most` are kept, unless it is there: a
 * layout lies beside another in more than one choice. */
static uint32_t insert(const struct probe *p, uint32_t *best, uint32_t n, uint32_t most,
                       uint32_t item)
{
    uint32_t at = n;

    for (uint32_t k = 0; k < n; k++)
        if (best[k] == item)
            return n;
    if (n < most)
        n++;
    else if (!is_better(p, item, best[--at]))
        return n;
    for (; at > 0 && is_better(p, item, best[at - 1]); at--)
        best[at] = best[at - 1];
    best[at] = item;
    return n;
}

/* Whether an item of the space is a set to be looked at: not dropped, but maybe opened by a search
 * that was tried before. */
static bool is_set(const struct search_item *item)
{
    return item->nmembers > 0 && (!item->out || item->opened);
}

/* The simplest sets, as items. */
static int simplest(struct probe *p, uint32_t out[STARTS_LOOKED_AT], uint32_t *n,
                    struct shd_error *err)
{
    const struct search_item *sets = p->sets->items;
    int least = SPACE_NCHOICES;

    *n = 0;
    for (uint32_t i = 0; i < p->sets->nitems; i++)
        if (is_set(&sets[i]) && misses(&sets[i].layout) < least)
            least = misses(&sets[i].layout);
    for (uint32_t i = 0; i < p->sets->nitems && *n < STARTS_LOOKED_AT; i++) {
        if (!is_set(&sets[i]) || misses(&sets[i].layout) != least)
            continue;
        out[*n] = find(p, &sets[i].layout, sets[i].nmembers);
        if (out[(*n)++] == UINT32_MAX)
            return no_memory(err);
    }
    return SHD_OK;
}

/* Whether no set of the same sizes of tp, pp and cp is better, or equal and before it. */
static bool is_best_of_mesh(const struct probe *p, const uint32_t *sets, uint32_t n, uint32_t set)
{
    const int32_t *a = p->s->items[set].layout.value;

    for (uint32_t k = 0; k < n; k++) {
        const int32_t *b = p->s->items[sets[k]].layout.value;

        if (sets[k] != set && a[SPACE_TP] == b[SPACE_TP] && a[SPACE_PP] == b[SPACE_PP] &&
            a[SPACE_CP] == b[SPACE_CP] &&
            (is_better(p, sets[k], set) || (sets[k] < set && !is_better(p, set, sets[k]))))
            return false;
    }
    return true;
}

/* The layout of n that differs least from another; with several the first. */
static const struct layout *nearest(const struct layout *layouts, uint32_t n,
                                    const struct layout *other)
{
    const struct layout *found = layouts;
    int least = SPACE_NCHOICES + 1;

    for (uint32_t i = 0; i < n; i++) {
        enum space_choice which;
        int differs = space_differs(&layouts[i], other, &which);

        if (differs < least) {
            least = differs;
            found = &layouts[i];
        }
    }
    return found;
}

/* A layout whose ZeRO shards all that it can, but not parameters that several stages would gather
 * for each microbatch. */
static struct layout with_zero(const struct layout *layout)
{
    struct layout sharded = *layout;

    sharded.value[SPACE_ZERO] = layout->value[SPACE_PP] > 1 ? 1 : 3;
    sharded.value[SPACE_SHARDS] = layout->value[SPACE_DP];
    return sharded;
}

/* Whether ZeRO shards what belongs to parameters, which themselves are whole. */
static bool is_whole(const struct layout *layout)
{
    return layout->value[SPACE_ZERO] == 1 || layout->value[SPACE_ZERO] == 2;
}

/* Append, as items, the member of a set that is nearest to it with the ZeRO and the order of
 * another layout, and the one with the ZeRO that shards all.  A first layout has one member of each
 * set, whose parameters without stages stay whole if they were.  SHD_ENOMEM. */
static int add_members(struct probe *p, const struct layout *set, const struct layout *other,
                       uint32_t *items, uint32_t *n, struct shd_error *err)
{
    const struct layout near = search_as_member(set, other);
    struct layout *members, sharded = with_zero(&near);
    uint32_t nmembers, found[2];
    int status = space_list_members(&members, &nmembers, &p->s->subject->space, set, err);

    if (status != SHD_OK || nmembers == 0)
        return status;
    if (p->opts->first && near.value[SPACE_PP] == 1 && is_whole(other))
        sharded.value[SPACE_ZERO] = other->value[SPACE_ZERO];
    found[0] = find(p, nearest(members, nmembers, &sharded), 0);
    found[1] = find(p, nearest(members, nmembers, &near), 0);
    free(members);
    if (found[0] == UINT32_MAX || found[1] == UINT32_MAX)
        return no_memory(err);
    items[(*n)++] = found[0];
    if (found[1] != found[0] && !p->opts->first)
        items[(*n)++] = found[1];
    return SHD_OK;
}

/* Append the layout that the scenario itself gives, where the space lists it.  SHD_ENOMEM. */
static int add_own(struct probe *p, uint32_t *starts, uint32_t *n, struct shd_error *err)
{
    const struct subject *subject = p->s->subject;
    bool listed = false;
    struct layout *members;
    uint32_t nmembers;
    int status;

    if (!subject->has_own)
        return SHD_OK;
    for (size_t i = 0; i < p->sets->nitems && !listed; i++)
        listed = search_is_member(&p->sets->items[i].layout, &subject->own);
    if (!listed)
        return SHD_OK;
    status = space_list_members(&members, &nmembers, &subject->space, &subject->own, err);
    if (status != SHD_OK)
        return status;
    for (uint32_t k = 0; k < nmembers; k++)
        if (memcmp(&members[k], &subject->own, sizeof members[k]) == 0)
            starts[(*n)++] = find(p, &members[k], 0);
    free(members);
    return *n > 0 && starts[*n - 1] == UINT32_MAX ? no_memory(err) : SHD_OK;
}

/* The best sets of those without and of those with stages, so that half of the starts have stages,
 * and keep them: bounds do not tell what ZeRO's transfers cost without.  A set that is too big is a
 * start, too: a descent from it begins with what lets it fit. */
struct best_sets {
    uint32_t of[2][STARTS / 2], n[2];
};

static void choose_sets(struct best_sets *out, const struct probe *p, const uint32_t *sets,
                        uint32_t nsets)
{
    uint32_t most = p->opts->first ? 1 : STARTS / 2;

    *out = (struct best_sets){.n = {0}};
    for (uint32_t k = 0; k < nsets; k++) {
        bool staged = p->s->items[sets[k]].layout.value[SPACE_PP] > 1;

        if (rank_of(p, &p->s->items[sets[k]]) < 2 && is_best_of_mesh(p, sets, nsets, sets[k]))
            out->n[staged] = insert(p, out->of[staged], out->n[staged], most, sets[k]);
    }
}

/* Raise the bounds of the best sets until the best of all are known: bounds never fall. */
static int find_sets(struct best_sets *out, struct probe *p, const uint32_t *sets, uint32_t nsets,
                     struct shd_error *err)
{
    int status = look(p, sets, nsets, SEARCH_SCALED, err);

    for (bool raised = true; raised && status == SHD_OK && !is_done(p);) {
        raised = false;
        choose_sets(out, p, sets, nsets);
        for (int staged = 0; staged < 2; staged++)
            for (uint32_t k = 0; k < out->n[staged] && status == SHD_OK; k++) {
                const struct search_item *set = &p->s->items[out->of[staged][k]];

                if (set->out || set->level == SEARCH_SET)
                    continue;
                raised = true;
                status = look(p, &out->of[staged][k], 1, (enum search_level)(set->level + 1), err);
            }
    }
    return status;
}

/* The best of n items and another, whose bounds are of the closest level.  Bounds never fall, so
 * only those of what seems best are raised. */
static int find_best(struct probe *p, const uint32_t *items, uint32_t n, uint32_t *best,
                     struct shd_error *err)
{
    const uint32_t than = *best;
    int status = SHD_OK;

    while (status == SHD_OK && !is_done(p)) {
        const struct search_item *item;

        *best = than;
        for (uint32_t k = 0; k < n; k++)
            if (is_better(p, items[k], *best))
                *best = items[k];
        item = &p->s->items[*best];
        if (item->out || item->level == SEARCH_TIMED)
            return SHD_OK;
        status = look(p, best, 1, next_level(p, item), err);
    }
    *best = than;
    return status;
}

/* A kind of start of a first layout. */
struct first_kind {
    bool staged;
    int32_t zero;
};

/* The best member of the simplest sets, of a kind; *best is UINT32_MAX without one. */
static int find_first_start(struct probe *p, const uint32_t *sets, uint32_t nsets,
                            struct first_kind kind, uint32_t *best, struct shd_error *err)
{
    uint32_t members[STARTS_LOOKED_AT] = {0}, nmembers = 0;
    int status = SHD_OK;

    *best = UINT32_MAX;
    for (uint32_t k = 0; k < nsets && status == SHD_OK; k++) {
        const struct layout set = p->s->items[sets[k]].layout;
        struct layout like = set;

        like.value[SPACE_ZERO] = kind.zero;
        if ((set.value[SPACE_PP] > 1) == kind.staged)
            status = add_members(p, &set, &like, members, &nmembers, err);
    }
    if (status != SHD_OK || nmembers == 0)
        return status;
    *best = members[0];
    status = look(p, members, nmembers, SEARCH_LAYERS, err);
    return status == SHD_OK ? find_best(p, members, nmembers, best, err) : status;
}

/* The starts of a first layout with experts: one with stages, one that gathers its parameters, and
 * two whose parameters are whole, if all of them before fit.  Bounds of sets would need programs of
 * all stages of ZeRO and numbers of shards, and one with experts takes several times as long. */
static int find_first_starts(struct probe *p, const uint32_t *sets, uint32_t nsets,
                             uint32_t starts[STARTS_MOST], uint32_t *n, struct shd_error *err)
{
    static const struct first_kind kinds[] = {{true, 1}, {false, 3}, {false, 1}, {false, 2}};
    bool fit = true;
    int status = SHD_OK;

    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0] && status == SHD_OK && fit; k++) {
        bool whole = !kinds[k].staged && kinds[k].zero < 3;
        uint32_t best;

        status = find_first_start(p, sets, nsets, kinds[k], &best, err);
        if (status != SHD_OK || best == UINT32_MAX ||
            (whole && p->s->items[best].layout.value[SPACE_ZERO] != kinds[k].zero))
            continue;
        fit = kinds[k].staged || fits(p, &p->s->items[best]);
        if (fit || !whole)
            starts[(*n)++] = best;
    }
    return status;
}

static int find_starts(struct probe *p, uint32_t starts[STARTS_MOST], uint32_t *n,
                       struct shd_error *err)
{
    uint32_t sets[STARTS_LOOKED_AT] = {0}, nsets;
    struct best_sets best = {.n = {0}};
    int status = simplest(p, sets, &nsets, err);

    *n = 0;
    if (status == SHD_OK && p->opts->first && p->s->subject->space.experts > 0)
        return find_first_starts(p, sets, nsets, starts, n, err);
    if (status == SHD_OK)
        status = find_sets(&best, p, sets, nsets, err);
    if (status == SHD_OK && !p->opts->first)
        status = add_own(p, starts, n, err);
    for (int staged = 0; staged < 2; staged++)
        for (uint32_t k = 0; k < best.n[staged] && status == SHD_OK; k++) {
            const struct layout set = p->s->items[best.of[staged][k]].layout;
            const struct layout sharded = with_zero(&set);

            status = add_members(p, &set, &sharded, starts, n, err);
        }
    return status == SHD_OK ? look(p, starts, *n, SEARCH_TIMED, err) : status;
}

/* ---- descent ---- */

/* Layouts that differ from another in one choice alone, of those that members of its set have. */
static int members_beside(struct probe *p, const struct layout *at, enum space_choice choice,
                          uint32_t out[NEIGHBORS], uint32_t *n, struct shd_error *err)
{
    struct layout *members;
    uint32_t nmembers;
    int status = space_list_members(&members, &nmembers, &p->s->subject->space, at, err);

    *n = 0;
    if (status != SHD_OK)
        return status;
    for (uint32_t k = 0; k < nmembers && *n < NEIGHBORS && status == SHD_OK; k++) {
        enum space_choice which;

        if (space_differs(&members[k], at, &which) != 1 || which != choice)
            continue;
        out[*n] = find(p, &members[k], 0);
        if (out[(*n)++] == UINT32_MAX)
            status = no_memory(err);
    }
    free(members);
    return status;
}

/* In how many choices a set differs from a layout that has another value of a choice; 0: it has
 * the same. */
static int differences(const struct layout *set, const struct layout *at, enum space_choice choice)
{
    const struct layout near = search_as_member(set, at);
    enum space_choice which;

    return near.value[choice] == at->value[choice] ? 0 : space_differs(&near, at, &which);
}

/* Values of a choice, with the number of other choices that a layout must change for each. */
struct values {
    int32_t value[NEIGHBORS];
    int least[NEIGHBORS], ntaken[NEIGHBORS];
    uint32_t n;
};

static uint32_t find_value(struct values *values, int32_t value)
{
    uint32_t v = 0;

    while (v < values->n && values->value[v] != value)
        v++;
    if (v == values->n && v < NEIGHBORS) {
        values->value[v] = value;
        values->least[v] = SPACE_NCHOICES;
        values->ntaken[v] = 0;
        values->n++;
    }
    return v;
}

/* The number of a set's value, and in *differs of the differences; NEIGHBORS: the set does not
 * count. */
static uint32_t value_of(struct values *values, const struct search_item *set,
                         const struct layout *at, enum space_choice choice, int *differs)
{
    *differs = is_set(set) ? differences(&set->layout, at, choice) : 0;
    return *differs > 0 ? find_value(values, set->layout.value[choice]) : NEIGHBORS;
}

/* Layouts with another value of a choice, for each a few that change as little else as they must:
 * the schedule follows the stages, and the devices of experts the axes that they are sharded over.
 */
static int sets_beside(struct probe *p, const struct layout *at, enum space_choice choice,
                       uint32_t out[NEIGHBORS], uint32_t *n, struct shd_error *err)
{
    const struct search_item *sets = p->sets->items;
    struct values values = {.n = 0};
    int differs, status = SHD_OK;

    *n = 0;
    for (uint32_t i = 0; i < p->sets->nitems; i++) {
        uint32_t v = value_of(&values, &sets[i], at, choice, &differs);

        if (v < NEIGHBORS && differs < values.least[v])
            values.least[v] = differs;
    }
    for (uint32_t i = 0; i < p->sets->nitems && *n + 1 < NEIGHBORS && status == SHD_OK; i++) {
        uint32_t v = value_of(&values, &sets[i], at, choice, &differs);

        if (v < NEIGHBORS && differs == values.least[v] && values.ntaken[v]++ < TAKEN)
            status = add_members(p, &sets[i].layout, at, out, n, err);
    }
    return status;
}

/* Layouts with another value of a choice. */
static int beside(struct probe *p, uint32_t item, enum space_choice choice, uint32_t out[NEIGHBORS],
                  uint32_t *n, struct shd_error *err)
{
    const struct layout at = p->s->items[item].layout;

    return search_is_shared(choice) ? sets_beside(p, &at, choice, out, n, err)
                                    : members_beside(p, &at, choice, out, n, err);
}

/* Of n layouts, those with stages, or those without. */
static uint32_t keep_staged(const struct probe *p, uint32_t *items, uint32_t n, bool staged)
{
    uint32_t nkept = 0;

    for (uint32_t k = 0; k < n; k++)
        if ((p->s->items[items[k]].layout.value[SPACE_PP] > 1) == staged)
            items[nkept++] = items[k];
    return nkept;
}

/* Change a choice to its best value.  The descents of a first layout keep their stages, or have
 * none if their parameters are whole: only those that gather them may take to stages instead. */
static int turn(struct probe *p, uint32_t *at, enum space_choice choice, struct shd_error *err)
{
    const struct layout l = p->s->items[*at].layout;
    bool staged = l.value[SPACE_PP] > 1;
    uint32_t near[NEIGHBORS], n = 0;
    int status = beside(p, *at, choice, near, &n, err);

    if (p->opts->first && (staged || is_whole(&l)))
        n = keep_staged(p, near, n, staged);
    if (status == SHD_OK)
        status = look(p, near, n, SEARCH_LAYERS, err);
    return status == SHD_OK ? find_best(p, near, n, at, err) : status;
}

/* Take the best of the changes that let a layout fit, not the first one. */
static int leap(struct probe *p, uint32_t *at, enum space_choice fixed, struct shd_error *err)
{
    uint32_t best = *at;
    int status = SHD_OK;

    for (int c = 0; c < SPACE_NCHOICES && status == SHD_OK && !is_done(p); c++) {
        uint32_t to = *at;

        if (is_turned(p, (enum space_choice)c) && c != (int)fixed)
            status = turn(p, &to, (enum space_choice)c, err);
        if (is_better(p, to, best))
            best = to;
    }
    *at = best;
    return status;
}

static int descend(struct probe *p, uint32_t *at, enum space_choice fixed, struct shd_error *err)
{
    uint32_t before = UINT32_MAX;
    int status = fits(p, &p->s->items[*at]) ? SHD_OK : leap(p, at, fixed, err);

    for (int sweep = 0; sweep < SWEEPS && before != *at; sweep++) {
        before = *at;
        for (int c = 0; c < SPACE_NCHOICES && status == SHD_OK && !is_done(p); c++)
            if (is_turned(p, (enum space_choice)c) && c != (int)fixed)
                status = turn(p, at, (enum space_choice)c, err);
    }
    return status;
}

/* ---- plans ---- */

static void learn(struct probe *p, const struct search_item *item, const struct plan *plan)
{
    double more = plan->figures.memory_bytes / item->bound_bytes;
    uint32_t k = 0;

    while (k < p->nlearned && !is_like(&item->layout, &p->learned[k].like))
        k++;
    if (plan->state != VARIANT_TOO_BIG || k == LEARNED)
        return;
    if (k == p->nlearned)
        p->learned[p->nlearned++] = (struct learned){item->layout, 1};
    p->learned[k].more = fmax(p->learned[k].more, more);
}

/* Plan up to SEARCH_BATCH items that are not planned yet and may be among the best, and no more
 * than the options allow. */
static int plan_items(struct probe *p, const uint32_t *items, uint32_t n, struct shd_error *err)
{
    uint32_t wanted[SEARCH_BATCH], nwanted = 0;
    int status;

    for (uint32_t k = 0; k < n; k++) {
        const struct search_item *item = &p->s->items[items[k]];

        if (!item->out && item->level == SEARCH_TIMED && item->plan == UINT32_MAX &&
            !search_is_beaten(p->s, p->opts, items[k]) &&
            (!p->opts->nplans || p->s->nplans + nwanted < p->opts->nplans))
            wanted[nwanted++] = items[k];
    }
    if (nwanted == 0 || is_done(p))
        return SHD_OK;
    status = search_plan_batch(p->s, wanted, nwanted, p->opts->farm, p->opts->nthreads, err);
    if (status != SHD_OK)
        return status;
    search_tell(p->s, p->opts, 0);
    for (uint32_t k = 0; k < nwanted; k++) {
        const struct search_item *item = &p->s->items[wanted[k]];

        if (item->plan != UINT32_MAX)
            learn(p, item, &p->s->plans[item->plan].plan);
    }
    return SHD_OK;
}

/* A descent leaves a choice as it is: the given one, or the stages of a layout that has some. */
static enum space_choice fixed_from(const struct probe *p, uint32_t start, enum space_choice fixed)
{
    bool staged = p->s->items[start].layout.value[SPACE_PP] > 1;

    return fixed == SPACE_NCHOICES && staged && !p->opts->first ? SPACE_PP : fixed;
}

/* Take the best of n items. */
static uint32_t take_best(const struct probe *p, uint32_t *items, uint32_t *n)
{
    uint32_t best = 0, item;

    for (uint32_t k = 1; k < *n; k++)
        if (is_better(p, items[k], items[best]))
            best = k;
    item = items[best];
    items[best] = items[--*n];
    return item;
}

/* Plan the ends of descents, the best first: others may not be worth a plan then.  From what turns
 * out too big, descend again. */
static int plan_ends(struct probe *p, uint32_t ends[STARTS_MOST], uint32_t n,
                     enum space_choice fixed, struct shd_error *err)
{
    const uint32_t rounds = ROUNDS * n;
    int status = SHD_OK;

    for (uint32_t r = 0; r < rounds && n > 0 && status == SHD_OK && !is_done(p); r++) {
        uint32_t from = take_best(p, ends, &n), end = from;

        if (fits(p, &p->s->items[end]))
            status = plan_items(p, &end, 1, err);
        if (status != SHD_OK || fits(p, &p->s->items[end]) || is_done(p))
            continue;
        status = descend(p, &end, fixed_from(p, end, fixed), err);
        if (status == SHD_OK && end != from && p->s->items[end].plan == UINT32_MAX)
            n = insert(p, ends, n, STARTS_MOST, end);
        else if (status == SHD_OK) /* nothing that is known fits */
            status = plan_items(p, &end, 1, err);
    }
    return status;
}

/* Descend from up to STARTS_MOST items, and plan the ends. */
static int probe_from(struct probe *p, const uint32_t *starts, uint32_t n, enum space_choice fixed,
                      struct shd_error *err)
{
    uint32_t ends[STARTS_MOST] = {0}, nends = 0;
    int status = SHD_OK;

    for (uint32_t k = 0; k < n && status == SHD_OK && !is_done(p); k++) {
        uint32_t end = starts[k];

        status = look(p, &end, 1, SEARCH_TIMED, err);
        if (status == SHD_OK)
            status = descend(p, &end, fixed_from(p, end, fixed), err);
        nends = insert(p, ends, nends, STARTS_MOST, end);
    }
    return status == SHD_OK ? plan_ends(p, ends, nends, fixed, err) : status;
}

/* What fits only if it recomputes, or with so few sequences at a time, hides what is sharded
 * otherwise or recomputes more: from the best, descend with each recomputation of less, and with
 * twice the sequences, too. */
static int trade_memory(struct probe *p, enum space_choice choice, struct shd_error *err)
{
    uint32_t items[NEIGHBORS], n = 0;
    struct layout best;
    int status;

    if (p->s->nbest == 0)
        return SHD_OK;
    best = p->s->items[p->s->plans[p->s->best[0]].item].layout;
    status = sets_beside(p, &best, choice, items, &n, err);
    for (uint32_t k = 0; k < n && status == SHD_OK && !is_done(p); k++) {
        int32_t value = p->s->items[items[k]].layout.value[choice], old = best.value[choice];

        if (choice == SPACE_RECOMPUTE ? value < old : value == 2 * old)
            status = probe_from(p, &items[k], 1, choice, err);
    }
    return status;
}

/* Of the layouts beside an item in a choice, insert among the best SEARCH_BATCH those whose bounds
 * are below a goal. */
static int insert_beside(struct probe *p, uint32_t item, enum space_choice choice, double goal,
                         uint32_t best[SEARCH_BATCH], uint32_t *nbest, struct shd_error *err)
{
    uint32_t near[NEIGHBORS], n = 0;
    int status = beside(p, item, choice, near, &n, err);

    for (int level = SEARCH_LAYERS; level <= SEARCH_TIMED && status == SHD_OK; level++) {
        uint32_t nkept = 0;

        for (uint32_t k = 0; k < n; k++) {
            const struct search_item *other = &p->s->items[near[k]];

            if (!other->out && fits(p, other) && other->plan == UINT32_MAX &&
                search_bound_of(p->s, near[k]) < goal)
                near[nkept++] = near[k];
        }
        n = nkept;
        status = look(p, near, n, (enum search_level)level, err);
    }
    /* An order of equal bounds places all groups alike. */
    for (uint32_t k = 0; k < n && status == SHD_OK; k++)
        if (!p->s->items[near[k]].out && search_bound_of(p->s, near[k]) < goal &&
            (choice != SPACE_ORDER ||
             search_bound_of(p->s, near[k]) != search_bound_of(p->s, item)))
            *nbest = insert(p, best, *nbest, SEARCH_BATCH, near[k]);
    return status;
}

/* What bounds do not know, such as what of ZeRO's transfers is exposed: plan layouts beside the
 * best, the lowest bounds first, and go on beside those that are better. */
static int polish(struct probe *p, struct shd_error *err)
{
    struct search *s = p->s;
    size_t before = s->nplans, last = s->nplans + 1;
    int status = SHD_OK;

    while (last != s->nplans && s->nbest > 0 && s->nplans < before + POLISH_PLANS &&
           status == SHD_OK && !is_done(p)) {
        const struct search_plan *best = &s->plans[s->best[0]];
        uint32_t items[SEARCH_BATCH] = {0}, from = best->item, n = 0;
        double goal = search_goal_of(s, &best->plan);

        last = s->nplans;
        for (int c = 0; c < SPACE_NCHOICES && status == SHD_OK; c++)
            if (c != SPACE_DP)
                status = insert_beside(p, from, (enum space_choice)c, goal, items, &n, err);
        if (status == SHD_OK)
            status = plan_items(p, items, n, err);
    }
    return status;
}

/* What a search has before its probes; plans of an earlier call are kept. */
static void begin(struct probe *p)
{
    struct search *s = p->s;

    s->subject = p->sets->subject;
    s->journal = p->sets->journal;
    s->within_s = p->sets->within_s;
    s->nlayouts = p->sets->nlayouts;
    s->pieces = p->sets->pieces;
    s->least = p->sets->least;
    for (size_t k = 0; k < s->nplans; k++)
        learn(p, &s->items[s->plans[k].item], &s->plans[k].plan);
}

static void end(struct probe *p, struct search *sets)
{
    struct search *s = p->s;

    sets->pieces_s += s->pieces_s;
    sets->bounds_s += s->bounds_s;
    sets->plans_s += s->plans_s;
    sets->npieces = s->npieces;
    s->pieces_s = s->bounds_s = s->plans_s = 0;
    s->pieces = NULL;
    s->least = NULL;
}

/* Descend from the starts, and plan the ends and what is near the best of all. */
static int find_ends(struct probe *p, const uint32_t *starts, uint32_t n, struct shd_error *err)
{
    bool first = p->opts->first;
    int status = probe_from(p, starts, n, SPACE_NCHOICES, err);

    if (status == SHD_OK && !first)
        status = trade_memory(p, SPACE_RECOMPUTE, err);
    if (status == SHD_OK && !first)
        status = trade_memory(p, SPACE_MICROBATCH, err);
    if (status == SHD_OK && !first)
        status = polish(p, err);
    return status;
}

int search_probe(struct search *out, struct search *sets, const struct search_opts *opts, bool ends,
                 struct shd_error *err)
{
    struct probe p = {.s = out, .sets = sets, .opts = opts};
    uint32_t starts[STARTS_MOST] = {0}, n = 0;
    int status;

    begin(&p);
    status = find_starts(&p, starts, &n, err);
    for (uint32_t k = 0; k < n && status == SHD_OK && !opts->first; k++)
        status = plan_items(&p, &starts[k], 1, err);
    if (status == SHD_OK && ends)
        status = find_ends(&p, starts, n, err);
    end(&p, sets);
    return status;
}
