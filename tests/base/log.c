/* Tests base/log.h with a clock of its own: short work is silent, long work is reported ever more
 * rarely, and a terminal's line is rewritten and removed at the end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/log.h"

#include <stdlib.h>
#include <string.h>

#include "../support/tap.h"

static int64_t clock_ns;

static int64_t read_clock(void)
{
    return clock_ns;
}

/* Work for `nsteps` steps of step_ns each; returns the written text. */
static char *work(bool is_tty, bool quiet, int nsteps, int64_t step_ns)
{
    char *written = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&written, &length);
    struct log log;

    log_init(&log, file);
    log.now = read_clock;
    log.is_tty = is_tty;
    log.quiet = quiet;
    log_progress_begin(&log);
    for (int i = 1; i <= nsteps; i++) {
        clock_ns += step_ns;
        log_progress(&log, (uint64_t)i, (uint64_t)nsteps, "work");
    }
    log_progress_end(&log);
    log_note(&log, "note %d", 1);
    log_warning(&log, "w");
    log_error(&log, "e");
    fclose(file);
    return written;
}

static void test(const char *what, char *written, const char *expected)
{
    if (!ok(strcmp(written, expected) == 0, "%s", what))
        diag("%s", written);
    free(written);
}

#define TAIL "shardsim: note 1\nshardsim: warning: w\nshardsim: error: e\n"
#define MS INT64_C(1000000)

int main(void)
{
    plan(0);
    test("a file: short work is silent", work(false, false, 9, 100 * MS), TAIL);
    test("a file: long work is told ever more rarely", work(false, false, 50, 100 * MS),
         "shardsim: work: 10/50\nshardsim: work: 20/50\nshardsim: work: 40/50\n" TAIL);
    test("a terminal: short work is silent", work(true, false, 1, 100 * MS), TAIL);
    test("a terminal: the line is rewritten, and taken away at the end",
         work(true, false, 3, 100 * MS),
         "shardsim: work: 2/3\r\033[Kshardsim: work: 3/3\r\033[K" TAIL);
    test("quiet: no progress, no notes", work(false, true, 50, 100 * MS),
         "shardsim: warning: w\nshardsim: error: e\n");
    return done();
}
