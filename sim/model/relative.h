/* model/relative.h - the relative positions of T5: what lies between two places, in buckets.
 *
 * A score's bias is the number that its head has for the bucket of the distance from query to key:
 * near distances have buckets of their own, farther ones share them, wider and wider by the
 * logarithm (C. Raffel et al., arXiv 1910.10683, section 2.1, and the code published with it).
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_RELATIVE_H
#define MODEL_RELATIVE_H

#include "graph/graph.h"

#define RELATIVE_BUCKETS_MAX 256 /* a bucket is kept in a byte */

struct relative_opts {
    uint32_t buckets;  /* a multiple of 4, at most RELATIVE_BUCKETS_MAX */
    int64_t distance;  /* from which on all are in the last bucket; above buckets / 2 */
    bool both;         /* keys lie on both sides of a query; else none that counts lies ahead */
};

/* The bucket of a key that lies `ahead` places after its query, or before it: negative. */
uint32_t relative_bucket(const struct relative_opts *opts, int64_t ahead);

/* The bias[seq, keys, heads] of table[buckets, heads], as struct attention_opts wants it. */
uint32_t relative_bias(struct graph *graph, const char *name, uint32_t table, uint32_t seq,
                       uint32_t keys, const struct relative_opts *opts);

#endif /* MODEL_RELATIVE_H */
