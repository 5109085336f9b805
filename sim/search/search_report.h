/* search_report.h - the results of a search, for people, in lines of `columns`.
 *
 * Thread class: pure function.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SEARCH_SEARCH_REPORT_H
#define SEARCH_SEARCH_REPORT_H

#include "search/outcome.h"

void search_report_text(struct text *out, size_t columns, const struct search_outcome *outcome);

#endif /* SEARCH_SEARCH_REPORT_H */
