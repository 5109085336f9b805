/* regex/literal.h - text without which a pattern is not found: looking for it is the quickest way
 * to see that it is not.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REGEX_LITERAL_H
#define REGEX_LITERAL_H

/* The longest run of ASCII characters that stands in a pattern as it is, outside of groups and of
 * repeats; free it.  NULL where there is none, and when memory is short.  The pattern must be one
 * that compiles. */
char *regex_literal_find(const char *pattern);

#endif /* REGEX_LITERAL_H */
