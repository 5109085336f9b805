/* base/log.h - messages and progress for people, on standard error.
 *
 * On a terminal progress is one line that is rewritten; elsewhere progress lines appear only for
 * work of more than a second, and at growing intervals.  Results never pass through here.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <shd/export.h>

#include "base/diag.h"

typedef int64_t (*log_clock_fn)(void); /* monotonic nanoseconds */

/* Fields are private except `quiet`. */
struct log {
    FILE *file;
    bool quiet; /* no progress and no notes, but warnings and errors */
    bool is_tty;
    bool line_open;   /* a progress line is on the terminal */
    log_clock_fn now; /* replaced by tests */
    int64_t began_ns; /* start of the work in progress */
    int64_t next_ns;  /* when to show progress next, after began_ns */
};

void log_init(struct log *log, FILE *file);

/* "shardsim: ...", "shardsim: warning: ...", "shardsim: error: ..." */
void log_note(struct log *log, const char *fmt, ...) SHD_PRINTF(2, 3);
void log_warning(struct log *log, const char *fmt, ...) SHD_PRINTF(2, 3);
void log_error(struct log *log, const char *fmt, ...) SHD_PRINTF(2, 3);

/* Print errors of input, each with its place (diag_write()). */
void log_diag(struct log *log, const struct diag *diag);

/* Write a message to a file without a progress line: "shardsim: ", the kind and the text, escaped
 * by base/escape.h. */
void log_put(FILE *file, const char *kind, const char *fmt, va_list args) SHD_PRINTF(3, 0);

/* Begin, update (as often as needed) and end a piece of work; the text says what is being done. */
void log_progress_begin(struct log *log);
void log_progress(struct log *log, uint64_t ndone, uint64_t ntotal, const char *what);
void log_progress_line(struct log *log, const char *fmt, ...) SHD_PRINTF(2, 3); /* the caller's
                                                                                   own line */
void log_progress_end(struct log *log);

#endif /* BASE_LOG_H */
