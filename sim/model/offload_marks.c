/* Marking what a scenario offloads (offload_marks.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/offload_marks.h"

#include <stdlib.h>

#include "base/words.h"
#include "graph/layer_name.h"
#include "model/value_marks.h"
#include "scenario/recompute_policies.h"

/* ---- activations ---- */

/* Unmark what is not in the first layers. */
static void keep_layers(bool *marks, const struct graph *graph, int64_t layers)
{
    for (uint32_t n = 0; layers > 0 && n < graph->nnodes; n++)
        marks[n] = marks[n] && graph_layer_of(graph->nodes[n].name).number < layers;
}

static void mark_activations(bool *marks, const struct graph *graph,
                             const struct scenario_offload *offload, struct diag *diag)
{
    const struct scenario_values *values = &offload->activations;

    if (values->npatterns > 0 && !value_marks_add(marks, graph, "offload.activations",
                                                  values->patterns, values->npatterns, diag))
        return;
    for (uint32_t n = 0; values->all && n < graph->nnodes; n++)
        marks[n] = graph->nodes[n].phase == GRAPH_FORWARD && graph->nodes[n].op > GRAPH_PARAM;
    keep_layers(marks, graph, offload->layers);
}

/* Mark what a policy of recomputation keeps in the host's memory; a model may lack some of it. */
static void mark_policy(bool *marks, const struct graph *graph, const char *keep,
                        struct diag *diag)
{
    size_t length;
    bool good = true, found;

    for (const char *word; good && (word = words_next(&keep, &length));)
        good = value_marks_try(marks, &found, graph, word, length, diag);
}

/* ---- optimizer state ---- */

/* The parameter that a state belongs to, perhaps by way of its master copy; GRAPH_NONE: no state.
 */
static uint32_t param_of(const struct graph *graph, uint32_t node)
{
    if (graph->nodes[node].op != GRAPH_INPUT || graph->nodes[node].state_of == GRAPH_NONE)
        return GRAPH_NONE;
    while (graph->nodes[node].op == GRAPH_INPUT && graph->nodes[node].state_of != GRAPH_NONE)
        node = graph->nodes[node].state_of;
    return node;
}

static bool is_learned(const struct graph_node *node)
{
    return node->op == GRAPH_PARAM && !node->frozen;
}

static double all_elements(const struct graph *graph)
{
    double all = 0;

    for (uint32_t n = 0; n < graph->nnodes; n++)
        all += is_learned(&graph->nodes[n]) ? graph_elements(graph, &graph->nodes[n]) : 0;
    return all;
}

/* Choose whole parameters, in order, until they are a part of all elements: as Megatron-LM's hybrid
 * optimizer does, the last one may exceed it. */
static void choose(bool *chosen, const struct graph *graph, double part)
{
    double left = part * all_elements(graph);

    for (uint32_t n = 0; n < graph->nnodes && left > 0; n++)
        if (is_learned(&graph->nodes[n])) {
            chosen[n] = true;
            left -= graph_elements(graph, &graph->nodes[n]);
        }
}

/* Mark the state of a part of the parameters; returns how many arrays were marked. */
static uint32_t mark_state(bool *marks, const struct graph *graph, double part, struct diag *diag)
{
    bool *chosen = calloc((size_t)graph->nnodes + 1, sizeof *chosen);
    uint32_t nmarked = 0;

    if (!chosen) {
        diag_no_memory(diag);
        return 0;
    }
    choose(chosen, graph, part);
    for (uint32_t n = 0; n < graph->nnodes; n++) {
        uint32_t param = param_of(graph, n);

        if (param != GRAPH_NONE && chosen[param]) {
            marks[n] = true;
            nmarked++;
        }
    }
    free(chosen);
    return nmarked;
}

int model_offload(bool **out, const struct graph *graph, const struct scenario *scenario,
                  struct diag *diag)
{
    const struct scenario_offload *offload = &scenario->offload;
    size_t before = diag->nerrors;
    bool *marks;

    *out = NULL;
    if (!scenario_offload_option(scenario))
        return SHD_OK;
    marks = calloc((size_t)graph->nnodes + 1, sizeof *marks);
    if (!marks) {
        diag_no_memory(diag);
        return SHD_ENOMEM;
    }
    if (scenario_has_values(&offload->activations))
        mark_activations(marks, graph, offload, diag);
    if (scenario_policy_offloads(scenario))
        mark_policy(marks, graph, scenario->recompute.policy->keep, diag);
    for (uint32_t n = 0; offload->parameters && n < graph->nnodes; n++)
        marks[n] |= graph->nodes[n].op == GRAPH_PARAM;
    if (offload->optimizer > 0 && mark_state(marks, graph, offload->optimizer, diag) == 0)
        diag_error(diag, scenario_place(scenario, "offload.optimizer"),
                   "offload.optimizer needs optimizer state; expected adamw, momentum, or master "
                   "parameters");
    if (diag->nerrors > before)
        free(marks);
    else
        *out = marks;
    return diag_status(diag, before);
}
