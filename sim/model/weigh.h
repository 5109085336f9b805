/* weigh.h - splits of a model's layers into pipeline stages of even work.
 *
 * The work of a stage is that of its values in the forward phase three times, as a backward phase
 * takes twice as long, and once more of values that are computed again.  A value takes its flops
 * (a multiply-add is 2), or, with a cluster, the seconds of its kernel on whole arrays: the longer
 * of its flops and its bytes at the cluster's rates.  All devices of a stage share its work alike,
 * so that shardings need not be known.
 *
 * Units are the values before the layers, each layer, and the values behind the layers.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_WEIGH_H
#define MODEL_WEIGH_H

#include "graph/graph.h"
#include "hardware/hardware.h"

/* The work of a value in the forward phase: seconds on `hardware`, or flops if that is NULL. */
double weigh_value(const struct graph *graph, uint32_t node, const struct hardware *hardware);

/* Split `nunits` units into `nstages` runs of at least one unit, so that the largest sum of a run
 * is as small as can be, and sums before the last are near the mean of what is left.  counts[stage]
 * is the number of units; `nstages` is at most `nunits`, and `need` has room for nunits + 1. */
void weigh_split(uint32_t *counts, uint32_t nstages, const double *work, uint32_t nunits,
                 uint32_t *need);

#endif /* MODEL_WEIGH_H */
