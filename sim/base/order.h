/* base/order.h - orders of numbers, for qsort().
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

#include <stdint.h>

/* Of two int32_t, or two double. */
static inline int order_int32(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

static inline int order_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

#endif /* BASE_ORDER_H */
