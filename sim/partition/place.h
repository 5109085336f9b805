/* place.h - place a graph as the request asks: by following, or by search.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_PLACE_H
#define PARTITION_PLACE_H

#include "partition/placement.h"

/* Place every value of the request's graph, in a pool.  SHD_EINDIVISIBLE. */
SHD_MUST_CHECK int place_values(struct placement *out, struct pool *pool,
                                const struct partition_request *request, struct shd_error *err);

#endif /* PARTITION_PLACE_H */
