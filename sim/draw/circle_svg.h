/* circle_svg.h - members on a circle with arrows between them, as a part of a picture.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DRAW_CIRCLE_SVG_H
#define DRAW_CIRCLE_SVG_H

#include "draw/figure.h"

/* Width and height in pixels. */
double circle_width(const struct figure_circle *circle);
double circle_height(const struct figure_circle *circle);

/* Draw with the top left corner at a point. */
void circle_draw(const struct figure_circle *circle, double x, double y, struct text *out);

#endif /* DRAW_CIRCLE_SVG_H */
