/* base/literal.h - text from outside as a literal of another language that it cannot break out of.
 *
 * Names in a scenario, of files and of clusters may come from anybody, and somebody else runs,
 * loads or pastes what is written with them.  Each language has one function, here or where its
 * values are written (base/yaml.h, base/json_out.h).  Comments of Python, YAML, TOML and shells,
 * titles of TAP and text for people use base/escape.h, which leaves no line end in them.
 * Characters that base/escape.h escapes are escaped here, too, in its way or in the language's own.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_LITERAL_H
#define BASE_LITERAL_H

#include "base/text.h"

/* A Python string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void literal_add_python(struct text *out, const char *string);

/* A word of a POSIX shell command: plain if that is safe, else in single quotes. */
void literal_add_shell(struct text *out, const char *string);

/* Text of XML and HTML, between tags or in a quoted attribute. */
void literal_add_xml(struct text *out, const char *string);

/* A field of CSV (RFC 4180).  A field that begins like a formula gets an apostrophe in front, as a
 * spreadsheet would evaluate it. */
void literal_add_csv(struct text *out, const char *string);

/* Text within a line of Markdown. */
void literal_add_markdown(struct text *out, const char *string);

#endif /* BASE_LITERAL_H */
