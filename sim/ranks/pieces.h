/* pieces.h - an array of which each rank has a piece, and pieces that are cut anew.
 *
 * An array is seen as [outer][rows][inner], as it lies (row-major); a piece is some of its rows,
 * and lies as an array of no others.  All ranks know who has what, so that only elements are sent.
 *
 * Thread class: values and pure functions; pieces_move() is called by one thread of each rank, all
 * ranks together, in the same order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RANKS_PIECES_H
#define RANKS_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/error.h>

/* Who has what of an array. */
struct pieces {
    uint64_t outer, rows, inner; /* elements in all: their product */
    uint64_t each;               /* rows that are not parted from one another; divides them */
    uint32_t nparts;             /* of about as many rows: part i is with rank first + i ... */
    uint32_t first;              /* ... (from rank 0 on again); 0: every rank has the whole array */
};

/* The whole array, with every rank or with one. */
struct pieces pieces_everywhere(uint64_t nelements);
struct pieces pieces_with(uint64_t nelements, uint32_t rank);

/* How many rows a rank has, and which is the first. */
uint64_t pieces_rows(const struct pieces *pieces, int rank, uint64_t *first);
uint64_t pieces_elements(const struct pieces *pieces, int rank);

/* Whether every rank has the same elements in both. */
bool pieces_same(const struct pieces *a, const struct pieces *b);

/* An array that is to be cut otherwise. */
struct pieces_move {
    struct pieces from, to;
    uint32_t size;    /* bytes of an element */
    const void *have; /* this rank's piece */
    void *got;        /* the new one: memory that is the caller's to free() */
};

/* Move the pieces of several arrays at once.  On failure nothing is got.  SHD_ENOMEM. */
SHD_MUST_CHECK int pieces_move(struct pieces_move *moves, uint32_t nmoves, struct shd_error *err);

#endif /* RANKS_PIECES_H */
