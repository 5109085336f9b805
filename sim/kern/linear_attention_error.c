/* Error rules of linear attention: samples.
 *
 * An error of a token goes through the state into all tokens after it, multiplied by products of
 * matrices, in which errors cancel that a rule by magnitudes would add up.  So the rule runs the
 * kernel again, a few times, with each number that it loads moved by its deviation in either
 * direction, and takes the mean square of what that changes (Monte Carlo arithmetic: Parker,
 * Pierce and Eggert 2000).  The kernel's own roundings, of float64, are errors of this unit of what
 * it loads.  As few samples may miss by chance, the variance is that of the samples, or the mean
 * over the row that it is in if that is more, times `SAFETY`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kern/error.h"
#include "kern/linear_chunk.h"

#define SAMPLES 16
#define SAFETY 4.0   /* twice the deviation */
#define ROUNDINGS 64 /* of float64 to a number, in products of all its tokens */

static uint64_t elements_of_result(const struct kern_linear_attention *a, bool backward, uint32_t r)
{
    return kern_linear_elements(a, kern_linear_result(a, backward, r));
}

/* Whether all operands, here and in the whole arrays, are finite. */
static bool is_known(const struct kern_linear_attention *a, const struct kern_error *e,
                     bool backward)
{
    for (int k = 0; k < KERN_LINEAR_NOPERANDS; k++) {
        uint32_t number = kern_linear_number(a, k);
        uint8_t marks;

        if ((k >= KERN_LINEAR_DO && !backward) || !kern_linear_has(a, k))
            continue;
        marks = e->marks ? e->marks[number]
                         : kern_marks(e->args->in[number], e->variances[number],
                                      kern_linear_elements(a, k));
        if (marks &
            (KERN_MARK_OPEN | KERN_MARK_BROKEN | KERN_MARK_NOT_FINITE | KERN_MARK_MINUS_INFINITY))
            return false;
    }
    return true;
}

static void leave_open(const struct kern_linear_attention *a, const struct kern_error *e,
                       bool backward)
{
    for (uint32_t r = 0; r < kern_linear_nresults(a, backward); r++)
        for (uint64_t i = 0; i < elements_of_result(a, backward, r); i++)
            e->out[r][i] = KERN_ERROR_UNKNOWN;
}

static void add_squares(const struct kern_linear_attention *a, const struct kern_error *e,
                        bool backward, void *const *sample)
{
    for (uint32_t r = 0; r < kern_linear_nresults(a, backward); r++) {
        const double *at = e->args->out[r], *moved = sample[r];

        for (uint64_t i = 0; i < elements_of_result(a, backward, r); i++)
            e->out[r][i] += (moved[i] - at[i]) * (moved[i] - at[i]) * SAFETY / SAMPLES;
    }
}

/* The variances of a row, at least their mean. */
static void level_row(double *row, int64_t width)
{
    double mean = 0;

    for (int64_t i = 0; i < width; i++)
        mean += row[i] / (double)width;
    for (int64_t i = 0; i < width; i++)
        row[i] = isfinite(mean) ? fmax(row[i], mean) : KERN_ERROR_UNKNOWN;
}

static void level(const struct kern_linear_attention *a, const struct kern_error *e, bool backward)
{
    for (uint32_t r = 0; r < kern_linear_nresults(a, backward); r++) {
        int like = kern_linear_result(a, backward, r);
        int64_t width = like == KERN_LINEAR_STATE ? a->value_dim : kern_linear_width(a, like);

        for (uint64_t i = 0; i < kern_linear_elements(a, like); i += (uint64_t)width)
            level_row(e->out[r] + i, width);
    }
}

static bool sample(const struct linear_pass *pass, const struct kern_linear_attention *a,
                   struct kern_error *e, void *workspace)
{
    struct kern_args args = *e->args;
    void *out[KERN_OUTPUTS_MAX] = {NULL};
    bool good = workspace != NULL;

    for (uint32_t r = 0; r < kern_linear_nresults(a, pass->backward); r++) {
        out[r] = malloc((size_t)elements_of_result(a, pass->backward, r) * sizeof(double) + 1);
        good &= out[r] != NULL;
    }
    args.workspace = workspace;
    args.out = out;
    for (uint64_t s = 0; s < SAMPLES && good; s++) {
        const struct linear_off off = {e->variances, ROUNDINGS * kern_compute_roundoff(SHD_F64), s};

        linear_run(pass, a, &args, &off);
        add_squares(a, e, pass->backward, out);
    }
    for (uint32_t r = 0; r < KERN_OUTPUTS_MAX; r++)
        free(out[r]);
    return good;
}

bool linear_error(const struct linear_pass *pass, const struct kern_linear_attention *a,
                  struct kern_error *e)
{
    void *workspace;
    bool good;

    if (!is_known(a, e, pass->backward)) {
        leave_open(a, e, pass->backward);
        return true;
    }
    workspace = malloc((size_t)linear_workspace(pass, a) + 1);
    good = sample(pass, a, e, workspace);
    free(workspace);
    if (good)
        level(a, e, pass->backward);
    return good;
}
