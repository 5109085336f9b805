/* follow.h - placement by following: an axis cuts an op only where something brings it there.
 *
 * What a practitioner expects of her own words.  An axis comes to an op with an operand that it
 * cuts, or is asked of its result; nothing else is cut.  Where an axis is brought to several places
 * of one op, one of them keeps it, and the other arrays are brought to that:
 *
 *   1. what a data operand brings and a constraint on the result, or its output, asks for too;
 *   2. the batch (batch.h): weights that are sharded over the same axis are gathered, as in FSDP;
 *   3. a weight: it stays where its rule put it and the data comes to it, as in Megatron-LM's
 * tensor and sequence parallelism;
 *   4. other data, the larger array first;
 *   5. what is asked of the result.
 *
 * A weight that ZeRO keeps sharded over axes of the data brings these to no op with data: it is
 * gathered before.  In an elementwise op weights follow the data; a weight is what depends on
 * parameters only.  Where it meets what is the same for the whole batch (a table of distances; the
 * gradient of a mean), and makes a larger array that meets the batch later, it is gathered over the
 * axes of the batch first.
 *
 * A sum of parts is combined before it is read, except by ops that only add such sums up (the
 * gradients of an input that q, k and v share), and by products and look-ups whose results are such
 * sums anyway or together no larger than it.  These decide together: once combined, a sum is read
 * so by all.
 *
 * This is what GSPMD (arXiv 2105.04663, section 3.5) and Shardy propagate along, with their
 * priorities settled by what the arrays are instead of by the order of user annotations.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_FOLLOW_H
#define PARTITION_FOLLOW_H

#include "partition/placement.h"

/* Why an axis may cut a factor of an op; of two claims the later one here holds. */
enum follow_claim {
    CLAIM_NONE,
    CLAIM_KEPT,       /* a weight is kept sharded so, and no data brings the axis */
    CLAIM_QUEUES,     /* ids that say which rows are filled: rows may lie anywhere */
    CLAIM_MAP_WEIGHT, /* a weight brings it to an elementwise op */
    CLAIM_FORWARD,    /* the value of which this is the gradient is sharded so */
    CLAIM_ASKED,      /* of the result */
    CLAIM_DATA,
    CLAIM_WEIGHT,
    CLAIM_BATCH,
    CLAIM_AGREED /* data brings it, and it is asked of the result */
};

/* Give every free op of a placement that is set up an assignment, and say in `cause` what
 * brought its axes.  SHD_ENOMEM. */
SHD_MUST_CHECK int follow_placement(struct placement *placement, struct shd_error *err);

#endif /* PARTITION_FOLLOW_H */
