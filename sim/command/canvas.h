/* canvas.h - the output of drawings and lessons: a terminal of some width, with or without colours,
 * or a file.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMMAND_CANVAS_H
#define COMMAND_CANVAS_H

#include <shd/error.h>

#include "draw/curves.h"
#include "draw/figure.h"
#include "draw/lanes.h"
#include "draw/stack.h"

struct canvas {
    struct figure_style style;
    const char *output; /* file; NULL: standard output */
};

/* Initialize from the environment: standard output, COLUMNS, NO_COLOR. */
void canvas_init(struct canvas *canvas);

/* Whether the output is a picture, not text. */
bool canvas_is_picture(const struct canvas *canvas);

/* Draw a figure, lanes, curves, or stacked bytes to the output; returns the exit status. */
int canvas_draw(const struct canvas *canvas, const struct figure *figure);
int canvas_draw_lanes(const struct canvas *canvas, const struct lanes *lanes);
int canvas_draw_curves(const struct canvas *canvas, const struct curves *curves);
int canvas_draw_stack(const struct canvas *canvas, const struct stack *stack);

/* Draw a figure if `status` is SHD_OK, else print the error; frees the figure.  Returns the exit
 * status. */
int canvas_end(const struct canvas *canvas, struct figure *figure, int status,
               const struct shd_error *err);

/* Write text in place of a drawing; returns the exit status. */
int canvas_put(const struct canvas *canvas, const struct text *text);

#endif /* COMMAND_CANVAS_H */
