/* Stacked bytes as SVG: a shape with steps for each kind.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "draw/stack.h"

#include <string.h>

#include "base/units.h"
#include "draw/colour.h"
#include "draw/svg.h"

/* Lengths are pixels of the picture, for text of 12 px. */
#define CHART_WIDTH 800
#define CHART_HEIGHT 300
#define LABEL_WIDTH 90
#define KEY_WIDTH 20
#define TICKS 4

struct layout {
    const struct stack *stack;
    size_t ncolumns;
    double left, top, scale; /* pixels of a byte */
};

static double x_of(const struct layout *l, size_t column)
{
    return l->left + CHART_WIDTH * (double)column / (double)l->ncolumns;
}

/* Where the top of a kind, or with `below` its bottom, is at a column. */
static double y_of(const struct layout *l, size_t column, size_t kind, bool below)
{
    size_t moment = stack_moment(l->stack, column, l->ncolumns);
    double sum = 0;

    for (size_t k = 0; k < kind + !below; k++)
        sum += (double)l->stack->bytes[moment * l->stack->nkinds + k];
    return l->top + CHART_HEIGHT - sum * l->scale;
}

/* There along the tops, back along the bottoms. */
static void add_kind(struct text *out, const struct layout *l, size_t kind)
{
    struct colour c = colour_of((int32_t)kind);

    text_addf(out, "<path fill=\"#%02x%02x%02x\" d=\"M%.1f %.1f", c.red, c.green, c.blue,
              x_of(l, 0), y_of(l, 0, kind, true));
    for (size_t i = 0; i < l->ncolumns; i++)
        text_addf(out, "V%.1fH%.1f", y_of(l, i, kind, false), x_of(l, i + 1));
    for (size_t i = l->ncolumns; i-- > 0;)
        text_addf(out, "V%.1fH%.1f", y_of(l, i, kind, true), x_of(l, i));
    text_add(out, "Z\"><title>");
    svg_escape(out, l->stack->kinds[kind].name);
    text_add(out, "</title></path>\n");
}

static void add_axes(struct text *out, const struct layout *l, uint128 most)
{
    char bytes[UNITS_TEXT_MAX];
    double free = 0;

    for (int t = 0; t <= TICKS; t++) {
        double y = l->top + CHART_HEIGHT * (1 - (double)t / TICKS);

        text_addf(out, "<path class=\"b\" d=\"M%.1f %.1fh-5\"/>\n", l->left, y);
        svg_text(out, l->left - 8, y + 4, "l", "end",
                 units_print_bytes(bytes, sizeof bytes, most * (unsigned)t / TICKS));
    }
    for (size_t s = 0; s < l->stack->nspans; s++) {
        double x =
            l->left + CHART_WIDTH * (double)l->stack->spans[s].from / (double)l->stack->nmoments;

        if (x < free)
            continue;
        text_addf(out, "<path class=\"b\" d=\"M%.1f %.1fv%d\"/>\n", x, l->top,
                  CHART_HEIGHT + SVG_LINE_HEIGHT);
        svg_text(out, x + 4, l->top + CHART_HEIGHT + SVG_LINE_HEIGHT, "l", "start",
                 l->stack->spans[s].name);
        free = x + 8 + (double)strlen(l->stack->spans[s].name) * SVG_CHAR_WIDTH;
    }
}

static void add_keys(struct text *out, const struct stack *stack, double y)
{
    double x = SVG_MARGIN;

    for (size_t k = 0; k < stack->nkinds; k++) {
        svg_box(out, x, y - 11, KEY_WIDTH, 14, colour_of((int32_t)k));
        svg_text(out, x + KEY_WIDTH + 6, y, "n", "start", stack->kinds[k].name);
        x += KEY_WIDTH + 20 + (double)strlen(stack->kinds[k].name) * 6.8;
    }
}

void stack_draw_svg(const struct stack *stack, struct text *out)
{
    struct layout l = {stack, stack->nmoments, SVG_MARGIN + LABEL_WIDTH,
                       SVG_MARGIN + 2 * SVG_LINE_HEIGHT, 0};
    double y = l.top + CHART_HEIGHT + 2.5 * SVG_LINE_HEIGHT;
    double width = l.left + CHART_WIDTH + SVG_MARGIN;
    uint128 most = stack_most(stack);

    if (l.ncolumns > CHART_WIDTH)
        l.ncolumns = CHART_WIDTH;
    l.scale = most > 0 ? CHART_HEIGHT / (double)most : 0;
    svg_widen(&width, stack->title, 9.2);
    for (size_t i = 0; i < stack->nnotes; i++)
        svg_widen(&width, stack->notes[i], 6.8);
    svg_begin(out, width, y + (double)(stack->nnotes + 2) * SVG_LINE_HEIGHT);
    svg_text(out, SVG_MARGIN, SVG_MARGIN + 10, "t", "start", stack->title);
    if (most > 0) {
        for (size_t k = 0; k < stack->nkinds; k++)
            add_kind(out, &l, k);
        add_axes(out, &l, most);
    }
    add_keys(out, stack, y);
    y += 1.5 * SVG_LINE_HEIGHT;
    for (size_t i = 0; i < stack->nnotes; i++, y += SVG_LINE_HEIGHT)
        svg_text(out, SVG_MARGIN, y, "n", "start", stack->notes[i]);
    text_add(out, "</svg>\n");
}
