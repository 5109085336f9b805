/* Costs of steps between planned ones (tables.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "serving/tables.h"

#include <math.h>

/* The cell of a value, by its lower end, and where the value lies in it: beyond 0 and 1 outside of
 * the grid. */
static size_t find_cell(const double *values, size_t n, double value, double *part)
{
    size_t i = 0;

    while (i + 2 < n && values[i + 1] <= value)
        i++;
    *part = (value - values[i]) / (values[i + 1] - values[i]);
    return i;
}

/* What lies between the points of a grid. */
static double between(const struct serving_grid *g,
                      const double points[TABLE_POINTS_MAX][TABLE_CONTEXTS_MAX], double rows,
                      double context)
{
    double x, y;
    size_t r = find_cell(g->rows, g->nrows, rows, &x);
    size_t c = find_cell(g->contexts, g->ncontexts, context, &y);
    double low = points[r][c] * (1 - y) + points[r][c + 1] * y;
    double high = points[r + 1][c] * (1 - y) + points[r + 1][c + 1] * y;

    return fmax(low * (1 - x) + high * x, 0);
}

double grid_seconds(const struct serving_grid *g, double rows, double context)
{
    return between(g, g->seconds, rows, context);
}

static double attention_seconds(const struct serving_grid *g, double rows, double context)
{
    return between(g, g->attention, rows, context);
}

/* A step in which something is prefilled. */
static double prefill_seconds(const struct serving_tables *t, const struct serving_work *w)
{
    const struct serving_grid *g = &t->prefill;
    double tokens = (double)w->prefill_tokens, mean = tokens / w->nprefills;
    double context = fmax((double)w->prefill_pairs / tokens - (mean + 1) / 2, 0);
    double all = tokens + (double)w->ndecodes * (1 + t->draft);
    double attention = attention_seconds(g, mean, context);
    double seconds = grid_seconds(g, all, context) - attention_seconds(g, all, context);

    seconds += attention + (w->nprefills - 1) *
                               fmax(attention - attention_seconds(g, g->rows[0], g->contexts[0]), 0);
    if (w->ndecodes > 0)
        seconds += attention_seconds(&t->decode, w->ndecodes,
                                     (double)w->decode_context / (double)w->ndecodes);
    return seconds;
}

static int64_t step_ns(const struct serving_costs *costs, const struct serving_work *w)
{
    const struct serving_tables *t = (const struct serving_tables *)costs;
    double each = w->ndecodes > 0 ? (double)w->decode_context / w->ndecodes : 0;
    double seconds = w->nprefills > 0 ? prefill_seconds(t, w)
                                      : grid_seconds(&t->decode, w->ndecodes, each);

    return (int64_t)fmax(round(seconds * 1e9), 1);
}

static int64_t transfer_ns(const struct serving_costs *costs, uint64_t tokens)
{
    const struct serving_tables *t = (const struct serving_tables *)costs;

    return (int64_t)round((t->transfer_s + (double)tokens * t->transfer_s_per_token) * 1e9);
}

void tables_init(struct serving_tables *tables)
{
    tables->costs.step_ns = step_ns;
    tables->costs.transfer_ns = transfer_ns;
}
