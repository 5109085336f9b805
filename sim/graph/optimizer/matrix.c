/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/optimizer/matrix.h"

/* The matrix that operand k is in a product. */
static struct optimizer_matrix matrix_in(const struct graph *graph, const struct graph_node *n,
                                         uint32_t k, uint32_t param)
{
    const struct graph_node *x = &graph->nodes[n->inputs[1 - k]], *p = &graph->nodes[param];
    struct optimizer_matrix m = {.in = 0};

    for (uint32_t d = 0; d < p->rank; d++)
        if (!graph_has_dim(n, p->dims[d]))
            m.in |= (uint16_t)(1u << d);
        else if (!graph_has_dim(x, p->dims[d]))
            m.out |= (uint16_t)(1u << d);
    return m.in && m.out ? m : (struct optimizer_matrix){.in = 0};
}

void optimizer_find_matrices(struct optimizer_matrix *out, const struct graph *graph)
{
    enum { OTHER = UINT16_MAX }; /* `in` of a parameter that is no matrix to some reader */

    for (uint32_t node = 0; node < graph->nnodes; node++) {
        const struct graph_node *n = &graph->nodes[node];

        if (n->op <= GRAPH_PARAM || graph_origin(graph, node) != node)
            continue; /* what passes a parameter on: its readers count */
        for (uint32_t k = 0; k < n->ninputs; k++) {
            bool product = (n->op == GRAPH_EINSUM || n->op == GRAPH_GROUPED) && k < 2;
            uint32_t param = graph_origin(graph, n->inputs[k]);
            struct optimizer_matrix m;

            if (graph->nodes[param].op != GRAPH_PARAM)
                continue;
            m = product ? matrix_in(graph, n, k, param) : (struct optimizer_matrix){.in = 0};
            if (out[param].in == 0 && m.in)
                out[param] = m;
            else if (out[param].in != m.in || out[param].out != m.out || !m.in)
                out[param] = (struct optimizer_matrix){.in = OTHER};
        }
    }
    for (uint32_t node = 0; node < graph->nnodes; node++)
        if (out[node].in == OTHER)
            out[node].in = 0;
}

double optimizer_side(const struct graph *graph, uint32_t param, uint16_t side)
{
    const struct graph_node *p = &graph->nodes[param];
    double n = 1;

    for (uint32_t d = 0; d < p->rank; d++)
        if (side >> d & 1)
            n *= (double)graph->dims[p->dims[d]].size;
    return n;
}

static uint32_t count(uint16_t side)
{
    uint32_t n = 0;

    for (; side; side &= (uint16_t)(side - 1))
        n++;
    return n;
}

uint16_t optimizer_shorter(const struct graph *graph, uint32_t param,
                           const struct optimizer_matrix *matrix)
{
    double out = optimizer_side(graph, param, matrix->out);
    double in = optimizer_side(graph, param, matrix->in);

    return out < in || (out == in && count(matrix->out) <= count(matrix->in)) ? matrix->out
                                                                              : matrix->in;
}

uint16_t optimizer_longer(const struct graph *graph, uint32_t param,
                          const struct optimizer_matrix *matrix)
{
    return (matrix->in | matrix->out) ^ optimizer_shorter(graph, param, matrix);
}
