/* ZBH1 - 1F1B with split backwards: weight gradients wait until a rank would be idle.
 *
 * A stage needs only the input gradient of the next stage; the weight gradient of a microbatch can
 * be made at any later time.  Rank r is p - 1 - r forwards ahead, as in 1F1B, and puts weight
 * gradients off by r microbatches, so that the last rank fills the end with them.  On each rank p
 * microbatches keep something alive (until their weight gradient), as many as on the first rank of
 * 1F1B.
 *
 * Qi et al., Zero Bubble Pipeline Parallelism, arXiv:2401.10241, section 2.1 and table 2.  One
 * stage a rank; any number of microbatches.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "timetable/bubble.h"
#include "timetable/interleave.h"
#include "timetable/table.h"

const struct timetable_schedule timetable_zb_h1 = {
    .name = "ZBH1",
    .desc = "1F1B with weight gradients delayed into the bubble",
    .source = "Qi et al., arXiv:2401.10241",
    .stages_per_rank = 1,
    .flags = TIMETABLE_SPLITS | TIMETABLE_USUAL,
    .ahead = 1,
    .bubble = {"(p-1)(F+I-W)", "F = I = W, m >= p", timetable_filled_ramps,
               timetable_even_and_full},
    .other_names = {"zero-bubble"},
    .order = timetable_interleave,
};
