/* shardsim show tree - a model's parameters on a mesh: specs, shards, memory, and what to mend.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cmd/common.h"
#include "cmd/show.h"
#include "command/asked.h"
#include "command/command.h"
#include "command/picture.h"
#include "cmd/show/tree_layout.h"
#include "cmd/show/tree_picture.h"

struct options {
    const char *model, *rules, *mesh, *picture;
    int64_t min_elements;
    uint64_t large_bytes;
    bool by_shapes, json;
};

/* A scenario has its own mesh and rules. */
static bool is_scenario(const struct options *o)
{
    const char *ending = o->model ? strrchr(o->model, '.') : NULL;

    return ending && (!strcmp(ending, ".yaml") || !strcmp(ending, ".yml")) && !o->mesh &&
           !o->rules && !o->by_shapes;
}

static void take_number(const struct args_value *v)
{
    char *end;
    long long n = strtoll(v->arg, &end, 10);

    if (end == v->arg || *end || n < 0)
        args_error(v->line, "--%s is '%s'; expected a whole number", v->row->name, v->arg);
    *(int64_t *)v->at = n;
}

#define AT(field) ARGS_AT(struct options, field)

static const struct args_row rows[] = {
    {"mesh", 'm', "AXES", args_text, AT(mesh), 0, 0, "The mesh, e.g. dp=2,tp=4"},
    {"rules", 'r', "FILE", args_text, AT(rules), 0, 0,
     "YAML list of [pattern, spec], or a scenario with params; the first matching rule applies"},
    {"auto", 0, NULL, args_switch, AT(by_shapes), 0, 0,
     "Without rules: choose specs by shape, for axes named dp, fsdp, sp, tp"},
    {"min-elements", 0, "N", take_number, AT(min_elements), 0, 0,
     "Replicate smaller arrays (default: 0)"},
    {"large", 0, "SIZE", args_bytes, AT(large_bytes), 0, 0,
     "Warn about replicated arrays of at least this size (default: 1MiB)"},
    {"output", 'o', "FILE", common_picture, AT(picture), 0, 0,
     "Draw arrays as bars, equal layers merged, to FILE.svg or FILE.png"},
    {"json", 0, NULL, args_switch, AT(json), 0, 0, "As JSON"},
    {0}};

static void check(const struct args_line *line, void *input)
{
    const struct options *o = input;

    if (o->picture && (o->json || is_scenario(o)))
        args_error(line, "--output needs a model, a mesh and rules, and no --json");
    if (!is_scenario(o) && (!o->model || !o->mesh || !o->rules == !o->by_shapes))
        args_error(line, "%s",
                   !o->model  ? "no model given; expected a model's file, or a scenario"
                   : !o->mesh ? "no mesh given; expected e.g. --mesh dp=2,tp=4"
                              : "expected either --rules FILE or --auto");
}

static int draw(const struct tree_layout *layout, const char *path)
{
    struct text svg = TEXT_INIT;
    struct shd_error err;
    int status = tree_picture(&svg, layout, &err);

    if (status == SHD_OK)
        return picture_put(path, &svg);
    text_fini(&svg);
    return cmd_cannot(&err);
}

static int print(const struct tree_layout *layout, bool json)
{
    struct text out = TEXT_INIT;
    int status;

    if (json)
        (void)tree_layout_print_json(layout, &out); /* a failure stays in `out` */
    else
        tree_layout_print(layout, &out);
    status = cmd_put(&out);
    text_fini(&out);
    return status;
}

static int show(const struct options *o, const struct tree_layout *layout)
{
    int status = o->picture ? draw(layout, o->picture) : print(layout, o->json);

    return status == CMD_OK && layout->analysis->nuneven ? CMD_FAILED : status;
}

static const struct args args = {
    .own = {.rows = rows,
            .word = {args_text, AT(model), "one model at a time; '%s' is a second one", NULL}},
    .operands = "MODEL",
    .check = check,
    .help =
        "Shard the parameters of a model over a mesh by rules: spec, shard, bytes on one device "
        "and matching rule of every parameter; totals; and warnings about rules that match nothing "
        "and large replicated arrays. MODEL is a safetensors file (only its header is read), an "
        "index of such files, a config.json of a Hugging Face model, a directory with one of "
        "these, or a YAML or JSON list of names and shapes. For a scenario, which has a mesh and "
        "rules, the output is that of 'shardsim show names'.\vExamples:\n"
        "  A model with your own rules:\n"
        "    shardsim show tree llama/config.json --rules rules.yaml --mesh dp=2,tp=4\n"
        "  The same model, sharded by shape:\n"
        "    shardsim show tree llama/config.json --auto --mesh fsdp=4,tp=2\n\n" ARGS_EXIT_STATUS(
            "  1    an array is not divisible by its axes\n")};

static int run(int argc, char **argv)
{
    struct options o = {.large_bytes = UINT64_C(1) << 20};
    struct diag diag = DIAG_INIT;
    struct tree_layout layout;
    struct shd_mesh *mesh = NULL;
    int status;

    args_parse(&args, argc, argv, &o);
    if (is_scenario(&o)) {
        char name[] = "shardsim show names", *words[] = {name, (char *)(uintptr_t)o.model, NULL};

        return show_names.run(2, words);
    }
    status = asked_mesh(&mesh, o.mesh);
    if (status != CMD_OK)
        return status;
    status =
        tree_layout_init(&layout, o.model, o.rules, mesh, o.min_elements, o.large_bytes, &diag);
    diag_write(&diag, stderr);
    if (status == SHD_OK) {
        status = show(&o, &layout);
    } else {
        if (diag.nerrors == 0)
            cmd_error("no memory for this model");
        status = diag.nerrors ? cmd_exit_of_input(&diag) : CMD_CANNOT;
    }
    tree_layout_fini(&layout);
    diag_fini(&diag);
    return status;
}

const struct cmd show_tree = {"tree", "parameters of a model: specs, shards, memory, by rules",
                              run};
