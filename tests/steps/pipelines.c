/* Tests executed pipelines: each device runs the actions of its schedule's timetable in order;
 * results equal those of the unsharded computation; bytes and peak memory equal the plan's; the
 * replayed bubble equals the schedule's formula.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cost/replay.h"
#include "../support/tap.h"
#include "timetable/walk.h"
#include "../support/tried.h"
#include "run/walk/walk.h"

static const char model[] =
    "version: 1\n"
    "model: {kind: %s, d_model: 16, d_ff: 32, layers: %u, heads: 2, vocab: 32}\n"
    "batch: {size: %u, seq: 8, microbatches: %u}\n"
    "step: [forward, backward, update]\n"
    "steps: 2\n"
    "optimizer: {kind: adamw, lr: 1e-2, clip: 1}\n";

/* Make a model; `rest` has its mesh, params, axes and pipeline. */
static bool make_kind(struct variant *out, const char *kind, uint32_t layers, uint32_t microbatches,
                      uint32_t each, const char *rest)
{
    struct text text = TEXT_INIT;
    bool good;

    text_addf(&text, model, kind, layers, microbatches * each, microbatches);
    text_add(&text, rest);
    good = tried_init(out, text_get(&text), text.length);
    text_fini(&text);
    return good;
}

static bool make(struct variant *out, uint32_t layers, uint32_t microbatches, uint32_t each,
                 const char *rest)
{
    return make_kind(out, "transformer", layers, microbatches, each, rest);
}

/* ---- the order ---- */

/* The segments that each device ran, in order. */
struct seen {
    const struct program *program;
    struct segment_done {
        enum program_part part;
        uint32_t stage;
    } * done; /* [device][at] */
    size_t *ndone, room;
    uint32_t *last; /* [device]: the previous op */
};

/* A walk_observe_fn: a new segment begins with another stage or part, or with an op that does not
 * follow the previous one. */
static void see(void *arg, int32_t position, uint32_t op, uint32_t microbatch,
                const void *const *shards)
{
    struct seen *s = arg;
    const struct program_op *o = &s->program->ops[op];
    struct segment_done *done = &s->done[(size_t)position * s->room];
    size_t *n = &s->ndone[position];

    (void)microbatch;
    (void)shards;
    if (o->part < PROGRAM_FORWARD || o->part > PROGRAM_WEIGHTS)
        return;
    if (*n == 0 || op <= s->last[position] || done[*n - 1].part != o->part ||
        done[*n - 1].stage != o->stage)
        if (*n < s->room)
            done[(*n)++] = (struct segment_done){(enum program_part)o->part, o->stage};
    s->last[position] = op;
}

/* Whether a rank has the segment of a part: a stage may have no op in a part that the schedule
 * splits off. */
static bool has(const struct program *program, enum program_part part, uint32_t stage)
{
    for (uint32_t s = 0; s < program->nsegments; s++)
        if (program->segments[s].part == part && program->segments[s].stage == stage)
            return true;
    return false;
}

static size_t expect(struct segment_done *out, const struct program *program,
                     const struct timetable *t, uint32_t rank)
{
    static const enum program_part parts[TIMETABLE_KINDS][2] = {
        [TIMETABLE_FORWARD] = {PROGRAM_FORWARD, PROGRAM_NPARTS},
        [TIMETABLE_BACKWARD] = {PROGRAM_BACKWARD, PROGRAM_WEIGHTS},
        [TIMETABLE_BACKWARD_INPUT] = {PROGRAM_BACKWARD, PROGRAM_NPARTS},
        [TIMETABLE_BACKWARD_WEIGHT] = {PROGRAM_WEIGHTS, PROGRAM_NPARTS}};
    size_t n = 0;

    for (size_t a = t->first[rank]; a < t->first[rank + 1]; a++)
        for (int k = 0; k < 2; k++)
            if (has(program, parts[t->actions[a].kind][k], t->actions[a].stage))
                out[n++] = (struct segment_done){parts[t->actions[a].kind][k], t->actions[a].stage};
    return n;
}

/* The most microbatches in flight at once: forwards whose backward has not run yet. */
static uint32_t most_alive(const struct segment_done *done, size_t n)
{
    uint32_t alive = 0, most = 0;

    for (size_t i = 0; i < n; i++) {
        alive += done[i].part == PROGRAM_FORWARD;
        most = alive > most ? alive : most;
        alive -= done[i].part == PROGRAM_BACKWARD;
    }
    return most;
}

static bool same_order(const struct variant *m, const struct seen *s,
                       const struct timetable_walk *w)
{
    const struct timetable *t = m->trial.timetable;
    struct segment_done *want = calloc(s->room, sizeof *want);
    bool same = want != NULL;

    for (int32_t d = 0; d < m->trial.record->ndevices && same; d++) {
        uint32_t rank = program_rank(s->program, d);
        size_t n = expect(want, s->program, t, rank);
        const struct segment_done *done = &s->done[(size_t)d * s->room];

        same = n == s->ndone[d] && most_alive(done, n) == w->live_until_input[rank];
        for (size_t i = 0; i < n && same; i++)
            same = want[i].part == done[i].part && want[i].stage == done[i].stage;
    }
    free(want);
    return same;
}

/* The microbatch of the n-th forward, or backward, of a stage; -1: there is none. */
static int64_t nth_microbatch(const struct timetable *t, uint32_t stage, bool forward, uint32_t n)
{
    for (size_t a = 0; a < timetable_nactions(t); a++) {
        const struct timetable_action *x = &t->actions[a];

        if (x->stage == stage && (x->kind == TIMETABLE_FORWARD) == forward &&
            x->kind != TIMETABLE_BACKWARD_WEIGHT && n-- == 0)
            return x->microbatch;
    }
    return -1;
}

/* Whether all stages take microbatches in the same order, and forward in the order of their
 * numbers: verification relies on that, because it checks the first microbatch that arrives. */
static bool in_one_order(const struct timetable *t)
{
    bool good = true;

    for (uint32_t s = 0; s < t->nstages; s++)
        for (uint32_t n = 0; n < t->nmicrobatches; n++)
            good = good && nth_microbatch(t, s, true, n) == n &&
                   nth_microbatch(t, s, false, n) == nth_microbatch(t, 0, false, n);
    return good;
}

static bool execute_in_order(struct variant *m)
{
    const struct timetable_times unit = TIMETABLE_TIMES_UNIT;
    size_t n = (size_t)shd_mesh_size(m->trial.mesh);
    struct seen s = {.program = m->trial.program,
                     .room = 2 * timetable_nactions(m->trial.timetable) + 1};
    struct walk_opts opts = {.observe = see, .observe_arg = &s};
    struct timetable_walk walk;
    bool good;

    s.done = calloc(n * s.room, sizeof *s.done);
    s.ndone = calloc(n, sizeof *s.ndone);
    s.last = calloc(n, sizeof *s.last);
    if (timetable_walk(&walk, m->trial.timetable, &unit, NULL) != SHD_OK)
        return false;
    good =
        record_create(&m->trial.record, m->trial.program, RECORD_EXECUTED, false, NULL) == SHD_OK &&
        walk_run(m->trial.record, &opts, NULL) == SHD_OK && same_order(m, &s, &walk) &&
        in_one_order(m->trial.timetable);
    record_destroy(m->trial.record);
    m->trial.record = NULL;
    timetable_walk_fini(&walk);
    free(s.done);
    free(s.ndone);
    free(s.last);
    return good;
}

/* Few cases, so that they are fast under sanitizers and on two cores. */
static const struct {
    const char *schedule;
    uint32_t ranks, stages_per_rank, microbatches;
} schedules[] = {
    {"GPipe", 2, 1, 4},
    {"GPipe", 4, 1, 4},
    {"1F1B", 2, 1, 4},
    {"1F1B", 4, 1, 8},
    {"Interleaved1F1B", 2, 2, 4},
    {"LoopedBFS", 2, 2, 4},
    {"ZBH1", 4, 1, 8},
    {"InterleavedZeroBubble", 2, 2, 4},
    {"ZBVZeroBubble", 2, 2, 4},
    {"ZBVZeroBubble", 4, 2, 8},
    {"DualPipeV", 2, 2, 4},
};

static void test_schedules(void)
{
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
        uint32_t stages = schedules[i].ranks * schedules[i].stages_per_rank;
        char rest[256], what[64];
        struct variant m;

        snprintf(what, sizeof what, "%s, %u ranks, %u microbatches", schedules[i].schedule,
                 schedules[i].ranks, schedules[i].microbatches);
        snprintf(rest, sizeof rest,
                 "mesh: {pp: %u}\nparams: [[.*, []]]\n"
                 "pipeline: {axis: pp, schedule: %s, stages_per_rank: %u}\n",
                 schedules[i].ranks, schedules[i].schedule, schedules[i].stages_per_rank);
        if (!ok(make(&m, stages, schedules[i].microbatches, 1, rest), "%s: is built", what)) {
            variant_fini(&m);
            continue;
        }
        ok(execute_in_order(&m), "%s: executed in the timetable's order, as many are alive", what);
        (void)tried_check(&m, what);
        variant_fini(&m);
    }
}

/* ---- with other strategies inside the stages ---- */

#define MEGATRON                                                                              \
    "params: [['(q|k|v)/kernel', [null, tp]], [attn/o/kernel, [tp]], [mlp/up/kernel, [null, " \
    "tp]], "                                                                                  \
    "[mlp/down/kernel, [tp]], [embed/table, [tp]], [head/kernel, [null, tp]], [.*, []]]\n"

static const struct {
    const char *what, *rest;
    uint32_t layers, microbatches;
} layouts[] = {
    {"tensor and data parallel",
     "mesh: {dp: 2, pp: 2, tp: 2}\naxes: {batch: dp}\npipeline: {axis: pp}\n" MEGATRON, 2, 2},
    {"sequence parallel",
     "mesh: {pp: 2, tp: 2}\npipeline: {axis: pp}\nconstraints: [['/(out|residual)', [null, tp]], "
     "[embed/out, [null, tp]]]\n" MEGATRON,
     2, 2},
    {"ZeRO of stage 1",
     "mesh: {dp: 2, pp: 2}\naxes: {batch: dp}\npipeline: {axis: pp}\nparams: [[.*, []]]\n"
     "zero: {stage: 1, axis: dp}\n",
     2, 2},
    {"ZeRO of stage 2, zero bubble",
     "mesh: {pp: 2, dp: 2}\naxes: {batch: dp}\npipeline: {axis: pp, schedule: ZBH1}\n"
     "params: [[.*, []]]\nzero: {stage: 2, axis: dp}\n",
     2, 4},
    {"ZeRO of stage 3, interleaved",
     "mesh: {dp: 2, pp: 2}\naxes: {batch: dp}\nparams: [[.*, []]]\n"
     "pipeline: {axis: pp, schedule: Interleaved1F1B}\nzero: {stage: 3, axis: dp}\n",
     4, 2},
    {"full recomputation",
     "mesh: {pp: 2}\nparams: [[.*, []]]\npipeline: {axis: pp}\n"
     "recompute: full\n",
     4, 4},
    {"routers that decide once more, the last microbatch first",
     "mesh: {pp: 2}\nparams: [[.*, []]]\nmoe: {experts: 8, top_k: 1}\nrecompute: full\n"
     "pipeline: {axis: pp, schedule: LoopedBFS}\n",
     4, 3},
    {"uneven stages, the head on the first rank",
     "mesh: {pp: 2}\nparams: [[.*, []]]\n"
     "pipeline: {axis: pp, schedule: ZBVZeroBubble, layers: [1, 1, 2, 1]}\n",
     5, 4},
    {"the embedding and the loss in stages without layers",
     "mesh: {pp: 4}\nparams: [[.*, []]]\npipeline: {axis: pp, layers: [0, 1, 2, 0]}\n", 3, 4},
    {"one microbatch", "mesh: {pp: 2}\nparams: [[.*, []]]\npipeline: {axis: pp, schedule: GPipe}\n",
     2, 1},
    {"placed by name",
     "mesh: {pp: 2}\nparams: [[.*, []]]\n"
     "pipeline: {axis: pp, place: [['^(embed|layers/[0-2]/)', 0], ['^layers/3', 1]]}\n",
     4, 2},
};

static void test_layouts(void)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        struct variant m;

        if (ok(make(&m, layouts[i].layers, layouts[i].microbatches, 2, layouts[i].rest),
               "%s: is built", layouts[i].what))
            (void)tried_check(&m, layouts[i].what);
        variant_fini(&m);
    }
}

/* ---- whole models ---- */

#define ONLY_STAGES "mesh: {pp: 2}\nparams: [[.*, []]]\n"

static const struct {
    const char *kind, *what, *rest; /* rest: more keys of the model */
    uint32_t layers, microbatches;
} models[] = {
    {"gpt2, positions: 8", "1F1B", ONLY_STAGES "pipeline: {axis: pp}\n", 2, 4},
    {"gpt2, positions: 8", "interleaved",
     ONLY_STAGES "pipeline: {axis: pp, schedule: Interleaved1F1B}\n", 4, 2},
    {"gpt2, positions: 8", "table and head on one rank",
     ONLY_STAGES "pipeline: {axis: pp, schedule: ZBVZeroBubble}\n", 4, 4},
    {"gpt2, positions: 8", "one microbatch, zero bubble",
     ONLY_STAGES "pipeline: {axis: pp, schedule: ZBVZeroBubble}\n", 4, 1},
    {"gpt2, positions: 8, dtype: float16", "masters, a scale and recomputation",
     ONLY_STAGES "pipeline: {axis: pp, schedule: ZBH1}\nrecompute: full\n"
                 "types: {parameters: float32}\n"
                 "loss_scale: {kind: dynamic, initial: 256}\n",
     2, 2},
    {"llama3, tied: true", "ZeRO of stage 2 in stages",
     "mesh: {dp: 2, pp: 2}\naxes: {batch: dp}\nparams: [[.*, []]]\n"
     "pipeline: {axis: pp}\nzero: {stage: 2, axis: dp}\n",
     2, 2},
    {"llama3", "tensor parallel, interleaved",
     "mesh: {pp: 2, tp: 2}\npipeline: {axis: pp, schedule: Interleaved1F1B}\n" MEGATRON, 4, 2},
    {"t5", "1F1B, encoder and decoder each of two stages",
     "mesh: {pp: 4}\nparams: [[.*, []]]\npipeline: {axis: pp}\n", 2, 4},
    {"t5", "interleaved", ONLY_STAGES "pipeline: {axis: pp, schedule: Interleaved1F1B}\n", 2, 2},
    {"t5", "zero bubble, recomputation",
     ONLY_STAGES "pipeline: {axis: pp, schedule: ZBH1}\nrecompute: full\n", 1, 4},
    {"t5, dtype: bfloat16", "tensor parallel, masters",
     "mesh: {pp: 2, tp: 2}\npipeline: {axis: pp, schedule: InterleavedZeroBubble}\n"
     "types: {parameters: float32}\n"
     "params: [['(q|k|v)/kernel', [null, tp]], ['(attn|cross)/o/kernel', [tp]], "
     "[mlp/up/kernel, [null, tp]], [mlp/down/kernel, [tp]], [embed/table, [tp]], "
     "[relative/table, [null, tp]], [.*, []]]\n",
     2, 2},
};

static void test_models(void)
{
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        char what[128];
        struct variant m;

        snprintf(what, sizeof what, "%.*s: %s", (int)strcspn(models[i].kind, ","), models[i].kind,
                 models[i].what);
        if (ok(make_kind(&m, models[i].kind, models[i].layers, models[i].microbatches, 2,
                         models[i].rest),
               "%s: is built", what))
            (void)tried_check(&m, what);
        variant_fini(&m);
    }
}

/* Bytes sent from stage to stage in a step. */
static uint64_t sent_bytes(const struct program *program)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < program->nops; i++)
        if (program->ops[i].kind == PROGRAM_SEND)
            bytes += program->buffers[program->ops[i].inputs[0]].bytes * program->ops[i].times;
    return bytes;
}

/* Bytes of each array that goes from stage to stage, for d = 16, 2 heads, 2 sequences of 8 tokens,
 * 32 words. */
enum {
    WORDS = 4 * 32 * 16,     /* the embedding table, which is also the head */
    HIDDEN = 4 * 2 * 8 * 16, /* activations of a microbatch between layers */
    BUCKETS = 4 * 32 * 2,    /* the table of relative positions */
    BUCKET_IDS = 4 * 8 * 8,  /* the bucket of each pair of positions */
    NUMBERS = 2 * 4          /* the norm to the next stage, and the scale of the gradients back */
};

static const struct {
    const char *kind;
    uint32_t layers, stages;
    uint64_t each, once; /* each: per microbatch; once: per step */
} volumes[] = {
    {"gpt2, positions: 8", 2, 2, 2 * HIDDEN, 2 * WORDS + NUMBERS},
    {"gpt2, positions: 8", 4, 4, 3 * 2 * HIDDEN, 2 * WORDS + 3 * NUMBERS},
    {"llama3", 4, 4, 3 * 2 * HIDDEN, 3 * NUMBERS},
    /* Only the encoder's result goes to the decoder; the decoder's stage looks up its own
     * embeddings. */
    {"t5", 1, 2, 2 * HIDDEN, 2 * WORDS + NUMBERS},
    /* The encoder's result goes to both stages of the decoder.  The embedding table goes to both,
     * and its gradients back.  Gradients of the position table go from the second stage of each
     * side to the first. */
    {"t5", 2, 4, 2 * (1 + 2 + 1) * HIDDEN,
     2 * 2 * WORDS + 2 * (2 * BUCKETS + BUCKET_IDS) + 3 * NUMBERS},
};

/* Tables and their gradients are sent once per step, activations once per microbatch. */
static void test_volumes(void)
{
    for (size_t i = 0; i < sizeof volumes / sizeof volumes[0]; i++)
        for (uint32_t m = 2; m <= 8; m *= 2) {
            uint64_t want = volumes[i].each * m + volumes[i].once, sent = 0;
            struct variant tried;
            char rest[128];

            snprintf(rest, sizeof rest,
                     "mesh: {pp: %u}\nparams: [[.*, []]]\npipeline: {axis: pp}\n",
                     volumes[i].stages);
            if (make_kind(&tried, volumes[i].kind, volumes[i].layers, m, 2, rest))
                sent = sent_bytes(tried.trial.program);
            if (!ok(sent == want, "%.*s of %u stages, %u microbatches: %" PRIu64 " bytes are sent",
                    (int)strcspn(volumes[i].kind, ","), volumes[i].kind, volumes[i].stages, m,
                    want))
                diag("%" PRIu64, sent);
            variant_fini(&tried);
        }
}

/* ---- bubbles ---- */

/* Give each part of each stage the duration that the formulas assume, all on the part's first
 * kernel; ops that run once per step take no time. */
static void set_times(struct record *record, const struct timetable_times *times, int64_t unit_ns)
{
    const double units[PROGRAM_NPARTS] = {[PROGRAM_FORWARD] = times->forward,
                                          [PROGRAM_BACKWARD] = times->backward,
                                          [PROGRAM_WEIGHTS] = 0};
    const struct program *program = record->program;

    for (uint32_t s = 0; s < program->nsegments; s++) {
        const struct program_segment *segment = &program->segments[s];
        double ns = units[segment->part] * (double)unit_ns;
        uint32_t op = segment->first_op;

        if (has(program, PROGRAM_WEIGHTS, segment->stage) && segment->part == PROGRAM_BACKWARD)
            ns = times->backward_input * (double)unit_ns;
        if (segment->part == PROGRAM_WEIGHTS)
            ns = times->backward_weight * (double)unit_ns;
        while (op < segment->end_op && program->ops[op].kind != PROGRAM_KERNEL)
            op++;
        for (int32_t d = 0; d < record->ndevices; d++)
            if (program_holds(program, program_rank(program, d), &program->ops[op]))
                record->times[(size_t)d * program->nops + op].cpu_ns = (int64_t)ns;
    }
}

/* The fraction of the step in which ranks are idle, by replay. */
static double replayed_bubble(const struct variant *m)
{
    const struct timetable_times unit = TIMETABLE_TIMES_UNIT;
    const struct record_transfers fast = {UINT64_C(1) << 62, 0};
    struct record *record;
    double busy = 0, step;

    if (record_create(&record, m->trial.program, RECORD_EXECUTED, true, NULL) != SHD_OK)
        return NAN;
    set_times(record, &unit, 1000000);
    if (replay_run(record, &fast, NULL) != SHD_OK)
        return NAN;
    step = (double)record->replay->step_ns;
    for (int32_t d = 0; d < record->ndevices; d++)
        busy += (double)record->replay->devices[d].busy_ns / record->ndevices;
    record_destroy(record);
    return 1 - busy / step;
}

/* The first kernel that reads a buffer, or (`writes`) that writes the buffer; PROGRAM_NONE:
 * none. */
static uint32_t kernel_of(const struct program *program, uint32_t buffer, bool writes)
{
    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];
        const uint32_t *operands = writes ? op->outputs : op->inputs;
        uint32_t n = writes ? op->noutputs : op->ninputs;

        for (uint32_t k = 0; k < n && op->kind == PROGRAM_KERNEL; k++)
            if (operands[k] == buffer)
                return i;
    }
    return PROGRAM_NONE;
}

/* Replay a step in which only the kernels at the two ends of a channel take time, 1 ms each.  The
 * step takes 2 ms, because the receiver waits for the sender. */
static bool waits_for_send(struct record *record, const struct program_channel *c)
{
    const struct record_transfers fast = {UINT64_C(1) << 62, 0};
    const struct program *program = record->program;
    const uint32_t kernels[] = {kernel_of(program, program->ops[c->send].inputs[0], true),
                                kernel_of(program, program->ops[c->recv].outputs[0], false)};
    int64_t want_ns = 0;

    memset(record->times, 0, (size_t)record->ndevices * program->nops * sizeof *record->times);
    for (int k = 0; k < 2; k++)
        for (int32_t d = 0; d < record->ndevices && kernels[k] != PROGRAM_NONE; d++)
            if (program_holds(program, program_rank(program, d), &program->ops[kernels[k]]))
                record->times[(size_t)d * program->nops + kernels[k]].cpu_ns = 1000000;
    for (int k = 0; k < 2; k++)
        want_ns += kernels[k] != PROGRAM_NONE ? 1000000 : 0;
    return replay_run(record, &fast, NULL) == SHD_OK && record->replay->step_ns == want_ns;
}

/* Messages between stages once per step, after all microbatches: parts of the gradient norm, and
 * gradients of an array that two stages share. */
static void test_update_waits(void)
{
    struct record *record = NULL;
    struct variant m;
    uint32_t nsent = 0, nwaited = 0;

    if (!make(&m, 4, 4, 1, "mesh: {pp: 4}\nparams: [[.*, []]]\npipeline: {axis: pp}\n") ||
        record_create(&record, m.trial.program, RECORD_EXECUTED, true, NULL) != SHD_OK) {
        ok(false, "update: a program");
        variant_fini(&m);
        return;
    }
    for (uint32_t c = 0; c < m.trial.program->nchannels; c++) {
        const struct program_channel *channel = &m.trial.program->channels[c];

        if (m.trial.program->ops[channel->send].part != PROGRAM_UPDATE)
            continue;
        nsent++;
        nwaited += waits_for_send(record, channel);
    }
    ok(nsent > 0 && nwaited == nsent,
       "update: replay: receivers wait for senders, %" PRIu32 " of %" PRIu32 " times", nwaited,
       nsent);
    record_destroy(record);
    variant_fini(&m);
}

/* The bubble by the schedule's formula; negative: the formula does not cover these sizes. */
static double formula_bubble(const struct timetable_schedule *s,
                             const struct timetable_sizes *sizes)
{
    const struct timetable_times unit = TIMETABLE_TIMES_UNIT;
    double work = (unit.forward + unit.backward) * sizes->nmicrobatches * sizes->stages_per_rank;
    double idle;

    if (!s->bubble.holds(sizes, &unit))
        return -1;
    idle = s->bubble.idle(sizes, &unit);
    return idle / (idle + work);
}

static void test_bubble(const struct timetable_schedule *s, const struct timetable_sizes *sizes)
{
    double formula = formula_bubble(s, sizes), replayed;
    struct variant m;
    char rest[256];

    if (formula < 0 || timetable_check(s, sizes, NULL) != SHD_OK)
        return;
    snprintf(rest, sizeof rest,
             "mesh: {pp: %u}\nparams: [[.*, []]]\npipeline: {axis: pp, schedule: %s}\n",
             sizes->nranks, s->name);
    if (make(&m, sizes->nranks * sizes->stages_per_rank, sizes->nmicrobatches, 1, rest)) {
        replayed = replayed_bubble(&m);
        ok(fabs(replayed - formula) <= 0.1 * formula,
           "%s: the bubble of %u ranks, %u microbatches, replayed %.2f %%, is the formula's %.2f "
           "%%",
           s->name, sizes->nranks, sizes->nmicrobatches, 100 * replayed, 100 * formula);
    } else {
        ok(false, "%s: is built", s->name);
    }
    variant_fini(&m);
}

static void test_bubbles(void)
{
    for (size_t i = 0; timetable_schedules[i]; i++)
        for (uint32_t p = 2; p <= 8; p *= 2)
            for (uint32_t m = p; m <= 4 * p; m *= 2) {
                const struct timetable_schedule *s = timetable_schedules[i];
                const struct timetable_sizes sizes = {p, s->stages_per_rank, m};

                test_bubble(s, &sizes);
            }
}

/* The bubble by flops.  Stages of layers alone have equal work, except that the first stage makes
 * no gradient of its input; input and weight gradients therefore differ slightly in duration,
 * which shows on ZBV. */
static void test_bubble_by_flops(void)
{
    static const struct {
        const char *schedule;
        double formula; /* with durations forward 1, backward 2 */
    } cases[] = {{"1F1B", 9.0 / 33}, {"Interleaved1F1B", 4.5 / 28.5}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text text = TEXT_INIT;
        struct variant t;
        double bubble = -1;

        text_addf(&text,
                  "version: 1\nmesh: {pp: 4}\nmodel: {kind: mlp, d_model: 16, d_ff: 64, layers: "
                  "32}\nbatch: {size: 8, seq: 16, microbatches: 8}\nstep: [forward, backward, "
                  "update]\noptimizer: {kind: sgd}\nparams: [[.*, []]]\npipeline: {axis: pp, "
                  "schedule: %s}\n",
                  cases[i].schedule);
        if (!tried_init(&t, text_get(&text), text.length) ||
            program_bubble(&bubble, t.trial.program, NULL) != SHD_OK)
            diag("%s: no bubble", cases[i].schedule);
        if (!ok(fabs(bubble - cases[i].formula) <= 0.1 * cases[i].formula,
                "%s: idle as the formula says, by flops", cases[i].schedule))
            diag("%.4f, not %.4f", bubble, cases[i].formula);
        variant_fini(&t);
        text_fini(&text);
    }
}

/* ---- memory ---- */

static void test_memory(void)
{
    static const char *const names[] = {"GPipe", "1F1B"};
    uint128 peaks[2][2] = {{0}}; /* [schedule][8 or 16 microbatches] */

    for (int s = 0; s < 2; s++)
        for (int k = 0; k < 2; k++) {
            struct variant m;
            char rest[256];

            snprintf(rest, sizeof rest,
                     "mesh: {pp: 2}\nparams: [[.*, []]]\npipeline: {axis: pp, schedule: %s}\n",
                     names[s]);
            if (make(&m, 2, k ? 16 : 8, 1, rest))
                peaks[s][k] = program_peak_bytes(m.trial.program);
            variant_fini(&m);
        }
    ok(peaks[0][1] > peaks[0][0] && peaks[1][0] > 0 && peaks[1][1] == peaks[1][0],
       "GPipe holds all microbatches, 1F1B one per rank");
}

/* ---- many devices ---- */

static void test_many(void)
{
    struct variant m;

    if (ok(make(&m, 8, 8, 2,
                "mesh: {dp: 2, pp: 8, tp: 4}\naxes: {batch: dp}\npipeline: {axis: pp}\n"
                "params: [[mlp/up/kernel, [null, tp]], [mlp/down/kernel, [tp]], [.*, []]]\n"),
           "64 devices in 8 stages: is built"))
        (void)tried_check(&m, "64 devices in 8 stages");
    variant_fini(&m);
}

/* ---- what is refused ---- */

static void refuse(const char *what, uint32_t layers, uint32_t microbatches, const char *rest,
                   const char *message)
{
    struct text text = TEXT_INIT;
    struct variant_ask ask = {
        .name = "test.yaml", .text = &text, .extent = VARIANT_BUILT, .executes = true};
    struct variant v = {.outcome = VARIANT_REFUSED};

    text_addf(&text, model, "transformer", layers, microbatches, microbatches);
    text_add(&text, rest);
    ok(variant_init(&v, &ask, NULL) == SHD_OK && v.errors.nmessages == 1 &&
           strstr(diag_first(&v.errors, ""), message),
       "refused: %s: %s", what, diag_first(&v.errors, "no error"));
    variant_fini(&v);
    text_fini(&text);
}

static void test_refused(void)
{
    refuse("an unknown schedule", 2, 2,
           "mesh: {pp: 2}\nparams: [[.*, []]]\npipeline: {axis: pp, schedule: 2F2B}\n",
           "there is no schedule '2F2B'");
    refuse("stages without layers", 3, 4,
           "mesh: {pp: 4}\nparams: [[.*, []]]\npipeline: {axis: pp}\n",
           "3 layers do not fill 4 stages");
    refuse("an array sharded over the stages", 2, 2,
           "mesh: {pp: 2}\nparams: [[mlp/up/kernel, [null, pp]], [.*, []]]\n"
           "pipeline: {axis: pp}\n",
           "holds the stages of the pipeline and shards no array");
    refuse("a stage before what it reads", 4, 2,
           "mesh: {pp: 2}\nparams: [[.*, []]]\n"
           "pipeline: {axis: pp, place: [['^layers/0', 1], ['^layers/1', 0]]}\n",
           "stages must follow the order of the model");
    refuse("layers that do not add up", 4, 2,
           "mesh: {pp: 2}\nparams: [[.*, []]]\npipeline: {axis: pp, layers: [1, 2]}\n",
           "pipeline.layers has 2 stages with 3 layers in total; expected 2 stages and 4 layers");
    refuse("an unknown name", 4, 2,
           "mesh: {pp: 2}\nparams: [[.*, []]]\npipeline: {axis: pp, place: [[lm_head, 1]]}\n",
           "'lm_head' places nothing");
    refuse("more stages than there are numbers", 4, 4,
           "mesh: {pp: 1073741825}\nparams: [[.*, []]]\n"
           "pipeline: {axis: pp, schedule: Interleaved1F1B, stages_per_rank: 4}\n",
           "1073741825 ranks of 4 stages are too many");
    refuse("microbatches that a schedule cannot do", 4, 5,
           "mesh: {pp: 2}\nparams: [[.*, []]]\npipeline: {axis: pp, schedule: "
           "Interleaved1F1B}\n",
           "microbatches");
}

int main(void)
{
    test_schedules();
    test_layouts();
    test_models();
    test_volumes();
    test_bubbles();
    test_bubble_by_flops();
    test_update_waits();
    test_memory();
    test_many();
    test_refused();
    return done();
}
