/* shardsim init - a first scenario of one's own, from a few options or answers: it is planned
 * before it is written, and says what to change.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cmd/args.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "command/command.h"
#include "cmd/init/first_scenario.h"
#include "search/space.h"

static void take_model(const struct args_value *v)
{
    struct shd_error err;
    int status = first_scenario_model(v->at, v->arg, &err);

    if (status == SHD_ENOMEM) {
        cmd_error("%s", err.text);
        exit(CMD_CANNOT);
    }
    if (status != SHD_OK)
        args_error(v->line, "%s", err.text);
    ((struct first_scenario *)v->at)->named = true;
}

/* Take a recipe of training: none, or one of those that `search --range products=` takes. */
static void take_products(const struct args_value *v)
{
    const char *word, *found = strcmp(v->arg, "none") ? NULL : v->arg;
    struct text words = TEXT_INIT;

    for (int32_t i = 1; (word = space_word(SPACE_PRODUCTS, i)) != NULL; i++) {
        text_addf(&words, ", %s", word);
        found = strcmp(word, v->arg) ? found : word;
    }
    if (!found)
        args_error(v->line, "'%.40s' is not a recipe of low-precision matmuls; expected none%s",
                   v->arg, text_get(&words));
    text_fini(&words);
    *(const char **)v->at = found == v->arg ? NULL : found;
}

static void check_sizes(const struct args_line *line, void *input)
{
    struct first_scenario *o = input;
    struct shd_error err;

    o->asks = !o->named && !args_given(line, "hardware") && !args_given(line, "devices") &&
              !args_given(line, "batch") && !args_given(line, "seq");
    common_check_target(line, o->target, o->serve);
    if (o->products && o->serve)
        args_error(line, "--products is of a training step; a served model keeps the types in "
                         "which it was published");
    if (first_scenario_settle(o, &err) != SHD_OK)
        args_error(line, "%s", err.text);
}

#define AT(field) ARGS_AT(struct first_scenario, field)

static const struct args_row rows[] = {
    {"batch", 0, "N", args_size, AT(batch), 1, FIRST_SIZE_MAX,
     "Sequences per step, on all devices (default: 8 per device, fewer of more than 4096 tokens)"},
    {"devices", 0, "N", args_count, AT(devices), 1, FIRST_SIZE_MAX, "Devices (64)"},
    {"for", 0, "SYSTEM", common_target, AT(target), 0, 0,
     "Only layouts that this system can express: deepspeed, jax, megatron, pytorch, torchtitan, or "
     "with --serve sglang or vllm (default: the system of the cluster's software, if it has the "
     "model)"},
    {"hardware", 0, "HARDWARE", args_text, AT(hardware), 0, 0,
     "Cluster ('shardsim show hardware') or hardware file (default: h100-sxm)"},
    {"model", 0, "MODEL", take_model, 0, 0, 0, 0,
     "A published model (default: llama3-8b), or the path of a config.json"},
    {"output", 'o', "FILE", args_text, AT(output), 0, 0, "Write to FILE"},
    {"products", 0, "RECIPE", take_products, AT(products), 0, 0,
     "Low-precision recipe of matmuls, as of products.recipe (default: none)"},
    ARGS_FORCE(struct first_scenario, force),
    {"serve", 0, NULL, args_switch, AT(serve), 0, 0,
     "Serving instead of training: one decode step with tensor parallelism within a node, expert "
     "parallelism over all devices, and as many sequences as the KV cache holds, or --batch; --seq "
     "is the context length"},
    {"seq", 0, "N", args_size, AT(seq), 1, FIRST_SIZE_MAX,
     "Tokens per sequence (default: 4096, or the model's maximum if that is less)"},
    {0}};

static const struct args args = {
    .own = {.rows = rows,
            .word = {take_model, 0, 0,
                     "one model at a time; '%s' is a second one. The new file is --output FILE",
                     NULL}},
    .operands = "[MODEL]",
    .check = check_sizes,
    .help =
        "Write a first scenario of your own: a published model, or that of a config.json, trained "
        "on a cluster. Comments mark the values that you may want to change. The layout of "
        "a training step is the fastest that a search of a few seconds finds; it begins with "
        "simple ones: data parallelism with ZeRO, expert parallelism, context parallelism for long "
        "sequences, tensor parallelism, pipeline stages. The scenario is planned, and a warning "
        "says if it does not fit. 'shardsim search' searches on. On a terminal, without any of "
        "these "
        "options, init asks.\vExamples:\n"
        "  Train Llama 3 8B on 64 devices of 80 GB:\n"
        "    shardsim init --model llama3-8b --devices 64 --batch 512 -o mine.yaml\n"
        "  Plan its time, memory and traffic:\n"
        "    shardsim plan mine.yaml\n"
        "  Serve Llama 3 70B on 8 devices:\n"
        "    shardsim init --serve --model llama3-70b --devices 8 --seq 8k -o s.yaml\n"
        "  Train a model that has a config.json:\n"
        "    shardsim init models/mine/config.json -o own.yaml\n\n" ARGS_EXIT_STATUS("")};

static int run(int argc, char **argv)
{
    struct first_scenario o = {.model = "llama3-8b", .hardware = "h100-sxm", .devices = 64};

    args_parse(&args, argc, argv, &o);
    return first_scenario_run(&o);
}

const struct cmd cmd_init = {"init", "write a first scenario, from options or questions", run};
