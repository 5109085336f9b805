/* all-reduce/two-level - reduce inside groups of neighbours, then between groups, then gather
 * inside again.
 *
 * Members are divided into groups of g neighbours, g the largest divisor of their number that is at
 * most its square root. (1) Inside a group each member reduces one g-th. (2) Members with the same
 * g-th, one per group, each reduce a part of it and (3) pull the others' parts. (4) Inside a group
 * all pull the missing g-ths.  Between groups only one g-th of a flat algorithm's bytes are sent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/table.h"

struct place {
    uint32_t inner_size, outer_size;
    uint32_t inner, outer; /* the member's place in its group, and its group's number */
};

static struct place place_of(uint32_t n, uint32_t member)
{
    uint32_t g = 1;

    for (uint32_t d = 2; d <= n / d; d++)
        g = n % d == 0 ? d : g;
    return (struct place){g, n / g, member % g, member / g};
}

static uint32_t nsteps(const struct coll_shape *shape)
{
    (void)shape;
    return 4;
}

static uint32_t nmoves(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    struct place p = place_of(shape->nmembers, member);

    if (step == 0)
        return p.inner_size;
    return step == 3 ? p.inner_size - 1 : p.outer_size - 1;
}

/* Set a move to the part of group `outer` of the g-th of place `inner`. */
static void set_part(const struct coll_shape *shape, const struct place *p, uint32_t inner,
                     uint32_t outer, struct coll_move *out)
{
    uint64_t at = coll_chunk_at(shape->count, p->inner_size, inner);
    uint64_t count = coll_chunk_count(shape->count, p->inner_size, inner);

    out->src_at = out->dst_at = at + coll_chunk_at(count, p->outer_size, outer);
    out->count = coll_chunk_count(count, p->outer_size, outer);
}

static void set_inner(const struct coll_shape *shape, const struct place *p, uint32_t inner,
                      struct coll_move *out)
{
    out->src_at = out->dst_at = coll_chunk_at(shape->count, p->inner_size, inner);
    out->count = coll_chunk_count(shape->count, p->inner_size, inner);
}

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    struct place p = place_of(shape->nmembers, member);
    uint32_t other; /* a place in the group, or a group's number; only step 0 includes the member
                       itself */

    *out = (struct coll_move){.src = step == 0 ? COLL_IN : COLL_OUT, .dst = COLL_OUT};
    if (step == 1 || (step == 0 && i > 0))
        out->act = COLL_COMBINE;
    if (step == 0 || step == 3) {
        other = step == 3 && i >= p.inner ? i + 1 : i;
        out->peer = p.outer * p.inner_size + other;
        set_inner(shape, &p, step == 0 ? p.inner : other, out);
    } else {
        other = i >= p.outer ? i + 1 : i;
        out->peer = other * p.inner_size + p.inner;
        set_part(shape, &p, p.inner, step == 1 ? p.outer : other, out);
    }
}

/* The terms are the four levels in order; a member sends in one level what it receives in
 * another. */
static uint64_t received(const struct coll_shape *shape, uint32_t member)
{
    struct place p = place_of(shape->nmembers, member);
    uint64_t inner = coll_chunk_count(shape->count, p.inner_size, p.inner);
    uint64_t part = coll_chunk_count(inner, p.outer_size, p.outer);

    return (p.inner_size - 1) * inner + (p.outer_size - 1) * part + (inner - part) +
           (shape->count - inner);
}

/* Inside a group, places with the longer g-th come first. */
static uint32_t alike(const struct coll_shape *shape, uint32_t member)
{
    struct place p = place_of(shape->nmembers, member);
    uint32_t longer = (uint32_t)(shape->count % p.inner_size);

    if (shape->count % shape->nmembers == 0)
        return shape->nmembers;
    return p.outer * p.inner_size + (p.inner < longer ? longer : p.inner_size);
}

const struct coll_algo coll_all_reduce_two_level = {
    .kind = COLL_ALL_REDUCE,
    .name = "two-level",
    .desc = "inside groups of neighbours, between groups, inside again",
    .limits = COLL_ANY,
    .reduces = true,
    .nsteps = nsteps,
    .nmoves = nmoves,
    .move = move,
    .received = received,
    .sent = received,
    .alike = alike,
};
