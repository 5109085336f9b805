/* shardsim show - draw layouts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/show.h"

#include <stdio.h>
#include <string.h>

#include "cmd/args.h"
#include "command/command.h"

static const struct cmd *const subjects[] = {
    &show_array,      &show_curves,    &show_figures, &show_functions,
    &show_groups,     &show_hardware,  &show_matrix,  &show_memory,
    &show_mesh,       &show_names,     &show_options, &show_schema,
    &show_strategies, &show_timetable, &show_tree,    NULL,
};

static void print_help(FILE *file)
{
    fprintf(file, "Usage: shardsim show WHAT [ARGUMENT...]\n\n"
                  "Draw meshes, shardings, traffic, memory and schedules, as text or with\n"
                  "-o FILE.svg as a picture; or list the keys, names and clusters of scenarios.\n\n"
                  "What:\n");
    cmd_list(file, subjects);
    fprintf(
        file,
        "\n"
        "'shardsim show WHAT --help' describes each.\n\n"
        "Examples:\n"
        "  How is an array of 8 x 16 sharded over eight devices?\n"
        "    shardsim show array --mesh dp=2,tp=4 --shape 8,16 --spec dp,tp\n\n" ARGS_EXIT_STATUS(
            "") "\n");
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return CMD_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?") || !strcmp(argv[1], "help")) {
        print_help(stdout);
        return CMD_OK;
    }
    return cmd_run_row(subjects, "shardsim show", "cannot show", argc, argv);
}

const struct cmd cmd_show = {"show", "draw meshes, shardings, traffic, memory, schedules", run};
