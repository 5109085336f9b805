/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "timetable/interleave.h"

static uint32_t rounds_of(uint32_t nmicrobatches, uint32_t nranks)
{
    return nmicrobatches < nranks ? 1 : nmicrobatches / nranks;
}

static bool divides(uint32_t nmicrobatches, uint32_t nranks)
{
    return nmicrobatches % rounds_of(nmicrobatches, nranks) == 0;
}

int timetable_check_rounds(const struct timetable_sizes *sizes, const char *name,
                           struct shd_error *err)
{
    uint32_t p = sizes->nranks, m = sizes->nmicrobatches, below = m, above = m;

    if (divides(m, p))
        return SHD_OK;
    while (!divides(below, p)) /* multiples of p divide: neither is further than p */
        below--;
    while (!divides(above, p))
        above++;
    return shd_error_set(err, SHD_EINDIVISIBLE,
                         "%s of %u ranks: %u microbatches do not divide into %u rounds; the "
                         "nearest that do are %u and %u",
                         name, (unsigned)p, (unsigned)m, (unsigned)rounds_of(m, p), (unsigned)below,
                         (unsigned)above);
}

static uint32_t round_size(const struct timetable_sizes *s)
{
    return s->nmicrobatches / rounds_of(s->nmicrobatches, s->nranks);
}

uint64_t timetable_warm_up(const struct timetable_row *row, uint32_t step)
{
    const struct timetable_sizes *s = &row->sizes;
    uint64_t all = (uint64_t)s->stages_per_rank * s->nmicrobatches;
    uint64_t n = (uint64_t)(s->stages_per_rank - 1) * round_size(s) +
                 (uint64_t)step * (s->nranks - 1 - row->rank);

    return n < all ? n : all;
}

static void add(struct timetable_row *row, enum timetable_kind kind, uint64_t k, bool back)
{
    uint32_t g = round_size(&row->sizes), v = row->sizes.stages_per_rank;
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
