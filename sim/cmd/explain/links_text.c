/* links_text.c - a collective on the links of a cluster, in words and numbers (links.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/explain/links.h"

#include <ctype.h>
#include <inttypes.h>

#include "base/escape.h"
#include "base/units.h"
#include "base/wrap.h"
#include "hardware/torus.h"

static struct units_text bytes_of(double value)
{
    return units_print_bytes((uint128)(value + 0.5));
}

/* Add a line; names in it may come from outside and are escaped. */
static void add_line(struct text *out, size_t width, size_t indent, struct text *line)
{
    escape_from(line, 0);
    wrap_add(out, width, 0, indent, text_get(line));
    out->failed |= line->failed;
    text_fini(line);
}

/* ---- the head ---- */

/* Whether the mesh was given by sizes alone: its axes are called 0, 1, ... */
static bool is_unnamed(const struct shd_mesh *mesh)
{
    return shd_mesh_naxes(mesh) > 0 && isdigit((unsigned char)shd_mesh_axis_name(mesh, 0)[0]);
}

/* "over 16 x 16 devices", "along dimension 1 of 16 x 16 devices". */
static void add_unnamed(const struct links_question *q, struct text *t)
{
    size_t all = shd_mesh_naxes(q->mesh);

    if (q->naxes == all) {
        text_add(t, "over ");
    } else {
        text_addf(t, "along dimension%s ", q->naxes == 1 ? "" : "s");
        for (size_t i = 0; i < q->naxes; i++)
            text_addf(t, "%s%s", i ? "," : "", shd_mesh_axis_name(q->mesh, q->axes[i]));
        text_add(t, " of ");
    }
    for (size_t i = 0; i < all; i++)
        text_addf(t, "%s%" PRId64, i ? " x " : "", (int64_t)shd_mesh_axis_size(q->mesh, i));
    text_add(t, " devices");
}

static void add_named(const struct links_question *q, struct text *t)
{
    char mesh[256];

    shd_mesh_print(q->mesh, mesh, sizeof mesh);
    text_add(t, "over ");
    for (size_t i = 0; i < q->naxes; i++)
        text_addf(t, "%s%s", i ? "," : "", shd_mesh_axis_name(q->mesh, q->axes[i]));
    text_addf(t, " of mesh %s", mesh);
}

static void add_head(const struct links_answer *a, const struct links_question *q, struct text *out,
                     size_t width)
{
    struct text t = TEXT_INIT;

    text_addf(&t, "%s of %s a member ", coll_kind_name(q->kind), bytes_of(q->operand_bytes).text);
    if (is_unnamed(q->mesh))
        add_unnamed(q, &t);
    else
        add_named(q, &t);
    text_addf(&t, " on %s: %" PRId64 " members", q->hardware->name, a->group.members);
    if (a->array_bytes > q->operand_bytes)
        text_addf(&t, ", %s in total", bytes_of(a->array_bytes).text);
    add_line(out, width, 4, &t);
}

static void add_slice(const struct hardware_tier *tier, struct text *out, size_t width)
{
    struct text t = TEXT_INIT;
    int rings = 0;

    text_add(&t, "slice of ");
    for (int d = 0; d < tier->ndims; d++) {
        text_addf(&t, "%s%" PRId64, d ? " x " : "", tier->dims[d]);
        rings += tier->wrap[d];
    }
    if (rings == tier->ndims)
        text_add(&t, ", all axes closed to rings");
    else if (rings == 0)
        text_add(&t, ", no axis closed to a ring");
    else
        for (int d = 0, told = 0; d < tier->ndims; d++)
            if (tier->wrap[d])
                text_addf(&t, "%s%d", told++ ? ", " : ", closed to rings: torus axis ", d);
    add_line(out, width, 4, &t);
}

/* ---- parts ---- */

/* Add the formula of a part's bytes as one computes by hand: "2 x (8-1)/8 x 64.0 MiB". */
static void add_bytes_formula(const struct links_answer *a, const struct links_question *q,
                              const struct hardware_part *part, struct text *t)
{
    bool torus = q->hardware->tiers[part->tier].torus;
    bool levels = a->collective.schedule != HARDWARE_RING;
    bool trees = a->collective.schedule == HARDWARE_TREE && part->tier > 0;
    int64_t inner = part->tier > 0 ? a->group.inside[part->tier - 1] : 1;
    int64_t n = levels ? part->members : a->group.members;
    struct units_text array = bytes_of(levels ? a->array_bytes / (double)inner : a->array_bytes);

    if (trees && q->kind == COLL_ALL_REDUCE) {
        text_addf(t, "2 x %s, up and down,", array.text);
        return;
    }
    switch (q->kind) {
    case COLL_ALL_REDUCE:
    case COLL_ALL_GATHER:
    case COLL_REDUCE_SCATTER:
        text_addf(t, "%s(%" PRId64 "-1)/%" PRId64 " x %s", q->kind == COLL_ALL_REDUCE ? "2 x " : "",
                  n, n, array.text);
        if (!levels && inner > 1)
            text_addf(t, " / %" PRId64 " members inside", inner);
        break;
    case COLL_ALL_TO_ALL:
        if (torus)
            text_addf(t, "%s", array.text);
        else
            text_addf(t, "(%" PRId64 "-%" PRId64 ")/%" PRId64 " x %s", a->group.inside[part->tier],
                      inner, a->group.members, array.text);
        break;
    default:
        text_addf(t, "%s", array.text);
    }
}

static void add_torus_axes(const struct links_answer *a, const struct hardware_tier *tier,
                           struct text *t)
{
    const char *before = " along ";

    for (int d = 0; d < tier->ndims; d++) {
        if (a->group.along[d] < 2)
            continue;
        text_addf(t, "%storus axis %d, a %s of %" PRId64, before, d,
                  torus_is_ring(tier, &a->group, d) ? "ring" : "line", a->group.along[d]);
        if (a->group.step[d] > 1)
            text_addf(t, " with %" PRId64 " links between neighbours", a->group.step[d]);
        before = "; ";
    }
}

static void add_bytes(const struct links_answer *a, const struct links_question *q,
                      const struct hardware_part *part, struct text *out, size_t width)
{
    static const char label[] = "    bandwidth  ";
    const struct hardware_tier *tier = &q->hardware->tiers[part->tier];
    bool spread = tier->torus && q->kind == COLL_ALL_TO_ALL;
    struct text t = TEXT_INIT;

    add_bytes_formula(a, q, part, &t);
    if (spread) /* torus.c: floor(n*n/4)/2n of what each member sends, on a line floor(n*n/4)/n */
        text_addf(&t, " x %.4g (of a ring n/8, of a line n/4) = %s over the busiest link, one way",
                  part->bytes / a->array_bytes, bytes_of(part->bytes).text);
    else
        text_addf(&t, " = %s into a device", bytes_of(part->bytes).text);
    text_addf(&t, ", by %s", units_print_rate(part->bytes_per_s).text);
    if (tier->torus && !spread)
        text_addf(&t, " (%.3g links of %s)",
                  part->bytes_per_s / tier->bytes_per_s / tier->efficiency,
                  units_print_rate(tier->bytes_per_s * tier->efficiency).text);
    text_addf(&t, " = %s", units_print_seconds(part->bandwidth_s).text);
    text_add(out, label);
    wrap_add(out, width, sizeof label - 1, sizeof label - 1, text_get(&t));
    out->failed |= t.failed;
    text_fini(&t);
}

static void add_part(const struct links_answer *a, const struct links_question *q,
                     const struct hardware_part *part, struct text *out, size_t width)
{
    const struct hardware_tier *tier = &q->hardware->tiers[part->tier];
    double step = part->steps > 0 ? part->latency_s / part->steps : 0;
    struct text t = TEXT_INIT;

    text_addf(&t, "%s: %" PRId64 " %s", tier->name, part->members,
              part->tier > 0 && a->group.inside[part->tier - 1] > 1 ? "domains" : "members");
    if (tier->torus)
        add_torus_axes(a, tier, &t);
    add_line(out, width, 4, &t);
    if (part->start_s > 0)
        text_addf(out, "    start      %s\n", units_print_seconds(part->start_s).text);
    text_addf(out, "    latency    %.12g %s of %s = %s\n", part->steps,
              tier->torus ? "hops" : "steps", units_print_seconds(step).text,
              units_print_seconds(part->latency_s).text);
    add_bytes(a, q, part, out, width);
    if (part->copy_s > 0)
        text_addf(out, "    copy       %s through the device by %s = %s\n",
                  bytes_of(part->copy_s * tier->copy_bytes_per_s).text,
                  units_print_rate(tier->copy_bytes_per_s).text,
                  units_print_seconds(part->copy_s).text);
    if (tier->torus)
        text_addf(out, "    time       the larger of both%s = %s\n",
                  part->start_s > 0 || part->copy_s > 0 ? ", and the rest" : "",
                  units_print_seconds(part->seconds).text);
    else if (a->collective.schedule != HARDWARE_RING || a->collective.nparts == 1)
        text_addf(out, "    time       their sum = %s\n", units_print_seconds(part->seconds).text);
}

/* ---- the end ---- */

static void add_schedule(const struct links_answer *a, const struct links_question *q,
                         struct text *out, size_t width)
{
    struct text t = TEXT_INIT;

    if (a->collective.nparts > 1 && a->collective.schedule != HARDWARE_RING)
        text_add(&t, "two levels: tiers in sequence, each on the part of a member at its level");
    else if (a->collective.nparts > 1)
        text_add(&t, "one ring through all members: tiers work at once, steps add up");
    if (a->collective.schedule == HARDWARE_TREE)
        text_addf(&t, "%s%s", t.length ? "; " : "",
                  q->kind == COLL_ALL_REDUCE
                      ? "up and down two trees, each for half of the array: 2 log2 n steps"
                      : "between those 1, 2, 4, ... apart: log2 n steps");
    if (a->collective.small)
        text_addf(&t, "%sby the protocol for small messages", t.length ? "; " : "");
    if (t.length)
        add_line(out, width, 4, &t);
    text_fini(&t);
}

static void add_time(const struct links_answer *a, struct text *out, size_t width)
{
    struct text t = TEXT_INIT;

    text_addf(&t, "time %s, bound by %s", units_print_seconds(a->collective.seconds).text,
              a->bound);
    if (a->collective.host_s > 0)
        text_addf(&t, " (its host starts it in %s)",
                  units_print_seconds(a->collective.host_s).text);
    if (a->long_ring_s > 0 && a->collective.nparts == 1)
        text_addf(&t, "; bandwidth without (n-1)/n, as for a long ring: %s",
                  units_print_seconds(a->long_ring_s).text);
    add_line(out, width, 4, &t);
    text_addf(out, "algorithm bandwidth %s, bus bandwidth %s\n",
              units_print_rate(a->algorithm_bytes_per_s).text,
              units_print_rate(a->bus_bytes_per_s).text);
    if (a->equal_operand_bytes > 0)
        text_addf(out, "latency and bandwidth are equal at %s per member\n",
                  bytes_of(a->equal_operand_bytes).text);
}

void links_text(const struct links_answer *a, const struct links_question *q, struct text *out,
                size_t width)
{
    add_head(a, q, out, width);
    if (q->hardware->tiers[0].torus)
        add_slice(&q->hardware->tiers[0], out, width);
    if (a->collective.schedule == HARDWARE_ALONE) {
        text_add(out, "one member: nothing to do\n");
        return;
    }
    add_schedule(a, q, out, width);
    for (int p = 0; p < a->collective.nparts; p++)
        add_part(a, q, &a->collective.parts[p], out, width);
    add_time(a, out, width);
}
