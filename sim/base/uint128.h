/* base/uint128.h - 128-bit integers, for sums that exceed a uint64_t: the flops of a step, the
 * bytes of all devices.
 *
 * Figures of one op on one device are checked uint64_t: a program in which they do not fit is
 * refused.  A program has fewer than 2^32 ops and a mesh fewer than 2^31 devices, so that sums over
 * both are below 2^127 and cannot wrap; nor can the product of two uint64_t.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_UINT128_H
#define BASE_UINT128_H

#include <stdbool.h>
#include <stddef.h>

__extension__ typedef unsigned __int128 uint128; /* neither printf() nor ISO C has such a type */

#define UINT128_TEXT_MAX 40 /* 39 digits */

/* Print all digits into buf (NUL-terminated, cut if needed) and return buf, so that the call can be
 * an argument. */
const char *uint128_print(char *buf, size_t size, uint128 value);

/* Digits of a value, for use as an argument; the buffer lives as long as the enclosing block. */
#define UINT128_DIGITS(value) uint128_print((char[UINT128_TEXT_MAX]){""}, UINT128_TEXT_MAX, (value))

/* Parse decimal digits, as uint128_print() writes them; false for other text or too large a
 * number. */
bool uint128_parse(uint128 *out, const char *text);

#endif /* BASE_UINT128_H */
