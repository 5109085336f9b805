/* halo.h - what devices give each other where windows of a dimension cross the shards.
 *
 * A device's windows need elements before and behind its own: it gets them with its own in one
 * array (a reach, shd/reshard.h).  The sum of windows goes the other way: a device sums its windows
 * into such an array, and each neighbour gets the part that is for its elements, and adds it.
 * Reaches are exact for any stride, and for halos longer than a shard.
 *
 * Thread class: values; as emit.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_HALO_H
#define PARTITION_HALO_H

#include <shd/reshard.h>

#include "partition/placement.h"
#include "partition/versions.h"

struct halo {
    const struct shd_sharding *sharding; /* of the elements */
    struct shd_sharding to; /* of what reaches make: windows may be cut by more axes than divide
                               their elements */
    uint32_t dim, rank;
    int64_t shard;                 /* elements of a device */
    int64_t around, first;         /* of the array with neighbours' elements: its extent, and its
                                      first element from the device's own */
    int64_t shape[GRAPH_RANK_MAX]; /* of the array that reaches read */
    bool too_far;                  /* sum: there are more neighbours than pieces */
    uint32_t npieces;              /* 1 for windows; for their sum one for each neighbour */
    struct shd_reach pieces[KERN_OVERLAPS_MAX];
    int64_t at[KERN_OVERLAPS_MAX]; /* sum: a piece's first place in the shard */
};

/* Whether an op of windows, or of their sum, is placed so that elements are cut and windows cross
 * the shards. */
bool halo_find(struct halo *out, const struct placement *p, uint32_t node);

/* Cost of the exchange; 0: none. */
double halo_cost(const struct placement *p, uint32_t node);

/* A buffer of a node's type with `extent` elements along the halo's dimension on each device. */
SHD_MUST_CHECK int halo_add_buffer(struct emit *e, uint32_t node, const struct halo *halo,
                                   int64_t extent, uint32_t *buffer);

/* Emit a reach: reads *buffer, and stores its result's buffer there. */
SHD_MUST_CHECK int halo_add_reach(struct emit *e, uint32_t node, const struct halo *halo,
                                  uint32_t piece, const char *why, uint32_t *buffer);

/* Emit the exchange for an op's operand, and have the op's kernel read it; the kernel is set
 * afterwards by halo_set(). */
SHD_MUST_CHECK int halo_emit_before(struct emit *e, uint32_t node, const struct halo *halo,
                                    struct program_op *op);

/* Let the kernel of windows, or of their sum, read or write the array around the shard.  `desc` is
 * the op's description. */
void halo_set(struct program_op *op, union kern_desc *desc, const struct halo *halo);

/* Give the op's kernel a result of its own, add the op, and emit the exchange and the sum. */
SHD_MUST_CHECK int halo_emit_sum(struct emit *e, uint32_t node, const struct halo *halo,
                                 struct program_op *op);

#endif /* PARTITION_HALO_H */
