/* spec_parse.h - parsing a partition spec in Python's or YAML's notation into entries.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SPEC_PARSE_H
#define SPEC_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include <shd/spec.h>

struct spec_parse {
    const char *text;
    const char *at; /* next character to read */
    struct shd_spec_entry *entries;
    size_t nentries;
    const char **axes; /* of all entries in turn */
    size_t naxes;
    char *names; /* text of the names in `axes` */
    char *end;   /* end of the used part of `names` */
};

/* Parse into a zeroed object; call spec_parse_fini() after success and failure. */
int spec_parse_run(struct spec_parse *parse, const char *text, struct shd_error *err);
void spec_parse_fini(struct spec_parse *parse);

/* Whether a name needs no quotes: it has only ordinary characters, and is not a word such as "None"
 * or "null". */
bool spec_parse_is_plain(const char *name);

#endif /* SPEC_PARSE_H */
