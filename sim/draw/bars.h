/* bars.h - a bar chart for comparing things: a row for each, with a bar for each quantity.
 *
 * Each quantity has a column, and bars proportional to its values, from 0 on.
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
#define BARS_LIMIT_MOST 2 /* a limit is drawn up to this multiple of the longest bar */

struct bars_bar {
    double value;     /* negative: unknown, not drawn */
    const char *text; /* after the bar: the value with its unit */
    bool marked;      /* drawn strongly: the best, or what is wrong with the row */
    bool over;        /* exceeds its quantity's limit: hatched */
};

/* All pointers are the caller's. */
struct bars {
    const char *title;
    const char *const *names; /* of rows */
    size_t nrows;
    const char *const *quantities; /* at most BARS_QUANTITIES_MAX */
    size_t nquantities;
    const double *limits;        /* [quantity], a line across its bars; 0: none; NULL: none at
                                    all */
    const char *limit_name;      /* label below the limit's line */
    bool one_scale;              /* all quantities have the same unit and share one scale */
    const struct bars_bar *bars; /* [row][quantity] */
    const char *const *notes;    /* sentences below the drawing */
    size_t nnotes;
};

/* Draw as an SVG document. */
void bars_draw_svg(const struct bars *bars, struct text *out);

#endif /* DRAW_BARS_H */
