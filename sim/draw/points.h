/* points.h - a scatter plot: named points, a line through some of them, bands.
 *
 * Axes begin at 0, or are logarithmic, by powers of two or ten.  A named point has a number beside
 * it, which the legend below the chart maps to its name; named points at one place have their
 * numbers in one text, "3-5".  Notes below have further facts.
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
    bool marked;      /* drawn strongly, and connected by the line */
    int32_t colour;   /* and shape, as in draw/svg.h */
    double radius;    /* in pixels; 0: the usual radius */
};

struct points_axis {
    const char *what; /* with the unit: "step, s" */
    double low, high; /* of the shown part; above 0 if logarithmic */
    bool logarithmic;
    bool decades; /* a logarithmic axis with powers of ten instead of two */
};

/* A straight line between two places, with a name above its end, or above the middle of a slope. */
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
    const char *const *colours; /* legend: meanings of colours and shapes 0, 1, ... */
    size_t ncolours;            /* 0: none; otherwise points have no line */
    bool steps; /* the line goes across, then up or down; otherwise straight from point to point */
    double band_low, band_high; /* shaded range of y; equal: none */
    bool ideal; /* a dashed line through the first point and the origin, on logarithmic axes */
    const char *const *notes; /* sentences below the drawing */
    size_t nnotes;
};

/* Draw as an SVG document. */
void points_draw_svg(const struct points *points, struct text *out);

#endif /* DRAW_POINTS_H */
