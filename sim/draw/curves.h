/* curves.h - a line chart of series of numbers by step, with their distances.
 *
 * As text it is a table of some of the steps.  As SVG it has a second chart, on a logarithmic
 * scale, of the largest distance of each series from the first series so far: it separates lines
 * that coincide on the first chart.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DRAW_CURVES_H
#define DRAW_CURVES_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* All pointers are the caller's. */
struct curves_series {
    const char *name;
    const double *values; /* [nsteps] */
};

struct curves {
    const char *title;
    const char *what; /* name of the values: "loss" */
    uint32_t nsteps;
    const struct curves_series *series;
    uint32_t nseries;
    const char *const *notes; /* sentences below the drawing */
    size_t nnotes;
};

/* The largest distance of a series from the first at any step; *step is set to that step. */
double curves_distance(const struct curves *curves, uint32_t series, uint32_t *step);

/* Draw for a terminal, at most about twenty of the steps. */
void curves_draw_text(const struct curves *curves, struct text *out);

/* Draw as an SVG document. */
void curves_draw_svg(const struct curves *curves, struct text *out);

#endif /* DRAW_CURVES_H */
