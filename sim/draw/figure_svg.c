/* Figures as SVG.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "draw/figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/colour.h"
#include "draw/svg.h"

/* ---- members on a circle, with arrows between them ---- */

/* Lengths are pixels of the picture. */
#define MEMBER 14 /* radius of a member */
#define MEMBER_OF_MANY 10
#define APART 44 /* distance of neighbours' centres along the circle */
#define APART_OF_MANY 34
#define RADIUS_MIN 52
#define MANY 24  /* members */
#define HEAD 8   /* length of an arrow's head */
#define SIDE 3.5 /* distance between an arrow and its opposite */

struct place {
    double x, y;
};

static const double pi = 3.14159265358979323846;

static double member_radius(const struct figure_circle *c)
{
    return c->nmembers > MANY ? MEMBER_OF_MANY : MEMBER;
}

static double radius_of(const struct figure_circle *c)
{
    double apart = c->nmembers > MANY ? APART_OF_MANY : APART;

    return fmax(RADIUS_MIN, apart * c->nmembers / (2 * pi));
}

/* Width and height in pixels. */
static double circle_width(const struct figure_circle *circle)
{
    return fmax(2 * (radius_of(circle) + member_radius(circle)),
                svg_length(circle->title, SVG_CHAR_WIDTH));
}

static double circle_height(const struct figure_circle *circle)
{
    return 2 * (radius_of(circle) + member_radius(circle)) + 1.5 * SVG_LINE_HEIGHT;
}

/* The centre of a member; clockwise from the top. */
static struct place place_of(const struct figure_circle *c, uint32_t member)
{
    double angle = 2 * pi * member / c->nmembers, radius = radius_of(c);

    return (struct place){radius * sin(angle), -radius * cos(angle)};
}

/* Draw an arrow from the edge of one member to that of another, slightly right of the straight
 * line. */
static void draw_arrow(const struct figure_circle *c, const struct figure_arrow *arrow,
                       struct place middle, struct text *out)
{
    struct place a = place_of(c, arrow->from), b = place_of(c, arrow->to);
    double length = hypot(b.x - a.x, b.y - a.y);
    double dx = (b.x - a.x) / length, dy = (b.y - a.y) / length, edge = member_radius(c) + 1;
    double x = middle.x + b.x - dx * edge - dy * SIDE;
    double y = middle.y + b.y - dy * edge + dx * SIDE;
    double foot_x = x - dx * HEAD, foot_y = y - dy * HEAD, half = HEAD * 0.4;

    text_addf(out, "<path class=\"b\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
              middle.x + a.x + dx * edge - dy * SIDE, middle.y + a.y + dy * edge + dx * SIDE,
              foot_x, foot_y);
    text_addf(out, "<path class=\"a\" d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fZ\"/>\n", x, y,
              foot_x - dy * half, foot_y + dx * half, foot_x + dy * half, foot_y - dx * half);
}

/* Draw with the top left corner at a point. */
static void circle_draw(const struct figure_circle *circle, double x, double y, struct text *out)
{
    double radius = radius_of(circle) + member_radius(circle);
    struct place middle = {x + radius, y + 1.5 * SVG_LINE_HEIGHT + radius};
    char name[16];

    svg_text(out, x, y + 13, "h", "start", circle->title);
    for (size_t i = 0; i < circle->narrows; i++)
        draw_arrow(circle, &circle->arrows[i], middle, out);
    for (uint32_t m = 0; m < circle->nmembers; m++) {
        struct place at = place_of(circle, m);
        struct colour colour = circle->plain ? colour_shade(0) : colour_of((int32_t)m);

        text_addf(out,
                  "<circle class=\"s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%g\" "
                  "fill=\"#%02x%02x%02x\"/>\n",
                  middle.x + at.x, middle.y + at.y, member_radius(circle), colour.red, colour.green,
                  colour.blue);
        snprintf(name, sizeof name, "%u", m);
        svg_text(out, middle.x + at.x, middle.y + at.y + 4, "c", "middle", name);
    }
}

/* Lengths are pixels of the picture, for text of 12 px. */
#define PART_WIDTH_MIN 34    /* least width of a cell */
#define RATIO_SIDE 480.0     /* longer side of an array alone in its figure */
#define GAP 24               /* between grids */
#define PART_HEIGHT 26       /* of a cell: a line with room above and below */
#define SHADED_LABELS_MAX 32 /* most rows and columns of shaded cells with text */
#define SHADED_HEIGHT 480.0  /* of a grid whose cells show no text */
#define SCALE_STEPS 32       /* of the colour scale */
#define SCALE_STEP 5         /* length of a step */
#define SCALE_HEIGHT 40

/* The layout of a grid, in pixels from its corner.  A grid with too many rows or columns for a
 * slide is cut into bands. */
struct layout {
    const struct figure *figure;
    const struct figure_grid *grid;
    uint32_t across, down; /* parts of a cell */
    double cell_width, cell_height;
    double left, top;       /* of the first cell of a band */
    uint32_t rows, columns; /* of a band */
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
    return !grid->shaded ||
           (grid->ncolumns <= SHADED_LABELS_MAX && grid->nrows <= SHADED_LABELS_MAX);
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* The width of the slide that fits a drawing. */
static double slide_of(double width, double height)
{
    return larger(width, height * SVG_WIDTH / SVG_HEIGHT);
}

/* Arrange the parts of a cell: about as many across as down. */
static void lay_out_cell(struct layout *l)
{
    const struct figure_grid *grid = l->grid;
    uint32_t most = 1;
    size_t longest = 1, labels = widest(grid->column_labels, grid->ncolumns);

    for (size_t i = 0; i < (size_t)grid->nrows * grid->ncolumns; i++)
        most = grid->cells[i].nparts > most ? grid->cells[i].nparts : most;
    for (size_t p = 0; p < l->figure->nparts; p++) /* across all grids, for equal cells */
        if (strlen(l->figure->parts[p].text) > longest)
            longest = strlen(l->figure->parts[p].text);
    for (l->across = 1; l->across * l->across < most;)
        l->across++;
    l->down = (most + l->across - 1) / l->across;
    l->cell_width = l->across * larger((double)longest * SVG_CHAR_WIDTH + 8, PART_WIDTH_MIN);
    l->cell_height = PART_HEIGHT * l->down;
    if (!shows_text(grid))
        l->cell_width = l->cell_height =
            larger(floor(SHADED_HEIGHT / larger(grid->ncolumns, grid->nrows)), 3);
    else
        l->cell_width = larger(l->cell_width, (double)labels * SVG_CHAR_WIDTH + 6);
}

/* Enlarge the cells of a grid with a ratio: enough for their texts, and to fill a page. */
static void keep_ratio(struct layout *l)
{
    const struct figure_grid *grid = l->grid;
    double width = l->cell_width * grid->ncolumns, height = l->cell_height * grid->nrows;

    if (grid->ratio <= 0)
        return;
    if (l->figure->ngrids == 1)
        width = larger(width, RATIO_SIDE / larger(grid->ratio, 1));
    width = larger(width, height / grid->ratio);
    l->cell_width = width / grid->ncolumns;
    l->cell_height = width * grid->ratio / grid->nrows;
}

static uint32_t nbands(uint32_t n, uint32_t of)
{
    return of > 0 ? (n + of - 1) / of : 1;
}

/* Set the size of a grid whose bands of rows are side by side, or bands of columns one below the
 * other. */
static void set_bands(struct layout *l, uint32_t rows, uint32_t columns)
{
    uint32_t beside = nbands(l->grid->nrows, rows), below = nbands(l->grid->ncolumns, columns);

    l->rows = rows;
    l->columns = columns;
    l->width = beside * (l->left + l->cell_width * columns + GAP) - GAP;
    l->height = below * (l->top + l->cell_height * rows + GAP / 2.0) - GAP / 2.0;
}

/* Choose the bands that need the smallest slide; only grids larger than a page are cut. */
static void choose_bands(struct layout *l)
{
    uint32_t nrows = l->grid->nrows, ncolumns = l->grid->ncolumns;
    uint32_t rows = nrows, columns = ncolumns;
    double least;

    set_bands(l, nrows, ncolumns);
    least = slide_of(l->width, l->height);
    if (l->grid->shaded || least <= SVG_WIDTH)
        return;
    for (uint32_t n = 2; n <= nrows / 2; n++) {
        set_bands(l, nbands(nrows, n), ncolumns);
        if (slide_of(l->width, l->height) < least) {
            least = slide_of(l->width, l->height);
            rows = l->rows;
        }
    }
    for (uint32_t n = 2; n <= ncolumns / 2; n++) {
        set_bands(l, nrows, nbands(ncolumns, n));
        if (slide_of(l->width, l->height) < least) {
            least = slide_of(l->width, l->height);
            rows = nrows;
            columns = l->columns;
        }
    }
    set_bands(l, rows, columns);
}

static void lay_out(struct layout *l, const struct figure *figure, const struct figure_grid *grid)
{
    size_t rows = widest(grid->row_labels, grid->nrows);
    bool labels = widest(grid->column_labels, grid->ncolumns) > 0;

    *l = (struct layout){.figure = figure, .grid = grid};
    lay_out_cell(l);
    keep_ratio(l);
    if (strlen(grid->row_title) > rows)
        rows = strlen(grid->row_title);
    l->left = rows ? (double)rows * SVG_CHAR_WIDTH + 8 : 0;
    l->top = (*grid->title ? SVG_LINE_HEIGHT : 0) + (*grid->column_title ? SVG_LINE_HEIGHT : 0) +
             (labels || *grid->row_title ? SVG_LINE_HEIGHT : 0);
    choose_bands(l);
    l->width = larger(l->width, (double)strlen(grid->title) * SVG_CHAR_WIDTH);
    if (*grid->scale[0]) {
        l->height += SCALE_HEIGHT + SVG_LINE_HEIGHT;
        l->width = larger(l->width, l->left + SCALE_STEPS * SCALE_STEP);
    }
}

/* ---- one grid ---- */

/* Join the parts of one line of a cell. */
static void join_parts(struct text *out, const struct layout *l, const struct figure_cell *cell,
                       uint32_t from, uint32_t n)
{
    text_clear(out);
    for (uint32_t p = from; p < from + n; p++) {
        text_add(out, l->figure->parts[cell->first + p].text);
        text_add(out, p + 1 < cell->nparts ? ", " : "");
    }
}

/* Draw a set: one colour, members separated by commas. */
static void draw_set(const struct layout *l, double x, double y, const struct figure_cell *cell,
                     struct text *out)
{
    uint32_t lines = (cell->nparts + l->across - 1) / l->across;
    struct text words = TEXT_INIT;

    svg_box(out, x, y, l->cell_width, l->cell_height,
            figure_colour(l->figure->parts[cell->first].colour));
    for (uint32_t line = 0; line < lines; line++) {
        uint32_t from = line * l->across, n = cell->nparts - from;

        join_parts(&words, l, cell, from, n < l->across ? n : l->across);
        svg_text(out, x + l->cell_width / 2, y + l->cell_height * (line + 0.5) / lines + 4, "c",
                 "middle", text_get(&words));
    }
    text_drop(out, &words);
}

static void draw_parts(const struct layout *l, double x, double y, const struct figure_cell *cell,
                       struct text *out)
{
    uint32_t lines = (cell->nparts + l->across - 1) / l->across;

    for (uint32_t p = 0; p < cell->nparts; p++) {
        const struct figure_part *part = &l->figure->parts[cell->first + p];
        uint32_t line = p / l->across, n = cell->nparts - line * l->across;
        double w = l->cell_width / (n < l->across ? n : l->across), h = l->cell_height / lines;
        double at_x = x + w * (p % l->across), at_y = y + h * line;
        bool plain = part->colour == FIGURE_PLAIN;

        if (!plain)
            svg_box(out, at_x, at_y, w, h, figure_colour(part->colour));
        svg_text(out, at_x + w / 2, at_y + h / 2 + 4, plain && !l->grid->shaded ? "v" : "c",
                 "middle", part->text);
    }
}

static void draw_cell(const struct layout *l, double x, double y, const struct figure_cell *cell,
                      struct text *out)
{
    if (cell->set && cell->nparts > 0)
        draw_set(l, x, y, cell, out);
    else
        draw_parts(l, x, y, cell, out);
}

/* Draw the borders of cells, as lines through all of them. */
static void draw_borders(const struct layout *l, double x, double y, uint32_t nrows,
                         uint32_t ncolumns, struct text *out)
{
    text_add(out, "<path class=\"b\" d=\"");
    for (uint32_t r = 0; r <= nrows; r++)
        text_addf(out, "M%.1f %.1fh%.1f", x, y + l->cell_height * r, l->cell_width * ncolumns);
    for (uint32_t c = 0; c <= ncolumns; c++)
        text_addf(out, "M%.1f %.1fv%.1f", x + l->cell_width * c, y, l->cell_height * nrows);
    text_add(out, "\"/>\n");
}

static bool same_colour(struct colour a, struct colour b)
{
    return a.red == b.red && a.green == b.green && a.blue == b.blue;
}

/* Draw shades below the cells' texts: one box for adjacent cells of one colour, none for white. */
static void draw_shades(const struct layout *l, double x, double y, struct text *out)
{
    const struct figure_grid *g = l->grid;
    const struct colour white = colour_shade(0);

    svg_box(out, x, y, l->cell_width * g->ncolumns, l->cell_height * g->nrows, white);
    for (uint32_t r = 0; r < g->nrows; r++)
        for (uint32_t c = 0, end; c < g->ncolumns; c = end) {
            const struct figure_cell *cells = &g->cells[(size_t)r * g->ncolumns];
            struct colour colour = colour_shade(cells[c].shade);

            for (end = c + 1;
                 end < g->ncolumns && same_colour(colour, colour_shade(cells[end].shade));)
                end++;
            if (!same_colour(colour, white))
                svg_box(out, x + l->cell_width * c, y + l->cell_height * r,
                        l->cell_width * (end - c), l->cell_height, colour);
        }
    svg_styled_box(out, x, y, l->cell_width * g->ncolumns, l->cell_height * g->nrows, "b");
}

/* Draw the scale of shades, with a number at each end and in the middle. */
static void draw_scale(const struct figure_grid *g, double x, double y, struct text *out)
{
    double width = SCALE_STEPS * SCALE_STEP;

    for (int i = 0; i < SCALE_STEPS; i++)
        svg_box(out, x + i * SCALE_STEP, y, SCALE_STEP, 14,
                colour_shade((double)i / (SCALE_STEPS - 1)));
    svg_styled_box(out, x, y, width, 14, "b");
    for (int i = 0; i < 3; i++)
        svg_text(out, x + width * i / 2, y + 14 + SVG_LINE_HEIGHT, "l",
                 i == 0   ? "start"
                 : i == 1 ? "middle"
                          : "end",
                 g->scale[i]);
}

/* A band: `nrows` rows from `row` on, and `ncolumns` columns from `column` on. */
struct band {
    double x, y; /* of its corner */
    uint32_t row, nrows, column, ncolumns;
};

static void draw_labels(const struct layout *l, const struct band *b, struct text *out)
{
    const struct figure_grid *g = l->grid;
    uint32_t every_row = l->cell_height < 14 ? 8 : 1, every_column = l->cell_width < 18 ? 8 : 1;
    double line = b->y + 13;

    if (*g->title) {
        if (b->row == 0 && b->column == 0)
            svg_text(out, b->x, line, "h", "start", g->title);
        line += SVG_LINE_HEIGHT;
    }
    if (*g->column_title) {
        svg_text(out, b->x + l->left + l->cell_width * b->ncolumns / 2, line, "l", "middle",
                 g->column_title);
        line += SVG_LINE_HEIGHT;
    }
    svg_text(out, b->x + l->left - 8, line, "l", "end", g->row_title);
    for (uint32_t c = 0; c < b->ncolumns; c += every_column)
        if (g->column_labels[b->column + c])
            svg_text(out, b->x + l->left + l->cell_width * (c + 0.5), line, "l", "middle",
                     g->column_labels[b->column + c]);
    for (uint32_t r = 0; r < b->nrows; r += every_row)
        if (g->row_labels[b->row + r])
            svg_text(out, b->x + l->left - 8, b->y + l->top + l->cell_height * (r + 0.5) + 4, "l",
                     "end", g->row_labels[b->row + r]);
}

static void draw_band(const struct layout *l, const struct band *b, struct text *out)
{
    const struct figure_grid *g = l->grid;

    draw_labels(l, b, out);
    if (g->shaded) /* never cut into bands */
        draw_shades(l, b->x + l->left, b->y + l->top, out);
    for (uint32_t r = 0; shows_text(g) && r < b->nrows; r++)
        for (uint32_t c = 0; c < b->ncolumns; c++)
            draw_cell(l, b->x + l->left + l->cell_width * c, b->y + l->top + l->cell_height * r,
                      &g->cells[(size_t)(b->row + r) * g->ncolumns + b->column + c], out);
    if (shows_text(g))
        draw_borders(l, b->x + l->left, b->y + l->top, b->nrows, b->ncolumns, out);
}

static uint32_t at_most(uint32_t n, uint32_t most)
{
    return n < most ? n : most;
}

static void draw_grid(const struct layout *l, double x, double y, struct text *out)
{
    const struct figure_grid *g = l->grid;
    struct band b = {.x = x, .y = y};

    for (b.row = 0; b.row < g->nrows; b.row += l->rows) {
        b.nrows = at_most(g->nrows - b.row, l->rows);
        b.y = y;
        for (b.column = 0; b.column < g->ncolumns; b.column += l->columns) {
            b.ncolumns = at_most(g->ncolumns - b.column, l->columns);
            draw_band(l, &b, out);
            b.y += l->top + l->cell_height * l->rows + GAP / 2.0;
        }
        b.x += l->left + l->cell_width * l->columns + GAP;
    }
    if (*g->scale[0])
        draw_scale(g, x + l->left, y + l->height - SCALE_HEIGHT, out);
}

/* ---- the page ---- */

/* State of placing circles and grids line by line. */
struct flow {
    double width, height; /* width: allowed for a line, at the end used by all; height: of all */
    double x, y, line;    /* next place; height of the line */
};

/* Move to the place of the next drawing. */
static void flow_next(struct flow *flow, double *used, double width, double height)
{
    if (flow->x > 0 && flow->x + width > flow->width) {
        flow->x = 0;
        flow->y += flow->line + GAP;
        flow->line = 0;
    }
    *used = larger(*used, flow->x + width);
    flow->line = larger(flow->line, height);
}

/* Place circles and grids in lines of a width; draw them if `out` is not NULL. */
static struct flow flow_grids(const struct figure *figure, double width, struct text *out)
{
    struct flow flow = {.width = width};
    double used = 0;
    struct layout l;

    for (size_t c = 0; c < figure->ncircles; c++) {
        const struct figure_circle *circle = &figure->circles[c];

        flow_next(&flow, &used, circle_width(circle), circle_height(circle));
        if (out)
            circle_draw(circle, flow.x, flow.y, out);
        flow.x += circle_width(circle) + GAP;
    }
    for (size_t g = 0; g < figure->ngrids; g++) {
        lay_out(&l, figure, &figure->grids[g]);
        flow_next(&flow, &used, l.width, l.height);
        if (out)
            draw_grid(&l, flow.x, flow.y, out);
        flow.x += l.width + GAP;
    }
    flow.width = used;
    flow.height = flow.y + flow.line;
    return flow;
}

/* The width of lines that makes the smallest slide. */
static double flow_width(const struct figure *figure)
{
    double best = SVG_ROOM, least = INFINITY;
    double words = (double)(figure->nnotes + 3) * SVG_LINE_HEIGHT; /* including the title */

    for (double width = SVG_ROOM / 2.0; width <= 8 * SVG_ROOM; width *= 1.25) {
        struct flow flow = flow_grids(figure, width, NULL);
        double slide = larger(slide_of(flow.width, flow.height + words), SVG_ROOM);

        if (slide < least * (1 - 1e-9)) {
            least = slide;
            best = width;
        }
    }
    return best;
}

/* Draw the legend below; returns where it ends. */
static double draw_keys(const struct figure *figure, double y, double width, struct text *out)
{
    struct svg_key keys[FIGURE_KEYS_MAX];

    if (figure->nkeys == 0)
        return y;
    for (size_t i = 0; i < figure->nkeys; i++)
        keys[i] = (struct svg_key){.name = figure->keys[i].name,
                                   .colour = figure_colour(figure->keys[i].colour),
                                   .styles = "e"};
    return svg_keys(out, 0, y + GAP, width, keys, figure->nkeys);
}

void figure_draw_svg(const struct figure *figure, struct text *out)
{
    const struct svg_page page = {figure->title, figure->notes, figure->nnotes};
    struct text body = TEXT_INIT;
    struct flow flow = flow_grids(figure, flow_width(figure), &body);

    flow.height = draw_keys(figure, flow.height, flow.width, &body);
    svg_page(out, &page, &body, flow.width, flow.height);
    out->failed |= figure->failed;
    text_fini(&body);
}
