/* send-recv/direct - member 1 pulls the operand of member 0.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/counts.h"
#include "coll/table.h"

static uint32_t nmoves(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    (void)shape;
    (void)step;
    return member == 1 ? 1 : 0;
}

static void move(const struct coll_shape *shape, uint32_t member, uint32_t step, uint32_t i,
                 struct coll_move *out)
{
    (void)member;
    (void)step;
    (void)i;
    *out = (struct coll_move){
        .peer = 0,
        .src = COLL_IN,
        .dst = COLL_OUT,
        .count = shape->count,
    };
}

static uint64_t received(const struct coll_shape *shape, uint32_t member)
{
    return member == 1 ? shape->count : 0;
}

static uint64_t sent(const struct coll_shape *shape, uint32_t member)
{
    return member == 0 ? shape->count : 0;
}

const struct coll_algo coll_send_recv_direct = {
    .kind = COLL_SEND_RECV,
    .name = "direct",
    .desc = "the receiver pulls from the sender",
    .limits = COLL_PAIR,
    .reduces = false,
    .nsteps = coll_one_step,
    .nmoves = nmoves,
    .move = move,
    .received = received,
    .sent = sent,
    .alike = coll_alike_none,
};
