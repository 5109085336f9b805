/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/events.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cost/rank_order.h"

#define NONE PROGRAM_NONE

#define BLOCK 64 /* rows allocated together */

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
    uint32_t nbusy, room;
};

struct lane {
    struct rank *rank;
    int32_t place; /* among the rank's lanes */
    struct stream streams[EVENTS_STREAMS_MAX];
};

struct events {
    const struct program *program;
    const struct events_view *view;
    struct record_replay *out;
    int32_t nlanes;
    bool keeps;                     /* all ends and busy intervals, for the path or for a watch */
    bool fills[EVENTS_STREAMS_MAX]; /* the stream has transfers that fill gaps */
    struct rank *ranks;             /* [rank] */
    struct lane *lanes;             /* [lane] */
    int64_t *arrival;               /* [lane], for the current transfer */
    int64_t *start;                 /* [lane], for the current transfer */
    int64_t *ready;                 /* [place], for the current action */
    int64_t *ns;                    /* [place], of the current action */
    bool failed;                    /* no memory for a busy interval or for ends */
};

/* Data common to all lanes of a rank: the actions that they do, in order. */
struct rank {
    struct rank_order order;
    uint32_t ndone;
    int32_t *lanes;
    int32_t nlanes;
    /* [action]: a row of its ends on each lane and, if all are kept, its starts on each lane.
     * NULL: not done, or no later action needs its end.  The row is then used again, so that a
     * step takes as many rows as it has results in use at once, not as many as actions. */
    int64_t **ends;
    int64_t **spare; /* rows not in use; room for all rows */
    uint32_t nspare;
    int64_t **blocks; /* in which the rows lie */
    uint32_t nblocks;
    int64_t *core_ns; /* [place]: end of the last computation so far */
};

static struct rank *rank_of(const struct events *r, int32_t lane)
{
    return r->lanes[lane].rank;
}

static int64_t end_ns(const struct events *r, int32_t lane, uint32_t action)
{
    return action == NONE ? 0 : rank_of(r, lane)->ends[action][r->lanes[lane].place];
}

/* Known if all are kept. */
static int64_t start_ns(const struct events *r, int32_t lane, uint32_t action)
{
    const struct rank *rank = rank_of(r, lane);

    return rank->ends[action][rank->nlanes + r->lanes[lane].place];
}

static int64_t *core_of(const struct events *r, int32_t lane)
{
    return &rank_of(r, lane)->core_ns[r->lanes[lane].place];
}

static const struct program_op *op_at(const struct events *r, const struct rank *rank,
                                      uint32_t action)
{
    return &r->program->ops[rank->order.actions[action].op];
}

/* The send of a receive, and the lane that sends. */
static uint32_t send_of(const struct events *r, const struct rank *rank, uint32_t recv,
                        int32_t lane, int32_t *source)
{
    uint32_t send = r->program->channels[op_at(r, rank, recv)->channel].send;

    *source = r->view->doer(r->view->arg, send, lane);
    return rank_order_action(&rank_of(r, *source)->order, r->program, send,
                             rank->order.actions[recv].microbatch);
}

static int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- rows of ends ---- */

/* Allocate more rows; false: no memory. */
static bool add_rows(const struct events *r, struct rank *rank)
{
    size_t row = (size_t)rank->nlanes * (r->keeps ? 2 : 1);
    int64_t **spare = realloc(rank->spare, (size_t)(rank->nblocks + 1) * BLOCK * sizeof *spare);

    rank->spare = spare ? spare : rank->spare;
    if (!spare || !array_make_room32(&rank->blocks, rank->nblocks, sizeof *rank->blocks))
        return false;
    rank->blocks[rank->nblocks] = malloc((row * BLOCK + 1) * sizeof **rank->blocks);
    if (!rank->blocks[rank->nblocks])
        return false;
    for (size_t k = 0; k < BLOCK; k++)
        rank->spare[rank->nspare++] = rank->blocks[rank->nblocks] + k * row;
    rank->nblocks++;
    return true;
}

/* Give an action a row; NULL: no memory. */
static int64_t *take_row(struct events *r, struct rank *rank, uint32_t i)
{
    if (rank->nspare == 0 && !add_rows(r, rank)) {
        r->failed = true;
        return NULL;
    }
    return rank->ends[i] = rank->spare[--rank->nspare];
}

/* Note that an action has read the end of another, which it may be the last to need. */
static void release(const struct events *r, struct rank *rank, uint32_t action)
{
    if (r->keeps || action == NONE || --rank->order.readers[action] > 0)
        return;
    rank->spare[rank->nspare++] = rank->ends[action];
    rank->ends[action] = NULL;
}

/* Release all that an action has read, and itself if no action will read it. */
static void release_read(const struct events *r, struct rank *rank, uint32_t i)
{
    const struct rank_order *order = &rank->order;

    for (uint32_t k = order->first_maker[i]; k < order->first_maker[i + 1]; k++)
        release(r, rank, order->makers[k]);
    release(r, rank, order->before[i]);
    release(r, rank, order->issued[i]);
    if (op_at(r, rank, i)->kind == PROGRAM_RECV && rank->nlanes > 0) {
        int32_t source;
        uint32_t send = send_of(r, rank, i, rank->lanes[0], &source);

        release(r, rank_of(r, source), send);
    }
    order->readers[i]++; /* as the action's own */
    release(r, rank, i);
}

static void wait_for(int64_t *until, const struct rank *rank, uint32_t action)
{
    const int64_t *ends = action == NONE ? NULL : rank->ends[action];

    for (int32_t k = 0; ends && k < rank->nlanes; k++)
        until[k] = max_ns(until[k], ends[k]);
}

/* Set when all inputs of an action's op are available on each lane. */
static void set_ready(struct events *r, const struct rank *rank, uint32_t i)
{
    const struct rank_order *order = &rank->order;

    memset(r->ready, 0, (size_t)rank->nlanes * sizeof *r->ready);
    for (uint32_t k = order->first_maker[i]; k < order->first_maker[i + 1]; k++)
        wait_for(r->ready, rank, order->makers[k]);
}

/* ---- streams of transfers ---- */

/* First busy interval that ends after a time; nbusy: none.  Most times are near the end. */
static uint32_t first_after(const struct stream *s, int64_t ns)
{
    uint32_t from = 0, to = s->nbusy;

    for (uint32_t by = 1; to > 0; by *= 2) {
        uint32_t before = to > by ? to - by : 0;

        if (s->busy[before].end_ns <= ns) {
            from = before + 1;
            break;
        }
        to = before;
    }
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
    uint32_t room = s->nbusy < s->room ? s->room : 2 * s->room + 4;
    struct busy *busy = s->nbusy < s->room ? s->busy : realloc(s->busy, room * sizeof *busy);

    if (!busy || room > UINT32_MAX / 4) {
        s->busy = busy ? busy : s->busy;
        r->failed = true;
        return;
    }
    s->busy = busy;
    s->room = room;
    memmove(&s->busy[at + 1], &s->busy[at], (s->nbusy - at) * sizeof *s->busy);
    s->busy[at] = b;
    s->nbusy++;
}

/* Drop the intervals of a full stream that ended before its lane's computations came to them, if
 * they are at least half: nothing waits for them any more, and no transfer fills gaps there. */
static void drop_old(struct stream *s, int64_t core_ns)
{
    uint32_t n = s->nbusy == s->room && s->nbusy > 0 ? first_after(s, core_ns) : 0;

    n = n == s->nbusy && n > 0 ? n - 1 : n; /* the last one tells where the stream ends */
    if (n == 0 || n < s->nbusy / 2)
        return;
    memmove(s->busy, s->busy + n, (s->nbusy - n) * sizeof *s->busy);
    s->nbusy -= n;
}

/* Put `ns` of a transfer into the gaps of a stream from a time on; returns the transfer's span. */
static struct span fill(struct events *r, struct stream *s, uint32_t action, int64_t from_ns,
                        int64_t ns)
{
    struct span span = {from_ns, from_ns};
    uint32_t at = s->nbusy;

    if (at > 0 && s->busy[at - 1].end_ns > from_ns)
        at = first_after(s, from_ns);
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
    const struct rank *rank = rank_of(r, lane);

    if (program_communicates(op_at(r, rank, action)))
        r->out->devices[lane].exposed_ns += ns;
    else
        r->out->devices[lane].exposed_host_ns += ns;
    if (r->view->expose)
        r->view->expose(r->view->arg, lane, rank->order.actions[action].op, ns);
}

/* Let computations wait until `until`; the wait is exposed to the transfers that run meanwhile. */
static void pass(struct events *r, int32_t lane, int64_t until)
{
    int64_t *core_ns = core_of(r, lane);

    while (*core_ns < until) {
        int64_t next = until;
        const struct busy *b = busy_at(&r->lanes[lane], *core_ns, &next);

        if (b) {
            next = min_ns(b->end_ns, until);
            expose(r, lane, b->action, next - *core_ns);
        } else
            r->out->devices[lane].waiting_ns += next - *core_ns;
        *core_ns = next;
    }
}

/* Set the time that an action takes on each lane. */
static void set_ns(const struct events *r, const struct rank *rank, uint32_t i)
{
    r->view->op_ns(r->view->arg, rank->order.actions[i].op, rank->lanes, rank->nlanes, r->ns);
}

static void compute(struct events *r, struct rank *rank, uint32_t i)
{
    int64_t *core_ns = rank->core_ns, *ends;

    set_ready(r, rank, i);
    set_ns(r, rank, i);
    ends = take_row(r, rank, i);
    if (!ends)
        return;
    for (int32_t k = 0; k < rank->nlanes; k++)
        if (core_ns[k] < r->ready[k])
            pass(r, rank->lanes[k], r->ready[k]);
    for (int32_t k = 0; r->keeps && k < rank->nlanes; k++)
        ends[rank->nlanes + k] = core_ns[k];
    for (int32_t k = 0; k < rank->nlanes; k++)
        ends[k] = core_ns[k] += r->ns[k];
    for (int32_t k = 0; k < rank->nlanes; k++)
        r->out->devices[rank->lanes[k]].busy_ns += r->ns[k];
}

/* ---- transfers ---- */

static void arrive(struct events *r, const struct rank *rank, uint32_t i)
{
    set_ready(r, rank, i);
    wait_for(r->ready, rank, rank->order.before[i]);
    wait_for(r->ready, rank, rank->order.issued[i]);
    for (int32_t k = 0; k < rank->nlanes; k++)
        r->arrival[rank->lanes[k]] = r->ready[k];
}

/* A message is available from its send's end on. */
static void start_receives(struct events *r, const struct rank *rank, uint32_t i)
{
    for (int32_t k = 0; k < rank->nlanes; k++) {
        int32_t lane = rank->lanes[k], source;
        uint32_t send = send_of(r, rank, i, lane, &source);

        r->start[lane] = max_ns(r->arrival[lane], end_ns(r, source, send));
    }
}

static struct events_meeting meeting_of(const struct events *r, const struct rank *rank, uint32_t i)
{
    return (struct events_meeting){rank->order.actions[i].op, rank->lanes, rank->nlanes,
                                   r->arrival};
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
    uint32_t op = rank->order.actions[i].op;
    unsigned stream = r->view->stream(r->view->arg, op);
    enum events_issue issue = r->view->issue(r->view->arg, op);
    bool communicates = program_communicates(op_at(r, rank, i));
    bool drops = !r->keeps && !r->fills[stream];
    int64_t *ends;

    arrive(r, rank, i);
    start_transfers(r, rank, i);
    set_ns(r, rank, i);
    ends = take_row(r, rank, i);
    for (int32_t k = 0; ends && k < rank->nlanes; k++) {
        int32_t lane = rank->lanes[k];
        struct stream *s = &r->lanes[lane].streams[stream];
        struct span span;

        if (drops)
            drop_old(s, rank->core_ns[k]);
        span = fill(r, s, i, r->start[lane], r->ns[k]);
        ends[k] = span.end_ns;
        if (r->keeps)
            ends[rank->nlanes + k] = span.start_ns;
        if (communicates)
            r->out->devices[lane].communication_ns += r->ns[k];
        if (issue == EVENTS_BLOCKS || issue == EVENTS_FREES)
            pass(r, lane, span.end_ns);
    }
}

/* ---- the critical path ---- */

/* The input that was ready last, or NONE. */
static uint32_t last_input(const struct events *r, int32_t lane, uint32_t action)
{
    const struct rank_order *order = &rank_of(r, lane)->order;
    uint32_t last = NONE;

    for (uint32_t k = order->first_maker[action]; k < order->first_maker[action + 1]; k++) {
        uint32_t from = order->makers[k];

        if (last == NONE || end_ns(r, lane, from) > end_ns(r, lane, last))
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
    uint32_t before = rank->order.before[i];

    for (uint32_t k = i; end_ns(r, lane, before) != at_ns && k-- > before + 1;) /* NONE + 1 is 0 */
        if (end_ns(r, lane, k) == at_ns && blocks(r, &rank->order.actions[k]))
            return k;
    return before;
}

/* The action on its own lane that an action ready at `at_ns` waited for: an input first, else the
 * action before it on its stream, else the computation after which it is issued. */
static uint32_t cause(const struct events *r, int32_t lane, uint32_t i, int64_t at_ns)
{
    const struct rank *rank = rank_of(r, lane);
    uint32_t last = last_input(r, lane, i), before = rank->order.before[i];

    if (last != NONE && end_ns(r, lane, last) == at_ns)
        return last;
    if (!program_is_beside(op_at(r, rank, i)))
        return kept_by(r, lane, i, at_ns);
    if (rank->order.issued[i] != NONE && end_ns(r, lane, before) != at_ns)
        return rank->order.issued[i];
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
    int32_t source;
    uint32_t send;

    if (op_at(r, rank, *action)->kind != PROGRAM_RECV)
        return false;
    send = send_of(r, rank, *action, *lane, &source);
    if (end_ns(r, source, send) != start_ns(r, *lane, *action))
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

    while (action != NONE && end_ns(r, lane, action) > 0) {
        struct span s = {start_ns(r, lane, action), end_ns(r, lane, action)};
        const struct rank *rank = rank_of(r, lane);
        const struct program_op *op = op_at(r, rank, action);

        out->path[out->npath++] =
            (struct record_stretch){lane, rank->order.actions[action].op, s.start_ns, s.end_ns};
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

/* The first lane that ends last. */
static int32_t end_step(struct events *r)
{
    int32_t last = 0;

    for (int32_t k = 0; k < r->nlanes; k++) {
        pass(r, k, transfers_end_ns(&r->lanes[k]));
        if (*core_of(r, k) > r->out->step_ns) {
            r->out->step_ns = *core_of(r, k);
            last = k;
        }
    }
    for (int32_t k = 0; k < r->nlanes; k++)
        r->out->devices[k].idle_ns = r->out->step_ns - *core_of(r, k);
    return last;
}

/* The last action that ends with the step on a lane, or NONE. */
static uint32_t last_action(const struct events *r, int32_t lane)
{
    uint32_t last = NONE;

    for (uint32_t i = 0; i < rank_of(r, lane)->ndone && r->out->step_ns > 0; i++)
        if (end_ns(r, lane, i) == r->out->step_ns)
            last = i;
    return last;
}

/* Whether a rank can do its next action now: a receive needs its send to be done. */
static bool can_do(const struct events *r, const struct rank *rank)
{
    int32_t source;

    if (rank->ndone == rank->order.nactions || r->failed)
        return false;
    if (op_at(r, rank, rank->ndone)->kind != PROGRAM_RECV || rank->nlanes == 0)
        return true;
    return send_of(r, rank, rank->ndone, rank->lanes[0], &source) < rank_of(r, source)->ndone;
}

/* Do actions of a rank until it must wait for another rank; whether any was done. */
static bool advance(struct events *r, struct rank *rank)
{
    uint32_t from = rank->ndone;

    while (can_do(r, rank)) {
        uint32_t i = rank->ndone++;

        if (program_is_beside(op_at(r, rank, i)))
            transfer(r, rank, i);
        else
            compute(r, rank, i);
        if (!r->failed)
            release_read(r, rank, i);
    }
    return rank->ndone > from;
}

static void lay_out(struct events *r)
{
    int32_t lane;
    bool any = true;

    while (any) {
        any = false;
        for (uint32_t k = 0; k < r->program->nranks; k++)
            any |= advance(r, &r->ranks[k]);
    }
    lane = end_step(r);
    if (r->view->traces && !r->failed)
        trace(r, lane, last_action(r, lane));
}

/* ---- reporting to a watch ---- */

static void tell_actions(struct events *r, int32_t lane)
{
    const struct events_watch *watch = r->view->watch;
    const struct rank *rank = rank_of(r, lane);

    for (uint32_t i = 0; i < rank->ndone; i++) {
        const struct program_action *a = &rank->order.actions[i];
        bool moves = program_is_beside(&r->program->ops[a->op]);
        struct events_seen seen = {.lane = lane,
                                   .op = a->op,
                                   .microbatch = a->microbatch,
                                   .start_ns = start_ns(r, lane, i),
                                   .end_ns = end_ns(r, lane, i)};

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
            const struct program_action *a = &rank->order.actions[s->busy[i].action];
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

/* Give a rank its lanes and its order of actions; false: no memory. */
static bool allocate_rank(struct rank *rank, struct events *r, uint32_t number)
{
    const struct events_view *view = r->view;

    rank->lanes = calloc((size_t)r->nlanes, sizeof *rank->lanes);
    rank->core_ns = calloc((size_t)r->nlanes, sizeof *rank->core_ns);
    if (!rank->lanes || !rank->core_ns || !rank_order_init(&rank->order, view, number))
        return false;
    rank->ends = calloc((size_t)rank->order.nactions + 1, sizeof *rank->ends);
    for (int32_t k = 0; k < r->nlanes; k++)
        if (view->rank(view->arg, k) == number) {
            r->lanes[k].rank = rank;
            r->lanes[k].place = rank->nlanes;
            rank->lanes[rank->nlanes++] = k;
        }
    for (uint32_t i = 0; i < rank->order.nactions; i++)
        if (program_is_beside(op_at(r, rank, i))) {
            uint32_t op = rank->order.actions[i].op;

            r->fills[view->stream(view->arg, op)] |= view->issue(view->arg, op) == EVENTS_FILLS;
        }
    return rank->ends != NULL;
}

static bool allocate(struct events *r)
{
    size_t n = (size_t)r->nlanes;
    uint64_t all = 0;

    r->ranks = calloc(r->program->nranks, sizeof *r->ranks);
    r->lanes = calloc(n, sizeof *r->lanes);
    r->arrival = calloc(4 * n, sizeof *r->arrival);
    if (!r->ranks || !r->lanes || !r->arrival)
        return false;
    r->start = r->arrival + n;
    r->ready = r->start + n;
    r->ns = r->ready + n;
    for (uint32_t k = 0; k < r->program->nranks; k++) {
        if (!allocate_rank(&r->ranks[k], r, k))
            return false;
        all += r->ranks[k].order.nactions;
    }
    if (all > UINT32_MAX / 2)
        return false;
    r->out = record_replay_create(r->nlanes, r->view->traces ? (uint32_t)all : 0);
    return r->out != NULL;
}

static void free_rank(struct rank *rank)
{
    rank_order_fini(&rank->order);
    for (uint32_t k = 0; k < rank->nblocks; k++)
        free(rank->blocks[k]);
    free(rank->blocks);
    free(rank->spare);
    free(rank->ends);
    free(rank->lanes);
    free(rank->core_ns);
}

static void free_all(struct events *r)
{
    for (uint32_t k = 0; r->ranks && k < r->program->nranks; k++)
        free_rank(&r->ranks[k]);
    for (int32_t k = 0; r->lanes && k < r->nlanes; k++)
        for (unsigned s = 0; s < EVENTS_STREAMS_MAX; s++)
            free(r->lanes[k].streams[s].busy);
    free(r->ranks);
    free(r->lanes);
    free(r->arrival);
}

int events_run(struct record_replay **out, const struct events_view *view, struct shd_error *err)
{
    struct events r = {.program = view->program,
                       .view = view,
                       .nlanes = view->nlanes,
                       .keeps = view->traces || view->watch};
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
