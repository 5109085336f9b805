/* Figures for the terminal.
 *
 * Each grid, or band of its columns, becomes a block of lines of one width; blocks flow side by
 * side as far as the line goes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "draw/figure.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/wrap.h"
#include "draw/colour.h"

#define GAP 3 /* columns between blocks */

/* Box drawing characters: bar, line, and for top, middle and bottom the left end, crossing and
 * right end. */
struct strokes {
    const char *bar, *line, *ends[3][3];
};

static const struct strokes unicode_strokes = {
    "│", "─", {{"┌", "┬", "┐"}, {"├", "┼", "┤"}, {"└", "┴", "┘"}}};
static const struct strokes ascii_strokes = {
    "|", "-", {{"+", "+", "+"}, {"+", "+", "+"}, {"+", "+", "+"}}};
static const char *const unicode_shades[] = {"·", "░", "▒", "▓", "█"};
static const char *const ascii_shades[] = {".", "-", "+", "*", "#"};
#define NSHADES 5 /* in each list above, from light to dark */

/* The layout of a grid. */
struct layout {
    const struct figure *figure;
    const struct figure_grid *grid;
    const struct figure_style *style;
    size_t label;    /* columns of row labels, with the gap after them */
    size_t part;     /* columns of one part */
    size_t per_line; /* parts on one line of a cell */
    size_t cell;     /* columns inside a cell */
    bool compact;    /* a character for each cell */
    uint32_t band;   /* grid columns in a block */
};

struct block {
    struct text *lines;
    size_t nlines, width;
};

struct blocks {
    struct block *list;
    size_t n;
    bool failed;
};

/* Terminal columns of a text: escapes and UTF-8 continuation bytes take none. */
static size_t width_of(const char *s)
{
    size_t width = 0;

    for (; *s; s++) {
        if (*s == '\033')
            s += strcspn(s, "m");
        else
            width += ((unsigned char)*s & 0xc0) != 0x80;
    }
    return width;
}

static void spaces(struct text *t, size_t n)
{
    while (n-- > 0)
        text_add_char(t, ' ');
}

static void add_right(struct text *t, const char *s, size_t width)
{
    size_t have = width_of(s);

    spaces(t, have < width ? width - have : 0);
    text_add(t, s);
}

static void add_centred(struct text *t, const char *s, size_t width)
{
    size_t have = width_of(s), left = have < width ? (width - have) / 2 : 0;

    spaces(t, left);
    text_add(t, s);
    spaces(t, have < width ? width - have - left : 0);
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

/* ---- layout of a grid ---- */

static size_t widest_label(const char *const *labels, uint32_t n)
{
    size_t widest = 0;

    for (uint32_t i = 0; i < n; i++)
        if (width_of(or_empty(labels[i])) > widest)
            widest = width_of(or_empty(labels[i]));
    return widest;
}

static size_t band_width(const struct layout *l, uint32_t ncolumns)
{
    if (l->compact)
        return l->label + ncolumns;
    return l->label + ncolumns * (l->cell + 1) + 1;
}

static void set_cell(struct layout *l, size_t per_line)
{
    size_t labels = widest_label(l->grid->column_labels, l->grid->ncolumns);

    l->per_line = per_line;
    l->cell = per_line * (l->part + 2); /* a space before and after each */
    if (l->cell < labels)
        l->cell = labels;
}

static void lay_out(struct layout *l)
{
    const struct figure_grid *g = l->grid;
    uint32_t most = 1;

    for (size_t i = 0; i < (size_t)g->nrows * g->ncolumns; i++) {
        const struct figure_cell *c = &g->cells[i];

        most = c->nparts > most ? c->nparts : most;
    }
    for (size_t p = 0; p < l->figure->nparts; p++) { /* across all grids, for equal cells */
        size_t width = width_of(l->figure->parts[p].text);

        l->part = width > l->part ? width : l->part;
    }
    l->label = widest_label(g->row_labels, g->nrows);
    l->label = width_of(g->row_title) > l->label ? width_of(g->row_title) : l->label;
    l->label += l->label ? 1 : 0;
    set_cell(l, most);
    while (band_width(l, g->ncolumns) > l->style->width && l->per_line > 1)
        set_cell(l, l->per_line - 1);
    l->compact = g->shaded && band_width(l, g->ncolumns) > l->style->width;
    for (l->band = g->ncolumns; l->band > 1 && band_width(l, l->band) > l->style->width;)
        l->band--;
}

/* ---- cells ---- */

static void begin_colour(struct text *t, const struct figure_style *style, struct colour colour)
{
    if (style->colour)
        text_addf(t, "\033[30;48;5;%dm", colour_terminal(colour));
}

static void end_colour(struct text *t, const struct figure_style *style)
{
    if (style->colour)
        text_add(t, "\033[0m");
}

static void add_shade(struct text *t, const struct layout *l, double shade)
{
    const char *const *shades = l->style->ascii ? ascii_shades : unicode_shades;
    int level = shade <= 0 ? 0 : 1 + (int)(shade * (NSHADES - 1.001));

    text_add(t, shades[level]);
}

/* Append a part.  Parts of a grid are padded to the widest, so that numbers align.  Parts of a set
 * have the colour of the first, and commas between them. */
static void add_part(struct text *t, const struct layout *l, const struct figure_cell *cell,
                     size_t p, size_t width)
{
    const struct figure_part *part = &l->figure->parts[cell->first + p];
    int32_t colour = cell->set ? l->figure->parts[cell->first].colour : part->colour;
    bool comma = cell->set && p + 1 < cell->nparts;
    bool shaded = l->grid->shaded && cell->shade > 0;
    bool coloured = colour != FIGURE_PLAIN || shaded;
    size_t left = width > l->part ? (width - l->part) / 2 : 0;

    if (coloured)
        begin_colour(t, l->style, shaded ? colour_shade(cell->shade) : figure_colour(colour));
    spaces(t, left);
    add_right(t, part->text, l->part);
    if (comma)
        text_add_char(t, ',');
    spaces(t, width - left - l->part - comma);
    if (coloured)
        end_colour(t, l->style);
}

/* Append one line of a cell: its parts from `from` on; a single part fills the cell. */
static void add_cell_line(struct text *t, const struct layout *l, const struct figure_cell *cell,
                          size_t from)
{
    size_t n = from < cell->nparts ? cell->nparts - from : 0;
    size_t width = cell->nparts == 1 ? l->cell : l->part + 2, left;

    n = n < l->per_line ? n : l->per_line;
    left = cell->nparts == 1 ? 0 : (l->cell - l->per_line * width) / 2;
    spaces(t, left);
    for (size_t p = from; p < from + n; p++)
        add_part(t, l, cell, p, width);
    spaces(t, l->cell - left - n * width);
}

/* ---- blocks ---- */

static struct text *next_line(struct block *b)
{
    return &b->lines[b->nlines++];
}

static uint32_t lines_of_row(const struct layout *l, uint32_t row, uint32_t from, uint32_t n)
{
    uint32_t most = 1;

    for (uint32_t c = from; c < from + n; c++) {
        uint32_t parts = l->grid->cells[(size_t)row * l->grid->ncolumns + c].nparts;
        uint32_t lines = (parts + (uint32_t)l->per_line - 1) / (uint32_t)l->per_line;

        most = lines > most ? lines : most;
    }
    return most;
}

static void add_border(struct block *b, const struct layout *l, uint32_t n, int which)
{
    const struct strokes *s = l->style->ascii ? &ascii_strokes : &unicode_strokes;
    struct text *t = next_line(b);

    spaces(t, l->label);
    for (uint32_t c = 0; c < n; c++) {
        text_add(t, s->ends[which][c ? 1 : 0]);
        for (size_t i = 0; i < l->cell; i++)
            text_add(t, s->line);
    }
    text_add(t, s->ends[which][2]);
}

static void add_row(struct block *b, const struct layout *l, uint32_t row, uint32_t from,
                    uint32_t n)
{
    const struct figure_grid *g = l->grid;
    uint32_t nlines = lines_of_row(l, row, from, n);

    for (uint32_t line = 0; line < nlines; line++) {
        struct text *t = next_line(b);

        add_right(t, line == (nlines - 1) / 2 ? or_empty(g->row_labels[row]) : "",
                  l->label ? l->label - 1 : 0);
        spaces(t, l->label ? 1 : 0);
        for (uint32_t c = from; c < from + n; c++) {
            text_add(t, l->style->ascii ? ascii_strokes.bar : unicode_strokes.bar);
            add_cell_line(t, l, &g->cells[(size_t)row * g->ncolumns + c], line * l->per_line);
        }
        text_add(t, l->style->ascii ? ascii_strokes.bar : unicode_strokes.bar);
    }
}

/* Add titles and column labels. */
static void add_head(struct block *b, const struct layout *l, uint32_t from, uint32_t n)
{
    const struct figure_grid *g = l->grid;
    size_t inner = b->width - l->label;
    struct text *t;

    if (*g->title)
        text_add(next_line(b), g->title);
    if (*g->column_title) {
        t = next_line(b);
        spaces(t, l->label);
        add_centred(t, g->column_title, inner);
    }
    if (!*g->row_title && !widest_label(g->column_labels, g->ncolumns))
        return;
    t = next_line(b);
    add_right(t, g->row_title, l->label ? l->label - 1 : 0);
    spaces(t, l->label ? 1 : 0);
    for (uint32_t c = from; c < from + n; c++) {
        spaces(t, 1);
        add_centred(t, or_empty(g->column_labels[c]), l->cell);
    }
}

/* Add a compact grid: a character for each cell, and a label for every tenth column. */
static void add_compact(struct block *b, const struct layout *l, uint32_t from, uint32_t n)
{
    const struct figure_grid *g = l->grid;
    struct text *t = next_line(b);

    if (*g->title)
        text_add(next_line(b), g->title);
    if (*g->column_title) {
        spaces(t, l->label);
        text_add(t, g->column_title);
        t = next_line(b);
    }
    add_right(t, g->row_title, l->label - 1);
    spaces(t, 1);
    for (uint32_t c = from; c < from + n; c++) {
        size_t have = width_of(text_get(t));

        if (c % 10 == 0 && have <= l->label + (c - from)) {
            spaces(t, l->label + (c - from) - have);
            text_add(t, or_empty(g->column_labels[c]));
        }
    }
    for (uint32_t r = 0; r < g->nrows; r++) {
        t = next_line(b);
        add_right(t, or_empty(g->row_labels[r]), l->label - 1);
        spaces(t, 1);
        for (uint32_t c = from; c < from + n; c++)
            add_shade(t, l, g->cells[(size_t)r * g->ncolumns + c].shade);
    }
}

/* The maximum number of lines of a block. */
static size_t count_lines(const struct layout *l, uint32_t from, uint32_t n)
{
    size_t lines = 5;

    for (uint32_t r = 0; r < l->grid->nrows; r++)
        lines += 1 + lines_of_row(l, r, from, n);
    return lines;
}

static void add_band(struct blocks *all, const struct layout *l, uint32_t from, uint32_t n)
{
    struct block b = {calloc(count_lines(l, from, n), sizeof *b.lines), 0, band_width(l, n)};

    if (!b.lines || !array_make_room(&all->list, all->n, sizeof *all->list)) {
        free(b.lines);
        all->failed = true;
        return;
    }
    if (l->compact) {
        add_compact(&b, l, from, n);
    } else {
        add_head(&b, l, from, n);
        add_border(&b, l, n, 0);
        for (uint32_t r = 0; r < l->grid->nrows; r++) {
            if (r > 0)
                add_border(&b, l, n, 1);
            add_row(&b, l, r, from, n);
        }
        add_border(&b, l, n, 2);
    }
    for (size_t i = 0; i < b.nlines; i++) { /* titles may be wider than the block */
        size_t width = width_of(text_get(&b.lines[i]));

        b.width = width > b.width ? width : b.width;
        all->failed |= b.lines[i].failed;
    }
    all->list[all->n++] = b;
}

static void add_grid(struct blocks *all, const struct figure *figure,
                     const struct figure_grid *grid, const struct figure_style *style)
{
    struct layout l = {.figure = figure, .grid = grid, .style = style};

    lay_out(&l);
    for (uint32_t from = 0; from < grid->ncolumns; from += l.band)
        add_band(all, &l, from, grid->ncolumns - from < l.band ? grid->ncolumns - from : l.band);
}

/* ---- the page ---- */

/* Print n blocks side by side, aligned at their last lines, as heads may differ in height. */
static void flow(const struct block *blocks, size_t n, struct text *out)
{
    size_t height = 0;

    for (size_t i = 0; i < n; i++)
        height = blocks[i].nlines > height ? blocks[i].nlines : height;
    for (size_t line = 0; line < height; line++) {
        size_t owed = 0; /* spaces, written only if something follows */

        for (size_t i = 0; i < n; i++) {
            size_t above = height - blocks[i].nlines;
            const char *s = line < above ? "" : text_get(&blocks[i].lines[line - above]);

            size_t length = strlen(s);

            while (length > 0 && s[length - 1] == ' ')
                length--;
            if (length > 0) {
                spaces(out, owed);
                text_add_bytes(out, s, length);
                owed = strlen(s) - length;
            }
            owed += blocks[i].width - (length > 0 ? width_of(s) : 0) + GAP;
        }
        text_add(out, "\n");
    }
}

/* Explain the characters of a compact grid. */
static void add_shade_key(const struct figure *figure, const struct figure_style *style,
                          struct text *out)
{
    const char *const *shades = style->ascii ? ascii_shades : unicode_shades;

    for (size_t g = 0; g < figure->ngrids; g++) {
        struct layout l = {.figure = figure, .grid = &figure->grids[g], .style = style};

        lay_out(&l);
        if (!l.compact)
            continue;
        text_addf(out, "%s none, then quarters of the maximum: %s %s %s %s\n", shades[0], shades[1],
                  shades[2], shades[3], shades[4]);
        return;
    }
}

/* Print the legend of colours, if there is one. */
static void add_keys(const struct figure *figure, const struct figure_style *style,
                     struct text *out)
{
    for (size_t i = 0; style->colour && i < figure->nkeys; i++) {
        begin_colour(out, style, figure_colour(figure->keys[i].colour));
        text_addf(out, " %s ", figure->keys[i].name);
        end_colour(out, style);
        text_add_char(out, i + 1 < figure->nkeys ? ' ' : '\n');
    }
}

void figure_draw_text(const struct figure *figure, const struct figure_style *style,
                      struct text *out)
{
    struct blocks all = {NULL, 0, figure->failed};

    for (size_t g = 0; g < figure->ngrids; g++)
        add_grid(&all, figure, &figure->grids[g], style);
    wrap_add(out, style->width, 0, 0, figure->title);
    for (size_t i = 0, n; i < all.n; i += n) {
        size_t width = all.list[i].width;

        for (n = 1; i + n < all.n && width + GAP + all.list[i + n].width <= style->width; n++)
            width += GAP + all.list[i + n].width;
        text_add(out, "\n");
        flow(all.list + i, n, out);
    }
    if (figure->nnotes)
        text_add(out, "\n");
    add_shade_key(figure, style, out);
    add_keys(figure, style, out);
    for (size_t i = 0; i < figure->nnotes; i++)
        wrap_add(out, style->width, 0, 0, figure->notes[i]);
    for (size_t i = 0; i < all.n; i++) {
        for (size_t k = 0; k < all.list[i].nlines; k++)
            text_fini(&all.list[i].lines[k]);
        free(all.list[i].lines);
    }
    free(all.list);
    out->failed |= all.failed;
}
