/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/error.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int shd_error_set(struct shd_error *err, int status, const char *fmt, ...)
{
    if (!err)
        return status;

    va_list ap;

    err->status = status;
    va_start(ap, fmt);
    if (fmt)
        vsnprintf(err->text, sizeof(err->text), fmt, ap);
    else
        err->text[0] = '\0';
    va_end(ap);
    return status;
}

bool shd_given(struct shd_error *err, const char *function, const char *names,
               const void *const *pointers, size_t n)
{
    if (!names || (!pointers && n > 0))
        return false;
    for (size_t i = 0; i < n; i++) {
        size_t length = strcspn(names, ",");

        if (!pointers[i]) {
            shd_error_set(err, SHD_EINVAL, "%s(): argument '%.*s' is NULL; expected an object",
                          function, (int)length, names);
            return false;
        }
        names += length;
        names += strspn(names, ", ");
    }
    return true;
}

bool shd_given_array(struct shd_error *err, const char *function, const char *name,
                     const void *array, size_t n)
{
    if (array || n == 0)
        return true;
    shd_error_set(err, SHD_EINVAL, "%s(): argument '%s' is NULL; expected an array of %zu",
                  function, name, n);
    return false;
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
        [-SHD_EINTERNAL] = "internal",
    };
    const int nnames = (int)(sizeof(names) / sizeof(names[0]));

    return status <= 0 && status > -nnames ? names[-status] : "unknown";
}
