/* torus.c - a collective on a torus of links.
 *
 * An axis that wraps around is a ring, on which each direction carries half; without wrap-around it
 * is a line, whose end device receives everything over one link.  A collective over several axes
 * cuts the array and starts each part along another axis, so that all links work at once.
 *
 * Every hop passes on a piece: it takes the time of the piece or the minimum time of a hop, so that
 * the larger of both terms counts, not their sum ("How to Scale Your Model", chapter on sharding).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/torus.h"

#include <math.h>

bool torus_is_ring(const struct hardware_tier *tier, const struct hardware_group *group, int axis)
{
    return tier->wrap[axis] && group->along[axis] * group->step[axis] == tier->dims[axis];
}

/* The rate of a link along axis `d` for this group: groups between its members share the link. */
static double link_rate(const struct hardware_tier *tier, const struct hardware_group *group, int d)
{
    return tier->bytes_per_s * tier->efficiency / (double)group->step[d];
}

/* The number of links to the farthest member along one axis. */
static double farthest(const struct hardware_tier *tier, const struct hardware_group *group, int d)
{
    int64_t n = group->along[d];

    return (double)((torus_is_ring(tier, group, d) ? n / 2 : n - 1) * group->step[d]);
}

/* All-to-all: the time of the busiest link of an axis.  Messages travel along one axis after the
 * other.  On a ring of n the mean distance is n/4 (n even) in each of two directions; the middle
 * link of a line carries all data between the two halves. */
static void spread(struct hardware_part *out, const struct hardware_tier *tier,
                   const struct hardware_group *group, double operand_bytes)
{
    for (int d = 0; d < tier->ndims; d++) {
        double n = (double)group->along[d], bytes, seconds;

        if (n < 2)
            continue;
        if (torus_is_ring(tier, group, d))
            bytes = operand_bytes * floor(n * n / 4) / (2 * n);
        else
            bytes = operand_bytes * floor(n * n / 4) / n;
        seconds = bytes / link_rate(tier, group, d);
        if (seconds <= out->bandwidth_s)
            continue;
        out->bytes = bytes;
        out->bytes_per_s = link_rate(tier, group, d);
        out->bandwidth_s = seconds;
    }
}

/* Bytes received by a device, for each byte of the array, with `n` members. */
static double received(enum coll_kind kind, double n)
{
    switch (kind) {
    case COLL_ALL_REDUCE:
        return 2 * (n - 1) / n;
    case COLL_GATHER:
        return n - 1;
    case COLL_ALL_GATHER:
    case COLL_REDUCE_SCATTER:
    case COLL_SCATTER:
        return (n - 1) / n;
    case COLL_BARRIER:
        return 0;
    default:
        return 1;
    }
}

void torus_part(struct hardware_part *out, const struct hardware_tier *tier, enum coll_kind kind,
                const struct hardware_group *group, double array_bytes)
{
    bool neighbour = kind == COLL_PERMUTE || kind == COLL_SEND_RECV;

    *out = (struct hardware_part){.tier = 0, .members = 1, .start_s = tier->latency_s};
    for (int d = 0; d < tier->ndims; d++) {
        if (group->along[d] < 2)
            continue;
        out->members *= group->along[d];
        if (neighbour) { /* the next member, by one link */
            out->steps = (double)group->step[d];
            out->bytes_per_s = link_rate(tier, group, d);
        } else {
            out->steps += farthest(tier, group, d);
            out->bytes_per_s += link_rate(tier, group, d) * (torus_is_ring(tier, group, d) ? 2 : 1);
        }
    }
    if (kind == COLL_ALL_REDUCE || kind == COLL_BARRIER)
        out->steps *= 2;
    if (kind == COLL_ALL_TO_ALL) {
        spread(out, tier, group, array_bytes);
    } else {
        out->bytes = array_bytes * received(kind, (double)out->members);
        out->bandwidth_s = out->bytes / out->bytes_per_s;
    }
    out->latency_s = out->steps * tier->step_s;
    if (tier->copy_bytes_per_s > 0)
        out->copy_s = array_bytes / tier->copy_bytes_per_s;
    out->seconds = out->start_s + fmax(out->latency_s, out->bandwidth_s) + out->copy_s;
}
