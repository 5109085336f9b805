/* Search for the largest batch that fits (sequences.h).
 *
 * The peak is nearly a straight line over the batch, so the next batch to plan is where the line
 * through the two last ones meets what there is, if that is between the largest batch that is known
 * to fit and the smallest that is known not to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "trial/sequences.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define TOKENS_MAX \
    (INT64_C(1) << 24) /* new ones, of the sequences that a group of devices shares */
#define PLANS_MAX 40                  /* halving alone takes fewer */

struct search {
    const struct trial *trial;
    struct text text;              /* the scenario as text */
    int64_t unit;                  /* groups of devices: a batch is a multiple */
    double room;                   /* bytes of the program on a device */
    int64_t most;                  /* that is tried, in units */
    bool limited;                  /* one less than `most` is what the server takes */
    int64_t fits, fails;           /* in units: 0: none is known to fit; `most`: none not to */
    double last[2], last_bytes[2]; /* the two last plans */
};

/* What a device has for the program; infinite: nothing limits it. */
static double room_of(const struct trial *trial)
{
    const struct hardware *h = trial->hardware;
    double limit = (double)trial->memory_limit_bytes;
    double room = h ? (h->memory_bytes - h->reserved_bytes) / (1 + h->fragmentation) : INFINITY;

    return limit > 0 && limit < room ? limit : room;
}

/* The peak of a batch, or infinity for one that cannot be laid out. */
static int lay_out(double *out, const struct scenario *scenario, struct shd_error *err)
{
    struct diag diag = DIAG_INIT;
    struct trial trial;
    int status = SHD_OK;

    if (trial_init(&trial, scenario, &diag) == SHD_OK) {
        *out = (double)program_peak_bytes(trial.program);
        trial_fini(&trial);
    } else if (diag.no_memory) {
        status = shd_error_set(err, SHD_ENOMEM, "no memory to plan other batches");
    }
    diag_fini(&diag);
    return status;
}

/* The peak memory of a batch; a batch that cannot be laid out counts as too large. */
static int peak_of(double *out, struct search *s, int64_t units, struct shd_error *err)
{
    char set[64];
    const char *sets[] = {set};
    struct diag diag = DIAG_INIT;
    struct scenario_file *file = NULL;
    int status;

    snprintf(set, sizeof set, "batch.size=%" PRId64, units * s->unit);
    status = scenario_parse(&file, "<batch>", text_get(&s->text), s->text.length, sets, 1, &diag);
    *out = INFINITY;
    if (diag.no_memory) {
        status = shd_error_set(err, SHD_ENOMEM, "no memory to plan other batches");
    } else if (status != SHD_OK) {
        shd_error_set(err, status, "%s: %s", set, diag_first(&diag, "refused"));
    } else {
        file->scenarios[0].planned = true;
        status = lay_out(out, &file->scenarios[0], err);
    }
    scenario_file_destroy(file);
    diag_fini(&diag);
    return status;
}

static void keep(struct search *s, int64_t units, double bytes)
{
    if (bytes <= s->room)
        s->fits = units;
    else
        s->fails = units;
    s->last[0] = s->last[1];
    s->last_bytes[0] = s->last_bytes[1];
    s->last[1] = (double)units;
    s->last_bytes[1] = bytes;
}

/* The batch to plan next, between the two that are known. */
static int64_t next_of(const struct search *s)
{
    double slope = (s->last_bytes[1] - s->last_bytes[0]) / (s->last[1] - s->last[0]);
    double at = floor(s->last[1] + (s->room - s->last_bytes[1]) / slope);

    if (!isfinite(at) || slope <= 0)
        return s->fits + (s->fails - s->fits) / 2;
    if (at <= (double)s->fits)
        return s->fits + 1;
    return at >= (double)s->fails ? s->fails - 1 : (int64_t)at;
}

static int look(struct search *s, struct shd_error *err)
{
    int64_t units = s->trial->scenario->batch.size / s->unit;
    int status = SHD_OK;

    keep(s, units, (double)program_peak_bytes(s->trial->program));
    units *= 2;
    for (int n = 0; n < PLANS_MAX && s->fails - s->fits > 1 && status == SHD_OK; n++) {
        double bytes;

        if (units >= s->fails || units <= s->fits)
            units = s->fits + (s->fails - s->fits) / 2;
        status = peak_of(&bytes, s, units, err);
        if (status == SHD_OK)
            keep(s, units, bytes);
        units = next_of(s);
    }
    return status;
}

int trial_sequences(int64_t *out, const struct trial *trial, struct shd_error *err)
{
    struct search s = {.trial = trial,
                       .text = TEXT_INIT,
                       .unit = scenario_batch_shards(trial->scenario),
                       .room = room_of(trial)};
    int status = SHD_OK;

    *out = -1;
    if (!scenario_serves(trial->scenario) || isinf(s.room))
        return SHD_OK;
    s.most = TOKENS_MAX / scenario_new_tokens(trial->scenario) + 1;
    if (scenario_most_sequences(trial->scenario) < s.most) {
        s.most = scenario_most_sequences(trial->scenario) + 1;
        s.limited = true;
    }
    s.fails = s.most;
    scenario_print(trial->scenario, &s.text);
    if (s.text.failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory to plan other batches");
    else
        status = look(&s, err);
    if (s.fails - s.fits == 1 && (s.limited || s.fails < s.most))
        *out = s.fits * s.unit;
    text_fini(&s.text);
    return status;
}
