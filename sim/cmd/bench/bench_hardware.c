/* Measuring this machine for a hardware file (bench_hardware.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cmd/bench/bench_hardware.h"

#include "base/log.h"
#include "calibrate/machine.h"
#include "command/command.h"

/* A machine_opts.begins. */
static void show(void *arg, unsigned ndone, unsigned ntotal, const char *what)
{
    log_progress(arg, ndone, ntotal, what);
}

int bench_hardware(uint32_t repeats, const char *output)
{
    struct text text = TEXT_INIT;
    struct machine machine;
    struct shd_error err;
    struct log log;
    struct machine_opts opts = {
        .repeats = repeats, .stop_request = &cmd_stop_request, .begins = show, .arg = &log};
    int status, exit;

    log_init(&log, stderr);
    log_progress_begin(&log);
    status = machine_measure(&machine, &opts, &err);
    log_progress_end(&log);
    if (status != SHD_OK) {
        if (!cmd_is_stopped(status))
            cmd_error("%s", err.text);
        return cmd_exit_of(status);
    }
    machine_print(&machine, &text);
    exit = cmd_write(output, &text);
    text_fini(&text);
    return exit;
}
