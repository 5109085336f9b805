/* search/hops.h - what a stage of a pipeline waits for from the one before it, forward, and from
 * the one behind it, back: read from a piece (attempt.h), whose stages are all on the same devices.
 *
 * Messages are received where a stage begins its phase: a rank issues the receive when it has done
 * all computations before it, and the stage's computations wait, but for those before the first one
 * that needs what comes.
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
    double message_s[HARDWARE_TIERS_MAX]; /* by the tier that it goes over; on a torus to the next
                                             device, which is the least */
    /* Of a stage of one layer, and of each more: */
    double free_s, free_layer_s; /* what is computed before the first that waits, at the most */
    double late_s, late_layer_s; /* what is computed when the stage has sent its own message */
};

/* The piece's second stage has one layer, its third two; computations take `slower` times as long
 * as on one node.  SHD_ENOMEM. */
SHD_MUST_CHECK int hops_read(struct hop hops[HOP_NWAYS], const struct op_seconds *seconds,
                             double slower, struct shd_error *err);

/* Of a table that the last stage shares with the first: the message with which its gradients come
 * to the first stage's update, by tier; zeros: there is none. */
void hops_read_update(double message_s[HARDWARE_TIERS_MAX], const struct op_seconds *seconds);

#endif /* SEARCH_HOPS_H */
