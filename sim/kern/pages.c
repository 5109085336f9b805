/* Pages of a cache (kern/pages.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/pages.h"

#include "base/divisor.h"

/* A step through the pages that has no divisor in common with their number, near the golden
 * section of it: neighbours lie far apart. */
static int64_t step_through(int64_t n)
{
    int64_t step = (int64_t)((double)n * 0.618) + 1;

    while (divisor_common(n, step) != 1)
        step++;
    return step;
}

void kern_pages_init(struct kern_pages *pages)
{
    pages->step = step_through(kern_pages_count(pages));
}

int64_t kern_pages_entry(const struct kern_pages *p, int64_t row, int64_t entry)
{
    int64_t n = kern_pages_count(p), own = kern_pages_entries(p) - p->shared;
    int64_t number = entry < p->shared ? entry : p->shared + row * own + entry - p->shared;

    return number * p->step % n;
}

int64_t kern_pages_slot(const struct kern_pages *p, int64_t row, int64_t token)
{
    int64_t part = token / p->tokens, at = token % p->tokens;

    return (part * kern_pages_count(p) + kern_pages_entry(p, row % p->rows, at / p->page)) *
               p->page +
           at % p->page;
}
