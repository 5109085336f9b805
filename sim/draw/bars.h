/* bars.h - a drawing of things side by side: a row for each, and a bar in it for each quantity.
 *
 * Bars of a quantity are as long as its values are, from 0 on; a column each.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DRAW_BARS_H
#define DRAW_BARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

#define BARS_QUANTITIES_MAX 6
#define BARS_LIMIT_MOST 2 /* a limit is drawn that is at most so many times the longest bar */

struct bars_bar {
    double value;     /* negative: not known, and not drawn */
    const char *text; /* behind the bar: the value with its unit */
    bool marked;      /* the best, or what is wrong with it: drawn strongly */
    bool over;        /* its quantity's limit: hatched */
};

/* All pointers are the caller's. */
struct bars {
    const char *title;
    const char *const *names; /* of rows */
    size_t nrows;
    const char *const *quantities; /* at most BARS_QUANTITIES_MAX */
    size_t nquantities;
    const double *limits;        /* [quantity], a line across its bars; 0: none; NULL: nowhere */
    const char *limit_name;      /* below such a line */
    bool one_scale;              /* of all quantities, which have one unit */
    const struct bars_bar *bars; /* [row][quantity] */
    const char *const *notes;    /* sentences below the drawing */
    size_t nnotes;
};

/* Draw as an SVG document. */
void bars_draw_svg(const struct bars *bars, struct text *out);

#endif /* DRAW_BARS_H */
