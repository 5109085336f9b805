/* Fitting constants to measured times (fit.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "calibrate/fit.h"

#include <math.h>
#include <nlopt.h>
#include <stdlib.h>

#include "base/order.h"

#define NO_FOLD (-1)
#define TRIALS_A_CONSTANT 60
#define PRECISE_ENOUGH 1e-4 /* relative tolerance of the constants */

struct search {
    struct samples *samples;
    struct constants *constants;
    double *values;  /* [constant]: values being tried */
    int folds, fold; /* the fold to leave out; NO_FOLD: none */
    const int *stop_request;
    int evaluations;
    int status;
    struct shd_error *err;
    nlopt_opt opt;
};

/* ---- errors ---- */

static bool is_in_fold(const struct sample *sample, int folds, int fold)
{
    return fold != NO_FOLD && (int)(sample->index % (size_t)folds) == fold;
}

/* The mean loss of a set's rows that count; 0 if there are none. */
static double set_loss(const struct search *s, size_t set, size_t *n)
{
    double sum = 0;

    *n = 0;
    for (size_t i = 0; i < s->samples->n; i++) {
        const struct sample *sample = &s->samples->items[i];

        if (sample->set != set || is_in_fold(sample, s->folds, s->fold))
            continue;
        sum += fabs(log(fmax(sample->modelled_s, 1e-9) / sample->measured_s));
        ++*n;
    }
    return *n > 0 ? sum / (double)*n : 0;
}

static double loss(const struct search *s)
{
    double sum = 0;
    size_t nsets = 0, n;

    for (size_t set = 0; set < s->samples->nsets; set++) {
        sum += set_loss(s, set, &n);
        nsets += n > 0;
    }
    return nsets > 0 ? sum / (double)nsets : 0;
}

static double relative_error(const struct sample *sample)
{
    return sample->modelled_s / sample->measured_s - 1;
}

/* ---- the search ---- */

/* An nlopt_func. */
static double try_constants(unsigned n, const double *x, double *gradient, void *arg)
{
    struct search *s = arg;

    (void)gradient;
    for (unsigned i = 0; i < n; i++)
        s->values[i] = constant_of_search(&s->constants->items[i], x[i]);
    if (s->stop_request && *s->stop_request)
        s->status = shd_error_set(s->err, SHD_ESTOPPED, "interrupted");
    else
        s->status = samples_model(s->samples, s->constants, s->values, s->err);
    s->evaluations++;
    if (s->status != SHD_OK)
        nlopt_force_stop(s->opt);
    return loss(s);
}

static bool set_up(struct search *s, double *x, double *least, double *most)
{
    size_t n = s->constants->n;

    for (size_t i = 0; i < n; i++) {
        const struct constant *c = &s->constants->items[i];

        least[i] = constant_to_search(c, c->least);
        most[i] = constant_to_search(c, c->most);
        x[i] = fmin(fmax(constant_to_search(c, c->start), least[i]), most[i]);
    }
    return nlopt_set_min_objective(s->opt, try_constants, s) > 0 &&
           nlopt_set_lower_bounds(s->opt, least) > 0 && nlopt_set_upper_bounds(s->opt, most) > 0 &&
           nlopt_set_initial_step1(s->opt, 1) > 0 &&
           nlopt_set_xtol_rel(s->opt, PRECISE_ENOUGH) > 0 && nlopt_set_ftol_abs(s->opt, 1e-6) > 0 &&
           nlopt_set_maxeval(s->opt, TRIALS_A_CONSTANT * (int)(n + 1)) > 0;
}

/* Find the best values for all samples outside the fold, and store them in s->values.  Then model
 * the samples with these values rounded as in a file. */
static int look(struct search *s, struct shd_error *err)
{
    size_t n = s->constants->n;
    double *x = calloc(3 * n, sizeof *x), best;
    nlopt_result result;

    s->opt = nlopt_create(NLOPT_LN_SBPLX, (unsigned)n);
    s->status = SHD_OK;
    if (!x || !s->opt || !set_up(s, x, x + n, x + 2 * n)) {
        nlopt_destroy(s->opt);
        free(x);
        return shd_error_set(err, SHD_ENOMEM, "no memory to look for constants");
    }
    result = nlopt_optimize(s->opt, x, &best);
    for (size_t i = 0; i < n; i++)
        s->values[i] = constant_rounded(&s->constants->items[i],
                                        constant_of_search(&s->constants->items[i], x[i]));
    nlopt_destroy(s->opt);
    free(x);
    if (s->status != SHD_OK)
        return s->status;
    if (result == NLOPT_OUT_OF_MEMORY)
        return shd_error_set(err, SHD_ENOMEM, "no memory to look for constants");
    return samples_model(s->samples, s->constants, s->values, err);
}

/* ---- errors of the result ---- */

static void tell_errors(struct fit *out, const struct samples *samples)
{
    for (size_t set = 0; set < samples->nsets; set++) {
        struct fit_error *e = &out->sets[set];

        e->mape = e->bias = e->worst_error = 0;
        for (size_t i = 0; i < samples->n; i++) {
            double error = relative_error(&samples->items[i]);

            if (samples->items[i].set != set)
                continue;
            e->mape += fabs(error) / (double)samples->sets[set].n;
            e->bias += error / (double)samples->sets[set].n;
            if (fabs(error) >= fabs(e->worst_error)) {
                e->worst = i;
                e->worst_error = error;
            }
        }
    }
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, order_double);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* The cross-validated error of a set: over all its rows, or if it has few the median over folds. */
static double left_out_error(const struct samples *samples, size_t set, const double *errors,
                             int folds)
{
    double sums[FIT_FOLDS_MAX] = {0}, all = 0;
    int n[FIT_FOLDS_MAX] = {0}, used = 0, rows = 0;

    for (size_t i = 0; i < samples->n; i++)
        if (samples->items[i].set == set) {
            sums[samples->items[i].index % (size_t)folds] += errors[i];
            n[samples->items[i].index % (size_t)folds]++;
        }
    for (int f = 0; f < folds; f++) {
        all += sums[f];
        rows += n[f];
        if (n[f] > 0)
            sums[used++] = sums[f] / n[f];
    }
    return used == 0 ? NAN : rows < FIT_FEW_ROWS ? median(sums, used) : all / rows;
}

static int cross_validate(struct fit *out, struct search *s, struct shd_error *err)
{
    double *errors = calloc(s->samples->n + 1, sizeof *errors);
    int status = SHD_OK;

    if (!errors)
        return shd_error_set(err, SHD_ENOMEM, "no memory to cross-validate");
    for (s->fold = 0; s->fold < s->folds && status == SHD_OK; s->fold++) {
        status = look(s, err);
        for (size_t i = 0; i < s->samples->n && status == SHD_OK; i++)
            if (is_in_fold(&s->samples->items[i], s->folds, s->fold))
                errors[i] = fabs(relative_error(&s->samples->items[i]));
    }
    for (size_t set = 0; set < s->samples->nsets; set++)
        out->sets[set].cross_validated_mape = left_out_error(s->samples, set, errors, s->folds);
    free(errors);
    return status;
}

static int run(struct fit *out, struct search *s, struct shd_error *err)
{
    size_t n = s->constants->n;
    int status;

    for (size_t i = 0; i < n; i++)
        s->values[i] = s->constants->items[i].start;
    status = samples_model(s->samples, s->constants, s->values, err);
    tell_errors(out, s->samples);
    for (size_t set = 0; set < s->samples->nsets; set++)
        out->sets[set].before_mape = out->sets[set].mape;
    if (status == SHD_OK)
        status = look(s, err);
    if (status != SHD_OK)
        return status;
    for (size_t i = 0; i < n; i++)
        s->constants->items[i].value = s->values[i];
    tell_errors(out, s->samples);
    for (size_t set = 0; set < s->samples->nsets; set++)
        out->sets[set].cross_validated_mape = NAN;
    return s->folds > 1 ? cross_validate(out, s, err) : SHD_OK;
}

int fit_run(struct fit *out, struct samples *samples, struct constants *constants, int folds,
            const int *stop_request, struct shd_error *err)
{
    struct search s = {.samples = samples,
                       .constants = constants,
                       .values = calloc(constants->n + 1, sizeof *s.values),
                       .folds = folds,
                       .fold = NO_FOLD,
                       .stop_request = stop_request,
                       .err = err};
    int status;

    *out = (struct fit){.sets = calloc(samples->nsets + 1, sizeof *out->sets)};
    if (!s.values || !out->sets)
        status = shd_error_set(err, SHD_ENOMEM, "no memory to fit constants");
    else
        status = run(out, &s, err);
    out->evaluations = s.evaluations;
    free(s.values);
    if (status != SHD_OK)
        fit_fini(out);
    return status;
}

void fit_fini(struct fit *fit)
{
    free(fit->sets);
    fit->sets = NULL;
}
