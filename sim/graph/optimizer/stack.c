/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/optimizer/stack.h"

#include <string.h>

static uint32_t stack_dim(struct graph *graph, uint32_t size)
{
    return graph_dim(graph, graph_text(graph, "stack/%u", size), size);
}

/* x as [1, dims]. */
static uint32_t of_one(struct graph *graph, const char *name, uint32_t x, const uint32_t *dims,
                       uint32_t rank)
{
    uint32_t one[GRAPH_RANK_MAX];

    if (rank >= GRAPH_RANK_MAX)
        return graph_fail(graph, SHD_ERANGE, "'%s' has too many dimensions to be stacked", name);
    one[0] = stack_dim(graph, 1);
    memcpy(one + 1, dims, rank * sizeof *dims);
    return graph_reshape(graph, name, x, one, rank + 1);
}

/* Arrays of one joined in halves, so that each is copied as often as a list of n can be halved. */
static uint32_t join(struct graph *graph, const char *name, const uint32_t *arrays, uint32_t n)
{
    uint32_t half = n / 2, a, b;

    if (n == 1)
        return arrays[0];
    a = join(graph, name, arrays, half);
    b = join(graph, name, arrays + half, n - half);
    return graph_concat(graph, name, a, stack_dim(graph, half), b, stack_dim(graph, n - half),
                        stack_dim(graph, n));
}

uint32_t stack_make(struct graph *graph, const char *name, const uint32_t *arrays, uint32_t n,
                    uint32_t multiple, const uint32_t *dims, uint32_t rank)
{
    uint32_t whole = (n + multiple - 1) / multiple * multiple, stack;
    uint32_t *ones = graph_memory(graph, n, sizeof *ones);

    for (uint32_t i = 0; i < n && graph->err.status == SHD_OK; i++)
        ones[i] = of_one(graph, name, arrays[i], dims, rank);
    if (graph->err.status != SHD_OK)
        return GRAPH_NONE;
    stack = join(graph, name, ones, n);
    if (whole == n || graph->err.status != SHD_OK)
        return stack;
    return graph_placed(graph, name, stack, stack_dim(graph, n), stack_dim(graph, whole),
                        &(struct graph_placing){.from_step = 1, .to_step = 1});
}

uint32_t stack_take(struct graph *graph, const char *name, uint32_t stack, uint32_t i)
{
    if (graph->err.status != SHD_OK)
        return GRAPH_NONE;
    return graph_slice(graph, name, stack, graph->nodes[stack].dims[0], stack_dim(graph, 1), i);
}
