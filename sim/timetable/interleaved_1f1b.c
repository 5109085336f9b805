/* Interleaved1F1B - 1F1B with several smaller stages a rank.
 *
 * Stage s is on rank s mod p.  Microbatches go in rounds of about p, each round through all stages
 * of a rank before the next round ("depth first"), so that the ramps are as long as a stage, which
 * is 1/v of a rank's work.  A rank is two forwards further ahead for each rank after it: one while
 * the microbatch goes to that rank, one while the gradient comes back.
 *
 * Narayanan et al., Megatron-LM, arXiv:2104.04473, section 2.2.2.  In that paper m is a multiple of
 * p; here, as in Meta's Llama 3 (arXiv:2407.21783, section 3.3.2) and PyTorch, floor(m / p) rounds
 * (at least one) must divide m.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "timetable/bubble.h"
#include "timetable/interleave.h"
#include "timetable/table.h"

const struct timetable_schedule timetable_interleaved_1f1b = {
    .name = "Interleaved1F1B",
    .desc = "1F1B with several smaller stages per rank, for a smaller bubble",
    .source = "Narayanan et al., arXiv:2104.04473",
    .stages_per_rank = 2,
    .flags = TIMETABLE_ANY_STAGES | TIMETABLE_IN_ROUNDS | TIMETABLE_USUAL | TIMETABLE_IN_MEGATRON |
             TIMETABLE_IN_TORCHTITAN,
    .ahead = 2,
    .bubble = {"(p-1)(F+B)", "m >= p, or v = 1", timetable_ramps, timetable_loop_is_full},
    .other_names = {"virtual-pipeline", "vpp"},
    .order = timetable_interleave,
};
