/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/axis_uses.h"

#include <string.h>

bool axis_is_for_width(const char *dim)
{
    static const char *const names[] = {"heads",      "kv_heads",   "mlp", "vocab",
                                        "expert_mlp", "shared_mlp", NULL};

    for (size_t i = 0; names[i]; i++)
        if (!strcmp(dim, names[i]))
            return true;
    return false;
}

bool axis_shards(const struct shd_sharding *sharding, uint32_t d, size_t axis)
{
    for (uint8_t i = 0; sharding && i < sharding->dims[d].naxes; i++)
        if (sharding->dims[d].axes[i] == axis)
            return true;
    return false;
}

static void note_use(struct axis_uses *uses, const struct graph_node *node, const char *dim)
{
    if (!strcmp(dim, "batch"))
        uses->batch = true;
    else if (!strcmp(dim, "seq"))
        uses->tokens = true;
    else if (!strcmp(dim, "expert"))
        uses->experts = true;
    else if (axis_is_for_width(dim))
        uses->widths = true;
    else
        uses->other = node->name;
}

/* Whether a node is a parameter or an input of the job; a workload in the place of routers is none.
 */
static bool is_of_job(const struct graph_node *node)
{
    return node->state_of == GRAPH_NONE &&
           (node->op == GRAPH_PARAM ||
            (node->op == GRAPH_INPUT && strcmp(node->name, "routing") != 0));
}

struct axis_uses axis_uses_of(const struct graph *graph, const struct model_shardings *shardings,
                              size_t axis, bool inside)
{
    struct axis_uses uses = {.other = NULL};

    for (uint32_t i = 0; i < graph->nnodes; i++) {
        const struct graph_node *node = &graph->nodes[i];
        bool leaf = node->op == GRAPH_PARAM || node->op == GRAPH_INPUT;

        if (node->phase != GRAPH_FORWARD || (inside ? leaf : !is_of_job(node)))
            continue;
        for (uint32_t d = 0; d < node->rank; d++)
            if (axis_shards(shardings->nodes[i], d, axis))
                note_use(&uses, node, graph->dims[node->dims[d]].name);
    }
    return uses;
}
