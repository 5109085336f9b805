/* Line charts as SVG.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "draw/curves.h"
#include "draw/svg.h"

/* Lengths are pixels of the picture. */
#define LEFT 56 /* for the numbers of an axis */
#define CHART_GAP 16
#define CHART_HEIGHT 240
#define NTICKS 5
#define DECADES_MAX 10
#define SEEN 1.0   /* smallest distance at which two lines are visible */
#define NMARKERS 3 /* of a line, about */
#define MARKER 4   /* radius */

struct chart {
    double left, top, width; /* of the plot area in the picture */
    double low, high;        /* values at the bottom and top; logarithms if logarithmic */
    bool logarithmic;        /* powers of ten */
    int nticks;              /* number of intervals between ticks */
};

static double x_of(const struct curves *curves, const struct chart *chart, uint32_t step)
{
    return chart->left +
           (double)step * chart->width / (curves->nsteps > 1 ? curves->nsteps - 1 : 1);
}

static double y_of(const struct chart *chart, double value)
{
    double at = chart->logarithmic ? log10(value) : value;

    at = fmin(fmax(at, chart->low), chart->high);
    return chart->top + CHART_HEIGHT * (chart->high - at) / (chart->high - chart->low);
}

/* The smallest of 1, 2, 5, 10, 20, ... with at most NTICKS intervals. */
static uint32_t steps_a_tick(uint32_t nsteps)
{
    static const uint32_t digits[] = {1, 2, 5};
    uint32_t unit = 1;

    for (size_t i = 0;; i++) {
        if ((nsteps - 1) / (unit * digits[i % 3]) <= NTICKS)
            return unit * digits[i % 3];
        unit *= i % 3 == 2 ? 10 : 1;
    }
}

static void draw_frame(const struct curves *curves, const struct chart *chart, const char *what,
                       struct text *out)
{
    char label[32];

    svg_text(out, chart->left, chart->top - 10, "h", "start", what);
    for (int i = 0; i <= chart->nticks; i++) {
        double at = chart->low + (chart->high - chart->low) * i / chart->nticks;
        double y = chart->top + CHART_HEIGHT * (double)(chart->nticks - i) / chart->nticks;

        snprintf(label, sizeof label, chart->logarithmic ? "1e%.0f" : "%.2f", at);
        svg_text(out, chart->left - 6, y + 4, "l", "end", label);
        text_addf(out, "<path class=\"g\" d=\"M%.1f %.1fh%.1f\"/>\n", chart->left, y, chart->width);
    }
    for (uint32_t step = 0; step < curves->nsteps; step += steps_a_tick(curves->nsteps)) {
        snprintf(label, sizeof label, "%u", step);
        svg_text(out, x_of(curves, chart, step), chart->top + CHART_HEIGHT + SVG_LINE_HEIGHT, "l",
                 "middle", label);
    }
    svg_text(out, chart->left + chart->width, chart->top + CHART_HEIGHT + 2 * SVG_LINE_HEIGHT, "h",
             "end", "step");
}

/* How many lines visibly coincide with the first series, including itself. */
static uint32_t lines_on_first(const struct curves *curves, const struct chart *chart)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < curves->nseries; i++) {
        double farthest = 0;

        for (uint32_t s = 0; s < curves->nsteps; s++)
            farthest = fmax(farthest, fabs(y_of(chart, curves->series[i].values[s]) -
                                           y_of(chart, curves->series[0].values[s])));
        n += farthest < SEEN;
    }
    return n;
}

/* The value of a series drawn at a step: itself, or on a logarithmic chart the largest distance
 * from the first series so far, which is drawn from where it is above 0.  NAN: nothing. */
static double drawn_value(const struct curves *curves, const struct chart *chart, uint32_t series,
                          uint32_t step, double *farthest)
{
    double value = curves->series[series].values[step];

    if (!chart->logarithmic)
        return isfinite(value) ? value : NAN;
    *farthest = fmax(*farthest, fabs(value - curves->series[0].values[step]));
    return isfinite(*farthest) && *farthest > 0 ? *farthest : NAN;
}

/* Whether a line has a marker at a step: at some, and lines on one another at different ones, if
 * there are as many steps as lines. */
static bool is_marked(const struct curves *curves, uint32_t series, uint32_t step)
{
    uint32_t least = curves->nseries < curves->nsteps ? curves->nseries : curves->nsteps;
    uint32_t period = curves->nsteps / NMARKERS > least ? curves->nsteps / NMARKERS : least;

    return step % period == (uint64_t)series * period / curves->nseries;
}

/* Draw a line, with its markers. */
static void draw_line(const struct curves *curves, const struct chart *chart, uint32_t series,
                      struct text *out)
{
    struct text markers = TEXT_INIT;
    double farthest = 0;
    bool drawing = false;

    svg_begin_line(out, (int32_t)series);
    for (uint32_t s = 0; s < curves->nsteps; s++) {
        double value = drawn_value(curves, chart, series, s, &farthest);
        double x = x_of(curves, chart, s), y = y_of(chart, value);

        if (!isnan(value))
            text_addf(out, "%c%.1f %.1f", drawing ? 'L' : 'M', x, y);
        drawing = !isnan(value);
        if (drawing && is_marked(curves, series, s))
            svg_marker(&markers, x, y, MARKER, (int32_t)series, 1);
    }
    svg_end_line(out);
    text_join(out, &markers);
}

/* Draw the legend below the charts; returns where it ends. */
static double draw_keys(const struct curves *curves, double top, struct text *out)
{
    struct svg_key *keys = calloc(curves->nseries + 1, sizeof *keys);

    for (uint32_t i = 0; keys && i < curves->nseries; i++)
        keys[i] = (struct svg_key){.name = curves->series[i].name,
                                   .kind = SVG_KEY_LINE,
                                   .styles = "",
                                   .number = (int32_t)i};
    if (keys)
        top = svg_keys(out, LEFT, top, SVG_ROOM - LEFT, keys, curves->nseries);
    out->failed |= !keys;
    free(keys);
    return top;
}

/* Set the scale to the range between the integers around all values, with a tick at each, or at
 * each fifth of the range. */
static void fit_values(struct chart *chart, const struct curves *curves)
{
    chart->low = INFINITY;
    chart->high = -INFINITY;
    for (uint32_t i = 0; i < curves->nseries; i++)
        for (uint32_t s = 0; s < curves->nsteps; s++) {
            chart->low = fmin(chart->low, curves->series[i].values[s]);
            chart->high = fmax(chart->high, curves->series[i].values[s]);
        }
    chart->low = isfinite(chart->low) ? floor(chart->low) : 0;
    chart->high = isfinite(chart->high) ? ceil(chart->high) : 1;
    if (chart->high <= chart->low)
        chart->high = chart->low + 1;
    while (chart->high - chart->low > NTICKS && fmod(chart->high - chart->low, NTICKS) != 0)
        chart->high++;
    chart->nticks = chart->high - chart->low > NTICKS || chart->high - chart->low == 1
                        ? NTICKS
                        : (int)(chart->high - chart->low);
}

/* The smallest nonzero distance; INFINITY if there is none. */
static double least_distance(const struct curves *curves)
{
    double least = INFINITY;

    for (uint32_t i = 1; i < curves->nseries; i++)
        for (uint32_t s = 0; s < curves->nsteps; s++) {
            double distance = fabs(curves->series[i].values[s] - curves->series[0].values[s]);

            if (distance > 0)
                least = fmin(least, distance);
        }
    return least;
}

/* Set the scale to the decades of all distances, but only the highest DECADES_MAX. */
static void fit_distances(struct chart *chart, const struct curves *curves)
{
    double most = 0, least = least_distance(curves);
    uint32_t step;

    for (uint32_t i = 1; i < curves->nseries; i++)
        most = fmax(most, curves_distance(curves, i, &step));
    chart->logarithmic = true;
    chart->high = most > 0 && isfinite(most) ? ceil(log10(most)) : 0;
    chart->low = isfinite(least) ? floor(log10(least)) : chart->high - NTICKS;
    chart->low = fmin(fmax(chart->low, chart->high - DECADES_MAX), chart->high - 1);
    chart->nticks = (int)(chart->high - chart->low);
}

/* Draw both charts side by side, or a single one over the whole width. */
void curves_draw_svg(const struct curves *curves, struct text *out)
{
    const struct svg_page page = {curves->title, curves->notes, curves->nnotes};
    bool both = curves->nseries > 1;
    double room = SVG_ROOM - LEFT;
    struct chart values = {
        .left = LEFT, .top = SVG_LINE_HEIGHT, .width = both ? (room - LEFT - CHART_GAP) / 2 : room};
    struct chart distances = values;
    struct text body = TEXT_INIT;
    char what[80];
    uint32_t on_first;
    double height;

    fit_values(&values, curves);
    on_first = lines_on_first(curves, &values);
    if (on_first > 1)
        snprintf(what, sizeof what, "%.24s: %u of %u lines coincide", curves->what, on_first,
                 curves->nseries);
    draw_frame(curves, &values, on_first > 1 ? what : curves->what, &body);
    for (uint32_t i = curves->nseries; i-- > 0;)
        draw_line(curves, &values, i, &body);
    if (both) {
        distances.left += values.width + CHART_GAP + LEFT;
        fit_distances(&distances, curves);
        snprintf(what, sizeof what, "largest distance from %.24s so far", curves->series[0].name);
        draw_frame(curves, &distances, what, &body);
        for (uint32_t i = 1; i < curves->nseries; i++)
            draw_line(curves, &distances, i, &body);
    }
    height = draw_keys(curves, values.top + CHART_HEIGHT + 2.2 * SVG_LINE_HEIGHT, &body);
    svg_page(out, &page, &body, SVG_ROOM, height);
    text_fini(&body);
}
