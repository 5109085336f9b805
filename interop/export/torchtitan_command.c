/* The command of torchtitan since 2026, which takes no TOML: a configuration is a function in
 * Python, named by --module and --config, and options override its fields.  It goes into comments
 * of the TOML file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "export/torchtitan.h"
#include "timetable/timetable.h"

/* Configurations of whole training jobs; other flavors have none. */
static const char *const configurations[] = {
    "llama3_8b", "llama3_70b",    "llama3_405b",     "qwen3_0_6b",       "qwen3_1_7b", "qwen3_14b",
    "qwen3_32b", "qwen3_30b_a3b", "deepseek_v3_16b", "deepseek_v3_671b", NULL};

/* "qwen3_30b_a3b" of the flavor 30B-A3B of qwen3. */
static void add_configuration(struct text *out, const struct family_flavor *flavor)
{
    text_addf(out, "%s_", flavor->model);
    for (const char *c = flavor->flavor; *c; c++)
        text_add_char(out, *c == '-' || *c == '.'   ? '_'
                           : *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a')
                                                    : *c);
}

static bool is_configured(const char *name)
{
    for (size_t i = 0; configurations[i]; i++)
        if (!strcmp(configurations[i], name))
            return true;
    return false;
}

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
    add_number(j, "parallelism.pipeline_parallel_degree", r->size[EXPORT_PIPELINE]);
    if (r->size[EXPORT_PIPELINE] == 1)
        return;
    text_addf(j->out, " \\\n#     --parallelism.pipeline_parallel_schedule %s", j->schedule->name);
    add_number(j, "parallelism.num_pp_microbatches", j->source->batch.microbatches);
}

void torchtitan_add_command(struct export_job *j, const struct family_flavor *flavor)
{
    int32_t devices = shd_mesh_size(j->layout->mesh);
    int32_t node = devices % 8 == 0 ? 8 : devices < 8 ? devices : 1;
    struct text name = TEXT_INIT;

    text_add(j->out,
             "# torchtitan up to v0.2.2 reads this file (--job.config_file).  Since 2026 it has "
             "no TOML:\n");
    if (flavor)
        add_configuration(&name, flavor);
    if (!flavor || !is_configured(text_get(&name))) {
        text_addf(j->out,
                  "# register a configuration%s%s, and pass it as --module and --config with the "
                  "values below.\n",
                  flavor ? " " : "", text_get(&name));
    } else {
        text_addf(j->out,
                  "#   torchrun --nnodes %d --nproc-per-node %d -m torchtitan.train --module %s "
                  "--config %s",
                  devices / node, node, flavor->model, text_get(&name));
        add_sizes(j);
        add_parallelism(j);
        text_add(j->out,
                 "\n"
                 "# Set activation_checkpoint and converters in the configuration's function.\n");
    }
    j->out->failed |= name.failed;
    text_fini(&name);
}
