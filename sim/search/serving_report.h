/* search/serving_report.h - the result of a search of serving layouts: as text, as JSON, and as a
 * picture.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_SERVING_REPORT_H
#define SEARCH_SERVING_REPORT_H

#include "search/serving.h"

/* The best layout in words, and a table of at most `ntop` layouts, including the Pareto front. */
void serving_report_text(struct text *out, const struct serving_search *search, size_t ntop);

/* An object of schema shardsim.search-serving/1. */
void serving_report_json(struct text *out, const struct serving_search *search);

/* Tokens a second per device against those per user; at least one layout is within the limits. */
void serving_report_picture(struct text *out, const struct serving_search *search);

#endif /* SEARCH_SERVING_REPORT_H */
