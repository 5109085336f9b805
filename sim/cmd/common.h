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

/* --plan and --output of what shows strategies side by side, of this struct. */
struct sides_request {
    struct work work;
    bool plan;
    const char *path; /* NULL: standard output */
};
extern const struct args_part common_sides;

/* The rule by which strategies are executed, for help texts. */
#define SIDES_WHEN_EXECUTED                                                                      \
    "They are executed when all of them fit here: at most 1024 devices each, whose peak memory " \
    "together is at most half of this machine's, and 10^12 flops in total; otherwise, and with " \
    "--plan, they are planned. A strategy over its own memory limit is only planned."

/* Rows with the field that is theirs: of --memory, --color and --save (a struct save). */
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
            "Keep the results for 'shardsim runs', in this file or in "     \
            "$XDG_DATA_HOME/shardsim/runs.db"                               \
    }
#define COMMON_COLOUR_DOC \
    "Whether in colours; auto, the default: on a terminal, unless NO_COLOR is set"

args_take common_save;
args_take common_target; /* const struct export_target *, by its name */
args_take common_picture; /* const char *: the name of a picture's file */

#endif /* CMD_COMMON_H */
