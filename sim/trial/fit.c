/* Search for scenario changes with which a step fits memory (fit.h).
 *
 * Changes are ordered in ladders; each rung usually needs less memory than the one below: more
 * microbatches, more recomputation, a higher ZeRO stage, more devices along an axis.  Of each
 * ladder the lowest rung that fits is reported.  If no rung with as many devices fits, ladders are
 * tried two at a time from their tops, first the pairs whose tops need least.  More devices are
 * tried separately.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "trial/fit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial/saving.h"
#include "trial/variant.h"

#define RUNGS_MAX 6
#define LADDERS_MAX 24
#define DOUBLINGS_MAX 3 /* how often an axis is doubled */
#define ZERO_STAGE_MAX 3

/* Ladders of one kind set the same values, and are not combined. */
enum kind { MICROBATCHES, RECOMPUTE, ZERO, MESH, DEVICES };

struct ladder {
    enum kind kind;
    struct fit_change rungs[RUNGS_MAX];
    uint32_t nrungs; /* climb() removes rungs that cannot be planned */
};

struct search {
    const struct scenario *scenario;
    uint64_t limit_bytes; /* of a device */
    struct text text;     /* the scenario as text */
    struct fit *fit;
    struct ladder ladders[LADDERS_MAX];
    uint32_t nladders;
    struct shd_error *err;
};

/* ---- ladders ---- */

static struct ladder *add_ladder(struct search *s, enum kind kind)
{
    struct ladder *ladder = &s->ladders[s->nladders];

    if (s->nladders == LADDERS_MAX) {
        s->fit->cut = true;
        return NULL;
    }
    s->nladders++;
    ladder->kind = kind;
    return ladder;
}

static void add_set(struct fit_change *rung, const char *key, const char *sub, const char *value)
{
    snprintf(rung->sets[rung->nsets++], FIT_SET_BYTES, "%s%s=%s", key, sub, value);
}

static void add_number(struct fit_change *rung, const char *key, const char *sub, int64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, value);
    add_set(rung, key, sub, text);
}

/* Double the number of microbatches, for a batch that is cut into microbatches; the dimensions of a
 * `graph:` are those of a microbatch. */
static void add_microbatches(struct search *s)
{
    const struct scenario_batch *batch = &s->scenario->batch;
    struct ladder *ladder = batch->size > 0 ? add_ladder(s, MICROBATCHES) : NULL;
    int64_t n = batch->microbatches;

    while (ladder && ladder->nrungs < RUNGS_MAX && n <= batch->size / 2)
        add_number(&ladder->rungs[ladder->nrungs++], "batch.microbatches", "", n *= 2);
}

static void add_recompute(struct search *s)
{
    static const char *const kinds[] = {"selective", "full"};
    struct ladder *ladder = add_ladder(s, RECOMPUTE);

    for (size_t k = 0; ladder && k < sizeof kinds / sizeof kinds[0]; k++)
        add_set(&ladder->rungs[ladder->nrungs++], "recompute", "", kinds[k]);
}

static void add_zero_over(struct search *s, const char *axis)
{
    struct ladder *ladder = add_ladder(s, ZERO);

    for (int64_t stage = s->scenario->zero.stage + 1; ladder && stage <= ZERO_STAGE_MAX; stage++) {
        struct fit_change *rung = &ladder->rungs[ladder->nrungs++];

        add_number(rung, "zero.stage", "", stage);
        if (axis)
            add_set(rung, "zero.axis", "", axis);
    }
}

/* Raise the ZeRO stage over the present ZeRO axis; else over each axis that shards the batch; for a
 * `graph:`, which does not name its batch, over any axis. */
static void add_zero(struct search *s)
{
    const struct scenario_logical *batch = scenario_find_logical(s->scenario, "batch");

    if (s->scenario->zero.stage > 0) {
        add_zero_over(s, NULL);
        return;
    }
    for (size_t a = 0; batch && a < batch->naxes; a++)
        add_zero_over(s, batch->axes[a]);
    for (size_t a = 0; !batch && a < s->scenario->nmesh; a++)
        if (s->scenario->mesh[a].size > 1)
            add_zero_over(s, s->scenario->mesh[a].name);
}

/* Double an axis, with as many devices by halving another axis (NULL: with more devices). */
static void add_doublings(struct search *s, const struct scenario_axis *axis,
                          const struct scenario_axis *halved)
{
    struct ladder *ladder = add_ladder(s, halved ? MESH : DEVICES);

    for (int d = 1; ladder && d <= DOUBLINGS_MAX; d++) {
        struct fit_change *rung = &ladder->rungs[ladder->nrungs];

        if (halved && halved->size % (1 << d) != 0)
            return;
        ladder->nrungs++;
        add_number(rung, "mesh.", axis->name, (int64_t)axis->size << d);
        if (halved)
            add_number(rung, "mesh.", halved->name, halved->size >> d);
    }
}

static void add_mesh(struct search *s)
{
    const struct scenario_axis *mesh = s->scenario->mesh;

    for (size_t a = 0; a < s->scenario->nmesh; a++)
        for (size_t b = 0; b < s->scenario->nmesh; b++)
            if (a != b && mesh[b].size % 2 == 0)
                add_doublings(s, &mesh[a], &mesh[b]);
    for (size_t a = 0; a < s->scenario->nmesh; a++)
        add_doublings(s, &mesh[a], NULL);
}

/* ---- plans ---- */

/* Plan the scenario with a change; *planned is false if the scenario cannot have the change, or the
 * number of plans is used up. */
static int try_change(struct search *s, struct fit_change *change, bool *planned)
{
    struct variant_ask ask = {
        .name = s->scenario->place.file, .text = &s->text, .executes = !s->scenario->planned};
    struct variant v;
    int status;

    *planned = false;
    if (s->fit->nplans == FIT_PLANS_MAX) {
        s->fit->cut = true;
        return SHD_OK;
    }
    for (uint32_t i = 0; i < change->nsets; i++)
        text_add(variant_set(&ask), change->sets[i]);
    status = variant_init(&v, &ask, s->err);
    if (status != SHD_OK)
        return status;
    *planned = v.outcome != VARIANT_REFUSED;
    if (*planned) {
        s->fit->nplans++;
        change->totals = trial_totals(v.trial.record);
        change->ndevices = v.trial.record->ndevices;
    }
    variant_fini(&v);
    return SHD_OK;
}

static bool fits(const struct search *s, const struct fit_change *change)
{
    return change->totals.peak_bytes <= s->limit_bytes;
}

static void keep(struct search *s, const struct fit_change *change)
{
    struct fit *fit = s->fit;

    if (fit->nchanges < FIT_CHANGES_MAX)
        fit->changes[fit->nchanges++] = *change;
}

/* ---- single changes ---- */

/* Climb a ladder to the first rung that fits. */
static int climb(struct search *s, struct ladder *ladder)
{
    uint32_t n = 0;

    for (uint32_t r = 0; r < ladder->nrungs; r++) {
        struct fit_change *rung = &ladder->rungs[r];
        bool planned;
        int status = try_change(s, rung, &planned);

        if (status != SHD_OK)
            return status;
        if (!planned)
            continue;
        ladder->rungs[n++] = *rung;
        rung = &ladder->rungs[n - 1];
        if (fits(s, rung)) {
            keep(s, rung);
            break;
        }
        if (rung->totals.peak_bytes < s->fit->least.totals.peak_bytes)
            s->fit->least = *rung;
    }
    ladder->nrungs = n;
    return SHD_OK;
}

/* Climb the ladders that add devices (`more`), or all others. */
static int climb_all(struct search *s, bool more)
{
    int status = SHD_OK;

    for (uint32_t i = 0; i < s->nladders && status == SHD_OK; i++)
        if ((s->ladders[i].kind == DEVICES) == more)
            status = climb(s, &s->ladders[i]);
    return status;
}

/* ---- pairs ---- */

struct pair {
    uint32_t a, b;  /* ladders */
    double product; /* product of the memory that the top rungs need */
};

static int by_product(const void *left, const void *right)
{
    double a = ((const struct pair *)left)->product, b = ((const struct pair *)right)->product;

    return (a > b) - (a < b);
}

static double top_of(const struct ladder *ladder)
{
    return (double)ladder->rungs[ladder->nrungs - 1].totals.peak_bytes;
}

static size_t list_pairs(struct pair *pairs, const struct search *s)
{
    size_t n = 0;

    for (uint32_t a = 0; a < s->nladders; a++)
        for (uint32_t b = a + 1; b < s->nladders; b++) {
            const struct ladder *la = &s->ladders[a], *lb = &s->ladders[b];

            if (la->kind != lb->kind && lb->kind != DEVICES && la->nrungs > 0 && lb->nrungs > 0)
                pairs[n++] = (struct pair){a, b, top_of(la) * top_of(lb)};
        }
    qsort(pairs, n, sizeof *pairs, by_product);
    return n;
}

static int try_both(struct search *s, const struct fit_change *a, const struct fit_change *b,
                    struct fit_change *both, bool *good)
{
    int status;

    *both = *a;
    for (uint32_t i = 0; i < b->nsets; i++)
        memcpy(both->sets[both->nsets++], b->sets[i], FIT_SET_BYTES);
    status = try_change(s, both, good);
    if (status != SHD_OK || !*good)
        return status;
    *good = fits(s, both);
    if (!*good && both->totals.peak_bytes < s->fit->least.totals.peak_bytes)
        s->fit->least = *both;
    return SHD_OK;
}

/* Go down from the tops of two ladders, first the second, then the first, as far as the step still
 * fits. */
static int descend(struct search *s, const struct pair *pair)
{
    const struct fit_change *rungs[] = {s->ladders[pair->a].rungs, s->ladders[pair->b].rungs};
    uint32_t at[] = {s->ladders[pair->a].nrungs - 1, s->ladders[pair->b].nrungs - 1};
    struct fit_change best, next;
    bool good;
    int status = try_both(s, &rungs[0][at[0]], &rungs[1][at[1]], &best, &good);

    if (status != SHD_OK || !good)
        return status;
    for (int side = 1; side >= 0; side--)
        for (good = true; status == SHD_OK && good && at[side] > 0;) {
            at[side]--;
            status = try_both(s, &rungs[0][at[0]], &rungs[1][at[1]], &next, &good);
            if (status == SHD_OK && good)
                best = next;
            else
                at[side]++;
        }
    keep(s, &best);
    return status;
}

static int try_pairs(struct search *s)
{
    struct pair pairs[LADDERS_MAX * (LADDERS_MAX - 1) / 2];
    size_t n = list_pairs(pairs, s);
    int status = SHD_OK;

    for (size_t i = 0; i < n && status == SHD_OK && s->fit->nchanges < FIT_CHANGES_MAX; i++)
        status = descend(s, &pairs[i]);
    return status;
}

/* ---- all ---- */

/* Order by number of devices, then bytes moved, then flops. */
static int by_cost(const void *left, const void *right)
{
    const struct fit_change *a = left, *b = right;

    if (a->ndevices != b->ndevices)
        return a->ndevices < b->ndevices ? -1 : 1;
    if (a->totals.received_bytes != b->totals.received_bytes)
        return a->totals.received_bytes < b->totals.received_bytes ? -1 : 1;
    return (a->totals.flops > b->totals.flops) - (a->totals.flops < b->totals.flops);
}

static int look(struct search *s)
{
    int status;

    add_microbatches(s);
    add_recompute(s);
    add_zero(s);
    add_mesh(s);
    status = climb_all(s, false);
    if (status == SHD_OK && s->fit->nchanges == 0)
        status = try_pairs(s);
    if (status == SHD_OK)
        status = climb_all(s, true);
    qsort(s->fit->changes, s->fit->nchanges, sizeof s->fit->changes[0], by_cost);
    return status;
}

int trial_fit(struct fit *out, const struct trial *trial, struct shd_error *err)
{
    struct search *s;
    int status;

    *out = (struct fit){.wanted = !trial_fits(trial)};
    if (!out->wanted)
        return SHD_OK;
    s = calloc(1, sizeof *s);
    if (!s)
        return shd_error_set(err, SHD_ENOMEM, "no memory to search for changes that fit");
    s->scenario = trial->scenario;
    s->limit_bytes = trial->memory_limit_bytes;
    s->fit = out;
    s->err = err;
    out->least.totals.peak_bytes = program_peak_bytes(trial->program);
    scenario_print(s->scenario, &s->text);
    status = look(s);
    text_fini(&s->text);
    free(s);
    return status;
}
