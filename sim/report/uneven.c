/* Explaining work that is unevenly dealt (uneven.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "report/uneven.h"

#include "report/attention.h"
#include "report/experts.h"

#define UNEVEN 0.95 /* mean / max of flops below which the report gives a reason */

/* Excess of a device over the mean. */
static double excess(const struct record *record, const uint128 *rows, int32_t position)
{
    double mean = record_balance_of(record, rows).mean;

    return (double)rows[record_row_of(record, position)] - mean;
}

/* Explain the attention whose imbalance loses the most flops. */
static int attention_part(struct text *out, const struct record *record, struct shd_error *err)
{
    struct attention attention;
    double most = 0;
    uint32_t which = 0;
    int status = attention_init(&attention, record, err);

    if (status != SHD_OK)
        return status;
    for (uint32_t r = 0; r < attention.nrows; r++) {
        const struct attention_row *row = &attention.rows[r];
        double lost = (row->times - 1) * row->mean * (double)row->pair_flops * row->count;

        if (lost > most) {
            most = lost;
            which = r;
        }
    }
    if (most > 0 && !attention_is_even(&attention.rows[which]))
        attention_why(&attention.rows[which], record, out);
    attention_fini(&attention);
    return SHD_OK;
}

static int experts_part(struct text *out, const struct record *record, struct shd_error *err)
{
    struct experts experts;
    double most = 0;
    uint32_t which = 0;
    int status = experts_init(&experts, record, err);

    if (status != SHD_OK)
        return status;
    for (uint32_t r = 0; r < experts.nrows; r++) {
        const struct experts_row *row = &experts.rows[r];
        double lost = (row->ranks.times - 1) * row->ranks.mean * row->count;

        if (lost > most) {
            most = lost;
            which = r;
        }
    }
    if (most > 0 && !experts_are_even(&experts.rows[which]))
        experts_why(&experts.rows[which], record, out);
    experts_fini(&experts);
    return SHD_OK;
}

int uneven_why(struct text *out, const struct record *record, struct shd_error *err)
{
    struct record_balance flops = record_balance_of(record, record->flops);
    double all = (double)flops.max - flops.mean, by[KERN_NUNEVENS];

    if (flops.ratio >= UNEVEN)
        return SHD_OK;
    for (int k = 0; k < KERN_NUNEVENS; k++)
        by[k] = excess(record, record->uneven_flops[k], flops.slowest);
    if (by[KERN_BY_SIGHT] > all / 2)
        return attention_part(out, record, err);
    if (by[KERN_BY_ROUTING] > all / 2)
        return experts_part(out, record, err);
    return SHD_OK;
}
