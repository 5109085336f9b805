/* search/layout_pieces.h - lower bounds on the cost of a layer, and of what precedes and follows
 * all layers: read from the programs of pieces (attempt.h), once for all layouts that share them.
 *
 * Seconds come from the plan's own model (cost/op_seconds.h) and count only what certainly takes
 * the device's time: computations, and transfers that certainly hold computations up.
 *
 * Thread class: owned by one thread; immutable, and read by any number, once built.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_LAYOUT_PIECES_H
#define SEARCH_LAYOUT_PIECES_H

#include "run/ranks/farm.h"
#include "search/piece_reader.h"

struct pieces; /* opaque */

struct pieces *pieces_create(const struct subject *subject); /* NULL: no memory */
void pieces_destroy(struct pieces *pieces);                  /* NULL is allowed */

/* The number of a layout's piece; a new piece is not built yet.  UINT32_MAX: no memory. */
uint32_t pieces_find(struct pieces *pieces, const struct layout *layout, enum attempt_kind kind);

/* The number of a piece that bounds a layout's piece of replicas from below, read from the program
 * with the most replicas and shards.  Layouts that differ only in these numbers and in the order of
 * the mesh's axes share the piece.  A failed piece bounds nothing.  UINT32_MAX: no memory. */
uint32_t pieces_find_alike(struct pieces *pieces, const struct layout *layout);

/* Build the pieces that are not built yet, with `nthreads` threads or (not NULL) by a farm of
 * crew_work() (crew.h); the pieces do not depend on the choice.  `stop` (may be NULL) ends the work
 * early.  SHD_ENOMEM. */
SHD_MUST_CHECK int pieces_build(struct pieces *pieces, struct farm *farm, int nthreads,
                                const int *stop, struct shd_error *err);

/* Build the pieces out[n] of layouts that differ only in the order of the mesh's axes, outside of a
 * `struct pieces`.  SHD_ENOMEM. */
SHD_MUST_CHECK int pieces_build_apart(struct piece *out, const struct subject *subject,
                                      const struct layout *layouts, uint32_t n,
                                      enum attempt_kind kind);

const struct piece *pieces_get(const struct pieces *pieces, uint32_t piece);
uint32_t pieces_count(const struct pieces *pieces);

#endif /* SEARCH_LAYOUT_PIECES_H */
