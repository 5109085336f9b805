/* shardsim import - the layout that other systems' options tell, as a scenario.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/file_kind.h"
#include "base/nearest.h"
#include "cmd/args.h"
#include "cmd/cmd.h"
#include "import/job.h"
#include "store/write.h"

static const struct source {
    const char *name;
    enum file_kind kind;
    void (*read)(struct import_job *job, struct place first, const char *text, struct diag *diag);
} sources[] = {
    {"megatron", FILE_MEGATRON, import_megatron},
    {"torchtitan", FILE_TORCHTITAN, import_torchtitan},
};

struct options {
    const struct source *source;
    const char *path, *output, *model;
    int64_t devices;
};

enum { KEY_DEVICES = 4300, KEY_FROM, KEY_MODEL };

static void parse_source(struct options *o, const char *arg, const struct argp_state *state)
{
    char hint[NEAREST_HINT_MAX];
    struct nearest near;

    nearest_init(&near, arg);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (!strcmp(sources[i].name, arg))
            o->source = &sources[i];
        nearest_add(&near, sources[i].name);
    }
    if (!o->source)
        args_error(state, "no source '%s'; expected megatron or torchtitan%s", arg,
                   nearest_hint(&near, hint, sizeof hint));
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case KEY_FROM:
        parse_source(o, arg, state);
        return 0;
    case KEY_DEVICES:
        o->devices = args_parse_count("devices", arg, 1, INT32_MAX, state);
        return 0;
    case KEY_MODEL:
        o->model = arg;
        return 0;
    case 'o':
        o->output = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (o->path)
            args_error(state, "one file at a time; '%s' is too much", arg);
        o->path = arg;
        return 0;
    case ARGP_KEY_END:
        if (!o->source)
            args_error(state, "from what? expected --from megatron or --from torchtitan");
        if (!o->path)
            args_error(state, "no file given; - is standard input");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int put(const struct options *o, const struct text *out)
{
    struct shd_error err;

    if (!o->output)
        return cmd_put(out);
    if (store_write(o->output, out, &err) == SHD_OK)
        return CMD_OK;
    cmd_error("%s", err.text);
    return CMD_CANNOT;
}

static int convert(const struct options *o, const struct text *file)
{
    struct diag diag = DIAG_INIT;
    struct text out = TEXT_INIT;
    struct import_job job;
    int status;

    import_job_init(&job);
    job.size = o->model;
    job.devices = o->devices;
    if (!file_kind_refuse(&diag, o->path, text_get(file), file->length, o->source->kind)) {
        o->source->read(&job, (struct place){o->path, 1, 1}, text_get(file), &diag);
        import_job_print(&job, o->source->name, &out, &diag);
    }
    if (out.failed)
        diag_no_memory(&diag);
    diag_write(&diag, stderr);
    status = diag.nerrors ? cmd_exit_of_input(&diag) : put(o, &out);
    import_job_fini(&job);
    text_fini(&out);
    diag_fini(&diag);
    return status;
}

static int run(int argc, char **argv)
{
    static const struct argp_option option_table[] = {
        {"devices", KEY_DEVICES, "N", 0, "Of the job, where the file does not say", 0},
        {"from", KEY_FROM, "megatron|torchtitan", 0, "The system whose options these are", 0},
        {"model", KEY_MODEL, "SIZE", 0,
         "A published model, as model.size of scenarios, instead of the file's", 0},
        {"output", 'o', "FILE", 0, "Write to this file", 0},
        {NULL, 0, NULL, 0, NULL, 0}};
    static const struct argp argp = {
        option_table,
        parse_option,
        "FILE",
        "Read the options of a training job, a command of Megatron-LM or a TOML file of "
        "torchtitan, and write the scenario of its layout: the mesh, the model, the batch, what "
        "tensor parallelism shards, stages, context, ZeRO and recomputation.\v"
        "Options that say nothing of the layout are left out, and named in a comment; those that "
        "a scenario cannot say are errors.\n\n"
        "Examples:\n"
        "  The layout of a command:\n"
        "    shardsim import --from megatron pretrain.sh -o job.yaml\n\n" ARGS_EXIT_STATUS(""),
        NULL,
        NULL,
        NULL};
    struct options o = {.source = NULL};
    struct text file = TEXT_INIT;
    struct shd_error err;
    int status;

    args_parse(&argp, argc, argv, &o);
    status = file_read(&file, o.path, IMPORT_JOB_BYTES_MAX, &err);
    if (status == SHD_OK)
        status = convert(&o, &file);
    else {
        cmd_error("%s: %s", o.path, err.text);
        status = cmd_exit_of(status) == CMD_CANNOT && status == SHD_ENOMEM ? CMD_CANNOT : CMD_USAGE;
    }
    text_fini(&file);
    return status;
}

const struct cmd cmd_import = {"import", "other systems' options as a scenario", run};
