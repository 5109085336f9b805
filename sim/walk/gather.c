/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "walk/gather.h"

#include <stdlib.h>

#include "base/wait.h"
#include "ranks/ranks.h"

/* Monotonic clocks that differ by more belong to different machines. */
#define SAME_CLOCK_NS INT64_C(1000000000)

/* How far this rank's clock is ahead of rank 0's, read by all ranks at about the same time. */
static int64_t clock_ahead_ns(const struct spread *spread)
{
    int64_t met = 0, zero_ns, mine_ns, ahead_ns;

    ranks_merge(&met, sizeof met, RANKS_MOST);
    mine_ns = wait_clock_ns();
    zero_ns = spread->me == 0 ? mine_ns : 0;
    ranks_merge(&zero_ns, sizeof zero_ns, RANKS_MOST);
    ahead_ns = mine_ns - zero_ns;
    return llabs(ahead_ns) < SAME_CLOCK_NS ? 0 : ahead_ns;
}

void gather_times(struct record *record, const struct spread *spread)
{
    size_t nops = record->program->nops;
    int64_t ahead_ns;

    if (!spread || !record->times)
        return;
    ahead_ns = clock_ahead_ns(spread);
    for (int32_t d = 0; d < record->ndevices && ahead_ns != 0; d++)
        for (size_t i = 0; i < nops && spread_has(spread, d); i++) {
            record->times[(size_t)d * nops + i].start_ns -= ahead_ns;
            record->times[(size_t)d * nops + i].end_ns -= ahead_ns;
        }
    spread_merge_rows(spread, record->times, nops * sizeof *record->times);
}

/* Gather the expert tables of ops that dispatch tokens; each has a row per device. */
static void gather_experts(struct record *record, const struct spread *spread)
{
    for (uint32_t i = 0; i < record->program->nops; i++) {
        uint64_t *rows = record_expert_rows(record, i, 0),
                 *links = record_expert_links(record, i, 0);

        if (rows && record->ndevices > 1)
            spread_merge_rows(spread, rows,
                              (uint64_t)(record_expert_rows(record, i, 1) - rows) * sizeof *rows);
        if (links)
            spread_merge_rows(spread, links, (uint64_t)record->ndevices * sizeof *links);
    }
}

void gather_record(struct record *record, const struct spread *spread)
{
    size_t nops = record->program->nops;

    if (!spread)
        return;
    spread_merge_rows(spread, record->op_received, nops * sizeof *record->op_received);
    spread_merge_rows(spread, record->op_flops, nops * sizeof *record->op_flops);
    spread_merge_rows(spread, record->flops, sizeof *record->flops);
    spread_merge_rows(spread, record->to_host_bytes, sizeof *record->to_host_bytes);
    spread_merge_rows(spread, record->from_host_bytes, sizeof *record->from_host_bytes);
    spread_merge_rows(spread, record->host_peak_bytes, sizeof *record->host_peak_bytes);
    for (int k = 0; k < KERN_NUNEVENS; k++)
        spread_merge_rows(spread, record->uneven_flops[k], sizeof *record->uneven_flops[k]);
    gather_experts(record, spread);
    gather_times(record, spread);
}
