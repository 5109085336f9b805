/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "export/stage_layers.h"

#include <stdlib.h>

#include "graph/layer_name.h"

/* Whether a node of no layer lies in the stage where other systems have it. */
static bool is_at_end(const struct graph *graph, const struct graph_node *node, bool behind)
{
    if (node->op == GRAPH_EMBED)
        return node->stage == 0;
    return !behind || node->stage + 1 == graph->nstages;
}

/* Count the layers; false: something lies elsewhere. */
static bool count(int64_t *layers, const struct graph *graph)
{
    uint32_t nlayers = 0, last = 0, seen = 0, stage = 0;

    for (uint32_t n = 0; n < graph->nnodes; n++) {
        struct graph_layer layer = graph_layer_of(graph->nodes[n].name);

        if (layer.number != GRAPH_NO_LAYER && layer.number >= nlayers)
            nlayers = layer.number + 1;
    }
    for (uint32_t n = 0; n < graph->nnodes; n++) {
        const struct graph_node *node = &graph->nodes[n];
        struct graph_layer layer = graph_layer_of(node->name);

        if (node->op <= GRAPH_PARAM || node->phase != GRAPH_FORWARD)
            continue;
        if (layer.number == GRAPH_NO_LAYER) {
            if (!is_at_end(graph, node, last + 1 == nlayers && seen == nlayers))
                return false;
        } else if (seen == 0 || layer.number > last) {
            layers[node->stage]++;
            last = layer.number;
            stage = node->stage;
            seen++;
        } else if (node->stage != stage) {
            return false;
        }
    }
    return true;
}

int export_stages_init(struct export_stages *out, const struct graph *graph, struct shd_error *err)
{
    *out =
        (struct export_stages){calloc(graph->nstages, sizeof *out->layers), graph->nstages, true};
    if (!out->layers)
        return shd_error_set(err, SHD_ENOMEM, "no memory for %u stages", graph->nstages);
    if (!count(out->layers, graph)) {
        export_stages_fini(out);
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "stages are not whole layers in their order, with the embedding in "
                             "the first and the head in the last; expected pipeline.layers");
    }
    for (uint32_t i = 1; i < out->n; i++)
        out->equal &= out->layers[i] == out->layers[0];
    return SHD_OK;
}

void export_stages_fini(struct export_stages *stages)
{
    free(stages->layers);
}

bool export_stages_divide(const struct export_stages *stages, int64_t number)
{
    for (uint32_t i = 0; i < stages->n; i++)
        if (stages->layers[i] % number)
            return false;
    return true;
}
