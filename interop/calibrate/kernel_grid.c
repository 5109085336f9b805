/* Least absolute errors on a grid (kernel_grid.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "calibrate/kernel_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BENDS 0.05     /* weight of a second difference squared, beside a row's 1 */
#define SMALLNESS 0.02 /* of a value squared */
#define REWEIGHTINGS 6
#define USUAL 0.05     /* an error that weighs 1 */
#define LEAST 0.02     /* smaller ones weigh no more */
#define STEPS_MAX 400  /* of conjugate gradients */
#define PRECISION 1e-10 /* of the residual, squared, relative to the first */

struct system {
    const struct kernel_grid *grid;
    int naxes;
    size_t npoints;
    const struct kernel_grid_row *rows;
    size_t nrows;
    double *row_weights;
};

static double value_at(const struct system *s, const struct kernel_grid_row *row, const double *x)
{
    double sum = 0;

    for (size_t i = 0; i < (size_t)1 << s->naxes; i++)
        sum += row->weights[i] * x[row->points[i]];
    return sum;
}

static void add_at(const struct system *s, const struct kernel_grid_row *row, double *to,
                   double value)
{
    for (size_t i = 0; i < (size_t)1 << s->naxes; i++)
        to[row->points[i]] += row->weights[i] * value;
}

/* Add the gradient of the bends along an axis, whose points are `stride` apart.  Of two points, the
 * difference counts. */
static void add_bends(double *out, const double *x, size_t npoints, size_t stride, size_t points)
{
    for (size_t i = 0; i < npoints; i++) {
        size_t at = i / stride % points;

        if (points == 2 && at == 0) {
            double d = BENDS * (x[i] - x[i + stride]);

            out[i] += d;
            out[i + stride] -= d;
        } else if (at + 2 < points) {
            double d = BENDS * (x[i] - 2 * x[i + stride] + x[i + 2 * stride]);

            out[i] += d;
            out[i + stride] -= 2 * d;
            out[i + 2 * stride] += d;
        }
    }
}

/* out = the normal equations' matrix times x. */
static void multiply(const struct system *s, double *out, const double *x)
{
    size_t stride = 1;

    for (size_t i = 0; i < s->npoints; i++)
        out[i] = SMALLNESS * x[i];
    for (size_t r = 0; r < s->nrows; r++)
        add_at(s, &s->rows[r], out, s->row_weights[r] * value_at(s, &s->rows[r], x));
    for (int a = s->naxes; a-- > 0;) {
        add_bends(out, x, s->npoints, stride, (size_t)s->grid->points[a]);
        stride *= (size_t)s->grid->points[a];
    }
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Solve from the x there is, by conjugate gradients; `room` is for three vectors. */
static void solve(const struct system *s, double *x, double *room)
{
    double *r = room, *p = room + s->npoints, *q = p + s->npoints, rr, first;

    multiply(s, q, x);
    memset(r, 0, s->npoints * sizeof *r);
    for (size_t i = 0; i < s->nrows; i++)
        add_at(s, &s->rows[i], r, s->row_weights[i] * s->rows[i].value);
    for (size_t i = 0; i < s->npoints; i++)
        p[i] = r[i] -= q[i];
    rr = first = dot(r, r, s->npoints);
    for (int step = 0; step < STEPS_MAX && rr > PRECISION * first && rr > 0; step++) {
        double alpha, before = rr;

        multiply(s, q, p);
        alpha = rr / dot(p, q, s->npoints);
        for (size_t i = 0; i < s->npoints; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        rr = dot(r, r, s->npoints);
        for (size_t i = 0; i < s->npoints; i++)
            p[i] = r[i] + rr / before * p[i];
    }
}

bool kernel_grid_fit(double *values, const struct kernel_grid *grid, int naxes,
                     const struct kernel_grid_row *rows, size_t nrows)
{
    struct system s = {.grid = grid,
                       .naxes = naxes,
                       .npoints = (size_t)kernel_model_npoints(grid, naxes),
                       .rows = rows,
                       .nrows = nrows};
    double *room = malloc(3 * s.npoints * sizeof *room);
    bool fits;

    s.row_weights = malloc((nrows + 1) * sizeof *s.row_weights);
    fits = room && s.row_weights;
    for (size_t i = 0; fits && i < nrows; i++)
        s.row_weights[i] = 1;
    for (int k = 0; fits && k < REWEIGHTINGS; k++) {
        solve(&s, values, room);
        for (size_t i = 0; i < nrows; i++) {
            double error = rows[i].value - value_at(&s, &rows[i], values);

            s.row_weights[i] = USUAL / sqrt(error * error + LEAST * LEAST);
        }
    }
    free(room);
    free(s.row_weights);
    return fits;
}
