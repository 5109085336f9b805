/* Marking the values that a scenario recomputes (recompute_marks.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/recompute_marks.h"

#include <stdlib.h>
#include <string.h>

#include "graph/recompute.h"
#include "model/value_marks.h"

static void recompute_named(struct graph *graph, const struct scenario_recompute *recompute,
                            struct diag *diag)
{
    bool *again = calloc((size_t)graph->nnodes + 1, sizeof *again);

    if (!again)
        diag_no_memory(diag);
    if (again &&
        value_marks_set(again, graph, "recompute", recompute->patterns, recompute->npatterns, diag))
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
    else if (value_marks_set(kept, graph, "recompute.keep", recompute->kept, recompute->nkept,
                             diag)) {
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
