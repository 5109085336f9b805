/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "capture/hlo_reader.h"

#include "base/array.h"

int hlo_fault(struct reader *r, int status, const char *message)
{
    diag_failure(r->diag, (struct place){r->file, r->line, 1}, status, "%s", message);
    return status;
}

int hlo_grow(struct reader *r, void *items, uint32_t n, size_t size)
{
    return n < UINT32_MAX / 2 && array_make_room(items, n, size) ? SHD_OK
                                                                 : hlo_fault(r, SHD_ENOMEM, "");
}
