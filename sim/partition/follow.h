/* follow.h - placement by following: an axis cuts an op only if an operand or a request brings it.
 *
 * The placement that a practitioner expects of her own rules.  An axis comes to an op with an
 * operand that it shards, or is asked of the op's result; no other axis cuts the op.  If an axis
 * claims several places of one op, the strongest claim keeps it, and the other arrays are resharded
 * to match:
 *
 *   1. an axis that a data operand brings and that a constraint on the result, or its output, asks
 *      for;
 *   2. the batch (batch.h): weights sharded over the same axis are gathered, as in FSDP;
 *   3. a weight: it stays where its rule put it and the data comes to it, as in Megatron-LM's
 *      tensor and sequence parallelism;
 *   4. other data, the larger array first;
 *   5. an axis that is only asked of the result.
 *
 * A traced step does not say what is a gradient: a value without a batch counts as the gradient of
 * a sharded array of its dimensions, the same for the whole batch, that it meets in elementwise
 * functions: a parameter, or an optimizer's state.
 * An op that makes a larger array of one, all of whose readers gather an axis, brings no such axis:
 * the smaller array is gathered.
 *
 * A weight is a value that depends on parameters only.  With a batch, and made of a parameter that
 * shares its axes, it is data: the gradient of a sum of outputs, times a parameter sharded by FSDP.
 * Axes of the data over which ZeRO stores a weight make no claim on an op with data: the weight is
 * gathered before.  In an elementwise op weights follow the data.  If a weight meets values that
 * are the same for the whole batch (a table of distances; the gradient of a mean), and makes a
 * larger array that meets the batch later, the weight is gathered over the batch's axes first.
 *
 * A partial sum is combined before it is read, with three exceptions: ops that only add such sums
 * up (the gradients of an input that q, k and v share); products and look-ups whose results are
 * partial anyway or together no larger than the sum; and biases, which one device adds for all
 * where sums are combined as less by then (masks.h).  All readers of a sum decide together: once
 * combined, all read the combined sum.  Readers that come later take it where those before, all
 * alike, have it scattered.
 *
 * GSPMD (arXiv 2105.04663, section 3.5) and Shardy propagate along the same edges; here the kind of
 * an array settles priorities, instead of the order of user annotations.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARTITION_FOLLOW_H
#define PARTITION_FOLLOW_H

#include "partition/placement.h"

/* Why an axis may cut a factor of an op; of two claims the one listed later wins. */
enum follow_claim {
    CLAIM_NONE,
    CLAIM_KEPT,       /* a weight is stored sharded so, and no data brings the axis */
    CLAIM_QUEUES,     /* ids that say which rows are filled: rows may lie anywhere */
    CLAIM_MAP_WEIGHT, /* a weight brings the axis to an elementwise op */
    CLAIM_FORWARD,    /* the value of which this is the gradient is sharded so */
    CLAIM_ASKED,      /* asked of the result */
    CLAIM_DATA,
    CLAIM_WEIGHT,
    CLAIM_BATCH,
    CLAIM_AGREED /* data brings the axis, and it is asked of the result */
};

/* Assign every free op of a placement that is set up; `cause` of a node tells what brought its
 * axes. */
void follow_placement(struct placement *placement);

#endif /* PARTITION_FOLLOW_H */
