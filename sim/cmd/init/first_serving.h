/* cmd/init/first_serving.h - the first serving scenario, which `shardsim init --serve` writes: the
 * layout with the most tokens a second among those that inference servers offer.
 *
 * Every TP size within a node is tried, with data parallelism over the rest and expert parallelism
 * over all devices.  The batch is as large as the KV caches allow, up to the usual limit of servers.
 * No clock is read: the answer is always the same.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_INIT_FIRST_SERVING_H
#define CMD_INIT_FIRST_SERVING_H

#include "cmd/init/first.h"

/* Write the scenario of the best layout that fits or, if none does, of one that saves memory;
 * asked->batch 0: as many sequences as fit.  SHD_OK; else `diag` says why the written scenario cannot
 * be planned. */
SHD_MUST_CHECK int first_serving_write(struct text *out, struct first_figures *need,
                                       const struct first_asked *asked, struct diag *diag);

#endif /* CMD_INIT_FIRST_SERVING_H */
