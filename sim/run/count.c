/* Counting the bytes of fused calls (count.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/count.h"

#include "run/collective.h"

/* The member that reduces an element of the operand. */
struct owner {
    uint32_t member;
    uint64_t left; /* number of further elements owned by the member, from here on */
};

/* Elements past the last chunk are astray, and are attributed to the first member. */
static struct owner owner_at(const struct count *c, uint64_t at)
{
    struct owner owner;

    owner.member = coll_chunk_of(c->shape->count, c->shape->nmembers, at, &owner.left);
    return owner.member == COLL_NOBODY ? (struct owner){0, UINT64_MAX} : owner;
}

static struct owner next_owner(const struct count *c, uint32_t owner)
{
    uint32_t next = owner + 1;

    if (next == c->shape->nmembers)
        return (struct owner){0, UINT64_MAX};
    return (struct owner){next, coll_chunk_count(c->shape->count, c->shape->nmembers, next)};
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void count_end_run(struct count *c, enum count_side side, uint32_t i)
{
    struct count_run rest = c->runs[side][i];
    bool owned = rest.from == COUNT_OWNER || rest.to == COUNT_OWNER;
    struct owner owner = owned ? owner_at(c, rest.at) : (struct owner){0, UINT64_MAX};

    c->used[side] &= ~(UINT64_C(1) << i);
    while (rest.count > 0) {
        uint32_t from = rest.from == COUNT_OWNER ? owner.member : rest.from;
        uint32_t to = rest.to == COUNT_OWNER ? owner.member : rest.to;
        struct coll_origin want = coll_origin(c->kind, c->shape, to, rest.out_at);
        uint64_t n = least(rest.count, owner.left);

        if (want.count > 0)
            n = least(n, want.count);
        if (want.count == 0 || want.source != rest.source || want.at != rest.at)
            tally_add(&c->tally, to, to, n * c->elem_bytes);
        else if (from != to)
            tally_add(&c->tally, to, from, n * c->elem_bytes);
        rest.at += n;
        rest.out_at += n;
        rest.count -= n;
        owner.left -= n;
        if (owner.left == 0)
            owner = next_owner(c, owner.member);
    }
}

void count_init(struct count *c, const struct run_group *group, const struct coll_shape *shape,
                bool alone)
{
    c->kind = group->calls[0]->kind;
    c->elem_bytes = shd_dtype_size(group->calls[0]->dtype);
    c->shape = shape;
    for (int side = 0; side < COUNT_NSIDES; side++)
        c->used[side] = 0;
    tally_init(&c->tally, group, alone);
}

void count_flush(struct count *c)
{
    for (int side = 0; side < COUNT_NSIDES; side++) {
        while (c->used[side])
            count_end_run(c, side, (uint32_t)__builtin_ctzll(c->used[side]));
    }
    tally_flush(&c->tally);
}
