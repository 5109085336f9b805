/* base/uint128.h - whole numbers of 128 bits, for sums that a uint64_t does not hold: the flops of
 * a step, the bytes of all devices.
 *
 * What one op does on one device is a uint64_t, and checked: the program is refused where it does
 * not fit.  A program has fewer than 2^32 ops and a mesh fewer than 2^31 devices, so that sums over
 * both are below 2^127 and cannot wrap; nor does the product of two uint64_t.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_UINT128_H
#define BASE_UINT128_H

#include <stdbool.h>
#include <stddef.h>

__extension__ typedef unsigned __int128 uint128; /* printf() and ISO C have none */

#define UINT128_TEXT_MAX 40 /* 39 digits */

/* Print the exact digits into buf (NUL-terminated, cut if needed) and return buf, so that it can
 * stand in an argument list. */
const char *uint128_print(char *buf, size_t size, uint128 value);

/* The digits as an argument of a call; they live as long as the block around it. */
#define UINT128_DIGITS(value) uint128_print((char[UINT128_TEXT_MAX]){""}, UINT128_TEXT_MAX, (value))

/* Read what uint128_print() writes, nothing but digits; false where it is not that or too large. */
bool uint128_parse(uint128 *out, const char *text);

#endif /* BASE_UINT128_H */
