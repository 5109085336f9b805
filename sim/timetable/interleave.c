/* The order of 1F1B and of the schedules derived from it (interleave.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "timetable/interleave.h"

/* Add the k-th forward, or the k-th backward of a kind, of the row's rank. */
static void add(struct timetable_row *row, enum timetable_kind kind, uint64_t k)
{
    uint32_t g = timetable_round(row->schedule, &row->sizes), v = row->sizes.stages_per_rank;
    uint32_t local = (uint32_t)(k / g % v);

    if (kind != TIMETABLE_FORWARD)
        local = v - 1 - local;
    timetable_add(row, kind, local * row->sizes.nranks + row->rank,
                  (uint32_t)(k / ((uint64_t)v * g) * g + k % g));
}

void timetable_interleave(struct timetable_row *row)
{
    uint64_t all = (uint64_t)row->sizes.stages_per_rank * row->sizes.nmicrobatches;
    uint64_t ahead = timetable_ahead(row->schedule, &row->sizes, row->rank), weights = 0;
    bool splits = row->schedule->flags & TIMETABLE_SPLITS;

    for (uint64_t k = 0; k < ahead; k++)
        add(row, TIMETABLE_FORWARD, k);
    for (uint64_t k = 0; k < all; k++) {
        add(row, splits ? TIMETABLE_BACKWARD_INPUT : TIMETABLE_BACKWARD, k);
        if (splits && k >= row->rank)
            add(row, TIMETABLE_BACKWARD_WEIGHT, weights++);
        if (k + ahead < all)
            add(row, TIMETABLE_FORWARD, k + ahead);
    }
    while (splits && weights < all)
        add(row, TIMETABLE_BACKWARD_WEIGHT, weights++);
}
