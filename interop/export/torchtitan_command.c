/* The job for torchtitan since 2026, which takes no TOML: a function in Python, named by --module
 * and --config, returns the configuration, and options override its fields.  Both go into comments
 * of the TOML file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "export/torchtitan.h"
#include "timetable/timetable.h"

static void add_number(struct export_job *j, const char *option, int64_t value)
{
    text_addf(j->out, " \\\n#     --%s %" PRId64, option, value);
}

static void add_sizes(struct export_job *j)
{
    const struct scenario *s = j->source;
    int64_t sequences = export_roles_sequences(&j->roles, s);

    add_number(j, "training.num_tokens_per_microbatch_per_dp_rank", sequences * s->batch.seq);
    add_number(j, "training.num_tokens_per_train_step", s->batch.size * s->batch.seq);
    add_number(j, "training.max_context_length", s->batch.seq);
}

static void add_parallelism(struct export_job *j)
{
    const struct export_roles *r = &j->roles;

    add_number(j, "parallelism.data_parallel_replicate_degree", r->size[EXPORT_REPLICA]);
    add_number(j, "parallelism.data_parallel_shard_degree",
               r->size[EXPORT_SHARD] * r->size[EXPORT_EXPERT]);
    add_number(j, "parallelism.tensor_parallel_degree", r->size[EXPORT_TENSOR]);
    add_number(j, "parallelism.context_parallel_degree", r->size[EXPORT_CONTEXT]);
    if (r->experts > 1)
        add_number(j, "parallelism.expert_parallel_degree", r->experts);
    if (r->zero == 3)
        text_addf(j->out, " \\\n#     --parallelism.fsdp_reshard_after_forward %s",
                  torchtitan_reshard_of(j->source));
    add_number(j, "parallelism.pipeline_parallel_degree", r->size[EXPORT_PIPELINE]);
    if (r->size[EXPORT_PIPELINE] == 1)
        return;
    text_addf(j->out, " \\\n#     --parallelism.pipeline_parallel_schedule %s", j->schedule->name);
    add_number(j, "parallelism.num_pp_microbatches", j->source->batch.microbatches);
}

/* CUDA graphs, the default, are refused with stages, and with experts whose tokens are dispatched
 * by the standard all-to-all. */
static void add_graphs(struct export_job *j)
{
    if (j->roles.size[EXPORT_PIPELINE] > 1 || j->roles.experts > 1)
        text_add(j->out, " \\\n#     --training.disable_cuda_graphs");
}

static void add_types(struct export_job *j)
{
    const struct scenario *s = j->source;

    text_addf(j->out, " \\\n#     --training.mixed_precision_param %s",
              shd_dtype_name(s->model.dtype));
    if (s->model.dtype == SHD_BF16 && scenario_type(s, s->types.parameters) == SHD_BF16)
        text_add(j->out, " \\\n#     --training.dtype bfloat16");
    if (s->offload.parameters)
        text_add(j->out, " \\\n#     --training.enable_cpu_offload");
}

/* The modules of each stage, of as many layers as planned. */
static void add_parts(struct export_job *j)
{
    int64_t first = 0;

    text_add(j->out, "#       job.parallelism.module_fqns_per_model_part = [\n");
    for (uint32_t i = 0; i < j->stages.n; i++) {
        int64_t last = first + j->stages.layers[i];

        text_addf(j->out,
                  "#           [%s*(f\"layers.{n}\" for n in range(%" PRId64 ", %" PRId64
                  "))%s],\n",
                  i == 0 ? "\"tok_embeddings\", " : "", first, last,
                  i + 1 == j->stages.n ? ", \"norm\", \"lm_head\"" : "");
        first = last;
    }
    text_add(j->out, "#       ]\n");
}

/* The function that configures the job: what no option sets. */
static void add_function(struct export_job *j, const struct family_flavor *flavor)
{
    const struct torchtitan_compiled compiled = torchtitan_compiled_of(j);
    const struct scenario_recompute *r = &j->source->recompute;
    const char *policy = r->kind == SCENARIO_RECOMPUTE_NONE ? NULL
                         : r->policy                        ? "SelectiveAC"
                                                            : "FullAC";

    text_addf(j->out,
              "#   from torchtitan.config import CompileConfig\n"
              "#   from torchtitan.distributed.activation_checkpoint import FullAC, SelectiveAC\n"
              "#   from torchtitan.models.%s import config_registry, model_registry\n"
              "#   def job():\n"
              "#       job = config_registry.%s()\n"
              "#       job.model_spec = model_registry(\"%s\")%s\n"
              "#       job.activation_checkpoint = %s%s\n",
              flavor->model, flavor->config, flavor->flavor,
              j->source->products.recipe == SCENARIO_NO_RECIPE ? "" : "  # add converters as below",
              policy ? policy : "None", policy ? ".Config()" : "");
    if (compiled.model || compiled.loss)
        text_addf(j->out,
                  "#       job.compile = CompileConfig(enable=True, components=[%s%s%s]%s)\n",
                  compiled.model ? "\"model\"" : "", compiled.model && compiled.loss ? ", " : "",
                  compiled.loss ? "\"loss\"" : "",
                  compiled.products ? ", enable_async_tensor_parallel=True" : "");
    else
        text_add(j->out, "#       job.compile = CompileConfig()\n");
    if (j->roles.size[EXPORT_PIPELINE] > 1)
        add_parts(j);
    text_add(j->out, "#       return job\n");
}

/* What torchtitan dropped in 2026; NULL: nothing that the job has. */
static const char *dropped(const struct export_job *j, const struct family_flavor *flavor)
{
    const struct scenario *s = j->source;

    if (!flavor)
        return "register the model there, and a configuration with the values below";
    if (s->recompute.every > 1)
        return "it no longer recomputes every N-th layer";
    if (s->step.update && s->model.dtype == SHD_BF16 &&
        scenario_type(s, s->types.reduce) != SHD_F32)
        return "it reduces gradients in float32 alone";
    return NULL;
}

void torchtitan_add_command(struct export_job *j, const struct family_flavor *flavor)
{
    int32_t devices = shd_mesh_size(j->layout->mesh);
    int32_t node = devices % 8 == 0 ? 8 : devices < 8 ? devices : 1;
    const char *missing = dropped(j, flavor);

    text_add(j->out,
             "# torchtitan up to v0.2.2 reads this file (--job.config_file).  Since 2026 it has "
             "no TOML");
    if (missing) {
        text_addf(j->out, ":\n# %s.\n", missing);
        return;
    }
    text_add(j->out, ": put\n# these lines into shardsim_job.py, without the leading '#   ',\n");
    add_function(j, flavor);
    text_addf(j->out,
              "# and run\n"
              "#   torchrun --nnodes %d --nproc-per-node %d -m torchtitan.train --module "
              "shardsim_job --config job",
              devices / node, node);
    add_sizes(j);
    add_types(j);
    add_graphs(j);
    add_parallelism(j);
    text_add(j->out, "\n");
}
