/* Marking the values that a scenario recomputes (recompute_marks.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/recompute_marks.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "graph/recompute.h"
#include "model/rule_match.h"

/* Whether a node is a computed value of the forward phase.  Further results of an op are marked
 * together with it. */
static bool may_match(const struct graph_node *node)
{
    return node->phase == GRAPH_FORWARD && node->op > GRAPH_PARAM && node->op != GRAPH_EXTRA;
}

/* The part of a name after "layers/3/", which most patterns name. */
static const char *inside_layer(const char *name)
{
    const char *number = strstr(name, "layers/");
    const char *end = number ? strchr(number + 7, '/') : NULL;

    return end ? end + 1 : name;
}

static void report_unused(const char *what, const struct match *patterns, const struct graph *graph,
                          struct diag *diag)
{
    for (size_t r = 0; r < patterns->nrules; r++) {
        struct nearest near;

        if (patterns->found[r])
            continue;
        nearest_init(&near, patterns->rules[r].pattern);
        for (uint32_t n = 0; n < graph->nnodes; n++)
            if (may_match(&graph->nodes[n]))
                nearest_add(&near, inside_layer(graph->nodes[n].name));
        diag_error(diag, patterns->rules[r].place,
                   "%s '%s' matches no value of the forward phase of this model%s", what,
                   patterns->rules[r].pattern, nearest_hint(&near).text);
    }
}

static int mark(bool *again, const struct graph *graph, struct match *patterns, struct diag *diag)
{
    for (uint32_t n = 0; n < graph->nnodes; n++) {
        const struct graph_node *node = &graph->nodes[n];
        const struct scenario_rule *found = NULL;
        int status;

        if (!may_match(node))
            continue;
        status = match_find(&found, patterns, node->name, diag);
        if (status != SHD_OK)
            return status;
        again[n] = found != NULL;
        for (uint32_t e = 0; e < node->nextras; e++)
            again[node->extras[e]] = again[n];
    }
    return SHD_OK;
}

/* Mark the nodes that patterns match; false: an error was reported. */
static bool mark_all(bool *again, const struct graph *graph, const char *what,
                     const struct scenario_rule *rules, size_t nrules, struct diag *diag)
{
    struct match patterns = MATCH_INIT;
    bool good = match_init(&patterns, rules, nrules, diag) == SHD_OK &&
                mark(again, graph, &patterns, diag) == SHD_OK;

    if (good)
        report_unused(what, &patterns, graph, diag);
    match_fini(&patterns);
    return good;
}

static void recompute_named(struct graph *graph, const struct scenario_recompute *recompute,
                            struct diag *diag)
{
    bool *again = calloc((size_t)graph->nnodes + 1, sizeof *again);

    if (!again)
        diag_no_memory(diag);
    if (again &&
        mark_all(again, graph, "recompute", recompute->patterns, recompute->npatterns, diag))
        recompute_clone(graph, again, NULL);
    free(again);
}

/* Exclude nodes from recomputation that are to be kept. */
static void leave_kept(bool *again, uint32_t *together, const bool *kept, uint32_t nnodes)
{
    for (uint32_t n = 0; n < nnodes; n++)
        if (kept[n]) {
            again[n] = false;
            together[n] = GRAPH_NONE;
        }
}

static void recompute_layers(struct graph *graph, const struct scenario_recompute *recompute,
                             enum recompute kind, struct diag *diag)
{
    const struct recompute_layers layers = {(uint32_t)recompute->group, (uint32_t)recompute->every,
                                            recompute->first > 0 ? (uint32_t)recompute->first
                                                                 : UINT32_MAX};
    size_t n = (size_t)graph->nnodes + 1;
    bool *again = calloc(2 * n, sizeof *again), *kept = again ? again + n : NULL;
    uint32_t *together = calloc(n, sizeof *together);

    if (!again || !together)
        diag_no_memory(diag);
    else if (mark_all(kept, graph, "recompute.keep", recompute->kept, recompute->nkept, diag)) {
        recompute_mark(again, graph, kind, &layers);
        recompute_together(together, again, graph, kind, &layers);
        leave_kept(again, together, kept, graph->nnodes);
        recompute_clone(graph, again, recompute->whole ? together : NULL);
    }
    free(again);
    free(together);
}

void model_recompute(struct graph *graph, const struct scenario *scenario, struct diag *diag)
{
    static const enum recompute kinds[] = {[SCENARIO_RECOMPUTE_NONE] = RECOMPUTE_NONE,
                                           [SCENARIO_RECOMPUTE_SELECTIVE] = RECOMPUTE_SELECTIVE,
                                           [SCENARIO_RECOMPUTE_FULL] = RECOMPUTE_FULL};
    const struct scenario_recompute *r = &scenario->recompute;

    if (graph_status(graph, NULL) != SHD_OK || r->kind == SCENARIO_RECOMPUTE_NONE)
        return;
    if (r->kind == SCENARIO_RECOMPUTE_NAMED)
        recompute_named(graph, r, diag);
    else
        recompute_layers(graph, r, kinds[r->kind], diag);
}
