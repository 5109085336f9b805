/* over_ranks.h - devices of one mesh run on several ranks, each of which has some of them here.
 *
 * This is the side of run/away.h that speaks to other processes: remote.h has what concerns a whole
 * run, span.h and meet.h the groups whose members are on several ranks.
 *
 * Thread class: one thread of each rank, all ranks together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_RANKS_OVER_RANKS_H
#define RUN_RANKS_OVER_RANKS_H

#include <shd/run.h>

struct spread;

/* shd_run() of the devices that `spread` assigns to this rank, in all ranks at once: status, error
 * and counts are equal on all of them.  NULL: this rank has all devices, and is alone. */
int run_over_ranks(const struct shd_mesh *mesh, shd_device_fn fn, void *arg,
                   const struct shd_run_opts *opts, const struct spread *spread,
                   struct shd_run_stats *stats, struct shd_error *err);

#endif /* RUN_RANKS_OVER_RANKS_H */
