/* graph/pad.h - dimensions that do not divide, made longer by zeros.
 *
 * A dimension of n elements that is cut over k devices has ceil(n / k) of them on each, and behind
 * the last padding, as partitioners of whole programs have it (GSPMD).  Inputs and parameters are
 * zeros there; what an op makes of them is followed, and where padding would change what is
 * behind it (a sum, a maximum, the tokens of an embedding) it is overwritten first, by a node of
 * its own.  What the graph computes stays what it is; that includes divisors, which are numbers by
 * then.
 *
 * Thread class: pure functions of their arguments.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_PAD_H
#define GRAPH_PAD_H

#include "graph/graph.h"

/* The sizes, by dimension, of which each is a multiple of what is asked for (at least 1) and that
 * ops allow: as many copies of key heads as before.  Those that divide stay as they are.
 * SHD_EINDIVISIBLE: there are none that are reasonable. */
SHD_MUST_CHECK int graph_padded_sizes(int64_t *sizes, const struct graph *graph,
                                      const int64_t *multiples, struct shd_error *err);

/* The graph with dimensions of these sizes, none smaller; `graph` must outlive it.
 * SHD_EUNSUPPORTED, with a sentence: an op that looks across padding; SHD_ENOMEM. */
SHD_MUST_CHECK int graph_pad(struct graph **out, const struct graph *graph, const int64_t *sizes,
                             struct shd_error *err);

#endif /* GRAPH_PAD_H */
