/* search/least_pieces.h - what replicas cost a set of layouts at least: for each stage of ZeRO, the
 * least that any number of shards and any order of the mesh's axes has of each cost.
 *
 * Read from pieces_find_alike(), once for all sets that differ in nothing that these depend on.
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

/* The number of the least piece of a layout's set with its stage of ZeRO; a new one asks for the
 * pieces that it is of, and is known after least_read().  UINT32_MAX: no memory. */
uint32_t least_find(struct least *least, const struct layout *layout);

/* Read the least pieces that are new, from pieces that are built. */
void least_read(struct least *least);

/* NULL: the set has no layout with this stage of ZeRO. */
const struct piece *least_get(const struct least *least, uint32_t number);

#endif /* SEARCH_LEAST_PIECES_H */
