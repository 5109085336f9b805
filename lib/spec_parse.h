/* spec_parse.h - reading a partition spec in Python's or YAML's notation into entries.
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
    const char *at; /* what is read next */
    struct shd_spec_entry *entries;
    size_t nentries;
    const char **axes; /* of all entries in turn */
    size_t naxes;
    char *names; /* the text that `axes` point into */
    char *end;   /* of the part of `names` that is in use */
};

/* Parse into an object that is all zero; end it with spec_parse_fini() in success and failure. */
int spec_parse_run(struct spec_parse *parse, const char *text, struct shd_error *err);
void spec_parse_fini(struct spec_parse *parse);

/* Whether a name needs no quotes: it has only ordinary characters, and is not "None", "null" or the
 * like. */
bool spec_parse_is_plain(const char *name);

#endif /* SPEC_PARSE_H */
