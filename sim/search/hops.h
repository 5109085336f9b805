/* search/hops.h - the messages between pipeline stages: activations from the previous stage and
 * gradients from the next, read from a piece (attempt.h), whose stages are all on the same devices.
 *
 * A stage receives its message where its phase begins: the rank issues the receive after all
 * computations before the phase; then the stage's computations wait, except for those in front of
 * the first that needs the message.
 *
 * Thread class: pure function.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_HOPS_H
#define SEARCH_HOPS_H

#include "cost/op_seconds.h"

enum hop_way { HOP_FORWARD, HOP_BACK, HOP_NWAYS };

struct hop {
    double message_s[HARDWARE_TIERS_MAX]; /* by the tier that the message crosses; on a torus, the
                                             minimum: to the next device */
    /* For a stage of one layer, and for each further layer: */
    double free_s, free_layer_s; /* upper bound on compute before the first op that needs the
                                    message */
    double late_s, late_layer_s; /* compute after the stage has sent its own message */
};

/* Read both directions from a piece with one layer in the second stage and two in the third;
 * `slower` is the slowdown of the slowest node.  SHD_ENOMEM. */
SHD_MUST_CHECK int hops_read(struct hop hops[HOP_NWAYS], const struct op_seconds *seconds,
                             double slower, struct shd_error *err);

/* Time by tier of the message with the gradients of an embedding table shared by the first and last
 * stage, sent to the first stage's update; zeros if no table is shared. */
void hops_read_update(double message_s[HARDWARE_TIERS_MAX], const struct op_seconds *seconds);

#endif /* SEARCH_HOPS_H */
