/* search_report.h - the results of a search, for people.
 *
 * Thread class: pure function.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SEARCH_REPORT_H
#define CMD_SEARCH_REPORT_H

#include "search/outcome.h"

void search_report_text(struct text *out, const struct search_outcome *outcome);

#endif /* CMD_SEARCH_REPORT_H */
