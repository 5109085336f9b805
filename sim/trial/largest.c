/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/largest.h"

#include <math.h>

/* The first value that is not to be tried. */
static int64_t end_of(const struct largest *l)
{
    return l->fails > 0 ? l->fails : l->most + 1;
}

/* Where the line through the last two values crosses 0, kept between `fits` and `end`; the middle
 * of the two if the line does not rise. */
static int64_t crossing(const struct largest *l, int64_t fits, int64_t end)
{
    double slope = (l->excess[1] - l->excess[0]) / (l->values[1] - l->values[0]);
    double at = floor(l->values[1] - l->excess[1] / slope);

    if (!isfinite(slope) || slope <= 0)
        return fits + (end - fits) / 2;
    if (at <= (double)fits)
        return fits + 1;
    return at >= (double)end ? end - 1 : (int64_t)at;
}

int64_t largest_next(const struct largest *l)
{
    int64_t end = end_of(l);

    if (l->tries <= 0 || largest_is_exact(l))
        return 0;
    if (l->values[1] == 0)
        return 1;
    if (l->straight && l->values[0] > 0)
        return crossing(l, l->fits, end);
    return l->fails == 0 && 2 * l->fits < end ? 2 * l->fits : l->fits + (end - l->fits) / 2;
}

void largest_tell(struct largest *l, int64_t value, double excess)
{
    l->tries--;
    if (excess <= 0) {
        l->fits = value;
        l->fails = l->fails > value ? l->fails : 0;
    } else if (l->fails == 0 || value < l->fails) {
        l->fails = value;
    }
    l->values[0] = l->values[1];
    l->excess[0] = l->excess[1];
    l->values[1] = (double)value;
    l->excess[1] = excess;
}

bool largest_is_exact(const struct largest *l)
{
    return end_of(l) - l->fits <= 1;
}
