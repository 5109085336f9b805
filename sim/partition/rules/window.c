/* Sharding rule of slices, padding and concatenations: the result's dimension is cut as those of
 * its operands are, which lie as they do: each device gets the elements that it lacks (slices.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "partition/rule.h"

static void rule(struct rule *out, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];

    rule_by_names(out, graph, node);
    const uint32_t at = graph_place(n, n->attr.window.to_dim);

    for (uint32_t k = 0; k < n->ninputs; k++) {
        int8_t elements = out->operand[k][at];

        if (elements == out->result[0][at]) /* two factors of one name */
            elements = rule_add_factor(out, out->factors[elements].size);
        out->factors[elements].as_it_lies = true;
        out->factors[elements].follows = out->result[0][at];
        out->operand[k][at] = elements;
    }
}

static void lower(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                  uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    const union graph_attr *attr = &n->attr;
    struct kern_window *w = &desc->window;
    uint32_t at = graph_place(n, attr->window.to_dim);

    (void)op;
    w->dtype = n->dtype;
    w->ninputs = n->ninputs;
    w->outer = rule_product(rule->result[0], extents, 0, at);
    w->inner = rule_product(rule->result[0], extents, at + 1, n->rank);
    w->out_extent = extents[rule->result[0][at]];
    for (uint32_t k = 0; k < n->ninputs; k++)
        w->in_extent[k] = extents[rule->operand[k][at]];
    memcpy(w->from, attr->window.from, sizeof w->from);
    memcpy(w->to, attr->window.to, sizeof w->to);
    memcpy(w->count, attr->window.count, sizeof w->count);
    memcpy(w->from_step, attr->window.from_step, sizeof w->from_step);
    memcpy(w->to_step, attr->window.to_step, sizeof w->to_step);
    w->fill = attr->window.fill;
}

const struct rule_op rule_window = {.rule = rule, .kernel = &kern_kernel_window, .lower = lower};
