/* command.h - what all subcommands share: exit statuses, messages, output, and signals.
 *
 * Thread class: owned by one thread, but for cmd_stop_request and cmd_halt, which any may read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

#include <pthread.h>
#include <stdbool.h>

#include <shd/error.h>
#include <shd/export.h>

enum cmd_exit {
    CMD_OK = 0,
    CMD_FAILED = 1, /* the check failed: wrong numbers, does not fit */
    CMD_USAGE = 2,  /* bad input or usage */
    CMD_CANNOT = 3, /* could not run here: no memory, no threads */
    CMD_INTERRUPTED = 130
};

/* Set when the user asks to stop (SIGINT, SIGTERM); runs poll it.  A program that does not end by
 * itself within half a second is ended, with CMD_INTERRUPTED.  `ending` then closes a report that is
 * written to standard output piece by piece, and that cmd_put_last() closes otherwise; NULL: the
 * report is written whole or not at all. */
extern int cmd_stop_request;
void cmd_watch_signals(const char *ending);

/* Give the work more than half a second to end, because it has a result to print. */
void cmd_stop_within(int seconds);

/* Set when work is to end with its results so far: when the user asked to stop, or `seconds` after
 * cmd_halt_after().  CMD_OK, or CMD_CANNOT with a message. */
extern int cmd_halt;
int cmd_halt_after(int seconds);

/* Start a thread with all signals blocked: signals stay with the caller.  0, or an errno value. */
int cmd_start_thread(pthread_t *out, void *(*run)(void *arg), void *arg);

/* Print on stderr that the program was interrupted, once, whichever part ends it. */
void cmd_say_interrupted(void);

/* Whether an error only means that the user asked to stop, which cmd_say_interrupted() reports. */
bool cmd_is_stopped(int status);

/* Write a text to stdout; CMD_CANNOT with a message when that fails.  After a request to stop,
 * cmd_put() writes nothing and returns CMD_INTERRUPTED; cmd_put_last() still writes. */
struct text;
int cmd_put(const struct text *text);
int cmd_put_last(const struct text *text);

/* Write a text as cmd_put() does to a file (NULL and "-": standard output). */
int cmd_write(const char *path, const struct text *text);

/* Whether a regular file is there. */
bool cmd_is_file(const char *path);

/* Check, before any work is done, that a file can be written (NULL and "-": standard output);
 * prints a message if not.  CMD_OK or CMD_CANNOT. */
int cmd_check_output(const char *path);

/* Like cmd_check_output(), for a file that users edit, such as a scenario: an existing file is
 * overwritten only with --force.  CMD_USAGE with a message if not. */
int cmd_check_new(const char *path, bool force);

/* Check that a file's name has the ending of its format (".html"), or none; if not, print a message
 * that closes with `instead`.  NULL: no file.  CMD_OK or CMD_USAGE. */
int cmd_check_ending(const char *path, const char *ending, const char *instead);

/* Close standard output at the end of the program, which flushes the output of argp and printf.  A
 * full disk, now or before, is reported and ends the program with CMD_CANNOT. */
void cmd_close_output(void);

/* "shardsim: error: ..." on stderr, with names shown as base/escape.h says. */
void cmd_error(const char *fmt, ...) SHD_PRINTF(1, 2);

/* Print "shardsim: ..." on stderr, with names shown as base/escape.h says. */
void cmd_note(const char *fmt, ...) SHD_PRINTF(1, 2);

/* Print on stderr how many tasks each rank has done, unless `quiet` or there is one rank only. */
struct farm;
void cmd_tell_ranks(const struct farm *farm, bool quiet);

/* Print an error of bad input, "shardsim: error: WHAT: MESSAGE"; returns CMD_USAGE. */
int cmd_wrong(const char *what, const char *message);

/* Print the error of a failed call in the same form; returns CMD_CANNOT if memory was lacking, else
 * CMD_USAGE. */
int cmd_failure(const char *what, const struct shd_error *err);

/* Print the error of a failed call; returns CMD_CANNOT. */
int cmd_cannot(const struct shd_error *err);

/* Print the error of a call that failed for bad input; returns CMD_USAGE, but CMD_CANNOT if memory
 * was lacking or the system failed. */
int cmd_refused(const struct shd_error *err);

/* The worse of two exit statuses: the one that the command ends with. */
int cmd_worse(int exit, int other);

/* The exit status of a run's error. */
int cmd_exit_of(int status);

/* The exit status of a step that could not be built: an impossible request is bad input. */
int cmd_exit_of_refused(int status);

/* The exit status of input with these errors, if any. */
struct diag;
int cmd_exit_of_input(const struct diag *diag);

#endif /* COMMAND_COMMAND_H */
