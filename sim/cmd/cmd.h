/* cmd.h - the subcommands of the program, one file each, and how one is found and run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <stdio.h>

struct cmd {
    const char *name;
    const char *desc; /* one line for the list in --help */
    /* argv[0] is "shardsim NAME"; returns the exit status. */
    int (*run)(int argc, char **argv);
};

/* The rows of a table of commands, ended by NULL, for a help text. */
void cmd_list(FILE *file, const struct cmd *const *table);

/* Run the row that argv[1] names; the argv[0] of its run() is `program` and the name.  For an
 * unknown name, print an error of `missing`, the name, and the nearest known name, or else all
 * names. */
int cmd_run_row(const struct cmd *const *table, const char *program, const char *missing, int argc,
                char **argv);

extern const struct cmd cmd_bench;
extern const struct cmd cmd_calibrate;
extern const struct cmd cmd_check;
extern const struct cmd cmd_compare;
extern const struct cmd cmd_explain;
extern const struct cmd cmd_export;
extern const struct cmd cmd_import;
extern const struct cmd cmd_init;
extern const struct cmd cmd_plan;
extern const struct cmd cmd_query;
extern const struct cmd cmd_replay;
extern const struct cmd cmd_report;
extern const struct cmd cmd_run;
extern const struct cmd cmd_runs;
extern const struct cmd cmd_search;
extern const struct cmd cmd_serve;
extern const struct cmd cmd_show;
extern const struct cmd cmd_trace;

/* The whole program: find the subcommand, in the table of main.c, and run it. */
int cmd_main(int argc, char **argv);

#endif /* CMD_CMD_H */
