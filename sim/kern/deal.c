/* Tokens dealt out to the copies of their experts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/cut.h"
#include "kern/error.h"
#include "kern/kernel.h"
#include "kern/nest.h"

struct deal_run {
    const struct kern_deal *deal;
    const int32_t *in;
    int32_t *out;
    int64_t row0, seq0;
};

static uint64_t deal_row(void *arg, int64_t row)
{
    const struct deal_run *run = arg;
    const struct kern_deal *d = run->deal;

    for (int64_t s = 0; s < d->seq; s++) {
        int64_t token = ((run->row0 + row) * d->whole + run->seq0 + s) % d->tokens;

        for (int64_t i = (row * d->seq + s) * d->choices, end = i + d->choices; i < end; i++)
            run->out[i] = kern_copies_find(d->copies, run->in[i], token);
    }
    return 0;
}

static uint64_t run(const union kern_desc *desc, const struct kern_args *args)
{
    struct deal_run all = {&desc->deal, args->in[0], args->out[0], args->offsets[0],
                           args->offsets[1]};

    return kern_parallel(deal_row, &all, desc->deal.rows, args->nthreads);
}

static uint64_t bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_deal *d = &desc->deal;
    const int64_t ids[] = {d->rows, d->seq, d->choices};

    (void)offsets;
    return kern_sat_mul(kern_elements(3, ids, 7), 2 * sizeof(int32_t));
}

/* The results are integers, compared exactly. */
static bool error(const union kern_desc *desc, struct kern_error *e)
{
    (void)desc;
    e->kept = true;
    return true;
}

/* Cut rows. */
static void cut(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    const struct kern_deal *d = &desc->deal;

    (void)wanted;
    out->rows = d->seq * d->choices > 0 ? d->rows : 0;
    out->in[0] = out->out[0] = (struct kern_cut_array){1, 1, d->seq * d->choices};
}

static void part(union kern_desc *desc, const struct kern_cut *cut, int64_t first, int64_t count,
                 int64_t *offsets)
{
    (void)cut;
    desc->deal.rows = count;
    offsets[0] += first;
}

const struct kern_kernel kern_kernel_deal = {
    .name = "deal", .run = run, .bytes = bytes, .error = error, .cut = cut, .part = part};
