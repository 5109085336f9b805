/* html.h - text for pages; base/literal.h escapes whatever comes from users.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "base/text.h"
#include "base/uint128.h"

/* Append formatted text, escaped for use between tags and in quoted attributes. */
void html_addf(struct text *out, const char *fmt, ...) SHD_PRINTF(2, 3);

/* Append bytes for people: "1.50 MiB". */
void html_add_bytes(struct text *out, uint128 bytes);

#endif /* REPORT_HTML_H */
