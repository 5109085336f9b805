/* Attention, forward with its log-sum-exp, and backward.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "graph/ops/reverse.h"

/* [batch, seq, heads, head_dim] of q against [batch, seq, kv_heads, head_dim]. */
static bool check(struct graph *g, const char *name, const struct graph_node *q,
                  const struct graph_node *k, const struct graph_node *v)
{
    int64_t heads, kv_heads;

    if (q->rank != 4 || k->rank != 4 || v->rank != 4 || q->dims[0] != k->dims[0] ||
        q->dims[3] != k->dims[3] || memcmp(k->dims, v->dims, sizeof k->dims) != 0) {
        graph_fail(g, SHD_EINVAL,
                   "'%s' wants q[batch, seq, heads, head_dim] and k, v[batch, seq, kv_heads, "
                   "head_dim]",
                   name);
        return false;
    }
    heads = g->dims[q->dims[2]].size;
    kv_heads = g->dims[k->dims[2]].size;
    if (q->dtype != k->dtype || q->dtype != v->dtype) {
        graph_fail(g, SHD_ETYPE, "'%s' has operands of different types", name);
        return false;
    }
    if (kv_heads < 1 || heads % kv_heads) {
        graph_fail(g, SHD_EINDIVISIBLE, "'%s': %lld heads do not divide by %lld key heads", name,
                   (long long)heads, (long long)kv_heads);
        return false;
    }
    return true;
}

uint32_t graph_attention(struct graph *graph, const char *name, uint32_t q, uint32_t k, uint32_t v,
                         bool causal, double scale)
{
    struct graph_node node = {.op = GRAPH_ATTENTION, .rank = 4, .ninputs = 3};
    enum shd_dtype stat;
    uint32_t o;

    if (graph->err.status != SHD_OK || q == GRAPH_NONE || k == GRAPH_NONE || v == GRAPH_NONE ||
        !check(graph, name, &graph->nodes[q], &graph->nodes[k], &graph->nodes[v]))
        return GRAPH_NONE;
    node.dtype = graph->nodes[q].dtype;
    memcpy(node.dims, graph->nodes[q].dims, sizeof node.dims);
    node.inputs[0] = q;
    node.inputs[1] = k;
    node.inputs[2] = v;
    node.attr.attention.causal = causal;
    node.attr.attention.scale = scale;
    stat = node.dtype == SHD_F64 ? SHD_F64 : SHD_F32;
    o = graph_add(graph, &node, name);
    graph_add_extra(graph, o, graph_text(graph, "%s/lse", name), stat, node.dims, 3);
    return o;
}

void reverse_attention(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph *g = r->graph;
    struct graph_node n = g->nodes[node];
    const char *name = graph_text(g, "%s.grad", n.name);
    struct graph_node grad = {.op = GRAPH_ATTENTION_GRAD,
                              .dtype = n.dtype,
                              .rank = 4,
                              .ninputs = 6,
                              .inputs = {n.inputs[0], n.inputs[1], n.inputs[2], node, n.extras[0],
                                         reverse_shaped_like(g, adjoint, node, name)},
                              .attr = n.attr};
    uint32_t dq, dk, dv;

    memcpy(grad.dims, n.dims, sizeof grad.dims);
    dq = graph_add(g, &grad, name);
    if (dq == GRAPH_NONE)
        return;
    dk = graph_add_extra(g, dq, reverse_name(g, node, n.inputs[1]), n.dtype,
                         g->nodes[n.inputs[1]].dims, 4);
    dv = graph_add_extra(g, dq, reverse_name(g, node, n.inputs[2]), n.dtype,
                         g->nodes[n.inputs[2]].dims, 4);
    reverse_add(r, n.inputs[0], dq);
    reverse_add(r, n.inputs[1], dk);
    reverse_add(r, n.inputs[2], dv);
}
