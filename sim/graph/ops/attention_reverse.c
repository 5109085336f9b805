/* Derivative of attention, including attention in parts, each with other keys and continuing the
 * part before.
 *
 * Each part has its own gradient: that of an attention to its keys, given the output and the
 * log-sum-exp of all parts together (FlashAttention-2, and ring attention: Liu et al. 2023).  The
 * last part comes first.  If its keys are the earlier part's, moved, they are moved back instead of
 * being kept, and the gradient accumulated for them moves along: in a ring of n blocks n - 1 times,
 * after which it is at home.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "graph/ops/reverse.h"

/* Backward state of k or v: the array that the backward phase reads, its gradient so far, and its
 * name. */
struct side {
    uint32_t value;
    uint32_t grad; /* of the later parts, moved along with `value`; GRAPH_NONE: none */
    const char *name;
};

/* The part before; GRAPH_NONE: none. */
static uint32_t before(const struct graph *g, uint32_t part)
{
    const struct graph_node *n = &g->nodes[part];

    uint32_t sight = n->attr.attention.sight ? 2 : 0;

    return n->attr.attention.goes_on ? n->inputs[3 + sight] : GRAPH_NONE;
}

static struct graph_attention options_of(const struct graph_node *n)
{
    const struct kern_sight *sight = n->attr.attention.sight;

    return (struct graph_attention){.scale = n->attr.attention.scale,
                                    .cap = n->attr.attention.cap,
                                    .causal = n->attr.attention.causal,
                                    .spans = sight ? n->inputs[3] : GRAPH_NONE,
                                    .positions = sight ? n->inputs[4] : GRAPH_NONE,
                                    .sight = sight,
                                    .blocks = n->attr.attention.blocks,
                                    .shift = n->attr.attention.shift,
                                    .before = GRAPH_NONE,
                                    .sinks = GRAPH_NONE};
}

/* Whether an operand of a part is the earlier part's operand, moved. */
static bool is_moved_on(const struct graph *g, uint32_t value, uint32_t value_before)
{
    return g->nodes[value].op == GRAPH_SHIFT && g->nodes[value].inputs[0] == value_before;
}

static uint32_t moved_back(struct graph *g, const char *name, uint32_t x, uint32_t shift)
{
    struct graph_node n = g->nodes[shift];

    return graph_shift(g, name, x, n.attr.shift.dim, -n.attr.shift.by);
}

/* Finish a part's operand `value`: keep its gradient for the earlier part if it is that part's
 * operand `value_before` or a moved copy, else add the gradient to the operand's adjoint.
 * GRAPH_NONE: no earlier part. */
static void leave_part(struct reverse *r, struct side *side, uint32_t value, uint32_t value_before)
{
    struct graph *g = r->graph;

    if (value_before != GRAPH_NONE && value != value_before &&
        is_moved_on(g, value, value_before)) {
        side->grad = moved_back(g, side->name, side->grad, value);
    } else if (value != value_before) {
        reverse_add(r, value, side->grad);
        side->grad = GRAPH_NONE;
        side->value = value_before;
    }
}

/* The keys that the earlier part needs: moving them back starts before this part's work. */
static uint32_t value_for(struct graph *g, const struct side *side, uint32_t value,
                          uint32_t value_before)
{
    if (value_before != GRAPH_NONE && is_moved_on(g, value, value_before))
        return moved_back(g, g->nodes[value].name, side->value, value);
    return side->value;
}

static uint32_t sum(struct graph *g, const char *name, uint32_t a, uint32_t b)
{
    return a == GRAPH_NONE ? b : graph_map(g, name, KERN_ADD, a, b, 0);
}

/* The gradient of the sinks: each is a score whose probability is exp(sink - lse), and whose key
 * has no value, so that the gradient of that probability is 0 where others have products of o's
 * gradient. */
static void reverse_sinks(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph *g = r->graph;
    struct graph_node n = g->nodes[node];
    uint32_t sinks = n.inputs[n.ninputs - 1], p, delta;
    const char *name = reverse_name(g, node, sinks);

    p = graph_convert(g, name, g->nodes[n.extras[0]].dtype, sinks);
    p = graph_map(g, name, KERN_SUB, n.extras[0], p, 0);
    p = graph_map(g, name, KERN_EXP, graph_map(g, name, KERN_NEG, p, GRAPH_NONE, 0), GRAPH_NONE, 0);
    p = graph_convert(g, name, n.dtype, p);
    delta = graph_einsum(g, graph_text(g, "%s/delta", name), node, adjoint, n.dims, 3);
    p = graph_einsum(g, name, p, delta, &n.dims[2], 1);
    reverse_add(r, sinks, graph_map(g, name, KERN_NEG, p, GRAPH_NONE, 0));
}

void reverse_attention(struct reverse *r, uint32_t node, uint32_t adjoint)
{
    struct graph *g = r->graph;
    struct graph_node last = g->nodes[node];
    const char *const names[3] = {graph_text(g, "%s.grad", last.name),
                                  reverse_name(g, node, last.inputs[1]),
                                  reverse_name(g, node, last.inputs[2])};
    struct side sides[2] = {{last.inputs[1], GRAPH_NONE, names[1]},
                            {last.inputs[2], GRAPH_NONE, names[2]}};
    uint32_t dq = GRAPH_NONE, grad;

    if (last.attr.attention.more) {
        graph_fail(g, SHD_EUNSUPPORTED, "'%s' is a part of an attention: it has no gradient alone",
                   last.name);
        return;
    }
    adjoint = reverse_shaped_like(g, adjoint, node, names[0]);
    if (last.attr.attention.sinks && adjoint != GRAPH_NONE)
        reverse_sinks(r, node, adjoint);
    for (uint32_t part = node; part != GRAPH_NONE && g->err.status == SHD_OK;
         part = before(g, part)) {
        struct graph_node n = g->nodes[part];
        const uint32_t qkv[3] = {n.inputs[0], sides[0].value, sides[1].value};
        const struct graph_attention opts = options_of(&n);
        uint32_t previous = before(g, part), next[2], values[2];

        for (int s = 0; s < 2; s++) {
            values[s] = previous == GRAPH_NONE ? GRAPH_NONE : g->nodes[previous].inputs[1 + s];
            next[s] = value_for(g, &sides[s], n.inputs[1 + s], values[s]);
        }
        grad = graph_attention_grad(g, names, qkv, node, last.extras[0], adjoint, &opts);
        if (grad == GRAPH_NONE)
            return;
        dq = sum(g, names[0], dq, grad);
        if (previous == GRAPH_NONE)
            reverse_add(r, last.inputs[0], dq);
        for (int s = 0; s < 2; s++) {
            sides[s].grad = sum(g, sides[s].name, sides[s].grad, g->nodes[grad].extras[s]);
            sides[s].value = next[s];
            leave_part(r, &sides[s], n.inputs[1 + s], values[s]);
        }
    }
}
