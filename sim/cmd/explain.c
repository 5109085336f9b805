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
        args_error(line, "--op selects one op; remove --%s",
                   o->collectives ? "collectives" : "ops");
    if (canvas_is_picture(&o->canvas) && !o->roofline)
        args_error(line, "'%s' is a picture; expected --roofline, or the name of a text file",
                   o->canvas.output);
    if (o->json && !o->roofline)
        args_error(line, "--json prints the times of ops; expected --roofline too");
    if (o->json && canvas_is_picture(&o->canvas))
        args_error(line, "--json and a picture, '%s'; expected only one of the two",
                   o->canvas.output);
}

#define AT(field) ARGS_AT(struct explained, field)

static const struct args_row rows[] = {
    {"collectives", 0, NULL, args_switch, AT(collectives), 0, 0,
     "Every collective in full: shardings before and after, reason, transfers, alternative "
     "placements"},
    {"device", 0, "K", args_text, AT(device), 0, 0,
     "Show the transfers of this device (default: 0)"},
    {"json", 'j', NULL, args_switch, AT(json), 0, 0,
     "With --roofline: print JSON, an object with a list of ops"},
    {"op", 0, "N", args_text, AT(op), 0, 0, "Only op number N, in full"},
    {"ops", 0, NULL, args_switch, AT(ops), 0, 0, "Every op in full"},
    {"roofline", 0, NULL, args_switch, AT(roofline), 0, 0,
     "Time of each op on the scenario's hardware, and its bound: compute, memory or network; a "
     "roofline plot with --output FILE.svg"},
    {"values", 0, NULL, args_switch, AT(values), 0, 0,
     "Execute the step, and show the values of small arrays on every device before and after each "
     "op"},
    {"verbose", 'v', NULL, args_switch, AT(verbose), 0, 0,
     "Show every layer (default: equal layers once)"},
    {0}};

static const struct args args = {
    .own = {.rows = rows},
    .parts = {{&common_chosen, offsetof(struct explained, chosen)},
              {&common_canvas, offsetof(struct explained, canvas)}},
    .check = check,
    .operands = "SCENARIO\ncollective COLLECTIVE\nreshard --mesh AXES --shape SIZES",
    .help = "Explain a step: the ops between collectives, and the reason for each collective. "
            "Equal layers are shown once. An op in full has the sharding of each array before and "
            "after, the transfers between devices, and the cost of alternative placements. "
            "'explain collective' draws the schedule of a collective; 'explain reshard' plans the "
            "change of an array from one sharding to another (each has its own help).\vExamples:\n"
            "  A whole step:\n"
            "    shardsim explain scenarios/tensor_parallel.yaml\n"
            "  Every collective in full:\n"
            "    shardsim explain scenarios/tensor_parallel.yaml --collectives\n"
            "  One op, with the transfers of device 3:\n"
            "    shardsim explain scenarios/tensor_parallel.yaml --op 10 --device 3\n"
            "  A ring all-reduce, step by step:\n"
            "    shardsim explain collective all-reduce --algorithm ring --devices "
            "4\n"
            "  A roofline plot of the ops, for a slide:\n"
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
        cmd_error("'%s' is a collective; type 'explain collective %s'", argv[1], argv[1]);
        return CMD_USAGE;
    }

    if (argc > 2 && argv[1][0] != '-' && argv[2][0] != '-') { /* no file: that would stand alone */
        const char *word = nearest_find(argv[1], words, 2);

        if (word && strcmp(argv[1], word) != 0) {
            cmd_error("unknown '%s'; did you mean '%s'?", argv[1], word);
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

const struct cmd cmd_explain = {"explain",
                                "explain a step's collectives, an algorithm, or a reshard", run};
