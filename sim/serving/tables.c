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

double grid_seconds(const struct serving_grid *g, double rows, double context)
{
    double x, y;
    size_t r = find_cell(g->rows, g->nrows, rows, &x);
    size_t c = find_cell(g->contexts, g->ncontexts, context, &y);
    double low = g->seconds[r][c] * (1 - y) + g->seconds[r][c + 1] * y;
    double high = g->seconds[r + 1][c] * (1 - y) + g->seconds[r + 1][c + 1] * y;

    return low * (1 - x) + high * x;
}

/* What the caches of decodes add to a step. */
static double attention_seconds(const struct serving_tables *t, double rows, double context)
{
    return fmax(grid_seconds(&t->decode, rows, context) - grid_seconds(&t->decode, rows, 0), 0);
}

static int64_t step_ns(const struct serving_costs *costs, const struct serving_work *w)
{
    const struct serving_tables *t = (const struct serving_tables *)costs;
    double ndecodes = w->ndecodes, seconds;
    double tokens = (double)w->prefill_tokens + ndecodes * (1 + t->draft);
    double each = w->ndecodes > 0 ? (double)w->decode_context / ndecodes : 0;

    if (w->prefill_tokens == 0) {
        seconds = grid_seconds(&t->decode, ndecodes, each);
    } else {
        double pairs = (double)w->prefill_pairs + ndecodes * (double)serving_pairs(1 + t->draft, 0);
        double context = pairs / tokens - (tokens + 1) / 2;

        seconds = grid_seconds(&t->prefill, tokens, context);
        seconds += w->ndecodes > 0 ? attention_seconds(t, ndecodes, each) : 0;
    }
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
