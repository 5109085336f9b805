/* Bars as SVG.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "draw/bars.h"
#include "draw/colour.h"
#include "draw/svg.h"

/* Lengths are pixels of the picture. */
#define HEAD 28         /* above the rows, for the quantities' names */
#define ROWS_HEIGHT 360 /* that rows are to fill */
#define ROW_MIN 20
#define ROW_MAX 56
#define BAR_PART 0.7 /* of a row's height; the rest is between bars */
#define GAP 24       /* between columns */
#define BAR_MIN 90   /* of a column, besides the values behind its bars */

struct layout {
    const struct bars *bars;
    double left, row;                    /* of the first column; height of a row */
    double lengths[BARS_QUANTITIES_MAX]; /* of the longest bar */
    double texts[BARS_QUANTITIES_MAX];   /* room for the longest value behind it */
    double most[BARS_QUANTITIES_MAX];
};

static const struct bars_bar *bar_at(const struct bars *b, size_t row, size_t quantity)
{
    return &b->bars[row * b->nquantities + quantity];
}

static void measure(struct layout *l, size_t quantity)
{
    for (size_t r = 0; r < l->bars->nrows; r++) {
        const struct bars_bar *bar = bar_at(l->bars, r, quantity);

        l->most[quantity] = fmax(l->most[quantity], bar->value);
        l->texts[quantity] = fmax(l->texts[quantity], svg_length(bar->text, SVG_CHAR_WIDTH) + 6);
    }
}

/* Columns share the room beside the names; of many rows the page is high, and as wide as that. */
static double lay_out(struct layout *l, const struct bars *bars)
{
    double n = (double)bars->nquantities, width, room;

    *l = (struct layout){.bars = bars};
    for (size_t r = 0; r < bars->nrows; r++)
        l->left = fmax(l->left, svg_length(bars->names[r], SVG_CHAR_WIDTH) + 12);
    l->row = fmin(fmax(ROWS_HEIGHT / (double)bars->nrows, ROW_MIN), ROW_MAX);
    room = fmax(SVG_ROOM, (HEAD + l->row * (double)bars->nrows) * SVG_WIDTH / SVG_HEIGHT);
    for (size_t q = 0; q < bars->nquantities; q++) {
        measure(l, q);
        room -= l->texts[q];
    }
    room = fmax((room - l->left - GAP * (n - 1)) / n, BAR_MIN);
    width = l->left + GAP * (n - 1);
    for (size_t q = 0; q < bars->nquantities; q++) {
        double title = svg_length(bars->quantities[q], 7.8);

        l->lengths[q] = fmax(room, title - l->texts[q]);
        width += l->lengths[q] + l->texts[q];
    }
    return width;
}

static void add_column(struct text *out, const struct layout *l, size_t quantity, double x)
{
    const struct bars *b = l->bars;
    struct colour colour = colour_of((int32_t)quantity);

    svg_text(out, x, 14, "h", "start", b->quantities[quantity]);
    for (size_t r = 0; r < b->nrows; r++) {
        const struct bars_bar *bar = bar_at(b, r, quantity);
        double y = HEAD + l->row * (double)r, height = l->row * BAR_PART;
        double length = l->most[quantity] > 0
                            ? l->lengths[quantity] * fmax(bar->value, 0) / l->most[quantity]
                            : 0;

        svg_box(out, x, y, length, height, colour);
        svg_text(out, x + length + 6, y + height / 2 + 4, bar->marked ? "v" : "l", "start",
                 bar->text);
        if (bar->marked)
            svg_styled_box(out, x, y, length, height, "b");
    }
    text_addf(out, "<path class=\"b\" d=\"M%.1f %dv%.1f\"/>\n", x, HEAD - 4,
              l->row * (double)b->nrows + 4);
}

void bars_draw_svg(const struct bars *bars, struct text *out)
{
    const struct svg_page page = {bars->title, bars->notes, bars->nnotes};
    struct text body = TEXT_INIT;
    struct layout l;
    double width = lay_out(&l, bars), x = l.left;

    for (size_t r = 0; r < bars->nrows; r++)
        svg_text(&body, l.left - 12, HEAD + l.row * ((double)r + BAR_PART / 2) + 4, "l", "end",
                 bars->names[r]);
    for (size_t q = 0; q < bars->nquantities; q++) {
        add_column(&body, &l, q, x);
        x += l.lengths[q] + l.texts[q] + GAP;
    }
    svg_page(out, &page, &body, width, HEAD + l.row * (double)bars->nrows);
    text_fini(&body);
}
