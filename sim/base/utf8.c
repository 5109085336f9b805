/* Decoding UTF-8 (base/utf8.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/utf8.h"

/* The length of a character, from its first byte, and that byte's payload bits; 0 if no character
 * begins with it. */
static size_t announced(unsigned char first, uint32_t *bits)
{
    if (first < 0x80) {
        *bits = first;
        return 1;
    }
    if (first >= 0xc2 && first < 0xe0) {
        *bits = first & 0x1f;
        return 2;
    }
    if (first >= 0xe0 && first < 0xf0) {
        *bits = first & 0x0f;
        return 3;
    }
    if (first >= 0xf0 && first < 0xf5) {
        *bits = first & 0x07;
        return 4;
    }
    return 0;
}

size_t utf8_next(const char *bytes, size_t length, uint32_t *code)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t value;

    if (length == 0)
        return 0;
    size_t n = announced((unsigned char)bytes[0], &value);
    if (n == 0 || n > length)
        return 0;
    for (size_t i = 1; i < n; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if ((byte & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (byte & 0x3f);
    }
    if (value < smallest[n] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *code = value;
    return n;
}

size_t utf8_count(const char *bytes, size_t length)
{
    size_t count = 0;

    for (size_t at = 0; at < length; count++) {
        uint32_t code;
        size_t n = utf8_next(bytes + at, length - at, &code);
        at += n ? n : 1;
    }
    return count;
}

size_t utf8_cut(const char *bytes, size_t length, size_t limit)
{
    if (length <= limit)
        return length;
    while (limit > 0 && ((unsigned char)bytes[limit] & 0xc0) == 0x80)
        limit--;
    return limit;
}
