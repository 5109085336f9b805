/* regex/find.h - searching many texts for many patterns, quickly: memory for matching is allocated
 * once, each text is read through once, patterns without operators are compared as plain text.
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
    void *data; /* PCRE2's memory for matching; allocated when first needed */
    const char *text;
    size_t length;
    bool is_ascii;  /* the text is ASCII: no check of its UTF-8 is needed */
    uint64_t pairs; /* see regex_pairs() */
};

/* The set of adjacent character pairs in an ASCII text, as 64 bits: a hash selects the bit of each
 * pair.  A text whose set lacks a bit of another text's set cannot contain that text.  This decides
 * nearly all searches that find nothing. */
static inline uint64_t regex_pairs(const char *text, size_t length)
{
    uint64_t pairs = 0;

    for (size_t i = 1; i < length; i++) {
        uint32_t pair = (uint32_t)(unsigned char)text[i - 1] << 8 | (unsigned char)text[i];

        /* Multiplicative hash, by 2^32 over the golden ratio; its upper 6 bits choose the bit. */
        pairs |= UINT64_C(1) << (pair * UINT32_C(2654435761) >> 26);
    }
    return pairs;
}

void regex_finder_init(struct regex_finder *finder);
void regex_finder_fini(struct regex_finder *finder);

/* Set the text of the next searches; it is not copied. */
void regex_finder_set_text(struct regex_finder *finder, const char *text);

/* Whether a pattern matches somewhere in the text.  Errors as shd_regex_search(). */
SHD_MUST_CHECK int regex_find(bool *found, const struct shd_regex *regex,
                              struct regex_finder *finder, struct shd_error *err);

#endif /* REGEX_FIND_H */
