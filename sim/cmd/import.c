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
        args_error(v->line, "more than %d files by --with", IMPORT_FILES_MAX);
    o->with[o->nwith++].path = v->arg;
}

#define AT(field) ARGS_AT(struct conversion, field)

static const struct args_row rows[] = {
    {"allow-unknown", 0, NULL, args_switch, AT(allow_unknown), 0, 0,
     "Exit 0 even with unknown options or unread files; the first line of output lists them"},
    {"batch", 0, "N", args_size, AT(request.batch), 1, SIZE_LIMIT,
     "For rules and servers: sequences per step, on all devices (default for rules without a "
     "batch: 8 per device; for servers: their maximum)"},
    {"devices", 0, "N", args_count, AT(request.devices), 1, INT32_MAX,
     "Devices of the job, if the file does not set them"},
    {"from", 0, SOURCES, take_source, AT(source), 0, 0, "Source system"},
    {"model", 0, "MODEL", args_text, AT(request.model), 0, 0,
     "A published model (model.size) instead of the file's; for rules also a map, e.g. '{size: "
     "llama3-8b, layers: 4}'"},
    {"output", 'o', "FILE", args_text, AT(output), 0, 0, "Write to this file"},
    ARGS_FORCE(struct conversion, force),
    {"seq", 0, "N", args_size, AT(request.seq), 1, SIZE_LIMIT,
     "For rules and servers: tokens per sequence; for rules, if the file does not set it"},
    {"set", 0, "NAME=VALUE", args_list, ARGS_LIST(struct conversion, given, ngiven), 0,
     IMPORT_GIVEN_MAX,
     "For a launch script: set a variable, overriding the script's own assignments, or an argument "
     "(1, 2, ...)"},
    {"vocab", 0, "N", args_count, AT(vocab), 1, INT32_MAX,
     "For megatron: vocabulary size before padding, if the command takes it from a tokenizer"},
    {"with", 0, "FILE", take_with, 0, 0, 0, 0,
     "For a launch script: a file sourced by the script, matched by base name; other files are "
     "not read"},
    {0}};

static const struct args_row rule_rows[] = {
    {"mesh", 0, "AXES", args_text, AT(request.mesh), 0, 0,
     "For rules: the mesh instead of the file's, e.g. dp:1,fsdp:-1,tp:2; -1 takes the remaining "
     "devices"},
    {"min-elements", 0, "N", args_size, AT(request.min_elements), 0, SIZE_LIMIT,
     "For rules with patterns: replicate smaller arrays, as eformer does (default: 16384, its "
     "MIN_SHARDING_SIZE; later releases: 0)"},
    {"names", 0, NAMES, take_names, AT(request.names), 0, 0,
     "For rules with patterns: naming scheme of the parameters (default: easydel; easydel-apart if "
     "each expert has separate arrays)"},
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
        args_error(line, "no source; expected --from with one of %s", SOURCES);
    if (!o->path)
        args_error(line, "no file given ('-' is standard input)");
    if (rule && !o->source->read_rules)
        args_error(line, "--%s is for rules (easydel, eformer, t5x); %s sets it in its file", rule,
                   o->source->name);
    if (o->ngiven > 0 && o->source->kind != FILE_SERVER && o->source->kind != FILE_MEGATRON)
        args_error(line, "--set is for variables of a script (megatron, sglang, vllm)");
    if (o->nwith > 0 && o->source->kind != FILE_SERVER && o->source->kind != FILE_MEGATRON)
        args_error(line, "--with is for files that a script sources (megatron, sglang, vllm)");
    if ((o->request.batch || o->request.seq) && !o->source->read_rules &&
        o->source->kind != FILE_SERVER)
        args_error(line, "--%s is for rules and servers; %s sets it in its file",
                   o->request.batch ? "batch" : "seq", o->source->name);
    if (o->vocab && o->source->read_job != import_megatron)
        args_error(line, "--vocab is for megatron; %s sets it in its file", o->source->name);
    if (o->source->read_rules == import_t5x &&
        (o->request.names != NAMES_EASYDEL || o->request.min_elements != SHD_MIN_SHARDING_ELEMENTS))
        args_error(line, "--%s is for rules with patterns (easydel, eformer)",
                   o->request.names != NAMES_EASYDEL ? "names" : "min-elements");
}

static const struct args args = {
    .own = {.rows = rows,
            .word = {args_text, AT(path), "one file at a time; '%s' is a second one", NULL}},
    .parts = {{&of_rules, 0}},
    .operands = "FILE",
    .check = check,
    .help =
        "Convert a job of another system into a scenario: a Megatron-LM command (or its launch "
        "script), a torchtitan TOML file, or a vLLM or SGLang command. The scenario has the mesh, "
        "model, batch, tensor, pipeline, context and expert parallelism, ZeRO and recomputation. "
        "No shell is run: variables, lists, conditions and loops of the script are evaluated as "
        "far as the script determines them; --set gives the rest.\n\n"
        "Or convert rules: the patterns and PartitionSpecs of EasyDeL and eformer, or the logical "
        "axis rules of T5X (gin or Python). They are matched against the parameter names that the "
        "model has in that system.\vOptions without effect on the layout are ignored, and listed "
        "in a comment; unknown options are listed separately. Options that a scenario cannot "
        "express are errors. Python is not run: only literals are read. A comment at the top says "
        "which parameters each rule matched, and which rules matched none.\n\n"
        "Examples:\n"
        "  A launch script:\n"
        "    shardsim import --from megatron pretrain.sh -o job.yaml\n"
        "  EasyDeL partition rules for Llama 3 8B on 16 devices:\n"
        "    shardsim import --from easydel rules.py --model llama3-8b --devices 16\n"
        "  A T5X run:\n"
        "    shardsim import --from t5x examples/t5x.gin --devices 16 -o "
        "t5.yaml\n\n" ARGS_EXIT_STATUS(
            "  1    unknown options or unread files, listed on the first line\n")};

static int run(int argc, char **argv)
{
    struct conversion o = {.request = {.min_elements = SHD_MIN_SHARDING_ELEMENTS}};

    args_parse(&args, argc, argv, &o);
    return conversion_run(&o);
}

const struct cmd cmd_import = {"import", "convert another system's job or rules into a scenario",
                               run};
