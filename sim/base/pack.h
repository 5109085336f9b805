/* base/pack.h - numbers and strings packed into bytes for another process of the same program.
 *
 * Writer and reader are the same build, so that the bytes carry no types and no byte order.  If the
 * bytes end too early the reader becomes `bad`, and reads only 0 and "" from then on.
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
                 const char *string); /* NULL is allowed, and is read back as NULL */

struct unpack {
    const char *at, *end;
    bool bad;
};

void unpack_init(struct unpack *out, const void *bytes, size_t length);
uint64_t unpack_uint(struct unpack *from);

/* Read `length` bytes.  If too few are left, sets `bad` and zeroes `out`. */
void unpack_bytes(struct unpack *from, void *out, size_t length);

/* Read a string: a pointer into the packed bytes, valid as long as they are. */
const char *unpack_string(struct unpack *from);

#endif /* BASE_PACK_H */
