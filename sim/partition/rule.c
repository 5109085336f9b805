/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/rule.h"

#include <string.h>

#include "graph/ops.h"

int8_t rule_add_factor(struct rule *rule, int64_t size)
{
    rule->factors[rule->nfactors] = (struct rule_factor){.size = size, .follows = RULE_FREE};
    return (int8_t)rule->nfactors++;
}

/* Set the factors of an array's dimensions: existing factors of equal dimension numbers, else new
 * ones. */
static void name_factors(struct rule *rule, const struct graph *graph, uint32_t array,
                         uint32_t *dims, int8_t *out)
{
    const struct graph_node *n = &graph->nodes[array];

    for (uint32_t d = 0; d < n->rank; d++) {
        uint32_t f = 0;

        while (f < rule->nfactors && dims[f] != n->dims[d])
            f++;
        if (f == rule->nfactors) {
            dims[f] = n->dims[d];
            rule_add_factor(rule, graph->dims[n->dims[d]].size);
        }
        out[d] = (int8_t)f;
    }
}

void rule_by_names(struct rule *out, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];
    uint32_t dims[RULE_FACTORS_MAX];

    memset(out, 0, sizeof *out);
    out->nresults = 1 + n->nextras;
    out->noperands = n->ninputs;
    name_factors(out, graph, node, dims, out->result[0]);
    for (uint32_t r = 0; r < n->nextras; r++)
        name_factors(out, graph, n->extras[r], dims, out->result[1 + r]);
    for (uint32_t k = 0; k < n->ninputs; k++)
        name_factors(out, graph, n->inputs[k], dims, out->operand[k]);
}

void rule_find_home(struct rule *rule, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];

    for (uint32_t k = 0; k < n->ninputs; k++)
        for (uint32_t d = 0; d < graph->nodes[n->inputs[k]].rank; d++)
            if (rule->factors[rule->operand[k][d]].as_it_lies)
                rule->takes_home |= (uint8_t)(1u << k);
}

/* Whether an array is a scalar, or its dimensions are factors 0 to rank - 1. */
static bool has_all_or_none(const struct graph_node *array, const int8_t *factors, uint32_t rank)
{
    for (uint32_t d = 0; d < array->rank; d++)
        if (factors[d] != (int8_t)d)
            return false;
    return array->rank == 0 || array->rank == rank;
}

void rule_find_flat(struct rule *rule, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];

    rule->flat = graph_op(n->op)->flat && rule->nfactors > 0 &&
                 has_all_or_none(n, rule->result[0], rule->nfactors);
    for (uint32_t k = 0; k < n->ninputs && rule->flat; k++)
        rule->flat =
            has_all_or_none(&graph->nodes[n->inputs[k]], rule->operand[k], rule->nfactors);
}

static int find_in(const struct graph_node *array, const int8_t *factors, uint32_t dim)
{
    for (uint32_t d = 0; d < array->rank; d++)
        if (array->dims[d] == dim)
            return factors[d];
    return -1;
}

int rule_find(const struct rule *rule, const struct graph *graph, uint32_t node, uint32_t dim)
{
    const struct graph_node *n = &graph->nodes[node];
    int factor = find_in(n, rule->result[0], dim);

    for (uint32_t k = 0; factor < 0 && k < n->ninputs; k++)
        factor = find_in(&graph->nodes[n->inputs[k]], rule->operand[k], dim);
    return factor;
}

void rule_strides(int64_t *stride, uint32_t rank, const int8_t *factors, const int64_t *extents)
{
    int64_t next = 1;

    for (uint32_t d = rank; d-- > 0;) {
        stride[d] = next;
        next *= extents[factors[d]];
    }
}

uint32_t rule_factor_strides(int64_t *out, uint32_t rank, const int8_t *factors,
                             const int64_t *extents)
{
    int64_t stride[GRAPH_RANK_MAX];
    uint32_t has = 0;

    rule_strides(stride, rank, factors, extents);
    for (uint32_t d = 0; d < rank; d++) {
        out[factors[d]] = stride[d];
        has |= 1u << factors[d];
    }
    return has;
}

int64_t rule_product(const int8_t *factors, const int64_t *extents, uint32_t first, uint32_t last)
{
    int64_t product = 1;

    for (uint32_t d = first; d < last; d++)
        product *= extents[factors[d]];
    return product;
}
