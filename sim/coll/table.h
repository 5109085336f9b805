/* table.h - all algorithms, for table.c and the files that define them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLL_TABLE_H
#define COLL_TABLE_H

#include "coll/coll.h"

extern const struct coll_algo coll_all_gather_bruck;
extern const struct coll_algo coll_all_gather_direct;
extern const struct coll_algo coll_all_gather_recursive_doubling;
extern const struct coll_algo coll_all_gather_ring;
extern const struct coll_algo coll_all_reduce_direct;
extern const struct coll_algo coll_all_reduce_halving_doubling;
extern const struct coll_algo coll_all_reduce_recursive_doubling;
extern const struct coll_algo coll_all_reduce_ring;
extern const struct coll_algo coll_all_reduce_two_level;
extern const struct coll_algo coll_all_to_all_bruck;
extern const struct coll_algo coll_all_to_all_direct;
extern const struct coll_algo coll_all_to_all_pairwise;
extern const struct coll_algo coll_barrier_direct;
extern const struct coll_algo coll_broadcast_direct;
extern const struct coll_algo coll_broadcast_tree;
extern const struct coll_algo coll_gather_direct;
extern const struct coll_algo coll_gather_tree;
extern const struct coll_algo coll_permute_direct;
extern const struct coll_algo coll_reduce_direct;
extern const struct coll_algo coll_reduce_scatter_direct;
extern const struct coll_algo coll_reduce_scatter_recursive_halving;
extern const struct coll_algo coll_reduce_scatter_ring;
extern const struct coll_algo coll_reduce_tree;
extern const struct coll_algo coll_scatter_direct;
extern const struct coll_algo coll_scatter_tree;
extern const struct coll_algo coll_send_recv_direct;

#endif /* COLL_TABLE_H */
