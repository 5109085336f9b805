/* links.c - time of a collective on the links of a cluster, by part (links.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/explain/links.h"

#include <math.h>

/* Bandwidth time without the factor (n-1)/n, which one drops for a long ring, for collectives with
 * this factor; 0 for others. */
static double long_ring_seconds(const struct links_answer *a, enum coll_kind kind)
{
    double n = (double)a->group.inside[0], rounds = kind == COLL_ALL_REDUCE ? 2 : 1;

    if (kind != COLL_ALL_REDUCE && kind != COLL_ALL_GATHER && kind != COLL_REDUCE_SCATTER)
        return 0;
    return a->collective.parts[0].bandwidth_s * n * rounds / (coll_bus_factor(kind, n) * n);
}

static void add_parts(struct links_answer *out)
{
    const struct hardware_collective *c = &out->collective;
    double start = 0, longest = 0;

    for (int p = 0; p < c->nparts; p++) {
        const struct hardware_part *part = &c->parts[p];
        double moving = part->bandwidth_s + part->copy_s;

        out->latency_s += part->latency_s;
        if (c->schedule != HARDWARE_RING) {
            out->latency_s += part->start_s;
            out->bandwidth_s += moving;
        }
        start = fmax(start, part->start_s);
        longest = fmax(longest, moving);
    }
    if (c->schedule == HARDWARE_RING) {
        out->latency_s += start;
        out->bandwidth_s = longest;
    }
}

static const char *bound_of(const struct links_answer *a)
{
    if (a->collective.seconds <= 0)
        return "nothing";
    if (a->collective.host_s > 0 && a->collective.seconds <= a->collective.host_s)
        return "host";
    return a->latency_s > a->bandwidth_s ? "latency" : "bandwidth";
}

void links_answer(struct links_answer *out, const struct links_question *q)
{
    double n;

    *out = (struct links_answer){.array_bytes = q->operand_bytes};
    hardware_group_of(&out->group, q->hardware, q->mesh, q->axes, q->naxes);
    hardware_collective(&out->collective, q->hardware, q->kind, &out->group, q->operand_bytes);
    n = (double)out->group.members;
    if (q->kind == COLL_ALL_GATHER || q->kind == COLL_GATHER)
        out->array_bytes *= n;
    add_parts(out);
    out->bound = bound_of(out);
    if (out->collective.seconds > 0) {
        out->algorithm_bytes_per_s = out->array_bytes / out->collective.seconds;
        out->bus_bytes_per_s = out->algorithm_bytes_per_s * coll_bus_factor(q->kind, n);
    }
    if (out->bandwidth_s > 0)
        out->equal_operand_bytes = q->operand_bytes * out->latency_s / out->bandwidth_s;
    if (q->hardware->tiers[0].torus && out->collective.nparts > 0 && out->group.inside[0] > 1)
        out->long_ring_s = long_ring_seconds(out, q->kind);
}
