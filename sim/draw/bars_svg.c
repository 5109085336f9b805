/* Bar charts as SVG.
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
#define ROWS_HEIGHT 360 /* height that rows should fill */
#define ROW_MIN 20
#define ROW_MAX 56
#define BAR_PART 0.7    /* fraction of a row's height; the rest is between bars */
#define GAP 24          /* between columns */
#define BAR_MIN 70      /* width of a column without the values after its bars */
#define TITLE_WIDTH 7.4 /* average of the proportional font in bold */

struct layout {
    const struct bars *bars;
    double left, row;                    /* left edge of the first column; height of a row */
    double lengths[BARS_QUANTITIES_MAX]; /* of the longest bar */
    double texts[BARS_QUANTITIES_MAX];   /* room for the longest value after it */
    double most[BARS_QUANTITIES_MAX];
    bool has_limit[BARS_QUANTITIES_MAX];
    double foot; /* below the rows, for the limits' names */
};

static const struct bars_bar *bar_at(const struct bars *b, size_t row, size_t quantity)
{
    return &b->bars[row * b->nquantities + quantity];
}

static double limit_of(const struct bars *b, size_t quantity)
{
    return b->limits ? b->limits[quantity] : 0;
}

static void measure(struct layout *l, size_t quantity)
{
    double limit = limit_of(l->bars, quantity);

    for (size_t r = 0; r < l->bars->nrows; r++) {
        const struct bars_bar *bar = bar_at(l->bars, r, quantity);

        l->most[quantity] = fmax(l->most[quantity], bar->value);
        l->texts[quantity] = fmax(l->texts[quantity], svg_length(bar->text, SVG_CHAR_WIDTH) + 6);
    }
    l->has_limit[quantity] = limit > 0 && limit <= BARS_LIMIT_MOST * l->most[quantity];
    if (l->has_limit[quantity]) {
        l->most[quantity] = fmax(l->most[quantity], limit);
        l->foot = SVG_LINE_HEIGHT;
    }
}

/* Scale all quantities by the longest bar. */
static void join_scales(struct layout *l)
{
    double most = 0;

    for (size_t q = 0; q < l->bars->nquantities; q++)
        most = fmax(most, l->most[q]);
    for (size_t q = 0; q < l->bars->nquantities; q++)
        l->most[q] = most;
}

/* Columns share the room beside the names.  Many rows make the page high, and proportionally
 * wide. */
static double lay_out(struct layout *l, const struct bars *bars)
{
    double n = (double)bars->nquantities, width, room, over = 0, nlong = 0;

    *l = (struct layout){.bars = bars};
    for (size_t r = 0; r < bars->nrows; r++)
        l->left = fmax(l->left, svg_length(bars->names[r], SVG_CHAR_WIDTH) + 12);
    l->row = fmin(fmax(ROWS_HEIGHT / (double)bars->nrows, ROW_MIN), ROW_MAX);
    room = fmax(SVG_ROOM, (HEAD + l->row * (double)bars->nrows) * SVG_WIDTH / SVG_HEIGHT);
    for (size_t q = 0; q < bars->nquantities; q++) {
        measure(l, q);
        room -= l->texts[q];
    }
    if (bars->one_scale)
        join_scales(l);
    room = (room - l->left - GAP * (n - 1)) / n;
    width = l->left + GAP * (n - 1);
    for (size_t q = 0; q < bars->nquantities; q++) { /* a long name leaves the others less */
        l->lengths[q] = fmax(svg_length(bars->quantities[q], TITLE_WIDTH) - l->texts[q], BAR_MIN);
        over += fmax(l->lengths[q] - room, 0);
        nlong += l->lengths[q] > room;
    }
    for (size_t q = 0; q < bars->nquantities; q++)
        l->lengths[q] = fmax(room - over / fmax(n - nlong, 1), l->lengths[q]);
    for (size_t q = 1; bars->one_scale && q < bars->nquantities; q++)
        l->lengths[0] = fmax(l->lengths[0], l->lengths[q]);
    for (size_t q = 0; q < bars->nquantities; q++) {
        if (bars->one_scale)
            l->lengths[q] = l->lengths[0];
        width += l->lengths[q] + l->texts[q];
    }
    return width;
}

/* Draw a limit's line with its name below, left of the line if it would leave the column. */
static void add_limit(struct text *out, const struct layout *l, size_t quantity, double x)
{
    const struct bars *b = l->bars;
    double height = l->row * (double)b->nrows, column = l->lengths[quantity] + l->texts[quantity];
    double at = l->lengths[quantity] * limit_of(b, quantity) / l->most[quantity];
    bool right = at + svg_length(b->limit_name, SVG_CHAR_WIDTH) <= column;

    text_addf(out, "<path " SVG_LIMIT " d=\"M%.1f %dv%.1f\"/>\n", x + at, HEAD - 4, height + 4);
    svg_text(out, x + at, HEAD + height + 13, "l", right ? "start" : "end", b->limit_name);
}

/* Where the value after a bar begins: after the limit's line, if the two would cross. */
static double text_at(const struct layout *l, size_t quantity, double length, const char *text)
{
    double limit;

    if (!l->has_limit[quantity])
        return length + 6;
    limit = l->lengths[quantity] * limit_of(l->bars, quantity) / l->most[quantity];
    if (length > limit + 1 || length + 6 + svg_length(text, SVG_CHAR_WIDTH) < limit)
        return length + 6;
    return limit + 6;
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
        if (bar->over)
            svg_styled_box(out, x, y, length, height, "x");
        svg_text(out, x + text_at(l, quantity, length, bar->text), y + height / 2 + 4,
                 bar->marked || bar->over ? "v" : "l", "start", bar->text);
        if (bar->marked)
            svg_styled_box(out, x, y, length, height, "b");
    }
    text_addf(out, "<path class=\"b\" d=\"M%.1f %dv%.1f\"/>\n", x, HEAD - 4,
              l->row * (double)b->nrows + 4);
    if (l->has_limit[quantity])
        add_limit(out, l, quantity, x);
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
    svg_page(out, &page, &body, width, HEAD + l.row * (double)bars->nrows + l.foot);
    text_fini(&body);
}
