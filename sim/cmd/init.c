/* shardsim init - a first scenario of one's own, from a few options: it plans as it is, and says
 * what to change.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cmd/args.h"
#include "cmd/cmd.h"
#include "hardware/hardware.h"
#include "scenario/scenario.h"
#include "store/write.h"

struct options {
    const char *model, *hardware, *output;
    long devices, batch, seq; /* 0: not given */
};

enum { KEY_BATCH = 4300, KEY_DEVICES, KEY_HARDWARE, KEY_MODEL, KEY_SEQ };

#define SIZE_LIMIT (1L << 30) /* of all three */
#define BATCH_OF_DEVICE 8     /* sequences, if no batch is given */
#define SEQ_DEFAULT 4096

static const char *parse_model(const char *arg, const struct argp_state *state)
{
    char hint[NEAREST_HINT_MAX];
    struct nearest near;
    const char *name;

    nearest_init(&near, arg);
    for (size_t i = 0; (name = scenario_model_name(i)) != NULL; i++) {
        if (!strcmp(arg, name))
            return arg;
        nearest_add(&near, name);
    }
    args_error(state,
               "there is no published model '%s' ('shardsim show options' lists them at "
               "model.size)%s",
               arg, nearest_hint(&near, hint, sizeof hint));
    return arg;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case KEY_MODEL:
        o->model = parse_model(arg, state);
        return 0;
    case KEY_HARDWARE:
        o->hardware = arg;
        return 0;
    case KEY_DEVICES:
        o->devices = args_parse_count("devices", arg, 1, SIZE_LIMIT, state);
        return 0;
    case KEY_BATCH:
        o->batch = args_parse_size("batch", arg, 1, SIZE_LIMIT, state);
        return 0;
    case KEY_SEQ:
        o->seq = args_parse_size("seq", arg, 1, SIZE_LIMIT, state);
        return 0;
    case 'o':
        o->output = arg;
        return 0;
    case ARGP_KEY_ARG:
        args_error(state, "no file is read; '%s' is too much. The new one is --output FILE", arg);
        return 0;
    case ARGP_KEY_END:
        if (!o->batch)
            o->batch = o->devices * BATCH_OF_DEVICE;
        if (o->batch % o->devices)
            args_error(state,
                       "a batch of %ld sequences does not divide over %ld devices; expected a "
                       "multiple of them, such as %ld",
                       o->batch, o->devices, (o->batch + o->devices - 1) / o->devices * o->devices);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void write_scenario(struct text *out, const struct options *o)
{
    const char *file = o->output ? o->output : "FILE.yaml";

    text_addf(out,
              "# %s on %ld devices of %s, as FSDP trains it.  Written by 'shardsim init'; next:\n"
              "#   shardsim plan %s          its time, memory and traffic\n"
              "#   shardsim search %s        the best layout there is\n"
              "#   shardsim show names %s    what rules and constraints can name\n"
              "version: 1\n"
              "name: %s-on-%ld\n"
              "hardware: %s          # 'shardsim show hardware' lists others\n"
              "model: {size: %s, dtype: bfloat16}\n",
              o->model, o->devices, o->hardware, file, file, file, o->model, o->devices,
              o->hardware, o->model);
    text_addf(
        out,
        "# A batch of all devices, in microbatches of one sequence a device: fewer of them are\n"
        "# faster, where memory allows.\n"
        "batch: {size: %ld, seq: %ld, microbatches: %ld}\n"
        "step: [forward, backward, update]\n"
        "optimizer: {kind: adamw, clip: 1.0}\n"
        "types: {parameters: float32, reduce: float32}\n"
        "recompute: {kind: full}     # none, where memory allows\n",
        o->batch, o->seq, o->batch / o->devices);
    text_addf(
        out,
        "# One axis over all devices.  Another layout is another mesh, with rules that say what\n"
        "# its axes shard, e.g. mesh: {dp: 8, tp: 8} and params: [[mlp/up/kernel, [null, tp]]].\n"
        "mesh: {fsdp: %ld}\n"
        "axes: {batch: fsdp}         # the batch is sharded over it\n"
        "params: [[.*, []]]          # no rule for parameters: zero shards them all\n"
        "zero: {stage: 3, axis: fsdp}\n",
        o->devices);
}

/* Whether there is such a cluster; says if not. */
static int check_hardware(const char *name)
{
    struct diag diag = DIAG_INIT;
    struct hardware *hardware = NULL;
    int status = CMD_OK;

    if (hardware_find(&hardware, name, NULL, (struct place){NULL, 0, 0}, &diag) != SHD_OK) {
        diag_write(&diag, stderr);
        status = cmd_exit_of_input(&diag);
    }
    hardware_destroy(hardware);
    diag_fini(&diag);
    return status;
}

static int put(const struct options *o, const struct text *text)
{
    struct shd_error err;

    if (!o->output)
        return cmd_put(text);
    if (store_write(o->output, text, &err) == SHD_OK)
        return CMD_OK;
    cmd_error("%s", err.text);
    return CMD_CANNOT;
}

static int run(int argc, char **argv)
{
    static const struct argp_option option_table[] = {
        {"batch", KEY_BATCH, "N", 0, "Sequences of a step, on all devices (8 a device)", 0},
        {"devices", KEY_DEVICES, "N", 0, "Devices (64)", 0},
        {"hardware", KEY_HARDWARE, "HARDWARE", 0,
         "The cluster ('shardsim show hardware') or its file (h100-sxm)", 0},
        {"model", KEY_MODEL, "NAME", 0, "A published model (llama3-8b)", 0},
        {"output", 'o', "FILE", 0, "Write to this file", 0},
        {"seq", KEY_SEQ, "N", 0, "Tokens of a sequence (4096)", 0},
        {NULL, 0, NULL, 0, NULL, 0}};
    static const struct argp argp = {
        option_table,
        parse_option,
        NULL,
        "Write a first scenario of your own, with a comment at what you may want to change: a "
        "published model in training on a cluster, its parameters sharded over all devices.  It "
        "plans as it is; 'shardsim search' finds a better layout.\v"
        "Examples:\n"
        "  Which layout for Llama 3 8B on 64 devices of 80 GB?  First a scenario:\n"
        "    shardsim init --model llama3-8b --devices 64 --batch 512 -o mine.yaml\n"
        "  and what it comes to, as FSDP would train it:\n"
        "    shardsim plan mine.yaml\n\n" ARGS_EXIT_STATUS(""),
        NULL,
        NULL,
        NULL};
    struct options o = {
        .model = "llama3-8b", .hardware = "h100-sxm", .devices = 64, .seq = SEQ_DEFAULT};
    struct text text = TEXT_INIT;
    int status;

    args_parse(&argp, argc, argv, &o);
    status = check_hardware(o.hardware);
    if (status == CMD_OK) {
        write_scenario(&text, &o);
        status = put(&o, &text);
    }
    text_fini(&text);
    return status;
}

const struct cmd cmd_init = {"init", "a first scenario of your own, from a few options", run};
