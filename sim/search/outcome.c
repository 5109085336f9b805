/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/outcome.h"

#include <math.h>
#include <string.h>

bool outcome_tie(const struct modelled_figures *a, const struct modelled_figures *b)
{
    double error = a->expected_error > 0 ? a->expected_error : 0;

    return fabs(a->step_s - b->step_s) <= error * a->step_s;
}

/* Of the layouts that differ from the winner in a choice alone, the one of the lowest bound. */
static void find(struct search_outcome *out, struct search *s)
{
    uint32_t winner = s->plans[s->best[0]].item;
    uint32_t found[SPACE_NCHOICES];

    memset(found, 0xff, sizeof found);
    for (size_t i = 0; i < s->nitems; i++) {
        enum space_choice which;

        if (i == winner || s->items[i].out ||
            space_differs(&s->items[i].layout, &s->items[winner].layout, &which) != 1 ||
            (found[which] != UINT32_MAX &&
             search_bound_of(s, i) >= search_bound_of(s, found[which])) ||
            !search_bound_item(s, i))
            continue;
        if (found[which] == UINT32_MAX || search_bound_of(s, i) < search_bound_of(s, found[which]))
            found[which] = (uint32_t)i;
    }
    out->nneighbours = 0;
    for (int c = 0; c < SPACE_NCHOICES; c++)
        if (found[c] != UINT32_MAX)
            out->neighbours[out->nneighbours++] =
                (struct search_neighbour){.choice = (enum space_choice)c, .item = found[c]};
}

static bool stopped(const int *stop)
{
    return stop && __atomic_load_n(stop, __ATOMIC_RELAXED);
}

int outcome_find_neighbours(struct search_outcome *out, struct search *s, const int *stop,
                            struct shd_error *err)
{
    uint32_t winner;

    if (s->nbest == 0 || stopped(stop))
        return SHD_OK;
    do {
        winner = s->plans[s->best[0]].item;
        find(out, s);
        for (size_t k = 0; k < out->nneighbours; k++) {
            if (stopped(stop)) {
                out->nneighbours = k;
                return SHD_OK;
            }
            if (!search_plan_item(s, out->neighbours[k].item))
                return shd_error_set(err, SHD_ENOMEM, "no memory for plans");
        }
    } while (s->plans[s->best[0]].item != winner);
    return SHD_OK;
}
