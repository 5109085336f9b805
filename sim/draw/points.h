/* points.h - a drawing of points in a plane: named ones, a line through some, bands.
 *
 * Axes begin at 0, or are logarithmic, by powers of two or ten.  A point that has a name has a
 * number beside it, and the name stands with the number below the chart; named points at one place
 * have one number.  The notes below have what the picture does not say.
 *
 * Thread class: pure function.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DRAW_POINTS_H
#define DRAW_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct points_point {
    double x, y;
    const char *name; /* NULL: none */
    bool marked;      /* drawn strongly, and with the line */
    int32_t colour;   /* a number, as draw/colour.h has them */
    double radius;    /* in pixels; 0: the usual one */
};

struct points_axis {
    const char *what; /* with the unit: "step, s" */
    double low, high; /* of what is shown; of a logarithmic axis above 0 */
    bool logarithmic;
    bool decades; /* of a logarithmic axis: ruled by powers of ten, not of two */
};

/* A straight line between two places, with a name above its end; above the middle of a slope. */
struct points_roof {
    double x[2], y[2];
    const char *name; /* "": none */
};

/* All pointers are the caller's. */
struct points {
    const char *title;
    struct points_axis x, y;
    const struct points_point *points;
    size_t npoints;
    const struct points_roof *roofs;
    size_t nroofs;
    const char *const *colours; /* what colours 0, 1, ... mean: the legend */
    size_t ncolours;            /* 0: none; else points stand apart, without a line */
    bool steps; /* the line goes across, then up or down; else straight from point to point */
    double band_low, band_high; /* of y, shaded; the same: none */
    bool ideal; /* a dashed line through the first point and the origin, on logarithmic axes */
    const char *const *notes; /* sentences below the drawing */
    size_t nnotes;
};

/* Draw as an SVG document. */
void points_draw_svg(const struct points *points, struct text *out);

#endif /* DRAW_POINTS_H */
