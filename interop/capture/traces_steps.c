/* The step of a trace that is counted (traces.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include "base/hash.h"
#include "capture/traces.h"

static int no_memory(struct shd_error *err)
{
    return shd_error_set(err, SHD_ENOMEM, "no memory for the steps of a trace");
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

struct step {
    int64_t number;
    uint64_t signature; /* of all its calls, in any order */
    uint64_t ncalls, nalike;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return hash_bytes(hash, &value, sizeof value);
}

static uint64_t call_hash(const struct traces_call *call)
{
    uint64_t hash = mix(mix(HASH_BEGIN, call->rank), call->group);

    hash = mix(mix(hash, call->op->kind), call->bytes);
    return mix(hash, (uint64_t)call->other);
}

static int by_step(const void *a, const void *b)
{
    const struct step *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

static int by_signature(const void *a, const void *b)
{
    const struct step *x = a, *y = b;

    return x->signature != y->signature ? compare(x->signature, y->signature) : by_step(a, b);
}

/* Find all steps with calls, ascending, in *out. */
static int find_steps(struct step **out, uint32_t *nsteps, const struct traces *traces,
                      struct shd_error *err)
{
    struct step *steps = calloc((size_t)traces->ncalls + 1, sizeof *steps);
    uint32_t n = 0, last = 0;

    if (!steps)
        return no_memory(err);
    for (uint32_t i = 0; i < traces->ncalls; i++)
        if (traces->calls[i].step != TRACES_NO_STEP)
            steps[n++] = (struct step){.number = traces->calls[i].step,
                                       .signature = call_hash(&traces->calls[i]),
                                       .ncalls = 1};
    qsort(steps, n, sizeof *steps, by_step);
    for (uint32_t i = 1; i < n; i++) {
        if (steps[i].number != steps[last].number) {
            steps[++last] = steps[i];
            continue;
        }
        steps[last].signature += steps[i].signature;
        steps[last].ncalls++;
    }
    *out = steps;
    *nsteps = n ? last + 1 : 0;
    return SHD_OK;
}

/* The most common step, by signature; of several the last. */
static const struct step *commonest(struct step *steps, uint32_t n)
{
    const struct step *best = NULL;

    qsort(steps, n, sizeof *steps, by_signature);
    for (uint32_t i = 0, begin = 0; i < n; i++) {
        if (steps[i].signature != steps[begin].signature)
            begin = i;
        steps[i].nalike = i - begin + 1;
        if (!best || steps[i].nalike > best->nalike ||
            (steps[i].nalike == best->nalike && steps[i].number > best->number))
            best = &steps[i];
    }
    return best;
}

static int note_step(struct capture *capture, const struct step *chosen, uint32_t nsteps,
                     int64_t first, int64_t last, struct shd_error *err)
{
    if (nsteps == 1)
        return capture_note(capture, err, "One step is traced, ProfilerStep#%lld.",
                            (long long)chosen->number);
    if (chosen->nalike == nsteps)
        return capture_note(
            capture, err,
            "%u steps are traced, ProfilerStep#%lld to #%lld, all with the same calls: one step is "
            "counted.",
            nsteps, (long long)first, (long long)last);
    return capture_note(
        capture, err,
        "%u steps are traced, ProfilerStep#%lld to #%lld, with different calls: #%lld is counted, "
        "like %llu steps; choose another with --step=N.",
        nsteps, (long long)first, (long long)last, (long long)chosen->number,
        (unsigned long long)chosen->nalike);
}

int traces_choose_step(int64_t *out, struct capture *capture, const struct traces *traces,
                       int64_t wanted, struct shd_error *err)
{
    const struct step *chosen = NULL;
    struct step *steps = NULL;
    uint32_t nsteps = 0;
    int64_t first, last;
    int status = find_steps(&steps, &nsteps, traces, err);

    *out = TRACES_NO_STEP;
    if (status != SHD_OK)
        return status;
    first = nsteps ? steps[0].number : 0;
    last = nsteps ? steps[nsteps - 1].number : 0;
    if (nsteps)
        chosen = commonest(steps, nsteps);
    for (uint32_t i = 0; i < nsteps && wanted != TRACES_NO_STEP; i++)
        chosen = steps[i].number == wanted ? &steps[i] : chosen;
    if (wanted != TRACES_NO_STEP && (!chosen || chosen->number != wanted))
        status = nsteps ? shd_error_set(err, SHD_EINVAL,
                                        "ProfilerStep#%lld has no collective; steps with "
                                        "collectives are #%lld to #%lld",
                                        (long long)wanted, (long long)first, (long long)last)
                        : shd_error_set(err, SHD_EINVAL,
                                        "--step: the trace marks no steps (ProfilerStep#N); remove "
                                        "it");
    else if (chosen)
        status =
            wanted == TRACES_NO_STEP
                ? note_step(capture, chosen, nsteps, first, last, err)
                : capture_note(capture, err, "ProfilerStep#%lld is counted, of %u traced steps.",
                               (long long)wanted, nsteps);
    else if (traces->ncalls)
        status = capture_note(capture, err,
                              "The trace marks no steps (ProfilerStep#N, from the profiler's "
                              "step()): the whole trace counts as a single step.");
    if (chosen)
        *out = chosen->number;
    free(steps);
    return status;
}
