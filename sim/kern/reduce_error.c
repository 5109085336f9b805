/* The error of a reduction.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "kern/convert.h"
#include "kern/error.h"
#include "kern/nest.h"

/* Make a nest over all elements of the operand, with the result of each. */
static void walk_both(struct kern_nest *nest, const struct kern_reduce *r)
{
    *nest = (struct kern_nest){.narrays = 2};
    for (uint32_t d = 0; d < r->ndims; d++)
        kern_nest_add(nest, r->extent[d],
                      (const int64_t[]){r->in_stride[d],
                                        r->out_has >> d & 1 ? r->out_stride[d] : 0});
    kern_nest_simplify(nest, 0);
}

/* Bounds on the extreme of many elements: `floor`, a lower bound of the largest; `n`, how many may
 * be the largest if each is off as far as possible. */
struct extreme {
    double floor;
    uint64_t n;
};

/* The upper bound of an element; a minimum is the maximum of negated elements. */
static double reach(const struct kern_reduce *r, double x, double off)
{
    return (r->op == SHD_MIN ? -x : x) + off;
}

/* An element of the float64 run, where whole numbers keep their type. */
static double operand(const struct kern_reduce *r, const struct kern_error *e, int64_t at)
{
    return kern_load_one(kern_is_whole(r->dtype) ? r->dtype : SHD_F64, e->args->in[0], at);
}

/* Set the variance of the extreme: the largest variance of the candidates.  With more than one
 * candidate it is doubled, so that it differs from the variance of each: map_error.c thereby
 * recognises whether an element and an extreme are the same. */
static void extreme_error(const struct kern_reduce *r, const struct kern_error *e,
                          struct extreme *extremes)
{
    const double *v = e->variances[0];
    double *out = e->out[0];
    struct kern_nest nest;
    int64_t count;

    walk_both(&nest, r);
    count = kern_nest_count(&nest);
    for (int pass = 0; pass < 2; pass++) {
        struct kern_walk walk;

        kern_walk_init(&walk, &nest, 0);
        for (int64_t i = 0; i < count; i++, kern_walk_advance(&walk, 1)) {
            int64_t from = walk.offset[0], to = walk.offset[1];
            double off = KERN_ERROR_SPREAD * sqrt(v[from]), x = operand(r, e, from);

            if (pass == 0) {
                extremes[to].floor = fmax(extremes[to].floor, reach(r, x, -off));
            } else if (reach(r, x, off) >= extremes[to].floor) {
                extremes[to].n++;
                out[to] = fmax(out[to], v[from]);
            }
        }
    }
}

static bool extreme_rule(const struct kern_reduce *r, const struct kern_error *e, uint64_t nout)
{
    struct extreme *extremes = malloc(nout * sizeof *extremes);

    if (!extremes)
        return false;
    for (uint64_t i = 0; i < nout; i++)
        extremes[i] = (struct extreme){-INFINITY, 0};
    extreme_error(r, e, extremes);
    for (uint64_t i = 0; i < nout; i++)
        if (extremes[i].n > 1)
            e->out[0][i] *= 2;
    free(extremes);
    return true;
}

/* A sum of whole numbers is not rounded: errors, where what was added is not known, add up. */
static bool whole_sum_rule(const union kern_desc *desc, const struct kern_error *e, uint64_t nin,
                           uint64_t nout)
{
    union kern_desc sum = *desc;
    double *off = malloc((size_t)(nin + 1) * sizeof *off);
    const void *in[] = {off};
    const struct kern_args args = {in, (void *const *)e->out, NULL, e->args->offsets,
                                   e->args->nthreads};

    if (!off)
        return false;
    for (uint64_t i = 0; i < nin; i++)
        off[i] = sqrt(e->variances[0][i]);
    sum.reduce.dtype = SHD_F64;
    kern_kernel_reduce.run(&sum, &args);
    for (uint64_t i = 0; i < nout; i++)
        e->out[0][i] *= e->out[0][i];
    free(off);
    return true;
}

bool kern_reduce_error(const union kern_desc *desc, struct kern_error *e)
{
    const struct kern_reduce *r = &desc->reduce;
    uint64_t nin = kern_elements(r->ndims, r->extent, UINT32_MAX);
    uint64_t nout = kern_elements(r->ndims, r->extent, r->out_has);

    if (nout == 0)
        return true;
    if (r->op == SHD_MAX || r->op == SHD_MIN) {
        e->kept = true;
        return !e->variances[0] || extreme_rule(r, e, nout);
    }
    if (kern_is_whole(r->dtype))
        return !e->variances[0] || whole_sum_rule(desc, e, nin, nout);
    /* local sums are in double; see reduce.c */
    return kern_error_added(&kern_kernel_reduce, desc, e, 0, nin, nout,
                            (double)nin / (double)nout, kern_store_roundoff(SHD_F64));
}
