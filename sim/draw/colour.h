/* colour.h - a colour for every number, told apart from its neighbours', and shades of one.
 *
 * Those of boxes are light, to be read with dark text on them, those of lines dark.
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

/* The colour of a number from 0: of a box, and of a line. */
struct colour colour_of(int32_t number);
struct colour colour_line(int32_t number);

/* From white (0) to a full blue (1). */
struct colour colour_shade(double shade);

/* The nearest of the 6x6x6 colours of a terminal with 256. */
int colour_terminal(struct colour colour);

#endif /* DRAW_COLOUR_H */
