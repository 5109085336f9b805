/* inspect.c - what verification reads: shards of this rank's devices, and those of other ranks',
 * which are brought for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include "base/wait.h"
#include "run/ranks/span.h"
#include "run/ranks/spread.h"
#include "run/channel.h"
#include "run/collective.h"
#include "run/walk/walker.h"

/* Wait for all devices of this pipeline rank. */
static int meet_rank(struct walker *w, const char *where, struct shd_error *err)
{
    struct coll_call call = {.kind = COLL_BARRIER, .where = where};
    int status = walker_seat_on_rank(&call.seat, w, err);

    return status == SHD_OK ? run_collective(w->dev, &call, err) : status;
}

/* ---- what devices of other ranks have, for those who inspect ---- */

struct showing {
    const struct walker *walker;
    uint32_t op, buffer;
};

/* The group's lowest device on this rank shows the shards of other ranks' devices to the
 * inspector. */
static int show_peers(struct run_pull *pull, void *arg, struct shd_error *err)
{
    const struct showing *s = arg;
    const struct walker *w = s->walker;
    const struct walk_opts *opts = w->walk->opts;
    const struct run_group *group = pull->seat.group;
    uint32_t first = 0;

    (void)err;
    while (!group->devices[first]->here)
        first++;
    if (first != pull->seat.member)
        return SHD_OK;
    for (uint32_t m = 0; m < group->nmembers; m++) {
        if (group->devices[m]->here)
            continue;
        opts->peer(opts->inspect_arg, w->position, s->op, group->members[m], s->buffer,
                   run_pull_peer(pull, m));
        span_forget(span_of(group), m); /* no other device of this rank reads the copy */
    }
    return SHD_OK;
}

static int bring_shards(struct walker *w, uint32_t i, struct shd_error *err)
{
    const struct program_op *op = &w->program->ops[i];
    uint32_t n = op->kind == PROGRAM_ROWS ? 1 : op->ninputs; /* only the tokens of PROGRAM_ROWS
                                                                come from other devices */
    struct run_seat seat;
    int status = walker_seat_on_rank(&seat, w, err);

    for (uint32_t k = 0; k < n && status == SHD_OK; k++) {
        struct showing s = {w, i, op->inputs[k]};

        status =
            run_pull_phase(w->dev, seat, w->shards[s.buffer], w->program->buffers[s.buffer].bytes,
                           i, op->name, show_peers, &s, NULL, err);
    }
    return status;
}

/* Tag bit of the second copy of a message between stages, sent to inspectors on another rank. */
#define SHOWN (UINT64_C(1) << 32)

static int send_shown(struct walker *w, const struct program_op *op, struct shd_error *err)
{
    const struct program_op *recv = &w->program->ops[w->program->channels[op->channel].recv];
    int32_t to = program_doer(w->program, recv, w->position);
    const struct message_tag tag = {SHOWN + op->channel, w->microbatch};

    if (spread_has(w->walk->opts->spread, to))
        return SHD_OK;
    return channel_send(w->dev, to, tag, w->shards[op->inputs[0]],
                        w->program->buffers[op->inputs[0]].bytes, err);
}

static int take_shown(struct walker *w, uint32_t i, struct shd_error *err)
{
    const struct walk_opts *opts = w->walk->opts;
    const struct program_op *op = &w->program->ops[i];
    const struct program_op *send = &w->program->ops[w->program->channels[op->channel].send];
    int32_t from = program_doer(w->program, send, w->position);
    const struct message_tag tag = {SHOWN + op->channel, w->microbatch};
    uint64_t bytes = w->program->buffers[op->outputs[0]].bytes, received;
    void *shard;
    int status;

    if (spread_has(opts->spread, from))
        return SHD_OK;
    shard = malloc(bytes + 1);
    if (!shard)
        return shd_error_set(err, SHD_ENOMEM, "no memory to show what was received");
    status = channel_take(w->dev, from, tag, shard, bytes, op->name, &received, err);
    if (status == SHD_OK)
        opts->peer(opts->inspect_arg, w->position, i, from, op->outputs[0], shard);
    free(shard);
    return status;
}

static int bring_from_others(struct walker *w, uint32_t i, bool meets, struct shd_error *err)
{
    const struct program_op *op = &w->program->ops[i];

    if (!w->walk->opts->spread)
        return SHD_OK;
    if (op->kind == PROGRAM_SEND)
        return send_shown(w, op, err);
    if (op->kind == PROGRAM_RECV)
        return take_shown(w, i, err);
    return meets ? bring_shards(w, i, err) : SHD_OK;
}

/* A stopped device keeps its shards until no device looks at shards any more: the meeting that
 * broke off for the stopped device may have let others pass. */
static void await_looks(struct looks *looks)
{
    for (;;) {
        uint32_t seen = atomic_load(&looks->done);

        if (atomic_load(&looks->n) == 0)
            return;
        wait_event(&looks->done, seen, -1);
    }
}

/* Fetch the shards of other ranks' devices, then call the inspector. */
static int look(struct walker *w, uint32_t i, bool met, struct shd_error *err)
{
    const struct walk_opts *opts = w->walk->opts;
    int status = bring_from_others(w, i, met, err);

    if (status == SHD_OK)
        opts->inspect(opts->inspect_arg, w->position, i, w->microbatch,
                      (const void *const *)w->shards);
    return status;
}

/* Inspect an op at which inspectors read the shards of all devices: the devices meet before and
 * after inspection.  Shards of other ranks are fetched before any inspector runs, so that no device
 * waits for one that failed to fetch. */
static int look_together(struct walker *w, uint32_t i, struct shd_error *err)
{
    const char *where = w->program->ops[i].name;
    struct looks *looks = w->walk->looks;
    int met, looked = SHD_OK;

    atomic_fetch_add(&looks->n, 1);
    met = meet_rank(w, where, err);
    if (met == SHD_OK)
        looked = look(w, i, true, err);
    atomic_fetch_sub(&looks->n, 1);
    wait_signal(&looks->done);
    if (looked != SHD_OK)
        return looked;
    if (met == SHD_OK)
        met = meet_rank(w, where, err);
    if (met != SHD_OK)
        await_looks(looks);
    return met;
}

int walker_show(struct walker *w, uint32_t i, struct shd_error *err)
{
    const struct walk_opts *opts = w->walk->opts;
    bool meet = opts->inspect && program_reads_others(&w->program->ops[i]);
    int status = SHD_OK;

    if (opts->observe)
        opts->observe(opts->observe_arg, w->position, i, w->microbatch,
                      (const void *const *)w->shards);
    if (opts->inspect)
        status = meet ? look_together(w, i, err) : look(w, i, false, err);
    /* Every device has been inspected. */
    if (meet && opts->spread &&
        w->position == spread_first(opts->spread, w->walk->record->ndevices))
        opts->peer(opts->inspect_arg, w->position, i, -1, 0, NULL);
    return status;
}
