/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/steady.h"

#include <math.h>

#include "cost/replay.h"

/* Set the least times of columns from..to-1; for a work not measured there, of first..last-1. */
static void set_times(struct record *record, const struct works *works, const uint32_t *ids,
                      uint32_t from, uint32_t to, uint32_t first, uint32_t last)
{
    size_t cells = (size_t)record->ndevices * record->program->nops;

    for (size_t i = 0; i < cells; i++) {
        int64_t ns;

        if (ids[i] == WORKS_NONE)
            continue;
        ns = works_least(works, ids[i], from, to);
        record->times[i].cpu_ns = ns >= 0 ? ns : works_least(works, ids[i], first, last);
    }
}

static void set_spread(struct record_replay *replay, int64_t slower_half_ns)
{
    double noise;

    replay->spread = replay->step_ns > 0
                         ? (double)(slower_half_ns - replay->step_ns) / (double)replay->step_ns
                         : 0;
    noise = replay->spread > STEADY_SPREAD ? replay->spread : STEADY_SPREAD;
    replay->noise_ns = llround(noise * (double)replay->step_ns);
}

int steady_replay(struct record *record, const struct record_transfers *transfers,
                  const struct works *works, const uint32_t *ids, uint32_t from, uint32_t to,
                  struct shd_error *err)
{
    uint32_t middle = from + (to - from) / 2;
    const uint32_t halves[3] = {from, middle, to};
    int64_t slower_ns = 0;
    int status;

    for (int h = 0; h < 2 && to - from >= 2; h++) {
        set_times(record, works, ids, halves[h], halves[h + 1], from, to);
        status = replay_run(record, transfers, err);
        if (status != SHD_OK)
            return status;
        if (record->replay->step_ns > slower_ns)
            slower_ns = record->replay->step_ns;
    }
    set_times(record, works, ids, from, to, from, to);
    status = replay_run(record, transfers, err);
    if (status == SHD_OK && to - from >= 2)
        set_spread(record->replay, slower_ns);
    return status;
}

bool steady_ends(const struct record *const *records, size_t nrecords, uint32_t nrounds,
                 int64_t elapsed_ns, int64_t limit_ns)
{
    bool small = nrounds >= STEADY_ROUNDS_LEAST;

    for (size_t i = 0; i < nrecords; i++) {
        const struct record_replay *replay = records[i]->replay;

        small &= !replay || (replay->spread >= 0 && replay->spread <= STEADY_SPREAD);
    }
    return small || nrounds >= STEADY_ROUNDS_MAX || elapsed_ns >= limit_ns;
}
