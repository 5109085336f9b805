/* page.h - strategies as one self-contained HTML page.
 *
 * The verdict comes first, then a table of the strategies, then for each strategy: bytes from
 * device to device, timeline, memory by use, collectives with their reasons, and the mesh.  Devices
 * that a program treats alike are shown once; with many devices a cell or bar stands for several.
 * The whole page can be read without its script, which sorts, searches and walks through cells.
 *
 * Names may come from anybody: they are escaped, and the page's content security policy forbids it
 * to load anything.
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
