/* Packing numbers and strings into bytes (base/pack.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/pack.h"

#include <string.h>

void pack_bytes(struct text *out, const void *bytes, size_t length)
{
    text_add_bytes(out, bytes, length);
}

void pack_uint(struct text *out, uint64_t value)
{
    pack_bytes(out, &value, sizeof value);
}

/* Length including the NUL, then the bytes; length 0 stands for NULL. */
void pack_string(struct text *out, const char *string)
{
    size_t length = string ? strlen(string) + 1 : 0;

    pack_uint(out, length);
    if (string)
        pack_bytes(out, string, length);
}

void unpack_init(struct unpack *out, const void *bytes, size_t length)
{
    *out = (struct unpack){bytes, (const char *)bytes + length, false};
}

void unpack_bytes(struct unpack *from, void *out, size_t length)
{
    if (from->bad || (size_t)(from->end - from->at) < length) {
        from->bad = true;
        memset(out, 0, length);
        return;
    }
    memcpy(out, from->at, length);
    from->at += length;
}

uint64_t unpack_uint(struct unpack *from)
{
    uint64_t value;

    unpack_bytes(from, &value, sizeof value);
    return value;
}

const char *unpack_string(struct unpack *from)
{
    uint64_t length = unpack_uint(from);
    const char *string = from->at;

    if (from->bad)
        return "";
    if (length == 0)
        return NULL;
    if ((size_t)(from->end - string) < length || string[length - 1] != '\0') {
        from->bad = true;
        return "";
    }
    from->at += length;
    return string;
}
