/* shd/regex.h - regular expressions with the meaning of Python's `re.search`.
 *
 * Patterns are those of Python 3.11 and later on str; what Python rejects is rejected here.  Python
 * takes and this does not: \N{name}, repeats over 65535, and patterns that PCRE2, which does the
 * matching, finds too large.  Pattern and text are UTF-8.
 *
 * Thread class: immutable once compiled; any number of threads may search with it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_REGEX_H
#define SHD_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include <shd/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shd_regex; /* opaque */

/* Compile a pattern; free *out with shd_regex_destroy().  SHD_EREGEX with the place in characters,
 * SHD_EUNSUPPORTED, SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_regex_compile(struct shd_regex **out, const char *pattern,
                                             struct shd_error *err);

SHD_API void shd_regex_destroy(struct shd_regex *regex); /* NULL is allowed */

/* Where a pattern was found; all 0 when it was not. */
struct shd_regex_match {
    bool found;
    size_t start, end;           /* in characters, as Python counts; end is behind the last */
    size_t start_byte, end_byte; /* the same in bytes of the UTF-8 text */
};

/* Find the first match in a text.  Not finding one is no error.  SHD_EREGEX when the search goes
 * over its match limit, SHD_EINVAL for text that is not UTF-8, SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_regex_search(struct shd_regex_match *out,
                                            const struct shd_regex *regex, const char *text,
                                            struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_REGEX_H */
