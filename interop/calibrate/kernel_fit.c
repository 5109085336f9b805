/* Fitting kernels' models (kernel_fit.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "calibrate/kernel_fit.h"

#include <math.h>
#include <nlopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "calibrate/kernel_grid.h"
#include "hardware/kernel_model_reader.h"

#define FOLDS 5             /* parts of the shapes, of which one is left out at a time */
#define ROWS_OF_A_FORM 1500 /* that its constants are fitted to */
#define TRIALS_A_CONSTANT 150
#define LEAST_PART 0.1 /* of a time that is left to a kernel when the others are taken off */
#define ROUNDING 0.02  /* errors below count little */

struct fitting {
    const struct kernel_samples *samples;
    struct kernel_model *model;
    uint64_t fold; /* that is left out; FOLDS: none */
    bool by_rows;  /* there is one shape */
};

static bool is_held(const struct fitting *f, size_t i)
{
    return (f->by_rows ? i : f->samples->items[i].shape) % FOLDS == f->fold;
}

static bool has_one_shape(const struct kernel_samples *samples)
{
    size_t i = 1;

    while (i < samples->n && samples->items[i].shape == samples->items[0].shape)
        i++;
    return i == samples->n;
}

static bool counts(const struct fitting *f, size_t i)
{
    return !is_held(f, i);
}

static double form_seconds(const struct fitting *f, const double *constants, size_t i)
{
    struct kernel_parts parts;

    return kernel_model_forms[f->samples->kernel].seconds(constants, &f->samples->items[i].sizes,
                                                   &f->samples->peaks, &parts);
}

/* ---- the constants ---- */

/* An nlopt_func of the logarithms of the constants. */
static double form_loss(unsigned n, const double *x, double *gradient, void *arg)
{
    const struct fitting *f = arg;
    double constants[KERNEL_CONSTANTS_MAX], sum = 0;
    size_t step = f->samples->n / ROWS_OF_A_FORM + 1, used = 0;

    (void)gradient;
    for (unsigned c = 0; c < n; c++)
        constants[c] = exp(x[c]);
    for (size_t i = 0; i < f->samples->n; i += step) {
        const struct kernel_sample *s = &f->samples->items[i];
        double error;

        if (!counts(f, i))
            continue;
        error = log((s->others_s + s->count * form_seconds(f, constants, i)) / s->seconds);
        sum += sqrt(error * error + ROUNDING * ROUNDING);
        used++;
    }
    return used > 0 ? sum / (double)used : 0;
}

/* A constant as the file has it: four digits. */
static double rounded(double value)
{
    double unit = pow(10, floor(log10(value)) - 3);

    return round(value / unit) * unit;
}

/* False: no memory. */
static bool fit_form(struct fitting *f)
{
    const struct kernel_form *form = &kernel_model_forms[f->samples->kernel];
    unsigned n = (unsigned)kernel_model_nconstants(form);
    double x[KERNEL_CONSTANTS_MAX], least[KERNEL_CONSTANTS_MAX], most[KERNEL_CONSTANTS_MAX], loss;
    nlopt_opt opt = nlopt_create(NLOPT_LN_SBPLX, n);
    nlopt_result result = NLOPT_OUT_OF_MEMORY;

    for (unsigned c = 0; c < n; c++) {
        x[c] = log(form->constants[c].start);
        least[c] = log(form->constants[c].least);
        most[c] = log(form->constants[c].most);
    }
    if (opt && nlopt_set_min_objective(opt, form_loss, f) > 0 &&
        nlopt_set_lower_bounds(opt, least) > 0 && nlopt_set_upper_bounds(opt, most) > 0 &&
        nlopt_set_initial_step1(opt, 0.3) > 0 && nlopt_set_xtol_rel(opt, 1e-4) > 0 &&
        nlopt_set_ftol_abs(opt, 1e-5) > 0 &&
        nlopt_set_maxeval(opt, TRIALS_A_CONSTANT * (int)n) > 0)
        result = nlopt_optimize(opt, x, &loss);
    nlopt_destroy(opt);
    for (unsigned c = 0; c < n; c++)
        f->model->constants[c] = rounded(fmin(fmax(exp(x[c]), form->constants[c].least),
                                              form->constants[c].most));
    return opt && result != NLOPT_OUT_OF_MEMORY;
}

/* ---- the correction ---- */

/* What the form is to be multiplied by for a row to be right, as a logarithm. */
static double wanted(const struct fitting *f, size_t i)
{
    const struct kernel_sample *s = &f->samples->items[i];
    double left = fmax(s->seconds - s->others_s, LEAST_PART * s->seconds);

    return log(left / s->count / form_seconds(f, f->model->constants, i));
}

/* The grid that covers all rows. */
static void cover(struct fitting *f)
{
    const struct kernel_form *form = &kernel_model_forms[f->samples->kernel];
    double least[KERNEL_AXES_MAX], most[KERNEL_AXES_MAX], place[KERNEL_AXES_MAX];
    int naxes = kernel_model_naxes(form);

    for (int a = 0; a < naxes; a++) {
        least[a] = INFINITY;
        most[a] = 1;
    }
    for (size_t i = 0; i < f->samples->n; i++) {
        form->place(place, &f->samples->items[i].sizes);
        for (int a = 0; a < naxes; a++) {
            least[a] = fmin(least[a], place[a]);
            most[a] = fmax(most[a], place[a]);
        }
    }
    for (int a = 0; a < naxes; a++) {
        double first = floor(log2(least[a]));

        f->model->grid.first[a] = first;
        f->model->grid.points[a] =
            form->axes[a].step > 0
                ? (int64_t)ceil((log2(most[a]) - first) / form->axes[a].step - 1e-9) + 1
                : 1;
    }
}

/* False: no memory. */
static bool fit_correction(struct fitting *f)
{
    const struct kernel_form *form = &kernel_model_forms[f->samples->kernel];
    size_t n = 0, npoints = (size_t)kernel_model_npoints(&f->model->grid, kernel_model_naxes(form));
    struct kernel_grid_row *rows = malloc(f->samples->n * sizeof *rows);
    double *values = calloc(npoints, sizeof *values);
    bool fits = rows && values;

    for (size_t i = 0; fits && i < f->samples->n; i++) {
        double place[KERNEL_AXES_MAX];

        if (!counts(f, i))
            continue;
        form->place(place, &f->samples->items[i].sizes);
        kernel_model_weigh(rows[n].points, rows[n].weights, form, &f->model->grid, place);
        rows[n++].value = wanted(f, i);
    }
    fits = fits && kernel_grid_fit(values, &f->model->grid, kernel_model_naxes(form), rows, n);
    for (size_t i = 0; fits && i < npoints; i++)
        f->model->correction[i] = (float)(round(values[i] / KERNEL_HUNDREDTH) * KERNEL_HUNDREDTH);
    free(rows);
    free(values);
    return fits;
}

static bool fit_both(struct fitting *f)
{
    return fit_form(f) && fit_correction(f);
}

/* ---- errors ---- */

static double error_of(const struct fitting *f, size_t i)
{
    const struct kernel_sample *s = &f->samples->items[i];
    struct kernel_parts parts;
    double each = kernel_model_seconds(f->model, &s->sizes, &f->samples->peaks, &parts);

    return fabs((s->others_s + s->count * each) / s->seconds - 1);
}

struct held {
    double error;
    int class;
};

static int by_error(const void *a, const void *b)
{
    const struct held *x = a, *y = b;

    return order_double(&x->error, &y->error);
}

/* Set the error of the rows of a class, of all if it is KERNEL_CLASSES.  `held` is sorted. */
static void set_error(struct kernel_error *out, const struct held *held, size_t n, int class)
{
    size_t rows = 0, at = 0;

    for (size_t i = 0; i < n; i++)
        rows += class == KERNEL_CLASSES || held[i].class == class;
    *out = (struct kernel_error){.rows = (int64_t)rows};
    for (size_t i = 0; i < n; i++) {
        if (class != KERNEL_CLASSES && held[i].class != class)
            continue;
        if (at == rows / 2)
            out->median = held[i].error;
        if (at++ == rows * 9 / 10)
            out->p90 = held[i].error;
    }
}

/* Fit without each fold in turn, and take the errors of its rows.  False: no memory. */
static bool cross_validate(struct fitting *f)
{
    const struct kernel_form *form = &kernel_model_forms[f->samples->kernel];
    struct held *held = malloc(f->samples->n * sizeof *held);
    bool fits = held;
    size_t n = 0;

    for (f->fold = 0; fits && f->fold < FOLDS; f->fold++) {
        fits = fit_both(f);
        for (size_t i = 0; fits && i < f->samples->n; i++)
            if (is_held(f, i))
                held[n++] = (struct held){error_of(f, i),
                                          kernel_model_class(form, &f->samples->items[i].sizes)};
    }
    if (fits) {
        qsort(held, n, sizeof *held, by_error);
        set_error(&f->model->error, held, n, KERNEL_CLASSES);
        for (int c = 0; c < KERNEL_CLASSES; c++)
            set_error(&f->model->by_size[c], held, n, c);
    }
    free(held);
    return fits;
}

/* Note which sizes were measured. */
static void set_measured(struct kernel_model *model, const struct kernel_samples *samples)
{
    const struct kernel_form *form = &kernel_model_forms[model->kernel];

    for (int m = 0; m < kernel_model_nmeasures(form); m++) {
        model->least[m] = INFINITY;
        for (size_t i = 0; i < samples->n; i++) {
            double value = kernel_model_measure(form, m, &samples->items[i].sizes);

            model->least[m] = fmin(model->least[m], value);
            model->most[m] = fmax(model->most[m], value);
        }
    }
}

int kernel_fit(struct kernel_model *out, const struct kernel_samples *samples, struct shd_error *err)
{
    struct fitting f = {.samples = samples, .model = out, .by_rows = has_one_shape(samples)};
    const struct kernel_form *form = &kernel_model_forms[samples->kernel];
    bool fits;

    *out = (struct kernel_model){.kernel = samples->kernel, .type = samples->type};
    memcpy(out->name, samples->name, sizeof out->name);
    set_measured(out, samples);
    cover(&f);
    out->correction = calloc((size_t)kernel_model_npoints(&out->grid, kernel_model_naxes(form)),
                             sizeof *out->correction);
    fits = out->correction && cross_validate(&f);
    f.fold = FOLDS;
    if (fits && fit_both(&f))
        return SHD_OK;
    free(out->correction);
    out->correction = NULL;
    return shd_error_set(err, SHD_ENOMEM, "no memory to fit a kernel's model");
}
