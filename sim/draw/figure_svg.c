/* Figures as SVG.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "draw/figure.h"

#include <string.h>

#include "draw/colour.h"
#include "draw/svg.h"

/* Lengths are pixels of the picture, for text of 12 px. */
#define PAGE_WIDTH 960 /* grids flow within it; a wider grid makes the page wider */
#define PART_WIDTH_MIN 34 /* of a cell, so that it is no stripe */
#define GAP 36 /* between grids */
#define PART_HEIGHT 26 /* of a cell: a line with room above and below */
#define SHADED_LABELS_MAX 16 /* columns up to which shaded cells show their text */

/* Where a grid's parts go, in pixels from its corner. */
struct layout {
    const struct figure *figure;
    const struct figure_grid *grid;
    uint32_t across, down; /* parts of a cell */
    double part_width, part_height;
    double left, top; /* of the first cell */
    double width, height;
};

static size_t widest(const char *const *labels, uint32_t n)
{
    size_t most = 0;

    for (uint32_t i = 0; i < n; i++)
        if (labels[i] && strlen(labels[i]) > most)
            most = strlen(labels[i]);
    return most;
}

static bool shows_text(const struct figure_grid *grid)
{
    return !grid->shaded || grid->ncolumns <= SHADED_LABELS_MAX;
}

static void lay_out(struct layout *l, const struct figure *figure, const struct figure_grid *grid)
{
    uint32_t most = 1;
    size_t longest = 1, labels = widest(grid->column_labels, grid->ncolumns);
    size_t rows = widest(grid->row_labels, grid->nrows);

    *l = (struct layout){.figure = figure, .grid = grid, .across = 1};
    for (size_t i = 0; i < (size_t)grid->nrows * grid->ncolumns; i++) {
        const struct figure_cell *c = &grid->cells[i];

        most = c->nparts > most ? c->nparts : most;
    }
    for (size_t p = 0; p < figure->nparts; p++) /* of all grids, so that they are alike */
        if (strlen(figure->parts[p].text) > longest)
            longest = strlen(figure->parts[p].text);
    while (l->across * l->across < most)
        l->across++;
    l->down = (most + l->across - 1) / l->across;
    l->part_width = (double)longest * SVG_CHAR_WIDTH + 16;
    if (l->part_width < PART_WIDTH_MIN)
        l->part_width = PART_WIDTH_MIN;
    l->part_height = PART_HEIGHT;
    if (!shows_text(grid))
        l->part_width = l->part_height = grid->ncolumns > 64 ? 5 : 10;
    else if (l->part_width * l->across < (double)labels * SVG_CHAR_WIDTH + 6)
        l->part_width = ((double)labels * SVG_CHAR_WIDTH + 6) / l->across;
    if (strlen(grid->row_title) > rows)
        rows = strlen(grid->row_title);
    l->left = rows ? (double)rows * SVG_CHAR_WIDTH + 8 : 0;
    l->top = (*grid->title ? SVG_LINE_HEIGHT : 0) + (*grid->column_title ? SVG_LINE_HEIGHT : 0) +
             (labels || *grid->row_title ? SVG_LINE_HEIGHT : 0);
    l->width = l->left + l->part_width * l->across * grid->ncolumns;
    if (l->width < (double)strlen(grid->title) * SVG_CHAR_WIDTH)
        l->width = (double)strlen(grid->title) * SVG_CHAR_WIDTH;
    l->height = l->top + l->part_height * l->down * grid->nrows;
}

/* ---- one grid ---- */

static void draw_cell(const struct layout *l, double x, double y, const struct figure_cell *cell,
                      struct text *out)
{
    double width = l->part_width * l->across, height = l->part_height * l->down;
    uint32_t lines = (cell->nparts + l->across - 1) / l->across;

    if (l->grid->shaded)
        svg_box(out, x, y, width, height, colour_shade(cell->shade));
    for (uint32_t p = 0; p < cell->nparts; p++) {
        const struct figure_part *part = &l->figure->parts[cell->first + p];
        uint32_t line = p / l->across, n = cell->nparts - line * l->across;
        double w = width / (n < l->across ? n : l->across), h = height / lines;
        double at_x = x + w * (p % l->across), at_y = y + h * line;

        if (part->colour != FIGURE_PLAIN)
            svg_box(out, at_x, at_y, w, h, colour_of(part->colour));
        if (shows_text(l->grid))
            svg_text(out, at_x + w / 2, at_y + h / 2 + 4, "c", "middle", part->text);
    }
    if (shows_text(l->grid))
        text_addf(out,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"b\"/>\n", x,
                  y, width, height);
}

static void draw_labels(const struct layout *l, double x, double y, struct text *out)
{
    const struct figure_grid *g = l->grid;
    double width = l->part_width * l->across, height = l->part_height * l->down;
    uint32_t every_row = height < 14 ? 8 : 1, every_column = width < 18 ? 8 : 1;
    double line = y + 13;

    if (*g->title) {
        svg_text(out, x, line, "h", "start", g->title);
        line += SVG_LINE_HEIGHT;
    }
    if (*g->column_title) {
        svg_text(out, x + l->left + width * g->ncolumns / 2, line, "l", "middle", g->column_title);
        line += SVG_LINE_HEIGHT;
    }
    svg_text(out, x + l->left - 8, line, "l", "end", g->row_title);
    for (uint32_t c = 0; c < g->ncolumns; c += every_column)
        if (g->column_labels[c])
            svg_text(out, x + l->left + width * (c + 0.5), line, "l", "middle",
                     g->column_labels[c]);
    for (uint32_t r = 0; r < g->nrows; r += every_row)
        if (g->row_labels[r])
            svg_text(out, x + l->left - 8, y + l->top + height * (r + 0.5) + 4, "l", "end",
                     g->row_labels[r]);
}

static void draw_grid(const struct layout *l, double x, double y, struct text *out)
{
    const struct figure_grid *g = l->grid;
    double width = l->part_width * l->across, height = l->part_height * l->down;

    draw_labels(l, x, y, out);
    for (uint32_t r = 0; r < g->nrows; r++)
        for (uint32_t c = 0; c < g->ncolumns; c++)
            draw_cell(l, x + l->left + width * c, y + l->top + height * r,
                      &g->cells[(size_t)r * g->ncolumns + c], out);
    if (!shows_text(g))
        text_addf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"b\"/>\n",
                  x + l->left, y + l->top, width * g->ncolumns, height * g->nrows);
}

/* ---- the page ---- */

static double page_width(const struct figure *figure)
{
    double width = PAGE_WIDTH;
    struct layout l;

    for (size_t g = 0; g < figure->ngrids; g++) {
        lay_out(&l, figure, &figure->grids[g]);
        if (l.width + 2 * SVG_MARGIN > width)
            width = l.width + 2 * SVG_MARGIN;
    }
    return width;
}

/* Draw all grids, line by line; returns where the last line ends, and lowers *width to what was
 * used. */
static double draw_grids(const struct figure *figure, double *width, double y, struct text *out)
{
    double used = 0;
    double x = SVG_MARGIN, height = 0;
    struct layout l;

    for (size_t g = 0; g < figure->ngrids; g++) {
        lay_out(&l, figure, &figure->grids[g]);
        if (x > SVG_MARGIN && x + l.width > *width - SVG_MARGIN) {
            x = SVG_MARGIN;
            y += height + GAP;
            height = 0;
        }
        draw_grid(&l, x, y, out);
        x += l.width + GAP;
        used = x - GAP + SVG_MARGIN > used ? x - GAP + SVG_MARGIN : used;
        height = l.height > height ? l.height : height;
    }
    *width = used;
    return y + height;
}

void figure_draw_svg(const struct figure *figure, struct text *out)
{
    struct text body = TEXT_INIT;
    double width = page_width(figure), y = SVG_MARGIN + SVG_LINE_HEIGHT * 2;

    y = draw_grids(figure, &width, y, &body) + SVG_LINE_HEIGHT * 1.5;
    svg_widen(&width, figure->title, 9.2);
    for (size_t i = 0; i < figure->nnotes; i++, y += SVG_LINE_HEIGHT) {
        svg_widen(&width, figure->notes[i], 6.8);
        svg_text(&body, SVG_MARGIN, y, "n", "start", figure->notes[i]);
    }
    svg_begin(out, width, y + SVG_MARGIN / 2.0);
    svg_text(out, SVG_MARGIN, SVG_MARGIN + 10, "t", "start", figure->title);
    text_add(out, text_get(&body));
    text_add(out, "</svg>\n");
    out->failed |= body.failed || figure->failed;
    text_fini(&body);
}
