/* Expressions of JAX for the nodes of a graph.
 *
 * Each op is a row of the table at the end, with a function that writes its expression.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "export/jax_ops.h"

#include <ctype.h>
#include <string.h>

#include "base/literal.h"
#include "export/export.h"

/* ---- names ---- */

/* A node's variable: its name, with characters that Python refuses replaced, and its number, since
 * several nodes may have one name. */
void jax_add_variable(struct text *out, const struct graph *graph, uint32_t node)
{
    const char *name = graph->nodes[node].name;

    if (!isalpha((unsigned char)name[0]))
        text_add(out, "x");
    for (; *name; name++)
        text_add_char(out, isalnum((unsigned char)*name) ? *name : '_');
    text_addf(out, "_%u", node);
}

/* Add a letter for each dimension, by the dimension's number in the graph. */
static void add_letters(struct text *out, const struct graph_node *node)
{
    for (uint32_t d = 0; d < node->rank; d++)
        text_add_char(
            out, (char)(node->dims[d] < 26 ? 'a' + node->dims[d] : 'A' + (node->dims[d] - 26)));
}

static bool same_dims(const struct graph_node *a, const struct graph_node *b)
{
    return a->rank == b->rank && !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims);
}

/* Add an operand broadcast and transposed to the dimensions of its reader. */
static void add_fitted(struct text *out, const struct graph *graph, uint32_t operand,
                       const struct graph_node *reader)
{
    const struct graph_node *n = &graph->nodes[operand];

    if (same_dims(n, reader)) {
        jax_add_variable(out, graph, operand);
        return;
    }
    text_add(out, "fit(");
    jax_add_variable(out, graph, operand);
    text_add(out, ", \"");
    add_letters(out, n);
    text_add(out, "\", \"");
    add_letters(out, reader);
    text_add(out, "\")");
}

static uint32_t place_of(const struct graph_node *node, uint32_t dim)
{
    uint32_t d = 0;

    while (d < node->rank && node->dims[d] != dim)
        d++;
    return d;
}

static const char *python_bool(bool value)
{
    return value ? "True" : "False";
}

/* ---- ops ---- */

/* Elementwise functions of operands a and b, with a scalar s. */
static const char *const functions[KERN_NFNS] = {
    [KERN_COPY] = "%a",
    [KERN_ADD] = "%a + %b",
    [KERN_SUB] = "%a - %b",
    [KERN_MUL] = "%a * %b",
    [KERN_DIV] = "%a / %b",
    [KERN_MAX] = "jnp.maximum(%a, %b)",
    [KERN_MIN] = "jnp.minimum(%a, %b)",
    [KERN_NEG] = "-%a",
    [KERN_EXP] = "jnp.exp(%a)",
    [KERN_LOG] = "jnp.log(%a)",
    [KERN_SQRT] = "jnp.sqrt(%a)",
    [KERN_RSQRT] = "jax.lax.rsqrt(%a)",
    [KERN_TANH] = "jnp.tanh(%a)",
    [KERN_RELU] = "jax.nn.relu(%a)",
    [KERN_SIGMOID] = "jax.nn.sigmoid(%a)",
    [KERN_GELU] = "jax.nn.gelu(%a, approximate=True)",
    [KERN_GELU_GRAD] = "slope(lambda x: jax.nn.gelu(x, approximate=True), %a)",
    [KERN_SILU] = "jax.nn.silu(%a)",
    [KERN_SILU_GRAD] = "slope(jax.nn.silu, %a)",
    [KERN_STEP] = "(%a > 0).astype(%a.dtype)",
    [KERN_FINITE] = "jnp.isfinite(%a).astype(%a.dtype)",
    [KERN_EQUAL] = "(%a == %b).astype(%a.dtype)",
    [KERN_SCALE] = "%a * %s",
    [KERN_ADD_SCALAR] = "%a + %s",
    [KERN_FILL] = "jnp.full((), %s)",
    [KERN_GATE] = "jnp.where(%b != 0, %a, 0)",
    [KERN_CONVERT] = "%a",
};

static int write_map(const struct export_layout *layout, const struct graph_node *node,
                     struct text *out, struct shd_error *err)
{
    const struct graph *graph = layout->graph;
    const char *form = functions[node->fn];

    (void)err;
    for (; *form; form++) {
        if (*form != '%')
            text_add_char(out, *form);
        else if (*++form == 's')
            export_add_number(out, node->scalar);
        else
            add_fitted(out, graph, node->inputs[*form - 'a'], node);
    }
    return SHD_OK;
}

static int write_einsum(const struct export_layout *layout, const struct graph_node *node,
                        struct text *out, struct shd_error *err)
{
    const struct graph *graph = layout->graph;

    (void)err;
    text_add(out, "jnp.einsum(\"");
    add_letters(out, &graph->nodes[node->inputs[0]]);
    text_add(out, ",");
    add_letters(out, &graph->nodes[node->inputs[1]]);
    text_add(out, "->");
    add_letters(out, node);
    text_add(out, "\", ");
    jax_add_variable(out, graph, node->inputs[0]);
    text_add(out, ", ");
    jax_add_variable(out, graph, node->inputs[1]);
    text_add(out, ")");
    return SHD_OK;
}

static int write_reduce(const struct export_layout *layout, const struct graph_node *node,
                        struct text *out, struct shd_error *err)
{
    const struct graph *graph = layout->graph;

    (void)err;
    text_addf(out, "reduced(jnp.%s, ",
              node->reduce == SHD_SUM   ? "sum"
              : node->reduce == SHD_MAX ? "max"
                                        : "min");
    jax_add_variable(out, graph, node->inputs[0]);
    text_add(out, ", \"");
    add_letters(out, &graph->nodes[node->inputs[0]]);
    text_add(out, "\", \"");
    add_letters(out, node);
    text_add(out, "\")");
    return SHD_OK;
}

/* Add attention by spans and positions.  The state passed between parts is a tuple that only
 * attention reads. */
static void add_seen(const struct graph *graph, const struct graph_node *node, struct text *out)
{
    text_add(out, "attention_to_seen(");
    for (int i = 0; i < 5; i++) {
        jax_add_variable(out, graph, node->inputs[i]);
        text_add(out, ", ");
    }
    if (node->attr.attention.goes_on)
        jax_add_variable(out, graph, node->inputs[5]);
    else
        text_add(out, "None");
    text_addf(out, ", scale=%.17g, blocks=%u, more=%s)", node->attr.attention.scale,
              node->attr.attention.blocks, python_bool(node->attr.attention.more));
}

static int write_attention(const struct export_layout *layout, const struct graph_node *node,
                           struct text *out, struct shd_error *err)
{
    const struct graph *graph = layout->graph;

    (void)err;
    if (node->attr.attention.sight) {
        add_seen(graph, node, out);
        return SHD_OK;
    }
    text_add(out, "attention(");
    for (int i = 0; i < 3; i++) {
        jax_add_variable(out, graph, node->inputs[i]);
        text_add(out, ", ");
    }
    text_addf(out, "scale=%.17g, causal=%s)", node->attr.attention.scale,
              python_bool(node->attr.attention.causal));
    return SHD_OK;
}

/* The rotation back is that by the negative positions. */
static int write_rope(const struct export_layout *layout, const struct graph_node *node,
                      struct text *out, struct shd_error *err)
{
    const struct graph *graph = layout->graph;
    long long first = node->attr.rope.position0;

    (void)err;
    text_add(out, "rope(");
    jax_add_variable(out, graph, node->inputs[0]);
    text_add(out, node->attr.rope.inverse ? ", -" : ", ");
    if (node->ninputs > 1)
        jax_add_variable(out, graph, node->inputs[1]);
    else
        text_addf(out, "jnp.arange(%lld, %lld)", first,
                  first + (long long)graph->dims[node->attr.rope.position_dim].size);
    text_addf(out, ", axis=%u, pairs=%u, theta=%.17g, interleaved=%s)",
              place_of(node, node->attr.rope.position_dim),
              place_of(node, node->attr.rope.pair_dim), node->attr.rope.theta,
              python_bool(node->attr.rope.interleaved));
    return SHD_OK;
}

static int write_causal(const struct export_layout *layout, const struct graph_node *node,
                        struct text *out, struct shd_error *err)
{
    const struct graph *graph = layout->graph;

    (void)err;
    text_add(out, "causal(");
    jax_add_variable(out, graph, node->inputs[0]);
    text_addf(out, ", queries=%u, keys=%u, masked=%.17g)",
              place_of(node, node->attr.causal.query_dim),
              place_of(node, node->attr.causal.key_dim), node->attr.causal.masked);
    return SHD_OK;
}

static int write_embed(const struct export_layout *layout, const struct graph_node *node,
                       struct text *out, struct shd_error *err)
{
    const struct graph *graph = layout->graph;

    (void)err;
    text_add(out, "jnp.take(");
    jax_add_variable(out, graph, node->inputs[0]);
    text_add(out, ", ");
    jax_add_variable(out, graph, node->inputs[1]);
    text_add(out, ", axis=0)");
    return SHD_OK;
}

static int write_pick(const struct export_layout *layout, const struct graph_node *node,
                      struct text *out, struct shd_error *err)
{
    const struct graph *graph = layout->graph;

    (void)err;
    text_add(out, "pick(");
    jax_add_variable(out, graph, node->inputs[0]);
    text_add(out, ", ");
    jax_add_variable(out, graph, node->inputs[1]);
    text_addf(out, ", axis=%u)", place_of(&graph->nodes[node->inputs[0]], node->attr.choice.dim));
    return SHD_OK;
}

static int write_repeat(const struct export_layout *layout, const struct graph_node *node,
                        struct text *out, struct shd_error *err)
{
    const struct graph *graph = layout->graph;
    const struct graph_dim *from = &graph->dims[node->attr.repeat.from_dim];

    (void)err;
    text_add(out, "jnp.repeat(");
    jax_add_variable(out, graph, node->inputs[0]);
    text_addf(out, ", %lld, axis=%u)",
              (long long)(graph->dims[node->attr.repeat.to_dim].size / from->size),
              place_of(node, node->attr.repeat.to_dim));
    return SHD_OK;
}

/* Add a window: slices of the operands, each placed into zeros. */
static int write_window(const struct export_layout *layout, const struct graph_node *node,
                        struct text *out, struct shd_error *err)
{
    const struct graph *graph = layout->graph;
    uint32_t axis = place_of(node, node->attr.window.to_dim);

    (void)err;
    for (uint32_t k = 0; k < node->ninputs; k++) {
        text_add(out, k ? " + window(" : "window(");
        jax_add_variable(out, graph, node->inputs[k]);
        text_addf(out, ", axis=%u, first=%lld, to=%lld, count=%lld, size=%lld)", axis,
                  (long long)node->attr.window.from[k], (long long)node->attr.window.to[k],
                  (long long)node->attr.window.count[k],
                  (long long)graph->dims[node->attr.window.to_dim].size);
    }
    return SHD_OK;
}

static int write_shift(const struct export_layout *layout, const struct graph_node *node,
                       struct text *out, struct shd_error *err)
{
    const struct graph *graph = layout->graph;

    (void)err;
    text_add(out, "jnp.roll(");
    jax_add_variable(out, graph, node->inputs[0]);
    text_addf(out, ", %lld, axis=%u)", (long long)node->attr.shift.by,
              place_of(node, node->attr.shift.dim));
    return SHD_OK;
}

/* ---- experts ---- */

static int write_topk(const struct export_layout *layout, const struct graph_node *node,
                      struct text *out, struct shd_error *err)
{
    const struct graph *graph = layout->graph;
    const struct graph_limits *limits = &node->attr.topk.limits;

    (void)err;
    text_add(out, "largest(");
    jax_add_variable(out, graph, node->inputs[0]);
    text_addf(out, ", %lld, groups=%u, kept=%u, by_largest=%s)",
              (long long)graph->dims[node->dims[node->rank - 1]].size, limits->groups, limits->kept,
              python_bool(limits->by_largest));
    return SHD_OK;
}

static int write_count(const struct export_layout *layout, const struct graph_node *node,
                       struct text *out, struct shd_error *err)
{
    const struct graph *graph = layout->graph;

    (void)err;
    text_add(out, "count(");
    jax_add_variable(out, graph, node->inputs[0]);
    text_addf(out, ", %lld, \"%s\")", (long long)graph->dims[node->attr.choice.dim].size,
              shd_dtype_name(node->dtype));
    return SHD_OK;
}

static int write_slots(const struct export_layout *layout, const struct graph_node *node,
                       struct text *out, struct shd_error *err)
{
    const struct graph *graph = layout->graph;
    const struct kern_routing *routing = node->attr.experts.routing;

    (void)err;
    text_add(out, "queue(");
    jax_add_variable(out, graph, node->inputs[0]);
    text_addf(out, ", experts=%u, groups=%u, capacity=%lld, by_choice=%s)", routing->experts,
              node->attr.experts.groups, (long long)routing->capacity,
              python_bool(routing->slot_major));
    return SHD_OK;
}

/* The axes that shard a dimension of some input; NULL: none. */
static const struct shd_dim_axes *axes_of_input(const struct export_layout *layout, uint32_t dim)
{
    const struct graph *graph = layout->graph;

    for (uint32_t i = 0; i < graph->nnodes; i++) {
        const struct shd_sharding *sharding = layout->shardings->nodes[i];
        uint32_t d = place_of(&graph->nodes[i], dim);

        if (export_is_leaf(&graph->nodes[i], GRAPH_INPUT) && sharding && d < graph->nodes[i].rank &&
            sharding->dims[d].naxes > 0)
            return &sharding->dims[d];
    }
    return NULL;
}

/* Shard queues of token groups like the batch, before or after the exchange between experts: then
 * XLA emits an all-to-all instead of a gather. */
static void add_sharding_of_groups(struct text *out, const struct export_layout *layout,
                                   const struct graph_node *node)
{
    const struct shd_dim_axes *axes =
        axes_of_input(layout, layout->graph->nodes[node->inputs[1]].dims[0]);

    if (!axes ||
        node->attr.experts.groups % shd_mesh_size_of_axes(layout->mesh, axes->axes, axes->naxes)) {
        text_add(out, "None");
        return;
    }
    text_add(out, "NamedSharding(mesh, P(");
    export_add_axes(out, layout->mesh, axes);
    text_add(out, "))");
}

/* Add "f(rows or tokens, ids, slots, ", the start of a dispatch or combine. */
static void add_routed(struct text *out, const char *function, const struct graph *graph,
                       const struct graph_node *node)
{
    text_addf(out, "%s(", function);
    for (int i = 0; i < 3; i++) {
        jax_add_variable(out, graph, node->inputs[i]);
        text_add(out, ", ");
    }
}

static int write_dispatch(const struct export_layout *layout, const struct graph_node *node,
                          struct text *out, struct shd_error *err)
{
    const struct kern_routing *routing = node->attr.experts.routing;

    (void)err;
    add_routed(out, "dispatch", layout->graph, node);
    text_addf(out, "experts=%u, groups=%u, capacity=%lld, sharding=", routing->experts,
              node->attr.experts.groups, (long long)routing->capacity);
    add_sharding_of_groups(out, layout, node);
    text_add(out, ")");
    return SHD_OK;
}

static int write_combine(const struct export_layout *layout, const struct graph_node *node,
                         struct text *out, struct shd_error *err)
{
    (void)err;
    add_routed(out, "combine", layout->graph, node);
    text_addf(out, "groups=%u, sharding=", node->attr.experts.groups);
    add_sharding_of_groups(out, layout, node);
    text_add(out, ")");
    return SHD_OK;
}

/* Table of ops.  A grouped product is computed for all slots: results of empty slots are never
 * read. */
static const struct op_row {
    enum graph_op op;
    int (*write)(const struct export_layout *layout, const struct graph_node *node,
                 struct text *out, struct shd_error *err);
} ops[] = {
    {GRAPH_EINSUM, write_einsum},   {GRAPH_MAP, write_map},
    {GRAPH_REDUCE, write_reduce},   {GRAPH_ATTENTION, write_attention},
    {GRAPH_ROPE, write_rope},       {GRAPH_CAUSAL, write_causal},
    {GRAPH_EMBED, write_embed},     {GRAPH_PICK, write_pick},
    {GRAPH_REPEAT, write_repeat},   {GRAPH_WINDOW, write_window},
    {GRAPH_SHIFT, write_shift},     {GRAPH_TOPK, write_topk},
    {GRAPH_COUNT, write_count},     {GRAPH_SLOTS, write_slots},
    {GRAPH_GROUPED, write_einsum},  {GRAPH_DISPATCH, write_dispatch},
    {GRAPH_COMBINE, write_combine},
};

int jax_add_expression(struct text *out, const struct export_layout *layout, uint32_t i,
                       struct shd_error *err)
{
    const struct graph *graph = layout->graph;
    const struct graph_node *node = &graph->nodes[i];

    if (node->op == GRAPH_CONSTRAINT) {
        const struct shd_sharding *sharding = layout->shardings->nodes[i];

        text_add(out, sharding ? "constrain(" : "");
        jax_add_variable(out, graph, node->inputs[0]);
        if (sharding) {
            text_add(out, ", ");
            export_add_spec(out, sharding);
            text_add(out, ")");
        }
        return SHD_OK;
    }
    if (node->op == GRAPH_INPUT || node->op == GRAPH_PARAM) {
        text_add(out, node->op == GRAPH_PARAM ? "params[" : "inputs[");
        literal_add_python(out, node->name);
        text_add(out, "]");
        return SHD_OK;
    }
    if (node->op ==
        GRAPH_EXTRA) { /* sums of attention, counts of slots: not read here */
        text_add(out, "None");
        return SHD_OK;
    }
    for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++)
        if (ops[k].op == node->op)
            return ops[k].write(layout, node, out, err);
    return shd_error_set(err, SHD_EUNSUPPORTED,
                         "'%.100s' is an op for which no JAX code is written", node->name);
}
