/* barrier/direct - nothing moves: members only meet.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/table.h"

static uint32_t nsteps(const struct coll_shape *shape)
{
    (void)shape;
    return 0;
}

static uint32_t nmoves(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    (void)shape;
    (void)member;
    (void)step;
    return 0;
}

/* Never called: the schedule has no steps. */
static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    (void)shape;
    (void)step;
    (void)i;
    *out = (struct coll_move){.peer = member, .dst = COLL_OUT};
}

static uint64_t received(const struct coll_shape *shape, uint32_t member)
{
    (void)shape;
    (void)member;
    return 0;
}

const struct coll_algo coll_barrier_direct = {
    .kind = COLL_BARRIER,
    .name = "direct",
    .desc = "all wait for all",
    .limits = COLL_ANY,
    .reduces = false,
    .nsteps = nsteps,
    .nmoves = nmoves,
    .move = move,
    .received = received,
    .sent = received,
    .alike = coll_alike_all,
};
