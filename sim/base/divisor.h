/* base/divisor.h - numbers that divide others: counts of devices, widths and batches.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_DIVISOR_H
#define BASE_DIVISOR_H

#include <stdint.h>

/* The greatest common divisor of two numbers of at least 0, not both 0. */
int64_t divisor_common(int64_t a, int64_t b);

/* The divisors of `whole` next to a number of at least 1, below and above it; 0: none.
 */
int64_t divisor_below(int64_t whole, int64_t number);
int64_t divisor_above(int64_t whole, int64_t number);

#endif /* BASE_DIVISOR_H */
