/* Finding suspicious rules, weights and constraints (lint.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/lint.h"

#include <string.h>

#include "base/units.h"
#include "model/rule_match.h"

#define SHARDING_TEXT_MAX 256 /* bytes of a sharding in a message; longer ones are cut */

struct lint {
    struct diag *findings;
    const struct scenario *scenario;
    const struct graph *graph;
    const struct model_shardings *shardings;
};

static bool has_rule(const struct graph_node *n, bool params)
{
    if (n->state_of != GRAPH_NONE)
        return params;
    return params ? n->op == GRAPH_PARAM : n->op == GRAPH_CONSTRAINT || n->op == GRAPH_INPUT;
}

/* Whether a rule is the last one and matches everything: no warning if nothing is left for it. */
static bool is_rest(const struct scenario_rule *rules, size_t nrules, size_t rule)
{
    return rule + 1 == nrules && !strcmp(rules[rule].pattern, ".*");
}

static int find_shadowed(struct lint *l, const struct scenario_rule *rules, size_t nrules,
                         bool params)
{
    struct match m;
    int status = match_init(&m, rules, nrules, l->findings);

    for (uint32_t n = 0; status == SHD_OK && n < l->graph->nnodes; n++) {
        const struct scenario_rule *first;

        if (has_rule(&l->graph->nodes[n], params))
            status = match_find(&first, &m, l->graph->nodes[n].name, l->findings);
    }
    for (size_t r = 0; status == SHD_OK && r < nrules; r++)
        if (m.found[r] && !m.won[r] && !is_rest(rules, nrules, r))
            diag_error(
                l->findings, rules[r].place,
                "%s '%s' never applies: earlier rules match first, for example '%s' matches '%s'",
                params ? "rule" : "constraint", rules[r].pattern, rules[m.winner[r]].pattern,
                m.name[r]);
    match_fini(&m);
    return status;
}

static uint64_t size_of(const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];
    uint64_t bytes = shd_dtype_size(n->dtype);

    for (uint32_t d = 0; d < n->rank; d++)
        bytes *= (uint64_t)graph->dims[n->dims[d]].size;
    return bytes;
}

static void find_whole(struct lint *l, uint64_t whole_bytes)
{
    for (uint32_t n = 0; n < l->graph->nnodes; n++) {
        const struct shd_sharding *s = l->shardings->nodes[n];
        const struct scenario_rule *rule = l->shardings->rules[n];
        struct text name = TEXT_INIT;

        if (l->graph->nodes[n].op != GRAPH_PARAM || !s || shd_mesh_size(s->mesh) < 2 ||
            !shd_sharding_is_replicated(s) || size_of(l->graph, n) <= whole_bytes)
            continue;
        text_add_any_layer(&name, l->graph->nodes[n].name);
        l->findings->no_memory |= name.failed;
        diag_error(l->findings, rule ? rule->spec_place : scenario_place(l->scenario, "rules"),
                   "parameter '%s' of %s is replicated on all %d devices", text_get(&name),
                   units_print_bytes(size_of(l->graph, n)).text, (int)shd_mesh_size(s->mesh));
        text_fini(&name);
    }
}

/* The nearest constraint with a sharding that precedes a node, with only unary elementwise ops
 * between; GRAPH_NONE if there is none. */
static uint32_t find_neighbour(const struct lint *l, uint32_t node)
{
    const struct graph *g = l->graph;

    do
        node = g->nodes[node].inputs[0];
    while ((g->nodes[node].op == GRAPH_MAP && g->nodes[node].ninputs == 1) ||
           (g->nodes[node].op == GRAPH_CONSTRAINT && !l->shardings->nodes[node]));
    return g->nodes[node].op == GRAPH_CONSTRAINT ? node : GRAPH_NONE;
}

static void report_undone(struct lint *l, uint32_t before, uint32_t after)
{
    const struct model_shardings *s = l->shardings;
    char from[SHARDING_TEXT_MAX], to[SHARDING_TEXT_MAX];
    struct text first = TEXT_INIT, second = TEXT_INIT;

    shd_sharding_print(s->nodes[before], from, sizeof from);
    shd_sharding_print(s->nodes[after], to, sizeof to);
    text_add_any_layer(&first, l->graph->nodes[before].name);
    text_add_any_layer(&second, l->graph->nodes[after].name);
    l->findings->no_memory |= first.failed || second.failed;
    diag_error(l->findings, s->rules[after]->place,
               "constraint '%s' undoes '%s': %s is sharded as %s, then %s as %s",
               s->rules[after]->pattern, s->rules[before]->pattern, text_get(&first), from,
               text_get(&second), to);
    text_fini(&first);
    text_fini(&second);
}

static void find_undone(struct lint *l)
{
    for (uint32_t n = 0; n < l->graph->nnodes; n++) {
        const struct graph_node *node = &l->graph->nodes[n];
        uint32_t before;

        if (node->op != GRAPH_CONSTRAINT || node->phase != GRAPH_FORWARD || !l->shardings->rules[n])
            continue;
        before = find_neighbour(l, n);
        if (before != GRAPH_NONE && l->shardings->rules[before] &&
            !shd_sharding_equal(l->shardings->nodes[before], l->shardings->nodes[n]))
            report_undone(l, before, n);
    }
}

int model_lint(struct diag *findings, const struct scenario *scenario, const struct graph *graph,
               const struct model_shardings *shardings, uint64_t whole_bytes)
{
    struct lint l = {findings, scenario, graph, shardings};
    int status = find_shadowed(&l, scenario->params, scenario->nparams, true);

    if (status == SHD_OK)
        status = find_shadowed(&l, scenario->constraints, scenario->nconstraints, false);
    if (status != SHD_OK)
        return status;
    find_whole(&l, whole_bytes);
    find_undone(&l);
    return findings->no_memory ? SHD_ENOMEM : SHD_OK;
}

void model_lint_idle_axis(struct diag *findings, const struct scenario *scenario, const char *axis,
                          int32_t times)
{
    diag_error(findings, scenario_place(scenario, "mesh"),
               "axis '%s' shards nothing: all work is replicated %d times", axis, (int)times);
}
