/* shardsim import - a scenario of the layout in other systems' options or rules.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include <shd/match.h>

#include "base/nearest.h"
#include "cmd/args.h"
#include "cmd/cmd.h"
#include "command/conversion.h"

#define SOURCES "easydel|eformer|megatron|sglang|t5x|torchtitan|vllm"
#define NAMES "easydel|easydel-apart|shardsim"

#define SIZE_LIMIT (1L << 30)

static void take_source(const struct args_value *v)
{
    const struct conversion_source **source = v->at;
    struct nearest near;

    nearest_init(&near, v->arg);
    *source = conversion_source_find(v->arg);
    for (const struct conversion_source *s = conversion_sources; s->name; s++)
        nearest_add(&near, s->name);
    if (!*source)
        args_error(v->line, "no source '%s'; expected one of %s%s", v->arg, SOURCES,
                   nearest_hint(&near).text);
}

static void take_names(const struct args_value *v)
{
    int i = 0;

    while (i < NAMES_T5X && strcmp(names_systems[i], v->arg) != 0)
        i++;
    if (i == NAMES_T5X)
        args_error(v->line, "no names '%s'; expected one of %s", v->arg, NAMES);
    *(enum names_system *)v->at = (enum names_system)i;
}

static void take_with(const struct args_value *v)
{
    struct conversion *o = v->at;

    if (o->nwith == IMPORT_FILES_MAX)
        args_error(v->line, "over %d files by --with", IMPORT_FILES_MAX);
    o->with[o->nwith++].path = v->arg;
}

#define AT(field) ARGS_AT(struct conversion, field)

static const struct args_row rows[] = {
    {"allow-unknown", 0, NULL, args_switch, AT(allow_unknown), 0, 0,
     "All is well, too, where options are not known here, or other files not read: they are "
     "named on the first line"},
    {"batch", 0, "N", args_size, AT(request.batch), 1, SIZE_LIMIT,
     "Of rules and servers: sequences of a step, on all devices (of rules 8 a device, where the "
     "file does not say; of servers as many as they take)"},
    {"devices", 0, "N", args_count, AT(request.devices), 1, INT32_MAX,
     "Of the job, where the file does not say"},
    {"from", 0, SOURCES, take_source, AT(source), 0, 0,
     "The system whose options or rules these are"},
    {"model", 0, "MODEL", args_text, AT(request.model), 0, 0,
     "A published model, as model.size of scenarios, instead of the file's; of rules also a "
     "map, as '{size: llama3-8b, layers: 4}'"},
    {"output", 'o', "FILE", args_text, AT(output), 0, 0, "Write to this file"},
    ARGS_FORCE(struct conversion, force),
    {"seq", 0, "N", args_size, AT(request.seq), 1, SIZE_LIMIT,
     "Of rules and servers: tokens of a sequence, of rules where the file does not say"},
    {"set", 0, "NAME=VALUE", args_list, ARGS_LIST(struct conversion, given, ngiven), 0,
     IMPORT_GIVEN_MAX,
     "Of a launch script: a variable that it does not set, or that has this value whatever it "
     "sets; of 1, 2, ...: an argument"},
    {"vocab", 0, "N", args_count, AT(vocab), 1, INT32_MAX,
     "Of megatron: words of the vocabulary, before it is padded, where the command leaves that "
     "to its tokenizer"},
    {"with", 0, "FILE", take_with, 0, 0, 0, 0,
     "Of a launch script: another file that it reads (source), known by its last name; none is "
     "read that is not given"},
    {0}};

static const struct args_row rule_rows[] = {
    {"mesh", 0, "AXES", args_text, AT(request.mesh), 0, 0,
     "Of rules: the mesh instead of the file's, as dp:1,fsdp:-1,tp:2; -1 is what is left of the "
     "devices"},
    {"min-elements", 0, "N", args_size, AT(request.min_elements), 0, SIZE_LIMIT,
     "Of rules with patterns: smaller arrays are replicated, as eformer has it (16384, which "
     "is MIN_SHARDING_SIZE; later releases: 0)"},
    {"names", 0, NAMES, take_names, AT(request.names), 0, 0,
     "Of rules with patterns: whose names of parameters they are for (easydel; easydel-apart "
     "where each expert has arrays of its own)"},
    {0}};

static const struct args_part of_rules = {.rows = rule_rows};

/* The last row, as in the table, of those given that only rules have; NULL: none. */
static const char *rule_given(const struct args_line *line)
{
    const char *name = NULL;

    for (const struct args_row *row = rule_rows; row->name; row++)
        if (args_given(line, row->name))
            name = row->name;
    return name;
}

static void check(const struct args_line *line, void *input)
{
    const struct conversion *o = input;
    const char *rule = rule_given(line);

    if (!o->source)
        args_error(line, "from what? expected --from with one of %s", SOURCES);
    if (!o->path)
        args_error(line, "no file given; - is standard input");
    if (rule && !o->source->read_rules)
        args_error(line, "--%s is for rules: of easydel, eformer, t5x; %s says that in its file",
                   rule, o->source->name);
    if (o->ngiven > 0 && o->source->kind != FILE_SERVER && o->source->kind != FILE_MEGATRON)
        args_error(line, "--set is for the variables of a script: of megatron, sglang, vllm");
    if (o->nwith > 0 && o->source->kind != FILE_SERVER && o->source->kind != FILE_MEGATRON)
        args_error(line, "--with is for the files that a script reads: of megatron, sglang, vllm");
    if ((o->request.batch || o->request.seq) && !o->source->read_rules &&
        o->source->kind != FILE_SERVER)
        args_error(line, "--%s is for rules and servers; %s says that in its file",
                   o->request.batch ? "batch" : "seq", o->source->name);
    if (o->vocab && o->source->read_job != import_megatron)
        args_error(line, "--vocab is for megatron; %s says that in its file", o->source->name);
    if (o->source->read_rules == import_t5x &&
        (o->request.names != NAMES_EASYDEL || o->request.min_elements != SHD_MIN_SHARDING_ELEMENTS))
        args_error(line, "--%s is for rules with patterns: of easydel and eformer",
                   o->request.names != NAMES_EASYDEL ? "names" : "min-elements");
}

static const struct args args = {
    .own = {.rows = rows,
            .word = {args_text, AT(path), "one file at a time; '%s' is too much", NULL}},
    .parts = {{&of_rules, 0}},
    .operands = "FILE",
    .check = check,
    .help =
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
            "  1    something is not known here, see the first line; --allow-unknown\n")};

static int run(int argc, char **argv)
{
    struct conversion o = {.request = {.min_elements = SHD_MIN_SHARDING_ELEMENTS}};

    args_parse(&args, argc, argv, &o);
    return conversion_run(&o);
}

const struct cmd cmd_import = {"import", "other systems' options and rules as a scenario", run};
