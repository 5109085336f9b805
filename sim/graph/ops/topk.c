/* Op: choice of the largest scores.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "graph/ops/padding.h"

static bool check_sizes(struct graph *g, const char *name, int64_t n, int64_t choices,
                        const struct graph_limits *l)
{
    if (l->groups < 1 || n % l->groups || l->kept < 1 || l->kept > l->groups) {
        graph_fail(g, SHD_EINVAL,
                   "'%s' keeps %" PRIu32 " of %" PRIu32 " equal groups of %" PRId64 " scores", name,
                   l->kept, l->groups, n);
        return false;
    }
    if (choices > n / l->groups * l->kept) {
        graph_fail(g, SHD_ERANGE, "'%s' chooses %" PRId64 " of %" PRId64 " scores", name, choices,
                   n / l->groups * l->kept);
        return false;
    }
    return true;
}

uint32_t graph_topk(struct graph *graph, const char *name, uint32_t scores, uint32_t dim,
                    uint32_t choice_dim, const struct graph_limits *limits)
{
    struct graph_node node = {.op = GRAPH_TOPK, .dtype = SHD_I32, .ninputs = 1};
    const struct graph_node *from;

    if (graph->err.status != SHD_OK || scores == GRAPH_NONE)
        return GRAPH_NONE;
    from = &graph->nodes[scores];
    for (uint32_t d = 0; d < from->rank; d++)
        if (from->dims[d] != dim)
            node.dims[node.rank++] = from->dims[d];
    if (node.rank + 1 != from->rank || from->dtype == SHD_I32 || from->dims[node.rank] != dim)
        return graph_fail(graph, SHD_EINVAL,
                          "'%s' needs floating-point scores along the last dimension of '%s'", name,
                          from->name);
    if (choice_dim >= graph->ndims)
        return graph_fail(graph, SHD_EINVAL, "'%s' has a dimension that is not known", name);
    node.dims[node.rank++] = choice_dim;
    node.inputs[0] = scores;
    node.attr.topk.dim = dim;
    node.attr.topk.limits = limits ? *limits : (struct graph_limits){.groups = 1, .kept = 1};
    if (!check_sizes(graph, name, graph->dims[dim].size, graph->dims[choice_dim].size,
                     &node.attr.topk.limits))
        return GRAPH_NONE;
    node.stop_gradient = true;
    return graph_add(graph, &node, name);
}

static void jax(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    const struct graph_limits *limits = &n->attr.topk.limits;

    if (limits->smallest) {
        text_addf(out, "jnp.argsort($0)[..., :%lld]",
                  (long long)graph->dims[n->dims[n->rank - 1]].size);
        return;
    }
    text_addf(out, "largest($0, %lld, groups=%u, kept=%u, by_largest=%s)",
              (long long)graph->dims[n->dims[n->rank - 1]].size, limits->groups, limits->kept,
              limits->by_largest ? "True" : "False");
}

const struct graph_op_row graph_op_topk = {.name = "top k", .need = padding_refuse_all, .jax = jax};
