/* svg.h - the elements that pictures are made of: text and boxes, in pixels.
 *
 * Pictures are laid out where they are made, with fonts of a known width, so that no viewer has to
 * decide anything.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DRAW_SVG_H
#define DRAW_SVG_H

#include "base/text.h"
#include "draw/colour.h"

#define SVG_MARGIN 24      /* around the page */
#define SVG_LINE_HEIGHT 18 /* one and a half times the text, which is 12 px */
#define SVG_CHAR_WIDTH 7.3 /* of the monospaced font at 12 px */

/* Begin a white page with the styles of text: t title, h heading, l label, c in a cell, n note; and
 * b, the border of a box.  End it with "</svg>\n". */
void svg_begin(struct text *out, double width, double height);

/* Text with what XML reserves escaped; control characters have no place in it. */
void svg_escape(struct text *out, const char *s);

/* Write at a point; `anchor` is start, middle or end.  "" writes nothing. */
void svg_text(struct text *out, double x, double y, const char *style, const char *anchor,
              const char *s);

void svg_box(struct text *out, double x, double y, double width, double height, struct colour fill);

/* Sentences are not wrapped: make the page as wide as one, in characters of a width. */
void svg_widen(double *width, const char *sentence, double char_width);

#endif /* DRAW_SVG_H */
