/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/replay.h"

#include <math.h>
#include <stdlib.h>

#include <shd/group.h>

#define NONE PROGRAM_NONE

struct span {
    int64_t start_ns, end_ns;
};

/* A device's resources. */
struct clock {
    int64_t core_ns, network_ns; /* free from then on */
    uint32_t head;               /* the first transfer that ends after core_ns, in transfers[] */
};

struct replay {
    const struct program *program;
    const struct record *record;
    struct record_transfers rate;
    struct record_replay *out;
    int32_t ndevices;
    uint32_t nactions;    /* of the step; see program.h */
    struct span *spans;   /* [device][action] */
    struct clock *clocks; /* [device] */
    int64_t *arrival;     /* [device], at the transfer at hand */
    int64_t *last;        /* [group] or [device]: the last arrival */
    uint32_t *transfers;  /* communicating actions so far, in order */
    uint32_t ntransfers;
    uint32_t *before; /* [action]: the one before it on the same resource, or NONE */
};

static struct span *span_of(const struct replay *r, int32_t device, uint32_t action)
{
    return &r->spans[(size_t)device * r->nactions + action];
}

static uint32_t op_at(const struct replay *r, uint32_t action)
{
    return program_action_at(r->program, action).op;
}

/* The action that wrote operand `k` of an action's op; NONE: it was there from the begin. */
static uint32_t maker_of(const struct replay *r, uint32_t action, uint32_t k)
{
    const struct program_op *op = &r->program->ops[op_at(r, action)];
    uint32_t first = r->program->buffers[op->inputs[k]].first_op;
    uint64_t maker = program_action_of(r->program, action, first);

    return maker == UINT64_MAX ? NONE : (uint32_t)maker;
}

static int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* When all inputs of an action's op are there. */
static int64_t ready_ns(const struct replay *r, int32_t device, uint32_t action)
{
    const struct program_op *op = &r->program->ops[op_at(r, action)];
    int64_t ready = 0;

    for (uint32_t k = 0; k < op->ninputs; k++) {
        uint32_t maker = maker_of(r, action, k);

        ready = maker == NONE ? ready : max_ns(ready, span_of(r, device, maker)->end_ns);
    }
    return ready;
}

/* The core has nothing to do until `until`: what it is kept from by the network.  It waits for an
 * earlier transfer; the network takes them in order, and what they need of the core is done: so
 * all the time bytes arrive, or others are waited for. */
static void pass(struct replay *r, int32_t device, int64_t until)
{
    struct clock *c = &r->clocks[device];
    struct record_replayed *d = &r->out->devices[device];
    int64_t exposed = 0;

    for (; c->head < r->ntransfers; c->head++) {
        const struct span *s = span_of(r, device, r->transfers[c->head]);

        if (s->end_ns > c->core_ns && s->start_ns < until)
            exposed += min_ns(s->end_ns, until) - max_ns(s->start_ns, c->core_ns);
        if (s->end_ns >= until)
            break;
    }
    d->exposed_ns += exposed;
    d->waiting_ns += until - c->core_ns - exposed;
    c->core_ns = until;
}

static void compute(struct replay *r, uint32_t i)
{
    uint32_t op = op_at(r, i);

    for (int32_t d = 0; d < r->ndevices; d++) {
        int64_t cpu_ns = r->record->times[(size_t)d * r->program->nops + op].cpu_ns;
        int64_t start_ns = max_ns(r->clocks[d].core_ns, ready_ns(r, d, i));

        if (start_ns > r->clocks[d].core_ns)
            pass(r, d, start_ns);
        r->clocks[d].core_ns += cpu_ns;
        r->out->devices[d].busy_ns += cpu_ns;
        *span_of(r, d, i) = (struct span){start_ns, start_ns + cpu_ns};
    }
}

/* ---- transfers ---- */

static int64_t transfer_ns(const struct replay *r, uint64_t bytes)
{
    if (bytes == 0)
        return 0;
    return r->rate.latency_ns + llround((double)bytes * 1e9 / (double)r->rate.bytes_per_s);
}

/* Members of one group begin together. */
static void start_groups(struct replay *r, uint32_t i, const struct shd_groups *groups)
{
    for (int32_t g = 0; g < groups->ngroups; g++)
        r->last[g] = 0;
    for (int32_t d = 0; d < r->ndevices; d++) {
        int64_t *last = &r->last[shd_groups_find(groups, d)];

        *last = max_ns(*last, r->arrival[d]);
    }
    for (int32_t d = 0; d < r->ndevices; d++)
        span_of(r, d, i)->start_ns = r->last[shd_groups_find(groups, d)];
}

struct holders {
    const struct replay *replay;
    int32_t last;
};

static bool look_at_holder(void *arg, int32_t source, uint64_t bytes)
{
    struct holders *h = arg;

    (void)bytes;
    if (h->replay->arrival[source] > h->replay->arrival[h->last])
        h->last = source;
    return true;
}

/* The last to arrive of a device and those from which it fetches. */
static int32_t last_holder(const struct replay *r, const struct program_op *op, int32_t device)
{
    struct holders h = {r, device};

    program_transfers(r->program, op, device, look_at_holder, &h);
    return h.last;
}

/* The groups of a collective; false for a step in which boxes are fetched. */
static bool groups_of(struct shd_groups *out, const struct replay *r, const struct program_op *op)
{
    return program_coll_kind(op) >= 0 && shd_groups_init(out, r->program->mesh, op->reshard.axes,
                                                         op->reshard.naxes, NULL) == SHD_OK;
}

static void arrive(struct replay *r, uint32_t i)
{
    for (int32_t d = 0; d < r->ndevices; d++) {
        int64_t free_ns = r->before[i] == NONE ? 0 : span_of(r, d, r->before[i])->end_ns;

        r->arrival[d] = max_ns(free_ns, ready_ns(r, d, i));
    }
}

static void transfer(struct replay *r, uint32_t i)
{
    uint32_t number = op_at(r, i);
    const struct program_op *op = &r->program->ops[number];
    struct shd_groups groups;

    arrive(r, i);
    if (groups_of(&groups, r, op))
        start_groups(r, i, &groups);
    else
        for (int32_t d = 0; d < r->ndevices; d++)
            span_of(r, d, i)->start_ns = r->arrival[last_holder(r, op, d)];
    for (int32_t d = 0; d < r->ndevices; d++) {
        struct span *s = span_of(r, d, i);
        uint64_t bytes = r->record->op_received[(size_t)d * r->program->nops + number];
        int64_t ns = transfer_ns(r, bytes / op->times);

        s->end_ns = s->start_ns + ns;
        r->out->devices[d].communication_ns += ns;
        r->clocks[d].network_ns = s->end_ns;
    }
    r->transfers[r->ntransfers++] = i;
}

/* ---- the critical path ---- */

/* The input that came last, or NONE. */
static uint32_t last_input(const struct replay *r, int32_t device, uint32_t action)
{
    const struct program_op *op = &r->program->ops[op_at(r, action)];
    uint32_t last = NONE;

    for (uint32_t k = 0; k < op->ninputs; k++) {
        uint32_t from = maker_of(r, action, k);

        if (from != NONE &&
            (last == NONE || span_of(r, device, from)->end_ns > span_of(r, device, last)->end_ns))
            last = from;
    }
    return last;
}

/* What an op that is ready at `at_ns` had to wait for on its own device: an input sooner than the
 * resource. */
static uint32_t cause(const struct replay *r, int32_t device, uint32_t i, int64_t at_ns)
{
    uint32_t last = last_input(r, device, i);

    if (last != NONE && span_of(r, device, last)->end_ns == at_ns)
        return last;
    return r->before[i];
}

/* The member that a transfer waited for: the first that came last. */
static int32_t last_member(struct replay *r, uint32_t i, int32_t device)
{
    const struct program_op *op = &r->program->ops[op_at(r, i)];
    struct shd_groups groups;
    int32_t group, last;

    arrive(r, i);
    if (!groups_of(&groups, r, op))
        return last_holder(r, op, device);
    group = shd_groups_find(&groups, device);
    last = shd_groups_position(&groups, group, 0);
    for (int32_t m = 1; m < groups.nmembers; m++) {
        int32_t other = shd_groups_position(&groups, group, m);

        if (r->arrival[other] > r->arrival[last])
            last = other;
    }
    return last;
}

/* From the action that ended last back to the begin; every stretch is of an earlier action than the
 * one that it caused, so there are at most as many as actions. */
static void trace(struct replay *r, int32_t device, uint32_t action)
{
    struct record_replay *out = r->out;

    while (action != NONE && span_of(r, device, action)->end_ns > 0) {
        struct span s = *span_of(r, device, action);
        uint32_t op = op_at(r, action);

        out->path[out->npath++] = (struct record_stretch){device, op, s.start_ns, s.end_ns};
        if (s.start_ns == 0)
            break;
        if (program_communicates(&r->program->ops[op]))
            device = last_member(r, action, device);
        action = cause(r, device, action, s.start_ns);
    }
    for (uint32_t a = 0, b = out->npath; a + 1 < b; a++) {
        struct record_stretch swap = out->path[a];

        out->path[a] = out->path[--b];
        out->path[b] = swap;
    }
}

/* ---- the whole ---- */

/* Returns the last action of the step, and where it is in *device. */
static uint32_t end_step(struct replay *r, int32_t *device)
{
    uint32_t last = NONE;

    for (int32_t d = 0; d < r->ndevices; d++) {
        const struct clock *c = &r->clocks[d];

        if (c->network_ns > c->core_ns)
            pass(r, d, c->network_ns);
        if (c->core_ns > r->out->step_ns) {
            r->out->step_ns = c->core_ns;
            *device = d;
        }
    }
    for (int32_t d = 0; d < r->ndevices; d++)
        r->out->devices[d].idle_ns = r->out->step_ns - r->clocks[d].core_ns;
    for (uint32_t i = 0; i < r->nactions && r->out->step_ns > 0; i++)
        if (span_of(r, *device, i)->end_ns == r->out->step_ns)
            last = i;
    return last;
}

static void replay(struct replay *r)
{
    uint32_t core = NONE, network = NONE, last;
    int32_t device = 0;

    for (uint32_t i = 0; i < r->nactions; i++) {
        if (program_communicates(&r->program->ops[op_at(r, i)])) {
            r->before[i] = network;
            network = i;
            transfer(r, i);
        } else {
            r->before[i] = core;
            core = i;
            compute(r, i);
        }
    }
    last = end_step(r, &device);
    trace(r, device, last);
}

static bool allocate(struct replay *r)
{
    size_t n = (size_t)r->ndevices, nactions = program_nactions(r->program) + 1;

    if (nactions > UINT32_MAX / 2)
        return false;
    r->nactions = (uint32_t)nactions - 1;
    r->out = record_replay_create(r->ndevices, r->nactions);
    r->spans = calloc(n * nactions, sizeof *r->spans);
    r->clocks = calloc(n, sizeof *r->clocks);
    r->arrival = calloc(2 * n, sizeof *r->arrival);
    r->transfers = calloc(2 * nactions, sizeof *r->transfers);
    if (!r->out || !r->spans || !r->clocks || !r->arrival || !r->transfers)
        return false;
    r->last = r->arrival + n;
    r->before = r->transfers + nactions;
    return true;
}

int replay_run(struct record *record, const struct record_transfers *transfers,
               struct shd_error *err)
{
    struct replay r = {.program = record->program,
                       .record = record,
                       .rate = *transfers,
                       .ndevices = record->ndevices};
    int status = SHD_OK;

    if (!record->times)
        return shd_error_set(err, SHD_EINVAL, "no times were recorded to replay");
    if (transfers->bytes_per_s == 0)
        return shd_error_set(err, SHD_EINVAL, "transfers at a rate of 0 never end");
    if (allocate(&r)) {
        r.out->transfers = *transfers;
        replay(&r);
        record_replay_destroy(record->replay);
        record->replay = r.out;
    } else {
        record_replay_destroy(r.out);
        status = shd_error_set(err, SHD_ENOMEM, "no memory to replay the step");
    }
    free(r.spans);
    free(r.clocks);
    free(r.arrival);
    free(r.transfers);
    return status;
}
