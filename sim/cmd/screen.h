/* screen.h - where drawings and lessons go: a terminal of some width, colours or none, or a file.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CMD_SCREEN_H
#define CMD_SCREEN_H

#include <argp.h>

#include "draw/figure.h"

struct screen {
    struct figure_style style;
    const char *output; /* file; NULL: standard output */
};

/* --ascii, --color, for another parser's children; their input is a struct screen. */
extern const struct argp screen_argp;
/* The same with --output. */
extern const struct argp screen_output_argp;

/* What the environment says: standard output, COLUMNS, NO_COLOR. */
void screen_init(struct screen *screen);

/* Draw a figure where it is wanted; returns the exit status. */
int screen_draw(const struct screen *screen, const struct figure *figure);

#endif /* CMD_SCREEN_H */
