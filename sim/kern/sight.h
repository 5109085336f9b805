/* kern/sight.h - which keys a query sees, and in which order a sequence lies in memory.
 *
 * A token has a place in memory (its index) and a position in its sequence; an order is the
 * permutation between them.  A query at position p sees the keys whose positions are in one
 * interval, from `first` to `last`, both included: causal attention sees [0, p], packed documents
 * from where p's document begins, a sliding window of W from p - W + 1.
 *
 * Data and plan are made of the same description: the arrays of positions and spans that a kernel
 * reads are filled from it (struct kern_source), and the flops of a plan are computed from it.
 *
 * Thread class: values and pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_SIGHT_H
#define KERN_SIGHT_H

#include <stdbool.h>
#include <stdint.h>

/* How a sequence is dealt to `parts` ranks, which hold equal pieces of it one after the other. */
enum kern_order_kind {
    KERN_CONTIGUOUS, /* as it is: rank r has piece r */
    KERN_ZIGZAG,     /* of 2 * parts pieces rank r has r, then 2 * parts - 1 - r: head and tail */
    KERN_STRIPED,    /* rank r has the positions r, r + parts, ... */
    KERN_NORDERS
};

struct kern_order {
    enum kern_order_kind kind;
    int64_t parts, extent; /* tokens of the sequence: a multiple of kern_order_unit() */
};

/* "contiguous", "zigzag", "striped"; and the kind of a name, or -1. */
const char *kern_order_name(enum kern_order_kind kind);
int kern_order_find(const char *name);

/* What an extent must be a multiple of; `parts` is at least 1. */
int64_t kern_order_unit(enum kern_order_kind kind, int64_t parts);

/* Tokens that follow each other in memory at evenly spaced positions. */
struct kern_run {
    int64_t position; /* of the first */
    int64_t step;     /* at least 1 */
    int64_t count;
};

/* The longest run that begins at an index, which is in 0..extent-1. */
struct kern_run kern_order_run(const struct kern_order *order, int64_t index);

/* The position of what lies at an index: a permutation of 0..extent-1. */
int64_t kern_order_position(const struct kern_order *order, int64_t index);

struct kern_pairs;

struct kern_sight {
    struct kern_order order;
    bool causal;
    int64_t window; /* the last so many positions, a query's own among them; 0: all */
    int64_t rows;   /* of a batch, that have documents of their own (row b of it those of b modulo
                       rows); 0: there are no documents */
    const int32_t *first, *last; /* [rows][extent], by position: where the document that it is in
                                    begins and ends; neither falls with the position; not owned */
    struct kern_pairs *pairs;    /* for plans (pairs.h); not owned; NULL: all is counted anew */
};

struct kern_span {
    int64_t first, last;
};

/* What the query at a position of a row of the batch sees; neither end falls with the position. */
struct kern_span kern_sight_span(const struct kern_sight *sight, int64_t row, int64_t position);

#endif /* KERN_SIGHT_H */
