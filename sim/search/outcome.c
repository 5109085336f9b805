/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "search/outcome.h"

#include <math.h>
#include <string.h>

#include "base/units.h"

static const struct modelled_figures *figures_of(const struct search *s, size_t rank)
{
    return &s->plans[s->best[rank]].plan.figures;
}

void outcome_find_error(struct search_outcome *out)
{
    double own;

    if (out->search->nbest == 0)
        return;
    own = figures_of(out->search, 0)->expected_error;
    out->measured = own >= 0;
    out->error = out->measured ? own : hardware_error_elsewhere();
}

bool outcome_ties(const struct search_outcome *outcome, size_t rank)
{
    double best = figures_of(outcome->search, 0)->step_s;

    return fabs(best - figures_of(outcome->search, rank)->step_s) <= outcome->error * best;
}

size_t outcome_count_ties(const struct search_outcome *outcome)
{
    size_t n = 0;

    for (size_t k = 1; k < outcome->search->nbest && k < outcome->ntop; k++)
        n += outcome_ties(outcome, k);
    return n;
}

/* Step and memory of one of the best layouts as printed, the goal first. */
static void print_goals(double *goal, double *other, const struct search *s, size_t rank)
{
    const struct modelled_figures *f = figures_of(s, rank);
    double step = units_printed_seconds(f->step_s);
    double memory = units_printed_bytes((uint128)f->memory_bytes);

    *goal = s->within_s > 0 ? memory : step;
    *other = s->within_s > 0 ? step : memory;
}

size_t outcome_front(size_t *ranks, const struct search *search)
{
    double last_goal = 0, least = INFINITY;
    size_t n = 0;

    for (size_t k = 0; k < search->nbest; k++) {
        double goal, other;

        print_goals(&goal, &other, search, k);
        if (other >= least)
            continue;
        if (n > 0 && goal <= last_goal) /* equal goal, better other figure: replaces the last
                                           rank */
            n--;
        ranks[n++] = k;
        last_goal = goal;
        least = other;
    }
    return n;
}

enum outcome_proof outcome_proof(const struct search_outcome *out)
{
    const struct search *s = out->search;
    size_t last = (s->nbest < out->ntop ? s->nbest : out->ntop) - 1;

    if (out->cut_short || s->proven < search_goal_of(s, &s->plans[s->best[0]].plan))
        return PROOF_OPEN;
    return s->proven < search_goal_of(s, &s->plans[s->best[last]].plan) ? PROOF_OF_FIRST
                                                                        : PROOF_OF_ALL;
}

static bool are_same(const struct plan *a, const struct plan *b)
{
    return a->program == b->program && a->figures.step_s == b->figures.step_s &&
           a->figures.compute_s == b->figures.compute_s &&
           a->figures.exposed_s == b->figures.exposed_s &&
           a->figures.update_s == b->figures.update_s &&
           a->figures.memory_bytes == b->figures.memory_bytes;
}

size_t outcome_same(const struct search_outcome *out, size_t rank)
{
    const struct search *s = out->search;
    size_t first = 0;

    while (first < rank && !are_same(&s->plans[s->best[first]].plan, &s->plans[s->best[rank]].plan))
        first++;
    return first;
}

/* Whether a layout's bound is above that of another, or equal and listed behind it. */
static bool is_behind(const struct search *s, uint32_t item, uint32_t other)
{
    double a = search_bound_of(s, item), b = search_bound_of(s, other);

    return a > b || (a == b && s->items[item].number > s->items[other].number);
}

/* For each choice, find the layout with the lowest bound among those that differ from the winner in
 * this choice alone. */
static int find(struct search_outcome *out, struct search *s, struct shd_error *err)
{
    uint32_t winner = s->plans[s->best[0]].item, found[SPACE_NCHOICES];
    const struct layout layout = s->items[winner].layout;
    int status = search_open_near(s, &layout, err);

    memset(found, 0xff, sizeof found);
    for (uint32_t i = 0; i < s->nitems && status == SHD_OK; i++) {
        enum space_choice which;

        if (i == winner || s->items[i].out || s->items[i].nmembers > 0 ||
            space_differs(&s->items[i].layout, &layout, &which) != 1 ||
            (found[which] != UINT32_MAX && is_behind(s, i, found[which])) ||
            !search_bound_item(s, i))
            continue;
        if (found[which] == UINT32_MAX || !is_behind(s, i, found[which]))
            found[which] = i;
    }
    out->nneighbours = 0;
    for (int c = 0; c < SPACE_NCHOICES; c++)
        if (found[c] != UINT32_MAX)
            out->neighbours[out->nneighbours++] =
                (struct search_neighbour){.choice = (enum space_choice)c, .item = found[c]};
    return status;
}

static bool stopped(const int *stop)
{
    return stop && __atomic_load_n(stop, __ATOMIC_RELAXED);
}

static int plan_neighbours(struct search_outcome *out, struct search *s, const int *stop,
                           struct shd_error *err)
{
    int status = find(out, s, err);

    if (status != SHD_OK)
        return status;
    for (size_t k = 0; k < out->nneighbours; k++) {
        if (stopped(stop)) {
            out->nneighbours = k;
            return SHD_OK;
        }
        if (!search_plan_item(s, out->neighbours[k].item))
            return shd_error_set(err, SHD_ENOMEM, "no memory for plans");
    }
    return SHD_OK;
}

int outcome_look_around(struct search_outcome *out, struct search *s,
                        const struct search_opts *opts, struct shd_error *err)
{
    uint32_t winner;
    int status;

    if (s->nbest == 0 || stopped(opts->stop))
        return SHD_OK;
    do {
        winner = s->plans[s->best[0]].item;
        status = plan_neighbours(out, s, opts->stop, err);
        if (status == SHD_OK && !stopped(opts->stop))
            status = families_find(&out->families, s, opts, err);
    } while (status == SHD_OK && !stopped(opts->stop) && s->plans[s->best[0]].item != winner);
    return status;
}

bool outcome_is_of_family(const struct search_outcome *outcome, uint32_t item)
{
    for (size_t k = 0; k < outcome->families.n; k++)
        if (outcome->families.of[k].item == item)
            return true;
    return false;
}
