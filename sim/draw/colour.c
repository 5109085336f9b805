/* Colours of numbers and shades (colour.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "draw/colour.h"

#include <math.h>

/* One channel of a hue (in turns) with a lightness and a chroma: the piecewise linear HSL ramp. */
static uint8_t channel(double hue, double shift, double light, double chroma)
{
    double k = fmod(hue * 12 + shift, 12);
    double ramp = fmax(-1, fmin(fmin(k - 3, 9 - k), 1));

    return (uint8_t)lround(255 * (light - chroma * ramp));
}

/* Multiples of the golden section keep neighbours far apart, and never repeat. */
static double hue_of(int32_t number)
{
    return fmod(0.58 + 0.618033988749895 * number, 1);
}

struct colour colour_line(int32_t number)
{
    /* Numbers that are 5, 8 or 13 apart have similar hues; three shades keep them apart. */
    double hue = hue_of(number), light = 0.28 + 0.13 * (number % 3), chroma = 0.26;

    return (struct colour){channel(hue, 0, light, chroma), channel(hue, 8, light, chroma),
                           channel(hue, 4, light, chroma)};
}

struct colour colour_of(int32_t number)
{
    double hue = hue_of(number);
    double light = number / 8 % 2 ? 0.68 : 0.80, chroma = 0.17;

    return (struct colour){channel(hue, 0, light, chroma), channel(hue, 8, light, chroma),
                           channel(hue, 4, light, chroma)};
}

struct colour colour_shade(double shade)
{
    return (struct colour){(uint8_t)lround(255 - 170 * shade), (uint8_t)lround(255 - 95 * shade),
                           (uint8_t)lround(255 - 15 * shade)};
}

/* Channels of the cube are 0, 95, 135, 175, 215, 255. */
static int cube(uint8_t value)
{
    return value < 48 ? 0 : value < 115 ? 1 : (value - 35) / 40;
}

int colour_terminal(struct colour colour)
{
    return 16 + 36 * cube(colour.red) + 6 * cube(colour.green) + cube(colour.blue);
}
