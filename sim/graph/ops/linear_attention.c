/* Op: linear attention, and its gradient.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"
#include "kern/attention.h"

/* The operands that not every node has. */
enum given { DECAY, BETA, STATE, NGIVEN };

/* The number of an operand. */
static uint32_t number_of(const struct graph_node *n, enum given which)
{
    const bool has[NGIVEN] = {n->attr.linear_attention.decays, n->attr.linear_attention.delta,
                              n->attr.linear_attention.starts};
    uint32_t number = 3;

    for (uint32_t k = 0; k < which; k++)
        number += has[k];
    return number;
}

static bool has_dims(const struct graph_node *n, const uint32_t *dims, uint32_t rank)
{
    return n->rank == rank && !memcmp(n->dims, dims, rank * sizeof *dims);
}

static bool check(struct graph *g, const char *name, const uint32_t qkv[3])
{
    const struct graph_node *q = &g->nodes[qkv[0]], *k = &g->nodes[qkv[1]], *v = &g->nodes[qkv[2]];

    if (q->rank != 4 || !has_dims(k, q->dims, 4) || v->rank != 4 ||
        memcmp(v->dims, q->dims, 3 * sizeof *q->dims) != 0 || v->dims[3] == q->dims[3])
        graph_fail(
            g, SHD_EINVAL,
            "'%s' needs q, k[batch, seq, heads, key_dim] and v[batch, seq, heads, value_dim], "
            "two dimensions even if of one size",
            name);
    else if (q->dtype != k->dtype || q->dtype != v->dtype || kern_is_whole(q->dtype))
        graph_fail(g, SHD_ETYPE, "'%s' has operands of different types, or whole numbers", name);
    else
        return true;
    return false;
}

static bool check_given(struct graph *g, const char *name, const uint32_t qkv[3],
                        const struct graph_linear_attention *opts)
{
    const struct graph_node *q = &g->nodes[qkv[0]];
    const uint32_t state[4] = {q->dims[0], q->dims[2], q->dims[3], g->nodes[qkv[2]].dims[3]};
    enum shd_dtype sums = kern_attention_sums(q->dtype);
    const struct graph_node *n;

    if (opts->decay != GRAPH_NONE) {
        n = &g->nodes[opts->decay];
        if ((!has_dims(n, q->dims, 3) && !has_dims(n, q->dims, 4)) ||
            (n->dtype != q->dtype && n->dtype != SHD_F32)) {
            graph_fail(
                g, SHD_EINVAL,
                "'%s' needs decay[batch, seq, heads] or [batch, seq, heads, key_dim], in the "
                "type of q or float32",
                name);
            return false;
        }
    }
    if (opts->beta != GRAPH_NONE &&
        (!has_dims(&g->nodes[opts->beta], q->dims, 3) || g->nodes[opts->beta].dtype != q->dtype)) {
        graph_fail(g, SHD_EINVAL, "'%s' needs beta[batch, seq, heads] in the type of q", name);
        return false;
    }
    if (opts->state != GRAPH_NONE &&
        (!has_dims(&g->nodes[opts->state], state, 4) || g->nodes[opts->state].dtype != sums)) {
        graph_fail(g, SHD_EINVAL, "'%s' needs a state[batch, heads, key_dim, value_dim] in %s",
                   name, shd_dtype_name(sums));
        return false;
    }
    return true;
}

static void add_input(struct graph_node *node, uint32_t input)
{
    if (input != GRAPH_NONE)
        node->inputs[node->ninputs++] = input;
}

uint32_t graph_linear_attention(struct graph *graph, const char *name, uint32_t q, uint32_t k,
                                uint32_t v, const struct graph_linear_attention *opts)
{
    const uint32_t qkv[3] = {q, k, v}, given[NGIVEN] = {opts->decay, opts->beta, opts->state};
    struct graph_node node;
    uint32_t o;

    for (int i = 0; i < 3; i++)
        if (!graph_usable(graph, qkv[i]) ||
            (given[i] != GRAPH_NONE && !graph_usable(graph, given[i])))
            return GRAPH_NONE;
    if (!check(graph, name, qkv) || !check_given(graph, name, qkv, opts))
        return GRAPH_NONE;
    node = graph_like(graph, GRAPH_LINEAR_ATTENTION, q);
    node.dims[3] = graph->nodes[v].dims[3];
    node.attr.linear_attention.chunk = opts->chunk > 0 ? opts->chunk : GRAPH_LINEAR_CHUNK;
    node.attr.linear_attention.decays = opts->decay != GRAPH_NONE;
    node.attr.linear_attention.by_channel =
        opts->decay != GRAPH_NONE && graph->nodes[opts->decay].rank == 4;
    node.attr.linear_attention.delta = opts->beta != GRAPH_NONE;
    node.attr.linear_attention.starts = opts->state != GRAPH_NONE;
    node.attr.linear_attention.ends = opts->ends;
    node.ninputs = 1;
    add_input(&node, k);
    add_input(&node, v);
    for (int i = 0; i < NGIVEN; i++)
        add_input(&node, given[i]);
    o = graph_add(graph, &node, name);
    if (o != GRAPH_NONE && opts->ends) {
        const uint32_t *d = graph->nodes[q].dims;
        const uint32_t state[4] = {d[0], d[2], d[3], graph->nodes[v].dims[3]};

        graph_add_extra(graph, o, graph_text(graph, "%s/state", name),
                        kern_attention_sums(graph->nodes[q].dtype), state, 4);
    }
    return o;
}

/* ---- derivative ---- */

/* One op for all gradients.  The state behind the last token has none, so that the gradient of a
 * node with one begins at 0 there. */
static void reverse(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph *g = r->graph;
    struct graph_node n = g->nodes[node], grad;
    uint32_t first, result;

    adjoint = reverse_shaped_like(g, adjoint, node, graph_text(g, "%s.grad", n.name));
    if (adjoint == GRAPH_NONE)
        return;
    grad = graph_like(g, GRAPH_LINEAR_ATTENTION_GRAD, n.inputs[0]);
    grad.attr = n.attr;
    grad.attr.linear_attention.ends = false;
    grad.ninputs = 0;
    for (uint32_t k = 0; k < n.ninputs; k++)
        add_input(&grad, reverse_value(r, n.inputs[k]));
    add_input(&grad, adjoint);
    first = graph_add(g, &grad, reverse_name(g, node, n.inputs[0]));
    for (uint32_t k = 0; k < n.ninputs && first != GRAPH_NONE; k++) {
        const struct graph_node like = g->nodes[n.inputs[k]];

        result = k == 0 ? first
                        : graph_add_extra(g, first, reverse_name(g, node, n.inputs[k]), like.dtype,
                                          like.dims, like.rank);
        reverse_add(r, n.inputs[k], result);
    }
}

/* ---- padding ---- */

/* Heads and rows of the batch are independent, and so are channels of values; tokens behind all
 * others reach nothing but the state behind them. */
static void need(struct padding *p, struct graph_node *n)
{
    const struct graph_node *q = &p->to->nodes[n->inputs[0]];

    padding_refuse(p, n, q->dims[3], PADDING_LOOKS_ACROSS);
    if (n->attr.linear_attention.ends)
        padding_refuse(p, n, q->dims[1], PADDING_LOOKS_ACROSS);
}

/* Sums over channels of values and over tokens: with a gradient and keys of 0 in the padding
 * nothing of it reaches others, if it is finite. */
static void need_grad(struct padding *p, struct graph_node *n)
{
    uint32_t g = n->ninputs - 1;

    need(p, n);
    for (uint32_t d = 0; d < p->to->nodes[n->inputs[g]].rank; d++)
        if (padding_in(p, p->to->nodes[n->inputs[g]].dims[d]))
            padding_want(p, n, g, p->to->nodes[n->inputs[g]].dims[d], 0);
    for (uint32_t k = 1; k < g; k++)
        if (padding_in(p, p->to->nodes[n->inputs[0]].dims[1]) && k != number_of(n, STATE))
            padding_want(p, n, k, p->to->nodes[n->inputs[0]].dims[1], 0);
}

/* ---- as JAX has it ---- */

static void jax(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    static const char *const names[NGIVEN] = {"decay", "beta", "state"};
    const bool has[NGIVEN] = {n->attr.linear_attention.decays, n->attr.linear_attention.delta,
                              n->attr.linear_attention.starts};

    (void)graph;
    text_add(out, "linear_attention($0, $1, $2");
    for (uint32_t k = 0; k < NGIVEN; k++)
        if (has[k])
            text_addf(out, ", %s=$%u", names[k], number_of(n, (enum given)k));
    text_add_char(out, ')');
}

const struct graph_op_row graph_op_linear_attention = {
    .name = "linear attention", .heavy = true, .reverse = reverse, .need = need, .jax = jax};

const struct graph_op_row graph_op_linear_attention_grad = {
    .name = "linear attention gradient", .heavy = true, .need = need_grad};
