/* 1F1B - one forward, one backward: the bubble of GPipe, with the activations of fewer
 * microbatches.
 *
 * Rank r does p - r forwards, one for each rank from r to the last; then the first gradient is
 * back, and from then on a backward makes room for every forward.  The bubble is GPipe's, but no
 * more than p - r microbatches are alive.
 *
 * Narayanan et al., PipeDream-Flush, arXiv:2006.09503; Megatron-LM, arXiv:2104.04473, section 2.2.
 * One stage a rank; any number of microbatches (if fewer than p - r, all forwards go first).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "timetable/bubble.h"
#include "timetable/interleave.h"
#include "timetable/table.h"

const struct timetable_schedule timetable_one_f_one_b = {
    .name = "1F1B",
    .desc = "each backward as early as possible, for fewer live activations",
    .source = "Narayanan et al., arXiv:2006.09503",
    .stages_per_rank = 1,
    .flags = TIMETABLE_USUAL | TIMETABLE_IN_MEGATRON | TIMETABLE_IN_TORCHTITAN,
    .ahead = 1,
    .bubble = {"(p-1)(F+B)", "", timetable_ramps, timetable_always},
    .other_names = {"pipedream-flush", "one-forward-one-backward"},
    .order = timetable_interleave,
};
