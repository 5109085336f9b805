/* step_times.c - the times of a walk's steps: over the devices of a rank, and over ranks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include "run/ranks/ranks.h"
#include "run/ranks/spread.h"
#include "run/walk/walker.h"

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Time from the first device's start to the last device's end, among devices of this rank. */
static struct moment span_here(const struct walk *walk, uint32_t repeat)
{
    size_t n = (size_t)walk->record->ndevices, at = repeat * n;
    size_t some = at + (size_t)spread_first(walk->opts->spread, walk->record->ndevices);
    struct moment first = walk->first[some], last = walk->last[some];

    for (size_t d = at; d < at + n; d++) {
        const struct moment *f = &walk->first[d], *l = &walk->last[d];

        if (!spread_has(walk->opts->spread, (int32_t)(d - at)))
            continue;
        first.wall_ns = f->wall_ns < first.wall_ns ? f->wall_ns : first.wall_ns;
        first.cpu_ns = f->cpu_ns < first.cpu_ns ? f->cpu_ns : first.cpu_ns;
        last.wall_ns = l->wall_ns > last.wall_ns ? l->wall_ns : last.wall_ns;
        last.cpu_ns = l->cpu_ns > last.cpu_ns ? l->cpu_ns : last.cpu_ns;
    }
    return (struct moment){last.wall_ns - first.wall_ns, last.cpu_ns - first.cpu_ns};
}

/* A step's time over all ranks: wall time is the longest rank's, CPU time the sum over ranks. */
static struct moment span_of(const struct walk *walk, uint32_t repeat)
{
    struct moment span = span_here(walk, repeat);

    if (walk->opts->spread) {
        ranks_merge(&span.wall_ns, sizeof span.wall_ns, RANKS_MOST);
        ranks_merge(&span.cpu_ns, sizeof span.cpu_ns, RANKS_SUM);
    }
    return span;
}

void walk_take_times(struct record *record, struct walk *walk)
{
    int64_t *wall_ns = walk->sorted, *cpu_ns = walk->sorted + walk->repeats;
    uint32_t first = walk->repeats > 1, n = walk->repeats - first;

    record->repeats = walk->repeats;
    record->first_step_ns = span_of(walk, 0).wall_ns;
    for (uint32_t k = 0; k < n; k++) {
        struct moment span = span_of(walk, k + first);

        wall_ns[k] = span.wall_ns;
        cpu_ns[k] = span.cpu_ns;
    }
    qsort(wall_ns, n, sizeof *wall_ns, compare_ns);
    qsort(cpu_ns, n, sizeof *cpu_ns, compare_ns);
    record->step_ns = wall_ns[n / 2];
    record->fastest_step_ns = wall_ns[0];
    record->cpu_ns = cpu_ns[n / 2];
}
