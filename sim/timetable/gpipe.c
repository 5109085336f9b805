/* GPipe - all forwards, then all backwards.
 *
 * The simplest order: a rank keeps the activations of every microbatch until the backwards begin.
 * Only the ramps at both ends are idle: the last rank begins p - 1 forwards late, and the first
 * rank ends p - 1 backwards after the last.
 *
 * Huang et al., GPipe, arXiv:1811.06965, section 2.3.  One stage a rank; any number of
 * microbatches.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "timetable/bubble.h"
#include "timetable/row.h"
#include "timetable/table.h"

static void order(struct timetable_row *row)
{
    for (uint32_t m = 0; m < row->sizes.nmicrobatches; m++)
        timetable_add(row, TIMETABLE_FORWARD, row->rank, m);
    for (uint32_t m = 0; m < row->sizes.nmicrobatches; m++)
        timetable_add(row, TIMETABLE_BACKWARD, row->rank, m);
}

const struct timetable_schedule timetable_gpipe = {
    .name = "GPipe",
    .desc = "all forwards, then all backwards",
    .source = "Huang et al., arXiv:1811.06965",
    .stages_per_rank = 1,
    .flags = TIMETABLE_UNSEARCHED | TIMETABLE_IN_TORCHTITAN,
    .bubble = {"(p-1)(F+B)", "", timetable_ramps, timetable_always},
    .other_names = {"fill-drain"},
    .order = order,
};
