/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <shd/group.h>

#define NONE PROGRAM_NONE

struct span {
    int64_t start_ns, end_ns;
};

/* A device's resources. */
struct clock {
    struct rank *rank;
    int64_t core_ns, network_ns; /* free from then on */
    uint32_t head;               /* the first transfer that ends after core_ns, in transfers[] */
};

struct replay {
    const struct program *program;
    const struct record *record;
    struct record_transfers rate;
    struct record_replay *out;
    int32_t ndevices;
    struct rank *ranks;   /* [rank] */
    uint32_t nactions;    /* of the rank that has most */
    struct span *spans;   /* [device][action], in the order of the device's rank */
    struct clock *clocks; /* [device] */
    int64_t *arrival;     /* [device], at the transfer at hand */
    int64_t *last;        /* [group] or [device]: the last arrival */
};

/* What devices of one rank have in common: the actions that they do, in order. */
struct rank {
    struct program_walk walk;
    struct program_action *actions;
    uint32_t nactions;   /* so far */
    int32_t *devices;
    int32_t ndevices;
    uint64_t *base;      /* by op: where its actions begin in `when`; program_number_actions() */
    uint32_t *when;      /* by action's number: which of `actions` it is */
    uint32_t *transfers; /* communicating actions so far, in order */
    uint32_t ntransfers;
    uint32_t *before;       /* [action]: the one before it on the same resource, or NONE */
    uint32_t core, network; /* the last action on each */
};

static struct rank *rank_of(const struct replay *r, int32_t device)
{
    return r->clocks[device].rank;
}

static struct span *span_of(const struct replay *r, int32_t device, uint32_t action)
{
    return &r->spans[(size_t)device * r->nactions + action];
}

static const struct program_op *op_at(const struct replay *r, const struct rank *rank,
                                      uint32_t action)
{
    return &r->program->ops[rank->actions[action].op];
}

/* Where `when` has the action of a rank that does an op, for a microbatch or once a step. */
static uint64_t number_of(const struct replay *r, const struct rank *rank, uint32_t op,
                          uint32_t microbatch)
{
    return rank->base[op] + (r->program->ops[op].times > 1 ? microbatch : 0);
}

/* The action of a rank that does an op for a microbatch; NONE: it is an argument's, or was not done
 * yet. */
static uint32_t action_of(const struct replay *r, const struct rank *rank, uint32_t op,
                          uint32_t microbatch)
{
    return rank->base[op] == UINT64_MAX ? NONE : rank->when[number_of(r, rank, op, microbatch)];
}

/* The last of the microbatches for which an op was done. */
static uint32_t last_action_of(const struct replay *r, const struct rank *rank, uint32_t op)
{
    uint32_t last = NONE;

    for (uint32_t m = 0; m < r->program->ops[op].times; m++) {
        uint32_t action = action_of(r, rank, op, m);

        if (action != NONE && (last == NONE || action > last))
            last = action;
    }
    return last;
}

/* The action that wrote operand `k` of an action's op; NONE: it was there from the begin. */
static uint32_t maker_of(const struct replay *r, const struct rank *rank, uint32_t action,
                         uint32_t k)
{
    const struct program_action *a = &rank->actions[action];
    uint32_t first = r->program->buffers[r->program->ops[a->op].inputs[k]].first_op;

    if (r->program->ops[first].times == 1 || r->program->ops[a->op].times > 1)
        return action_of(r, rank, first, a->microbatch);
    return last_action_of(r, rank, first);
}

/* At the other end of a receive: its send, on the device that it comes from; the action is NONE
 * where that was not done yet. */
static uint32_t send_of(const struct replay *r, const struct program_op *recv, uint32_t microbatch,
                        int32_t device, int32_t *source)
{
    uint32_t send = r->program->channels[recv->channel].send;

    *source = program_doer(r->program, &r->program->ops[send], device);
    return action_of(r, rank_of(r, *source), send, microbatch);
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
    const struct rank *rank = rank_of(r, device);
    const struct program_op *op = op_at(r, rank, action);
    int64_t ready = 0;

    for (uint32_t k = 0; k < op->ninputs; k++) {
        uint32_t maker = maker_of(r, rank, action, k);

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
    const struct rank *rank = rank_of(r, device);
    int64_t exposed = 0;

    for (; c->head < rank->ntransfers; c->head++) {
        const struct span *s = span_of(r, device, rank->transfers[c->head]);

        if (s->end_ns > c->core_ns && s->start_ns < until)
            exposed += min_ns(s->end_ns, until) - max_ns(s->start_ns, c->core_ns);
        if (s->end_ns >= until)
            break;
    }
    d->exposed_ns += exposed;
    d->waiting_ns += until - c->core_ns - exposed;
    c->core_ns = until;
}

static void compute(struct replay *r, const struct rank *rank, uint32_t i)
{
    uint32_t op = rank->actions[i].op;

    for (int32_t k = 0; k < rank->ndevices; k++) {
        int32_t d = rank->devices[k];
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
static void start_groups(struct replay *r, const struct rank *rank, uint32_t i,
                         const struct shd_groups *groups)
{
    for (int32_t g = 0; g < groups->ngroups; g++)
        r->last[g] = 0;
    for (int32_t k = 0; k < rank->ndevices; k++) {
        int64_t *last = &r->last[shd_groups_find(groups, rank->devices[k])];

        *last = max_ns(*last, r->arrival[rank->devices[k]]);
    }
    for (int32_t k = 0; k < rank->ndevices; k++)
        span_of(r, rank->devices[k], i)->start_ns =
            r->last[shd_groups_find(groups, rank->devices[k])];
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

static void arrive(struct replay *r, const struct rank *rank, uint32_t i)
{
    for (int32_t k = 0; k < rank->ndevices; k++) {
        int32_t d = rank->devices[k];
        int64_t free_ns = rank->before[i] == NONE ? 0 : span_of(r, d, rank->before[i])->end_ns;

        r->arrival[d] = max_ns(free_ns, ready_ns(r, d, i));
    }
}

/* A message is there from its send's end on. */
static void start_receives(struct replay *r, const struct rank *rank, uint32_t i)
{
    for (int32_t k = 0; k < rank->ndevices; k++) {
        int32_t d = rank->devices[k], source;
        uint32_t send = send_of(r, op_at(r, rank, i), rank->actions[i].microbatch, d, &source);

        span_of(r, d, i)->start_ns = max_ns(r->arrival[d], span_of(r, source, send)->end_ns);
    }
}

static void start_transfers(struct replay *r, const struct rank *rank, uint32_t i)
{
    const struct program_op *op = op_at(r, rank, i);
    struct shd_groups groups;

    if (op->kind == PROGRAM_RECV)
        start_receives(r, rank, i);
    else if (groups_of(&groups, r, op))
        start_groups(r, rank, i, &groups);
    else
        for (int32_t k = 0; k < rank->ndevices; k++)
            span_of(r, rank->devices[k], i)->start_ns =
                r->arrival[last_holder(r, op, rank->devices[k])];
}

static void transfer(struct replay *r, struct rank *rank, uint32_t i)
{
    uint32_t number = rank->actions[i].op;

    arrive(r, rank, i);
    start_transfers(r, rank, i);
    for (int32_t k = 0; k < rank->ndevices; k++) {
        int32_t d = rank->devices[k];
        struct span *s = span_of(r, d, i);
        uint64_t bytes = r->record->op_received[(size_t)d * r->program->nops + number];
        int64_t ns = transfer_ns(r, bytes / r->program->ops[number].times);

        s->end_ns = s->start_ns + ns;
        r->out->devices[d].communication_ns += ns;
        r->clocks[d].network_ns = s->end_ns;
    }
    rank->transfers[rank->ntransfers++] = i;
}

/* ---- the critical path ---- */

/* The input that came last, or NONE. */
static uint32_t last_input(const struct replay *r, int32_t device, uint32_t action)
{
    const struct rank *rank = rank_of(r, device);
    const struct program_op *op = op_at(r, rank, action);
    uint32_t last = NONE;

    for (uint32_t k = 0; k < op->ninputs; k++) {
        uint32_t from = maker_of(r, rank, action, k);

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
    return rank_of(r, device)->before[i];
}

/* The member that a transfer waited for: the first that came last. */
static int32_t last_member(struct replay *r, uint32_t i, int32_t device)
{
    const struct rank *rank = rank_of(r, device);
    const struct program_op *op = op_at(r, rank, i);
    struct shd_groups groups;
    int32_t group, last;

    arrive(r, rank, i);
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

/* Where a receive waited for its send, go on from that: true, and both are changed. */
static bool trace_send(const struct replay *r, int32_t *device, uint32_t *action)
{
    const struct rank *rank = rank_of(r, *device);
    const struct program_op *op = op_at(r, rank, *action);
    int32_t source;
    uint32_t send;

    if (op->kind != PROGRAM_RECV)
        return false;
    send = send_of(r, op, rank->actions[*action].microbatch, *device, &source);
    if (span_of(r, source, send)->end_ns != span_of(r, *device, *action)->start_ns)
        return false;
    *device = source;
    *action = send;
    return true;
}

/* From the action that ended last back to the begin; every stretch is of an earlier action than the
 * one that it caused.  Devices of a rank do the same actions, so that there are at most as many as
 * actions of all ranks. */
static void trace(struct replay *r, int32_t device, uint32_t action)
{
    struct record_replay *out = r->out;

    while (action != NONE && span_of(r, device, action)->end_ns > 0) {
        struct span s = *span_of(r, device, action);
        const struct rank *rank = rank_of(r, device);
        const struct program_op *op = op_at(r, rank, action);

        out->path[out->npath++] =
            (struct record_stretch){device, rank->actions[action].op, s.start_ns, s.end_ns};
        if (s.start_ns == 0)
            break;
        if (trace_send(r, &device, &action))
            continue;
        if (program_communicates(op) && op->kind == PROGRAM_RESHARD)
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
    for (uint32_t i = 0; i < rank_of(r, *device)->nactions && r->out->step_ns > 0; i++)
        if (span_of(r, *device, i)->end_ns == r->out->step_ns)
            last = i;
    return last;
}

/* Whether a rank can do an action now: what it receives was sent. */
static bool can_do(const struct replay *r, const struct rank *rank, const struct program_action *a)
{
    const struct program_op *op = &r->program->ops[a->op];
    int32_t source;

    return op->kind != PROGRAM_RECV ||
           send_of(r, op, a->microbatch, rank->devices[0], &source) != NONE;
}

static void do_action(struct replay *r, struct rank *rank, const struct program_action *a)
{
    uint32_t i = rank->nactions++;
    bool moves = program_communicates(&r->program->ops[a->op]);
    uint32_t *resource = moves ? &rank->network : &rank->core;

    rank->actions[i] = *a;
    rank->when[number_of(r, rank, a->op, a->microbatch)] = i;
    rank->before[i] = *resource;
    *resource = i;
    if (moves)
        transfer(r, rank, i);
    else
        compute(r, rank, i);
}

/* Go on with a rank until it has to wait for another; whether it did anything. */
static bool advance(struct replay *r, struct rank *rank)
{
    struct program_walk next = rank->walk;
    struct program_action action;
    bool any = false;

    while (program_walk_next(&next, &action) && can_do(r, rank, &action)) {
        do_action(r, rank, &action);
        rank->walk = next;
        any = true;
    }
    return any;
}

static void replay(struct replay *r)
{
    int32_t device = 0;
    uint32_t last;
    bool any = true;

    while (any) {
        any = false;
        for (uint32_t k = 0; k < r->program->nranks; k++)
            any |= advance(r, &r->ranks[k]);
    }
    last = end_step(r, &device);
    trace(r, device, last);
}

static bool allocate_rank(struct rank *rank, const struct program *program, uint32_t number)
{
    int32_t ndevices = shd_mesh_size(program->mesh);
    uint64_t n = program_nactions(program, number) + 1;

    if (n > UINT32_MAX / 2)
        return false;
    rank->walk = program_walk_begin(program, number);
    rank->core = rank->network = NONE;
    rank->actions = calloc(n, sizeof *rank->actions);
    rank->devices = calloc((size_t)ndevices, sizeof *rank->devices);
    rank->base = calloc((size_t)program->nops + 1, sizeof *rank->base);
    rank->when = calloc(3 * n, sizeof *rank->when);
    if (!rank->actions || !rank->devices || !rank->base || !rank->when)
        return false;
    memset(rank->when, 0xff, n * sizeof *rank->when); /* NONE */
    rank->transfers = rank->when + n;
    rank->before = rank->transfers + n;
    program_number_actions(program, number, rank->base);
    for (int32_t d = 0; d < ndevices; d++)
        if (program_rank(program, d) == number)
            rank->devices[rank->ndevices++] = d;
    return true;
}

static bool allocate(struct replay *r)
{
    size_t n = (size_t)r->ndevices;
    uint64_t all = 0;

    r->ranks = calloc(r->program->nranks, sizeof *r->ranks);
    for (uint32_t k = 0; k < r->program->nranks; k++) {
        uint64_t nactions = program_nactions(r->program, k);

        if (!r->ranks || !allocate_rank(&r->ranks[k], r->program, k))
            return false;
        all += nactions;
        r->nactions = nactions > r->nactions ? (uint32_t)nactions : r->nactions;
    }
    if (all > UINT32_MAX / 2)
        return false;
    r->out = record_replay_create(r->ndevices, (uint32_t)all);
    r->spans = calloc(n * r->nactions + 1, sizeof *r->spans);
    r->clocks = calloc(n, sizeof *r->clocks);
    r->arrival = calloc(2 * n, sizeof *r->arrival);
    if (!r->out || !r->spans || !r->clocks || !r->arrival)
        return false;
    r->last = r->arrival + n;
    for (int32_t d = 0; d < r->ndevices; d++)
        r->clocks[d].rank = &r->ranks[program_rank(r->program, d)];
    return true;
}

static void free_ranks(struct replay *r)
{
    for (uint32_t k = 0; r->ranks && k < r->program->nranks; k++) {
        free(r->ranks[k].actions);
        free(r->ranks[k].devices);
        free(r->ranks[k].base);
        free(r->ranks[k].when);
    }
    free(r->ranks);
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
    free_ranks(&r);
    return status;
}
