/* regex/find.h - many searches with little ado: memory for matching is made once, a text is looked
 * at once, patterns without operators are compared as they are.
 *
 * Thread class: a finder is owned by one thread; see shd/regex.h for patterns.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REGEX_FIND_H
#define REGEX_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/regex.h>

/* Fields are private. */
struct regex_finder {
    void *data; /* of PCRE2; made at first need */
    const char *text;
    size_t length;
    bool is_ascii;  /* and so UTF-8 */
    uint64_t pairs; /* see regex_pairs() */
};

/* A bit for each pair of neighbours in a text, by a hash: a text that lacks a bit of another has
 * not the other in it.  Of texts in ASCII; nearly all patterns that are not found are seen so. */
static inline uint64_t regex_pairs(const char *text, size_t length)
{
    uint64_t pairs = 0;

    for (size_t i = 1; i < length; i++) {
        uint32_t pair = (uint32_t)(unsigned char)text[i - 1] << 8 | (unsigned char)text[i];

        pairs |= UINT64_C(1) << (pair * UINT32_C(2654435761) >> 26);
    }
    return pairs;
}

void regex_finder_init(struct regex_finder *finder);
void regex_finder_fini(struct regex_finder *finder);

/* The text of the next searches; it is not copied. */
void regex_finder_set_text(struct regex_finder *finder, const char *text);

/* Whether a pattern is found in the text.  Errors as shd_regex_search(). */
SHD_MUST_CHECK int regex_find(bool *found, const struct shd_regex *regex,
                              struct regex_finder *finder, struct shd_error *err);

#endif /* REGEX_FIND_H */
