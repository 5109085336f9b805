/* Tests cost/events.h: random steps of ops, transfers and issues are laid out as by a clock that
 * goes nanosecond by nanosecond, and a step of few ops as worked out by hand.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cost/events.h"

#include <stdlib.h>
#include <string.h>

#include "../support/tap.h"

enum { LANES = 3, OPS = 24, ACTIONS = 3 * OPS, TICKS = 2048, STREAMS = EVENTS_STREAMS_MAX };

/* A program of vectors, with the duration, stream and issue of each op: the answers of its events
 * view. */
struct made {
    struct shd_mesh *mesh;
    struct program *program;
    int64_t ns[LANES][OPS];
    unsigned stream[OPS];
    enum events_issue issue[OPS];
    int64_t exposed_ns[LANES * OPS];
};

static struct made make(void)
{
    const char *name = "x";
    int32_t size = LANES;
    struct made m = {.mesh = NULL};

    if (shd_mesh_create(&m.mesh, &name, &size, 1, NULL) != SHD_OK ||
        !(m.program = program_create(m.mesh)))
        exit(99);
    return m;
}

static void fini(struct made *m)
{
    program_destroy(m->program);
    shd_mesh_destroy(m->mesh);
}

static uint32_t add(struct made *m, struct program_op op)
{
    int64_t shape = LANES;
    struct shd_sharding s;

    shd_sharding_init(&s, m->mesh, 1);
    op.name = "op";
    op.noutputs = 1;
    if (program_add_buffer(&op.outputs[0], m->program, "array", SHD_F32, &shape, &s, NULL) !=
            SHD_OK ||
        program_add_op(m->program, &op, NULL) != SHD_OK)
        exit(99);
    return op.outputs[0];
}

static uint32_t argument(struct made *m)
{
    uint32_t buffer = add(m, (struct program_op){.kind = PROGRAM_FILL});

    m->program->buffers[buffer].argument = true;
    return buffer;
}

/* Add an op of one operand that takes ns[lane] on each lane. */
static uint32_t takes(struct made *m, struct program_op op, uint32_t in, const int64_t *ns)
{
    for (int lane = 0; lane < LANES; lane++)
        m->ns[lane][m->program->nops] = ns[lane];
    op.ninputs = 1;
    op.inputs[0] = in;
    return add(m, op);
}

static uint32_t compute(struct made *m, uint32_t in, const int64_t *ns)
{
    return takes(m, (struct program_op){.kind = PROGRAM_KERNEL, .kernel = &kern_kernel_map}, in,
                 ns);
}

static uint32_t transfer(struct made *m, uint32_t in, unsigned stream, enum events_issue issue,
                         const int64_t *ns)
{
    m->stream[m->program->nops] = stream;
    m->issue[m->program->nops] = issue;
    return takes(
        m,
        (struct program_op){.kind = PROGRAM_RESHARD, .reshard = {.kind = SHD_RESHARD_ALL_REDUCE}},
        in, ns);
}

static void finish(struct made *m, uint32_t microbatches)
{
    program_set_lifetimes(m->program);
    if (program_set_order(m->program, microbatches, NULL, NULL) != SHD_OK)
        exit(99);
}

/* ---- a view of it ---- */

static uint32_t rank(void *arg, int32_t lane)
{
    (void)arg;
    (void)lane;
    return 0;
}

static void op_ns(void *arg, uint32_t op, const int32_t *lanes, int32_t nlanes, int64_t *out)
{
    for (int32_t k = 0; k < nlanes; k++)
        out[k] = ((const struct made *)arg)->ns[lanes[k]][op];
}

static void expose(void *arg, int32_t lane, uint32_t op, int64_t ns)
{
    struct made *m = arg;

    m->exposed_ns[(size_t)lane * m->program->nops + op] += ns;
}

static unsigned stream(void *arg, uint32_t op)
{
    return ((const struct made *)arg)->stream[op];
}

static enum events_issue issue(void *arg, uint32_t op)
{
    return ((const struct made *)arg)->issue[op];
}

static int32_t last(void *arg, const struct events_meeting *meeting, int32_t lane)
{
    int32_t found = 0;

    (void)arg;
    (void)lane;
    for (int32_t k = 1; k < meeting->nlanes; k++)
        if (meeting->arrival[k] > meeting->arrival[found])
            found = k;
    return found;
}

static void meet(void *arg, const struct events_meeting *meeting, int64_t *start)
{
    for (int32_t k = 0; k < meeting->nlanes; k++)
        start[k] = meeting->arrival[last(arg, meeting, k)];
}

/* The actions and stretches that events.h reports. */
struct told {
    struct events_seen actions[LANES][ACTIONS], stretches[LANES][2 * ACTIONS * ACTIONS];
    uint32_t nactions[LANES], nstretches[LANES];
};

static void hear_action(void *arg, const struct events_seen *seen)
{
    struct told *t = arg;

    t->actions[seen->lane][t->nactions[seen->lane]++] = *seen;
}

static void hear_stretch(void *arg, const struct events_seen *seen)
{
    struct told *t = arg;

    t->stretches[seen->lane][t->nstretches[seen->lane]++] = *seen;
}

/* Without `told` only the end of the step is wanted, and how lanes spend it. */
static struct record_replay *lay_out(struct made *m, struct told *told)
{
    const struct events_watch watch = {hear_action, hear_stretch, told};
    const struct events_view view = {.program = m->program,
                                     .nlanes = LANES,
                                     .rank = rank,
                                     .op_ns = op_ns,
                                     .stream = stream,
                                     .issue = issue,
                                     .last = last,
                                     .meet = meet,
                                     .arg = m,
                                     .expose = expose,
                                     .traces = told,
                                     .watch = told ? &watch : NULL};
    struct record_replay *out;

    memset(m->exposed_ns, 0, sizeof m->exposed_ns);
    if (told)
        memset(told, 0, sizeof *told);
    if (events_run(&out, &view, NULL) != SHD_OK)
        exit(99);
    return out;
}

/* ---- the same by a clock ---- */

/* What each lane does in each nanosecond, and when each action begins and ends. */
struct clock {
    bool busy[LANES][STREAMS][TICKS];
    struct program_action actions[ACTIONS];
    int64_t start[LANES][ACTIONS], end[LANES][ACTIONS], core[LANES];
    int64_t exposed[LANES], waiting[LANES];
    uint32_t nactions;
};

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* When the operand of action `i` is complete: for the action's microbatch, or for all if either op
 * runs once per step. */
static int64_t made_ns(const struct clock *c, const struct made *m, int lane, uint32_t i)
{
    const struct program_op *ops = m->program->ops, *op = &ops[c->actions[i].op];
    uint32_t maker = m->program->buffers[op->inputs[0]].first_op;
    int64_t ns = 0;

    for (uint32_t a = 0; a < i; a++)
        if (c->actions[a].op == maker && (ops[maker].times == 1 || op->times == 1 ||
                                          c->actions[a].microbatch == c->actions[i].microbatch))
            ns = c->end[lane][a];
    return ns;
}

static bool is_busy(const struct clock *c, int lane, int64_t at)
{
    bool busy = false;

    for (int s = 0; s < STREAMS; s++)
        busy |= c->busy[lane][s][at];
    return busy;
}

/* Let the computations of a lane wait until a time. */
static void stand(struct clock *c, int lane, int64_t until)
{
    for (; c->core[lane] < until; c->core[lane]++)
        *(is_busy(c, lane, c->core[lane]) ? &c->exposed[lane] : &c->waiting[lane]) += 1;
}

/* When a lane reaches a transfer: after its operand, and after the earlier transfer or computation
 * that its issue waits for. */
static int64_t arrival(const struct clock *c, const struct made *m, int lane, uint32_t i)
{
    uint32_t op = c->actions[i].op;
    int64_t ns = made_ns(c, m, lane, i), before = 0, issued = 0;

    for (uint32_t a = 0; a < i; a++) {
        uint32_t other = c->actions[a].op;

        if (!program_communicates(&m->program->ops[other]))
            issued = c->end[lane][a];
        else if (m->stream[other] == m->stream[op] && m->issue[other] != EVENTS_FILLS)
            before = c->end[lane][a];
    }
    if (m->issue[op] != EVENTS_FILLS)
        ns = later(ns, before);
    if (m->issue[op] == EVENTS_ISSUED || m->issue[op] == EVENTS_BLOCKS)
        ns = later(ns, issued);
    return ns;
}

/* Occupy `ns` free nanoseconds of a stream, beginning at a time. */
static void occupy(struct clock *c, int lane, unsigned s, uint32_t i, int64_t from, int64_t ns)
{
    int64_t at = from;

    c->start[lane][i] = c->end[lane][i] = from;
    for (int64_t left = ns; left > 0; at++) {
        if (c->busy[lane][s][at])
            continue;
        c->busy[lane][s][at] = true;
        c->start[lane][i] = left == ns ? at : c->start[lane][i];
        c->end[lane][i] = at + 1;
        left--;
    }
}

static void move(struct clock *c, const struct made *m, uint32_t i)
{
    uint32_t op = c->actions[i].op;
    int64_t from = 0;

    for (int lane = 0; lane < LANES; lane++)
        from = later(from, arrival(c, m, lane, i));
    for (int lane = 0; lane < LANES; lane++) {
        occupy(c, lane, m->stream[op], i, from, m->ns[lane][op]);
        if (m->issue[op] == EVENTS_BLOCKS || m->issue[op] == EVENTS_FREES)
            stand(c, lane, c->end[lane][i]);
    }
}

static void work(struct clock *c, const struct made *m, uint32_t i)
{
    for (int lane = 0; lane < LANES; lane++) {
        stand(c, lane, made_ns(c, m, lane, i));
        c->start[lane][i] = c->core[lane];
        c->end[lane][i] = c->core[lane] += m->ns[lane][c->actions[i].op];
    }
}

static void run_clock(struct clock *c, const struct made *m)
{
    struct program_walk walk = program_walk_begin(m->program, 0);

    memset(c, 0, sizeof *c);
    for (uint32_t i = 0; program_walk_next(&walk, &c->actions[i]); i++) {
        c->nactions = i + 1;
        if (program_communicates(&m->program->ops[c->actions[i].op]))
            move(c, m, i);
        else
            work(c, m, i);
    }
    for (int lane = 0; lane < LANES; lane++)
        for (int64_t t = TICKS; t > c->core[lane]; t--)
            if (is_busy(c, lane, t - 1))
                stand(c, lane, t); /* transfers that end after the last computation */
}

/* ---- what must agree ---- */

static bool actions_agree(const struct told *told, const struct clock *c)
{
    bool good = true;

    for (int lane = 0; lane < LANES; lane++) {
        good &= told->nactions[lane] == c->nactions;
        for (uint32_t i = 0; good && i < c->nactions; i++) {
            const struct events_seen *seen = &told->actions[lane][i];

            good &= seen->op == c->actions[i].op && seen->microbatch == c->actions[i].microbatch &&
                    seen->start_ns == c->start[lane][i] && seen->end_ns == c->end[lane][i];
        }
    }
    return good;
}

/* The stretches of a stream follow each other without overlap and cover what the clock has. */
static bool stretches_agree(const struct told *told, const struct clock *c)
{
    bool good = true;

    for (int lane = 0; lane < LANES; lane++) {
        int64_t ticks = 0, told_ns = 0, from = 0;
        int at = -1;

        for (int s = 0; s < STREAMS; s++)
            for (int t = 0; t < TICKS; t++)
                ticks += c->busy[lane][s][t];
        for (uint32_t i = 0; i < told->nstretches[lane]; i++) {
            const struct events_seen *seen = &told->stretches[lane][i];

            from = seen->stream == at ? from : 0;
            at = seen->stream;
            good &= seen->start_ns >= from && seen->end_ns > seen->start_ns;
            for (int64_t t = seen->start_ns; t < seen->end_ns; t++)
                good &= c->busy[lane][at][t];
            from = seen->end_ns;
            told_ns += seen->end_ns - seen->start_ns;
        }
        good &= told_ns == ticks;
    }
    return good;
}

static bool lanes_agree(const struct record_replay *r, const struct made *m, const struct clock *c)
{
    int64_t step = later(c->core[0], later(c->core[1], c->core[2]));
    bool good = r->step_ns == step;

    for (int lane = 0; lane < LANES; lane++) {
        const struct record_replayed *d = &r->devices[lane];
        int64_t moved = 0, worked = 0, exposed = 0;

        for (uint32_t i = 0; i < c->nactions; i++) {
            uint32_t op = c->actions[i].op;

            *(program_communicates(&m->program->ops[op]) ? &moved : &worked) += m->ns[lane][op];
        }
        for (uint32_t op = 0; op < m->program->nops; op++)
            exposed += m->exposed_ns[(size_t)lane * m->program->nops + op];
        good &= d->exposed_ns == c->exposed[lane] && d->waiting_ns == c->waiting[lane] &&
                d->idle_ns == step - c->core[lane] && d->busy_ns == worked &&
                d->communication_ns == moved && exposed == d->exposed_ns;
    }
    return good;
}

/* Whether the path goes from the begin to the end of the step without a gap, and each of its
 * stretches is an action of its lane. */
static bool path_is_whole(const struct record_replay *r, const struct clock *c)
{
    int64_t at = 0;

    for (uint32_t i = 0; i < r->npath; i++) {
        const struct record_stretch *s = &r->path[i];
        bool found = false;

        for (uint32_t a = 0; a < c->nactions; a++)
            found |= c->actions[a].op == s->op && c->start[s->device][a] == s->start_ns &&
                     c->end[s->device][a] == s->end_ns;
        if (!found || s->start_ns != at)
            return false;
        at = s->end_ns;
    }
    return at == r->step_ns;
}

/* ---- random steps ---- */

static uint32_t next(uint64_t *state, uint32_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % below;
}

/* Make the op that was added last run once per step. */
static void once(struct made *m, enum program_part part)
{
    m->program->ops[m->program->nops - 1].part = (uint8_t)part;
}

/* Make a step: one op that runs once, forward ops of each microbatch, the last of which sums over
 * microbatches, and two more ops that run once. */
static struct made make_random(uint64_t *state, enum events_issue most)
{
    struct made m = make();
    uint32_t buffers[OPS + 1], n = 0, nops = 3 + next(state, OPS - 7), sum;
    uint32_t microbatches = 1 + next(state, 3), moves = next(state, 2);
    uint32_t streams = 1 + next(state, STREAMS);

    buffers[n++] = argument(&m);
    buffers[n++] = transfer(&m, buffers[0], 0, EVENTS_IN_ORDER, (const int64_t[]){9, 0, 5});
    once(&m, PROGRAM_START);
    for (uint32_t i = 0; i < nops; i++) {
        int64_t ns[LANES];
        uint32_t in = buffers[n - 1 - next(state, n < 8 ? n : 8)];

        for (int lane = 0; lane < LANES; lane++)
            ns[lane] = next(state, 8);
        buffers[n++] = next(state, 2)
                           ? compute(&m, in, ns)
                           : transfer(&m, in, next(state, streams),
                                      (enum events_issue)next(state, (uint32_t)most + 1), ns);
    }
    sum = compute(&m, buffers[n - 1], (const int64_t[]){3, 1, 2});
    m.program->ops[m.program->nops - 1].accumulates = true;
    for (uint32_t i = 0; i < 2; i++) {
        sum = i == moves ? transfer(&m, sum, 1, EVENTS_IN_ORDER, (const int64_t[]){2, 4, 1})
                         : compute(&m, sum, (const int64_t[]){1, 2, 3});
        once(&m, PROGRAM_UPDATE);
    }
    finish(&m, microbatches);
    return m;
}

static void test_random(enum events_issue most, const char *what)
{
    static struct told told;
    static struct clock c;
    uint64_t state = 1 + (uint64_t)most;
    bool actions = true, stretches = true, lanes = true, path = true, brief = true;

    for (int round = 0; round < 200; round++) {
        struct made m = make_random(&state, most);
        struct record_replay *r = lay_out(&m, &told);

        run_clock(&c, &m);
        actions &= actions_agree(&told, &c);
        stretches &= stretches_agree(&told, &c);
        lanes &= lanes_agree(r, &m, &c);
        path &= most == EVENTS_FILLS || path_is_whole(r, &c);
        record_replay_destroy(r);
        r = lay_out(&m, NULL);
        brief &= lanes_agree(r, &m, &c) && r->npath == 0;
        record_replay_destroy(r);
        fini(&m);
    }
    ok(actions, "%s: actions begin and end as by the clock", what);
    ok(stretches, "%s: streams are busy when they are by the clock", what);
    ok(lanes, "%s: lanes are exposed, wait and are idle as by the clock", what);
    ok(path, "%s: the path is the step without a gap", what);
    ok(brief, "%s: lanes as by the clock, where neither path nor actions are wanted", what);
}

/* ---- by hand ---- */

/* An op that adds two operands, each brought by a transfer in a stream of its own. */
static void test_exposed(void)
{
    static struct told told;
    struct made m = make();
    uint32_t a = argument(&m), one, two;
    struct record_replay *r;
    struct program_op op = {.kind = PROGRAM_KERNEL, .kernel = &kern_kernel_map, .ninputs = 2};

    one = transfer(&m, a, 0, EVENTS_IN_ORDER, (const int64_t[]){4, 4, 4});    /* op 1 */
    two = transfer(&m, a, 1, EVENTS_IN_ORDER, (const int64_t[]){10, 10, 10}); /* op 2 */
    transfer(&m, a, 2, EVENTS_IN_ORDER, (const int64_t[]){1, 1, 1});          /* op 3 */
    op.inputs[0] = two;
    op.inputs[1] = one;
    add(&m, op); /* op 4, which takes no time */
    finish(&m, 1);
    r = lay_out(&m, &told);
    ok(r->step_ns == 10 && m.exposed_ns[2] == 10 && m.exposed_ns[1] == 0 && m.exposed_ns[3] == 0,
       "exposed: to the transfer that ends last, of those at once");
    ok(r->npath == 2 && r->path[0].op == 2 && r->path[1].op == 4 && r->path[1].device == 0,
       "the path: through the input that came last, on the first lane of those that end last");
    record_replay_destroy(r);
    fini(&m);
}

int main(void)
{
    plan(0);
    test_exposed();
    test_random(EVENTS_IN_ORDER, "in order");
    test_random(EVENTS_ISSUED, "issued");
    test_random(EVENTS_BLOCKS, "blocks");
    test_random(EVENTS_FREES, "frees");
    test_random(EVENTS_FILLS, "fills");
    return done();
}
