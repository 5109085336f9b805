/* base/diag_pack.h - messages packed into bytes for another process, and unpacked again.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_DIAG_PACK_H
#define BASE_DIAG_PACK_H

#include "base/diag.h"
#include "base/pack.h"

void diag_pack(const struct diag *diag, struct text *out);

/* Unpack into an empty diag.  False: no memory, or the bytes are not packed messages.  Free it with
 * diag_fini() either way. */
bool diag_unpack(struct diag *out, struct unpack *from);

#endif /* BASE_DIAG_PACK_H */
