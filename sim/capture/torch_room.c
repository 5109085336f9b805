/* What is read of a trace: its room, which grows, and what went wrong.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include "capture/torch_trace.h"

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
    free(trace->description);
    *trace = (struct torch_trace){.file = NULL};
}

bool torch_trace_grow(struct torch_trace *trace, void **items, uint32_t *room, uint32_t n,
                      size_t size)
{
    uint32_t wanted = *room ? *room * 2 : 64;
    void *more;

    if (n < *room)
        return true;
    more = *room > UINT32_MAX / 4 ? NULL : reallocarray(*items, wanted, size);
    if (!more) {
        diag_no_memory(trace->diag);
        return false;
    }
    *items = more;
    *room = wanted;
    return true;
}

bool torch_trace_failed(struct torch_trace *trace, int status, const struct shd_error *err)
{
    if (status != SHD_OK)
        diag_failure(trace->diag, (struct place){trace->file, 0, 0}, status, "%s", err->text);
    return status != SHD_OK;
}
