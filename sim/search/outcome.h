/* search/outcome.h - the result of a search: its best layouts, and the winner's cost with one choice
 * changed.
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

/* The planned layout with the lowest bound among those that differ from the winner in this choice
 * alone. */
struct search_neighbour {
    enum space_choice choice;
    uint32_t item;
};

struct search_outcome {
    const struct search *search; /* not owned */
    size_t ntop;
    const char *cut_short; /* why the search ended early: "interrupted"; NULL: it did not */
    const char *unlooked;  /* why neighbours or families are missing; NULL: none are */
    double own_step_s;     /* step of the scenario's own layout; 0: unknown */
    struct search_neighbour neighbours[SPACE_NCHOICES];
    size_t nneighbours;
    struct families families;
    double error;  /* of the model, as a fraction of the step: closer steps tie */
    bool measured; /* `error` was measured on this cluster; else the largest of all measured clusters */
    const struct sensitivity *sensitivity; /* not owned; NULL: not asked for */
};

/* Plan the winner's neighbours and the best layout of each family.  After a search that was cut
 * short one of these layouts may become the winner; then its neighbours and families are planned,
 * too.  Only the threads, the farm and `stop` of `opts` count.  SHD_ENOMEM. */
SHD_MUST_CHECK int outcome_look_around(struct search_outcome *outcome, struct search *search,
                                       const struct search_opts *opts, struct shd_error *err);

/* Whether a neighbour is also reported for a family. */
bool outcome_is_of_family(const struct search_outcome *outcome, uint32_t item);

/* Find the error of the model for the winner's step, if there is a winner. */
void outcome_find_error(struct search_outcome *outcome);

/* Whether a layout's step differs from the winner's by no more than the model's error. */
bool outcome_ties(const struct search_outcome *outcome, size_t rank);

/* What is proven of the listed layouts.  A search that was cut short is not exact. */
enum outcome_proof {
    PROOF_OF_ALL,   /* no layout outside of the list is better than one in it */
    PROOF_OF_FIRST, /* no layout is better than the first of the list */
    PROOF_OPEN
};

enum outcome_proof outcome_proof(const struct search_outcome *outcome);

/* Rank of the first layout with the same program and figures as the rank-th, possibly `rank` itself:
 * such layouts are one layout under several names. */
size_t outcome_same(const struct search_outcome *outcome, size_t rank);

/* How many of the top layouts tie with the winner. */
size_t outcome_count_ties(const struct search_outcome *outcome);

/* The Pareto front of the planned layouts: ranks among the best, in their order, each with less
 * memory than all before it (with a limit on the step: with a shorter step), compared as printed.
 * `ranks` has room for all of the best; returns the number on the front. */
size_t outcome_front(size_t *ranks, const struct search *search);

/* Write a key "layout" with the value of each choice. */
void outcome_json_layout(struct json_out *out, const struct layout *layout);

/* Write the known figures of a plan by their short keys into the object that is open. */
void outcome_json_figures(struct json_out *out, const struct modelled_figures *plan);

void outcome_json(struct json_out *out, const struct search_outcome *outcome);

#endif /* SEARCH_OUTCOME_H */
