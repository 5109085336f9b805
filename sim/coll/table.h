/* table.h - all algorithms, and numbers of steps and moves that several of them share.
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

/* Numbers of steps: one; one for each other member; one for each doubling of 1 up to the number of
 * members or beyond.  One step serves a group of one member. */
uint32_t coll_one_step(const struct coll_shape *shape);
uint32_t coll_hop_steps(const struct coll_shape *shape);
uint32_t coll_log_steps(const struct coll_shape *shape);

/* Numbers of moves: one; one and in step 0 also a copy of the member's own elements. */
uint32_t coll_one_move(const struct coll_shape *shape, uint32_t member, uint32_t step);
uint32_t coll_moves_with_own(const struct coll_shape *shape, uint32_t member, uint32_t step);

#endif /* COLL_TABLE_H */
