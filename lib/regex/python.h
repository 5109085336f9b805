/* regex/python.h - patterns of Python's `re` (3.11 and later, on str) as patterns for PCRE2.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REGEX_PYTHON_H
#define REGEX_PYTHON_H

#include <shd/error.h>

/* Translate a pattern; free *out with free().  The translation requires PCRE2_UTF, PCRE2_UCP,
 * PCRE2_ALT_CIRCUMFLEX and LF as newline.  SHD_EREGEX for what Python rejects, SHD_EUNSUPPORTED for
 * what Python accepts and we do not (\N{name}, repeats over 65535), SHD_ENOMEM. */
int regex_python_translate(char **out, const char *pattern, struct shd_error *err);

#endif /* REGEX_PYTHON_H */
