/* curves.h - a drawing of numbers along steps: a line for each series, and how far they are apart.
 *
 * As text it is a table of some of the steps; as SVG there is a second chart beside it, on a
 * logarithmic scale, of how far each series has come to be from the first so far: lines that are
 * one on the first chart are told apart there.
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
    const char *what; /* the values are: "loss" */
    uint32_t nsteps;
    const struct curves_series *series;
    uint32_t nseries;
    const char *const *notes; /* sentences below the drawing */
    size_t nnotes;
};

/* The largest distance of a series from the first at any step; that step in *step. */
double curves_distance(const struct curves *curves, uint32_t series, uint32_t *step);

/* Draw for a terminal, at most about twenty of the steps. */
void curves_draw_text(const struct curves *curves, struct text *out);

/* Draw as an SVG document. */
void curves_draw_svg(const struct curves *curves, struct text *out);

#endif /* DRAW_CURVES_H */
