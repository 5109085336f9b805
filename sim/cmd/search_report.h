/* search_report.h - what a search has found, for people and for programs.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SEARCH_REPORT_H
#define CMD_SEARCH_REPORT_H

#include "base/json_out.h"
#include "search/search.h"

/* What the winner costs with one choice changed: the best of those planned or bounded. */
struct search_neighbour {
    enum space_choice choice;
    uint32_t item;
};

struct search_report {
    const struct search *search;
    size_t ntop;
    double own_step_s; /* of the scenario as it stands; 0: not known */
    struct search_neighbour neighbours[SPACE_NCHOICES];
    size_t nneighbours;
};

void search_report_text(struct text *out, const struct search_report *report);
void search_report_json(struct json_out *out, const struct search_report *report);

/* Steps that differ by less than the model's error for them are ties. */
bool search_report_tie(const struct modelled_figures *a, const struct modelled_figures *b);

#endif /* CMD_SEARCH_REPORT_H */
