/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/events.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "program/paired_walk.h"

#define NONE PROGRAM_NONE

struct span {
    int64_t start_ns, end_ns;
};

/* An interval in which a stream is busy with a transfer. */
struct busy {
    int64_t start_ns, end_ns;
    uint32_t action;
};

/* A lane's stream of transfers: disjoint busy intervals in order of time. */
struct stream {
    struct busy *busy;
    uint32_t nbusy;
};

struct lane {
    struct rank *rank;
    int64_t core_ns; /* end of the last computation so far */
    struct stream streams[EVENTS_STREAMS_MAX];
};

struct events {
    const struct program *program;
    const struct events_view *view;
    struct record_replay *out;
    int32_t nlanes;
    struct rank *ranks; /* [rank] */
    uint32_t nactions;  /* largest number of actions of a rank */
    struct span *spans; /* [lane][action], numbered as in the lane's rank */
    struct lane *lanes; /* [lane] */
    int64_t *arrival;   /* [lane], for the current transfer */
    int64_t *start;     /* [lane], for the current transfer */
    bool failed;        /* no memory for a busy interval */
};

/* Data common to all lanes of a rank: the actions that they do, in order. */
struct rank {
    struct program_paired_walk walk;
    struct program_action *actions;
    uint32_t nactions; /* so far */
    int32_t *lanes;
    int32_t nlanes;
    uint64_t *base; /* by op: index of its first action in `when`; program_number_actions() */
    uint32_t *when; /* by action number: index in `actions` */
    uint32_t
        *before; /* [action]: the action before it on its stream; NONE: none, or the action fills
                    gaps */
    uint32_t *issued; /* [action]: the computation after which it is issued, or NONE */
    uint32_t core, last[EVENTS_STREAMS_MAX]; /* last actions of the computation stream and of the
                                                transfer streams */
};

static struct rank *rank_of(const struct events *r, int32_t lane)
{
    return r->lanes[lane].rank;
}

static struct span *span_of(const struct events *r, int32_t lane, uint32_t action)
{
    return &r->spans[(size_t)lane * r->nactions + action];
}

static const struct program_op *op_at(const struct events *r, const struct rank *rank,
                                      uint32_t action)
{
    return &r->program->ops[rank->actions[action].op];
}

/* Number of the action that does an op for a microbatch, or once a step. */
static uint64_t number_of(const struct events *r, const struct rank *rank, uint32_t op,
                          uint32_t microbatch)
{
    return rank->base[op] + (r->program->ops[op].times > 1 ? microbatch : 0);
}

/* The action that does an op for a microbatch; NONE: an argument's, or not done yet. */
static uint32_t action_of(const struct events *r, const struct rank *rank, uint32_t op,
                          uint32_t microbatch)
{
    return rank->base[op] == UINT64_MAX ? NONE : rank->when[number_of(r, rank, op, microbatch)];
}

/* The op's last action, over all microbatches done so far. */
static uint32_t last_action_of(const struct events *r, const struct rank *rank, uint32_t op)
{
    uint32_t last = NONE;

    for (uint32_t m = 0; m < r->program->ops[op].times; m++) {
        uint32_t action = action_of(r, rank, op, m);

        if (action != NONE && (last == NONE || action > last))
            last = action;
    }
    return last;
}

/* The action that wrote operand `k` of an action's op; NONE: the operand is there from the
 * start. */
static uint32_t maker_of(const struct events *r, const struct rank *rank, uint32_t action,
                         uint32_t k)
{
    const struct program_action *a = &rank->actions[action];
    uint32_t first = r->program->buffers[r->program->ops[a->op].inputs[k]].first_op;

    if (r->program->ops[first].times == 1 || r->program->ops[a->op].times > 1)
        return action_of(r, rank, first, a->microbatch);
    return last_action_of(r, rank, first);
}

/* The send of a receive, and the lane that sends; NONE: the send is not done yet. */
static uint32_t send_of(const struct events *r, const struct program_op *recv, uint32_t microbatch,
                        int32_t lane, int32_t *source)
{
    uint32_t send = r->program->channels[recv->channel].send;

    *source = r->view->doer(r->view->arg, send, lane);
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

/* Time at which all inputs of an action's op are available. */
static int64_t ready_ns(const struct events *r, int32_t lane, uint32_t action)
{
    const struct rank *rank = rank_of(r, lane);
    const struct program_op *op = op_at(r, rank, action);
    int64_t ready = 0;

    for (uint32_t k = 0; k < op->ninputs; k++) {
        uint32_t maker = maker_of(r, rank, action, k);

        ready = maker == NONE ? ready : max_ns(ready, span_of(r, lane, maker)->end_ns);
    }
    return ready;
}

/* ---- streams of transfers ---- */

/* First busy interval that ends after a time; nbusy: none. */
static uint32_t first_after(const struct stream *s, int64_t ns)
{
    uint32_t from = 0, to = s->nbusy;

    while (from < to) {
        uint32_t middle = from + (to - from) / 2;

        if (s->busy[middle].end_ns > ns)
            to = middle;
        else
            from = middle + 1;
    }
    return from;
}

static void insert(struct events *r, struct stream *s, uint32_t at, struct busy b)
{
    if (!array_make_room(&s->busy, s->nbusy, sizeof *s->busy)) {
        r->failed = true;
        return;
    }
    memmove(&s->busy[at + 1], &s->busy[at], (s->nbusy - at) * sizeof *s->busy);
    s->busy[at] = b;
    s->nbusy++;
}

/* Put `ns` of a transfer into the gaps of a stream from a time on; returns the transfer's span. */
static struct span fill(struct events *r, struct stream *s, uint32_t action, int64_t from_ns,
                        int64_t ns)
{
    struct span span = {from_ns, from_ns};
    uint32_t at = first_after(s, from_ns);

    for (bool begun = false; ns > 0 && !r->failed; at++) {
        int64_t until = at < s->nbusy ? s->busy[at].start_ns : INT64_MAX,
                part = until > from_ns ? min_ns(ns, until - from_ns) : 0;

        if (part > 0) {
            insert(r, s, at++, (struct busy){from_ns, from_ns + part, action});
            span.start_ns = begun ? span.start_ns : from_ns;
            span.end_ns = from_ns + part;
            begun = true;
            ns -= part;
        }
        if (at < s->nbusy)
            from_ns = max_ns(from_ns, s->busy[at].end_ns);
    }
    return span;
}

/* The transfer in progress on the lane at `ns`; of several, the one that ends last.  NULL if none:
 * then *next is the next start, if earlier. */
static const struct busy *busy_at(const struct lane *lane, int64_t ns, int64_t *next)
{
    const struct busy *found = NULL;

    for (unsigned k = 0; k < EVENTS_STREAMS_MAX; k++) {
        const struct stream *s = &lane->streams[k];
        uint32_t at = first_after(s, ns);

        if (at == s->nbusy)
            continue;
        if (s->busy[at].start_ns > ns)
            *next = min_ns(*next, s->busy[at].start_ns);
        else if (!found || s->busy[at].end_ns > found->end_ns)
            found = &s->busy[at];
    }
    return found;
}

static void expose(const struct events *r, int32_t lane, uint32_t action, int64_t ns)
{
    if (program_communicates(op_at(r, rank_of(r, lane), action)))
        r->out->devices[lane].exposed_ns += ns;
    else
        r->out->devices[lane].exposed_host_ns += ns;
    if (r->view->exposed_ns)
        r->view
            ->exposed_ns[(size_t)lane * r->program->nops + rank_of(r, lane)->actions[action].op] +=
            ns;
}

/* Let computations wait until `until`; the wait is exposed to the transfers that run meanwhile. */
static void pass(struct events *r, int32_t lane, int64_t until)
{
    struct lane *l = &r->lanes[lane];

    while (l->core_ns < until) {
        int64_t next = until;
        const struct busy *b = busy_at(l, l->core_ns, &next);

        if (b) {
            next = min_ns(b->end_ns, until);
            expose(r, lane, b->action, next - l->core_ns);
        } else
            r->out->devices[lane].waiting_ns += next - l->core_ns;
        l->core_ns = next;
    }
}

static void compute(struct events *r, const struct rank *rank, uint32_t i)
{
    uint32_t op = rank->actions[i].op;

    for (int32_t k = 0; k < rank->nlanes; k++) {
        int32_t lane = rank->lanes[k];
        int64_t ns = r->view->op_ns(r->view->arg, lane, op), start_ns;

        pass(r, lane, ready_ns(r, lane, i));
        start_ns = r->lanes[lane].core_ns;
        r->lanes[lane].core_ns += ns;
        r->out->devices[lane].busy_ns += ns;
        *span_of(r, lane, i) = (struct span){start_ns, start_ns + ns};
    }
}

/* ---- transfers ---- */

static int64_t end_ns(const struct events *r, int32_t lane, uint32_t action)
{
    return action == NONE ? 0 : span_of(r, lane, action)->end_ns;
}

static void arrive(struct events *r, const struct rank *rank, uint32_t i)
{
    for (int32_t k = 0; k < rank->nlanes; k++) {
        int32_t lane = rank->lanes[k];

        r->arrival[lane] = max_ns(ready_ns(r, lane, i), max_ns(end_ns(r, lane, rank->before[i]),
                                                               end_ns(r, lane, rank->issued[i])));
    }
}

/* A message is available from its send's end on. */
static void start_receives(struct events *r, const struct rank *rank, uint32_t i)
{
    for (int32_t k = 0; k < rank->nlanes; k++) {
        int32_t lane = rank->lanes[k], source;
        uint32_t send = send_of(r, op_at(r, rank, i), rank->actions[i].microbatch, lane, &source);

        r->start[lane] = max_ns(r->arrival[lane], span_of(r, source, send)->end_ns);
    }
}

static struct events_meeting meeting_of(const struct events *r, const struct rank *rank, uint32_t i)
{
    return (struct events_meeting){rank->actions[i].op, rank->lanes, rank->nlanes, r->arrival};
}

static void start_transfers(struct events *r, const struct rank *rank, uint32_t i)
{
    const struct events_meeting meeting = meeting_of(r, rank, i);
    enum program_op_kind kind = op_at(r, rank, i)->kind;

    if (kind == PROGRAM_RECV)
        start_receives(r, rank, i);
    else if (kind == PROGRAM_SEND || !program_communicates(op_at(r, rank, i)))
        for (int32_t k = 0; k < rank->nlanes; k++)
            r->start[rank->lanes[k]] = r->arrival[rank->lanes[k]];
    else
        r->view->meet(r->view->arg, &meeting, r->start);
}

static void transfer(struct events *r, struct rank *rank, uint32_t i)
{
    uint32_t op = rank->actions[i].op;
    unsigned stream = r->view->stream(r->view->arg, op);
    enum events_issue issue = r->view->issue(r->view->arg, op);

    arrive(r, rank, i);
    start_transfers(r, rank, i);
    for (int32_t k = 0; k < rank->nlanes; k++) {
        int32_t lane = rank->lanes[k];
        int64_t ns = r->view->op_ns(r->view->arg, lane, op);

        *span_of(r, lane, i) = fill(r, &r->lanes[lane].streams[stream], i, r->start[lane], ns);
        if (program_communicates(op_at(r, rank, i)))
            r->out->devices[lane].communication_ns += ns;
        if (issue == EVENTS_BLOCKS || issue == EVENTS_FREES)
            pass(r, lane, span_of(r, lane, i)->end_ns);
    }
}

/* ---- the critical path ---- */

/* The input that was ready last, or NONE. */
static uint32_t last_input(const struct events *r, int32_t lane, uint32_t action)
{
    const struct rank *rank = rank_of(r, lane);
    const struct program_op *op = op_at(r, rank, action);
    uint32_t last = NONE;

    for (uint32_t k = 0; k < op->ninputs; k++) {
        uint32_t from = maker_of(r, rank, action, k);

        if (from != NONE &&
            (last == NONE || span_of(r, lane, from)->end_ns > span_of(r, lane, last)->end_ns))
            last = from;
    }
    return last;
}

static bool blocks(const struct events *r, const struct program_action *action)
{
    enum events_issue issue;

    if (!program_is_beside(&r->program->ops[action->op]))
        return false;
    issue = r->view->issue(r->view->arg, action->op);
    return issue == EVENTS_BLOCKS || issue == EVENTS_FREES;
}

/* The blocking transfer, issued between a computation and the one before it, that ended at `at_ns`;
 * else the computation before. */
static uint32_t kept_by(const struct events *r, int32_t lane, uint32_t i, int64_t at_ns)
{
    const struct rank *rank = rank_of(r, lane);
    uint32_t before = rank->before[i];

    for (uint32_t k = i; end_ns(r, lane, before) != at_ns && k-- > before + 1;) /* NONE + 1 is 0 */
        if (end_ns(r, lane, k) == at_ns && blocks(r, &rank->actions[k]))
            return k;
    return before;
}

/* The action on its own lane that an action ready at `at_ns` waited for: an input first, else the
 * action before it on its stream, else the computation after which it is issued. */
static uint32_t cause(const struct events *r, int32_t lane, uint32_t i, int64_t at_ns)
{
    const struct rank *rank = rank_of(r, lane);
    uint32_t last = last_input(r, lane, i), before = rank->before[i];

    if (last != NONE && end_ns(r, lane, last) == at_ns)
        return last;
    if (!program_is_beside(op_at(r, rank, i)))
        return kept_by(r, lane, i, at_ns);
    if (rank->issued[i] != NONE && end_ns(r, lane, before) != at_ns)
        return rank->issued[i];
    return before;
}

/* The lane that a transfer waited for: the first of those that arrived last. */
static int32_t last_member(struct events *r, uint32_t i, int32_t lane)
{
    const struct rank *rank = rank_of(r, lane);
    const struct events_meeting meeting = meeting_of(r, rank, i);

    arrive(r, rank, i);
    return r->view->last(r->view->arg, &meeting, lane);
}

/* If a receive waited for its send, continue with the send: true, and lane and action are
 * changed. */
static bool trace_send(const struct events *r, int32_t *lane, uint32_t *action)
{
    const struct rank *rank = rank_of(r, *lane);
    const struct program_op *op = op_at(r, rank, *action);
    int32_t source;
    uint32_t send;

    if (op->kind != PROGRAM_RECV)
        return false;
    send = send_of(r, op, rank->actions[*action].microbatch, *lane, &source);
    if (span_of(r, source, send)->end_ns != span_of(r, *lane, *action)->start_ns)
        return false;
    *lane = source;
    *action = send;
    return true;
}

/* Trace the critical path from the action that ended last back to the start; each action was caused
 * by an earlier one.  Lanes of a rank do the same actions, so the path has at most as many actions
 * as all ranks. */
static void trace(struct events *r, int32_t lane, uint32_t action)
{
    struct record_replay *out = r->out;

    while (action != NONE && span_of(r, lane, action)->end_ns > 0) {
        struct span s = *span_of(r, lane, action);
        const struct rank *rank = rank_of(r, lane);
        const struct program_op *op = op_at(r, rank, action);

        out->path[out->npath++] =
            (struct record_stretch){lane, rank->actions[action].op, s.start_ns, s.end_ns};
        if (s.start_ns == 0)
            break;
        if (trace_send(r, &lane, &action))
            continue;
        if (program_communicates(op) && op->kind != PROGRAM_SEND && op->kind != PROGRAM_RECV)
            lane = last_member(r, action, lane);
        action = cause(r, lane, action, s.start_ns);
    }
    for (uint32_t a = 0, b = out->npath; a + 1 < b; a++) {
        struct record_stretch swap = out->path[a];

        out->path[a] = out->path[--b];
        out->path[b] = swap;
    }
}

/* ---- the whole ---- */

unsigned events_host_stream(const struct program_op *op)
{
    if (op->kind != PROGRAM_HOST)
        return EVENTS_ON_HOST;
    return op->to_host ? EVENTS_TO_HOST : EVENTS_FROM_HOST;
}

enum events_issue events_host_issue(const struct program_op *op)
{
    if (op->phase == PROGRAM_PHASE_UPDATE)
        return EVENTS_FILLS;
    return op->to_host ? EVENTS_FREES : EVENTS_ISSUED;
}

/* End of a lane's last transfer, which may be after its last computation. */
static int64_t transfers_end_ns(const struct lane *lane)
{
    int64_t end = 0;

    for (unsigned k = 0; k < EVENTS_STREAMS_MAX; k++)
        if (lane->streams[k].nbusy)
            end = max_ns(end, lane->streams[k].busy[lane->streams[k].nbusy - 1].end_ns);
    return end;
}

/* Returns the last action of the step, and its lane in *lane. */
static uint32_t end_step(struct events *r, int32_t *lane)
{
    uint32_t last = NONE;

    for (int32_t k = 0; k < r->nlanes; k++) {
        pass(r, k, transfers_end_ns(&r->lanes[k]));
        if (r->lanes[k].core_ns > r->out->step_ns) {
            r->out->step_ns = r->lanes[k].core_ns;
            *lane = k;
        }
    }
    for (int32_t k = 0; k < r->nlanes; k++)
        r->out->devices[k].idle_ns = r->out->step_ns - r->lanes[k].core_ns;
    for (uint32_t i = 0; i < rank_of(r, *lane)->nactions && r->out->step_ns > 0; i++)
        if (span_of(r, *lane, i)->end_ns == r->out->step_ns)
            last = i;
    return last;
}

/* Whether a rank can do an action now: a receive needs its send to be done. */
static bool can_do(const struct events *r, const struct rank *rank, const struct program_action *a)
{
    const struct program_op *op = &r->program->ops[a->op];
    int32_t source;

    return op->kind != PROGRAM_RECV || rank->nlanes == 0 ||
           send_of(r, op, a->microbatch, rank->lanes[0], &source) != NONE;
}

/* Append an action to its stream. */
static void place(struct events *r, struct rank *rank, uint32_t i, bool moves)
{
    uint32_t op = rank->actions[i].op;
    enum events_issue issue = moves ? r->view->issue(r->view->arg, op) : EVENTS_IN_ORDER;
    uint32_t *last = moves ? &rank->last[r->view->stream(r->view->arg, op)] : &rank->core;

    rank->before[i] = issue == EVENTS_FILLS ? NONE : *last;
    rank->issued[i] = issue == EVENTS_ISSUED || issue == EVENTS_BLOCKS ? rank->core : NONE;
    if (issue != EVENTS_FILLS)
        *last = i;
}

static void do_action(struct events *r, struct rank *rank, const struct program_action *a)
{
    uint32_t i = rank->nactions++;
    bool moves = program_is_beside(&r->program->ops[a->op]);

    rank->actions[i] = *a;
    rank->when[number_of(r, rank, a->op, a->microbatch)] = i;
    place(r, rank, i, moves);
    if (moves)
        transfer(r, rank, i);
    else
        compute(r, rank, i);
}

/* Do actions of a rank until it must wait for another rank; whether any was done. */
static bool advance(struct events *r, struct rank *rank)
{
    struct program_paired_walk next = rank->walk;
    struct program_action action;
    bool any = false;

    while (program_paired_walk_next(&next, &action) && can_do(r, rank, &action)) {
        do_action(r, rank, &action);
        rank->walk = next;
        any = true;
    }
    return any;
}

static void lay_out(struct events *r)
{
    int32_t lane = 0;
    uint32_t last;
    bool any = true;

    while (any) {
        any = false;
        for (uint32_t k = 0; k < r->program->nranks; k++)
            any |= advance(r, &r->ranks[k]);
    }
    last = end_step(r, &lane);
    trace(r, lane, last);
}

/* ---- reporting to a watch ---- */

static void tell_actions(struct events *r, int32_t lane)
{
    const struct events_watch *watch = r->view->watch;
    const struct rank *rank = rank_of(r, lane);

    for (uint32_t i = 0; i < rank->nactions; i++) {
        const struct program_action *a = &rank->actions[i];
        bool moves = program_is_beside(&r->program->ops[a->op]);
        struct events_seen seen = {.lane = lane,
                                   .op = a->op,
                                   .microbatch = a->microbatch,
                                   .start_ns = span_of(r, lane, i)->start_ns,
                                   .end_ns = span_of(r, lane, i)->end_ns};

        seen.stream = moves ? (int)r->view->stream(r->view->arg, a->op) : -1;
        watch->action(watch->arg, &seen);
    }
}

static void tell_stretches(struct events *r, int32_t lane)
{
    const struct events_watch *watch = r->view->watch;
    const struct rank *rank = rank_of(r, lane);

    for (unsigned k = 0; k < EVENTS_STREAMS_MAX; k++) {
        const struct stream *s = &r->lanes[lane].streams[k];

        for (uint32_t i = 0; i < s->nbusy; i++) {
            const struct program_action *a = &rank->actions[s->busy[i].action];
            struct events_seen seen = {
                lane, a->op, a->microbatch, (int)k, s->busy[i].start_ns, s->busy[i].end_ns};

            watch->stretch(watch->arg, &seen);
        }
    }
}

static void tell(struct events *r)
{
    for (int32_t lane = 0; r->view->watch && !r->failed && lane < r->nlanes; lane++) {
        tell_actions(r, lane);
        tell_stretches(r, lane);
    }
}

static bool allocate_rank(struct rank *rank, const struct events *r, uint32_t number)
{
    uint64_t n = program_nactions(r->program, number) + 1;

    if (n > UINT32_MAX / 3)
        return false;
    rank->walk = program_paired_walk_begin(r->program, number, r->view->interleaves);
    rank->core = NONE;
    for (unsigned k = 0; k < EVENTS_STREAMS_MAX; k++)
        rank->last[k] = NONE;
    rank->actions = calloc(n, sizeof *rank->actions);
    rank->lanes = calloc((size_t)r->nlanes, sizeof *rank->lanes);
    rank->base = calloc((size_t)r->program->nops + 1, sizeof *rank->base);
    rank->when = calloc(3 * n, sizeof *rank->when);
    if (!rank->actions || !rank->lanes || !rank->base || !rank->when)
        return false;
    memset(rank->when, 0xff, n * sizeof *rank->when); /* NONE */
    rank->before = rank->when + n;
    rank->issued = rank->before + n;
    program_number_actions(r->program, number, rank->base);
    for (int32_t k = 0; k < r->nlanes; k++)
        if (r->view->rank(r->view->arg, k) == number)
            rank->lanes[rank->nlanes++] = k;
    return true;
}

static bool allocate(struct events *r)
{
    size_t n = (size_t)r->nlanes;
    uint64_t all = 0;

    r->ranks = calloc(r->program->nranks, sizeof *r->ranks);
    for (uint32_t k = 0; k < r->program->nranks; k++) {
        uint64_t nactions = program_nactions(r->program, k);

        if (!r->ranks || !allocate_rank(&r->ranks[k], r, k))
            return false;
        all += nactions;
        r->nactions = nactions > r->nactions ? (uint32_t)nactions : r->nactions;
    }
    if (all > UINT32_MAX / 2)
        return false;
    r->out = record_replay_create(r->nlanes, (uint32_t)all);
    r->spans = calloc(n * r->nactions + 1, sizeof *r->spans);
    r->lanes = calloc(n, sizeof *r->lanes);
    r->arrival = calloc(2 * n, sizeof *r->arrival);
    if (!r->out || !r->spans || !r->lanes || !r->arrival)
        return false;
    r->start = r->arrival + n;
    for (int32_t k = 0; k < r->nlanes; k++)
        r->lanes[k].rank = &r->ranks[r->view->rank(r->view->arg, k)];
    return true;
}

static void free_all(struct events *r)
{
    for (uint32_t k = 0; r->ranks && k < r->program->nranks; k++) {
        free(r->ranks[k].actions);
        free(r->ranks[k].lanes);
        free(r->ranks[k].base);
        free(r->ranks[k].when);
    }
    for (int32_t k = 0; r->lanes && k < r->nlanes; k++)
        for (unsigned s = 0; s < EVENTS_STREAMS_MAX; s++)
            free(r->lanes[k].streams[s].busy);
    free(r->ranks);
    free(r->spans);
    free(r->lanes);
    free(r->arrival);
}

int events_run(struct record_replay **out, const struct events_view *view, struct shd_error *err)
{
    struct events r = {.program = view->program, .view = view, .nlanes = view->nlanes};
    int status = SHD_OK;

    if (allocate(&r))
        lay_out(&r);
    else
        r.failed = true;
    tell(&r);
    if (r.failed) {
        record_replay_destroy(r.out);
        r.out = NULL;
        status = shd_error_set(err, SHD_ENOMEM, "no memory to lay out the step");
    }
    *out = r.out;
    free_all(&r);
    return status;
}
