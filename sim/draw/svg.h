/* svg.h - the page that every picture is drawn on, and the elements that it is made of.
 *
 * Pictures are laid out where they are made, with fonts of a known width, so that no viewer has to
 * decide anything.  A drawing adds its elements to a text of its own, from the corner (0, 0) to the
 * right and down, in pixels; svg_page() puts it under a title and over its notes, in the middle of
 * a page of a slide's proportions.  Where a viewer prefers dark pages, the page and the lines of
 * text and axes on it turn; boxes keep their colours, and the dark text that stands in them.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DRAW_SVG_H
#define DRAW_SVG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "draw/colour.h"

#define SVG_LINE_HEIGHT 18 /* one and a half times the text, which is 12 px */
#define SVG_CHAR_WIDTH 7.3 /* of the monospaced font at 12 px */
#define SVG_NOTE_WIDTH 7.0 /* of the other one, mostly; of a title 9.4 */
#define SVG_WIDTH 960      /* of a page whose text is legible on a slide */
#define SVG_HEIGHT 540
#define SVG_ROOM (SVG_WIDTH - 48) /* of it for a drawing */

/* How the line of a limit is drawn, as attributes of its path. */
#define SVG_LIMIT "class=\"b\" style=\"stroke:#c03028;stroke-width:1.5;stroke-dasharray:5 3\""

/* What a picture says besides what is drawn; the caller's. */
struct svg_page {
    const char *title;
    const char *const *notes; /* sentences below */
    size_t nnotes;
};

/* Write a whole document: a drawing of a size in pixels on its page.  Title and notes are wrapped.
 * Whatever failed in `drawing` fails `out`. */
void svg_page(struct text *out, const struct svg_page *page, const struct text *drawing,
              double width, double height);

/* Write at a point.  Styles: t title, h heading, l label, n note, v value, on the page; c, in a
 * box.  `anchor` is start, middle or end.  "" writes nothing. */
void svg_text(struct text *out, double x, double y, const char *style, const char *anchor,
              const char *s);

void svg_box(struct text *out, double x, double y, double width, double height, struct colour fill);

/* A box of a style: b a border, e a thin one, i idle time or an empty place, x hatched. */
void svg_styled_box(struct text *out, double x, double y, double width, double height,
                    const char *style);

/* An entry of a legend. */
struct svg_key {
    const char *name;
    struct colour colour;
    const char *styles; /* drawn over it, a letter each: "ex"; "" for none */
    bool line;          /* of a line, not of boxes */
};

/* Draw a legend from a point on, wrapped into lines of a width; returns where it ends below. */
double svg_keys(struct text *out, double x, double y, double width, const struct svg_key *keys,
                size_t nkeys);

/* How far a sentence goes in characters of a width. */
double svg_length(const char *sentence, double char_width);

#endif /* DRAW_SVG_H */
