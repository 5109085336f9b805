/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "timetable/interleave.h"

static void add(struct timetable_row *row, enum timetable_kind kind, uint64_t k, bool back)
{
    uint32_t g = timetable_round(row->schedule, &row->sizes), v = row->sizes.stages_per_rank;
    uint32_t local = (uint32_t)(k / g % v);

    if (back)
        local = v - 1 - local;
    timetable_add(row, kind, local * row->sizes.nranks + row->rank,
                  (uint32_t)(k / ((uint64_t)v * g) * g + k % g));
}

void timetable_add_forward(struct timetable_row *row, uint64_t k)
{
    add(row, TIMETABLE_FORWARD, k, false);
}

void timetable_add_backward(struct timetable_row *row, enum timetable_kind kind, uint64_t k)
{
    add(row, kind, k, true);
}
