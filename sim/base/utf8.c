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

/* Ranges that are not one column wide (Unicode's East Asian Width W and F, and combining marks), in
 * whole blocks. */
static const struct {
    uint32_t first, last;
    size_t columns;
} ranges[] = {
    {0x300, 0x36f, 0},     {0x1100, 0x115f, 2},   {0x200b, 0x200d, 0},   {0x20d0, 0x20ff, 0},
    {0x2e80, 0x303e, 2},   {0x3041, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},
    {0xfe00, 0xfe0f, 0},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},
    {0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2}};

static size_t columns_of(uint32_t code)
{
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0] && code >= ranges[i].first; i++)
        if (code <= ranges[i].last)
            return ranges[i].columns;
    return 1;
}

size_t utf8_columns(const char *bytes, size_t length)
{
    size_t columns = 0;

    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t n = utf8_next(bytes + at, length - at, &code);

        columns += n ? columns_of(code) : 1;
        at += n ? n : 1;
    }
    return columns;
}

size_t utf8_cut(const char *bytes, size_t length, size_t limit)
{
    if (length <= limit)
        return length;
    while (limit > 0 && ((unsigned char)bytes[limit] & 0xc0) == 0x80)
        limit--;
    return limit;
}
