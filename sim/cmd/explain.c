/* shardsim explain - a step and the reasons of its collectives, a collective's schedule, or a
 * reshard.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "cmd/cmd.h"
#include "cmd/common.h"
#include "cmd/explain.h"
#include "coll/coll.h"
#include "command/command.h"
#include "cmd/explain/explained.h"

static void check(const struct args_line *line, void *input)
{
    const struct explained *o = input;

    if (o->op && (o->collectives || o->ops))
        args_error(line, "--op is of one op; expected no --%s with it",
                   o->collectives ? "collectives" : "ops");
    if (canvas_is_picture(&o->canvas) && !o->roofline)
        args_error(line, "a lesson is text; a picture such as '%s' goes with --roofline",
                   o->canvas.output);
    if (o->json && !o->roofline)
        args_error(line, "--json is of the time of ops; expected --roofline with it");
    if (o->json && canvas_is_picture(&o->canvas))
        args_error(line, "--json and a picture, '%s'; expected one of them", o->canvas.output);
}

#define AT(field) ARGS_AT(struct explained, field)

static const struct args_row rows[] = {
    {"collectives", 0, NULL, args_switch, AT(collectives), 0, 0,
     "Each collective in full: layouts before and after, why, transfers, other placements"},
    {"device", 0, "K", args_text, AT(device), 0, 0,
     "Show the transfers of this device; 0 if not given"},
    {"json", 'j', NULL, args_switch, AT(json), 0, 0,
     "With --roofline: print the machine form, an object with a list of ops"},
    {"op", 0, "N", args_text, AT(op), 0, 0, "Only the op of this number, in full"},
    {"ops", 0, NULL, args_switch, AT(ops), 0, 0, "Each op in full"},
    {"roofline", 0, NULL, args_switch, AT(roofline), 0, 0,
     "What each op takes on the scenario's hardware, and whether the rate of flops, memory or "
     "the network bounds it; with --output FILE.svg as a picture"},
    {"values", 0, NULL, args_switch, AT(values), 0, 0,
     "Execute, and show the numbers of small arrays on every device before and after"},
    {"verbose", 'v', NULL, args_switch, AT(verbose), 0, 0,
     "Every layer; without it equal layers are shown once"},
    {0}};

static const struct args args = {
    .own = {.rows = rows},
    .parts = {{&common_chosen, offsetof(struct explained, chosen)},
              {&common_canvas, offsetof(struct explained, canvas)}},
    .check = check,
    .operands = "SCENARIO\ncollective COLLECTIVE\nreshard --mesh AXES --shape SIZES",
    .help =
        "Explain a step: what is computed between which collectives, and why each of these is "
        "there, with equal layers shown once.  In full, an op is shown with the sharding of each "
        "array before and after it, who gets what from whom, and what other placements would have "
        "cost.  Or draw the schedule of a collective, step by step ('shardsim explain collective "
        "--help').  Or plan how an array gets from one sharding to another ('shardsim explain "
        "reshard --help')."
        "\v"
        "Examples:\n"
        "  A whole step:\n"
        "    shardsim explain scenarios/tensor_parallel.yaml\n"
        "  Its collectives in full:\n"
        "    shardsim explain scenarios/tensor_parallel.yaml --collectives\n"
        "  One op of it, as device 3 sees it:\n"
        "    shardsim explain scenarios/tensor_parallel.yaml --op 10 --device 3\n"
        "  A ring, step by step:\n"
        "    shardsim explain collective all-reduce --algorithm ring --devices "
        "4\n"
        "  Which ops are bound by memory, for a slide:\n"
        "    shardsim explain scenarios/dp_tp.yaml -s hardware=b200 --roofline -o "
        "r.svg\n\n" ARGS_EXIT_STATUS("")};

static int explain_scenario(int argc, char **argv)
{
    struct explained o = {.values = false};
    int status;

    args_parse(&args, argc, argv, &o);
    status = chosen_load(&o.chosen);
    if (status == CMD_OK)
        status = explained_put(&o);
    chosen_fini(&o.chosen);
    return status;
}

static int run(int argc, char **argv)
{
    static const struct {
        const char *name;
        char title[32];
        int (*run)(int argc, char **argv);
    } subjects[] = {{"collective", "shardsim explain collective", explain_collective},
                    {"reshard", "shardsim explain reshard", explain_reshard}};
    static const char *const words[] = {"collective", "reshard"};
    int verb = 1;

    if (argc > 1 && coll_kind_parse(argv[1]) >= 0 && access(argv[1], F_OK) != 0) {
        cmd_error("'%s' is a collective; expected 'explain collective %s'", argv[1], argv[1]);
        return CMD_USAGE;
    }

    if (argc > 2 && argv[1][0] != '-' && argv[2][0] != '-') { /* no file: that would stand alone */
        const char *word = nearest_find(argv[1], words, 2);

        if (word && strcmp(argv[1], word) != 0) {
            cmd_error("there is no '%s' to explain; did you mean '%s'?", argv[1], word);
            return CMD_USAGE;
        }
    }
    /* The options that all forms share may stand before the word that chooses the form. */
    while (verb < argc && (!strcmp(argv[verb], "--ascii") || !strncmp(argv[verb], "--color", 7)))
        verb++;
    for (size_t i = 0; verb < argc && i < sizeof subjects / sizeof subjects[0]; i++) {
        char title[sizeof subjects[i].title];

        if (strcmp(argv[verb], subjects[i].name) != 0)
            continue;
        memcpy(title, subjects[i].title, sizeof title);
        memmove(&argv[2], &argv[1], (size_t)(verb - 1) * sizeof *argv);
        argv[1] = title; /* argp names the program by it */
        return subjects[i].run(argc - 1, argv + 1);
    }
    return explain_scenario(argc, argv);
}

const struct cmd cmd_explain = {"explain", "what a step does and why, a collective, or a reshard",
                                run};
