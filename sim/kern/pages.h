/* kern/pages.h - a cache in pages: which page of a pool holds which tokens of a sequence.
 *
 * The sequences of a batch lie in pools of `rows` sequences each, and a sequence in `parts` parts,
 * of which each has pages of its own in every pool.  A table names the pages of each sequence's
 * part, in order; the first `shared` of them are the same for all sequences of a pool: a prefix
 * that they have in common.  Pages lie in the order in which a server with some history would have
 * given them out: scattered, the same ones every time.
 *
 * Thread class: values and pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef KERN_PAGES_H
#define KERN_PAGES_H

#include <stdint.h>

struct kern_pages {
    int64_t page;        /* tokens of a page */
    int64_t pools, rows; /* of the batch: pools, and sequences of each */
    int64_t parts;       /* of a sequence */
    int64_t tokens;      /* of a sequence's part; a multiple of `page` */
    int64_t shared;      /* pages of a part */
    int64_t step;        /* from one page of a table to the next; set by kern_pages_init() */
};

/* The pages of a sequence's part: entries of its table; and all pages of a part of a pool. */
static inline int64_t kern_pages_entries(const struct kern_pages *p)
{
    return p->tokens / p->page;
}

static inline int64_t kern_pages_count(const struct kern_pages *p)
{
    return p->shared + p->rows * (kern_pages_entries(p) - p->shared);
}

/* The tokens for which a pool has room, in all parts. */
static inline int64_t kern_pages_slots(const struct kern_pages *p)
{
    return p->parts * kern_pages_count(p) * p->page;
}

/* Set what the other fields determine. */
void kern_pages_init(struct kern_pages *pages);

/* An entry of the table of a sequence in its pool: the page's number in its part of the pool. */
int64_t kern_pages_entry(const struct kern_pages *p, int64_t row, int64_t entry);

/* The slot, in its pool, of a token of a sequence; tokens are numbered in the order in which they
 * are kept, part after part. */
int64_t kern_pages_slot(const struct kern_pages *p, int64_t row, int64_t token);

#endif /* KERN_PAGES_H */
