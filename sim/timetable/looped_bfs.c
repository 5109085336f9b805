/* LoopedBFS - several stages a rank; each runs all microbatches before the rank's next stage.
 *
 * Stage s is on rank s mod p, so that a microbatch goes round the ranks v times.  A rank does all
 * microbatches of one stage before its next stage ("breadth first"), then all backwards, from the
 * last stage and the last microbatch back.  The ramps are as long as a stage, which is 1/v of a
 * rank's work; all activations are alive at once, but a stage's weights are needed (and gathered,
 * if sharded) only once forward and once backward.
 *
 * Lamy-Poirier, Breadth-First Pipeline Parallelism, arXiv:2211.05953, section 4.  Any sizes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "timetable/bubble.h"
#include "timetable/row.h"
#include "timetable/table.h"

static void order(struct timetable_row *row)
{
    uint32_t p = row->sizes.nranks, v = row->sizes.stages_per_rank, n = row->sizes.nmicrobatches;

    for (uint32_t local = 0; local < v; local++)
        for (uint32_t m = 0; m < n; m++)
            timetable_add(row, TIMETABLE_FORWARD, local * p + row->rank, m);
    for (uint32_t local = v; local-- > 0;)
        for (uint32_t m = n; m-- > 0;)
            timetable_add(row, TIMETABLE_BACKWARD, local * p + row->rank, m);
}

const struct timetable_schedule timetable_looped_bfs = {
    .name = "LoopedBFS",
    .desc = "stages in a loop, breadth-first: all microbatches of a stage before the next",
    .source = "Lamy-Poirier, arXiv:2211.05953",
    .stages_per_rank = 2,
    .flags = TIMETABLE_ANY_STAGES | TIMETABLE_UNSEARCHED | TIMETABLE_IN_TORCHTITAN,
    .bubble = {"(p-1)(F+B)", "m >= p, or v = 1", timetable_ramps, timetable_loop_is_full},
    .other_names = {"breadth-first", "bfs"},
    .order = order,
};
