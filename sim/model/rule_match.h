/* rule_match.h - the compiled rules of a scenario, and which of them matched.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_RULE_MATCH_H
#define MODEL_RULE_MATCH_H

#include <shd/error.h>
#include <shd/regex.h>

#include "base/diag.h"
#include "graph/graph.h"
#include "scenario/scenario.h"

struct match {
    const struct scenario_rule *rules;
    size_t nrules;
    struct shd_regex **compiled;
    bool *found;          /* by rule: its pattern matched some name */
    bool *won;            /* by rule: it was the first to match some name */
    const char **name;    /* by rule: the first name that it matched, and ... */
    size_t *winner;       /* ... the first rule to match this name */
};

#define MATCH_INIT {NULL, 0, NULL, NULL, NULL, NULL, NULL}

/* Compile rules.  Errors go to `diag`.  Free with match_fini() either way. */
SHD_MUST_CHECK int match_init(struct match *out, const struct scenario_rule *rules, size_t nrules,
                              struct diag *diag);
void match_fini(struct match *match);

/* The first rule that matches a name, or NULL; also records the other rules that match.  A failed
 * search is an error at its rule: SHD_EREGEX (over its limit) or SHD_ENOMEM, and *out is left
 * alone. */
SHD_MUST_CHECK int match_find(const struct scenario_rule **out, struct match *match,
                              const char *name, struct diag *diag);

/* Whether a rule, one of match_init()'s, matches a name; records nothing.  Errors as match_find().
 */
SHD_MUST_CHECK int match_test(bool *out, const struct match *match,
                              const struct scenario_rule *rule, const char *name,
                              struct diag *diag);

/* Set found[n] for those of the nodes may[n] whose name a pattern matches.  Reports to `diag`: a
 * pattern that matches no such node, called `what`.  False: an error was reported. */
bool match_nodes(bool *found, const struct graph *graph, const bool *may,
                 const struct scenario_patterns *list, const char *what, struct diag *diag);

/* The last components of a name, as many as a pattern has: what to compare a misspelling with. */
const char *match_last_parts(const char *name, const char *pattern);

#endif /* MODEL_RULE_MATCH_H */
