/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "hardware/steps.h"

#include <math.h>
#include <string.h>

/* Elements of an operand for each member: enough for a schedule to cut its chunks in halves. */
#define ELEMENTS 1024

/* Moves that are walked at most, unless a few members alone make more. */
#define MOVES_MAX 1000000

/* Members of which the moves are walked where there are too many: so many at either end and on
 * either side of a border of tiers. */
#define BESIDE 4

/* A walk through a schedule. */
struct steps_walk {
    const struct hardware *hardware;
    const struct coll_algo *algo;
    const struct shd_groups *groups;
    struct coll_shape shape;
    int64_t inside[HARDWARE_TIERS_MAX]; /* members in one domain of each tier */
    bool all;                           /* members are walked, not some */
    int outermost;                      /* tier that is used */
    struct hardware_steps *out;
};

static int64_t device_of(const struct steps_walk *w, uint32_t member)
{
    return shd_groups_position(w->groups, 0, (int32_t)member);
}

static double step_latency(const struct hardware_tier *tier, bool small)
{
    return small && tier->small_efficiency > 0 ? tier->small_step_s : tier->step_s;
}

static double start_latency(const struct hardware_tier *tier, bool small)
{
    return small && tier->small_efficiency > 0 ? tier->small_latency_s : tier->latency_s;
}

static double rate_of(const struct hardware_tier *tier, bool small)
{
    bool differs = small && tier->small_efficiency > 0;

    return tier->bytes_per_s * (differs ? tier->small_efficiency : tier->efficiency) /
           tier->oversubscription;
}

/* The next member after `member` that is walked; the number of members: none. */
static uint32_t next_member(const struct steps_walk *w, uint32_t member)
{
    int64_t n = w->shape.nmembers;

    for (int64_t m = (int64_t)member + 1; m < n && !w->all; m++) {
        int64_t next = n; /* the first one that is walked from here on */

        if (m < BESIDE || m >= n - BESIDE)
            return (uint32_t)m;
        for (int t = 0; t < w->hardware->ntiers; t++) {
            int64_t border = w->inside[t];

            if (m >= border - BESIDE && m < border + BESIDE)
                return (uint32_t)m;
            if (border - BESIDE > m && border - BESIDE < next)
                next = border - BESIDE;
        }
        m = (next < n - BESIDE ? next : n - BESIDE) - 1;
    }
    return w->all ? member + 1 : (uint32_t)n;
}

/* What the devices of a step wait for: seconds of latency, and seconds a byte of an operand. */
struct steps_cost {
    double latency_s[HARDWARE_NSTEPS], s_per_byte[HARDWARE_NSTEPS];
};

/* One member's moves in a step: messages start one after the other, those of one peer as one, and
 * their bytes share the links of a tier.  `parts` are what comes over each tier, of one operand,
 * times the links that a part occupies. */
static void add_moves(struct steps_walk *w, struct steps_cost *cost, uint32_t member, uint32_t step)
{
    double parts[HARDWARE_TIERS_MAX] = {0}, latency_s[HARDWARE_NSTEPS] = {0};
    uint32_t nmoves = w->algo->nmoves(&w->shape, member, step), last = COLL_NOBODY;

    for (uint32_t i = 0; i < nmoves; i++) {
        struct coll_move move;
        int64_t hops;
        int t;

        w->algo->move(&w->shape, member, step, i, &move);
        if (move.peer == member || move.count == 0)
            continue;
        t = hardware_tier_between(w->hardware, device_of(w, move.peer), device_of(w, member));
        hops = hardware_hops(w->hardware, device_of(w, move.peer), device_of(w, member));
        parts[t] += (double)move.count / (double)w->shape.count * (double)hops;
        w->outermost = t > w->outermost ? t : w->outermost;
        for (int k = 0; k < HARDWARE_NSTEPS && move.peer != last; k++)
            latency_s[k] +=
                (double)hops * step_latency(&w->hardware->tiers[t], k == HARDWARE_STEPS_SMALL);
        last = move.peer;
    }
    for (int k = 0; k < HARDWARE_NSTEPS; k++) {
        cost->latency_s[k] = fmax(cost->latency_s[k], latency_s[k]);
        for (int t = 0; t < w->hardware->ntiers; t++)
            cost->s_per_byte[k] =
                fmax(cost->s_per_byte[k],
                     parts[t] / rate_of(&w->hardware->tiers[t], k == HARDWARE_STEPS_SMALL));
    }
}

static void add_step(struct steps_walk *w, uint32_t step)
{
    struct steps_cost cost = {{0}, {0}};

    for (uint32_t m = 0; m < w->shape.nmembers; m = next_member(w, m))
        add_moves(w, &cost, m, step);
    for (int k = 0; k < HARDWARE_NSTEPS; k++) {
        w->out[k].latency_s += cost.latency_s[k];
        w->out[k].s_per_byte += cost.s_per_byte[k];
    }
}

/* Of the array that passes through each device, once. */
static double copy_s_per_byte(const struct steps_walk *w)
{
    double rate = w->hardware->tiers[w->outermost].copy_bytes_per_s;
    double operands = w->algo->kind == COLL_ALL_GATHER ? (double)w->shape.nmembers : 1;

    return rate > 0 ? operands / rate : 0;
}

void hardware_steps_of(struct hardware_steps out[HARDWARE_NSTEPS], const struct hardware *hardware,
                       const struct coll_algo *algo, const struct shd_groups *groups)
{
    uint32_t n = (uint32_t)groups->nmembers, nsteps;
    struct steps_walk w = {.hardware = hardware,
                           .algo = algo,
                           .groups = groups,
                           .shape = {.nmembers = n, .count = (uint64_t)n * ELEMENTS},
                           .out = out};
    struct hardware_group group;

    memset(out, 0, HARDWARE_NSTEPS * sizeof *out);
    hardware_group_of(&group, hardware, groups->mesh, groups->axes, groups->naxes);
    memcpy(w.inside, group.inside, sizeof w.inside);
    nsteps = n > 1 ? algo->nsteps(&w.shape) : 0;
    w.all = (uint64_t)nsteps * n * algo->nmoves(&w.shape, 0, 0) <= MOVES_MAX;
    for (uint32_t s = 0; s < nsteps; s++)
        add_step(&w, s);
    for (int k = 0; k < HARDWARE_NSTEPS && nsteps > 0; k++) {
        out[k].start_s = start_latency(&hardware->tiers[w.outermost], k == HARDWARE_STEPS_SMALL);
        out[k].s_per_byte += copy_s_per_byte(&w);
    }
}

double hardware_steps_seconds(const struct hardware_steps steps[HARDWARE_NSTEPS],
                              double operand_bytes)
{
    double least = INFINITY;

    for (int k = 0; k < HARDWARE_NSTEPS; k++)
        least = fmin(least,
                     steps[k].start_s + steps[k].latency_s + steps[k].s_per_byte * operand_bytes);
    return least;
}
