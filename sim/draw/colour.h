/* colour.h - a colour for every number, distinct from its neighbours', and shades of one hue.
 *
 * Colours of boxes are light, for dark text on them; colours of lines are dark.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DRAW_COLOUR_H
#define DRAW_COLOUR_H

#include <stdint.h>

struct colour {
    uint8_t red, green, blue;
};

/* The colours of a number from 0 on, for a box and for a line. */
struct colour colour_of(int32_t number);
struct colour colour_line(int32_t number);

/* A shade from white (0) to full blue (1). */
struct colour colour_shade(double shade);

/* The nearest of the 6x6x6 colours of a 256-colour terminal. */
int colour_terminal(struct colour colour);

#endif /* DRAW_COLOUR_H */
