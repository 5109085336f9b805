/* Search for the largest batch that fits (sequences.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "trial/sequences.h"

#include <inttypes.h>
#include <math.h>

#include "trial/largest.h"
#include "trial/variant.h"

#define TOKENS_MAX \
    (INT64_C(1) << 24) /* new ones, of the sequences that a group of devices shares */
#define PLANS_MAX 40                  /* halving alone takes fewer */

static double excess_of(const struct trial *trial)
{
    return trial_need_bytes(trial) - trial_room_bytes(trial, false);
}

/* Build a batch; a batch that cannot be laid out counts as too large. */
static int try_batch(double *excess, const struct text *text, int64_t batch, struct shd_error *err)
{
    struct variant_ask ask = {.name = "<batch>", .text = text, .extent = VARIANT_BUILT};
    struct variant v;
    int status;

    text_addf(variant_set(&ask), "batch.size=%" PRId64, batch);
    status = variant_init(&v, &ask, err);
    if (status != SHD_OK)
        return status;
    *excess = v.status == SHD_OK ? excess_of(&v.trial) : INFINITY;
    if (!v.file)
        status = shd_error_set(err, v.status, "batch.size=%" PRId64 ": %s", batch,
                               diag_first(&v.errors, "refused"));
    variant_fini(&v);
    return status;
}

int trial_sequences(int64_t *out, const struct trial *trial, struct shd_error *err)
{
    const struct scenario *s = trial->scenario;
    int64_t groups = scenario_batch_shards(s); /* of devices: a batch is a multiple */
    struct largest l = {.tries = PLANS_MAX, .straight = true};
    struct text text = TEXT_INIT;
    int status = SHD_OK;
    bool limited;

    *out = -1;
    if (!scenario_serves(s) || isinf(trial_room_bytes(trial, false)))
        return SHD_OK;
    l.most = TOKENS_MAX / scenario_new_tokens(s);
    limited = scenario_most_sequences(s) <= l.most;
    if (limited)
        l.most = scenario_most_sequences(s);
    largest_tell(&l, s->batch.size / groups, excess_of(trial));
    scenario_print(s, &text);
    for (int64_t units; status == SHD_OK && (units = largest_next(&l)) > 0;) {
        double excess;

        status = try_batch(&excess, &text, units * groups, err);
        if (status == SHD_OK)
            largest_tell(&l, units, excess);
    }
    if (largest_is_exact(&l) && (limited || l.fails > 0))
        *out = l.fits * groups;
    text_fini(&text);
    return status;
}
