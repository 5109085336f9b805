/* common.h - options that several subcommands have, for their parsers' children.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_COMMON_H
#define CMD_COMMON_H

#include <argp.h>

#include "jobs/canvas.h"
#include "jobs/chosen.h"
#include "jobs/work.h"

/* Files, --set, --strategy and --quiet, as a child of a subcommand's own argp; the input is the
 * work. */
extern const struct argp work_argp;

/* The option that spreads devices over ranks; empty in builds without ranks.  The input is the
 * work. */
extern const struct argp work_spread_argp;

/* SCENARIO, --set, --strategy, for another parser's children; the input is a struct chosen. */
extern const struct argp chosen_argp;

/* --ascii, --color, for another parser's children; their input is a struct canvas. */
extern const struct argp canvas_argp;
/* The options of canvas_argp with --output. */
extern const struct argp canvas_output_argp;

/* The rule by which strategies are executed, for help texts. */
#define SIDES_WHEN_EXECUTED                                                                      \
    "They are executed when all of them fit here: at most 1024 devices each, whose peak memory " \
    "together is at most half of this machine's, and 10^12 flops in total; otherwise, and with " \
    "--plan, they are planned. A strategy over its own memory limit is only planned."

/* SCENARIO..., --set, --strategy, --quiet, --plan and --output, for another parser's children; the
 * input is a struct sides_request. */
struct sides_request {
    struct work work;
    bool plan;
    const char *path; /* NULL: standard output */
};
extern const struct argp sides_argp;

/* A row of an option table; its key is the command's own. */
#define SAVE_OPTION(key)                                                \
    {                                                                   \
        "save", key, "FILE", OPTION_ARG_OPTIONAL,                       \
            "Keep the results for 'shardsim runs', in this file or in " \
            "$XDG_DATA_HOME/shardsim/runs.db",                          \
            0                                                           \
    }

#endif /* CMD_COMMON_H */
