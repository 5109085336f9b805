/* regex/literal.h - a text that stands in every string that a pattern is found in.  To see that a
 * string lacks it is the quickest way to see that the pattern is not found there.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REGEX_LITERAL_H
#define REGEX_LITERAL_H

/* The longest run of ASCII characters that a pattern has as they are, outside of groups and
 * repeats; free it with free().  NULL where there is none, and when memory is short.  The pattern
 * must be one that compiles. */
char *regex_literal_find(const char *pattern);

#endif /* REGEX_LITERAL_H */
