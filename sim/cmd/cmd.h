/* cmd.h - the subcommands of the program, one file each, and what they share: output, exit status.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <stdbool.h>
#include <stdio.h>

#include <shd/export.h>

enum cmd_exit {
    CMD_OK = 0,
    CMD_FAILED = 1, /* the check failed: wrong numbers, does not fit */
    CMD_USAGE = 2,  /* bad input or usage */
    CMD_CANNOT = 3, /* could not run here: no memory, no threads */
    CMD_INTERRUPTED = 130
};

struct cmd {
    const char *name;
    const char *desc; /* one line for the list in --help */
    /* argv[0] is "shardsim NAME"; returns the exit status. */
    int (*run)(int argc, char **argv);
};

/* The rows of a table of commands, ended by NULL, for a help text. */
void cmd_list(FILE *file, const struct cmd *const *table);

/* Run the row that argv[1] names; its own argv[0] is `program` and the name.  If there is none, an
 * error of `missing`, the name, and the nearest name there is, or else all. */
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
extern const struct cmd cmd_show;
extern const struct cmd cmd_trace;

/* The whole program: find the subcommand, in the table of main.c, and run it. */
int cmd_main(int argc, char **argv);

/* Set when the user asked to stop (SIGINT, SIGTERM); runs watch it.  Whatever does not end by
 * itself within half a second is ended, with CMD_INTERRUPTED.  `ending` is what then closes a
 * report that goes to standard output piece by piece, which is else closed by cmd_put_last();
 * NULL: it is whole or not there. */
extern int cmd_stop_request;
void cmd_watch_signals(const char *ending);

/* Give what watches it longer than that, for it has something to tell. */
void cmd_stop_within(int seconds);

/* Set when work is to end with what it has by then: when the user asked to stop, or so many seconds
 * after cmd_halt_after().  CMD_OK, or CMD_CANNOT with a message. */
extern int cmd_halt;
int cmd_halt_after(int seconds);

/* Say on stderr that the program was interrupted, whoever ends it: once. */
void cmd_say_interrupted(void);

/* Whether an error is only that the user asked to stop, of which cmd_say_interrupted() tells. */
bool cmd_is_stopped(int status);

/* Write to stdout what is in hand; CMD_CANNOT with a message when that fails.  After a
 * request to stop cmd_put() writes nothing and returns CMD_INTERRUPTED; cmd_put_last() writes
 * still. */
struct text;
int cmd_put(const struct text *text);
int cmd_put_last(const struct text *text);

/* Whether what is to be made can be written to a file (NULL and "-": standard output); if not, a
 * message, before any work is done for it.  CMD_OK or CMD_CANNOT. */
int cmd_check_output(const char *path);

/* Whether a file's name ends in what it will hold (".html"), or has no ending; if not, a message
 * that closes with `instead`.  NULL: no file.  CMD_OK or CMD_USAGE. */
int cmd_check_ending(const char *path, const char *ending, const char *instead);

/* Close standard output, at the end of the program: what argp and printf left in the buffer goes
 * out.  A full disk, now or before, is told and ends the program with CMD_CANNOT. */
void cmd_close_output(void);

/* "shardsim: error: ..." on stderr, with names shown as base/escape.h says. */
void cmd_error(const char *fmt, ...) SHD_PRINTF(1, 2);

/* "shardsim: ...", likewise. */
void cmd_note(const char *fmt, ...) SHD_PRINTF(1, 2);

/* The exit status of a run's error. */
int cmd_exit_of(int status);

/* The exit status of input with these errors, if any. */
struct diag;
int cmd_exit_of_input(const struct diag *diag);

#endif /* CMD_CMD_H */
