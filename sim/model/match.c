/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/match.h"

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
    if (!out->compiled || !out->found || !out->won || !out->name || !out->winner)
        return SHD_ENOMEM;
    for (size_t r = 0; r < nrules; r++) {
        struct shd_error err;
        int status = shd_regex_compile(&out->compiled[r], rules[r].pattern, &err);

        if (status == SHD_OK)
            continue;
        diag_error(diag, rules[r].place, "%s", err.text);
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

const struct scenario_rule *match_find(struct match *m, const char *name)
{
    size_t first = m->nrules;

    for (size_t r = 0; r < m->nrules; r++) {
        struct shd_regex_match at;

        if (shd_regex_search(&at, m->compiled[r], name, NULL) != SHD_OK || !at.found)
            continue;
        if (first == m->nrules)
            first = r;
        if (!m->found[r]) {
            m->name[r] = name;
            m->winner[r] = first;
        }
        m->found[r] = true;
    }
    if (first == m->nrules)
        return NULL;
    m->won[first] = true;
    return &m->rules[first];
}
