/* Which experts have copies, and where they are (copies.h).
 *
 * The longest-processing-time rule (Graham, "Bounds on multiprocessing timing anomalies", 1969),
 * where devices have as many copies each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/copies.h"

#include <stdlib.h>

size_t kern_copies_room(uint32_t experts, uint32_t places)
{
    return (size_t)experts + 1 + 2 * (size_t)places;
}

/* ---- how many copies ---- */

/* Whether a copy of an expert has a larger load than one of another. */
static bool is_fuller(const uint64_t *loads, const int32_t *ncopies, uint32_t a, uint32_t b)
{
    return loads[a] * (uint64_t)ncopies[b] > loads[b] * (uint64_t)ncopies[a];
}

/* Set the number of copies of each expert; of equal loads the first expert has more. */
static void count_copies(int32_t *ncopies, const uint64_t *loads, uint32_t experts, uint32_t places)
{
    for (uint32_t e = 0; e < experts; e++)
        ncopies[e] = 1;
    for (uint32_t n = experts; n < places; n++) {
        uint32_t fullest = 0;

        for (uint32_t e = 1; e < experts; e++)
            if (is_fuller(loads, ncopies, e, fullest))
                fullest = e;
        ncopies[fullest]++;
    }
}

/* ---- where they are ---- */

struct packing {
    uint32_t ndevices, each; /* places of a device */
    double *sums;            /* [device] */
    uint32_t *taken;         /* [device]: places */
    const int32_t *expert;   /* [place] */
};

static bool holds(const struct packing *p, uint32_t device, int32_t expert)
{
    const int32_t *own = p->expert + (size_t)device * p->each;

    for (uint32_t i = 0; i < p->taken[device]; i++)
        if (own[i] == expert)
            return true;
    return false;
}

/* The device that takes a copy next; one that has another copy only if all others are full. */
static uint32_t choose(const struct packing *p, int32_t expert)
{
    uint32_t best = p->ndevices;
    bool best_holds = false;

    for (uint32_t d = 0; d < p->ndevices; d++) {
        bool has;

        if (p->taken[d] == p->each)
            continue;
        has = holds(p, d, expert);
        if (best < p->ndevices &&
            (has > best_holds || (has == best_holds && p->sums[d] >= p->sums[best])))
            continue;
        best = d;
        best_holds = has;
    }
    return best;
}

struct entry {
    double load; /* of one copy */
    int32_t expert;
};

/* Larger loads first; equal ones in the order of experts. */
static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->load != y->load)
        return x->load < y->load ? 1 : -1;
    return (x->expert > y->expert) - (x->expert < y->expert);
}

/* Deal out the experts in order, with all copies of one after each other. */
static void pack(struct packing *p, const struct entry *entries, uint32_t experts,
                 const int32_t *first, int32_t *place, int32_t *expert)
{
    for (uint32_t i = 0; i < experts; i++) {
        int32_t e = entries[i].expert;

        for (int32_t k = first[e]; k < first[e + 1]; k++) {
            uint32_t device = choose(p, e);
            uint32_t at = device * p->each + p->taken[device]++;

            p->sums[device] += entries[i].load;
            expert[at] = e;
            place[k] = (int32_t)at;
        }
    }
}

bool kern_copies_make(struct kern_copies *out, const uint64_t *loads, uint32_t experts,
                      uint32_t places, uint32_t devices, int32_t *room)
{
    int32_t *first = room, *place = first + experts + 1, *expert = place + places;
    struct entry *entries = malloc((experts + 1) * sizeof *entries);
    struct packing p = {.ndevices = devices,
                        .each = places / devices,
                        .sums = calloc(devices + 1, sizeof *p.sums),
                        .taken = calloc(devices + 1, sizeof *p.taken),
                        .expert = expert};
    bool made = entries && p.sums && p.taken;

    if (made) {
        first[0] = 0;
        count_copies(first + 1, loads, experts, places);
        for (uint32_t e = 0; e < experts; e++) {
            entries[e] = (struct entry){(double)loads[e] / first[e + 1], (int32_t)e};
            first[e + 1] += first[e];
        }
        qsort(entries, experts, sizeof *entries, compare);
        pack(&p, entries, experts, first, place, expert);
        *out = (struct kern_copies){experts, places, first, place, expert};
    }
    free(entries);
    free(p.sums);
    free(p.taken);
    return made;
}

/* Tokens take copies in turn; experts begin with different copies, so that few tokens do not all
 * take the first ones. */
int32_t kern_copies_find(const struct kern_copies *copies, int32_t id, int64_t token)
{
    const int32_t *first = copies->first + id;

    if (id < 0 || id >= (int32_t)copies->experts)
        return id;
    return copies->place[first[0] + (token + id) % (first[1] - first[0])];
}
