/* Points as SVG.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/points.h"
#include "draw/svg.h"

/* Lengths are pixels of the picture. */
#define TOP 24  /* of the chart: the name of y stands above */
#define LEFT 72 /* for the numbers of an axis */
#define CHART_WIDTH (SVG_ROOM - LEFT - 24)
#define CHART_HEIGHT 350
#define NAMES_MAX 64
#define APART_LINES 12
#define COLOURS_MAX 8
#define NTICKS 5

static double part_of(const struct points_axis *axis, double value)
{
    if (axis->logarithmic)
        return log2(value / axis->low) / log2(axis->high / axis->low);
    return (value - axis->low) / (axis->high - axis->low);
}

static double x_of(const struct points *p, double value)
{
    return LEFT + CHART_WIDTH * fmin(fmax(part_of(&p->x, value), 0), 1);
}

static double y_of(const struct points *p, double value)
{
    return TOP + CHART_HEIGHT * (1 - fmin(fmax(part_of(&p->y, value), 0), 1));
}

/* A number that is easy to read, at least a part of the axis: 1, 2 or 5 times a power of ten. */
static double tick_of(const struct points_axis *axis)
{
    double least = (axis->high - axis->low) / NTICKS, ten = pow(10, floor(log10(least)));

    return least <= ten ? ten : least <= 2 * ten ? 2 * ten : least <= 5 * ten ? 5 * ten : 10 * ten;
}

static void rule_at(const struct points *p, double value, bool across, struct text *out)
{
    char label[32];

    if (value >= 1e6)
        snprintf(label, sizeof label, "%.3gM", value / 1e6);
    else if (value >= 1e4)
        snprintf(label, sizeof label, "%.3gk", value / 1e3);
    else
        snprintf(label, sizeof label, "%.6g", value);
    if (across) {
        text_addf(out, "<path d=\"M%d %.1fh%d\" class=\"g\"/>\n", LEFT, y_of(p, value),
                  CHART_WIDTH);
        svg_text(out, LEFT - 8, y_of(p, value) + 4, "l", "end", label);
    } else {
        text_addf(out, "<path d=\"M%.1f %dv%d\" class=\"g\"/>\n", x_of(p, value), TOP,
                  CHART_HEIGHT);
        svg_text(out, x_of(p, value), TOP + CHART_HEIGHT + SVG_LINE_HEIGHT, "l", "middle", label);
    }
}

/* Of a logarithmic axis a line for each doubling, or of many for each four, or sixteen. */
static void rule(const struct points *p, const struct points_axis *axis, bool across,
                 struct text *out)
{
    double tick = tick_of(axis), times = axis->decades ? 10 : 2;

    if (!axis->logarithmic) {
        for (double at = ceil(axis->low / tick - 1e-9) * tick; at <= axis->high * (1 + 1e-9);
             at += tick)
            rule_at(p, at, across, out);
        return;
    }
    while (log2(axis->high / axis->low) / log2(times) > 12)
        times *= times;
    for (double at = axis->low; at <= axis->high * (1 + 1e-9); at *= times)
        rule_at(p, at, across, out);
}

static void draw_frame(const struct points *p, struct text *out)
{
    svg_text(out, LEFT, TOP - 12, "h", "start", p->y.what);
    svg_text(out, LEFT + CHART_WIDTH, TOP + CHART_HEIGHT + 2.3 * SVG_LINE_HEIGHT, "h", "end",
             p->x.what);
    if (p->band_high > p->band_low)
        svg_styled_box(out, LEFT, y_of(p, p->band_high), CHART_WIDTH,
                       y_of(p, p->band_low) - y_of(p, p->band_high), "d");
    rule(p, &p->x, false, out);
    rule(p, &p->y, true, out);
}

static void draw_line(const struct points *p, struct text *out)
{
    struct colour c = colour_line(0);
    bool begun = false;

    text_add(out, "<path class=\"k\" fill=\"none\" stroke-width=\"1.5\" d=\"");
    for (size_t i = 0; i < p->npoints; i++) {
        const struct points_point *point = &p->points[i];

        if (!point->marked)
            continue;
        if (!begun)
            text_addf(out, "M%.1f %.1f", x_of(p, point->x), y_of(p, point->y));
        else if (p->steps)
            text_addf(out, "H%.1fV%.1f", x_of(p, point->x), y_of(p, point->y));
        else
            text_addf(out, "L%.1f %.1f", x_of(p, point->x), y_of(p, point->y));
        begun = true;
    }
    text_addf(out, "\" stroke=\"#%02x%02x%02x\"/>\n", c.red, c.green, c.blue);
}

/* As if each device did what each of the first point's does. */
static void draw_ideal(const struct points *p, struct text *out)
{
    const struct points_point *a = &p->points[0], *b = &p->points[p->npoints - 1];

    text_addf(out, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#888\" stroke-dasharray=\"5 4\"/>\n",
              x_of(p, a->x), y_of(p, a->y), x_of(p, b->x), y_of(p, a->y * b->x / a->x));
}

static void draw_point(const struct points *p, const struct points_point *point, struct text *out)
{
    struct colour c = colour_line(point->colour);
    double radius = point->radius > 0 ? point->radius : point->marked ? 4.5 : 3;

    text_addf(out, "<circle class=\"k\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"", x_of(p, point->x),
              y_of(p, point->y), radius);
    if (point->marked)
        text_addf(out, " fill=\"#%02x%02x%02x\"", c.red, c.green, c.blue);
    else
        text_addf(out, " fill=\"none\" stroke=\"#%02x%02x%02x\"", c.red, c.green, c.blue);
    text_add(out, point->radius > 0 ? " fill-opacity=\".6\"/>\n" : "/>\n");
}

static void draw_roofs(const struct points *p, struct text *out)
{
    for (size_t i = 0; i < p->nroofs; i++) {
        const struct points_roof *roof = &p->roofs[i];

        text_addf(out, "<path class=\"b\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", x_of(p, roof->x[0]),
                  y_of(p, roof->y[0]), x_of(p, roof->x[1]), y_of(p, roof->y[1]));
        svg_text(out, x_of(p, roof->x[1]), y_of(p, roof->y[1]) - 7, "l", "end", roof->name);
    }
}

/* Returns where the legend ends. */
static double draw_keys(const struct points *p, double y, struct text *out)
{
    struct svg_key keys[COLOURS_MAX];
    size_t n = p->ncolours < COLOURS_MAX ? p->ncolours : COLOURS_MAX;

    for (size_t i = 0; i < n; i++)
        keys[i] = (struct svg_key){p->colours[i], colour_line((int32_t)i), "", true};
    return svg_keys(out, LEFT, y, CHART_WIDTH, keys, n);
}

struct box {
    double x, y, width; /* of a line of text, whose foot y is */
};

static bool is_clear(const struct box *placed, size_t n, const struct box *b)
{
    for (size_t i = 0; i < n; i++)
        if (fabs(placed[i].y - b->y) < SVG_LINE_HEIGHT && b->x < placed[i].x + placed[i].width &&
            placed[i].x < b->x + b->width)
            return false;
    return true;
}

/* A line below the point on which a name has room, of so many; false: there is none. */
static bool find_room(const struct box *placed, size_t n, struct box *box, double y, int lines)
{
    for (int line = 0; line <= lines; line++) {
        box->y = line == 0 ? y - 7 : y + 17 + (line - 1) * SVG_LINE_HEIGHT;
        if (box->y <= TOP + CHART_HEIGHT - 2 && is_clear(placed, n, box))
            return true;
    }
    return false;
}

/* A name stands above its point, or below where that is taken, towards the middle of the chart; of
 * points that stand apart also further below, with a line to it.  Where all is taken it is left
 * out. */
static void draw_names(const struct points *p, struct text *out)
{
    struct box placed[NAMES_MAX];
    size_t n = 0;

    for (size_t i = 0; i < p->nroofs && n < NAMES_MAX; i++) {
        double width = svg_length(p->roofs[i].name, SVG_CHAR_WIDTH);

        placed[n++] =
            (struct box){x_of(p, p->roofs[i].x[1]) - width, y_of(p, p->roofs[i].y[1]) - 7, width};
    }
    for (size_t i = 0; i < p->npoints && n < NAMES_MAX; i++) {
        const struct points_point *point = &p->points[i];
        double width = point->name ? svg_length(point->name, SVG_CHAR_WIDTH) : 0;
        double x = x_of(p, point->x), y = y_of(p, point->y);
        double beside = fmax(8, point->radius + 3);
        bool right = x + beside + width <= LEFT + CHART_WIDTH;
        struct box box = {right ? x + beside : x - beside - width, y, width};

        if (!point->name || !find_room(placed, n, &box, y, p->ncolours > 0 ? APART_LINES : 1))
            continue;
        if (box.y > y + 17 + SVG_LINE_HEIGHT / 2.0)
            text_addf(out, "<path class=\"g\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", x, y,
                      right ? box.x - 2 : box.x + width + 2, box.y - 4);
        svg_text(out, right ? box.x : box.x + width, box.y, "l", right ? "start" : "end",
                 point->name);
        placed[n++] = box;
    }
}

void points_draw_svg(const struct points *p, struct text *out)
{
    const struct svg_page page = {p->title, p->notes, p->nnotes};
    double height = TOP + CHART_HEIGHT + 2.5 * SVG_LINE_HEIGHT;
    struct text body = TEXT_INIT;

    draw_frame(p, &body);
    if (p->ideal && p->npoints > 1)
        draw_ideal(p, &body);
    draw_roofs(p, &body);
    if (p->ncolours == 0)
        draw_line(p, &body);
    for (size_t i = 0; i < p->npoints; i++)
        draw_point(p, &p->points[i], &body);
    draw_names(p, &body);
    if (p->ncolours > 0)
        height = draw_keys(p, height - SVG_LINE_HEIGHT / 2.0, &body);
    svg_page(out, &page, &body, SVG_ROOM, height);
    text_fini(&body);
}
