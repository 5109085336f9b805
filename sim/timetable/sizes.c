/* The sizes that schedules accept, and the figures that follow from the sizes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "timetable/timetable.h"

/* ---- rounds ---- */

static uint32_t rounds_of(uint32_t nmicrobatches, uint32_t nranks)
{
    return nmicrobatches < nranks ? 1 : nmicrobatches / nranks;
}

static bool divides(uint32_t nmicrobatches, uint32_t nranks)
{
    return nmicrobatches % rounds_of(nmicrobatches, nranks) == 0;
}

static int check_rounds(const struct timetable_sizes *sizes, const char *name,
                        struct shd_error *err)
{
    uint32_t p = sizes->nranks, m = sizes->nmicrobatches, below = m, above = m;

    if (divides(m, p))
        return SHD_OK;
    while (!divides(below, p)) /* multiples of p divide, so that neither is further than p */
        below--;
    while (!divides(above, p))
        above++;
    return shd_error_set(err, SHD_EINDIVISIBLE,
                         "%s of %u ranks: %u microbatches do not divide into %u rounds; the "
                         "nearest that do are %u and %u",
                         name, (unsigned)p, (unsigned)m, (unsigned)rounds_of(m, p), (unsigned)below,
                         (unsigned)above);
}

uint32_t timetable_round(const struct timetable_schedule *schedule, const struct timetable_sizes *s)
{
    bool rounds = schedule->flags & TIMETABLE_IN_ROUNDS;

    return rounds ? s->nmicrobatches / rounds_of(s->nmicrobatches, s->nranks) : s->nmicrobatches;
}

uint64_t timetable_ahead(const struct timetable_schedule *schedule, const struct timetable_sizes *s,
                         uint32_t rank)
{
    uint64_t all = (uint64_t)s->stages_per_rank * s->nmicrobatches;
    uint64_t n = (uint64_t)(s->stages_per_rank - 1) * timetable_round(schedule, s) + 1 +
                 (uint64_t)schedule->ahead * (s->nranks - 1 - rank);

    if (schedule->ahead == 0)
        return s->stages_per_rank;
    return n < all ? n : all;
}

/* ---- conditions of a schedule ---- */

int timetable_check(const struct timetable_schedule *schedule, const struct timetable_sizes *sizes,
                    struct shd_error *err)
{
    uint64_t stages = (uint64_t)sizes->nranks * sizes->stages_per_rank;

    if (!(schedule->flags & TIMETABLE_ANY_STAGES) &&
        sizes->stages_per_rank != schedule->stages_per_rank)
        return shd_error_set(err, SHD_EINVAL, "%s takes %u stage%s per rank, not %u",
                             schedule->name, (unsigned)schedule->stages_per_rank,
                             schedule->stages_per_rank == 1 ? "" : "s",
                             (unsigned)sizes->stages_per_rank);
    if (schedule->flags & TIMETABLE_FILLED && sizes->nmicrobatches < stages)
        return shd_error_set(err, SHD_EINVAL,
                             "%s of %u ranks takes at least as many microbatches as stages, %llu, "
                             "not %u",
                             schedule->name, (unsigned)sizes->nranks, (unsigned long long)stages,
                             (unsigned)sizes->nmicrobatches);
    if (schedule->flags & TIMETABLE_IN_ROUNDS && check_rounds(sizes, schedule->name, err) != SHD_OK)
        return SHD_EINDIVISIBLE;
    return schedule->check ? schedule->check(sizes, err) : SHD_OK;
}
