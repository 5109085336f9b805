/* base/log.h - messages and progress, for people, on standard error.
 *
 * Progress is a line that rewrites itself on a terminal; elsewhere it is shown only for work that
 * takes over a second, and then ever more rarely.  Results never pass through here.
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

typedef int64_t (*log_clock_fn)(void); /* nanoseconds that never go back */

/* Fields are private but for `quiet`. */
struct log {
    FILE *file;
    bool quiet; /* no progress and no notes; warnings and errors still come */
    bool is_tty;
    bool line_open;   /* a progress line waits to be rewritten */
    log_clock_fn now; /* replaced by tests */
    int64_t began_ns; /* of the work in progress */
    int64_t next_ns;  /* when to show progress again */
};

void log_init(struct log *log, FILE *file);

/* "shardsim: ...", "shardsim: warning: ...", "shardsim: error: ..." */
void log_note(struct log *log, const char *fmt, ...) SHD_PRINTF(2, 3);
void log_warning(struct log *log, const char *fmt, ...) SHD_PRINTF(2, 3);
void log_error(struct log *log, const char *fmt, ...) SHD_PRINTF(2, 3);

/* The same onto a file that has no progress line: "shardsim: ", the kind and the message, in which
 * names are shown as base/escape.h says. */
void log_put(FILE *file, const char *kind, const char *fmt, va_list args) SHD_PRINTF(3, 0);

/* Work begins, goes on (as often as you like), ends; the text says what is being done. */
void log_progress_begin(struct log *log);
void log_progress(struct log *log, uint64_t ndone, uint64_t ntotal, const char *what);
void log_progress_line(struct log *log, const char *fmt, ...) SHD_PRINTF(2, 3); /* in other words */
void log_progress_end(struct log *log);

#endif /* BASE_LOG_H */
