/* base/pack.h - numbers and strings in a row of bytes, to be read by another process of the
 * program.
 *
 * Both are of the same build, so nothing is said of types or of the order of bytes.  Bytes that end
 * too early make the reader `bad`, and what it reads from then on is 0 or "".
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_PACK_H
#define BASE_PACK_H

#include <stdint.h>

#include "base/text.h"

void pack_uint(struct text *out, uint64_t value);
void pack_bytes(struct text *out, const void *bytes, size_t length);
void pack_string(struct text *out,
                 const char *string); /* NULL is allowed, and comes back as such */

struct unpack {
    const char *at, *end;
    bool bad;
};

void unpack_init(struct unpack *out, const void *bytes, size_t length);
uint64_t unpack_uint(struct unpack *from);

/* As many bytes as were packed, else `bad`, and `out` is zeros. */
void unpack_bytes(struct unpack *from, void *out, size_t length);

/* A string that lies in the row: valid as long as that is. */
const char *unpack_string(struct unpack *from);

#endif /* BASE_PACK_H */
