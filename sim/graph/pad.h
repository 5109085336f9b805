/* pad.h - pad dimensions that do not divide with zeros.
 *
 * A dimension of n elements that is cut over k devices has ceil(n / k) elements on each, and
 * padding behind the last, as in partitioners of whole programs (GSPMD).  Inputs and parameters are
 * zero in their padding; the values that ops produce there are tracked, and if padding would change
 * a later result (a sum, a maximum, the tokens of an embedding), a node of its own overwrites it
 * first.  The graph's results are unchanged; divisors of means too, since they are constants
 * already.
 *
 * Thread class: pure functions of their arguments.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_PAD_H
#define GRAPH_PAD_H

#include "graph/graph.h"

/* Padded sizes by dimension: each is a multiple of its entry in `multiples` (at least 1), and ops
 * allow them (the number of copies of key heads is unchanged).  Sizes that divide are kept.
 * SHD_EINDIVISIBLE: no reasonable sizes exist. */
SHD_MUST_CHECK int graph_padded_sizes(int64_t *sizes, const struct graph *graph,
                                      const int64_t *multiples, struct shd_error *err);

/* The graph with dimensions of these sizes, none smaller than before; `graph` must outlive it.
 * SHD_EUNSUPPORTED, with a sentence: an op looks across padding; SHD_ENOMEM. */
SHD_MUST_CHECK int graph_pad(struct graph **out, const struct graph *graph, const int64_t *sizes,
                             struct shd_error *err);

#endif /* GRAPH_PAD_H */
