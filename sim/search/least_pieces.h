/* search/least_pieces.h - lower bounds on the cost of data-parallel replicas for a set of layouts: for
 * each stage of ZeRO, the minimum of each cost over all numbers of shards and orders of mesh axes.
 *
 * Read from pieces_find_alike(), once for all sets whose pieces are equal.
 *
 * Thread class: owned by one thread; immutable, and read by any number, once read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_LEAST_PIECES_H
#define SEARCH_LEAST_PIECES_H

#include "search/layout_pieces.h"

struct least; /* opaque */

/* NULL: no memory.  Subject and pieces are not owned. */
struct least *least_create(const struct subject *subject, struct pieces *pieces);
void least_destroy(struct least *least); /* NULL is allowed */

/* The number of the least piece of a layout's set with the layout's stage of ZeRO.  A new least piece
 * requests the pieces to read from, and is valid after least_read().  UINT32_MAX: no memory. */
uint32_t least_find(struct least *least, const struct layout *layout);

/* Read the new least pieces; their pieces must be built. */
void least_read(struct least *least);

/* NULL: the set has no layout with this stage of ZeRO. */
const struct piece *least_get(const struct least *least, uint32_t number);

#endif /* SEARCH_LEAST_PIECES_H */
