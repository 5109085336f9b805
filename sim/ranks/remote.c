/* Letters between the ranks of a run (remote.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "ranks/remote.h"

#include <stdlib.h>
#include <string.h>

#include "run/device.h"
#include "ranks/span.h"

/* A longer message is split into several letters. */
#define PART_BYTES (UINT64_C(16) << 20)

struct bundle_start { /* first fields of a bundle's letter, see span.c */
    uint32_t letter, ncalls;
    uint64_t group, number;
};

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

static void post(const struct run *run, int rank, const struct ranks_part *parts, uint32_t nparts)
{
    if (ranks_post(rank, run->session, parts, nparts) != SHD_OK)
        ranks_abort("no memory for a letter to another rank");
}

void remote_post(const struct run *run, int rank, const struct ranks_part *parts, uint32_t nparts)
{
    atomic_fetch_add(&run->remote->posted, 1);
    post(run, rank, parts, nparts);
}

static void post_word(const struct run *run, struct word word, bool counts)
{
    const struct ranks_part part = {&word, sizeof word};

    for (int r = 0; r < run->spread->nranks; r++) {
        if (r == run->spread->me)
            continue;
        if (counts)
            remote_post(run, r, &part, 1);
        else
            post(run, r, &part, 1);
    }
}

void remote_message(const struct run *run, int32_t from, int32_t to, struct message_tag tag,
                    const void *data, uint64_t bytes)
{
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

        remote_post(run, run->spread->rank_of[to], parts, 2);
        at += n;
    } while (at < bytes);
    ranks_go_on();
}

void remote_tell_ended(const struct shd_device *dev, int state)
{
    post_word(dev->run, (struct word){LETTER_ENDED, dev->position, state, 0}, true);
}

void remote_tell_done(struct run *run)
{
    atomic_fetch_add(&run->remote->ndone, 1);
    post_word(run, (struct word){LETTER_DONE, 0, 0, 0}, false);
}

void remote_tell_verdict(const struct run *run, int verdict, int32_t device)
{
    post_word(run, (struct word){LETTER_VERDICT, device, verdict, 0}, false);
}

/* ---- bundles ---- */

/* Deliver a bundle, which owns its letter until it is given back. */
static void deliver_bundle(struct run *run, int from, const void *letter)
{
    const struct bundle_start *start = letter;
    struct span_bundle *b;

    pthread_mutex_lock(&run->lock);
    b = run->remote->spare;
    if (b)
        run->remote->spare = b->next;
    pthread_mutex_unlock(&run->lock);
    if (!b)
        b = malloc(sizeof *b);
    if (!b)
        ranks_abort("no memory for a letter of another rank");
    *b = (struct span_bundle){
        .group = start->group, .number = start->number, .from = from, .letter = letter};
    run_group_deliver(run, b);
}

void remote_give_back(struct run *run, struct span_bundle *bundles)
{
    while (bundles) {
        struct span_bundle *b = bundles;

        bundles = b->next;
        ranks_put_back(b->letter);
        b->letter = NULL;
        pthread_mutex_lock(&run->lock);
        b->next = run->remote->spare;
        run->remote->spare = b;
        pthread_mutex_unlock(&run->lock);
    }
}

/* ---- messages ---- */

static void deliver_message(struct run *run, const struct message_head *head)
{
    struct run_group *group = run_group_channel(run, head->from, head->to);
    struct message *m;

    if (!group)
        ranks_abort("no memory for a message of another rank");
    if (head->at == 0) {
        group->part = mailbox_room(group->mailbox, head->bytes);
        if (!group->part)
            ranks_abort("no memory for a message of another rank");
        group->part->tag = head->tag;
        group->part->bytes = head->bytes;
    }
    m = group->part;
    memcpy(m->data + head->at, head + 1, head->nbytes);
    if (head->at + head->nbytes < head->bytes)
        return;
    group->part = NULL;
    mailbox_send(group->mailbox, m);
    wait_post(&group->barrier);
}

/* ---- waves ---- */

static struct remote_answer answer_of(const struct run *run, uint32_t wave)
{
    struct remote_answer a = {.letter = LETTER_ANSWER, .wave = wave, .blocked = 1};

    for (int32_t d = 0; d < run->ndevices; d++) {
        const struct shd_device *dev = &run->devices[d];

        if (!dev->here)
            continue;
        a.moved += atomic_load(&dev->record.count);
        if (atomic_load(&dev->state) != DEVICE_LIVE)
            continue;
        a.any = 1;
        a.blocked &= wait_is_blocked(&dev->record);
    }
    a.posted = atomic_load(&run->remote->posted);
    a.delivered = atomic_load(&run->remote->delivered);
    return a;
}

/* Called with the lock held. */
static void add_answer(struct remote *remote, const struct remote_answer *a)
{
    if (a->wave != remote->wave)
        return;
    remote->nanswers++;
    remote->all.blocked &= a->blocked;
    remote->all.any |= a->any;
    remote->all.moved += a->moved;
    remote->all.posted += a->posted;
    remote->all.delivered += a->delivered;
}

static bool is_still(const struct remote_answer *now, const struct remote_answer *before)
{
    return now->blocked && now->any && before->blocked && now->moved == before->moved &&
           now->posted == before->posted && now->posted == now->delivered &&
           before->posted == before->delivered;
}

bool remote_wave(struct run *run)
{
    struct remote *remote = run->remote;
    struct remote_answer mine;
    bool still = false, asks;

    pthread_mutex_lock(&remote->lock);
    asks = remote->nanswers == run->spread->nranks || remote->wave == 0;
    if (asks) {
        still = remote->wave > 1 && is_still(&remote->all, &remote->last);
        remote->last = remote->all;
        remote->wave++;
        remote->nanswers = 0;
        remote->all = (struct remote_answer){.blocked = 1};
    }
    pthread_mutex_unlock(&remote->lock);
    if (!asks)
        return false;
    mine = answer_of(run, remote->wave);
    pthread_mutex_lock(&remote->lock);
    add_answer(remote, &mine);
    pthread_mutex_unlock(&remote->lock);
    post_word(run, (struct word){LETTER_ASK, 0, 0, remote->wave}, false);
    return still;
}

static void answer(const struct run *run, uint32_t wave)
{
    struct remote_answer a = answer_of(run, wave);
    const struct ranks_part part = {&a, sizeof a};

    post(run, 0, &part, 1);
}

/* ---- delivery ---- */

static void deliver_word(struct run *run, int from, const void *letter)
{
    const struct word *word = letter;

    (void)from;
    switch ((enum letter)word->letter) {
    case LETTER_ENDED:
        run_group_lose(run, word->position, (enum device_state)word->value);
        atomic_fetch_add(&run->remote->delivered, 1);
        break;
    case LETTER_DONE:
        atomic_fetch_add(&run->remote->ndone, 1);
        wait_signal(&run->ended);
        break;
    case LETTER_VERDICT:
        if (!atomic_load(&run->board.called_off))
            run->over_limit = word->position;
        run_group_call_off(run, (enum run_verdict)word->value);
        break;
    case LETTER_ASK:
        answer(run, word->wave);
        break;
    default:
        break;
    }
}

/* A ranks_deliver_fn. */
static bool deliver(void *arg, int from, const void *letter, uint64_t bytes)
{
    struct run *run = arg;
    uint32_t kind;

    (void)bytes;
    memcpy(&kind, letter, sizeof kind);
    if (kind == LETTER_BUNDLE) {
        deliver_bundle(run, from, letter);
        atomic_fetch_add(&run->remote->delivered, 1);
    } else if (kind == LETTER_MESSAGE) {
        deliver_message(run, letter);
        atomic_fetch_add(&run->remote->delivered, 1);
    } else if (kind == LETTER_ANSWER) {
        pthread_mutex_lock(&run->remote->lock);
        add_answer(run->remote, letter);
        pthread_mutex_unlock(&run->remote->lock);
    } else {
        deliver_word(run, from, letter);
    }
    return kind == LETTER_BUNDLE;
}

bool remote_all_done(const struct run *run)
{
    return !run->remote || atomic_load(&run->remote->ndone) == run->spread->nranks;
}

/* ---- beginning and end ---- */

int remote_begin(struct run *run, struct shd_error *err)
{
    run->session = ranks_new_session();
    run->remote = calloc(1, sizeof *run->remote);
    if (!run->remote)
        return shd_error_set(err, SHD_ENOMEM, "no memory for a run over ranks");
    pthread_mutex_init(&run->remote->lock, NULL);
    return SHD_OK;
}

void remote_end(struct run *run)
{
    if (!run->remote)
        return;
    span_free_bundles(run->remote->spare);
    pthread_mutex_destroy(&run->remote->lock);
    free(run->remote);
    run->remote = NULL;
}

void remote_listen(struct run *run)
{
    ranks_listen(run->session, deliver, run);
}

/* ---- agreement between ranks ---- */

struct start { /* how starting went on one rank */
    int64_t status;
    char text[SHD_ERROR_TEXT_MAX];
};

int remote_agree_on_start(const struct run *run, int status, struct shd_error *err)
{
    int nranks = run->spread->nranks;
    struct start *all = calloc((size_t)nranks, sizeof *all);
    struct start *mine = all + run->spread->me;

    if (!all)
        ranks_abort("no memory for the start of a run");
    mine->status = status;
    if (status != SHD_OK)
        memcpy(mine->text, err->text, sizeof mine->text);
    ranks_merge(all, (uint64_t)nranks * sizeof *all, RANKS_JOIN);
    for (int r = nranks; r-- > 0;)
        if (all[r].status != SHD_OK)
            status = shd_error_set(err, (int)all[r].status, "%s", all[r].text);
    free(all);
    return status;
}

/* Take the verdict of the lowest rank that called the run off. */
static void agree_on_verdict(struct run *run)
{
    int nranks = run->spread->nranks;
    struct {
        int64_t called_off, over_limit;
    } *all = calloc((size_t)nranks, sizeof *all), *mine = all + run->spread->me;

    if (!all)
        ranks_abort("no memory for the end of a run");
    mine->called_off = atomic_load(&run->board.called_off);
    mine->over_limit = run->over_limit;
    ranks_merge(all, (uint64_t)nranks * sizeof *all, RANKS_JOIN);
    for (int r = nranks; r-- > 0;) {
        if (all[r].called_off) {
            atomic_store(&run->board.called_off, (int)all[r].called_off);
            run->over_limit = (int32_t)all[r].over_limit;
        }
    }
    free(all);
}

static void agree_on_states(struct run *run)
{
    size_t n = (size_t)run->ndevices;
    int64_t *states = calloc(n, sizeof *states);

    if (!states)
        ranks_abort("no memory for the end of a run");
    for (size_t d = 0; d < n; d++)
        states[d] = atomic_load(&run->devices[d].state);
    spread_merge_rows(run->spread, states, sizeof *states);
    for (size_t d = 0; d < n; d++)
        atomic_store(&run->devices[d].state, (int)states[d]);
    free(states);
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

void remote_agree_on_end(struct run *run)
{
    agree_on_verdict(run);
    ranks_close();
    agree_on_states(run);
    agree_on_counts(run);
}
