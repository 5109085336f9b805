/* base/diag_pack.h - messages as a row of bytes for another process, and back.
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

/* Into one that is empty.  False: no memory, or the bytes are none of messages; free it with
 * diag_fini() either way. */
bool diag_unpack(struct diag *out, struct unpack *from);

#endif /* BASE_DIAG_PACK_H */
