/* search/outcome.h - what a search comes to: its best layouts, and what the winner costs with one
 * choice changed.
 *
 * Thread class: owned by the search's thread; outcome_ties(), outcome_front() and outcome_json()
 * are pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_OUTCOME_H
#define SEARCH_OUTCOME_H

#include "base/json_out.h"
#include "search/families.h"
#include "search/sensitivity.h"

/* The best layout, by its bound and then planned, of those that differ in a choice alone. */
struct search_neighbour {
    enum space_choice choice;
    uint32_t item;
};

struct search_outcome {
    const struct search *search; /* not owned */
    size_t ntop;
    const char *cut_short; /* why the search is not over: "interrupted"; NULL: it is */
    double own_step_s;     /* of the scenario as it stands; 0: not known */
    struct search_neighbour neighbours[SPACE_NCHOICES];
    size_t nneighbours;
    struct families families;
    double error;  /* of the model, as a fraction of the step: steps closer than that are ties */
    bool measured; /* on this cluster; else it is the largest of those that were measured */
    const struct sensitivity *sensitivity; /* not owned; NULL: not asked for */
};

/* Plan the winner's neighbours, and the best of each family; where the search was cut short one of
 * them may win, and has neighbours of its own.  Of `opts` the threads, the farm and `stop` count.
 * SHD_ENOMEM. */
SHD_MUST_CHECK int outcome_look_around(struct search_outcome *outcome, struct search *search,
                                       const struct search_opts *opts, struct shd_error *err);

/* Whether a neighbour is told as the best of a family, too. */
bool outcome_is_of_family(const struct search_outcome *outcome, uint32_t item);

/* Find how far the winner's step may be off, if there is a winner. */
void outcome_find_error(struct search_outcome *outcome);

/* Whether a layout's step differs from the winner's by no more than the model may be off. */
bool outcome_ties(const struct search_outcome *outcome, size_t rank);

/* How many of the top tie with the winner. */
size_t outcome_count_ties(const struct search_outcome *outcome);

/* The front of what was planned: ranks of the best, in their order, each with less memory than all
 * before it (within a step: with a shorter one), by what is printed of both.  Goes to `ranks`,
 * which has room for all of the best; returns how many there are. */
size_t outcome_front(size_t *ranks, const struct search *search);

/* A key "layout" with the choices. */
void outcome_json_layout(struct json_out *out, const struct layout *layout);

void outcome_json(struct json_out *out, const struct search_outcome *outcome);

#endif /* SEARCH_OUTCOME_H */
