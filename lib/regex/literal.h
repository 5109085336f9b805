/* regex/literal.h - a literal text in every string that a pattern matches.  The quickest way to
 * reject a string is to see that it lacks this text.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REGEX_LITERAL_H
#define REGEX_LITERAL_H

/* The longest run of literal ASCII characters in a pattern, outside of groups and repeats; free it
 * with free().  NULL if there is none, or for lack of memory.  The pattern must compile. */
char *regex_literal_find(const char *pattern);

#endif /* REGEX_LITERAL_H */
