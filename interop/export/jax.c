/* Export target: a layout as JAX code, with Mesh, PartitionSpec, with_sharding_constraint and jit.
 *
 * The forward phase is written from the graph, a line for each array; jax.grad derives the backward
 * phase, as the graph's reverse mode does.  The optimizer is left to the user (optax).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "base/literal.h"
#include "export/jax_functions.h"
#include "export/jax_ops.h"
#include "export/roles.h"
#include "export/rounding.h"
#include "export/targets.h"

static const char preamble[] =

    "import os\n"
    "import sys\n"
    "\n"
    "# On a cluster remove this line: it makes virtual devices from this host's CPU.\n"
    "os.environ.setdefault(\"XLA_FLAGS\", f\"--xla_force_host_platform_device_count={NDEVICES}\")\n"
    "\n"
    "import jax\n"
    "import jax.numpy as jnp\n"
    "import numpy as np\n"
    "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P\n";

static const char mesh_part[] =
    "\n\n"
    "def make_mesh():\n"
    "    devices = np.array(jax.devices()[:NDEVICES]).reshape(tuple(MESH.values()))\n"
    "    return Mesh(devices, tuple(MESH))\n";

static const char step_part[] =
    "\n\n"
    "def arrays(table, mesh):\n"
    "    \"\"\"Random arrays: uniform between two bounds, or integers below one bound.\"\"\"\n"
    "    random = np.random.default_rng(0)\n"
    "    made = {}\n"
    "    for name, (shape, dtype, among, spec) in table.items():\n"
    "        values = (random.integers(0, max(among, 1), shape) if isinstance(among, int) else\n"
    "                  random.uniform(*among, shape))\n"
    "        if name in GIVEN:\n"
    "            columns = [np.concatenate([first + by * np.arange(n) for first, by, n in runs])\n"
    "                       for runs in GIVEN[name]]\n"
    "            values = np.stack(columns, axis=-1).reshape(shape)\n"
    "        if name in CHOICES: # distinct in each row\n"
    "            rows = np.broadcast_to(np.arange(among), (*shape[:-1], among))\n"
    "            values = random.permuted(rows, axis=-1)[..., :shape[-1]]\n"
    "        made[name] = jax.device_put(jnp.asarray(values, dtype), NamedSharding(mesh, spec))\n"
    "    return made\n"
    "\n\n"
    "def compiled_step(mesh, params, inputs):\n"
    "    wanted = {k: v for k, v in {**params, **inputs}.items() if k in GRADIENTS}\n"
    "    others = {k: v for k, v in {**params, **inputs}.items() if k not in GRADIENTS}\n"
    "\n"
    "    def step(wanted, others):\n"
    "        def outputs_of(wanted):\n"
    "            every = {**wanted, **others}\n"
    "            return forward(mesh, {k: every[k] for k in params}, {k: every[k] for k in "
    "inputs})\n"
    "\n"
    "        def loss_of(wanted):\n"
    "            outputs = outputs_of(wanted)\n"
    "            return outputs[\"loss\"], outputs\n"
    "\n";

/* For recomputation: the backward phase recomputes values of the forward phase that are not named
 * "kept". */
static const char recompute_import[] = "from jax.ad_checkpoint import checkpoint_name\n";
static const char recompute_part[] =
    "        loss_of = jax.checkpoint(\n"
    "            loss_of, policy=jax.checkpoint_policies.save_only_these_names(\"kept\"))\n"
    "\n";

static const char main_part[] =
    "        if not GRADIENTS:\n"
    "            return outputs_of(wanted)\n"
    "        gradients, outputs = jax.grad(loss_of, has_aux=True)(wanted)\n"
    "        return outputs, gradients\n"
    "\n"
    "    # Gradients are sharded like their parameters and inputs.\n"
    "    shardings = {k: NamedSharding(mesh, {**PARAMS, **INPUTS}[k][3]) for k in wanted}\n"
    "    outputs = {k: NamedSharding(mesh, s) if s is not None else None for k, s in "
    "OUTPUTS.items()}\n"
    "    return jax.jit(step, out_shardings=(outputs, shardings) if GRADIENTS else "
    "outputs).lower(\n"
    "        wanted, others).compile(), wanted, others\n"
    "\n"
    "\n"
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
    "    if len(sys.argv) > 1: # FILE: the compiled module, for `shardsim replay FILE`\n"
    "        with open(sys.argv[1], \"w\") as file:\n"
    "            file.write(step.as_text())\n"
    "\n"
    "\n"
    "if __name__ == \"__main__\":\n"
    "    main()\n";

/* Add the range of an input's values: the upper bound of integers, or the two bounds of
 * fractions. */
static void add_values(struct text *out, const struct graph_node *node)
{
    const struct kern_source *source = &node->source;

    if (node->dtype == SHD_I32) {
        text_addf(out, "%u", source->routing ? source->routing->experts : source->modulus);
        return;
    }
    text_add(out, "(");
    export_add_number(out, source->offset - source->scale / 2);
    text_add(out, ", ");
    export_add_number(out, source->offset + source->scale / 2);
    text_add(out, ")");
}

/* NAME = {"x": ((8, 64), "float32", (-0.5, 0.5), P("dp")), ...} */
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
        graph_shape(graph, i, shape);
        export_add_key(out, node->name);
        text_add(out, "(");
        export_add_shape(out, shape, node->rank);
        text_addf(out, ", \"%s\", ", shd_dtype_name(node->dtype));
        add_values(out, node);
        text_add(out, ", ");
        export_add_spec(out, export_sharding(layout, i));
        text_add(out, "),\n");
    }
    text_add(out, "}\n");
}

/* Element of an integer input at an index of the whole array. */
static long long value_at(const struct kern_source *source, int64_t index)
{
    const int64_t shape[] = {index + 1}, one[] = {1};
    int32_t value;

    kern_fill(source, SHD_I32, 1, shape, &index, one, &value);
    return value;
}

/* Add every `step`-th element from `at` on as runs (first, by, count) of equal increments. */
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

/* Add inputs of numbers, positions and spans with their actual values; spans by column. */
static void add_given(struct text *out, const struct graph *graph)
{
    int64_t shape[GRAPH_RANK_MAX];

    text_add(out, "# Inputs that are not random: for each column its runs (first, step, count).\n"
                  "GIVEN = {\n");
    for (uint32_t i = 0; i < graph->nnodes; i++) {
        const struct graph_node *node = &graph->nodes[i];
        int64_t columns, n = 1;

        if (!export_is_leaf(node, GRAPH_INPUT) || !(node->source.sight || node->source.index))
            continue;
        graph_shape(graph, i, shape);
        for (uint32_t d = 0; d < node->rank; d++)
            n *= shape[d];
        columns = node->source.index || node->source.sight_array == KERN_POSITIONS ? 1 : 2;
        export_add_key(out, node->name);
        text_add(out, "[");
        for (int64_t c = 0; c < columns; c++) {
            add_runs(out, &node->source, c, columns, n);
            text_add(out, c + 1 < columns ? ",\n        " : "");
        }
        text_add(out, "],\n");
    }
    text_add(out, "}\n");
}

/* Add inputs of expert ids; the exported code draws them at random. */
static void add_choices(struct text *out, const struct graph *graph)
{
    size_t n = 0;

    text_add(out, "# Inputs that choose experts: the experts of a token are distinct.\n"
                  "CHOICES = {");
    for (uint32_t i = 0; i < graph->nnodes; i++) {
        if (!export_is_leaf(&graph->nodes[i], GRAPH_INPUT) || !graph->nodes[i].source.routing)
            continue;
        text_add(out, n++ ? ",\n           " : "");
        literal_add_python(out, graph->nodes[i].name);
    }
    text_add(out, n ? "}\n" : "*()}\n");
}

static void add_shards(struct text *out, const struct export_layout *layout)
{
    text_add(out, "# Shape of each array's shard on one device.\n"
                  "SHARDS = {\n");
    for (uint32_t i = 0; i < layout->graph->nnodes; i++)
        if (export_is_leaf(&layout->graph->nodes[i], GRAPH_PARAM) ||
            export_is_leaf(&layout->graph->nodes[i], GRAPH_INPUT))
            export_add_shard(out, layout, i);
    text_add(out, "}\n");
}

static void add_gradients(struct text *out, const struct graph *graph)
{
    size_t n = 0;

    text_add(out, "# Arrays whose gradients the step computes.\n"
                  "GRADIENTS = {");
    for (uint32_t i = 0; i < graph->nnodes; i++) {
        if ((!export_is_leaf(&graph->nodes[i], GRAPH_PARAM) &&
             !export_is_leaf(&graph->nodes[i], GRAPH_INPUT)) ||
            !export_wants_gradient(graph, i))
            continue;
        text_add(out, n++ ? ",\n             " : "");
        literal_add_python(out, graph->nodes[i].name);
    }
    text_add(out, n ? "}\n" : "*()}\n");
}

/* The forward phase's value of an output, GRAPH_NONE if none; for a loss that is summed over
 * microbatches, the loss of one microbatch. */
static uint32_t forward_output(const struct graph *graph, const struct graph_output *output)
{
    uint32_t node = output->node;

    if (output->kind != GRAPH_OUTPUT && output->kind != GRAPH_LOSS)
        return GRAPH_NONE;
    while (output->kind == GRAPH_LOSS && graph->nodes[node].phase != GRAPH_FORWARD)
        node = graph->nodes[node].inputs[0];
    return graph->nodes[node].phase == GRAPH_FORWARD ? node : GRAPH_NONE;
}

static const char *output_name(const struct graph_output *output)
{
    return output->kind == GRAPH_LOSS ? "loss" : output->name;
}

static void add_outputs(struct text *out, const struct export_layout *layout)
{
    const struct graph *graph = layout->graph;

    text_add(out, "OUTPUTS = {\n");
    for (uint32_t i = 0; i < graph->noutputs; i++) {
        if (forward_output(graph, &graph->outputs[i]) == GRAPH_NONE)
            continue;
        export_add_key(out, output_name(&graph->outputs[i]));
        if (layout->shardings->outputs[i])
            export_add_spec(out, layout->shardings->outputs[i]);
        else
            text_add(out, "None");
        text_add(out, ",\n");
    }
    text_add(out, "}\n");
}

/* Whether the backward phase recomputes values of the forward phase. */
static bool recomputes(const struct graph *graph)
{
    for (uint32_t i = 0; i < graph->nnodes; i++)
        if (graph->nodes[i].forgotten && !graph->nodes[i].inside)
            return true;
    return false;
}

/* Add "NAME = EXPRESSION" for a value of the forward phase. */
static int add_line(struct text *out, const struct export_layout *layout, uint32_t i, bool kept,
                    struct shd_error *err)
{
    const struct graph_node *node = &layout->graph->nodes[i];
    int status;

    text_add(out, "    ");
    jax_add_variable(out, layout->graph, i);
    text_add(out, kept ? " = checkpoint_name(" : " = ");
    status = jax_add_expression(out, layout, i, err);
    if (node->op == GRAPH_MAP && node->fn == KERN_CONVERT)
        text_addf(out, ".astype(\"%s\")", shd_dtype_name(node->dtype));
    text_add(out, kept ? ", \"kept\")\n" : "\n");
    return status;
}

static int add_forward(struct text *out, const struct export_layout *layout, struct shd_error *err)
{
    const struct graph *graph = layout->graph;
    bool some_kept = recomputes(graph);

    text_add(out,
             "\n\ndef forward(mesh, params, inputs):\n"
             "    def constrain(x, spec):\n"
             "        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, spec))\n\n");
    for (uint32_t i = 0; i < graph->nnodes; i++) {
        const struct graph_node *node = &graph->nodes[i];
        bool kept = some_kept && node->op > GRAPH_PARAM && !node->forgotten;
        int status = SHD_OK;

        if (node->phase == GRAPH_FORWARD)
            status = add_line(out, layout, i, kept, err);
        if (status != SHD_OK)
            return status;
    }
    text_add(out, "    return {\n");
    for (uint32_t i = 0; i < graph->noutputs; i++) {
        uint32_t made = forward_output(graph, &graph->outputs[i]);

        if (made == GRAPH_NONE)
            continue;
        text_add(out, "    ");
        export_add_key(out, output_name(&graph->outputs[i]));
        jax_add_variable(out, graph, made);
        text_add(out, ",\n");
    }
    text_add(out, "    }\n");
    return SHD_OK;
}

/* Note that gradients are summed in another type than planned: jax.grad has no option for the
 * type. */
static void add_types(struct text *out, const struct scenario *scenario)
{
    enum shd_dtype planned = scenario_type(scenario, scenario->types.reduce);

    if (scenario->step.update && planned != scenario->model.dtype)
        text_addf(out,
                  "# Gradients are reduced in %s, the type they are computed in; the plan reduces "
                  "in %s (types.reduce).\n",
                  shd_dtype_name(scenario->model.dtype), shd_dtype_name(planned));
}

static void add_head(struct text *out, const struct export_layout *layout)
{
    text_add(out,
             "# Written by 'shardsim export --to jax'.  Run it: shards are checked, the step is "
             "compiled and run.\n"
             "#\n");
    export_add_title(out, layout);
    if (layout->graph->microbatches > 1)
        text_addf(out, "# One microbatch of %u: the batch below is one microbatch.\n",
                  layout->graph->microbatches);
    if (layout->graph->nstages > 1)
        text_add(out, "# Without the pipeline's schedule, which jit does not have: arrays "
                      "are replicated along its axis.\n");
    if (layout->source->recompute.hold)
        text_add(out, "# XLA frees unread activations: less memory than planned with "
                      "recompute.hold.\n");
    add_types(out, layout->source);
    export_add_mesh(out, layout->mesh);
    text_addf(out, "NDEVICES = %d\n\n", (int)shd_mesh_size(layout->mesh));
}

static int check_source(struct export_job *job)
{
    if (job->source->model.moe.node_axis)
        return shd_error_set(job->err, SHD_EUNSUPPORTED,
                             "XLA does not support dispatch once per node; expected no "
                             "moe.node_axis");
    return SHD_OK;
}

static int check_products(struct export_job *job)
{
    return export_check_products(job->source, "JAX", 0, job->err);
}

static export_check *const choices[] = {check_products, NULL};

static int write(const struct export_layout *layout, struct text *out, struct shd_error *err)
{
    struct text forward = TEXT_INIT;
    int status;

    if (layout->graph->ndims > JAX_DIMS_MAX)
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "the model has %u dimensions, more than einsum has letters; at most "
                             "%d",
                             layout->graph->ndims, JAX_DIMS_MAX);
    status = export_check_pieces(layout, "PartitionSpec", err);
    if (status != SHD_OK)
        return status;
    add_head(out, layout);
    text_add(out, preamble);
    text_add(out, recomputes(layout->graph) ? recompute_import : "");
    text_add(out, "\n"
                  "# Each array: shape, type, range of values, sharding.\n");
    add_leaves(out, layout, "PARAMS", GRAPH_PARAM);
    add_leaves(out, layout, "INPUTS", GRAPH_INPUT);
    add_given(out, layout->graph);
    add_choices(out, layout->graph);
    add_shards(out, layout);
    add_gradients(out, layout->graph);
    text_add(out, "# None: chosen by the compiler.\n");
    add_outputs(out, layout);
    text_add(out, mesh_part);
    status = add_forward(&forward, layout, err);
    jax_add_functions(out, text_get(&forward));
    text_join(out, &forward);
    text_add(out, step_part);
    text_add(out, recomputes(layout->graph) ? recompute_part : "");
    text_add(out, main_part);
    return status;
}

const struct export_target export_jax = {
    .name = "jax",
    .desc = "Python: Mesh, PartitionSpec, with_sharding_constraint, jit",
    .write = write,
    .source = check_source,
    .choices = choices,
    .one_stage = true,
    .software = "jax"};
