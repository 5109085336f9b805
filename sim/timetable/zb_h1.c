/* ZBH1 - 1F1B with the backward in two: weight gradients wait until a rank would be idle.
 *
 * A stage needs only the input gradient of the next; the weight gradient of a microbatch can be
 * made at any time.  Rank r is p - 1 - r forwards ahead, as in 1F1B, and puts weight gradients off
 * by r microbatches, so that the last rank fills the end with them.  As many microbatches keep
 * something alive (until their weight gradient) on each rank as on the first rank of 1F1B: p.
 *
 * Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241, section 2.1 and table 2.  One
 * stage a rank; any number of microbatches.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "timetable/bubble.h"
#include "timetable/row.h"
#include "timetable/table.h"

static void order(struct timetable_row *row)
{
    uint32_t ahead = (uint32_t)timetable_ahead(row->schedule, &row->sizes, row->rank);
    uint32_t n = row->sizes.nmicrobatches, weights = 0;

    for (uint32_t m = 0; m < ahead; m++)
        timetable_add(row, TIMETABLE_FORWARD, row->rank, m);
    for (uint32_t m = 0; m < n; m++) {
        timetable_add(row, TIMETABLE_BACKWARD_INPUT, row->rank, m);
        if (m >= row->rank)
            timetable_add(row, TIMETABLE_BACKWARD_WEIGHT, row->rank, weights++);
        if (n - m > ahead)
            timetable_add(row, TIMETABLE_FORWARD, row->rank, m + ahead);
    }
    while (weights < n)
        timetable_add(row, TIMETABLE_BACKWARD_WEIGHT, row->rank, weights++);
}

static bool holds(const struct timetable_sizes *sizes, const struct timetable_times *times)
{
    return timetable_even(times) && sizes->nmicrobatches >= sizes->nranks;
}

const struct timetable_schedule timetable_zb_h1 = {
    .name = "ZBH1",
    .desc = "1F1B whose weight gradients wait until a rank would be idle",
    .source = "Qi et al., arXiv:2401.10241",
    .stages_per_rank = 1,
    .flags = TIMETABLE_SPLITS | TIMETABLE_USUAL,
    .ahead = 1,
    .bubble = {"(p-1)(F+I-W)", "F = I = W, m >= p", timetable_filled_ramps, holds},
    .other_names = {"zero-bubble"},
    .order = order,
};
