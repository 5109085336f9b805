/* What padding means to attention and its gradient, how JAX has attention, and the rows of both.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/text.h"
#include "graph/ops/padding.h"
#include "graph/ops/reverse.h"

/* ---- padding ---- */

/* Heads and sequences of the batch are independent and may be padded; so may positions behind all
 * others if causal, since no other position sees them. */
static void need(struct padding *p, struct graph_node *n)
{
    const struct graph_node *q = &p->to->nodes[n->inputs[0]], *k = &p->to->nodes[n->inputs[1]];
    const struct graph_node *v = &p->to->nodes[n->inputs[2]];
    bool ahead = n->attr.attention.causal && !n->attr.attention.sight &&
                 n->attr.attention.blocks <= 1 && q->dims[1] == k->dims[1];

    for (int i = 0; i < 2 && !ahead; i++)
        padding_refuse(p, n, i ? k->dims[1] : q->dims[1], PADDING_LOOKS_ACROSS);
    for (uint32_t i = 3; i < n->ninputs; i++) {
        const struct graph_node *seen = &p->to->nodes[n->inputs[i]];

        for (uint32_t d = 0; d < seen->rank && seen->dtype == SHD_I32; d++)
            padding_refuse(p, n, seen->dims[d], "reckons with what each sees");
    }
    padding_refuse(p, n, q->dims[3], PADDING_LOOKS_ACROSS);
    padding_refuse(p, n, v->dims[3], PADDING_LOOKS_ACROSS);
}

static void need_grad(struct padding *p, struct graph_node *n)
{
    const struct graph_node *g = &p->to->nodes[n->inputs[5]];

    need(p, n);
    for (uint32_t d = 0; d < g->rank; d++)
        if (padding_in(p, p->to->nodes[n->inputs[5]].dims[d]))
            padding_want(p, n, 5, p->to->nodes[n->inputs[5]].dims[d], 0);
}

/* Padding of o along sequences and heads: zero if v's is. */
static struct within made(const struct padding *p, const struct graph_node *n, uint32_t d)
{
    uint32_t v = n->inputs[2];

    if (d == 1 || n->attr.attention.goes_on || !padding_in(p, p->to->nodes[v].dims[d]) ||
        !padding_is_zero(p->rows[v].at[d]))
        return padding_unknown;
    return padding_zero(p, n, d);
}

/* ---- as JAX has it ---- */

/* Cap and sinks, if there are any, and the end of the call. */
static void jax_scores(struct text *out, const struct graph_node *n)
{
    if (n->attr.attention.cap > 0)
        text_addf(out, ", cap=%.17g", n->attr.attention.cap);
    if (n->attr.attention.sinks)
        text_addf(out, ", sinks=$%u", n->ninputs - 1);
    text_add_char(out, ')');
}

/* With spans and positions; the state passed between parts is a tuple that only attention reads. */
static void jax_seen(struct text *out, const struct graph_node *n)
{
    text_addf(out, "attention_to_seen($0, $1, $2, $3, $4, %s, scale=%.17g, blocks=%u, more=%s",
              n->attr.attention.goes_on ? "$5" : "None", n->attr.attention.scale,
              n->attr.attention.blocks, n->attr.attention.more ? "True" : "False");
}

static void jax(struct text *out, const struct graph *graph, const struct graph_node *n)
{
    (void)graph;
    if (n->attr.attention.sight)
        jax_seen(out, n);
    else
        text_addf(out, "attention($0, $1, $2, scale=%.17g, causal=%s", n->attr.attention.scale,
                  n->attr.attention.causal ? "True" : "False");
    jax_scores(out, n);
}

const struct graph_op_row graph_op_attention = {.name = "attention",
                                                .heavy = true,
                                                .reverse = reverse_attention,
                                                .need = need,
                                                .made = made,
                                                .jax = jax};

const struct graph_op_row graph_op_attention_grad = {
    .name = "attention gradient", .heavy = true, .need = need_grad, .made = padding_zero};
