/* Values of the forward phase, marked by patterns of their names (value_marks.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/value_marks.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
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

static int mark(bool *marks, const struct graph *graph, struct match *patterns, struct diag *diag)
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
        marks[n] |= found != NULL;
        for (uint32_t e = 0; e < node->nextras; e++)
            marks[node->extras[e]] = marks[n];
    }
    return SHD_OK;
}

bool value_marks_add(bool *marks, const struct graph *graph, const char *what,
                     const struct scenario_rule *rules, size_t nrules, struct diag *diag)
{
    struct match patterns = MATCH_INIT;
    bool good = match_init(&patterns, rules, nrules, diag) == SHD_OK &&
                mark(marks, graph, &patterns, diag) == SHD_OK;

    if (good)
        report_unused(what, &patterns, graph, diag);
    match_fini(&patterns);
    return good;
}

bool value_marks_try(bool *marks, bool *found, const struct graph *graph, const char *pattern,
                     size_t length, struct diag *diag)
{
    struct scenario_rule rule = {.pattern = strndup(pattern, length)};
    struct match match = MATCH_INIT;
    bool good = rule.pattern != NULL;

    if (!good)
        diag_no_memory(diag);
    good = good && match_init(&match, &rule, 1, diag) == SHD_OK &&
           mark(marks, graph, &match, diag) == SHD_OK;
    *found = good && match.found[0];
    match_fini(&match);
    free(rule.pattern);
    return good;
}
