/* Attention: batch, queries and heads may be cut; keys and head_dim are whole; key heads follow the
 * heads.  The gradients of k and v are partial over what cuts the queries.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "partition/rule.h"

enum factor { BATCH, QUERIES, HEADS, HEAD_DIM, KEYS, KV_HEADS, NFACTORS };

static const int8_t query_side[GRAPH_RANK_MAX] = {BATCH, QUERIES, HEADS, HEAD_DIM};
static const int8_t key_side[GRAPH_RANK_MAX] = {BATCH, KEYS, KV_HEADS, HEAD_DIM};

static void factors(struct rule *out, const struct graph *graph, const struct graph_node *q,
                    const struct graph_node *k)
{
    const uint32_t dims[NFACTORS] = {q->dims[0], q->dims[1], q->dims[2],
                                     q->dims[3], k->dims[1], k->dims[2]};

    memset(out, 0, sizeof *out);
    for (int f = 0; f < NFACTORS; f++)
        rule_add_factor(out, graph->dims[dims[f]].size);
    out->factors[HEAD_DIM].whole = true;
    out->factors[KEYS].whole = true;
    out->factors[KV_HEADS].follows = HEADS;
}

static void set(int8_t *out, const int8_t *side)
{
    memcpy(out, side, GRAPH_RANK_MAX);
}

static void rule_forward(struct rule *out, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];

    factors(out, graph, n, &graph->nodes[n->inputs[1]]);
    out->noperands = 3;
    set(out->operand[0], query_side);
    set(out->operand[1], key_side);
    set(out->operand[2], key_side);
    out->nresults = 2;
    set(out->result[0], query_side);
    set(out->result[1], query_side); /* lse: the first three of them */
}

static void rule_backward(struct rule *out, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];

    factors(out, graph, n, &graph->nodes[n->inputs[1]]);
    out->noperands = 6;
    for (int k = 0; k < 6; k++)
        set(out->operand[k], k == 1 || k == 2 ? key_side : query_side);
    out->nresults = 1 + n->nextras;
    set(out->result[0], query_side);
    set(out->result[1], key_side);
    set(out->result[2], key_side);
}

static void describe(struct program_op *op, const struct graph *graph, uint32_t node,
                     const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];

    op->desc.attention = (struct kern_attention){
        .dtype = n->dtype,
        .batch = extents[BATCH],
        .queries = extents[QUERIES],
        .keys = extents[KEYS],
        .heads = extents[HEADS],
        .kv_heads = extents[KV_HEADS],
        .head_dim = extents[HEAD_DIM],
        .repeat = rule->factors[HEADS].size / rule->factors[KV_HEADS].size,
        .scale = n->attr.attention.scale,
        .causal = n->attr.attention.causal,
    };
    op->noffsets = KERN_ATTENTION_NOFFSETS;
    op->offsets[KERN_ATTENTION_QUERY0] = (struct program_offset){op->inputs[0], 1};
    op->offsets[KERN_ATTENTION_HEAD0] = (struct program_offset){op->inputs[0], 2};
    op->offsets[KERN_ATTENTION_KV_HEAD0] = (struct program_offset){op->inputs[1], 2};
}

static void lower_forward(struct program_op *op, const struct graph *graph, uint32_t node,
                          const struct rule *rule, const int64_t *extents)
{
    op->kernel = &kern_kernel_attention;
    describe(op, graph, node, rule, extents);
}

static void lower_backward(struct program_op *op, const struct graph *graph, uint32_t node,
                           const struct rule *rule, const int64_t *extents)
{
    op->kernel = &kern_kernel_attention_grad;
    describe(op, graph, node, rule, extents);
}

const struct rule_op rule_attention = {rule_forward, lower_forward, false};
const struct rule_op rule_attention_grad = {rule_backward, lower_backward, false};
