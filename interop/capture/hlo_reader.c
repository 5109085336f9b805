/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/hlo_reader.h"

int hlo_fault(struct reader *r, int status, const char *message)
{
    diag_failure(r->diag, (struct place){r->file, r->line, 1}, status, "%s", message);
    return status;
}

int hlo_note(struct reader *r, const char *fmt, ...)
{
    struct shd_error err;
    va_list args;
    int status;

    va_start(args, fmt);
    status = capture_notev(r->capture, &err, fmt, args);
    va_end(args);
    return status == SHD_OK ? SHD_OK : hlo_fault(r, status, err.text);
}
