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
    const char *at;
    struct shd_spec_entry *entries;
    size_t nentries;
    const char **axes; /* of all entries in turn */
    size_t naxes;
    char *names; /* the names' text */
    char *end;   /* of what is used of it */
};

/* Parse into a zeroed object; end it with spec_parse_fini() whatever comes back. */
int spec_parse_run(struct spec_parse *parse, const char *text, struct shd_error *err);
void spec_parse_fini(struct spec_parse *parse);

/* Whether a name needs no quotes: it has only ordinary characters and is no word for none. */
bool spec_parse_is_plain(const char *name);

#endif /* SPEC_PARSE_H */
