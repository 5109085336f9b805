/* kern/sight.h - the keys that a query sees, and the order of a sequence in memory.
 *
 * A token has a place in memory (its index) and a position in its sequence; an order is the
 * permutation between them.  A query at position p sees the keys with positions in one interval,
 * from `first` to `last` inclusive: causal attention sees [0, p], packed documents from the start
 * of p's document, a sliding window of W from p - W + 1, chunks of C from p - p % C.
 *
 * Data and plan use the same description: it fills the arrays of positions and spans that a kernel
 * reads (struct kern_source), and a plan's flops are computed from it.
 *
 * Thread class: values and pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_SIGHT_H
#define KERN_SIGHT_H

#include <stdbool.h>
#include <stdint.h>

/* The distribution of a sequence over `parts` ranks, which hold equal, consecutive parts of the
 * memory order. */
enum kern_order_kind {
    KERN_CONTIGUOUS, /* unchanged: rank r has piece r */
    KERN_ZIGZAG,     /* of 2 * parts pieces rank r has piece r, then piece 2 * parts - 1 - r:
                        head and tail */
    KERN_STRIPED,    /* rank r has the positions r, r + parts, ... */
    KERN_NORDERS
};

struct kern_order {
    enum kern_order_kind kind;
    int64_t parts, extent; /* tokens of the sequence: a multiple of kern_order_unit() */
};

/* "contiguous", "zigzag", "striped"; and the kind with a name, or -1. */
const char *kern_order_name(enum kern_order_kind kind);
int kern_order_find(const char *name);

/* The unit that an extent must be a multiple of; `parts` is at least 1. */
int64_t kern_order_unit(enum kern_order_kind kind, int64_t parts);

/* Consecutive tokens in memory with evenly spaced positions. */
struct kern_run {
    int64_t position; /* of the first */
    int64_t step;     /* at least 1 */
    int64_t count;
};

/* The index of the token at a position. */
int64_t kern_order_index(const struct kern_order *order, int64_t position);

/* The longest run that begins at an index in 0..extent-1. */
struct kern_run kern_order_run(const struct kern_order *order, int64_t index);

/* The position of the token at an index: a permutation of 0..extent-1. */
int64_t kern_order_position(const struct kern_order *order, int64_t index);

struct kern_pairs;

/* The queries of a step beside the keys that earlier steps left: consecutive tokens, `each` further
 * on in every step. */
struct kern_step_queries {
    int64_t count;       /* 0: the queries are the sequence's own tokens, in its order */
    int64_t first;       /* position of the first one in step 0 */
    double each;         /* tokens from step to step, on average */
    int64_t last_step;   /* the step whose work a plan counts */
};

struct kern_sight {
    struct kern_order order;
    bool causal;
    int64_t window; /* number of latest positions that a query sees, including its own; 0: all */
    int64_t chunk;  /* chunk size: a position sees only its own chunk; 0: no chunks */
    int64_t rows;   /* rows with documents of their own (row b of the batch has those of b modulo
                       rows); 0: no documents */
    const int32_t *first, *last; /* [rows][extent], by position: begin and end of the position's
                                    document; both ascend; not owned */
    struct kern_step_queries queries;
    const struct kern_pages
        *pages;                  /* in which keys lie (pages.h); not owned; NULL: in their order */
    struct kern_pairs *pairs;    /* cache for plans (pairs.h); not owned; NULL: no cache */
};

/* The position of a step's query. */
int64_t kern_sight_query(const struct kern_sight *sight, int64_t step, int64_t query);

struct kern_span {
    int64_t first, last;
};

/* The span of the query at a position in a row of the batch; neither end falls with the
 * position. */
struct kern_span kern_sight_span(const struct kern_sight *sight, int64_t row, int64_t position);

#endif /* KERN_SIGHT_H */
