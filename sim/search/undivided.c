/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/undivided.h"

#include <inttypes.h>

#include "base/divisor.h"

static bool divides(const struct space_division *d)
{
    return d->whole % d->parts == 0;
}

/* The first failing division, for the axes with the fewest failing divisions. */
struct fault {
    size_t nfailed; /* failing divisions; 0: the ranges leave no axes */
    struct space_division first;
    bool inside; /* some axes divide: choices inside them fail */
};

static void look_at(struct fault *fault, const struct space *space, int64_t tp, int64_t pp,
                    int64_t cp)
{
    struct space_division divisions[SPACE_DIVISIONS_MAX];
    size_t n = space_divisions(divisions, space, tp, pp, cp), nfailed = 0, first = n;

    for (size_t i = n; i-- > 0;)
        if (!divides(&divisions[i])) {
            nfailed++;
            first = i;
        }
    fault->inside |= nfailed == 0;
    if (nfailed > 0 && (fault->nfailed == 0 || nfailed < fault->nfailed)) {
        fault->nfailed = nfailed;
        fault->first = divisions[first];
    }
}

/* The largest value of a choice to try: the count that it must divide, unless the ranges leave only
 * larger values. */
static int64_t most_of(const struct space *space, enum space_choice choice, int64_t divisible)
{
    for (int64_t v = 1; v <= divisible && v <= space->devices; v++)
        if (space_allows(space, choice, v))
            return divisible < space->devices ? divisible : space->devices;
    return space->devices;
}

static struct fault find_fault(const struct space *space)
{
    int64_t most_tp = most_of(space, SPACE_TP, space->heads);
    int64_t most_cp = most_of(space, SPACE_CP, space->seq);
    struct fault fault = {.nfailed = 0};

    for (int64_t tp = 1; tp <= most_tp; tp++)
        for (int64_t pp = 1; pp <= space->layers && tp * pp <= space->devices; pp++)
            for (int64_t cp = 1; cp <= most_cp && tp * pp * cp <= space->devices; cp++)
                if (space_allows(space, SPACE_TP, tp) && space_allows(space, SPACE_PP, pp) &&
                    space_allows(space, SPACE_CP, cp) &&
                    space_allows(space, SPACE_DP, space->devices / (tp * pp * cp)))
                    look_at(&fault, space, tp, pp, cp);
    return fault;
}

/* How far away other counts of devices are tried. */
#define NEAR_MOST 1024

/* The nearest counts of devices with layouts, or the nearest sizes that divide; 0: none. */
struct near {
    int64_t below, above;
};

static bool has_layouts(const struct space *space, int64_t devices)
{
    struct space other = *space;

    other.devices = devices;
    return space_any(&other);
}

static struct near near_devices(const struct space *space)
{
    struct near near = {0, 0};

    for (int64_t by = 1; by <= NEAR_MOST && (near.below == 0 || near.above == 0); by++) {
        if (near.below == 0 && space->devices > by && has_layouts(space, space->devices - by))
            near.below = space->devices - by;
        if (near.above == 0 && has_layouts(space, space->devices + by))
            near.above = space->devices + by;
    }
    return near;
}

static struct near near_parts(const struct space_division *d)
{
    return (struct near){divisor_below(d->whole, d->parts), divisor_above(d->whole, d->parts)};
}

static void add_near(struct text *out, const struct near *near)
{
    const char *between = near->below > 0 && near->above > 0 ? " and " : "";

    if (near->below > 0)
        text_addf(out, "%" PRId64, near->below);
    text_add(out, between);
    if (near->above > 0)
        text_addf(out, "%" PRId64, near->above);
    if (near->below <= 0 && near->above <= 0)
        text_addf(out, "none within %d", NEAR_MOST);
}

bool undivided_find(struct space_division *out, const struct space *space)
{
    struct fault fault = find_fault(space);

    *out = fault.first;
    return fault.nfailed > 0 && !fault.inside;
}

void undivided_tell(struct text *out, const struct space *space)
{
    struct fault fault = find_fault(space);
    const struct space_division *d = &fault.first;
    bool of_devices = d->by == SPACE_DP || d->by == SPACE_NCHOICES;
    struct near near;

    if (fault.nfailed == 0 || fault.inside) {
        text_addf(
            out, "no layout is left: %s; change --range or --forbid",
            fault.inside
                ? "no size is divisible by the ranges of ep, microbatch, virtual, zero or shards"
                : "the ranges of tp, pp, cp and dp are impossible");
        return;
    }
    near = of_devices ? near_devices(space) : near_parts(d);
    text_addf(
        out,
        "no divisible layout: %s is %" PRId64 ", not a multiple of %s %" PRId64 "; nearest %s: ",
        d->what, d->whole, d->by == SPACE_NCHOICES ? "tp x pp x cp" : space_choice_name(d->by),
        d->parts, of_devices ? "--devices with layouts" : "that divide it");
    add_near(out, &near);
}
