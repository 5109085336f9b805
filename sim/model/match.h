/* match.h - the rules of a scenario, compiled, and which of them were of use.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_MATCH_H
#define MODEL_MATCH_H

#include <shd/error.h>
#include <shd/regex.h>

#include "base/diag.h"
#include "scenario/scenario.h"

struct match {
    const struct scenario_rule *rules;
    size_t nrules;
    struct shd_regex **compiled;
    bool *found;          /* in some name, first or not */
    bool *won;            /* in some name, as the first */
    const char **name;    /* where it was found first, and ... */
    size_t *winner;       /* ... the rule that had that name before it */
};

#define MATCH_INIT {NULL, 0, NULL, NULL, NULL, NULL, NULL}

/* Errors go to `diag`.  Free with match_fini() either way. */
SHD_MUST_CHECK int match_init(struct match *out, const struct scenario_rule *rules, size_t nrules,
                              struct diag *diag);
void match_fini(struct match *match);

/* The first rule whose pattern is found in a name, or NULL; remembers the others that are.  A
 * search that fails is an error at its rule: SHD_EREGEX (over its limit) or SHD_ENOMEM, and *out is
 * left alone. */
SHD_MUST_CHECK int match_find(const struct scenario_rule **out, struct match *match,
                              const char *name, struct diag *diag);

#endif /* MODEL_MATCH_H */
