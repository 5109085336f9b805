/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/divisor.h"

int64_t divisor_common(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

int64_t divisor_below(int64_t whole, int64_t number)
{
    int64_t n = number <= whole ? number - 1 : whole;

    while (n > 0 && whole % n != 0)
        n--;
    return n > 0 ? n : 0;
}

int64_t divisor_above(int64_t whole, int64_t number)
{
    for (int64_t n = number + 1; n <= whole; n++)
        if (whole % n == 0)
            return n;
    return 0;
}
