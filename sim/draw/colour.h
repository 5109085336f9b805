/* colour.h - the palettes of all pictures, and shades of one hue.
 *
 * The first COLOURS colours of a palette can be told apart by eyes of every kind and without any
 * colour, on light and dark pages; tests/draw/palette.c holds the table to that.  Numbers above repeat
 * lighter, so a picture never says by colour alone what a box or line is: it has a label, a pattern
 * or a marker too (svg.h).
 *
 * Colours of boxes are light, for dark text on them, and are the same on both pages; colours of
 * lines and phases are those of a page.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DRAW_COLOUR_H
#define DRAW_COLOUR_H

#include <stdint.h>

#define COLOURS 8       /* of boxes, and of lines */
#define COLOUR_PHASES 4 /* forward, backward, optimizer, transfers */
#define COLOUR_HEATS 10 /* levels of a heat map, from nothing to the most */

struct colour {
    uint8_t red, green, blue;
};

enum colour_page { COLOUR_LIGHT, COLOUR_DARK, COLOUR_PAGES };

/* The colours of a number from 0 on, for a box and for a line. */
struct colour colour_of(int32_t number);
struct colour colour_line(int32_t number, enum colour_page page);

struct colour colour_phase(int phase, enum colour_page page);
struct colour colour_heat(int level, enum colour_page page);

/* The page itself. */
struct colour colour_paper(enum colour_page page);

/* Black or white, whichever contrasts more with a box. */
struct colour colour_ink(struct colour box);

/* Contrast of two colours, 1 to 21, as WCAG 2.2 defines it. */
double colour_contrast(struct colour a, struct colour b);

/* A mix with white: `part` 0 is the colour itself, 1 is white. */
struct colour colour_lighter(struct colour colour, double part);

/* A shade from white (0) to full blue (1). */
struct colour colour_shade(double shade);

/* The nearest of the 6x6x6 colours of a 256-colour terminal. */
int colour_terminal(struct colour colour);

#endif /* DRAW_COLOUR_H */
