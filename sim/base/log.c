/* Messages and a progress line on standard error (base/log.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/log.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/utf8.h"

#define TTY_FIRST_NS INT64_C(200000000)  /* shorter work shows no progress */
#define TTY_NEXT_NS INT64_C(100000000)   /* interval between updates of the line */
#define FILE_FIRST_NS INT64_C(1000000000) /* first line on a file; the interval doubles from then
                                             on */
#define PROGRESS_BYTES_MAX 320 /* of a progress line; longer lines are cut */
#define LINE_BYTES_MAX 8192 /* of a message; longer messages are cut, as the buffer is on the
                               stack */

static int64_t read_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void log_init(struct log *log, FILE *file)
{
    *log = (struct log){.file = file, .now = read_clock};
    log->is_tty = isatty(fileno(file)) == 1;
}

/* Clear the progress line from the terminal before other output. */
static void wipe(struct log *log)
{
    if (log->line_open)
        fputs("\r\033[K", log->file);
    log->line_open = false;
}

void log_put(FILE *file, const char *kind, const char *fmt, va_list args)
{
    char line[LINE_BYTES_MAX]; /* on the stack: "out of memory" must not need memory */
    int length = vsnprintf(line, sizeof line, fmt, args);

    if (length >= LINE_BYTES_MAX)
        line[utf8_cut(line, sizeof line, sizeof line - 1)] = '\0';
    fprintf(file, "shardsim: %s", kind);
    escape_put(file, length < 0 ? fmt : line);
    fputc('\n', file);
}

static void say(struct log *log, const char *kind, const char *fmt, va_list args)
    SHD_PRINTF(3, 0);

static void say(struct log *log, const char *kind, const char *fmt, va_list args)
{
    wipe(log);
    log_put(log->file, kind, fmt, args);
}

void log_note(struct log *log, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (!log->quiet)
        say(log, "", fmt, args);
    va_end(args);
}

void log_warning(struct log *log, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(log, "warning: ", fmt, args);
    va_end(args);
}

void log_error(struct log *log, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(log, "error: ", fmt, args);
    va_end(args);
}

void log_diag(struct log *log, const struct diag *diag)
{
    wipe(log);
    diag_write(diag, log->file);
}

void log_progress_begin(struct log *log)
{
    log->began_ns = log->now();
    log->next_ns = log->is_tty ? TTY_FIRST_NS : FILE_FIRST_NS;
}

void log_progress(struct log *log, uint64_t ndone, uint64_t ntotal, const char *what)
{
    log_progress_line(log, "%.200s: %" PRIu64 "/%" PRIu64, what, ndone, ntotal);
}

void log_progress_line(struct log *log, const char *fmt, ...)
{
    char line[PROGRESS_BYTES_MAX];
    int64_t elapsed_ns;
    va_list args;

    if (log->quiet)
        return;
    elapsed_ns = log->now() - log->began_ns;
    if (elapsed_ns < log->next_ns)
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    wipe(log);
    fputs("shardsim: ", log->file);
    escape_put(log->file, line);
    if (log->is_tty) {
        log->line_open = true;
        log->next_ns = elapsed_ns + TTY_NEXT_NS;
    } else {
        fputc('\n', log->file);
        log->next_ns = 2 * elapsed_ns;
    }
    fflush(log->file);
}

void log_progress_end(struct log *log)
{
    wipe(log);
    fflush(log->file);
}
