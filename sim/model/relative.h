/* model/relative.h - the relative positions of T5: distances between query and key, in buckets.
 *
 * Each head has a bias for every bucket, which is added to the scores at that distance.  Small
 * distances have a bucket each, larger ones share buckets whose width grows logarithmically (C.
 * Raffel et al., arXiv 1910.10683, section 2.1, and the code published with it).
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_RELATIVE_H
#define MODEL_RELATIVE_H

#include "graph/graph.h"

#define RELATIVE_BUCKETS_MAX 256 /* a bucket number is stored in a byte */

struct relative_opts {
    uint32_t buckets;  /* a multiple of 4, at most RELATIVE_BUCKETS_MAX */
    int64_t distance;  /* distances from this on share the last bucket; above buckets / 2 */
    bool both;         /* keys lie on both sides of a query; false: no key ahead of the query
                          counts */
};

/* The bucket of a key that is `ahead` positions after its query (negative: before it). */
uint32_t relative_bucket(const struct relative_opts *opts, int64_t ahead);

/* The bias[seq, keys, heads] from table[buckets, heads], for struct attention_opts. */
uint32_t relative_bias(struct graph *graph, const char *name, uint32_t table, uint32_t seq,
                       uint32_t keys, const struct relative_opts *opts);

#endif /* MODEL_RELATIVE_H */
