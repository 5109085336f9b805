/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/optimizer/stack.h"

#include <string.h>

static uint32_t stack_dim(struct graph *graph, uint32_t size)
{
    return graph_dim(graph, graph_text(graph, "stack/%u", size), size);
}

/* x[dims] as [1, dims]. */
static uint32_t of_one(struct graph *graph, const char *name, uint32_t x)
{
    uint32_t dims[GRAPH_RANK_MAX + 1];

    if (graph->err.status != SHD_OK)
        return GRAPH_NONE;
    if (graph->nodes[x].rank == GRAPH_RANK_MAX)
        return graph_fail(graph, SHD_ERANGE, "'%s' has too many dimensions to be stacked", name);
    dims[0] = stack_dim(graph, 1);
    memcpy(dims + 1, graph->nodes[x].dims, graph->nodes[x].rank * sizeof *dims);
    return graph_reshape(graph, name, x, dims, graph->nodes[x].rank + 1);
}

/* Arrays joined in halves, so that each is copied as often as a list of n can be halved. */
static uint32_t join(struct graph *graph, const char *name, const uint32_t *arrays, uint32_t n)
{
    uint32_t half = n / 2, a, b;

    if (n == 1)
        return of_one(graph, name, arrays[0]);
    a = join(graph, name, arrays, half);
    b = join(graph, name, arrays + half, n - half);
    return graph_concat(graph, name, a, stack_dim(graph, half), b, stack_dim(graph, n - half),
                        stack_dim(graph, n));
}

uint32_t stack_make(struct graph *graph, const char *name, const uint32_t *arrays, uint32_t n,
                    uint32_t multiple)
{
    uint32_t whole = (n + multiple - 1) / multiple * multiple, stack;

    stack = join(graph, name, arrays, n);
    if (whole == n || graph->err.status != SHD_OK)
        return stack;
    return graph_placed(graph, name, stack, stack_dim(graph, n), stack_dim(graph, whole),
                        &(struct graph_placing){.from_step = 1, .to_step = 1});
}

void stack_take(struct graph *graph, const char *name, uint32_t stack, uint32_t *arrays, uint32_t n)
{
    for (uint32_t i = 0; i < n && graph->err.status == SHD_OK; i++) {
        uint32_t dims[GRAPH_RANK_MAX], rank = graph->nodes[stack].rank;

        memcpy(dims, graph->nodes[stack].dims, sizeof dims);
        arrays[i] = graph_slice(graph, name, stack, dims[0], stack_dim(graph, 1), i);
        arrays[i] = graph_reshape(graph, name, arrays[i], dims + 1, rank - 1);
    }
}
