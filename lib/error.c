/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/error.h>

#include <stdarg.h>
#include <stdio.h>

int shd_error_set(struct shd_error *err, int status, const char *fmt, ...)
{
    if (!err)
        return status;

    va_list ap;

    err->status = status;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
    va_end(ap);
    return status;
}

const char *shd_status_name(int status)
{
    static const char *const names[] = {
        [-SHD_OK] = "ok",
        [-SHD_EINVAL] = "invalid",
        [-SHD_ENOMEM] = "no-memory",
        [-SHD_ERANGE] = "range",
        [-SHD_EINDIVISIBLE] = "indivisible",
        [-SHD_EDUPAXIS] = "duplicate-axis",
        [-SHD_ENOAXIS] = "axis-not-in-mesh",
        [-SHD_ESPECLONG] = "spec-too-long",
        [-SHD_ENOTFOUND] = "not-found",
        [-SHD_ETYPE] = "type",
        [-SHD_EUNSUPPORTED] = "unsupported",
        [-SHD_EREGEX] = "regex",
        [-SHD_ENOMESH] = "no-mesh",
        [-SHD_EDEVMEM] = "device-memory",
        [-SHD_ESTOPPED] = "stopped",
        [-SHD_EMISMATCH] = "mismatch",
        [-SHD_ESTUCK] = "stuck",
        [-SHD_ESYSTEM] = "system",
    };
    const int nnames = (int)(sizeof(names) / sizeof(names[0]));

    return status <= 0 && status > -nnames ? names[-status] : "unknown";
}
