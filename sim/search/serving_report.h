/* search/serving_report.h - what a search for serving found: for people, for programs, and as a
 * picture.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_SERVING_REPORT_H
#define SEARCH_SERVING_REPORT_H

#include "search/serving.h"

/* The best layout in words, and at most `ntop` in a table, those of the frontier among them. */
void serving_report_text(struct text *out, const struct serving_search *search, size_t ntop);

/* An object of schema shardsim.search-serving/1. */
void serving_report_json(struct text *out, const struct serving_search *search);

/* Tokens a second of a device against those of a user; at least one layout is within the limits. */
void serving_report_picture(struct text *out, const struct serving_search *search);

#endif /* SEARCH_SERVING_REPORT_H */
