/* shardsim import - a scenario of the layout in other systems' options or rules.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shd/match.h>

#include "base/file.h"
#include "base/file_kind.h"
#include "base/nearest.h"
#include "cmd/args.h"
#include "cmd/cmd.h"
#include "import/job.h"
#include "import/rules.h"
#include "jobs/command.h"
#include "store/write.h"

/* A system, which has one of the two readers. */
static const struct source {
    const char *name;
    enum file_kind kind;
    void (*read_job)(struct import_job *job, struct place first, const char *text,
                     struct diag *diag);
    void (*read_rules)(struct import_rules *rules, struct place first, const char *text,
                       size_t length, struct diag *diag);
} sources[] = {
    {"easydel", FILE_RULES, NULL, import_easydel},
    {"eformer", FILE_RULES, NULL, import_easydel},
    {"megatron", FILE_MEGATRON, import_megatron, NULL},
    {"t5x", FILE_GIN, NULL, import_t5x},
    {"torchtitan", FILE_TORCHTITAN, import_torchtitan, NULL},
};

#define SOURCES "easydel|eformer|megatron|t5x|torchtitan"
#define NAMES "easydel|easydel-apart|shardsim"

#define GIVEN_MAX 100
#define FILES_MAX 16 /* beside a script */

struct options {
    const struct source *source;
    const char *path, *output;
    const char *of_rules; /* the first option that only rules have, or NULL */
    const char *given[GIVEN_MAX]; /* "NAME=VALUE" for the variables of a script */
    size_t ngiven;
    struct import_file with[FILES_MAX]; /* files that a script reads, with their texts */
    size_t nwith;
    bool allow_unknown;
    struct import_request request;
    int64_t vocab; /* 0: as in the file */
};

enum {
    KEY_ALLOW = 4299,
    KEY_BATCH,
    KEY_DEVICES,
    KEY_FROM,
    KEY_MESH,
    KEY_MIN,
    KEY_MODEL,
    KEY_NAMES,
    KEY_SEQ,
    KEY_SET,
    KEY_VOCAB,
    KEY_WITH
};

#define SIZE_LIMIT (1L << 30)

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
        args_error(state, "no source '%s'; expected one of %s%s", arg, SOURCES,
                   nearest_hint(&near, hint, sizeof hint));
}

static void parse_names(struct options *o, const char *arg, const struct argp_state *state)
{
    size_t i = 0;

    while (i < NAMES_T5X && strcmp(names_systems[i], arg) != 0)
        i++;
    if (i == NAMES_T5X)
        args_error(state, "no names '%s'; expected one of %s", arg, NAMES);
    o->request.names = (enum names_system)i;
}

/* The options that only rules have. */
static bool parse_of_rules(struct options *o, int key, const char *arg,
                           const struct argp_state *state)
{
    const char *name = key == KEY_BATCH   ? "--batch"
                       : key == KEY_MESH  ? "--mesh"
                       : key == KEY_MIN   ? "--min-elements"
                       : key == KEY_NAMES ? "--names"
                       : key == KEY_SEQ   ? "--seq"
                                          : NULL;

    if (!name)
        return false;
    o->of_rules = name;
    if (key == KEY_BATCH)
        o->request.batch = args_parse_size("batch", arg, 1, SIZE_LIMIT, state);
    else if (key == KEY_SEQ)
        o->request.seq = args_parse_size("seq", arg, 1, SIZE_LIMIT, state);
    else if (key == KEY_MIN)
        o->request.min_elements = args_parse_size("min-elements", arg, 0, SIZE_LIMIT, state);
    else if (key == KEY_MESH)
        o->request.mesh = arg;
    else
        parse_names(o, arg, state);
    return true;
}

static void check(const struct options *o, const struct argp_state *state)
{
    if (!o->source)
        args_error(state, "from what? expected --from with one of %s", SOURCES);
    if (!o->path)
        args_error(state, "no file given; - is standard input");
    if (o->of_rules && !o->source->read_rules)
        args_error(state, "%s is for rules: of easydel, eformer, t5x; %s says that in its file",
                   o->of_rules, o->source->name);
    if (o->ngiven > 0 && o->source->read_job != import_megatron)
        args_error(state, "--set is for the variables of a script: of megatron");
    if (o->nwith > 0 && o->source->read_job != import_megatron)
        args_error(state, "--with is for the files that a script reads: of megatron");
    if (o->vocab && o->source->read_job != import_megatron)
        args_error(state, "--vocab is for megatron; %s says that in its file", o->source->name);
    if (o->source->read_rules == import_t5x &&
        (o->request.names != NAMES_EASYDEL || o->request.min_elements != SHD_MIN_SHARDING_ELEMENTS))
        args_error(state, "%s is for rules with patterns: of easydel and eformer", o->of_rules);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case KEY_FROM:
        parse_source(o, arg, state);
        return 0;
    case KEY_DEVICES:
        o->request.devices = args_parse_count("devices", arg, 1, INT32_MAX, state);
        return 0;
    case KEY_MODEL:
        o->request.model = arg;
        return 0;
    case KEY_ALLOW:
        o->allow_unknown = true;
        return 0;
    case KEY_SET:
        if (o->ngiven == GIVEN_MAX)
            args_error(state, "over %d values by --set", GIVEN_MAX);
        o->given[o->ngiven++] = arg;
        return 0;
    case KEY_WITH:
        if (o->nwith == FILES_MAX)
            args_error(state, "over %d files by --with", FILES_MAX);
        o->with[o->nwith++].path = arg;
        return 0;
    case KEY_VOCAB:
        o->vocab = args_parse_count("vocab", arg, 1, INT32_MAX, state);
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
        check(o, state);
        return 0;
    default:
        return parse_of_rules(o, key, arg, state) ? 0 : ARGP_ERR_UNKNOWN;
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

/* Whether something in the file is not known here, which is named on the first line. */
static bool convert_job(const struct options *o, const struct text *file, struct text *out,
                        struct diag *diag)
{
    struct import_job job;
    bool unknown;

    import_job_init(&job);
    job.size = o->request.model;
    job.devices = o->request.devices;
    job.given = o->given;
    job.ngiven = o->ngiven;
    job.files = o->with;
    job.nfiles = o->nwith;
    job.tokenizer_vocab = o->vocab;
    o->source->read_job(&job, (struct place){o->path, 1, 1}, text_get(file), diag);
    import_job_print(&job, o->source->name, out, diag);
    unknown = job.unknown.length > 0;
    import_job_fini(&job);
    return unknown;
}

static void convert_rules(const struct options *o, const struct text *file, struct text *out,
                          struct diag *diag)
{
    struct import_rules rules;

    import_rules_init(&rules, &o->request);
    rules.request.from = o->source->name;
    o->source->read_rules(&rules, (struct place){o->path, 1, 1}, text_get(file), file->length,
                          diag);
    import_rules_print(&rules, out, diag);
    import_rules_fini(&rules);
}

/* Rules are in any Python. */
static bool refuse(const struct options *o, const struct text *file, struct diag *diag)
{
    if (o->source->read_rules) {
        enum file_kind kind = file_kind_guess(text_get(file), file->length);

        if (kind == FILE_PYTHON || kind == FILE_RULES || kind == FILE_GIN)
            return false;
    }
    return file_kind_refuse(diag, o->path, text_get(file), file->length, o->source->kind);
}

static int convert(const struct options *o, const struct text *file)
{
    struct diag diag = DIAG_INIT;
    struct text out = TEXT_INIT;
    bool unknown = false;
    int status;

    if (!refuse(o, file, &diag)) {
        if (o->source->read_rules)
            convert_rules(o, file, &out, &diag);
        else
            unknown = convert_job(o, file, &out, &diag);
    }
    if (out.failed)
        diag_no_memory(&diag);
    diag_write(&diag, stderr);
    status = diag.nerrors ? cmd_exit_of_input(&diag) : put(o, &out);
    if (status == CMD_OK && unknown && !o->allow_unknown)
        status = CMD_FAILED;
    text_fini(&out);
    diag_fini(&diag);
    return status;
}

/* Read a whole file to a text of its own; what is wrong is told.  An exit status. */
static int read_file(struct text *out, const char *path)
{
    struct shd_error err;
    int status;

    text_init(out);
    status = file_read(out, path, IMPORT_JOB_BYTES_MAX, &err);
    if (status == SHD_OK)
        return CMD_OK;
    cmd_error("%s: %s", path, err.text);
    return status == SHD_ENOMEM ? CMD_CANNOT : CMD_USAGE;
}

static int run(int argc, char **argv)
{
    static const struct argp_option option_table[] = {
        {"allow-unknown", KEY_ALLOW, NULL, 0,
         "All is well, too, where options are not known here, or other files not read: they are "
         "named on the first line",
         0},
        {"batch", KEY_BATCH, "N", 0,
         "Of rules: sequences of a step, on all devices, where the file does not say (8 a device)",
         0},
        {"devices", KEY_DEVICES, "N", 0, "Of the job, where the file does not say", 0},
        {"from", KEY_FROM, SOURCES, 0, "The system whose options or rules these are", 0},
        {"mesh", KEY_MESH, "AXES", 0,
         "Of rules: the mesh instead of the file's, as dp:1,fsdp:-1,tp:2; -1 is what is left of "
         "the "
         "devices",
         0},
        {"min-elements", KEY_MIN, "N", 0,
         "Of rules with patterns: smaller arrays are replicated, as eformer has it (16384, which "
         "is MIN_SHARDING_SIZE; later releases: 0)",
         0},
        {"model", KEY_MODEL, "MODEL", 0,
         "A published model, as model.size of scenarios, instead of the file's; of rules also a "
         "map, as '{size: llama3-8b, layers: 4}'",
         0},
        {"names", KEY_NAMES, NAMES, 0,
         "Of rules with patterns: whose names of parameters they are for (easydel; easydel-apart "
         "where each expert has arrays of its own)",
         0},
        {"output", 'o', "FILE", 0, "Write to this file", 0},
        {"seq", KEY_SEQ, "N", 0, "Of rules: tokens of a sequence, where the file does not say", 0},
        {"set", KEY_SET, "NAME=VALUE", 0,
         "Of a launch script: a variable that it does not set, or that has this value whatever it "
         "sets; of 1, 2, ...: an argument",
         0},
        {"vocab", KEY_VOCAB, "N", 0,
         "Of megatron: words of the vocabulary, before it is padded, where the command leaves that "
         "to its tokenizer",
         0},
        {"with", KEY_WITH, "FILE", 0,
         "Of a launch script: another file that it reads (source), known by its last name; none is "
         "read that is not given",
         0},
        {NULL, 0, NULL, 0, NULL, 0}};
    static const struct argp argp = {
        option_table,
        parse_option,
        "FILE",
        "Read the options of a training job, a command of Megatron-LM (or the script that launches "
        "it) or a TOML file of torchtitan, and write the scenario of its layout: the mesh, the "
        "model, the batch, what tensor parallelism shards, stages, context, ZeRO and "
        "recomputation. No shell is run: variables, lists, conditions and loops of the script are "
        "followed as far as they are decided by what it sets; --set gives the rest.\n\n"
        "Or read rules: the lists of patterns and PartitionSpecs of EasyDeL and eformer, or the "
        "logical axis rules of T5X, in gin or Python, and write the scenario of what they say of "
        "a model's parameters, looked up by the names that these have there.\v"
        "Options that say nothing of the layout are left out, and named in a comment, apart from "
        "those that are not known; those that a scenario cannot say are errors. Of Python only "
        "literals are read, and none is run; "
        "what each rule gave, and which gave nothing, is a comment on top.\n\n"
        "Examples:\n"
        "  The layout of a command:\n"
        "    shardsim import --from megatron pretrain.sh -o job.yaml\n"
        "  Partition rules of EasyDeL for Llama 3 8B on 16 devices:\n"
        "    shardsim import --from easydel rules.py --model llama3-8b --devices 16\n"
        "  A run of T5X:\n"
        "    shardsim import --from t5x examples/t5x.gin --devices 16 -o "
        "t5.yaml\n\n" ARGS_EXIT_STATUS(
            "  1    something is not known here, see the first line; --allow-unknown\n"),
        NULL,
        NULL,
        NULL};
    struct options o = {.request = {.min_elements = SHD_MIN_SHARDING_ELEMENTS}};
    struct text file, with[FILES_MAX];
    int status;

    args_parse(&argp, argc, argv, &o);
    status = read_file(&file, o.path);
    for (size_t i = 0; i < o.nwith; i++) {
        int one = read_file(&with[i], o.with[i].path);

        o.with[i].text = text_get(&with[i]);
        status = status == CMD_OK ? one : status;
    }
    if (status == CMD_OK)
        status = convert(&o, &file);
    text_fini(&file);
    for (size_t i = 0; i < o.nwith; i++)
        text_fini(&with[i]);
    return status;
}

const struct cmd cmd_import = {"import", "other systems' options and rules as a scenario", run};
