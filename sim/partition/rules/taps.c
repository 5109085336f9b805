/* Sharding rule of windows: elements are cut as their windows are, as far as they divide, and
 * devices give each other what their windows lack (emit_halo.c).  The sum's elements are cut with
 * the windows where each device has as many as its windows move on; else the sum is partial.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "partition/rule.h"

static void rule(struct rule *out, const struct graph *graph, uint32_t node)
{
    const union graph_attr *attr = &graph->nodes[node].attr;
    int elements, windows;

    rule_by_names(out, graph, node);
    elements = rule_find(out, graph, node, attr->taps.dim);
    windows = rule_find(out, graph, node, attr->taps.window_dim);
    out->factors[rule_find(out, graph, node, attr->taps.tap_dim)].whole = true;
    if (elements != windows)
        out->factors[elements].follows = (int8_t)windows;
}

static void rule_sum(struct rule *out, const struct graph *graph, uint32_t node)
{
    const union graph_attr *attr = &graph->nodes[node].attr;
    int elements, windows;

    rule(out, graph, node);
    elements = rule_find(out, graph, node, attr->taps.dim);
    windows = rule_find(out, graph, node, attr->taps.window_dim);
    if (graph->dims[attr->taps.window_dim].size * attr->taps.how.stride ==
        graph->dims[attr->taps.dim].size)
        return;
    if (elements == windows) { /* two factors of one name */
        elements = rule_add_factor(out, out->factors[windows].size);
        out->result[0][graph_place(&graph->nodes[node], attr->taps.dim)] = (int8_t)elements;
    }
    out->factors[elements].follows = RULE_FREE;
    out->factors[elements].whole = true;
}

/* Dimensions of windows and taps lie at `at` of the array of windows, as elements do of theirs. */
static void describe(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                     uint32_t node, const int8_t *of_windows, uint32_t rank, const int64_t *extents,
                     int64_t extent, uint32_t windows, uint32_t elements, uint32_t at)
{
    const struct graph_node *n = &graph->nodes[node];

    desc->taps = (struct kern_taps){
        .dtype = n->dtype,
        .outer = rule_product(of_windows, extents, 0, at),
        .windows = extents[of_windows[at]],
        .taps = extents[of_windows[at + 1]],
        .inner = rule_product(of_windows, extents, at + 2, rank),
        .extent = extent,
        .stride = n->attr.taps.how.stride,
        .dilation = n->attr.taps.how.dilation,
        .low = n->attr.taps.how.low,
        .held = graph->dims[n->attr.taps.dim].held,
        .fill = n->attr.taps.how.fill,
    };
    op->noffsets = 2;
    op->offsets[0] = (struct program_offset){windows, at};
    op->offsets[1] = (struct program_offset){elements, at};
}

static void lower(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                  uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    uint32_t at = graph_place(n, n->attr.taps.window_dim);

    describe(op, desc, graph, node, rule->result[0], n->rank, extents,
             extents[rule->operand[0][at]], op->outputs[0], op->inputs[0], at);
}

static void lower_sum(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                      uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    uint32_t at = graph_place(n, n->attr.taps.dim);

    describe(op, desc, graph, node, rule->operand[0], n->rank + 1, extents,
             extents[rule->result[0][at]], op->inputs[0], op->outputs[0], at);
}

const struct rule_op rule_taps = {.rule = rule, .kernel = &kern_kernel_taps, .lower = lower};
const struct rule_op rule_taps_sum = {
    .rule = rule_sum, .kernel = &kern_kernel_taps_sum, .lower = lower_sum};
