/* svg.h - the page of every picture, and the elements that pictures consist of.
 *
 * Layout is fixed when a picture is made, with fonts of a known width, so that viewers need not lay
 * out anything.  A drawing adds its elements to its own text, from the corner (0, 0) to the right
 * and down, in pixels; svg_page() puts it under a title and over its notes, in the middle of a page
 * with a slide's proportions.  In a viewer that prefers dark pages, the page, its text, axes and
 * lines have the colours of a dark page; boxes keep theirs, and the dark text in them.
 *
 * What a colour means is also said by a label, a pattern, a dash or the shape of a marker: number n
 * of each goes with colour n (colour.h).
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
#define SVG_NOTE_WIDTH 7.0 /* average of the proportional font; 9.4 in titles */
#define SVG_WIDTH 900      /* of a page whose text is legible on a slide and in a column */
#define SVG_HEIGHT 506
#define SVG_ROOM (SVG_WIDTH - 48) /* width for a drawing */

/* Attributes of the path of a limit's line. */
#define SVG_LIMIT "class=\"b\" style=\"stroke-width:2;stroke-dasharray:5 3\""

/* Title and notes of a picture; the caller's. */
struct svg_page {
    const char *title;
    const char *const *notes; /* sentences below the drawing */
    size_t nnotes;
};

/* Write a complete document: a drawing, with its size in pixels, on its page.  Title and notes are
 * wrapped.  A failure in `drawing` makes `out` fail. */
void svg_page(struct text *out, const struct svg_page *page, const struct text *drawing,
              double width, double height);

/* Write text at a point.  Styles on the page: t title, h heading, l label, n note, v value; in a
 * box: c.  `anchor` is start, middle or end. "" writes nothing. */
void svg_text(struct text *out, double x, double y, const char *style, const char *anchor,
              const char *s);

void svg_box(struct text *out, double x, double y, double width, double height, struct colour fill);

/* Draw a box of a style: b border, e thin border, i idle time or an empty place; patterns: x
 * hatched up, y hatched down, z ruled. */
void svg_styled_box(struct text *out, double x, double y, double width, double height,
                    const char *style);

/* Begin and end a path in the colour and dashes of line n; its moves are written in between. */
void svg_begin_line(struct text *out, int32_t number);
void svg_end_line(struct text *out);

/* Draw a marker of shape and colour n around a point: filled with an opacity, or hollow if that is
 * 0. */
void svg_marker(struct text *out, double x, double y, double radius, int32_t number,
                double opacity);

/* Write the definition of pattern n, dark on a colour, which `fill="url(#id)"` paints with; number
 * 0 is plain.  NULL: on no colour.  `scale` is its size across, below 1 in a picture that will be
 * stretched. */
void svg_pattern(struct text *out, const char *id, int32_t number, const struct colour *colour,
                 double scale);

enum svg_key_kind { SVG_KEY_BOX, SVG_KEY_LINE, SVG_KEY_MARKER };

/* An entry of a legend. */
struct svg_key {
    const char *name;
    enum svg_key_kind kind;
    struct colour colour; /* of a box */
    const char *pattern;  /* id of a pattern that fills it instead; NULL: none */
    const char *styles;   /* drawn over a box, a letter each: "ex"; "" for none */
    int32_t number;       /* of a line or marker */
};

/* Draw a legend from a point on, wrapped into lines of a width; returns where it ends below. */
double svg_keys(struct text *out, double x, double y, double width, const struct svg_key *keys,
                size_t nkeys);

/* The length of a sentence with a character width. */
double svg_length(const char *sentence, double char_width);

#endif /* DRAW_SVG_H */
