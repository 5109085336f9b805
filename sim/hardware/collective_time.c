/* collective_time.c - the time of a collective over the tiers that its group spans.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/hardware.h"

#include <math.h>

#include "hardware/kernel_work.h"
#include "hardware/torus.h"

/* A collective to be timed, and the protocol tried. */
struct asked {
    const struct hardware *hardware;
    const struct hardware_group *group;
    enum coll_kind kind;
    double array_bytes;
    bool small;
};

/* Members in one domain of the next inner tier. */
static int64_t below(const struct hardware_group *group, int t)
{
    return t > 0 ? group->inside[t - 1] : 1;
}

static bool has_levels(enum coll_kind kind)
{
    return kind == COLL_ALL_REDUCE || kind == COLL_ALL_GATHER || kind == COLL_REDUCE_SCATTER;
}

/* Bytes of the whole array that a collective moves, given one member's operand. */
static double array_of(enum coll_kind kind, double members, double operand_bytes)
{
    if (kind == COLL_BARRIER)
        return 0;
    return kind == COLL_ALL_GATHER ? members * operand_bytes : operand_bytes;
}

/* How often a ring passes the array around: all-reduce scatters the sums, then gathers them. */
static double rounds_of(enum coll_kind kind)
{
    return kind == COLL_ALL_REDUCE || kind == COLL_BARRIER ? 2 : 1;
}

/* Compute the times of a part from its bytes and steps; `array_bytes` is on each device. */
static void finish(struct hardware_part *part, const struct asked *asked, double array_bytes)
{
    const struct hardware_tier *tier = &asked->hardware->tiers[part->tier];
    bool small = asked->small && tier->small_efficiency > 0;

    part->bytes_per_s = tier->bytes_per_s * (small ? tier->small_efficiency : tier->efficiency) /
                        tier->oversubscription;
    part->start_s = small ? tier->small_latency_s : tier->latency_s;
    part->latency_s = part->steps * (small ? tier->small_step_s : tier->step_s);
    part->bandwidth_s = part->bytes / part->bytes_per_s;
    if (tier->copy_bytes_per_s > 0)
        part->copy_s = array_bytes / tier->copy_bytes_per_s;
    part->seconds = part->start_s + part->latency_s + part->bandwidth_s + part->copy_s;
}

/* ---- one ring through all members ---- */

/* Bytes of an all-to-all that enter a device over tier `t`: directly from its members there.  By
 * domains, the first tier hands on what has crossed, too, but to the device that it came to. */
static double direct_bytes(const struct hardware_group *group, int t, double array_bytes)
{
    double n = (double)group->members, inner = (double)below(group, t);
    double part = ((double)group->inside[t] - inner) / n;

    if (group->crossing == 0)
        return array_bytes * part;
    return array_bytes * (t > 0 ? group->crossing * part : 1 - 1 / (double)group->inside[0]);
}

/* Bytes that enter a device over tier `t`.  A ring enters each domain of the next inner tier once;
 * the library builds as many rings as the domain has members, each through another member's link,
 * so that they share the bytes.  Other collectives send directly. */
static double ring_bytes(enum coll_kind kind, const struct hardware_group *group, int t,
                         double array_bytes)
{
    double n = (double)group->members, inner = (double)below(group, t);

    switch (kind) {
    case COLL_ALL_REDUCE:
    case COLL_ALL_GATHER:
    case COLL_REDUCE_SCATTER:
        return rounds_of(kind) * array_bytes * (n - 1) / n / inner;
    case COLL_BROADCAST:
    case COLL_REDUCE:
        return array_bytes / inner;
    case COLL_ALL_TO_ALL:
    case COLL_SCATTER:
        return direct_bytes(group, t, array_bytes);
    case COLL_GATHER:
        return array_bytes * ((double)group->inside[t] - inner);
    case COLL_BARRIER:
        return 0;
    default: /* a message over the outermost tier */
        return group->inside[t] == group->members ? array_bytes : 0;
    }
}

/* Steps over tier `t`: those of a ring's n-1 steps that leave a domain of the next inner tier. */
static double ring_steps(enum coll_kind kind, const struct hardware_group *group, int t)
{
    double inner = (double)below(group, t), here = (double)group->inside[t];

    switch (kind) {
    case COLL_ALL_TO_ALL:
    case COLL_GATHER:
    case COLL_SCATTER:
        return here - inner;
    case COLL_PERMUTE:
    case COLL_SEND_RECV:
        return group->inside[t] == group->members ? 1 : 0;
    default:
        return rounds_of(kind) * ((double)group->members / inner - (double)group->members / here);
    }
}

/* One ring: the links of all tiers work in parallel; the steps of a piece are sequential. */
static void ring(struct hardware_collective *out, const struct asked *asked)
{
    const struct hardware_group *group = asked->group;
    double start = 0, latency = 0, longest = 0;

    *out = (struct hardware_collective){.schedule = HARDWARE_RING, .small = asked->small};
    for (int t = 0; t < asked->hardware->ntiers; t++) {
        struct hardware_part *part = &out->parts[out->nparts];

        if (group->inside[t] == below(group, t))
            continue;
        *part =
            (struct hardware_part){.tier = t,
                                   .members = group->inside[t] / below(group, t),
                                   .bytes = ring_bytes(asked->kind, group, t, asked->array_bytes),
                                   .steps = ring_steps(asked->kind, group, t)};
        finish(part, asked, asked->array_bytes);
        start = fmax(start, part->start_s);
        latency += part->latency_s;
        longest = fmax(longest, part->bandwidth_s + part->copy_s);
        out->nparts++;
    }
    out->seconds = start + latency + longest;
}

/* ---- inside the domains of the inner tiers, then between them ---- */

/* A ring of `here` domains.  All-reduce goes around twice. */
static void ring_between(struct hardware_part *part, enum coll_kind kind, double here, double bytes)
{
    part->bytes = rounds_of(kind) * bytes * (here - 1) / here;
    part->steps = rounds_of(kind) * (here - 1);
}

/* As many steps as `here` domains can be halved.  All-reduce goes up and down two trees, each for
 * half of the array and with the inner members of one as leaves of the other, so that the whole
 * array enters each device twice (P.  Sanders and others, "Two-tree algorithms for full bandwidth
 * broadcast, reduction and scan", 2009; NCCL since 2.4).  Reduce-scatter and all-gather exchange
 * with members at distances 1, 2, 4, ... (J.  Bruck and others, 1997; "PAT" in NCCL since 2.23).
 */
static void tree_between(struct hardware_part *part, enum coll_kind kind, double here, double bytes)
{
    part->bytes = rounds_of(kind) * bytes * (kind == COLL_ALL_REDUCE ? 1 : (here - 1) / here);
    part->steps = rounds_of(kind) * ceil(log2(here));
}

/* Reduce-scatter and all-gather leave to each outer tier one inner member's part of the array;
 * all-reduce scatters on the way out and gathers on the way back.  Trees connect domains: those
 * inside the innermost domain are a chain. */
static void levels(struct hardware_collective *out, const struct asked *asked,
                   enum hardware_schedule schedule)
{
    const struct hardware_group *group = asked->group;
    enum coll_kind kind = asked->kind;

    *out = (struct hardware_collective){.schedule = schedule, .small = asked->small};
    for (int t = 0; t < asked->hardware->ntiers; t++) {
        struct hardware_part *part = &out->parts[out->nparts];
        const struct hardware_tier *tier = &asked->hardware->tiers[t];
        double inner = (double)below(group, t), here = (double)group->inside[t] / inner;
        double bytes = has_levels(kind) ? asked->array_bytes / inner : asked->array_bytes;

        if (here <= 1)
            continue;
        if (tier->torus) {
            torus_part(part, tier, kind, group, bytes);
        } else {
            *part = (struct hardware_part){.tier = t, .members = (int64_t)here};
            if (!has_levels(kind)) {
                part->bytes = ring_bytes(kind, group, t, asked->array_bytes);
                part->steps = ring_steps(kind, group, t);
            } else if (schedule == HARDWARE_TREE && t > 0) {
                tree_between(part, kind, here, bytes);
            } else {
                ring_between(part, kind, here, bytes);
            }
            finish(part, asked, bytes);
        }
        out->seconds += part->seconds;
        out->nparts++;
    }
}

/* ---- all members at once ---- */

/* Each member reads from all others: in one step, which for an all-reduce brings it all their
 * arrays; or an all-reduce in two, first of a part of each, then of their sums. */
static void direct(struct hardware_collective *out, const struct asked *asked, double steps)
{
    double n = (double)asked->group->members;
    double arrays = asked->kind == COLL_ALL_REDUCE && steps == 1 ? n - 1 : steps * (n - 1) / n;
    struct hardware_part *part = &out->parts[0];

    *out = (struct hardware_collective){.schedule = HARDWARE_DIRECT, .nparts = 1};
    *part = (struct hardware_part){
        .members = asked->group->members, .bytes = arrays * asked->array_bytes, .steps = steps};
    finish(part, asked, asked->array_bytes);
    part->start_s = part->copy_s = 0;
    part->latency_s = steps * asked->hardware->tiers[0].direct_s;
    part->seconds = out->seconds = part->latency_s + part->bandwidth_s;
}

static bool can_directly(const struct asked *asked)
{
    return asked->hardware->tiers[0].direct_s > 0 && has_levels(asked->kind) &&
           asked->group->inside[0] == asked->group->members;
}

/* Inside a domain of the first tier, as such were measured; false: none was. */
static bool measured(struct hardware_collective *out, const struct asked *asked)
{
    struct hardware_part *part = &out->parts[0];
    struct kernel_parts parts;
    double n = (double)asked->group->members, seconds;

    if (asked->group->inside[0] != asked->group->members ||
        !kernel_work_collective_seconds(&seconds, &parts, asked->hardware, asked->kind, n,
                                        asked->array_bytes))
        return false;
    *out = (struct hardware_collective){
        .schedule = HARDWARE_MEASURED, .nparts = 1, .seconds = seconds};
    *part = (struct hardware_part){.members = asked->group->members,
                                   .bytes = rounds_of(asked->kind) * asked->array_bytes * (n - 1) / n,
                                   .bytes_per_s = asked->hardware->tiers[0].bytes_per_s,
                                   .latency_s = parts.computing_s,
                                   .bandwidth_s = parts.moving_s,
                                   .seconds = seconds};
    return true;
}

/* The time that the host needs to start the collective on all members. */
static double host_seconds(const struct asked *asked)
{
    double latency = 0, steps = 0;

    for (int t = 0; t < asked->hardware->ntiers; t++) {
        const struct hardware_tier *tier = &asked->hardware->tiers[t];
        double inner = (double)below(asked->group, t), here = (double)asked->group->inside[t];

        if (here == inner)
            continue;
        latency = fmax(latency, tier->host_latency_s);
        steps += (here / inner - 1) * tier->host_step_s;
    }
    return latency + steps;
}

/* Whether the library has a schedule for the collective.  No ring goes through all members of a
 * torus. */
static bool can(const struct asked *asked, enum hardware_schedule schedule)
{
    bool torus = asked->hardware->tiers[0].torus && asked->group->inside[0] > 1;

    switch (schedule) {
    case HARDWARE_RING:
        return !torus;
    case HARDWARE_LEVELS:
        return torus || has_levels(asked->kind);
    default:
        return has_levels(asked->kind) && asked->group->members > asked->group->inside[0];
    }
}

void hardware_collective(struct hardware_collective *out, const struct hardware *hardware,
                         enum coll_kind kind, const struct hardware_group *group,
                         double operand_bytes)
{
    struct asked asked = {
        .hardware = hardware,
        .group = group,
        .kind = kind,
        .array_bytes = array_of(kind, (double)group->members, operand_bytes),
    };
    struct hardware_collective other;

    if (group->members > 1 && measured(out, &asked))
        return;
    *out = (struct hardware_collective){.schedule = HARDWARE_ALONE, .seconds = INFINITY};
    for (int small = 0; small < 2 && group->members > 1; small++) {
        asked.small = small;
        for (int s = HARDWARE_RING; s <= HARDWARE_TREE; s++) {
            if (!can(&asked, (enum hardware_schedule)s))
                continue;
            if (s == HARDWARE_RING)
                ring(&other, &asked);
            else
                levels(&other, &asked, (enum hardware_schedule)s);
            if (other.seconds < out->seconds)
                *out = other;
        }
    }
    out->host_s = group->members > 1 ? host_seconds(&asked) : 0;
    out->seconds = group->members > 1 ? fmax(out->seconds, out->host_s) : 0;
    for (int steps = 1; steps <= 2 && group->members > 1 && can_directly(&asked); steps++) {
        asked.small = false;
        direct(&other, &asked, steps);
        if (other.seconds < out->seconds)
            *out = other;
    }
}

double hardware_collective_seconds(const struct hardware *hardware, enum coll_kind kind,
                                   const struct hardware_group *group, double operand_bytes)
{
    struct hardware_collective c;

    hardware_collective(&c, hardware, kind, group, operand_bytes);
    return c.seconds;
}

double hardware_message_seconds(const struct hardware *hardware, int64_t from, int64_t to,
                                double bytes)
{
    const struct hardware_tier *tier = &hardware->tiers[hardware_tier_between(hardware, from, to)];
    double hops = (double)hardware_hops(hardware, from, to), sending;

    if (from == to)
        return 0;
    sending = bytes / (tier->bytes_per_s * tier->efficiency / tier->oversubscription);
    if (tier->torus)
        return tier->latency_s + fmax(hops * tier->step_s, sending);
    return tier->latency_s + tier->step_s + sending;
}
