/* The queue of layouts that may be the best: a heap (search/search_work.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "search/search_work.h"

double search_bound_of(const struct search *s, size_t item)
{
    return s->within_s > 0 ? s->items[item].bound_bytes : s->items[item].bound_s;
}

/* By the bound on the goal, then by the bound on the step, then by number. */
static bool is_before(const struct search *s, uint32_t a, uint32_t b)
{
    double x = search_bound_of(s, a), y = search_bound_of(s, b);

    if (x != y)
        return x < y;
    if (s->items[a].bound_s != s->items[b].bound_s)
        return s->items[a].bound_s < s->items[b].bound_s;
    return s->items[a].number < s->items[b].number;
}

void search_sink(struct search *s, size_t at)
{
    uint32_t item = s->queue[at];

    for (size_t child; (child = 2 * at + 1) < s->nqueue; at = child) {
        if (child + 1 < s->nqueue && is_before(s, s->queue[child + 1], s->queue[child]))
            child++;
        if (!is_before(s, s->queue[child], item))
            break;
        s->queue[at] = s->queue[child];
    }
    s->queue[at] = item;
}

void search_push(struct search *s, uint32_t item)
{
    size_t at = s->nqueue++;

    for (; at > 0 && is_before(s, item, s->queue[(at - 1) / 2]); at = (at - 1) / 2)
        s->queue[at] = s->queue[(at - 1) / 2];
    s->queue[at] = item;
}

uint32_t search_pop(struct search *s)
{
    uint32_t item = s->queue[0];

    s->queue[0] = s->queue[--s->nqueue];
    if (s->nqueue > 0)
        search_sink(s, 0);
    return item;
}
