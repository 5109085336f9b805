/* einsum: dimensions are sorted by role, then computed as one (batched) matrix product.
 *
 * No layout needs the workspace: products pack their operands, in rooms of their own if there is
 * much to do, else on the stack.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kern.h"

#include "kern/convert.h"
#include "kern/gemm.h"

static bool in(uint32_t has, uint32_t d)
{
    return has >> d & 1;
}

/* Sort dimensions into the nests of `g`; those that only c has go to `spread`. */
static void classify(const struct kern_einsum *e, struct kern_gemm *g, struct kern_nest *spread)
{
    *g = (struct kern_gemm){.dtype = e->dtype};
    g->batch.narrays = 3;
    g->m.narrays = g->n.narrays = g->k.narrays = 2;
    *spread = (struct kern_nest){.narrays = 1};
    for (uint32_t d = 0; d < e->ndims; d++) {
        bool a = in(e->a_has, d), b = in(e->b_has, d), c = in(e->c_has, d);
        int64_t sa = a ? e->a_stride[d] : 0, sb = b ? e->b_stride[d] : 0;
        int64_t sc = c ? e->c_stride[d] : 0;

        if (c && a && b)
            kern_nest_add(&g->batch, e->extent[d], (const int64_t[]){sa, sb, sc});
        else if (c && a)
            kern_nest_add(&g->m, e->extent[d], (const int64_t[]){sa, sc});
        else if (c && b)
            kern_nest_add(&g->n, e->extent[d], (const int64_t[]){sb, sc});
        else if (c)
            kern_nest_add(spread, e->extent[d], &sc);
        else if (a || b)
            kern_nest_add(&g->k, e->extent[d], (const int64_t[]){sa, sb});
    }
    kern_nest_simplify(&g->batch, 2);
    kern_nest_simplify(&g->m, 1);
    kern_nest_simplify(&g->n, 1);
    kern_nest_simplify(&g->k, 0);
    kern_nest_simplify(spread, 0);
}

static void swap_arrays(struct kern_nest *nest, uint32_t i, uint32_t j)
{
    for (uint32_t d = 0; d < nest->ndims; d++) {
        int64_t t = nest->stride[i][d];

        nest->stride[i][d] = nest->stride[j][d];
        nest->stride[j][d] = t;
    }
}

static bool runs_along(const struct kern_nest *nest, uint32_t array)
{
    return nest->ndims && nest->stride[array][nest->ndims - 1] == 1;
}

/* Whether to exchange a and b.  Products read rows of b and write rows of c; the latter counts
 * more. */
static bool better_swapped(const struct kern_gemm *g)
{
    int straight = runs_along(&g->n, 0) + 2 * runs_along(&g->n, 1);
    int swapped = runs_along(&g->m, 0) + 2 * runs_along(&g->m, 1);

    if (kern_nest_count(&g->n) < 8 && kern_nest_count(&g->m) >= 16)
        return true;
    return swapped > straight && kern_nest_count(&g->m) >= 16;
}

static void swap_operands(struct kern_gemm *g)
{
    struct kern_nest m = g->m;

    g->m = g->n;
    g->n = m;
    swap_arrays(&g->batch, 0, 1);
    swap_arrays(&g->k, 0, 1);
}

/* Copy the result at index 0 of the dimensions that only c has to their other indexes. */
static void copy_spread(const struct kern_einsum *e, const struct kern_nest *spread, char *c)
{
    size_t size = kern_size(e->dtype);
    int64_t extent[KERN_DIMS_MAX], stride[KERN_DIMS_MAX], count = kern_nest_count(spread);
    struct kern_walk walk;
    uint32_t n = 0;

    for (uint32_t d = 0; d < e->ndims; d++) {
        if (!in(e->c_has, d) || (!in(e->a_has, d) && !in(e->b_has, d)))
            continue;
        extent[n] = e->extent[d];
        stride[n++] = e->c_stride[d];
    }
    kern_walk_init(&walk, spread, 0);
    for (int64_t i = 1; i < count; i++) {
        kern_walk_advance(&walk, 1);
        kern_copy_box(size, n, extent, c + walk.offset[0] * (int64_t)size, stride, c, stride);
    }
}

uint64_t kern_einsum_workspace_bytes(const struct kern_einsum *e)
{
    (void)e; /* see above */
    return 0;
}

uint64_t kern_einsum_flops(const struct kern_einsum *e)
{
    if (kern_elements(e->ndims, e->extent, e->c_has) == 0)
        return 0;
    return kern_sat_mul(2, kern_elements(e->ndims, e->extent, e->a_has | e->b_has));
}

uint64_t kern_einsum_bytes(const struct kern_einsum *e)
{
    uint64_t count = kern_elements(e->ndims, e->extent, e->a_has);

    count = kern_sat_add(count, kern_elements(e->ndims, e->extent, e->b_has));
    count = kern_sat_add(count, kern_elements(e->ndims, e->extent, e->c_has));
    return kern_sat_mul(count, kern_size(e->dtype));
}

uint64_t kern_einsum_run(const struct kern_einsum *e, const void *a, const void *b, void *c,
                         void *workspace, int nthreads)
{
    struct kern_gemm g;
    struct kern_nest spread;
    uint64_t flops = 0;

    (void)workspace;
    if (kern_elements(e->ndims, e->extent, e->c_has) == 0)
        return 0;
    classify(e, &g, &spread);
    if (!kern_gemm_dot(&g, a, b, c, nthreads, &flops)) {
        bool swap = better_swapped(&g);

        if (swap)
            swap_operands(&g);
        if (!kern_gemm_packed(&g, swap ? b : a, swap ? a : b, c, nthreads, &flops))
            flops = kern_gemm_own(&g, swap ? b : a, swap ? a : b, c, nthreads);
    }
    copy_spread(e, &spread, c);
    return flops;
}
