/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/replay.h"

#include <math.h>
#include <stdlib.h>

#include <shd/group.h>

#include "cost/events.h"

/* A lane is a device. */
struct replay {
    const struct program *program;
    const struct record *record;
    struct record_transfers rate;
    int64_t *last; /* [group]: the last arrival of a member */
};

static uint32_t rank(void *arg, int32_t device)
{
    return program_rank(((struct replay *)arg)->program, device);
}

static int64_t transfer_ns(const struct replay *r, uint64_t bytes)
{
    if (bytes == 0)
        return 0;
    return r->rate.latency_ns + llround((double)bytes * 1e9 / (double)r->rate.bytes_per_s);
}

static void op_ns(void *arg, uint32_t op, const int32_t *devices, int32_t ndevices, int64_t *out)
{
    const struct replay *r = arg;
    bool communicates = program_communicates(&r->program->ops[op]);

    for (int32_t k = 0; k < ndevices; k++) {
        size_t at = (size_t)devices[k] * r->program->nops + op;

        out[k] = communicates
                     ? transfer_ns(r, r->record->op_received[at] / r->program->ops[op].times)
                     : r->record->times[at].cpu_ns;
    }
}

static unsigned stream(void *arg, uint32_t op)
{
    const struct program_op *o = &((const struct replay *)arg)->program->ops[op];

    return program_communicates(o) ? 0 : events_host_stream(o);
}

static enum events_issue issue(void *arg, uint32_t op)
{
    const struct program_op *o = &((const struct replay *)arg)->program->ops[op];

    return program_communicates(o) ? EVENTS_IN_ORDER : events_host_issue(o);
}

static int32_t doer(void *arg, uint32_t op, int32_t device)
{
    const struct replay *r = arg;

    return program_doer(r->program, &r->program->ops[op], device);
}

/* ---- meetings ---- */

struct holders {
    const struct events_meeting *meeting;
    int32_t last;
};

static bool look_at_holder(void *arg, int32_t source, uint64_t bytes)
{
    struct holders *h = arg;

    (void)bytes;
    if (h->meeting->arrival[source] > h->meeting->arrival[h->last])
        h->last = source;
    return true;
}

/* The last to arrive among a device and the devices that it fetches from. */
static int32_t last_holder(const struct replay *r, const struct events_meeting *meeting,
                           int32_t device)
{
    struct holders h = {meeting, device};

    program_transfers(r->program, &r->program->ops[meeting->op], device, look_at_holder, &h);
    return h.last;
}

/* The groups of a collective; false for a step that fetches boxes. */
static bool groups_of(struct shd_groups *out, const struct replay *r, const struct program_op *op)
{
    return program_coll_kind(op) >= 0 && shd_groups_init(out, r->program->mesh, op->reshard.axes,
                                                         op->reshard.naxes, NULL) == SHD_OK;
}

static int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* All members of a group begin together. */
static void meet_in_groups(const struct replay *r, const struct events_meeting *m,
                           const struct shd_groups *groups, int64_t *start)
{
    for (int32_t g = 0; g < groups->ngroups; g++)
        r->last[g] = 0;
    for (int32_t k = 0; k < m->nlanes; k++) {
        int64_t *last = &r->last[shd_groups_find(groups, m->lanes[k])];

        *last = max_ns(*last, m->arrival[m->lanes[k]]);
    }
    for (int32_t k = 0; k < m->nlanes; k++)
        start[m->lanes[k]] = r->last[shd_groups_find(groups, m->lanes[k])];
}

static void meet(void *arg, const struct events_meeting *m, int64_t *start)
{
    const struct replay *r = arg;
    struct shd_groups groups;

    if (groups_of(&groups, r, &r->program->ops[m->op]))
        meet_in_groups(r, m, &groups, start);
    else
        for (int32_t k = 0; k < m->nlanes; k++)
            start[m->lanes[k]] = m->arrival[last_holder(r, m, m->lanes[k])];
}

static int32_t last(void *arg, const struct events_meeting *m, int32_t device)
{
    const struct replay *r = arg;
    struct shd_groups groups;
    int32_t group, found;

    if (!groups_of(&groups, r, &r->program->ops[m->op]))
        return last_holder(r, m, device);
    group = shd_groups_find(&groups, device);
    found = shd_groups_position(&groups, group, 0);
    for (int32_t i = 1; i < groups.nmembers; i++) {
        int32_t other = shd_groups_position(&groups, group, i);

        if (m->arrival[other] > m->arrival[found])
            found = other;
    }
    return found;
}

static int lay_out(struct record_replay **out, const struct record *record,
                   const struct record_transfers *transfers, const struct events_watch *watch,
                   struct shd_error *err)
{
    struct replay r = {.program = record->program, .record = record, .rate = *transfers};
    const struct events_view view = {.program = record->program,
                                     .nlanes = record->ndevices,
                                     .rank = rank,
                                     .op_ns = op_ns,
                                     .stream = stream,
                                     .issue = issue,
                                     .doer = doer,
                                     .last = last,
                                     .meet = meet,
                                     .arg = &r,
                                     .traces = !watch,
                                     .watch = watch};
    int status;

    r.last = calloc((size_t)record->ndevices, sizeof *r.last);
    if (!r.last)
        return shd_error_set(err, SHD_ENOMEM, "no memory to replay the step");
    status = events_run(out, &view, err);
    free(r.last);
    return status;
}

int replay_run(struct record *record, const struct record_transfers *transfers,
               struct shd_error *err)
{
    struct record_replay *out;
    int status;

    if (!record->times)
        return shd_error_set(err, SHD_EINVAL, "no times were recorded to replay");
    if (transfers->bytes_per_s == 0)
        return shd_error_set(err, SHD_EINVAL, "transfers at a rate of 0 never end");
    status = lay_out(&out, record, transfers, NULL, err);
    if (status != SHD_OK)
        return status;
    out->transfers = *transfers;
    record_replay_destroy(record->replay);
    record->replay = out;
    return SHD_OK;
}

int replay_tell(const struct record *record, const struct events_watch *watch,
                struct shd_error *err)
{
    struct record_replay *again;
    int status = lay_out(&again, record, &record->replay->transfers, watch, err);

    if (status == SHD_OK)
        record_replay_destroy(again);
    return status;
}
