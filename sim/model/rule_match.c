/* Matching names against a scenario's rules (rule_match.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/rule_match.h"

#include <stdlib.h>
#include <string.h>

int match_init(struct match *out, const struct scenario_rule *rules, size_t nrules,
               struct diag *diag)
{
    *out = (struct match){.rules = rules, .nrules = nrules};
    out->compiled = calloc(nrules + 1, sizeof *out->compiled);
    out->found = calloc(nrules + 1, sizeof *out->found);
    out->won = calloc(nrules + 1, sizeof *out->won);
    out->name = calloc(nrules + 1, sizeof *out->name);
    out->winner = calloc(nrules + 1, sizeof *out->winner);
    if (!out->compiled || !out->found || !out->won || !out->name || !out->winner) {
        diag_no_memory(diag);
        return SHD_ENOMEM;
    }
    for (size_t r = 0; r < nrules; r++) {
        struct shd_error err;
        int status = shd_regex_compile(&out->compiled[r], rules[r].pattern, &err);

        if (status == SHD_OK)
            continue;
        diag_failure(diag, rules[r].place, err.status, "%s", err.text);
        return status;
    }
    return SHD_OK;
}

void match_fini(struct match *match)
{
    for (size_t r = 0; match->compiled && r < match->nrules; r++)
        shd_regex_destroy(match->compiled[r]);
    free(match->compiled);
    free(match->found);
    free(match->won);
    free(match->name);
    free(match->winner);
}

const char *match_last_parts(const char *name, const char *pattern)
{
    const char *at = name + strlen(name);
    size_t nslashes = 0;

    for (; *pattern; pattern++)
        nslashes += *pattern == '/';
    for (; at > name; at--)
        if (at[-1] == '/' && nslashes-- == 0)
            break;
    return at;
}

int match_test(bool *out, const struct match *match, const struct scenario_rule *rule,
               const char *name, struct diag *diag)
{
    struct shd_regex_match at;
    struct shd_error err;
    int status = shd_regex_search(&at, match->compiled[rule - match->rules], name, &err);

    if (status != SHD_OK)
        diag_failure(diag, rule->place, status, "'%.100s' in '%.100s': %s", rule->pattern, name,
                     err.text);
    else
        *out = at.found;
    return status;
}

int match_find(const struct scenario_rule **out, struct match *m, const char *name,
               struct diag *diag)
{
    size_t first = m->nrules;

    for (size_t r = 0; r < m->nrules; r++) {
        bool found = false;
        int status = match_test(&found, m, &m->rules[r], name, diag);

        if (status != SHD_OK)
            return status;
        if (!found)
            continue;
        if (first == m->nrules)
            first = r;
        if (!m->found[r]) {
            m->name[r] = name;
            m->winner[r] = first;
        }
        m->found[r] = true;
    }
    *out = first < m->nrules ? &m->rules[first] : NULL;
    if (*out)
        m->won[first] = true;
    return SHD_OK;
}

static void report_unused(const struct match *patterns, const char *what, const struct graph *graph,
                          const bool *may, struct diag *diag)
{
    for (size_t r = 0; r < patterns->nrules; r++) {
        const char *pattern = patterns->rules[r].pattern, *example = "none";
        struct nearest near;

        if (patterns->found[r])
            continue;
        nearest_init(&near, pattern);
        for (uint32_t n = 0; n < graph->nnodes; n++)
            if (may[n]) {
                example = graph->nodes[n].name;
                nearest_add(&near, match_last_parts(example, pattern));
            }
        if (near.best)
            diag_error(diag, patterns->rules[r].place, "'%s' matches no %s of this model%s",
                       pattern, what, nearest_hint(&near).text);
        else
            diag_error(diag, patterns->rules[r].place,
                       "'%s' matches no %s of this model; one of its names is '%s', and 'shardsim "
                       "show names' lists all",
                       pattern, what, example);
    }
}

bool match_nodes(bool *found, const struct graph *graph, const bool *may,
                 const struct scenario_patterns *list, const char *what, struct diag *diag)
{
    size_t before = diag->nerrors;
    struct match patterns = MATCH_INIT;
    int status = match_init(&patterns, list->list, list->n, diag);

    for (uint32_t n = 0; n < graph->nnodes && status == SHD_OK; n++) {
        const struct scenario_rule *rule = NULL;

        if (may[n])
            status = match_find(&rule, &patterns, graph->nodes[n].name, diag);
        found[n] = found[n] || rule;
    }
    if (status == SHD_OK)
        report_unused(&patterns, what, graph, may, diag);
    match_fini(&patterns);
    return diag->nerrors == before && !diag->no_memory;
}
