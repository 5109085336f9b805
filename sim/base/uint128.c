/* Printing and parsing 128-bit integers (base/uint128.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/uint128.h"

#include <stdio.h>

#define UINT128_MAX (~(uint128)0)

const char *uint128_print(char *buf, size_t size, uint128 value)
{
    char digits[UINT128_TEXT_MAX];
    char *first = digits + sizeof digits - 1;

    *first = '\0';
    do {
        *--first = (char)('0' + (int)(value % 10));
        value /= 10;
    } while (value);
    snprintf(buf, size, "%s", first);
    return buf;
}

bool uint128_parse(uint128 *out, const char *text)
{
    uint128 value = 0;

    if (!*text)
        return false;
    for (; *text; text++) {
        unsigned digit = (unsigned)*text - '0';

        if (digit > 9 || value > (UINT128_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}
