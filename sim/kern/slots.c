/* Slots in the queues of experts, and the number of choices of each expert.
 *
 * Queues are filled in their order by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "kern/convert.h"
#include "kern/cut.h"
#include "kern/error.h"
#include "kern/kernel.h"
#include "kern/nest.h"

/* ---- slots ---- */

static uint64_t run_slots(const union kern_desc *desc, const struct kern_args *args)
{
    const struct kern_slots *s = &desc->slots;
    int64_t n = s->tokens * s->choices;

    for (int64_t g = 0; g < s->groups; g++)
        kern_route((const int32_t *)args->in[0] + g * n, s->tokens, s->choices, s->experts,
                   s->capacity, s->slot_major, (int32_t *)args->out[0] + g * n,
                   (int32_t *)args->out[1] + g * s->experts);
    return 0;
}

static uint64_t slots_bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_slots *s = &desc->slots;
    const int64_t ids[] = {s->groups, s->tokens, s->choices}, counts[] = {s->groups, s->experts};

    (void)offsets;
    return kern_sat_mul(
        kern_sat_add(kern_sat_mul(2, kern_elements(3, ids, 7)), kern_elements(2, counts, 3)),
        sizeof(int32_t));
}

/* The results are integers, compared exactly. */
static bool slots_error(const union kern_desc *desc, struct kern_error *e)
{
    (void)desc;
    e->kept = true;
    return true;
}

/* Cut groups of tokens, which have separate queues. */
static void cut_groups(const union kern_desc *desc, int64_t wanted, struct kern_cut *out)
{
    const struct kern_slots *s = &desc->slots;

    (void)wanted;
    out->rows = s->tokens * s->choices * s->experts > 0 ? s->groups : 0;
    out->in[0] = out->out[0] = (struct kern_cut_array){1, 1, s->tokens * s->choices};
    out->out[1] = (struct kern_cut_array){1, 1, s->experts};
}

static void part_of_groups(union kern_desc *desc, const struct kern_cut *cut, int64_t first,
                           int64_t count, int64_t *offsets)
{
    (void)cut, (void)first, (void)offsets;
    desc->slots.groups = count;
}

const struct kern_kernel kern_kernel_slots = {.name = "slots",
                                              .run = run_slots,
                                              .bytes = slots_bytes,
                                              .error = slots_error,
                                              .cut = cut_groups,
                                              .part = part_of_groups};

/* ---- counts ---- */

static uint64_t run_count(const union kern_desc *desc, const struct kern_args *args)
{
    const struct kern_count *c = &desc->count;
    const int32_t *ids = args->in[0];
    uint64_t *counts = args->workspace;

    memset(counts, 0, (size_t)c->classes * sizeof *counts);
    for (int64_t i = 0; i < c->ids; i++) {
        int64_t class = ids[i] - args->offsets[0];

        if (class >= 0 && class < c->classes)
            counts[class]++;
    }
    for (int64_t i = 0; i < c->classes; i++) {
        double value = (double)counts[i];

        kern_store_f64(c->dtype, (char *)args->out[0] + (size_t)i * kern_size(c->dtype), 1, 1,
                       &value);
    }
    return 0;
}

static uint64_t count_workspace_bytes(const union kern_desc *desc)
{
    return kern_sat_mul(kern_elements(1, &desc->count.classes, 1), sizeof(uint64_t));
}

static uint64_t count_bytes(const union kern_desc *desc, const int64_t *offsets)
{
    const struct kern_count *c = &desc->count;

    (void)offsets;
    return kern_sat_add(kern_sat_mul(kern_elements(1, &c->ids, 1), sizeof(int32_t)),
                        kern_sat_mul(kern_elements(1, &c->classes, 1), kern_size(c->dtype)));
}

/* Counts are exact, unless their type cannot hold them, which storing accounts for. */
static bool count_error(const union kern_desc *desc, struct kern_error *e)
{
    (void)desc, (void)e;
    return true;
}

const struct kern_kernel kern_kernel_count = {.name = "count",
                                              .run = run_count,
                                              .bytes = count_bytes,
                                              .workspace_bytes = count_workspace_bytes,
                                              .error = count_error};
