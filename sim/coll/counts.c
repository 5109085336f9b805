/* Numbers of steps and moves (counts.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/counts.h"

#include "coll/pow2.h"

uint32_t coll_one_step(const struct coll_shape *shape)
{
    (void)shape;
    return 1;
}

uint32_t coll_hop_steps(const struct coll_shape *shape)
{
    return shape->nmembers > 1 ? shape->nmembers - 1 : 1;
}

uint32_t coll_log_steps(const struct coll_shape *shape)
{
    return shape->nmembers > 1 ? pow2_ceil_log(shape->nmembers) : 1;
}

uint32_t coll_one_move(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    (void)shape;
    (void)member;
    (void)step;
    return 1;
}

uint32_t coll_moves_with_own(const struct coll_shape *shape, uint32_t member, uint32_t step)
{
    (void)member;
    return shape->nmembers > 1 && step == 0 ? 2 : 1;
}
