/* shardsim export - a scenario's layout as code of another system.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cmd/show.h"
#include "export/export.h"
#include "command/chosen.h"
#include "command/command.h"
#include "cmd/export/exported.h"

struct options {
    struct chosen chosen;
    const struct export_target *target;
    const char *output;
    bool force;
};

static void check(const struct args_line *line, void *input)
{
    if (!((struct options *)input)->target)
        args_error(line, "no target; expected --to deepspeed, jax, megatron, pytorch, sglang, "
                         "torchtitan or vllm");
}

static int export_trial(const struct options *o)
{
    const struct trial *trial = &o->chosen.trial;
    struct text out = TEXT_INIT;
    struct shd_error err;
    int status = exported_write(&out, trial, o->target, &err);

    status = status == SHD_OK ? cmd_write(o->output, &out) : cmd_failure(o->chosen.path, &err);
    text_fini(&out);
    return status;
}

static const struct args_row rows[] = {
    {"output", 'o', "FILE", args_text, ARGS_AT(struct options, output), 0, 0, "Write to this file"},
    ARGS_FORCE(struct options, force),
    {"to", 0, "deepspeed|jax|megatron|pytorch|sglang|torchtitan|vllm", common_target,
     ARGS_AT(struct options, target), 0, 0, "Target system"},
    {0}};

static const struct args args = {
    .own = {.rows = rows},
    .parts = {{&common_chosen, offsetof(struct options, chosen)}},
    .operands = "SCENARIO",
    .check = check,
    .help = "Write a scenario's layout as code or options of another system. JAX: the mesh, a "
            "PartitionSpec for every parameter and input, the forward pass with a "
            "with_sharding_constraint for every constraint, and a main that checks the shards and "
            "compiles the step. PyTorch: the DeviceMesh, the DTensor placements of every parameter "
            "and input, and a main that checks local shapes. Megatron-LM: the command line; "
            "torchtitan: the TOML file; DeepSpeed: the JSON file. These three follow the function "
            "of each mesh axis, not its name. vLLM or SGLang: the command line, from a serving "
            "step.\vA layout that the target system cannot express is an error.\n\n"
            "Examples:\n"
            "  As JAX code:\n"
            "    shardsim export --to jax scenarios/tensor_parallel.yaml -o step.py\n"
            "  As DTensor placements:\n"
            "    shardsim export --to pytorch scenarios/fsdp_tp.yaml\n"
            "  As a Megatron-LM command line:\n"
            "    shardsim export --to megatron scenarios/llama3.yaml\n\n" ARGS_EXIT_STATUS("")};

static int run(int argc, char **argv)
{
    struct options o = {.target = NULL, .chosen = {.executes = true}};
    int status;

    args_parse(&args, argc, argv, &o);
    status = cmd_check_new(o.output, o.force);
    if (status == CMD_OK)
        status = chosen_load(&o.chosen);
    if (status == CMD_OK)
        status = export_trial(&o);
    chosen_fini(&o.chosen);
    return status;
}

const struct cmd cmd_export = {"export", "write a layout as code or options of another system",
                               run};
