/* pieces.h - arrays cut into a piece per rank, and redistribution between two ways of cutting.
 *
 * An array is seen as [outer][rows][inner], in row-major order; a piece is some of its rows, stored
 * contiguously.  All ranks know the pieces of all others, so that only elements are sent.
 *
 * Thread class: values and pure functions; pieces_move() is called by one thread of each rank, all
 * ranks together, in the same order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUN_RANKS_PIECES_H
#define RUN_RANKS_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/error.h>

/* How an array is cut into pieces. */
struct pieces {
    uint64_t outer, rows, inner; /* their product is the number of elements */
    uint64_t each;               /* rows that stay together; divides `rows` */
    uint32_t nparts;             /* number of parts, of about equal rows: part i is on rank first
                                    + i ... */
    uint32_t first;              /* ... (modulo the number of ranks); 0: every rank has the whole
                                    array */
};

/* The whole array on every rank, or on one rank. */
struct pieces pieces_everywhere(uint64_t nelements);
struct pieces pieces_with(uint64_t nelements, uint32_t rank);

/* Number of rows on a rank, and its first row; number of elements on a rank. */
uint64_t pieces_rows(const struct pieces *pieces, int rank, uint64_t *first);
uint64_t pieces_elements(const struct pieces *pieces, int rank);

/* Whether every rank has the same elements under both. */
bool pieces_same(const struct pieces *a, const struct pieces *b);

/* A redistribution of an array. */
struct pieces_move {
    struct pieces from, to;
    uint32_t size;    /* bytes of an element */
    const void *have; /* this rank's piece */
    void *got;        /* the new piece: memory that the caller must free() */
};

/* Redistribute several arrays at once.  On failure nothing is returned.  SHD_ENOMEM. */
SHD_MUST_CHECK int pieces_move(struct pieces_move *moves, uint32_t nmoves, struct shd_error *err);

#endif /* RUN_RANKS_PIECES_H */
