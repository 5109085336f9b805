/* Memory of a trace while it is read, and its error reports (torch_trace.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/array.h"
#include "capture/torch_trace.h"

#define NAME_MAX_SHOWN 60

void torch_trace_init(struct torch_trace *trace, const char *file, struct traces *traces,
                      struct diag *diag)
{
    *trace = (struct torch_trace){.file = file,
                                  .traces = traces,
                                  .diag = diag,
                                  .rank = TORCH_UNKNOWN,
                                  .world = TORCH_UNKNOWN};
}

void torch_trace_fini(struct torch_trace *trace)
{
    free(trace->events);
    free(trace->calls);
    free(trace->groups);
    free(trace->kernels);
    free(trace->description);
    *trace = (struct torch_trace){.file = NULL};
}

bool torch_trace_grow(struct torch_trace *trace, void *items, uint32_t n, size_t size)
{
    if (array_make_room32(items, n, size))
        return true;
    diag_no_memory(trace->diag);
    return false;
}

bool torch_trace_failed(struct torch_trace *trace, int status, const struct shd_error *err)
{
    if (status != SHD_OK)
        diag_failure(trace->diag, (struct place){trace->file, 0, 0}, status, "%s", err->text);
    return status != SHD_OK;
}

void torch_trace_refuse(const struct torch_trace *trace, const struct torch_call *call,
                        const char *fmt, ...)
{
    size_t length = call->name.length < NAME_MAX_SHOWN ? call->name.length : NAME_MAX_SHOWN;
    struct text text = TEXT_INIT;
    va_list args;

    va_start(args, fmt);
    text_addv(&text, fmt, args);
    va_end(args);
    if (text.failed)
        diag_no_memory(trace->diag);
    else
        diag_error(trace->diag, json_text_place(&call->at, trace->file), "%.*s: %s", (int)length,
                   call->name.at, text_get(&text));
    text_fini(&text);
}
