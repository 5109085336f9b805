/* Op: attention, with its log-sum-exp, and the gradient of an attention to some keys.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "graph/graph.h"
#include "kern/attention.h"

/* Check q[batch, seq, heads, head_dim] against k[batch, keys, kv_heads, head_dim] and v[batch,
 * keys, kv_heads, value_dim]. */
static bool check(struct graph *g, const char *name, const uint32_t qkv[3], bool paged)
{
    const struct graph_node *q = &g->nodes[qkv[0]], *k = &g->nodes[qkv[1]], *v = &g->nodes[qkv[2]];
    int64_t heads, kv_heads;

    if (q->rank != 4 || k->rank != 4 || v->rank != 4 || (q->dims[0] != k->dims[0] && !paged) ||
        q->dims[3] != k->dims[3] || memcmp(k->dims, v->dims, 3 * sizeof *k->dims) != 0) {
        graph_fail(g, SHD_EINVAL,
                   "'%s' needs q[batch, seq, heads, head_dim] and k, v[batch, seq, kv_heads, "
                   "head_dim]",
                   name);
        return false;
    }
    heads = g->dims[q->dims[2]].size;
    kv_heads = g->dims[k->dims[2]].size;
    if ((q->dtype != k->dtype && k->dtype != SHD_F8E4M3 && k->dtype != SHD_F8E5M2) ||
        k->dtype != v->dtype) {
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

static uint32_t blocks_of(const struct graph_attention *opts)
{
    return opts->blocks > 0 ? opts->blocks : 1;
}

static bool check_blocks(struct graph *g, const char *name, const struct graph_node *q,
                         const struct graph_node *k, const struct graph_attention *opts)
{
    uint32_t blocks = blocks_of(opts);
    int64_t queries = g->dims[q->dims[1]].size, keys = g->dims[k->dims[1]].size;

    if (queries % blocks || keys % blocks)
        graph_fail(g, SHD_EINDIVISIBLE,
                   "'%s': %lld queries and %lld keys do not divide into %u blocks", name,
                   (long long)queries, (long long)keys, blocks);
    else if (opts->shift < 0 || opts->shift >= blocks)
        graph_fail(g, SHD_ERANGE, "'%s': keys shifted by %lld of %u blocks", name,
                   (long long)opts->shift, blocks);
    else if (opts->causal && (blocks > 1 || opts->sight))
        graph_fail(g, SHD_EINVAL, "'%s': causal attention has no blocks and no mask by positions",
                   name);
    else
        return true;
    return false;
}

/* Check that spans lie like the queries, positions like the keys, and both have the mask's
 * extents. */
static bool check_sight(struct graph *g, const char *name, const struct graph_node *q,
                        const struct graph_node *k, const struct graph_attention *opts)
{
    const struct kern_sight *sight = opts->sight;
    const struct graph_node *spans, *positions;
    uint32_t rows;

    if (!sight && opts->spans == GRAPH_NONE && opts->positions == GRAPH_NONE)
        return true;
    if (!sight || opts->spans >= g->nnodes || opts->positions >= g->nnodes) {
        graph_fail(g, SHD_EINVAL, "'%s' needs spans, positions and their mask together", name);
        return false;
    }
    spans = &g->nodes[opts->spans];
    positions = &g->nodes[opts->positions];
    rows = sight->rows > 0; /* with documents, one more leading dimension */
    if (spans->dtype != SHD_I32 || positions->dtype != SHD_I32 || spans->rank != 2 + rows ||
        memcmp(spans->dims, q->dims + 1 - rows, (1 + rows) * sizeof *q->dims) != 0 ||
        g->dims[spans->dims[1 + rows]].size != 2 || positions->rank != 1 ||
        (positions->dims[0] != k->dims[1] && !sight->pages)) {
        graph_fail(g, SHD_EINVAL,
                   "'%s' needs integers spans[%sseq, 2] for its queries and positions[seq] for its "
                   "keys",
                   name, rows ? "batch, " : "");
        return false;
    }
    if ((sight->queries.count > 0 ? g->dims[q->dims[1]].size % sight->queries.count != 0
                                  : g->dims[q->dims[1]].size != sight->order.extent) ||
        g->dims[positions->dims[0]].size != sight->order.extent ||
        g->dims[k->dims[1]].size !=
            (sight->pages ? kern_pages_slots(sight->pages) : sight->order.extent) ||
        sight->order.extent > INT32_MAX) {
        graph_fail(g, SHD_EINVAL, "'%s': %lld queries and %lld keys do not fit a sequence of %lld",
                   name, (long long)g->dims[q->dims[1]].size, (long long)g->dims[k->dims[1]].size,
                   (long long)sight->order.extent);
        return false;
    }
    return true;
}

/* Check an attention that is continued: same queries, and a result of the same shape. */
static bool check_before(struct graph *g, const char *name, const struct graph_node *like,
                         uint32_t before)
{
    const struct graph_node *n = before < g->nnodes ? &g->nodes[before] : NULL;

    if (before == GRAPH_NONE ||
        (n && n->op == GRAPH_ATTENTION && n->attr.attention.more &&
         n->inputs[0] == like->inputs[0] && !memcmp(n->dims, like->dims, sizeof like->dims)))
        return true;
    graph_fail(g, SHD_EINVAL, "'%s' must continue an attention of the same queries with `more`",
               name);
    return false;
}

static bool check_sinks(struct graph *g, const char *name, const struct graph_node *like,
                        const struct graph_attention *opts)
{
    const struct graph_node *n = opts->sinks < g->nnodes ? &g->nodes[opts->sinks] : NULL;

    if (opts->sinks == GRAPH_NONE || (n && !opts->more && n->rank == 1 &&
                                      n->dims[0] == like->dims[2] && n->dtype == like->dtype))
        return true;
    graph_fail(g, SHD_EINVAL, "'%s' needs sinks[heads] in the type of its queries, and no `more`",
               name);
    return false;
}

/* Set what forward and backward nodes share: operands q, k and v, and the mask. */
static bool begin(struct graph *g, struct graph_node *node, const char *name, const uint32_t qkv[3],
                  const struct graph_attention *opts)
{
    const struct graph_node *q, *k;

    for (int i = 0; i < 3; i++)
        if (g->err.status != SHD_OK || qkv[i] == GRAPH_NONE)
            return false;
    if (!check(g, name, qkv, opts->sight && opts->sight->pages))
        return false;
    q = &g->nodes[qkv[0]];
    k = &g->nodes[qkv[1]];
    if (!check_blocks(g, name, q, k, opts) || !check_sight(g, name, q, k, opts))
        return false;
    node->rank = 4;
    node->dtype = q->dtype;
    memcpy(node->dims, q->dims, sizeof node->dims);
    memcpy(node->inputs, qkv, 3 * sizeof *qkv);
    node->ninputs = 3;
    node->attr.attention.scale = opts->scale;
    node->attr.attention.cap = opts->cap;
    node->attr.attention.causal = opts->causal;
    node->attr.attention.blocks = blocks_of(opts);
    node->attr.attention.shift = opts->shift;
    node->attr.attention.sight = opts->sight;
    return true;
}

static void add_input(struct graph_node *node, uint32_t input)
{
    node->inputs[node->ninputs++] = input;
}

static void add_sight(struct graph_node *node, const struct graph_attention *opts)
{
    if (!opts->sight)
        return;
    add_input(node, opts->spans);
    add_input(node, opts->positions);
    if (opts->sight->pages)
        add_input(node, opts->table);
}

uint32_t graph_attention(struct graph *graph, const char *name, uint32_t q, uint32_t k, uint32_t v,
                         const struct graph_attention *opts)
{
    struct graph_node node = {.op = GRAPH_ATTENTION};
    const uint32_t qkv[3] = {q, k, v};
    enum shd_dtype sums;
    uint32_t o;

    if (!begin(graph, &node, name, qkv, opts))
        return GRAPH_NONE;
    node.dims[3] = graph->nodes[v].dims[3];
    if (!check_before(graph, name, &node, opts->before) || !check_sinks(graph, name, &node, opts))
        return GRAPH_NONE;
    add_sight(&node, opts);
    if (opts->before != GRAPH_NONE) {
        add_input(&node, opts->before);
        add_input(&node, graph->nodes[opts->before].extras[0]);
    }
    if (opts->sinks != GRAPH_NONE)
        add_input(&node, opts->sinks);
    node.attr.attention.sinks = opts->sinks != GRAPH_NONE;
    node.attr.attention.goes_on = opts->before != GRAPH_NONE;
    node.attr.attention.more = opts->more;
    sums = kern_attention_sums(node.dtype);
    node.dtype = opts->more ? sums : node.dtype;
    o = graph_add(graph, &node, name);
    graph_add_extra(graph, o, graph_text(graph, "%s/lse", name), sums, node.dims, 3);
    return o;
}

uint32_t graph_attention_grad(struct graph *graph, const char *const names[3],
                              const uint32_t qkv[3], uint32_t o, uint32_t lse, uint32_t grad,
                              const struct graph_attention *opts)
{
    struct graph_node node = {.op = GRAPH_ATTENTION_GRAD};
    uint32_t dq;

    if (!begin(graph, &node, names[0], qkv, opts) || o == GRAPH_NONE || lse == GRAPH_NONE ||
        grad == GRAPH_NONE)
        return GRAPH_NONE;
    add_input(&node, o);
    add_input(&node, lse);
    add_input(&node, grad);
    add_sight(&node, opts);
    dq = graph_add(graph, &node, names[0]);
    for (int i = 1; i < 3 && dq != GRAPH_NONE; i++)
        graph_add_extra(graph, dq, names[i], node.dtype, graph->nodes[qkv[i]].dims, 4);
    return dq;
}
