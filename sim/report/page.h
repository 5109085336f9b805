/* page.h - strategies as one HTML page, which needs nothing but itself.
 *
 * The verdict comes first, then a table of the strategies, then of each: who sends how much to
 * whom, who does what when, what memory is for, the collectives and why they are there, and the
 * mesh. Devices that a program treats alike are shown once; a picture of many devices has a part
 * for several.  All of it can be read without the script, which sorts, searches and walks through
 * cells.
 *
 * Names may come from anybody: they are escaped, and the page's own policy forbids it to load
 * anything.
 *
 * Thread class: pure function.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "report/compare.h"

/* SHD_ENOMEM. */
SHD_MUST_CHECK int page_print(const struct compare *compare, struct text *out,
                              struct shd_error *err);

#endif /* REPORT_PAGE_H */
