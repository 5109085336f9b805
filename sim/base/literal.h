/* base/literal.h - text from outside as a literal of another language, which it cannot end.
 *
 * Names in a scenario, of files and of clusters may come from anybody, and what is written with
 * them is run, loaded or pasted by somebody else.  A language has one function, here or where its
 * values are written (base/yaml.h, base/json_out.h); comments of Python, YAML, TOML and shells,
 * titles of TAP and what people read have base/escape.h, which leaves no end of a line in it.
 * Characters that base/escape.h shows otherwise are shown so here, too, or escaped as the language
 * does.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_LITERAL_H
#define BASE_LITERAL_H

#include "base/text.h"

/* A string of Python with its quotes; bytes that are no UTF-8 become U+FFFD. */
void literal_add_python(struct text *out, const char *string);

/* A word of a POSIX shell's command: plain where that is the same, else in single quotes. */
void literal_add_shell(struct text *out, const char *string);

/* Text of XML and HTML, between tags or in an attribute's quotes. */
void literal_add_xml(struct text *out, const char *string);

/* A field of CSV (RFC 4180).  A spreadsheet takes what begins like a formula for one, so such a
 * field gets an apostrophe before it. */
void literal_add_csv(struct text *out, const char *string);

/* Text within a line of Markdown. */
void literal_add_markdown(struct text *out, const char *string);

#endif /* BASE_LITERAL_H */
