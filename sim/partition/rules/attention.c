/* Sharding rule of attention: batch, queries and heads may be cut; keys and head elements are
 * whole; key heads follow the query heads.  In attention by blocks, queries and keys are cut alike,
 * in whole blocks.  Mask inputs are sharded like the queries and keys they describe.  Gradients of
 * k and v are partial over axes that cut only the queries.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "partition/rule.h"

enum factor {
    BATCH,
    QUERIES,
    HEADS,
    HEAD_DIM,
    VALUE_DIM,
    KEYS,
    KV_HEADS,
    SPAN,
    SLOTS,   /* of a pool of pages */
    ENTRIES, /* of the tables of pages */
    NFACTORS
};

enum { Q, K, V }; /* operands */

static uint32_t blocks_of(const struct graph_node *n)
{
    return n->attr.attention.blocks;
}

static int64_t size_of(const struct graph *graph, uint32_t node, int dim)
{
    return graph->dims[graph->nodes[node].dims[dim]].size;
}

static const struct kern_pages *pages_of(const struct graph_node *n)
{
    return n->attr.attention.sight ? n->attr.attention.sight->pages : NULL;
}

static void factors(struct rule *out, const struct graph *graph, const struct graph_node *n)
{
    const int64_t queries = size_of(graph, n->inputs[Q], 1);
    const struct kern_pages *pages = pages_of(n);
    const int64_t sizes[NFACTORS] = {
        [BATCH] = pages ? pages->pools : size_of(graph, n->inputs[Q], 0),
        [QUERIES] = blocks_of(n) > 1 ? blocks_of(n) : queries,
        [HEADS] = size_of(graph, n->inputs[Q], 2),
        [HEAD_DIM] = size_of(graph, n->inputs[Q], 3),
        [VALUE_DIM] = size_of(graph, n->inputs[V], 3),
        [KEYS] = pages ? n->attr.attention.sight->order.extent : size_of(graph, n->inputs[K], 1),
        [KV_HEADS] = size_of(graph, n->inputs[K], 2),
        [SPAN] = 2,
        [SLOTS] = size_of(graph, n->inputs[K], 1),
        [ENTRIES] = pages ? pages->parts * kern_pages_entries(pages) : 1,
    };

    memset(out, 0, sizeof *out);
    for (int f = 0; f < NFACTORS; f++)
        rule_add_factor(out, sizes[f]);
    out->factors[HEAD_DIM].whole = true;
    out->factors[VALUE_DIM].whole = true;
    out->factors[KEYS].whole = true;
    out->factors[SPAN].whole = true;
    out->factors[SLOTS].whole = true;
    out->factors[ENTRIES].whole = true;
    out->factors[KV_HEADS].follows = HEADS;
}

static void set(int8_t *out, int8_t a, int8_t b, int8_t c, int8_t d)
{
    const int8_t side[GRAPH_RANK_MAX] = {a, b, c, d};

    memcpy(out, side, GRAPH_RANK_MAX);
}

static void set_query_side(int8_t *out, enum factor width)
{
    set(out, BATCH, QUERIES, HEADS, (int8_t)width); /* lse takes the first three */
}

static void set_key_side(int8_t *out, const struct graph_node *n, enum factor width)
{
    set(out, BATCH,
        blocks_of(n) > 1 ? QUERIES
        : pages_of(n)    ? SLOTS
                         : KEYS,
        KV_HEADS, (int8_t)width);
}

/* Set the factors of q, k and v, and of the mask inputs, which come after `first` others.  Returns
 * the number of operands. */
static uint32_t set_operands(struct rule *out, const struct graph_node *n, uint32_t first)
{
    const struct kern_sight *sight = n->attr.attention.sight;

    set_query_side(out->operand[Q], HEAD_DIM);
    set_key_side(out->operand[K], n, HEAD_DIM);
    set_key_side(out->operand[V], n, VALUE_DIM);
    if (!sight)
        return first;
    if (sight->rows > 0)
        set(out->operand[first], BATCH, QUERIES, SPAN, 0);
    else
        set(out->operand[first], QUERIES, SPAN, 0, 0);
    set(out->operand[first + 1], blocks_of(n) > 1 ? QUERIES : KEYS, 0, 0, 0);
    if (!sight->pages)
        return first + 2;
    set(out->operand[first + 2], BATCH, blocks_of(n) > 1 ? QUERIES : ENTRIES, 0, 0);
    return first + 3;
}

static void rule_forward(struct rule *out, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];
    uint32_t k;

    factors(out, graph, n);
    out->noperands = n->ninputs;
    k = set_operands(out, n, 3);
    for (; k < n->ninputs - n->attr.attention.sinks; k++)
        set_query_side(out->operand[k], VALUE_DIM); /* partial o and lse of earlier blocks */
    if (n->attr.attention.sinks)
        set(out->operand[k], HEADS, 0, 0, 0);
    out->nresults = 2;
    set_query_side(out->result[0], VALUE_DIM);
    set_query_side(out->result[1], VALUE_DIM);
}

static void rule_backward(struct rule *out, const struct graph *graph, uint32_t node)
{
    const struct graph_node *n = &graph->nodes[node];

    factors(out, graph, n);
    out->noperands = n->ninputs;
    for (uint32_t k = 3; k < 6; k++)
        set_query_side(out->operand[k], VALUE_DIM);
    set_operands(out, n, 6);
    out->nresults = 1 + n->nextras;
    set_query_side(out->result[0], HEAD_DIM);
    set_key_side(out->result[1], n, HEAD_DIM);
    set_key_side(out->result[2], n, VALUE_DIM);
}

/* The type of codes; 0 of others. */
static enum shd_dtype code_of(enum shd_dtype dtype)
{
    return dtype >= SHD_NCOMPUTE_DTYPES ? dtype : 0;
}

static void lower(struct program_op *op, union kern_desc *desc, const struct graph *graph,
                  uint32_t node, const struct rule *rule, const int64_t *extents)
{
    const struct graph_node *n = &graph->nodes[node];
    uint32_t all = blocks_of(n);
    int64_t blocks = all > 1 ? extents[QUERIES] : 1;
    const struct kern_pages *pages = pages_of(n);

    desc->attention = (struct kern_attention){
        .dtype = graph->nodes[n->inputs[Q]].dtype,
        .code = code_of(graph->nodes[n->inputs[K]].dtype),
        .batch = extents[BATCH] * (pages ? pages->rows : 1),
        .queries = all > 1 ? size_of(graph, n->inputs[Q], 1) / all * blocks : extents[QUERIES],
        .keys = all > 1 ? rule->factors[KEYS].size / all * blocks : extents[KEYS],
        .heads = extents[HEADS],
        .kv_heads = extents[KV_HEADS],
        .head_dim = extents[HEAD_DIM],
        .value_dim = extents[VALUE_DIM],
        .repeat = rule->factors[HEADS].size / rule->factors[KV_HEADS].size,
        .scale = n->attr.attention.scale,
        .cap = n->attr.attention.cap,
        .sinks = n->attr.attention.sinks && n->op == GRAPH_ATTENTION,
        .causal = n->attr.attention.causal,
        .goes_on = n->attr.attention.goes_on,
        .more = n->attr.attention.more,
        .blocks = blocks,
        .shift = n->attr.attention.shift,
        .one = n->op == GRAPH_ATTENTION && n->inputs[K] == n->inputs[V],
        .pages = pages,
        .sight = n->attr.attention.sight,
    };
    op->noffsets = KERN_ATTENTION_BATCH0;
    op->offsets[KERN_ATTENTION_QUERY0] = (struct program_offset){op->inputs[Q], 1};
    op->offsets[KERN_ATTENTION_HEAD0] = (struct program_offset){op->inputs[Q], 2};
    op->offsets[KERN_ATTENTION_KV_HEAD0] = (struct program_offset){op->inputs[K], 2};
    if (n->attr.attention.sight && n->attr.attention.sight->rows > 0) /* only kernels with a mask
                                                                         by rows use it */
        op->offsets[op->noffsets++] = (struct program_offset){op->inputs[Q], 0};
}

const struct rule_op rule_attention = {
    .rule = rule_forward, .kernel = &kern_kernel_attention, .lower = lower};
const struct rule_op rule_attention_grad = {
    .rule = rule_backward, .kernel = &kern_kernel_attention_grad, .lower = lower};
