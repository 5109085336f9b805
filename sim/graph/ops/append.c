/* Op: rows written into an array, such as the keys of new tokens into a cache.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"

/* Whether rows have the array's dimensions, with `nrows` of the places' in place of number `at`. */
static bool fits(const struct graph_node *array, const struct graph_node *rows,
                 const struct graph_node *places, uint32_t at, uint32_t nrows)
{
    uint32_t behind = array->rank - at - 1, before = places->rank - nrows;

    return rows->dtype == array->dtype && places->dtype == SHD_I32 &&
           rows->rank == at + nrows + behind && (before == 0 || before == at) &&
           !memcmp(places->dims, array->dims, before * sizeof *array->dims) &&
           !memcmp(rows->dims, array->dims, at * sizeof *array->dims) &&
           !memcmp(rows->dims + at, places->dims + before, nrows * sizeof *array->dims) &&
           !memcmp(rows->dims + at + nrows, array->dims + at + 1, behind * sizeof *array->dims);
}

uint32_t graph_append(struct graph *graph, const char *name, uint32_t array, uint32_t rows,
                      uint32_t places, uint32_t dim)
{
    struct graph_node node;
    const struct graph_node *a, *r;

    if (graph->err.status != SHD_OK || array == GRAPH_NONE || rows == GRAPH_NONE ||
        places == GRAPH_NONE)
        return GRAPH_NONE;
    node = graph_like(graph, GRAPH_APPEND, array);
    a = &graph->nodes[array];
    r = &graph->nodes[rows];
    if (!graph_has_dim(a, dim) || r->rank + 1 < a->rank ||
        !fits(a, r, &graph->nodes[places], graph_place(a, dim), r->rank + 1 - a->rank))
        return graph_fail(graph, SHD_EINVAL,
                          "'%s' needs rows and places that fit along a dimension of '%s'", name,
                          a->name);
    node.ninputs = 3;
    node.inputs[1] = rows;
    node.inputs[2] = places;
    node.attr.choice.dim = dim;
    return graph_add(graph, &node, name);
}

/* Places are numbers, which exclude the padding; rows of padding would be written. */
static void need(struct padding *p, struct graph_node *n)
{
    padding_refuse_all(p, n);
}

const struct graph_op_row graph_op_append = {.name = "append", .need = need, .made = padding_kept};
