/* Scatter plots as SVG.
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
#define TOP 24  /* of the chart: the name of y is above */
#define LEFT 72 /* for the numbers of an axis */
#define CHART_WIDTH (SVG_ROOM - LEFT - 24)
#define CHART_HEIGHT 260
#define NAMES_MAX 64
#define SAME_PLACE 9  /* named points no farther apart than this share a text */
#define NDIRECTIONS 8 /* of a number from its point */
#define NUMBER_HEIGHT 10
#define LINE_SAMPLES 64 /* points tested along a line, which numbers avoid */
#define LEGEND_GAP 20
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

/* The distance of ticks, a round number of at least a fraction of the axis: 1, 2 or 5 times a power
 * of ten. */
static double tick_of(const struct points_axis *axis)
{
    double least = (axis->high - axis->low) / NTICKS, ten = pow(10, floor(log10(least)));

    return least <= ten ? ten : least <= 2 * ten ? 2 * ten : least <= 5 * ten ? 5 * ten : 10 * ten;
}

static bool axis_is_by_two(const struct points_axis *axis)
{
    return axis->logarithmic && !axis->decades;
}

/* Format a power of two exactly: "64Ki". */
static void print_doubled(char *label, size_t size, double value)
{
    static const char units[] = "KMGTPE";
    int unit = -1;

    for (; value >= 1024 && unit < 5; unit++)
        value /= 1024;
    snprintf(label, size, "%.6g%ci", value, units[unit]);
}

static void rule_at(const struct points *p, double value, bool across, struct text *out)
{
    char label[32];

    if (axis_is_by_two(across ? &p->y : &p->x) && value >= 1e4)
        print_doubled(label, sizeof label, value);
    else if (value >= 1e6)
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

/* Rule an axis; a logarithmic one at each doubling, or if there are many at each factor of four or
 * sixteen. */
static void rule(const struct points *p, const struct points_axis *axis, bool across,
                 struct text *out)
{
    double tick = tick_of(axis), times = axis->decades ? 10 : 2;

    if (!axis->logarithmic) {
        for (int64_t k = (int64_t)ceil(axis->low / tick - 1e-9); /* an integer is never -0 */
             (double)k * tick <= axis->high * (1 + 1e-9); k++)
            rule_at(p, (double)k * tick, across, out);
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
    bool begun = false;

    svg_begin_line(out, 0);
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
    svg_end_line(out);
}

/* Draw the line of linear scaling: per device, every point achieves as much as the first point. */
static void draw_ideal(const struct points *p, struct text *out)
{
    const struct points_point *a = &p->points[0], *b = &p->points[p->npoints - 1];

    text_addf(out, "<path class=\"b\" d=\"M%.1f %.1fL%.1f %.1f\" stroke-dasharray=\"5 4\"/>\n",
              x_of(p, a->x), y_of(p, a->y), x_of(p, b->x), y_of(p, a->y * b->x / a->x));
}

static double radius_of(const struct points_point *point)
{
    return point->radius > 0 ? point->radius : point->marked ? 4.5 : 3;
}

static void draw_point(const struct points *p, const struct points_point *point, struct text *out)
{
    svg_marker(out, x_of(p, point->x), y_of(p, point->y), radius_of(point), point->colour,
               !point->marked      ? 0
               : point->radius > 0 ? 0.6
                                   : 1);
}

/* A line of text in the chart. */
struct box {
    double x, y, width, height; /* top left corner, and size */
};

static struct box roof_box(const struct points *p, const struct points_roof *roof)
{
    double x = x_of(p, roof->x[1]), y = y_of(p, roof->y[1]);
    double width = svg_length(roof->name, SVG_CHAR_WIDTH), rise = y - y_of(p, roof->y[0]);

    if (fabs(rise) > 1) { /* left of the middle, where nothing is above the roof */
        double left = x_of(p, roof->x[0]), part;

        x = fmax((left + x) / 2, LEFT + width + 12);
        part = (x - left) / (x_of(p, roof->x[1]) - left);
        y = y_of(p, roof->y[0]) + fmin(part, 1) * rise;
        x -= 8;
    }
    return (struct box){x - width, y - 7 - NUMBER_HEIGHT, width, NUMBER_HEIGHT};
}

static void draw_roofs(const struct points *p, struct text *out)
{
    for (size_t i = 0; i < p->nroofs; i++) {
        const struct points_roof *roof = &p->roofs[i];
        struct box box = roof_box(p, roof);

        text_addf(out, "<path class=\"b\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", x_of(p, roof->x[0]),
                  y_of(p, roof->y[0]), x_of(p, roof->x[1]), y_of(p, roof->y[1]));
        svg_text(out, box.x, box.y + box.height, "l", "start", roof->name);
    }
}

/* Draw the legend; returns where it ends. */
static double draw_keys(const struct points *p, double y, struct text *out)
{
    struct svg_key keys[COLOURS_MAX];
    size_t n = p->ncolours < COLOURS_MAX ? p->ncolours : COLOURS_MAX;

    for (size_t i = 0; i < n; i++)
        keys[i] = (struct svg_key){
            .name = p->colours[i], .kind = SVG_KEY_MARKER, .styles = "", .number = (int32_t)i};
    return svg_keys(out, LEFT, y, CHART_WIDTH, keys, n);
}

/* ---- numbers of named points ---- */

/* Named points no farther than SAME_PLACE from the first of them: one text, "3" or "3-5". */
struct place {
    size_t first, n; /* in `of` */
};

struct numbers {
    const struct points *points;
    size_t of[NAMES_MAX]; /* named points, by number from 1 on; those of a place are consecutive */
    size_t n;
    struct place places[NAMES_MAX];
    size_t nplaces;
    struct box placed[2 * NAMES_MAX]; /* texts in the chart */
    size_t nplaced;
    struct box leaders[NAMES_MAX]; /* lines to texts: from a point, and how far */
    size_t nleaders;
};

static bool is_same_place(const struct points *p, size_t i, size_t j)
{
    const struct points_point *a = &p->points[i], *b = &p->points[j];

    return hypot(x_of(p, a->x) - x_of(p, b->x), y_of(p, a->y) - y_of(p, b->y)) <= SAME_PLACE;
}

static void number_points(struct numbers *out, const struct points *p)
{
    size_t named[NAMES_MAX], n = 0;
    bool taken[NAMES_MAX] = {false};

    *out = (struct numbers){.points = p};
    for (size_t i = 0; i < p->npoints && n < NAMES_MAX; i++)
        if (p->points[i].name)
            named[n++] = i;
    for (size_t k = 0; k < n; k++) {
        struct place *place = &out->places[out->nplaces];

        if (taken[k])
            continue;
        *place = (struct place){.first = out->n};
        for (size_t other = k; other < n; other++)
            if (!taken[other] && is_same_place(p, named[k], named[other])) {
                taken[other] = true;
                out->of[out->n++] = named[other];
            }
        place->n = out->n - place->first;
        out->nplaces++;
    }
}

static bool is_in(const struct box *b, double x, double y, double room)
{
    return x > b->x - room && x < b->x + b->width + room && y > b->y - room &&
           y < b->y + b->height + room;
}

static bool crosses(const struct box *b, double x1, double y1, double x2, double y2)
{
    for (int i = 0; i <= LINE_SAMPLES; i++) {
        double part = (double)i / LINE_SAMPLES;

        if (is_in(b, x1 + part * (x2 - x1), y1 + part * (y2 - y1), 1))
            return true;
    }
    return false;
}

/* Whether the line through the marked points crosses a box. */
static bool is_on_line(const struct points *p, const struct box *b)
{
    const struct points_point *last = NULL;

    for (size_t i = 0; i < p->npoints && p->ncolours == 0; i++) {
        const struct points_point *point = &p->points[i];
        double x = x_of(p, point->x), y = y_of(p, point->y);

        if (!point->marked)
            continue;
        if (last &&
            (p->steps ? crosses(b, x_of(p, last->x), y_of(p, last->y), x, y_of(p, last->y)) ||
                            crosses(b, x, y_of(p, last->y), x, y)
                      : crosses(b, x_of(p, last->x), y_of(p, last->y), x, y)))
            return true;
        last = point;
    }
    return false;
}

/* Whether a number of a point at (x, y) may be placed here: inside the chart, and neither it nor
 * its leader on anything. */
static bool is_clear(const struct numbers *n, const struct box *b, double x, double y)
{
    const struct points *p = n->points;

    if (b->x < LEFT || b->x + b->width > LEFT + CHART_WIDTH || b->y < TOP ||
        b->y + b->height > TOP + CHART_HEIGHT || is_on_line(p, b))
        return false;
    for (size_t i = 0; i < n->nplaced; i++) {
        const struct box *o = &n->placed[i];

        if ((b->x < o->x + o->width + 2 && o->x < b->x + b->width + 2 &&
             b->y < o->y + o->height + 2 && o->y < b->y + b->height + 2) ||
            crosses(o, x, y, b->x + b->width / 2, b->y + b->height / 2))
            return false;
    }
    for (size_t i = 0; i < n->nleaders; i++) {
        const struct box *o = &n->leaders[i];

        if (crosses(b, o->x, o->y, o->x + o->width, o->y + o->height))
            return false;
    }
    for (size_t i = 0; i < p->npoints; i++)
        if (is_in(b, x_of(p, p->points[i].x), y_of(p, p->points[i].y), radius_of(&p->points[i])))
            return false;
    for (size_t i = 0; i < p->nroofs; i++)
        if (crosses(b, x_of(p, p->roofs[i].x[0]), y_of(p, p->roofs[i].y[0]),
                    x_of(p, p->roofs[i].x[1]), y_of(p, p->roofs[i].y[1])))
            return false;
    return true;
}

/* The nearest clear place around a point, trying below and left first, where a Pareto front leaves
 * room. */
static struct box find_place(const struct numbers *n, const struct points_point *point,
                             double width)
{
    static const double across[NDIRECTIONS] = {-1, 0, -1, 1, 1, 0, -1, 1};
    static const double down[NDIRECTIONS] = {1, 1, 0, 0, -1, -1, -1, 1};
    double x = x_of(n->points, point->x), y = y_of(n->points, point->y);
    double least = radius_of(point) + 2, most = least + 60;
    struct box box = {x + least, y - NUMBER_HEIGHT - least, width, NUMBER_HEIGHT};

    for (double away = least; away <= most; away += 4)
        for (int d = 0; d < NDIRECTIONS; d++) {
            double side = across[d] != 0 && down[d] != 0 ? away * 0.75 : away;
            struct box b = {x + across[d] * (side + width / 2) - width / 2,
                            y + down[d] * (side + NUMBER_HEIGHT / 2.0) - NUMBER_HEIGHT / 2.0, width,
                            NUMBER_HEIGHT};

            if (is_clear(n, &b, x, y))
                return b;
        }
    return box;
}

static void draw_number(struct numbers *n, const struct place *place, struct text *out)
{
    const struct points_point *point = &n->points->points[n->of[place->first]];
    double x = x_of(n->points, point->x), y = y_of(n->points, point->y);
    double middle_x, middle_y;
    char label[32];
    struct box b;

    if (place->n == 1)
        snprintf(label, sizeof label, "%zu", place->first + 1);
    else
        snprintf(label, sizeof label, "%zu-%zu", place->first + 1, place->first + place->n);
    b = find_place(n, point, svg_length(label, SVG_CHAR_WIDTH));
    middle_x = b.x + b.width / 2;
    middle_y = b.y + b.height / 2;
    if (hypot(middle_x - x, middle_y - y) > radius_of(point) + 2 * NUMBER_HEIGHT) {
        double part = fmin((b.width / 2 + 2) / fabs(x - middle_x), /* up to the text's edge */
                           (b.height / 2 + 2) / fabs(y - middle_y));

        text_addf(out, "<path class=\"b\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", x, y,
                  middle_x + (x - middle_x) * part, middle_y + (y - middle_y) * part);
        n->leaders[n->nleaders++] = (struct box){x, y, middle_x - x, middle_y - y};
    }
    svg_text(out, b.x, b.y + b.height, "v", "start", label);
    if (n->nplaced < 2 * NAMES_MAX)
        n->placed[n->nplaced++] = b;
}

static void draw_numbers(struct numbers *n, struct text *out)
{
    const struct points *p = n->points;

    for (size_t i = 0; i < p->nroofs && n->nplaced < NAMES_MAX; i++)
        n->placed[n->nplaced++] = roof_box(p, &p->roofs[i]);
    for (size_t k = 0; k < n->nplaces; k++)
        draw_number(n, &n->places[k], out);
}

/* Draw the list of numbers and names, in columns; returns where it ends. */
static double draw_legend(const struct numbers *n, double y, struct text *out)
{
    double longest = 0, width;
    size_t ncolumns, nrows;
    char number[24];

    for (size_t k = 0; k < n->n; k++)
        longest = fmax(longest, svg_length(n->points->points[n->of[k]].name, SVG_CHAR_WIDTH));
    if (n->n == 0)
        return y;
    width = longest + 3 * SVG_CHAR_WIDTH + LEGEND_GAP;
    ncolumns = (size_t)fmax(1, floor((SVG_ROOM + LEGEND_GAP) / width));
    nrows = (n->n + ncolumns - 1) / ncolumns;
    for (size_t k = 0; k < n->n; k++) {
        double x = (double)(k / nrows) * width;
        double down = y + (double)(k % nrows + 1) * SVG_LINE_HEIGHT;

        snprintf(number, sizeof number, "%zu", k + 1);
        svg_text(out, x + 2 * SVG_CHAR_WIDTH, down, "v", "end", number);
        svg_text(out, x + 3 * SVG_CHAR_WIDTH, down, "l", "start", n->points->points[n->of[k]].name);
    }
    return y + (double)nrows * SVG_LINE_HEIGHT + 5;
}

void points_draw_svg(const struct points *p, struct text *out)
{
    const struct svg_page page = {p->title, p->notes, p->nnotes};
    double height = TOP + CHART_HEIGHT + 2.5 * SVG_LINE_HEIGHT;
    struct text body = TEXT_INIT;
    struct numbers numbers;

    draw_frame(p, &body);
    if (p->ideal && p->npoints > 1)
        draw_ideal(p, &body);
    draw_roofs(p, &body);
    if (p->ncolours == 0)
        draw_line(p, &body);
    for (size_t i = 0; i < p->npoints; i++)
        draw_point(p, &p->points[i], &body);
    number_points(&numbers, p);
    draw_numbers(&numbers, &body);
    if (p->ncolours > 0)
        height = draw_keys(p, height - SVG_LINE_HEIGHT / 2.0, &body);
    height = draw_legend(&numbers, height, &body);
    svg_page(out, &page, &body, SVG_ROOM, height);
    text_fini(&body);
}
