/* Letters between the ranks of a run (remote.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/ranks/remote.h"

#include <stdlib.h>
#include <string.h>

#include "run/ranks/bundle.h"
#include "run/channel.h"
#include "run/device.h"

/* A longer message is split into several letters. */
#define PART_BYTES (UINT64_C(16) << 20)

struct message_head {
    uint32_t letter; /* LETTER_MESSAGE */
    int32_t from, to;
    uint32_t padding;
    struct message_tag tag;
    uint64_t bytes, at, nbytes; /* of the message; offset and bytes in this letter */
};

struct word {
    uint32_t letter;
    int32_t position, value;
    uint32_t wave;
};

/* ---- posting ---- */

static void post(const struct remote *remote, int rank, const struct ranks_part *parts,
                 uint32_t nparts)
{
    if (ranks_post(rank, remote->session, parts, nparts) != SHD_OK)
        ranks_abort("no memory for a message to another rank");
}

void remote_post(struct remote *remote, int rank, const struct ranks_part *parts, uint32_t nparts)
{
    atomic_fetch_add(&remote->posted, 1);
    post(remote, rank, parts, nparts);
}

/* Post a word to all other ranks; only the end of a device is a letter that devices may wait for.
 */
static void post_word(struct remote *remote, struct word word)
{
    const struct ranks_part part = {&word, sizeof word};

    for (int r = 0; r < remote->spread->nranks; r++) {
        if (r == remote->spread->me)
            continue;
        if (word.letter == LETTER_ENDED)
            remote_post(remote, r, &part, 1);
        else
            post(remote, r, &part, 1);
    }
}

void remote_send(struct away *away, int32_t from, int32_t to, struct message_tag tag,
                 const void *data, uint64_t bytes)
{
    struct remote *remote = remote_of(away);
    uint64_t at = 0;

    do {
        uint64_t n = bytes - at < PART_BYTES ? bytes - at : PART_BYTES;
        struct message_head head = {.letter = LETTER_MESSAGE,
                                    .from = from,
                                    .to = to,
                                    .tag = tag,
                                    .bytes = bytes,
                                    .at = at,
                                    .nbytes = n};
        const struct ranks_part parts[] = {{&head, sizeof head}, {(const char *)data + at, n}};

        remote_post(remote, remote->spread->rank_of[to], parts, 2);
        at += n;
    } while (at < bytes);
    ranks_go_on();
}

void remote_tell_end(struct away *away, int32_t position, int state)
{
    post_word(remote_of(away), (struct word){LETTER_ENDED, position, state, 0});
}

void remote_call_off(struct away *away, int verdict)
{
    post_word(remote_of(away), (struct word){LETTER_VERDICT, away->run->over_limit, verdict, 0});
}

/* ---- bundles ---- */

static void keep(struct span_bundle **list, struct span_bundle *bundle)
{
    bundle->next = *list;
    *list = bundle;
}

/* The group over several ranks that has a hash, or NULL.  Called with the run's lock held. */
static const struct run_group *find_spanning(const struct run *run, uint64_t hash)
{
    struct map_walk walk = map_find(&run->group_map, hash);
    uint32_t i;

    while ((i = map_next(&walk)) != MAP_NONE)
        if (run->groups[i]->away && run->groups[i]->hash == hash)
            return run->groups[i];
    return NULL;
}

/* Deliver a bundle; the bundle owns its letter until given back. */
static void deliver_bundle(struct remote *remote, int from, const void *letter)
{
    const struct bundle_head *head = letter;
    struct run *run = remote->away.run;
    const struct run_group *group;
    struct span_bundle *b;

    pthread_mutex_lock(&run->lock);
    b = remote->spare;
    if (b)
        remote->spare = b->next;
    else
        b = malloc(sizeof *b);
    if (!b)
        ranks_abort("no memory for a message of another rank");
    *b = (struct span_bundle){
        .group = head->group, .number = head->number, .from = from, .letter = letter};
    group = find_spanning(run, b->group);
    if (group)
        span_deliver(span_of(group), b);
    else
        keep(&remote->unclaimed, b);
    pthread_mutex_unlock(&run->lock);
}

void remote_claim(struct span *span)
{
    struct span_bundle **at = &span->remote->unclaimed;

    while (*at) {
        struct span_bundle *b = *at;

        if (b->group != span->group->hash) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        span_deliver(span, b);
    }
}

void remote_give_back(struct remote *remote, struct span_bundle *bundles)
{
    while (bundles) {
        struct span_bundle *b = bundles;

        bundles = b->next;
        ranks_put_back(b->letter);
        b->letter = NULL;
        pthread_mutex_lock(&remote->away.run->lock);
        keep(&remote->spare, b);
        pthread_mutex_unlock(&remote->away.run->lock);
    }
}

/* ---- waves ---- */

static struct remote_answer answer_of(struct remote *remote, uint32_t wave)
{
    return (struct remote_answer){LETTER_ANSWER, wave, monitor_look(remote->away.run),
                                  atomic_load(&remote->posted), atomic_load(&remote->delivered)};
}

static void add_answer(struct remote *remote, const struct remote_answer *a)
{
    struct remote_answer *all = &remote->all;

    pthread_mutex_lock(&remote->lock);
    if (a->wave == remote->wave) {
        remote->nanswers++;
        all->sight.blocked &= a->sight.blocked;
        all->sight.any |= a->sight.any;
        all->sight.moved += a->sight.moved;
        all->posted += a->posted;
        all->delivered += a->delivered;
    }
    pthread_mutex_unlock(&remote->lock);
}

static bool is_still(const struct remote_answer *before, const struct remote_answer *now)
{
    return monitor_is_still(&before->sight, &now->sight) && now->posted == before->posted &&
           now->posted == now->delivered && before->posted == before->delivered;
}

/* Start a wave; returns whether the last two found that no device can continue. */
static bool ask_all(struct remote *remote)
{
    struct remote_answer mine;
    bool still = false, asks;

    pthread_mutex_lock(&remote->lock);
    asks = remote->nanswers == remote->spread->nranks || remote->wave == 0;
    if (asks) {
        still = remote->wave > 1 && is_still(&remote->last, &remote->all);
        remote->last = remote->all;
        remote->wave++;
        remote->nanswers = 0;
        remote->all = (struct remote_answer){.sight.blocked = 1};
    }
    pthread_mutex_unlock(&remote->lock);
    if (!asks)
        return false;
    mine = answer_of(remote, remote->wave);
    add_answer(remote, &mine);
    post_word(remote, (struct word){LETTER_ASK, 0, 0, remote->wave});
    return still;
}

bool remote_is_stuck(struct away *away)
{
    struct remote *remote = remote_of(away);

    return remote->spread->me == 0 && ask_all(remote);
}

static void answer(struct remote *remote, uint32_t wave)
{
    struct remote_answer a = answer_of(remote, wave);
    const struct ranks_part part = {&a, sizeof a};

    post(remote, 0, &part, 1);
}

/* ---- delivery ---- */

static void deliver_message(struct remote *remote, const struct message_head *head)
{
    if (channel_bring(remote->away.run, head->from, head->to, head->tag, head->bytes, head->at,
                      head + 1, head->nbytes) != SHD_OK)
        ranks_abort("no memory for a message of another rank");
}

static void deliver_verdict(struct run *run, const struct word *word)
{
    if (!atomic_load(&run->board.called_off))
        run->over_limit = word->position;
    run_group_call_off(run, (enum run_verdict)word->value);
}

/* A ranks_deliver_fn. */
static bool deliver(void *arg, int from, const void *letter, uint64_t bytes)
{
    struct remote *remote = arg;
    struct run *run = remote->away.run;
    const struct word *word = letter;
    uint32_t kind;

    (void)bytes;
    memcpy(&kind, letter, sizeof kind);
    switch ((enum letter)kind) {
    case LETTER_BUNDLE:
        deliver_bundle(remote, from, letter);
        break;
    case LETTER_MESSAGE:
        deliver_message(remote, letter);
        break;
    case LETTER_ENDED:
        run_device_end(&run->devices[word->position], (enum device_state)word->value);
        break;
    case LETTER_VERDICT:
        deliver_verdict(run, word);
        return false;
    case LETTER_ASK:
        answer(remote, word->wave);
        return false;
    case LETTER_ANSWER:
        add_answer(remote, letter);
        return false;
    }
    atomic_fetch_add(&remote->delivered, 1);
    return kind == LETTER_BUNDLE;
}

/* ---- agreement between ranks ---- */

/* A row of each rank, for the caller to free; `why`: the job's message if there is no memory. */
static void *gather(const struct remote *remote, const void *mine, size_t bytes, const char *why)
{
    size_t n = (size_t)remote->spread->nranks;
    char *rows = calloc(n, bytes);

    if (!rows)
        ranks_abort(why);
    memcpy(rows + (size_t)remote->spread->me * bytes, mine, bytes);
    ranks_merge(rows, n * bytes, RANKS_JOIN);
    return rows;
}

struct start { /* how starting went on one rank */
    int64_t status;
    char text[SHD_ERROR_TEXT_MAX];
};

/* All ranks get the status of the lowest rank on which the start failed. */
int remote_start(struct away *away, int status, struct shd_error *err)
{
    const struct remote *remote = remote_of(away);
    struct start mine = {.status = status}, *all;

    if (status != SHD_OK)
        memcpy(mine.text, err->text, sizeof mine.text);
    all = gather(remote, &mine, sizeof mine, "no memory for the start of a run");
    for (int r = remote->spread->nranks; r-- > 0;)
        if (all[r].status != SHD_OK)
            status = shd_error_set(err, (int)all[r].status, "%s", all[r].text);
    free(all);
    if (status == SHD_OK)
        ranks_listen(remote->session, deliver, remote_of(away));
    return status;
}

/* Take the verdict of the lowest rank that called the run off. */
static void agree_on_verdict(const struct remote *remote)
{
    struct run *run = remote->away.run;
    struct verdict {
        int64_t called_off, over_limit;
    } mine = {atomic_load(&run->board.called_off), run->over_limit}, *all;

    all = gather(remote, &mine, sizeof mine, "no memory for the end of a run");
    for (int r = remote->spread->nranks; r-- > 0;) {
        if (all[r].called_off) {
            atomic_store(&run->board.called_off, (int)all[r].called_off);
            run->over_limit = (int32_t)all[r].over_limit;
        }
    }
    free(all);
}

static void agree_on_counts(struct run *run)
{
    size_t n = (size_t)run->ndevices;
    uint64_t *sums = calloc(n, 3 * sizeof *sums);

    if (!sums)
        ranks_abort("no memory for the counts of a run");
    for (size_t d = 0; d < n; d++) {
        const struct shd_device *dev = &run->devices[d];

        sums[3 * d] = dev->received_bytes;
        sums[3 * d + 1] = dev->sent_bytes;
        sums[3 * d + 2] = dev->here ? dev->arena.peak_bytes : 0;
    }
    ranks_merge(sums, 3 * n * sizeof *sums, RANKS_SUM);
    for (size_t d = 0; d < n; d++) {
        run->devices[d].received_bytes = sums[3 * d];
        run->devices[d].sent_bytes = sums[3 * d + 1];
        run->devices[d].arena.peak_bytes = sums[3 * d + 2];
    }
    free(sums);
    if (run->matrix)
        ranks_merge(run->matrix, n * n * sizeof *run->matrix, RANKS_SUM);
}

void remote_end(struct away *away)
{
    agree_on_verdict(remote_of(away));
    ranks_close();
    agree_on_counts(away->run);
}

/* ---- storage ---- */

void remote_init(struct remote *remote, const struct spread *spread, const struct away_calls *calls)
{
    memset(remote, 0, sizeof *remote);
    remote->away.calls = calls;
    remote->spread = spread;
    remote->session = ranks_new_session();
    pthread_mutex_init(&remote->lock, NULL);
}

void remote_fini(struct remote *remote)
{
    span_free_bundles(remote->spare);
    span_free_bundles(remote->unclaimed);
    pthread_mutex_destroy(&remote->lock);
}
