/* The table of palettes (colour.h), made by a search for the largest least distance.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "draw/colour.h"

#include <math.h>

#define RGB(hex)                                       \
    {                                                  \
        (hex) >> 16 & 255, (hex) >> 8 & 255, (hex)&255 \
    }

static const struct colour boxes[COLOURS] = {RGB(0x249fe2), RGB(0xfacf7b), RGB(0xb87f3b),
                                             RGB(0x13daca), RGB(0x059265), RGB(0xb0b762),
                                             RGB(0x9bfdbc), RGB(0xdd8f84)};
static const struct colour lines[COLOUR_PAGES][COLOURS] = {
    {RGB(0x003967), RGB(0x9f6802), RGB(0x544259), RGB(0x41a349), RGB(0x5a0100), RGB(0x226e5b),
     RGB(0x0b0460), RGB(0xab033b)},
    {RGB(0x00bfe7), RGB(0xb25c42), RGB(0x93d269), RGB(0x77809f), RGB(0x3aebdc), RGB(0x06a188),
     RGB(0xd8fbd3), RGB(0xc89a22)},
};
static const struct colour phases[COLOUR_PAGES][COLOUR_PHASES] = {
    {RGB(0x004b9a), RGB(0xcd7a03), RGB(0x410041), RGB(0x00825c)},
    {RGB(0x5e6caa), RGB(0xfff589), RGB(0xdaa9cc), RGB(0x069f6d)},
};
static const struct colour heats[COLOUR_PAGES][COLOUR_HEATS] = {
    {RGB(0xf4f6f8), RGB(0xdde8f8), RGB(0xc6daf4), RGB(0xabc9ee), RGB(0x8fb5e6), RGB(0x2f6fc4),
     RGB(0x2660ad), RGB(0x1d5196), RGB(0x14427f), RGB(0x0c3468)},
    {RGB(0x1d2128), RGB(0x0c3468), RGB(0x14427f), RGB(0x1d5196), RGB(0x2660ad), RGB(0x2f6fc4),
     RGB(0x97bbe9), RGB(0xb4cff0), RGB(0xcfe0f6), RGB(0xe6effa)},
};
static const struct colour papers[COLOUR_PAGES] = {RGB(0xffffff), RGB(0x16181c)};

struct colour colour_of(int32_t number)
{
    return colour_lighter(boxes[number % COLOURS], number / COLOURS % 2 ? 0.45 : 0);
}

struct colour colour_line(int32_t number, enum colour_page page)
{
    return lines[page][number % COLOURS];
}

struct colour colour_phase(int phase, enum colour_page page)
{
    return phases[page][phase];
}

struct colour colour_heat(int level, enum colour_page page)
{
    return heats[page][level];
}

struct colour colour_paper(enum colour_page page)
{
    return papers[page];
}

/* Relative luminance of a channel of sRGB (IEC 61966-2-1). */
static double linear(uint8_t channel)
{
    double c = channel / 255.0;

    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

double colour_contrast(struct colour a, struct colour b)
{
    double of_a = 0.2126 * linear(a.red) + 0.7152 * linear(a.green) + 0.0722 * linear(a.blue);
    double of_b = 0.2126 * linear(b.red) + 0.7152 * linear(b.green) + 0.0722 * linear(b.blue);

    return (fmax(of_a, of_b) + 0.05) / (fmin(of_a, of_b) + 0.05);
}

struct colour colour_ink(struct colour box)
{
    static const struct colour black = RGB(0x111111), white = RGB(0xffffff);

    return colour_contrast(box, black) > colour_contrast(box, white) ? black : white;
}

static uint8_t lighter(uint8_t channel, double part)
{
    return (uint8_t)lround(channel + (255 - channel) * part);
}

struct colour colour_lighter(struct colour c, double part)
{
    return (struct colour){lighter(c.red, part), lighter(c.green, part), lighter(c.blue, part)};
}

struct colour colour_shade(double shade)
{
    return colour_lighter((struct colour){85, 160, 240}, 1 - shade);
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
