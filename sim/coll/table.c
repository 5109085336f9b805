/* The algorithms there are; the first of a kind is its default.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "coll/table.h"

#include <stddef.h>

const struct coll_algo *const coll_algos[] = {
    &coll_all_reduce_direct,
    &coll_all_reduce_ring,
    &coll_all_gather_direct,
    &coll_all_gather_ring,
    &coll_reduce_scatter_direct,
    &coll_reduce_scatter_ring,
    &coll_all_to_all_direct,
    &coll_permute_direct,
    &coll_broadcast_direct,
    &coll_gather_direct,
    &coll_scatter_direct,
    &coll_reduce_direct,
    &coll_send_recv_direct,
    &coll_barrier_direct,
    NULL,
};
