/* Sharing devices out to prefill and decode (search/serving_apart.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "search/serving_apart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Sizes of a replica that are searched: the powers of two up to 64 devices, which are those that a
 * fast network joins in a few nodes. */
#define NSIZES 7
#define REPLICA_MAX (1 << (NSIZES - 1))

/* ---- layouts of both steps ---- */

struct progress {
    struct serving_apart *apart;
    size_t before; /* plans of searches that ended */
};

static void tell(void *arg, size_t nplanned)
{
    struct progress *p = arg;

    if (p->apart->wants.progress)
        p->apart->wants.progress(p->apart->wants.arg, p->before + nplanned);
}

/* Layouts of one step on so many devices; of a decode for both steps on each, whose limits are of
 * tokens and prompts together, the last of a size. */
static int search(struct serving_apart *a, struct progress *progress, int64_t devices,
                  enum serving_use use, struct shd_error *err)
{
    struct serving_search *s = &a->searches[a->nsearches++];
    struct serving_wants wants = a->wants;
    int status;

    wants.devices = devices;
    wants.use = use;
    wants.decodes = use == SERVING_BOTH ? s - 2 : NULL;
    wants.prefills = use == SERVING_BOTH ? s - 1 : NULL;
    wants.answer = a->tokens;
    wants.ttft_s = use == SERVING_DECODE ? 0 : a->wants.ttft_s;
    wants.progress = tell;
    wants.arg = progress;
    status = serving_search_run(s, a->trial, &wants, err);
    progress->before += s->nplans;
    return status;
}

static int search_all(struct serving_apart *a, struct shd_error *err)
{
    struct progress progress = {.apart = a};
    int status = SHD_OK;

    for (int64_t devices = 1; devices <= a->wants.devices && devices <= REPLICA_MAX; devices *= 2)
        for (int use = 0; use < SERVING_NUSES && status == SHD_OK; use++)
            status = search(a, &progress, devices, (enum serving_use)use, err);
    a->nplans = progress.before;
    return status;
}

/* ---- pairs ---- */

/* Bytes of one sequence's KV cache on a device. */
static double bytes_of_sequence(const struct serving_layout *l)
{
    return (double)l->cache_bytes * (double)l->groups / (double)l->batch;
}

/* Seconds in which what is kept of one prompt is sent: what a device of the decode holds of it, or
 * of the prefill, whichever is more.  The replicas of the prefill are the first devices. */
static double seconds_of_way(const struct serving_apart *a, const struct serving_split *split)
{
    const struct scenario *s = a->trial->scenario;
    double part = (double)scenario_kept_tokens(s) / (double)scenario_sequence_tokens(s);
    double received = bytes_of_sequence(&split->decode.layout) * part;
    int64_t prefills = split->prefill.replicas * split->prefill.devices;

    return hardware_message_seconds(a->trial->hardware, 0, prefills,
                                    fmax(received, bytes_of_sequence(&split->prefill.layout)));
}

/* Requests a second of all replicas of a pool. */
static double requests_of(const struct serving_apart *a, const struct serving_pool *pool,
                          bool prefill)
{
    const struct serving_layout *l = &pool->layout;
    double each =
        prefill ? (double)l->batch / l->token_s : l->tokens_per_s / (double)(a->tokens - 1);

    return (double)pool->replicas * each;
}

/* Set what follows from the requests a second. */
static void set_rates(struct serving_split *out, const struct serving_apart *a)
{
    out->tokens_per_s = out->requests_per_s * (double)a->tokens;
    out->device_tokens_per_s = out->tokens_per_s / (double)a->wants.devices;
}

/* What a number of prefills and the decodes on the devices left make. */
static void set_split(struct serving_split *out, const struct serving_apart *a, int64_t prefills)
{
    out->prefill.replicas = prefills;
    out->decode.replicas =
        (a->wants.devices - prefills * out->prefill.devices) / out->decode.devices;
    out->requests_per_s =
        fmin(requests_of(a, &out->prefill, true), requests_of(a, &out->decode, false));
    set_rates(out, a);
    out->sent_s = seconds_of_way(a, out);
    out->first_s = out->prefill.layout.token_s + out->sent_s;
    out->token_s = out->decode.layout.token_s;
}

static bool is_within(const struct serving_apart *a, const struct serving_split *s)
{
    return s->requests_per_s > 0 && (a->wants.ttft_s <= 0 || s->first_s <= a->wants.ttft_s) &&
           (a->wants.tpot_s <= 0 || s->token_s <= a->wants.tpot_s);
}

/* The larger is better; of equal ones that with the sooner tokens. */
static bool is_better(const struct serving_split *a, const struct serving_split *b)
{
    if (a->tokens_per_s < b->tokens_per_s || a->tokens_per_s > b->tokens_per_s)
        return a->tokens_per_s > b->tokens_per_s;
    if (a->token_s < b->token_s || a->token_s > b->token_s)
        return a->token_s < b->token_s;
    return a->first_s < b->first_s;
}

/* Share the devices out to a prefill and a decode: where both would answer as many requests, or one
 * prefill more. */
static void try_pair(struct serving_split *best, const struct serving_apart *a,
                     const struct serving_pool *prefill, const struct serving_pool *decode)
{
    struct serving_split split = {.prefill = *prefill, .decode = *decode};
    double p, d;
    int64_t even;

    split.prefill.replicas = split.decode.replicas = 1;
    p = requests_of(a, &split.prefill, true);
    d = requests_of(a, &split.decode, false);
    even = (int64_t)((double)a->wants.devices /
                     ((double)prefill->devices + (double)decode->devices * p / d));
    for (int64_t n = even; n <= even + 1; n++) {
        if (n < 1 || n * prefill->devices + decode->devices > a->wants.devices)
            continue;
        set_split(&split, a, n);
        if (is_within(a, &split) && is_better(&split, best))
            *best = split;
    }
}

/* Both steps on each device: prompts of those that are answered are taken in beside tokens. */
static void try_together(struct serving_apart *a, const struct serving_pool *pool)
{
    struct serving_split split = {.decode = *pool};
    const struct serving_layout *l = &pool->layout;

    split.decode.replicas = a->wants.devices / pool->devices;
    split.first_s = l->prompt_s;
    split.token_s = l->mean_s;
    split.requests_per_s = (double)split.decode.replicas * (double)l->batch /
                           ((double)(a->tokens - 1) * split.token_s);
    set_rates(&split, a);
    if (is_within(a, &split) && is_better(&split, &a->together))
        a->together = split;
}

static struct serving_pool pool_of(const struct serving_search *s, size_t i)
{
    return (struct serving_pool){.devices = s->wants.devices, .layout = s->layouts[i]};
}

/* The best prefill of a decode. */
static int add_best(struct serving_apart *a, const struct serving_pool *decode,
                    struct shd_error *err)
{
    struct serving_split best = {.tokens_per_s = 0};

    for (size_t p = 0; p < a->nsearches; p++)
        for (size_t i = 0;
             a->searches[p].wants.use == SERVING_PREFILL && i < a->searches[p].nwithin; i++) {
            struct serving_pool prefill = pool_of(&a->searches[p], i);

            try_pair(&best, a, &prefill, decode);
        }
    if (!(best.tokens_per_s > 0))
        return SHD_OK;
    if (!array_make_room(&a->splits, a->nsplits, sizeof *a->splits))
        return shd_error_set(err, SHD_ENOMEM, "no memory for layouts");
    a->splits[a->nsplits++] = best;
    return SHD_OK;
}

static int by_tokens(const void *left, const void *right)
{
    const struct serving_split *a = left, *b = right;

    if (is_better(a, b) || is_better(b, a))
        return is_better(a, b) ? -1 : 1;
    if (a->decode.layout.batch != b->decode.layout.batch)
        return a->decode.layout.batch < b->decode.layout.batch ? -1 : 1;
    return strcmp(a->decode.layout.mesh, b->decode.layout.mesh);
}

static int pair_all(struct serving_apart *a, struct shd_error *err)
{
    int status = SHD_OK;

    for (size_t d = 0; d < a->nsearches; d++)
        for (size_t i = 0; i < a->searches[d].nwithin && status == SHD_OK; i++) {
            struct serving_pool pool = pool_of(&a->searches[d], i);

            if (a->searches[d].wants.use == SERVING_BOTH)
                try_together(a, &pool);
            else if (a->searches[d].wants.use == SERVING_DECODE)
                status = add_best(a, &pool, err);
        }
    if (a->nsplits > 0)
        qsort(a->splits, a->nsplits, sizeof *a->splits, by_tokens);
    return status;
}

int serving_apart_run(struct serving_apart *out, const struct trial *trial,
                      const struct serving_wants *wants, struct shd_error *err)
{
    const struct scenario *s = trial->scenario;
    int status;

    *out = (struct serving_apart){.trial = trial, .wants = *wants, .tokens = s->decode.tokens};
    if (out->wants.devices == 0)
        out->wants.devices = shd_mesh_size(trial->mesh);
    if (!s->step.decode || s->decode.tokens < 2)
        return shd_error_set(err, SHD_EINVAL,
                             "--apart needs outputs of several tokens; expected step: [decode] and "
                             "decode.tokens of at least 2");
    if (scenario_kept_tokens(s) < 1)
        return shd_error_set(err, SHD_EINVAL, "the decode has no prompt; expected batch.seq");
    out->searches = calloc(SERVING_NUSES * NSIZES, sizeof *out->searches);
    status = out->searches ? search_all(out, err)
                           : shd_error_set(err, SHD_ENOMEM, "no memory for layouts");
    if (status == SHD_OK)
        status = pair_all(out, err);
    out->over = !wants->stop || !*wants->stop;
    return status;
}

void serving_apart_fini(struct serving_apart *apart)
{
    for (size_t i = 0; i < apart->nsearches; i++)
        serving_search_fini(&apart->searches[i]);
    free(apart->searches);
    free(apart->splits);
}
