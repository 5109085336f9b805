/* Arrays of the unsharded computation: their memory and their marks (trial/reference_state.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "trial/reference_state.h"

#include <stdlib.h>

#include "kern/error.h"
#include "run/ranks/ranks.h"

int reference_no_memory(struct shd_error *err)
{
    return shd_error_set(err, SHD_ENOMEM, "no memory for the unsharded computation");
}

void reference_count_bytes(struct reference *ref, uint64_t bytes)
{
    ref->live_bytes += bytes;
    if (ref->live_bytes > ref->work.peak_bytes)
        ref->work.peak_bytes = ref->live_bytes;
}

void reference_free_array(struct reference *ref, uint32_t buffer)
{
    struct array *a = &ref->arrays[buffer];
    uint64_t n = a->values ? elements_here(ref, &a->lies) : 0;

    ref->live_bytes -= n * size_of(ref, buffer) + (a->variances ? n * sizeof(double) : 0);
    free(a->values);
    free(a->variances);
    *a = (struct array){.values = NULL};
}

int reference_make_array(struct reference *ref, uint32_t buffer, struct pieces lies,
                      struct shd_error *err)
{
    struct array *a = &ref->arrays[buffer];
    uint64_t n = elements_here(ref, &lies);

    reference_free_array(ref, buffer);
    a->values = kern_zeroed(n, size_of(ref, buffer));
    if (!a->values)
        return reference_no_memory(err);
    a->lies = lies;
    reference_count_bytes(ref, n * size_of(ref, buffer));
    return SHD_OK;
}

bool reference_make_variances(struct reference *ref, uint32_t buffer)
{
    struct array *a = &ref->arrays[buffer];
    uint64_t n = elements_here(ref, &a->lies);

    if (!a->variances) {
        a->variances = kern_zeroed(n, sizeof *a->variances);
        reference_count_bytes(ref, a->variances ? n * sizeof *a->variances : 0);
    }
    return a->variances != NULL;
}

/* Drop the variances of whole numbers that are exact after all. */
static void drop_zeros(struct reference *ref, uint32_t buffer)
{
    struct array *a = &ref->arrays[buffer];
    uint64_t n = elements_here(ref, &a->lies), zeros = 0;

    while (zeros < n && a->variances[zeros] == 0)
        zeros++;
    if (zeros < n)
        return;
    free(a->variances);
    a->variances = NULL;
    ref->live_bytes -= n * sizeof(double);
}

void reference_mark(struct reference *ref, uint32_t buffer)
{
    const struct array *a = &ref->arrays[buffer];
    bool whole = is_whole(ref, buffer);

    if (!ref->opts->bounds)
        return;
    if (whole && a->variances)
        drop_zeros(ref, buffer);
    ref->marks[buffer] =
        kern_marks(whole ? NULL : a->values, a->variances, elements_here(ref, &a->lies));
    ref->unsettled |= a->lies.nparts > 0;
}

void reference_settle_marks(struct reference *ref)
{
    if (ref->unsettled)
        ranks_merge(ref->marks, ref->program->nbuffers, RANKS_JOIN);
    ref->unsettled = false;
}

int64_t reference_own_rows(const struct reference *ref, const struct share *s, int64_t *first)
{
    const struct pieces rows = {.outer = 1,
                                .rows = (uint64_t)s->cut.rows,
                                .inner = 1,
                                .each = 1,
                                .nparts = s->nparts,
                                .first = s->rank};
    uint64_t from, n = pieces_rows(&rows, ref->me, &from);

    *first = (int64_t)from;
    return (int64_t)n;
}
