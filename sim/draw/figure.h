/* figure.h - a drawing as data: grids of labelled, coloured cells, with titles and notes.
 *
 * A cell holds parts, each a short text with a colour (mostly of a device), or a value that sets
 * its shade.  Several grids are small multiples, flowed side by side.  The same figure is drawn as
 * text and as SVG.  Circles of members with arrows, which come before the grids, are drawn only as
 * SVG, and notes should describe them in words.
 *
 * When memory runs out `failed` is set permanently and later additions do nothing, so that a caller
 * may add many times and check once.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DRAW_FIGURE_H
#define DRAW_FIGURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "draw/colour.h"

#define FIGURE_PLAIN (-1) /* no colour */
/* Colour value for a shade of one hue, darker for more: 0 to 100.  Not the colour of a device. */
#define FIGURE_SHADE(percent) (-2 - (int32_t)(percent))
#define FIGURE_KEYS_MAX 8
#define FIGURE_CELLS_MAX                                                     \
    65536 /* of one drawing, as of a matrix of 256 devices; no eye sees more \
           */

struct figure_part {
    const char *text;
    int32_t colour; /* see draw/colour.h; or FIGURE_PLAIN, FIGURE_SHADE() */
};

/* The meaning of a colour. */
struct figure_key {
    const char *name;
    int32_t colour;
};

struct figure_cell {
    uint32_t first, nparts; /* in the figure's parts */
    double shade;           /* 0..1 in shaded grids */
    bool set;               /* parts form one set, in the colour of the first: "0, 4" */
};

struct figure_grid {
    const char *title;                    /* "" for none */
    const char *row_title, *column_title; /* "" for none */
    uint32_t nrows, ncolumns;
    const char **row_labels, **column_labels; /* entries may be NULL */
    struct figure_cell *cells;                /* row-major */
    bool shaded;
    double
        ratio; /* height to width of all cells together, in a picture; 0: determined by their
                  texts */
    const char *scale[3]; /* of a shaded grid: meaning of no, half and full shade; "": not drawn */
};

struct figure_arrow {
    uint32_t from, to;
};

/* Members 0, 1, ... on a circle. */
struct figure_circle {
    const char *title;
    uint32_t nmembers;
    bool plain; /* members without colours */
    struct figure_arrow *arrows;
    size_t narrows;
};

struct figure {
    const char *title;
    const char **notes; /* sentences below the drawing */
    size_t nnotes;
    struct figure_grid *grids;
    size_t ngrids;
    struct figure_circle *circles;
    size_t ncircles;
    struct figure_key keys[FIGURE_KEYS_MAX];
    size_t nkeys;
    struct figure_part *parts;
    size_t nparts;
    char **strings; /* all texts, owned */
    size_t nstrings;
    bool failed;
};

void figure_init(struct figure *figure);
void figure_fini(struct figure *figure);

/* Format a text that lives as long as the figure; "" when memory has run out. */
const char *figure_print(struct figure *figure, const char *fmt, ...) SHD_PRINTF(2, 3);

void figure_add_note(struct figure *figure, const char *note);

/* Add to the legend; more than FIGURE_KEYS_MAX are left out. */
void figure_add_key(struct figure *figure, const char *name, int32_t colour);

/* Add a grid of empty cells without titles and labels; NULL when memory has run out.  Valid until
 * the next grid is added. */
struct figure_grid *figure_add_grid(struct figure *figure, uint32_t nrows, uint32_t ncolumns);

/* Begin to fill a cell, then add its parts.  Cells are filled one at a time. */
struct figure_cell *figure_cell(struct figure *figure, struct figure_grid *grid, uint32_t row,
                                uint32_t column);
void figure_add_part(struct figure *figure, struct figure_cell *cell, int32_t colour,
                     const char *text);

/* Add a circle without arrows; NULL when memory has run out.  Valid until the next is added. */
struct figure_circle *figure_add_circle(struct figure *figure, const char *title,
                                        uint32_t nmembers);
void figure_add_arrow(struct figure *figure, struct figure_circle *circle, uint32_t from,
                      uint32_t to);

/* The colour of a part that is not FIGURE_PLAIN. */
struct colour figure_colour(int32_t colour);

struct figure_style {
    size_t width; /* columns to fit into */
    bool ascii;   /* no box-drawing characters */
    bool colour;  /* with ANSI escapes */
};

/* Draw for a terminal.  Contents that do not fit are wrapped: parts inside cells, then columns into
 * bands; shaded grids use a character for each cell. */
void figure_draw_text(const struct figure *figure, const struct figure_style *style,
                      struct text *out);

/* Draw as an SVG document. */
void figure_draw_svg(const struct figure *figure, struct text *out);

#endif /* DRAW_FIGURE_H */
