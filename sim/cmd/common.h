/* common.h - options that several subcommands have.
 *
 * Thread class: immutable.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_COMMON_H
#define CMD_COMMON_H

#include "cmd/args.h"
#include "command/trials.h"
#include "export/export.h"

/* SCENARIO..., --set, --strategy and --quiet, of a struct work, which args_parse() initializes: end
 * it with work_fini(). */
extern const struct args_part common_work;

/* --spread, which spreads devices over ranks, of a struct work; none in builds without ranks. */
extern const struct args_part common_spread;

/* SCENARIO, --set and --strategy, of a struct chosen. */
extern const struct args_part common_chosen;

/* --output, --ascii and --color, of a struct canvas, which args_parse() initializes. */
extern const struct args_part common_canvas;

/* --save, --color, --json and --verbose, of a struct trials. */
extern const struct args_part common_trials;

/* --plan and --output of commands that show strategies side by side, of this struct. */
struct sides_request {
    struct work work;
    bool plan;
    const char *path; /* NULL: standard output */
};
extern const struct args_part common_sides;

/* The rule by which strategies are executed, for help texts. */
#define SIDES_WHEN_EXECUTED                                                                      \
    "Strategies are executed if all of them are small enough for this machine: at most 1024 "    \
    "devices each, peak memory of all devices at most half of this machine's memory, and 10^12 " \
    "flops in total. Otherwise, and with --plan, they are planned. A strategy that exceeds its " \
    "own memory limit is only planned."

/* Rows of --memory, --color and --save (a struct save), with the field to set. */
#define COMMON_MEMORY(type, field)                                                         \
    {                                                                                      \
        "memory", 0, ARGS_MEMORY, args_memory, ARGS_AT(type, field), 0, 0, ARGS_MEMORY_DOC \
    }
#define COMMON_COLOUR(type, field)                                                            \
    {                                                                                         \
        "color", ARGS_BARE, ARGS_COLOUR, args_choice, ARGS_AT(type, field), SCREEN_ALWAYS, 0, \
            COMMON_COLOUR_DOC                                                                 \
    }
#define COMMON_SAVE(type, field)                                            \
    {                                                                       \
        "save", ARGS_BARE, "FILE", common_save, ARGS_AT(type, field), 0, 0, \
            "Store the results for 'shardsim runs' (default file: "         \
            "$XDG_DATA_HOME/shardsim/runs.db)"                              \
    }
#define COMMON_COLOUR_DOC "Coloured output; auto (default): on a terminal, unless NO_COLOR is set"

args_take common_save;
args_take common_target; /* const struct export_target *, by its name */
args_take common_picture; /* const char *: the name of a picture's file */

/* Refuse, as the system of --for, one that has no training step or, with --serve, no serving step;
 * NULL: none was given. */
void common_check_target(const struct args_line *line, const struct export_target *target,
                         bool serve);

#endif /* CMD_COMMON_H */
