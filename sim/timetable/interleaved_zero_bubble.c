/* InterleavedZeroBubble - ZB-H1 with several smaller stages a rank.
 *
 * As Interleaved1F1B, but a rank is only one forward further ahead for each rank behind it, as
 * input gradients come back in half the time; weight gradients are put off by r forwards and
 * backwards, so that the last rank has most of them left to fill the end, which is where it would
 * be idle.
 *
 * Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241, section 2.1 (ZB-H1), with the
 * stages of arXiv:2104.04473; PyTorch calls it so.  floor(m / p) rounds (at least one) must divide
 * m.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "timetable/bubble.h"
#include "timetable/interleave.h"
#include "timetable/table.h"

static void order(struct timetable_row *row)
{
    uint64_t all = (uint64_t)row->sizes.stages_per_rank * row->sizes.nmicrobatches;
    uint64_t ahead = timetable_ahead(row->schedule, &row->sizes, row->rank), weights = 0;

    for (uint64_t k = 0; k < ahead; k++)
        timetable_add_forward(row, k);
    for (uint64_t k = 0; k < all; k++) {
        timetable_add_backward(row, TIMETABLE_BACKWARD_INPUT, k);
        if (k >= row->rank)
            timetable_add_backward(row, TIMETABLE_BACKWARD_WEIGHT, weights++);
        if (k + ahead < all)
            timetable_add_forward(row, k + ahead);
    }
    while (weights < all)
        timetable_add_backward(row, TIMETABLE_BACKWARD_WEIGHT, weights++);
}

static bool holds(const struct timetable_sizes *sizes, const struct timetable_times *times)
{
    return timetable_even(times) && sizes->nmicrobatches >= sizes->nranks;
}

const struct timetable_schedule timetable_interleaved_zero_bubble = {
    .name = "InterleavedZeroBubble",
    .desc = "ZB-H1 with several smaller stages a rank",
    .source = "Qi et al., arXiv:2401.10241",
    .stages_per_rank = 2,
    .flags = TIMETABLE_ANY_STAGES | TIMETABLE_IN_ROUNDS | TIMETABLE_SPLITS | TIMETABLE_IN_TORCHTITAN,
    .ahead = 1,
    .bubble = {"(p-1)(F+I-W)", "F = I = W, m >= p", timetable_filled_ramps, holds},
    .order = order,
};
