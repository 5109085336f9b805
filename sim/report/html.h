/* html.h - text for pages, by base/literal.h: whatever comes from users is escaped.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "base/text.h"
#include "base/uint128.h"

/* Append what a format makes, as it may stand between tags and in quoted attributes. */
void html_addf(struct text *out, const char *fmt, ...) SHD_PRINTF(2, 3);

/* Bytes for people: "1.50 MiB". */
void html_add_bytes(struct text *out, uint128 bytes);

#endif /* REPORT_HTML_H */
