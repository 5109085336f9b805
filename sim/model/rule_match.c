/* Matching names against a scenario's rules (rule_match.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/rule_match.h"

#include <stdlib.h>

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

int match_find(const struct scenario_rule **out, struct match *m, const char *name,
               struct diag *diag)
{
    size_t first = m->nrules;

    for (size_t r = 0; r < m->nrules; r++) {
        struct shd_regex_match at;
        struct shd_error err;
        int status = shd_regex_search(&at, m->compiled[r], name, &err);

        if (status != SHD_OK) {
            diag_failure(diag, m->rules[r].place, status, "'%.100s' in '%.100s': %s",
                         m->rules[r].pattern, name, err.text);
            return status;
        }
        if (!at.found)
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
