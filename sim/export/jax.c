/* A layout as JAX code: Mesh, PartitionSpec, with_sharding_constraint, jit.
 *
 * The forward phase is written line by line from the graph, an array a line; jax.grad derives the
 * rest, as our own reverse mode does.  The optimizer is left to the reader (optax).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <ctype.h>
#include <string.h>

#include "export/targets.h"

/* ---- names ---- */

/* A node's variable: its name with what Python does not take replaced, and its number, as several
 * nodes may have one name. */
static void add_variable(struct text *out, const struct graph *graph, uint32_t node)
{
    const char *name = graph->nodes[node].name;

    if (!isalpha((unsigned char)name[0]))
        text_add(out, "x");
    for (; *name; name++)
        text_add_char(out, isalnum((unsigned char)*name) ? *name : '_');
    text_addf(out, "_%u", node);
}

#define LETTERS 52

/* A letter for each dimension: its number among those of the graph. */
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

/* An operand with the dimensions of its reader: broadcast and in its order. */
static void add_fitted(struct text *out, const struct graph *graph, uint32_t operand,
                       const struct graph_node *reader)
{
    const struct graph_node *n = &graph->nodes[operand];

    if (same_dims(n, reader)) {
        add_variable(out, graph, operand);
        return;
    }
    text_add(out, "fit(");
    add_variable(out, graph, operand);
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

/* ---- ops ---- */

/* An elementwise function of operands a and b; NULL: it has none here. */
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
    [KERN_SILU] = "jax.nn.silu(%a)",
    [KERN_EQUAL] = "(%a == %b).astype(%a.dtype)",
    [KERN_SCALE] = "%a * %s",
    [KERN_ADD_SCALAR] = "%a + %s",
    [KERN_FILL] = "jnp.full((), %s)",
    [KERN_GATE] = "jnp.where(%b != 0, %a, 0)",
    [KERN_CONVERT] = "%a",
};

static int write_map(const struct graph *graph, const struct graph_node *node, struct text *out,
                     struct shd_error *err)
{
    const char *form = functions[node->fn];

    if (!form)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "'%.100s' computes %s, for which no JAX code is written", node->name,
                             kern_fns[node->fn].name);
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

static int write_einsum(const struct graph *graph, const struct graph_node *node, struct text *out,
                        struct shd_error *err)
{
    (void)err;
    text_add(out, "jnp.einsum(\"");
    add_letters(out, &graph->nodes[node->inputs[0]]);
    text_add(out, ",");
    add_letters(out, &graph->nodes[node->inputs[1]]);
    text_add(out, "->");
    add_letters(out, node);
    text_add(out, "\", ");
    add_variable(out, graph, node->inputs[0]);
    text_add(out, ", ");
    add_variable(out, graph, node->inputs[1]);
    text_add(out, ")");
    return SHD_OK;
}

static int write_reduce(const struct graph *graph, const struct graph_node *node, struct text *out,
                        struct shd_error *err)
{
    (void)err;
    text_addf(out, "reduced(jnp.%s, ",
              node->reduce == SHD_SUM   ? "sum"
              : node->reduce == SHD_MAX ? "max"
                                        : "min");
    add_variable(out, graph, node->inputs[0]);
    text_add(out, ", \"");
    add_letters(out, &graph->nodes[node->inputs[0]]);
    text_add(out, "\", \"");
    add_letters(out, node);
    text_add(out, "\")");
    return SHD_OK;
}

/* By spans and positions: what a later part goes on from is a tuple, which only attention reads. */
static void add_seen(const struct graph *graph, const struct graph_node *node, struct text *out)
{
    text_add(out, "attention_to_seen(");
    for (int i = 0; i < 5; i++) {
        add_variable(out, graph, node->inputs[i]);
        text_add(out, ", ");
    }
    if (node->attr.attention.goes_on)
        add_variable(out, graph, node->inputs[5]);
    else
        text_add(out, "None");
    text_addf(out, ", scale=%.17g, blocks=%u, more=%s)", node->attr.attention.scale,
              node->attr.attention.blocks, node->attr.attention.more ? "True" : "False");
}

static int write_attention(const struct graph *graph, const struct graph_node *node,
                           struct text *out, struct shd_error *err)
{
    if (node->attr.attention.sight) {
        add_seen(graph, node, out);
        return SHD_OK;
    }
    if (node->attr.attention.goes_on || node->attr.attention.more ||
        node->attr.attention.blocks > 1)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "'%.100s' is attention by blocks without positions, for which no JAX "
                             "code is written; export a strategy without `context`",
                             node->name);
    text_add(out, "attention(");
    for (int i = 0; i < 3; i++) {
        add_variable(out, graph, node->inputs[i]);
        text_add(out, ", ");
    }
    text_addf(out, "scale=%.17g, causal=%s)", node->attr.attention.scale,
              node->attr.attention.causal ? "True" : "False");
    return SHD_OK;
}

/* The rotation back is that by the negative positions. */
static int write_rope(const struct graph *graph, const struct graph_node *node, struct text *out,
                      struct shd_error *err)
{
    long long first = node->attr.rope.position0;

    (void)err;
    text_add(out, "rope(");
    add_variable(out, graph, node->inputs[0]);
    text_add(out, node->attr.rope.inverse ? ", -" : ", ");
    if (node->ninputs > 1)
        add_variable(out, graph, node->inputs[1]);
    else
        text_addf(out, "jnp.arange(%lld, %lld)", first,
                  first + (long long)graph->dims[node->attr.rope.position_dim].size);
    text_addf(out, ", axis=%u, pairs=%u, theta=%.17g, interleaved=%s)",
              place_of(node, node->attr.rope.position_dim),
              place_of(node, node->attr.rope.pair_dim), node->attr.rope.theta,
              node->attr.rope.interleaved ? "True" : "False");
    return SHD_OK;
}

static int write_causal(const struct graph *graph, const struct graph_node *node, struct text *out,
                        struct shd_error *err)
{
    (void)err;
    text_add(out, "causal(");
    add_variable(out, graph, node->inputs[0]);
    text_addf(out, ", queries=%u, keys=%u, masked=%.17g)",
              place_of(node, node->attr.causal.query_dim),
              place_of(node, node->attr.causal.key_dim), node->attr.causal.masked);
    return SHD_OK;
}

static int write_embed(const struct graph *graph, const struct graph_node *node, struct text *out,
                       struct shd_error *err)
{
    (void)err;
    text_add(out, "jnp.take(");
    add_variable(out, graph, node->inputs[0]);
    text_add(out, ", ");
    add_variable(out, graph, node->inputs[1]);
    text_add(out, ", axis=0)");
    return SHD_OK;
}

static int write_pick(const struct graph *graph, const struct graph_node *node, struct text *out,
                      struct shd_error *err)
{
    uint32_t axis = place_of(&graph->nodes[node->inputs[0]], node->attr.choice.dim);

    (void)err;
    text_add(out, "jnp.squeeze(jnp.take_along_axis(");
    add_variable(out, graph, node->inputs[0]);
    text_add(out, ", jnp.expand_dims(");
    add_variable(out, graph, node->inputs[1]);
    text_addf(out, ", %u), axis=%u), %u)", axis, axis, axis);
    return SHD_OK;
}

static int write_repeat(const struct graph *graph, const struct graph_node *node, struct text *out,
                        struct shd_error *err)
{
    const struct graph_dim *from = &graph->dims[node->attr.repeat.from_dim];

    (void)err;
    text_add(out, "jnp.repeat(");
    add_variable(out, graph, node->inputs[0]);
    text_addf(out, ", %lld, axis=%u)",
              (long long)(graph->dims[node->attr.repeat.to_dim].size / from->size),
              place_of(node, node->attr.repeat.to_dim));
    return SHD_OK;
}

/* Slices of the operands at places of zeros: what is behind them first. */
static int write_window(const struct graph *graph, const struct graph_node *node, struct text *out,
                        struct shd_error *err)
{
    uint32_t axis = place_of(node, node->attr.window.to_dim);

    (void)err;
    for (uint32_t k = 0; k < node->ninputs; k++) {
        text_add(out, k ? " + window(" : "window(");
        add_variable(out, graph, node->inputs[k]);
        text_addf(out, ", axis=%u, first=%lld, to=%lld, count=%lld, size=%lld)", axis,
                  (long long)node->attr.window.from[k], (long long)node->attr.window.to[k],
                  (long long)node->attr.window.count[k],
                  (long long)graph->dims[node->attr.window.to_dim].size);
    }
    return SHD_OK;
}

static int write_shift(const struct graph *graph, const struct graph_node *node, struct text *out,
                       struct shd_error *err)
{
    (void)err;
    text_add(out, "jnp.roll(");
    add_variable(out, graph, node->inputs[0]);
    text_addf(out, ", %lld, axis=%u)", (long long)node->attr.shift.by,
              place_of(node, node->attr.shift.dim));
    return SHD_OK;
}

static const struct op_row {
    enum graph_op op;
    int (*write)(const struct graph *graph, const struct graph_node *node, struct text *out,
                 struct shd_error *err);
} ops[] = {
    {GRAPH_EINSUM, write_einsum},       {GRAPH_MAP, write_map},    {GRAPH_REDUCE, write_reduce},
    {GRAPH_ATTENTION, write_attention}, {GRAPH_ROPE, write_rope},  {GRAPH_CAUSAL, write_causal},
    {GRAPH_EMBED, write_embed},         {GRAPH_PICK, write_pick},  {GRAPH_REPEAT, write_repeat},
    {GRAPH_WINDOW, write_window},       {GRAPH_SHIFT, write_shift}};

/* What an op without a row does, for the message. */
static const char *what_of(enum graph_op op)
{
    switch (op) {
    case GRAPH_TOPK:
    case GRAPH_SLOTS:
    case GRAPH_COUNT:
    case GRAPH_GROUPED:
    case GRAPH_DISPATCH:
    case GRAPH_COMBINE:
        return "routes tokens to experts";
    default:
        return "is an op";
    }
}

static int write_expression(const struct export_layout *layout, uint32_t i, struct text *out,
                            struct shd_error *err)
{
    const struct graph *graph = layout->graph;
    const struct graph_node *node = &graph->nodes[i];

    if (node->op == GRAPH_CONSTRAINT) {
        const struct shd_sharding *sharding = layout->shardings->nodes[i];

        text_add(out, sharding ? "constrain(" : "");
        add_variable(out, graph, node->inputs[0]);
        if (sharding) {
            text_add(out, ", ");
            export_add_spec(out, sharding);
            text_add(out, ")");
        }
        return SHD_OK;
    }
    if (node->op == GRAPH_INPUT || node->op == GRAPH_PARAM) {
        text_add(out, node->op == GRAPH_PARAM ? "params[" : "inputs[");
        export_add_string(out, node->name);
        text_add(out, "]");
        return SHD_OK;
    }
    if (node->op == GRAPH_EXTRA) { /* of attention: the log of the sums, which nothing reads here */
        text_add(out, "None");
        return SHD_OK;
    }
    for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++)
        if (ops[k].op == node->op)
            return ops[k].write(graph, node, out, err);
    return shd_error_set(err, SHD_EUNSUPPORTED, "'%.100s' %s for which no JAX code is written",
                         node->name, what_of(node->op));
}

/* ---- the file ---- */

static const char preamble[] =

    "import os\n"
    "import sys\n"
    "\n"
    "# On a cluster take this line away: it makes virtual devices of this host's processor.\n"
    "os.environ.setdefault(\"XLA_FLAGS\", f\"--xla_force_host_platform_device_count={NDEVICES}\")\n"
    "\n"
    "import jax\n"
    "import jax.numpy as jnp\n"
    "import numpy as np\n"
    "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P\n";

static const char helpers[] =
    "\n\n"
    "def make_mesh():\n"
    "    devices = np.array(jax.devices()[:NDEVICES]).reshape(tuple(MESH.values()))\n"
    "    return Mesh(devices, tuple(MESH))\n"
    "\n\n"
    "def fit(x, have, want):\n"
    "    \"\"\"x with the dimensions of another array: in its order, 1 where x lacks one.\"\"\"\n"
    "    x = jnp.transpose(x, [have.index(d) for d in want if d in have])\n"
    "    return jnp.expand_dims(x, [i for i, d in enumerate(want) if d not in have])\n"
    "\n\n"
    "def reduced(function, x, have, want):\n"
    "    return fit(function(x, axis=tuple(i for i, d in enumerate(have) if d not in want)),\n"
    "               [d for d in have if d in want], want)\n"
    "\n\n"
    "def attention(q, k, v, scale, causal):\n"
    "    \"\"\"[batch, seq, heads, head_dim]; several heads may share one of k and v.\"\"\"\n"
    "    k, v = (jnp.repeat(x, q.shape[2] // x.shape[2], axis=2) for x in (k, v))\n"
    "    scores = jnp.einsum(\"bqhd,bkhd->bhqk\", q, k) * scale\n"
    "    if causal:\n"
    "        ahead = jnp.arange(k.shape[1])[None, :] > jnp.arange(q.shape[1])[:, None]\n"
    "        scores = jnp.where(ahead, -jnp.inf, scores)\n"
    "    return jnp.einsum(\"bhqk,bkhd->bqhd\", jax.nn.softmax(scores, axis=-1), v)\n"
    "\n\n"
    "def attention_to_seen(q, k, v, spans, positions, before, scale, blocks, more):\n"
    "    \"\"\"Queries of a block see those of its keys whose positions are in their spans.\n"
    "\n"
    "    before: sums, weights and maxima of other keys, which this goes on from; so is what\n"
    "    comes of it if there are more.\"\"\"\n"
    "    def cut(x, axis):\n"
    "        return x.reshape(*x.shape[:axis], blocks, -1, *x.shape[axis + 1:])\n"
    "    dtype, sums = q.dtype, jnp.promote_types(q.dtype, jnp.float32)\n"
    "    k, v = (jnp.repeat(x, q.shape[2] // x.shape[2], axis=2) for x in (k, v))\n"
    "    q, k, v = (cut(x, 1) for x in (q, k, v))\n"
    "    spans = cut(spans if spans.ndim == 3 else spans[None], 1)[:, :, :, None, None]\n"
    "    at = cut(positions, 0)[None, :, None, None, :]\n"
    "    seen = (at >= spans[..., 0]) & (at <= spans[..., 1])\n"
    "    scores = jnp.einsum(\"bnqhd,bnkhd->bnqhk\", q, k, preferred_element_type=sums) * scale\n"
    "    scores = jnp.where(seen, scores, -1e30)\n"
    "    most = jax.lax.stop_gradient(scores.max(axis=-1, keepdims=True))\n"
    "    if before is not None:\n"
    "        most = jnp.maximum(most, before[2])\n"
    "    weights = jnp.where(seen, jnp.exp(scores - most), 0)\n"
    "    o = jnp.einsum(\"bnqhk,bnkhd->bnqhd\", weights.astype(dtype), v, "
    "preferred_element_type=sums)\n"
    "    total = weights.sum(axis=-1, keepdims=True)\n"
    "    if before is not None:\n"
    "        kept = jnp.exp(before[2] - most)\n"
    "        o, total = o + before[0] * kept, total + before[1] * kept\n"
    "    if more:\n"
    "        return o, total, most\n"
    "    o = o / jnp.where(total > 0, total, 1)\n"
    "    return o.reshape(o.shape[0], -1, *o.shape[3:]).astype(dtype)\n"
    "\n\n"
    "def rope(x, positions, axis, pairs, theta, interleaved):\n"
    "    n = x.shape[pairs] // 2\n"
    "    angles = jnp.outer(positions, theta ** (-jnp.arange(n) / n))\n"
    "    shape = [1] * x.ndim\n"
    "    shape[axis], shape[pairs] = x.shape[axis], n\n"
    "    cos, sin = (f(angles).reshape(shape).astype(x.dtype) for f in (jnp.cos, jnp.sin))\n"
    "    x = jnp.moveaxis(x, pairs, -1)\n"
    "    cos, sin = jnp.moveaxis(cos, pairs, -1), jnp.moveaxis(sin, pairs, -1)\n"
    "    a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :n], x[..., n:])\n"
    "    a, b = a * cos - b * sin, a * sin + b * cos\n"
    "    x = jnp.stack([a, b], axis=-1).reshape(x.shape) if interleaved else jnp.concatenate([a, "
    "b], "
    "-1)\n"
    "    return jnp.moveaxis(x, -1, pairs)\n"
    "\n\n"
    "def causal(x, queries, keys, masked):\n"
    "    positions = [jax.lax.broadcasted_iota(int, x.shape, d) for d in (queries, keys)]\n"
    "    return jnp.where(positions[1] > positions[0], jnp.asarray(masked, x.dtype), x)\n"
    "\n\n"
    "def window(x, axis, first, to, count, size):\n"
    "    x = jax.lax.slice_in_dim(x, first, first + count, axis=axis)\n"
    "    return jnp.pad(x, [(to, size - to - count) if d == axis else (0, 0) for d in "
    "range(x.ndim)])\n";

static const char main_part[] =
    "\n\n"
    "def arrays(table, mesh):\n"
    "    \"\"\"Small random numbers; ids are below their limit.\"\"\"\n"
    "    random = np.random.default_rng(0)\n"
    "    made = {}\n"
    "    for name, (shape, dtype, below, spec) in table.items():\n"
    "        values = random.integers(0, below, shape) if below else random.normal(0, 0.02, "
    "shape)\n"
    "        if name in GIVEN:\n"
    "            columns = [np.concatenate([first + by * np.arange(n) for first, by, n in runs])\n"
    "                       for runs in GIVEN[name]]\n"
    "            values = np.stack(columns, axis=-1).reshape(shape)\n"
    "        made[name] = jax.device_put(jnp.asarray(values, dtype), NamedSharding(mesh, spec))\n"
    "    return made\n"
    "\n\n"
    "def compiled_step(mesh, params, inputs):\n"
    "    wanted = {k: v for k, v in {**params, **inputs}.items() if k in GRADIENTS}\n"
    "    others = {k: v for k, v in {**params, **inputs}.items() if k not in GRADIENTS}\n"
    "\n"
    "    def step(wanted, others):\n"
    "        def loss_of(wanted):\n"
    "            every = {**wanted, **others}\n"
    "            outputs = forward(mesh, {k: every[k] for k in params}, {k: every[k] for k in "
    "inputs})\n"
    "            return outputs.get(\"loss\", 0.0), outputs\n"
    "        if not GRADIENTS:\n"
    "            return loss_of(wanted)[1]\n"
    "        gradients, outputs = jax.grad(loss_of, has_aux=True)(wanted)\n"
    "        return outputs, gradients\n"
    "\n"
    "    # Gradients are sharded as what they belong to.\n"
    "    shardings = {k: NamedSharding(mesh, {**PARAMS, **INPUTS}[k][3]) for k in wanted}\n"
    "    outputs = {k: NamedSharding(mesh, s) if s is not None else None for k, s in "
    "OUTPUTS.items()}\n"
    "    return jax.jit(step, out_shardings=(outputs, shardings) if GRADIENTS else "
    "outputs).lower(\n"
    "        wanted, others).compile(), wanted, others\n"
    "\n\n"
    "def main():\n"
    "    mesh = make_mesh()\n"
    "    params, inputs = arrays(PARAMS, mesh), arrays(INPUTS, mesh)\n"
    "    for name, shape in SHARDS.items():\n"
    "        array = params.get(name, inputs.get(name))\n"
    "        found = array.addressable_shards[0].data.shape\n"
    "        assert found == shape, f\"{name}: JAX has shards of {found}, shardsim of {shape}\"\n"
    "    step, wanted, others = compiled_step(mesh, params, inputs)\n"
    "    result = step(wanted, others)\n"
    "    finite = all(bool(jnp.isfinite(x).all()) for x in jax.tree.leaves(result))\n"
    "    assert finite, \"the step's results are not finite\"\n"
    "    print(f\"{len(SHARDS)} arrays with the shards that were planned; the step runs\")\n"
    "    if len(sys.argv) > 1: # FILE: what XLA made of it, for `shardsim replay FILE`\n"
    "        with open(sys.argv[1], \"w\") as file:\n"
    "            file.write(step.as_text())\n"
    "\n\n"
    "if __name__ == \"__main__\":\n"
    "    main()\n";

static void shape_of(int64_t *shape, const struct graph *graph, const struct graph_node *node)
{
    for (uint32_t d = 0; d < node->rank; d++)
        shape[d] = graph->dims[node->dims[d]].size;
}

/* NAME = {"x": ((8, 64), "float32", 0, P("dp")), ...} */
static void add_leaves(struct text *out, const struct export_layout *layout, const char *name,
                       enum graph_op op)
{
    const struct graph *graph = layout->graph;
    int64_t shape[GRAPH_RANK_MAX];

    text_addf(out, "%s = {\n", name);
    for (uint32_t i = 0; i < graph->nnodes; i++) {
        const struct graph_node *node = &graph->nodes[i];

        if (!export_is_leaf(node, op))
            continue;
        shape_of(shape, graph, node);
        text_add(out, "    ");
        export_add_string(out, node->name);
        text_add(out, ": (");
        export_add_shape(out, shape, node->rank);
        text_addf(out, ", \"%s\", %u, ", shd_dtype_name(node->dtype),
                  node->dtype == SHD_I32 ? node->source.modulus : 0);
        export_add_spec(out, export_sharding(layout, i));
        text_add(out, "),\n");
    }
    text_add(out, "}\n");
}

/* The element of an input of whole numbers that comes at an index of the whole array. */
static long long value_at(const struct kern_source *source, int64_t index)
{
    const int64_t shape[] = {index + 1}, one[] = {1};
    int32_t value;

    kern_fill(source, SHD_I32, 1, shape, &index, one, &value);
    return value;
}

/* Every `step`-th element from `at` on as (first, by, count) of runs that rise evenly. */
static void add_runs(struct text *out, const struct kern_source *source, int64_t at, int64_t step,
                     int64_t end)
{
    text_add(out, "[");
    while (at < end) {
        long long first = value_at(source, at), by = 0, count = 1;

        at += step;
        if (at < end)
            by = value_at(source, at) - first;
        for (; at < end && value_at(source, at) == first + by * count; at += step)
            count++;
        text_addf(out, "(%lld, %lld, %lld), ", first, by, count);
    }
    text_add(out, "]");
}

/* Positions and spans say what attention sees, so they are given as they are; spans by column. */
static void add_given(struct text *out, const struct graph *graph)
{
    int64_t shape[GRAPH_RANK_MAX];

    text_add(out, "# Inputs that are not random: of each column the runs (first, by, count).\n"
                  "GIVEN = {\n");
    for (uint32_t i = 0; i < graph->nnodes; i++) {
        const struct graph_node *node = &graph->nodes[i];
        int64_t columns, n = 1;

        if (!export_is_leaf(node, GRAPH_INPUT) || !node->source.sight)
            continue;
        shape_of(shape, graph, node);
        for (uint32_t d = 0; d < node->rank; d++)
            n *= shape[d];
        columns = node->source.sight_array == KERN_POSITIONS ? 1 : 2;
        text_add(out, "    ");
        export_add_string(out, node->name);
        text_add(out, ": [");
        for (int64_t c = 0; c < columns; c++) {
            add_runs(out, &node->source, c, columns, n);
            text_add(out, c + 1 < columns ? ",\n        " : "");
        }
        text_add(out, "],\n");
    }
    text_add(out, "}\n");
}

static void add_shards(struct text *out, const struct export_layout *layout)
{
    const struct graph *graph = layout->graph;
    int64_t shape[GRAPH_RANK_MAX], local[GRAPH_RANK_MAX];

    text_add(out, "# What one device has of each.\nSHARDS = {\n");
    for (uint32_t i = 0; i < graph->nnodes; i++) {
        const struct graph_node *node = &graph->nodes[i];
        const struct shd_sharding *sharding = export_sharding(layout, i);

        if (!export_is_leaf(node, GRAPH_PARAM) && !export_is_leaf(node, GRAPH_INPUT))
            continue;
        shape_of(shape, graph, node);
        memcpy(local, shape, sizeof local);
        if (sharding)
            shd_sharding_shard_shape(sharding, shape, local);
        text_add(out, "    ");
        export_add_string(out, node->name);
        text_add(out, ": ");
        export_add_shape(out, local, node->rank);
        text_add(out, ",\n");
    }
    text_add(out, "}\n");
}

static void add_gradients(struct text *out, const struct graph *graph)
{
    size_t n = 0;

    text_add(out, "# Of these there are gradients.\nGRADIENTS = {");
    for (uint32_t i = 0; i < graph->nnodes; i++) {
        if ((!export_is_leaf(&graph->nodes[i], GRAPH_PARAM) &&
             !export_is_leaf(&graph->nodes[i], GRAPH_INPUT)) ||
            !export_wants_gradient(graph, i))
            continue;
        text_add(out, n++ ? ",\n             " : "");
        export_add_string(out, graph->nodes[i].name);
    }
    text_add(out, n ? "}\n" : "*()}\n");
}

/* The forward phase's outputs: the loss by that name. */
static bool is_output(const struct graph *graph, const struct graph_output *output)
{
    return (output->kind == GRAPH_OUTPUT || output->kind == GRAPH_LOSS) &&
           graph->nodes[output->node].phase == GRAPH_FORWARD;
}

static void add_output_name(struct text *out, const struct graph_output *output)
{
    export_add_string(out, output->kind == GRAPH_LOSS ? "loss" : output->name);
}

static void add_outputs(struct text *out, const struct export_layout *layout)
{
    const struct graph *graph = layout->graph;

    text_add(out, "OUTPUTS = {\n");
    for (uint32_t i = 0; i < graph->noutputs; i++) {
        if (!is_output(graph, &graph->outputs[i]))
            continue;
        text_add(out, "    ");
        add_output_name(out, &graph->outputs[i]);
        text_add(out, ": ");
        if (layout->shardings->outputs[i])
            export_add_spec(out, layout->shardings->outputs[i]);
        else
            text_add(out, "None");
        text_add(out, ",\n");
    }
    text_add(out, "}\n");
}

static int add_forward(struct text *out, const struct export_layout *layout, struct shd_error *err)
{
    const struct graph *graph = layout->graph;

    text_add(out,
             "\n\ndef forward(mesh, params, inputs):\n"
             "    def constrain(x, spec):\n"
             "        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, spec))\n\n");
    for (uint32_t i = 0; i < graph->nnodes; i++) {
        const struct graph_node *node = &graph->nodes[i];
        int status;

        if (node->phase != GRAPH_FORWARD)
            continue;
        text_add(out, "    ");
        add_variable(out, graph, i);
        text_add(out, " = ");
        status = write_expression(layout, i, out, err);
        if (status != SHD_OK)
            return status;
        if (node->op == GRAPH_MAP && node->fn == KERN_CONVERT)
            text_addf(out, ".astype(\"%s\")", shd_dtype_name(node->dtype));
        text_add(out, "\n");
    }
    text_add(out, "    return {\n");
    for (uint32_t i = 0; i < graph->noutputs; i++) {
        if (!is_output(graph, &graph->outputs[i]))
            continue;
        text_add(out, "        ");
        add_output_name(out, &graph->outputs[i]);
        text_add(out, ": ");
        add_variable(out, graph, graph->outputs[i].node);
        text_add(out, ",\n");
    }
    text_add(out, "    }\n");
    return SHD_OK;
}

static void add_head(struct text *out, const struct export_layout *layout)
{
    export_add_title(out, layout);
    text_add(out, "#\n");
    text_add(out,
             "# Written by 'shardsim export --to jax'.  Run it: shards are checked, the step is "
             "compiled and run.\n");
    if (layout->graph->microbatches > 1)
        text_addf(out, "# One microbatch of %u: the batch below is its part.\n",
                  layout->graph->microbatches);
    if (layout->graph->nstages > 1)
        text_add(out, "# Without the pipeline's schedule, which jit does not have: arrays "
                      "are replicated along its axis.\n");
    export_add_mesh(out, layout->mesh);
    text_addf(out, "NDEVICES = %d\n\n", (int)shd_mesh_size(layout->mesh));
}

static int write(const struct export_layout *layout, struct text *out, struct shd_error *err)
{
    int status;

    if (layout->graph->ndims > LETTERS)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "the model has %u dimensions, for which there are not enough letters; "
                             "at most %d",
                             layout->graph->ndims, LETTERS);
    add_head(out, layout);
    text_add(out, preamble);
    text_add(out,
             "\n# Each array: its shape, its type, the limit of whole numbers, its sharding.\n");
    add_leaves(out, layout, "PARAMS", GRAPH_PARAM);
    add_leaves(out, layout, "INPUTS", GRAPH_INPUT);
    add_given(out, layout->graph);
    add_shards(out, layout);
    add_gradients(out, layout->graph);
    text_add(out, "# None: as the compiler finds best.\n");
    add_outputs(out, layout);
    text_add(out, helpers);
    status = add_forward(out, layout, err);
    text_add(out, main_part);
    return status;
}

const struct export_target export_jax = {
    "jax", "Python: Mesh, PartitionSpec, with_sharding_constraint, jit", write};
