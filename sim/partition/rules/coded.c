/* Sharding rules of arrays rounded to codes, and of their products (kern/coded.h).
 *
 * Blocks follow the dimension that is cut into them as far as they divide.  Devices that share a
 * group have parts of its largest magnitude each, which a reduction over them completes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "partition/rules/experts.h"

static void follow(struct rule *out, const struct graph *graph, uint32_t node,
                   const struct graph_coding *coding)
{
    for (uint32_t k = 0; k < coding->ncoarse + coding->nparts; k++) {
        int blocks = rule_find(out, graph, node, coding->coarse[k].blocks);

        out->factors[blocks].follows = (int8_t)rule_find(out, graph, node, coding->coarse[k].dim);
    }
}

/* Let blocks that begin anew inside of a dimension lie on one device. */
static void keep_periods(struct rule *out, const struct graph *graph, uint32_t node,
                         const struct graph_coding *coding)
{
    for (uint32_t k = 0; k < coding->ncoarse; k++) {
        int64_t size = graph->dims[coding->coarse[k].dim].size;
        int f = rule_find(out, graph, node, coding->coarse[k].dim);

        if (coding->coarse[k].period < size)
            out->factors[f].size = size / coding->coarse[k].period;
    }
}

static void rule(struct rule *out, const struct graph *graph, uint32_t node)
{
    rule_by_names(out, graph, node);
    out->reduce = graph->nodes[node].op == GRAPH_AMAX ? SHD_MAX : SHD_SUM;
    follow(out, graph, node, &graph->nodes[node].attr.coded.coding[0]);
    keep_periods(out, graph, node, &graph->nodes[node].attr.coded.coding[0]);
}

/* The dimension that an array of codes has along its place `d`, or, in bytes of two, has pairs of. */
static uint32_t whole_dim(const struct graph *graph, const struct graph_node *codes, uint32_t d)
{
    uint32_t dim = codes->dims[d], of = graph->dims[dim].of;

    return codes->dtype == SHD_U8 && of != GRAPH_NONE ? of : dim;
}

/* Count a factor in pairs, as one of the product's arrays has a dimension of pairs of it: the
 * factor `pairs`, which goes. */
static void merge_pairs(struct rule *out, const struct graph *graph, uint32_t node, int8_t pairs,
                        int8_t factor)
{
    const struct graph_node *n = &graph->nodes[node];

    out->factors[factor].size = out->factors[pairs].size;
    for (uint32_t k = 0; k <= n->ninputs; k++) {
        int8_t *at = k < n->ninputs ? out->operand[k] : out->result[0];
        uint32_t rank = k < n->ninputs ? graph->nodes[n->inputs[k]].rank : n->rank;

        for (uint32_t d = 0; d < rank; d++) {
            at[d] = at[d] == pairs ? factor : at[d];
            at[d] -= at[d] > pairs;
        }
    }
    for (uint32_t f = (uint32_t)pairs; f + 1 < out->nfactors; f++)
        out->factors[f] = out->factors[f + 1];
    out->nfactors--;
}

static void rule_of_codes(struct rule *out, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];

    rule_by_names(out, graph, node);
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t d = 0; d < graph->nodes[n->inputs[k]].rank; d++) {
            uint32_t whole = whole_dim(graph, &graph->nodes[n->inputs[k]], d);

            if (whole != graph->nodes[n->inputs[k]].dims[d])
                merge_pairs(out, graph, node, out->operand[k][d],
                            (int8_t)rule_find(out, graph, node, whole));
        }
    follow(out, graph, node, &graph->nodes[node].attr.coded.coding[0]);
    follow(out, graph, node, &graph->nodes[node].attr.coded.coding[1]);
}

static void rule_of_product(struct rule *out, const struct graph *graph, uint32_t node)
{
    rule_of_codes(out, graph, node);
    for (uint32_t k = 0; k < 2; k++)
        keep_periods(out, graph, node, &graph->nodes[node].attr.coded.coding[k]);
}

static void rule_of_experts(struct rule *out, const struct graph *graph, uint32_t node)
{
    rule_of_codes(out, graph, node);
    experts_cut_slots(out, graph, node, &graph->nodes[node].attr.coded.experts);
}

/* A rounded array in an op: its factors and buffer, and the same of its magnitudes. */
struct coded_array {
    uint32_t node, buffer, amax_node, amax_buffer;
    const int8_t *factors, *amax_factors;
};

static uint32_t place_of(const int8_t *factors, uint32_t rank, int factor)
{
    uint32_t d = 0;

    while (d < rank && factors[d] != factor)
        d++;
    return d;
}

/* Append the offsets of a dimension and its blocks, unless they are there; returns their place.
 * Pairs of them come after the offset of the first expert, if there is one. */
static uint32_t offsets_of(struct program_op *op, struct program_offset first,
                           struct program_offset block)
{
    uint32_t at = op->noffsets % 2;

    while (at < op->noffsets &&
           (op->offsets[at].buffer != first.buffer || op->offsets[at].dim != first.dim ||
            op->offsets[at + 1].buffer != block.buffer || op->offsets[at + 1].dim != block.dim))
        at += 2;
    if (at == op->noffsets) {
        op->offsets[op->noffsets++] = first;
        op->offsets[op->noffsets++] = block;
    }
    return at;
}

/* Set `out` to extents, of an op with this array, in elements where they are in groups of slots or
 * in pairs. */
static void set_elements(int64_t *out, const struct graph *graph, const struct rule *rule,
                         const int64_t *extents, uint32_t array, const int8_t *factors)
{
    const struct graph_node *x = &graph->nodes[array];

    memcpy(out, extents, rule->nfactors * sizeof *out);
    for (uint32_t d = 0; d < x->rank; d++) {
        int8_t f = factors[d];

        out[f] = extents[f] *
                 (graph->dims[whole_dim(graph, x, d)].size / rule->factors[f].size);
    }
}

/* The place of a dimension, or of its pairs. */
static uint32_t place_in(const struct graph *graph, const struct graph_node *x, uint32_t dim)
{
    uint32_t d = 0;

    while (d < x->rank && whole_dim(graph, x, d) != dim)
        d++;
    return d;
}

/* Where the magnitudes of an array's elements lie, which are in `ncoarse` blocks. */
static void set_grid(struct kern_grid *out, struct program_op *op, const struct graph *graph,
                     const struct rule *rule, const int64_t *cut, const struct coded_array *a,
                     uint32_t node, const struct graph_coding *coding,
                     const struct graph_coarse *coarse, uint32_t ncoarse)
{
    const struct graph_node *x = &graph->nodes[a->node], *amax = &graph->nodes[a->amax_node];
    int64_t stride[GRAPH_RANK_MAX], extents[RULE_FACTORS_MAX];

    set_elements(extents, graph, rule, cut, a->node, a->factors);
    *out = (struct kern_grid){.ndims = x->rank,
                              .code = coding->code,
                              .scaling = coding->scaling,
                              .count =
                                  (uint64_t)rule_product(a->amax_factors, extents, 0, amax->rank)};
    rule_strides(stride, amax->rank, a->amax_factors, extents);
    for (uint32_t d = 0; d < x->rank; d++) {
        uint32_t at = place_of(a->amax_factors, amax->rank, a->factors[d]);

        if (whole_dim(graph, x, d) != x->dims[d]) {
            out->pairs = true;
            out->pair_dim = d;
        }

        out->extent[d] = extents[a->factors[d]];
        out->stride[d] = at < amax->rank ? stride[at] : 0;
    }
    for (uint32_t k = 0; k < ncoarse; k++) {
        uint32_t d = place_in(graph, x, coarse[k].dim);
        int blocks = rule_find(rule, graph, node, coarse[k].blocks);
        uint32_t at = place_of(a->amax_factors, amax->rank, blocks);

        out->stride[d] = stride[at];
        out->coarse[out->ncoarse++] =
            (struct kern_coarse){d, coarse[k].each, coarse[k].period,
                                 offsets_of(op, (struct program_offset){a->buffer, d},
                                            (struct program_offset){a->amax_buffer, at})};
    }
}

static void set_groups(struct kern_grid *out, struct program_op *op, const struct graph *graph,
                       const struct rule *rule, const int64_t *cut, const struct coded_array *a,
                       uint32_t node, const struct graph_coding *coding)
{
    set_grid(out, op, graph, rule, cut, a, node, coding, coding->coarse, coding->ncoarse);
}

/* Where the magnitudes of the parts of an array lie, which are operand `k`. */
static void set_parts(struct kern_grid *out, struct program_op *op, const struct graph *graph,
                      const struct rule *rule, const int64_t *cut, struct coded_array a,
                      uint32_t node, uint32_t k, const struct graph_coding *coding)
{
    if (!kern_scaling_is_twofold(coding->scaling))
        return;
    a.amax_node = graph->nodes[node].inputs[k];
    a.amax_buffer = op->inputs[k];
    a.amax_factors = rule->operand[k];
    set_grid(out, op, graph, rule, cut, &a, node, coding, coding->coarse + coding->ncoarse,
             coding->nparts);
}

static void lower_amax(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                       uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    const struct coded_array a = {n->inputs[0],   op->inputs[0],    node,
                                  op->outputs[0], rule->operand[0], rule->result[0]};

    desc->amax.dtype = n->dtype;
    set_groups(&desc->amax.grid, op, graph, rule, extents, &a, node, &n->attr.coded.coding[0]);
}

static void lower_encode(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                         uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    const struct coded_array a = {n->inputs[0],  op->inputs[0],    n->inputs[1],
                                  op->inputs[1], rule->operand[0], rule->operand[1]};

    desc->encode.dtype = graph->nodes[n->inputs[1]].dtype;
    set_groups(&desc->encode.grid, op, graph, rule, extents, &a, node, &n->attr.coded.coding[0]);
    set_parts(&desc->encode.parts, op, graph, rule, extents, a, node, 2,
              &n->attr.coded.coding[0]);
}

static void lower_grids(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                        uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    struct kern_coded *c = &desc->coded;

    c->dtype = n->dtype;
    for (uint32_t k = 0; k < 2; k++) {
        const struct coded_array a = {n->inputs[k],      op->inputs[k],    n->inputs[2 + k],
                                      op->inputs[2 + k], rule->operand[k], rule->operand[2 + k]};

        set_groups(k ? &c->b : &c->a, op, graph, rule, extents, &a, node, &n->attr.coded.coding[k]);
        set_parts(k ? &c->b_parts : &c->a_parts, op, graph, rule, extents, a, node, 4 + k,
                  &n->attr.coded.coding[k]);
    }
}

static void lower_coded(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                        uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    const struct graph_node *a = &graph->nodes[n->inputs[0]], *b = &graph->nodes[n->inputs[1]];
    struct kern_einsum *e = &desc->coded.product.einsum;
    int64_t of_b[RULE_FACTORS_MAX];

    e->ndims = rule->nfactors;
    set_elements(e->extent, graph, rule, extents, n->inputs[0], rule->operand[0]);
    set_elements(of_b, graph, rule, extents, n->inputs[1], rule->operand[1]);
    for (uint32_t d = 0; d < b->rank; d++)
        e->extent[rule->operand[1][d]] = of_b[rule->operand[1][d]];
    e->a_has = rule_factor_strides(e->a_stride, a->rank, rule->operand[0], e->extent);
    e->b_has = rule_factor_strides(e->b_stride, b->rank, rule->operand[1], e->extent);
    e->c_has = rule_factor_strides(e->c_stride, n->rank, rule->result[0], e->extent);
    lower_grids(op, desc, graph, node, rule, extents);
}

static void lower_coded_grouped(struct program_op *op, union kern_desc *desc,
                                const struct graph *graph, uint32_t node, const struct rule *rule,
                                const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node], *codes = &graph->nodes[n->inputs[1]];
    int64_t elements[RULE_FACTORS_MAX];

    memcpy(elements, extents, sizeof elements);
    for (uint32_t d = 0; d < codes->rank; d++)
        if (whole_dim(graph, codes, d) != codes->dims[d])
            elements[rule->operand[1][d]] *= 2;
    experts_lower_product(&desc->coded.product, op, graph, node, &n->attr.coded.experts, rule,
                          elements);
    lower_grids(op, desc, graph, node, rule, extents);
}

const struct rule_op rule_amax = {.rule = rule, .kernel = &kern_kernel_amax, .lower = lower_amax};
const struct rule_op rule_encode = {
    .rule = rule, .kernel = &kern_kernel_encode, .lower = lower_encode};
const struct rule_op rule_decode = {
    .rule = rule, .kernel = &kern_kernel_decode, .lower = lower_encode};
const struct rule_op rule_coded = {
    .rule = rule_of_product, .kernel = &kern_kernel_coded, .lower = lower_coded};
const struct rule_op rule_coded_grouped = {
    .rule = rule_of_experts, .kernel = &kern_kernel_coded_grouped, .lower = lower_coded_grouped};
