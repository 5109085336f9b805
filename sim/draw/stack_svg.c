/* Stacked bytes as SVG: a stepped shape for each kind.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "draw/stack.h"

#include <math.h>
#include <stdio.h>

#include "base/literal.h"
#include "base/units.h"
#include "draw/colour.h"
#include "draw/svg.h"

/* Lengths are pixels of the picture, for text of 12 px. */
#define LABEL_WIDTH 90
#define CHART_WIDTH (SVG_ROOM - LABEL_WIDTH)
#define CHART_HEIGHT 220
#define TICKS_MAX 8   /* more than half as many ticks are drawn, unless the scale has fewer bytes */
#define LABEL_ROOM 20 /* above the chart, for the peak and the limit */

#define BAND_MIN 14 /* height of a kind's shape with its name in it */

static const char *const patterns[STACK_KINDS_MAX] = {"m0",  "m1",  "m2",  "m3", "m4",  "m5",
                                                      "m6",  "m7",  "m8",  "m9", "m10", "m11",
                                                      "m12", "m13", "m14", "m15"};

struct layout {
    const struct stack *stack;
    size_t ncolumns;
    double scale; /* pixels for a byte */
    uint128 top;  /* bytes */
};

static double x_of(const struct layout *l, size_t column)
{
    return LABEL_WIDTH + CHART_WIDTH * (double)column / (double)l->ncolumns;
}

static double y_of_bytes(const struct layout *l, double bytes)
{
    return LABEL_ROOM + CHART_HEIGHT - bytes * l->scale;
}

/* The y of a kind's top, or with `below` of its bottom, in a column. */
static double y_of(const struct layout *l, size_t column, size_t kind, bool below)
{
    size_t moment = stack_moment(l->stack, column, l->ncolumns);
    double sum = 0;

    for (size_t k = 0; k < kind + !below; k++)
        sum += (double)l->stack->bytes[moment * l->stack->nkinds + k];
    return y_of_bytes(l, sum);
}

/* Whether heights are equal to a tenth of a pixel: smaller differences are invisible. */
static bool is_level(double y, double next)
{
    return lround(10 * y) == lround(10 * next);
}

/* Draw a kind's shape: right along the tops, back along the bottoms, with corners only where the
 * height changes. */
static void add_kind(struct text *out, const struct layout *l, size_t kind)
{
    struct colour c = colour_of((int32_t)kind);
    double y = y_of(l, 0, kind, false);

    text_add(out, "<defs>");
    svg_pattern(out, patterns[kind], (int32_t)kind, &c, 1);
    text_addf(out, "</defs><path fill=\"url(#%s)\" d=\"M%.1f %.1fV%.1f", patterns[kind], x_of(l, 0),
              y_of(l, 0, kind, true), y);
    for (size_t i = 1; i < l->ncolumns; i++) {
        double next = y_of(l, i, kind, false);

        if (!is_level(y, next))
            text_addf(out, "H%.1fV%.1f", x_of(l, i), next);
        y = next;
    }
    y = y_of(l, l->ncolumns - 1, kind, true);
    text_addf(out, "H%.1fV%.1f", x_of(l, l->ncolumns), y);
    for (size_t i = l->ncolumns - 1; i-- > 0;) {
        double next = y_of(l, i, kind, true);

        if (!is_level(y, next))
            text_addf(out, "H%.1fV%.1f", x_of(l, i + 1), next);
        y = next;
    }
    text_add(out, "Z\"><title>");
    literal_add_xml(out, l->stack->kinds[kind].name);
    text_add(out, "</title></path>\n");
}

/* The longest run of columns in which a kind's shape has room for a line of text; `middle` is the
 * text's. */
static size_t find_band(const struct layout *l, size_t kind, size_t *from, double *middle)
{
    size_t longest = 0;

    for (size_t begin = 0; begin + longest < l->ncolumns; begin++) {
        double top = 0, bottom = LABEL_ROOM + CHART_HEIGHT;

        for (size_t end = begin; end < l->ncolumns; end++) {
            top = fmax(top, y_of(l, end, kind, false));
            bottom = fmin(bottom, y_of(l, end, kind, true));
            if (bottom - top < BAND_MIN)
                break;
            if (end + 1 - begin > longest) {
                longest = end + 1 - begin;
                *from = begin;
                *middle = (top + bottom) / 2;
            }
        }
    }
    return longest;
}

/* Write a kind's name into its shape, where there is room. */
static void add_name(struct text *out, const struct layout *l, size_t kind)
{
    struct colour c = colour_of((int32_t)kind);
    const char *name = l->stack->kinds[kind].name;
    double middle = 0, room;
    size_t from = 0, n = find_band(l, kind, &from, &middle);

    room = x_of(l, from + n) - x_of(l, from);
    if (n == 0 || svg_length(name, SVG_CHAR_WIDTH) + 8 > room)
        return;
    text_addf(out, /* no pattern right behind the letters */
              "<text class=\"c\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" style=\"paint-order:"
              "stroke;stroke:#%02x%02x%02x;stroke-width:4\">",
              x_of(l, from) + room / 2, middle + 4, c.red, c.green, c.blue);
    literal_add_xml(out, name);
    text_add(out, "</text>\n");
}

/* Whether a kind has bytes at any moment. */
static bool is_used(const struct stack *stack, size_t kind)
{
    for (size_t m = 0; m < stack->nmoments; m++)
        if (stack->bytes[m * stack->nkinds + kind] > 0)
            return true;
    return false;
}

/* Draw ticks.  Their distance is a power of two, so that all are round numbers. */
static void add_ticks(struct text *out, const struct layout *l)
{
    uint128 tick = 1;

    while (tick * TICKS_MAX < l->top)
        tick *= 2;
    for (uint128 at = 0; at <= l->top; at += tick) {
        double y = y_of_bytes(l, (double)at);

        text_addf(out, "<path class=\"g\" d=\"M%d %.1fh%d\"/>\n", LABEL_WIDTH, y, CHART_WIDTH);
        svg_text(out, LABEL_WIDTH - 8, y + 4, "l", "end", units_print_bytes(at).text);
    }
}

/* Mark where a span begins, if it has a label: by a line, or below the axis if there are `many`. */
static void add_span(struct text *out, const struct layout *l, size_t span, const char *label,
                     bool many)
{
    const struct stack *stack = l->stack;
    double x =
        LABEL_WIDTH + CHART_WIDTH * (double)stack->spans[span].from / (double)stack->nmoments;
    bool before = stack_label_is_before(stack, label, span, CHART_WIDTH / SVG_CHAR_WIDTH);

    if (*label)
        text_addf(out, "<path class=\"b\" d=\"M%.1f %dV%d\"/>\n", x,
                  LABEL_ROOM + (many ? CHART_HEIGHT : 0),
                  LABEL_ROOM + CHART_HEIGHT + SVG_LINE_HEIGHT);
    svg_text(out, before ? x - 3 : x + 3, LABEL_ROOM + CHART_HEIGHT + SVG_LINE_HEIGHT - 2, "l",
             before ? "end" : "start", label);
}

/* Draw spans, and the axis's sentence below their labels. */
static void add_spans(struct text *out, const struct layout *l)
{
    struct stack_labels labels = stack_labels_for(l->stack, CHART_WIDTH / SVG_CHAR_WIDTH);
    struct text across = TEXT_INIT;

    for (size_t s = 0; s < l->stack->nspans; s++)
        add_span(out, l, s, stack_label(l->stack, &labels, s), labels.marks);
    stack_add_across(&across, l->stack, &labels);
    svg_text(out, LABEL_WIDTH, LABEL_ROOM + CHART_HEIGHT + 2 * SVG_LINE_HEIGHT, "n", "start",
             text_get(&across));
    text_drop(out, &across);
}

/* The column with the most bytes. */
static size_t peak_of(const struct layout *l)
{
    size_t peak = 0;

    for (size_t i = 1; i < l->ncolumns; i++)
        if (stack_total(l->stack, stack_moment(l->stack, i, l->ncolumns)) >
            stack_total(l->stack, stack_moment(l->stack, peak, l->ncolumns)))
            peak = i;
    return peak;
}

/* Label the peak above it, and the limit on the other side. */
static void add_labels(struct text *out, const struct layout *l)
{
    size_t peak = peak_of(l);
    bool right = peak >= l->ncolumns / 2;
    double x = (x_of(l, peak) + x_of(l, peak + 1)) / 2, y;
    double limit = (double)l->stack->limit_bytes;
    char label[UNITS_TEXT_MAX + 16];

    snprintf(label, sizeof label, "peak %s", units_print_bytes(stack_most(l->stack)).text);
    y = y_of_bytes(l, (double)stack_most(l->stack));
    text_addf(out, "<path class=\"b\" d=\"M%.1f %.1fv-5\"/>\n", x, y);
    svg_text(out, x, y - 8, "v", right ? "end" : "start", label);
    if (limit <= 0 || l->stack->limit_bytes > l->top)
        return;
    snprintf(label, sizeof label, "limit %s", units_print_bytes(l->stack->limit_bytes).text);
    y = y_of_bytes(l, limit);
    text_addf(out, "<path " SVG_LIMIT " d=\"M%d %.1fh%d\"/>\n", LABEL_WIDTH, y, CHART_WIDTH);
    svg_text(out, right ? LABEL_WIDTH + 4 : LABEL_WIDTH + CHART_WIDTH - 4, y - 5, "v",
             right ? "start" : "end", label);
}

/* Draw the legend of kinds that are used; returns where it ends. */
static double add_keys(struct text *out, const struct stack *stack, double y)
{
    struct svg_key keys[STACK_KINDS_MAX];
    size_t n = 0;

    for (size_t k = 0; k < stack->nkinds; k++)
        if (is_used(stack, k))
            keys[n++] = (struct svg_key){.name = stack->kinds[k].name,
                                         .colour = colour_of((int32_t)k),
                                         .pattern = patterns[k],
                                         .styles = "e"};
    return svg_keys(out, LABEL_WIDTH, y, CHART_WIDTH, keys, n);
}

void stack_draw_svg(const struct stack *stack, struct text *out)
{
    const struct svg_page page = {stack->title, stack->notes, stack->nnotes};
    struct layout l = {stack, stack->nmoments, 0, stack_top(stack)};
    struct text body = TEXT_INIT;
    double height;

    if (l.ncolumns > CHART_WIDTH)
        l.ncolumns = CHART_WIDTH;
    l.scale = l.top > 0 ? CHART_HEIGHT / (double)l.top : 0;
    if (stack_most(stack) > 0) {
        add_ticks(&body, &l);
        add_spans(&body, &l);
        for (size_t k = 0; k < stack->nkinds; k++)
            if (is_used(stack, k))
                add_kind(&body, &l, k);
        for (size_t k = 0; k < stack->nkinds; k++)
            add_name(&body, &l, k);
        add_labels(&body, &l);
    }
    height = add_keys(&body, stack, LABEL_ROOM + CHART_HEIGHT + 2.5 * SVG_LINE_HEIGHT);
    svg_page(out, &page, &body, SVG_ROOM, height);
    text_fini(&body);
}
