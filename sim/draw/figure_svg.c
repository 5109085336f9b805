/* Figures as SVG: everything is laid out here in pixels, with fonts of a known width, so that no
 * viewer has to decide anything.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "draw/figure.h"

#include <string.h>

#include "draw/colour.h"

/* Lengths are pixels of the picture, for text of 12 px. */
#define PAGE_WIDTH 960 /* grids flow within it; a wider grid makes the page wider */
#define PART_WIDTH_MIN 34 /* of a cell, so that it is no stripe */
#define MARGIN 24 /* around the page */
#define GAP 36 /* between grids */
#define LINE_HEIGHT 18 /* one and a half times the text */
#define CHAR_WIDTH 7.3 /* of the monospaced font at 12 px */
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

/* Text with what XML reserves escaped; control characters have no place in it. */
static void add_escaped(struct text *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '&')
            text_add(out, "&amp;");
        else if (*s == '<')
            text_add(out, "&lt;");
        else if (*s == '>')
            text_add(out, "&gt;");
        else if ((unsigned char)*s >= 0x20)
            text_add_char(out, *s);
    }
}

/* Write at a point; `anchor` is start, middle or end. */
static void add_text(struct text *out, double x, double y, const char *class, const char *anchor,
                     const char *s)
{
    if (!*s)
        return;
    text_addf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", class, x, y,
              anchor);
    add_escaped(out, s);
    text_add(out, "</text>\n");
}

static void add_box(struct text *out, double x, double y, double width, double height,
                    struct colour fill)
{
    text_addf(out,
              "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
              "fill=\"#%02x%02x%02x\"/>\n",
              x, y, width, height, fill.red, fill.green, fill.blue);
}

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
    l->part_width = (double)longest * CHAR_WIDTH + 16;
    if (l->part_width < PART_WIDTH_MIN)
        l->part_width = PART_WIDTH_MIN;
    l->part_height = PART_HEIGHT;
    if (!shows_text(grid))
        l->part_width = l->part_height = grid->ncolumns > 64 ? 5 : 10;
    else if (l->part_width * l->across < (double)labels * CHAR_WIDTH + 6)
        l->part_width = ((double)labels * CHAR_WIDTH + 6) / l->across;
    if (strlen(grid->row_title) > rows)
        rows = strlen(grid->row_title);
    l->left = rows ? (double)rows * CHAR_WIDTH + 8 : 0;
    l->top = (*grid->title ? LINE_HEIGHT : 0) + (*grid->column_title ? LINE_HEIGHT : 0) +
             (labels || *grid->row_title ? LINE_HEIGHT : 0);
    l->width = l->left + l->part_width * l->across * grid->ncolumns;
    if (l->width < (double)strlen(grid->title) * CHAR_WIDTH)
        l->width = (double)strlen(grid->title) * CHAR_WIDTH;
    l->height = l->top + l->part_height * l->down * grid->nrows;
}

/* ---- one grid ---- */

static void draw_cell(const struct layout *l, double x, double y, const struct figure_cell *cell,
                      struct text *out)
{
    double width = l->part_width * l->across, height = l->part_height * l->down;
    uint32_t lines = (cell->nparts + l->across - 1) / l->across;

    if (l->grid->shaded)
        add_box(out, x, y, width, height, colour_shade(cell->shade));
    for (uint32_t p = 0; p < cell->nparts; p++) {
        const struct figure_part *part = &l->figure->parts[cell->first + p];
        uint32_t line = p / l->across, n = cell->nparts - line * l->across;
        double w = width / (n < l->across ? n : l->across), h = height / lines;
        double at_x = x + w * (p % l->across), at_y = y + h * line;

        if (part->colour != FIGURE_PLAIN)
            add_box(out, at_x, at_y, w, h, colour_of(part->colour));
        if (shows_text(l->grid))
            add_text(out, at_x + w / 2, at_y + h / 2 + 4, "c", "middle", part->text);
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
        add_text(out, x, line, "h", "start", g->title);
        line += LINE_HEIGHT;
    }
    if (*g->column_title) {
        add_text(out, x + l->left + width * g->ncolumns / 2, line, "l", "middle", g->column_title);
        line += LINE_HEIGHT;
    }
    add_text(out, x + l->left - 8, line, "l", "end", g->row_title);
    for (uint32_t c = 0; c < g->ncolumns; c += every_column)
        if (g->column_labels[c])
            add_text(out, x + l->left + width * (c + 0.5), line, "l", "middle",
                     g->column_labels[c]);
    for (uint32_t r = 0; r < g->nrows; r += every_row)
        if (g->row_labels[r])
            add_text(out, x + l->left - 8, y + l->top + height * (r + 0.5) + 4, "l", "end",
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
        if (l.width + 2 * MARGIN > width)
            width = l.width + 2 * MARGIN;
    }
    return width;
}

/* Draw all grids, line by line; returns where the last line ends, and lowers *width to what was
 * used. */
static double draw_grids(const struct figure *figure, double *width, double y, struct text *out)
{
    double used = 0;
    double x = MARGIN, height = 0;
    struct layout l;

    for (size_t g = 0; g < figure->ngrids; g++) {
        lay_out(&l, figure, &figure->grids[g]);
        if (x > MARGIN && x + l.width > *width - MARGIN) {
            x = MARGIN;
            y += height + GAP;
            height = 0;
        }
        draw_grid(&l, x, y, out);
        x += l.width + GAP;
        used = x - GAP + MARGIN > used ? x - GAP + MARGIN : used;
        height = l.height > height ? l.height : height;
    }
    *width = used;
    return y + height;
}

/* Sentences are not wrapped: the page is as wide as the longest. */
static void widen(double *width, const char *sentence, double char_width)
{
    double need = (double)strlen(sentence) * char_width + 2 * MARGIN;

    *width = need > *width ? need : *width;
}

void figure_draw_svg(const struct figure *figure, struct text *out)
{
    struct text body = TEXT_INIT;
    double width = page_width(figure), y = MARGIN + LINE_HEIGHT * 2;

    y = draw_grids(figure, &width, y, &body) + LINE_HEIGHT * 1.5;
    widen(&width, figure->title, 9.2);
    for (size_t i = 0; i < figure->nnotes; i++, y += LINE_HEIGHT) {
        widen(&width, figure->notes[i], 6.8);
        add_text(&body, MARGIN, y, "n", "start", figure->notes[i]);
    }
    text_addf(out,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
              "viewBox=\"0 0 %.0f %.0f\">\n"
              "<style>\n"
              ".t{font:600 15px sans-serif;fill:#1a1a1a}.h{font:600 12px sans-serif;fill:#1a1a1a}\n"
              ".l{font:12px monospace;fill:#666}.c{font:12px monospace;fill:#111}\n"
              ".n{font:12px sans-serif;fill:#444}.b{fill:none;stroke:#444;stroke-width:1}\n"
              "</style>\n"
              "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
              width, y + MARGIN / 2, width, y + MARGIN / 2);
    add_text(out, MARGIN, MARGIN + 10, "t", "start", figure->title);
    text_add(out, text_get(&body));
    text_add(out, "</svg>\n");
    out->failed |= body.failed || figure->failed;
    text_fini(&body);
}
