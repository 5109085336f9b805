/* Sharding rules of dispatch and combine: the result is sharded as asked, the operand keeps its
 * sharding, as its rows are pulled from whichever device has them.  Only the width, which is not
 * moved, is cut alike.
 *
 * A dispatch needs the ids of all tokens that may come to a device's rows: a group's slots are
 * filled from the whole group.  In a combine each device needs its own tokens' ids only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "partition/rule.h"

static int8_t add_as_it_lies(struct rule *rule, int64_t size)
{
    int8_t factor = rule_add_factor(rule, size);

    rule->factors[factor].whole = rule->factors[factor].as_it_lies = true;
    return factor;
}

static int8_t add_whole(struct rule *rule, int64_t size)
{
    int8_t factor = rule_add_factor(rule, size);

    rule->factors[factor].whole = true;
    return factor;
}

static int64_t size_of(const struct graph *graph, const struct graph_node *n, uint32_t d)
{
    return graph->dims[n->dims[d]].size;
}

/* tokens[batch, seq, (choice,) width], ids, slots -> rows[expert, slot, width] */
static void rule_of_dispatch(struct rule *out, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node], *src = &graph->nodes[n->inputs[0]];
    const struct graph_node *ids = &graph->nodes[n->inputs[1]];
    int8_t width, slot, choice, seq;

    memset(out, 0, sizeof *out);
    out->noperands = 3;
    out->nresults = 1;
    out->result[0][0] = rule_add_factor(out, size_of(graph, n, 0));
    out->result[0][1] = slot = rule_add_factor(out, n->attr.experts.groups);
    out->result[0][2] = width = rule_add_factor(out, size_of(graph, n, 2));
    choice = add_whole(out, size_of(graph, ids, 2));
    seq = add_whole(out, size_of(graph, ids, 1));
    out->operand[0][0] = add_as_it_lies(out, size_of(graph, src, 0));
    out->operand[0][1] = add_as_it_lies(out, size_of(graph, src, 1));
    out->operand[0][2] = choice;
    out->operand[0][src->rank - 1] = width;
    for (uint32_t k = 1; k < 3; k++) {
        out->operand[k][0] = slot;
        out->operand[k][1] = seq;
        out->operand[k][2] = choice;
    }
}

/* rows[expert, slot, width], ids, slots -> tokens[batch, seq, (choice,) width] */
static void rule_of_combine(struct rule *out, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node], *src = &graph->nodes[n->inputs[0]];

    memset(out, 0, sizeof *out);
    out->noperands = 3;
    out->nresults = 1;
    int8_t choice = add_whole(out, size_of(graph, &graph->nodes[n->inputs[1]], 2));

    for (uint32_t d = 0; d < n->rank; d++)
        out->result[0][d] =
            d == 2 && n->rank == 4 ? choice : rule_add_factor(out, size_of(graph, n, d));
    out->operand[0][0] = add_as_it_lies(out, size_of(graph, src, 0));
    out->operand[0][1] = add_as_it_lies(out, size_of(graph, src, 1));
    out->operand[0][2] = out->result[0][n->rank - 1];
    for (uint32_t k = 1; k < 3; k++) {
        out->operand[k][0] = out->result[0][0];
        out->operand[k][1] = out->result[0][1];
        out->operand[k][2] = choice;
    }
}

static void lower(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                  uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];

    (void)desc;
    (void)rule;
    (void)extents;
    op->kind = PROGRAM_ROWS;
    op->rows = (struct program_rows){.combines = n->op == GRAPH_COMBINE,
                                     .sums = n->op == GRAPH_COMBINE && n->attr.experts.sums,
                                     .beside = graph->dims[n->dims[n->rank - 1]].size == 1 ||
                                               graph->nodes[n->inputs[0]].op == GRAPH_AMAX,
                                     .groups = n->attr.experts.groups,
                                     .routing = n->attr.experts.routing};
}

const struct rule_op rule_dispatch = {.rule = rule_of_dispatch, .lower = lower, .moves_rows = true};
const struct rule_op rule_combine = {.rule = rule_of_combine, .lower = lower, .moves_rows = true};
