/* InterleavedZeroBubble - ZB-H1 with several smaller stages a rank.
 *
 * Unlike in Interleaved1F1B, a rank is only one forward further ahead for each rank after it,
 * because input gradients come back in half the time of full backwards; weight gradients are put
 * off.
 *
 * Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241, section 2.1 (ZB-H1), with the
 * stages of arXiv:2104.04473; the name is PyTorch's.  floor(m / p) rounds (at least one) must
 * divide m.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "timetable/bubble.h"
#include "timetable/interleave.h"
#include "timetable/table.h"

const struct timetable_schedule timetable_interleaved_zero_bubble = {
    .name = "InterleavedZeroBubble",
    .desc = "ZB-H1 with several smaller stages per rank",
    .source = "Qi et al., arXiv:2401.10241",
    .stages_per_rank = 2,
    .flags =
        TIMETABLE_ANY_STAGES | TIMETABLE_IN_ROUNDS | TIMETABLE_SPLITS | TIMETABLE_IN_TORCHTITAN,
    .ahead = 1,
    .bubble = {"(p-1)(F+I-W)", "F = I = W, m >= p", timetable_filled_ramps,
               timetable_even_and_full},
    .order = timetable_interleave,
};
