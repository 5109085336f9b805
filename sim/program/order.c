/* The order of a step's ops, and how often each of them runs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "program/program.h"
#include "timetable/timetable.h"

/* ---- sorting ---- */

/* Segments are sorted: a value's producer precedes its readers. */
static uint64_t place_of(const struct program *program, const struct program_op *op)
{
    uint32_t stage = op->part == PROGRAM_FORWARD ? op->stage : program->nstages - 1 - op->stage;

    switch ((enum program_part)op->part) {
    case PROGRAM_FORWARD:
        return (uint64_t)PROGRAM_FORWARD << 32 | stage;
    case PROGRAM_BACKWARD:
    case PROGRAM_WEIGHTS:
        return ((uint64_t)PROGRAM_BACKWARD << 32) + (uint64_t)stage * 2 +
               (op->part == PROGRAM_WEIGHTS);
    default:
        return (uint64_t)op->part << 32;
    }
}

struct sorted {
    uint64_t place;
    uint32_t op;
};

static int compare(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;

    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->op < y->op ? -1 : x->op > y->op;
}

void program_permute_ops(struct program *program, uint32_t *from)
{
    struct program_op *ops = program->ops, first;

    for (uint32_t i = 0; i < program->nops; i++) {
        uint32_t at = i, next = from[i];

        if (next == i)
            continue;
        for (first = ops[i]; next != i; at = next, next = from[at]) {
            ops[at] = ops[next];
            from[at] = at;
        }
        ops[at] = first;
        from[at] = at;
    }
}

int program_sort_ops(struct program *program, struct shd_error *err)
{
    size_t n = program->nops;
    struct sorted *order = malloc((n + 1) * sizeof *order);
    uint32_t *from = malloc((n + 1) * sizeof *from);

    if (!order || !from) {
        free(order);
        free(from);
        return shd_error_set(err, SHD_ENOMEM, "no memory for the program");
    }
    for (uint32_t i = 0; i < n; i++)
        order[i] = (struct sorted){place_of(program, &program->ops[i]), i};
    qsort(order, n, sizeof *order, compare);
    for (size_t i = 0; i < n; i++)
        from[i] = order[i].op;
    program_permute_ops(program, from);
    free(order);
    free(from);
    return SHD_OK;
}

/* ---- ranks ---- */

uint32_t program_rank(const struct program *program, int32_t position)
{
    return program->stage_axis < 0
               ? 0
               : (uint32_t)shd_mesh_coord(program->mesh, position, (size_t)program->stage_axis);
}

bool program_holds(const struct program *program, uint32_t rank, const struct program_op *op)
{
    return !program->rank_of_stage || program->rank_of_stage[op->stage] == rank;
}

int32_t program_peer(const struct program *program, int32_t position, uint32_t rank)
{
    int32_t coords[SHD_MESH_AXES_MAX];

    if (program->stage_axis < 0)
        return position;
    shd_mesh_coords(program->mesh, position, coords);
    coords[program->stage_axis] = (int32_t)rank;
    return shd_mesh_position(program->mesh, coords);
}

int32_t program_doer(const struct program *program, const struct program_op *op, int32_t position)
{
    return program->rank_of_stage
               ? program_peer(program, position, program->rank_of_stage[op->stage])
               : position;
}

size_t program_rank_axes(const struct program *program, uint8_t axes[SHD_MESH_AXES_MAX])
{
    size_t naxes = 0;

    for (size_t a = 0; a < shd_mesh_naxes(program->mesh); a++)
        if ((int)a != program->stage_axis)
            axes[naxes++] = (uint8_t)a;
    return naxes;
}

/* ---- segments ---- */

/* Whether two ops share a segment.  With one stage all ops of a microbatch do; with one microbatch
 * as well, all ops of the step. */
static bool same_segment(const struct program *program, const struct program_op *a,
                         const struct program_op *b)
{
    if (program->nstages == 1 && program->microbatches == 1)
        return true;
    if (program->nstages == 1)
        return (a->part == PROGRAM_UPDATE) == (b->part == PROGRAM_UPDATE) &&
               (a->part == PROGRAM_START) == (b->part == PROGRAM_START);
    return place_of(program, a) == place_of(program, b);
}

static int find_segments(struct program *program, struct shd_error *err)
{
    struct program_segment *segments =
        calloc(3 * (size_t)program->nstages + 3, sizeof *segments); /* START and UPDATE add at
                                                                       most two segments; an
                                                                       empty one is not stored */
    uint32_t n = 0;

    free(program->segments);
    program->segments = segments;
    program->nsegments = 0;
    if (!segments)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the program");
    for (uint32_t i = program->first_op, end; i < program->nops; i = end) {
        const struct program_op *op = &program->ops[i];

        for (end = i + 1; end < program->nops && same_segment(program, op, &program->ops[end]);)
            end++;
        if (n == 3 * program->nstages + 3 || (n > 0 && segments[n - 1].part == PROGRAM_UPDATE))
            return shd_error_set(err, SHD_EUNSUPPORTED,
                                 "batch.microbatches: '%.100s' of a microbatch is after the update",
                                 program->ops[i].name);
        segments[n++] = (struct program_segment){(enum program_part)op->part, op->stage, i, end};
    }
    program->nsegments = n;
    return SHD_OK;
}

/* ---- turns ---- */

struct turns {
    struct program *program;
    uint32_t nturns;
    uint32_t *segments; /* [part][stage]; PROGRAM_NONE if there are no ops */
    bool *seen;         /* [segment] it had a turn on this rank already */
};

/* The segment of a part and stage.  Parts done once a step are stored under stage 0. */
static uint32_t *segment_at(const struct turns *t, enum program_part part, uint32_t stage)
{
    return &t->segments[(size_t)part * t->program->nstages + stage];
}

static bool find_parts(struct turns *t)
{
    const struct program *program = t->program;
    size_t n = (size_t)PROGRAM_NPARTS * program->nstages;

    t->segments = malloc(n * sizeof *t->segments);
    if (!t->segments)
        return false;
    memset(t->segments, 0xff, n * sizeof *t->segments); /* PROGRAM_NONE */
    for (uint32_t s = program->nsegments; s-- > 0;) {
        const struct program_segment *segment = &program->segments[s];

        *segment_at(t, segment->part, program_segment_is_once(segment) ? 0 : segment->stage) = s;
    }
    return true;
}

/* Add a turn, unless the part of that stage has no ops. */
static void add_turn(struct turns *t, enum program_part part, uint32_t stage, uint32_t microbatch,
                     uint32_t count)
{
    uint32_t segment = *segment_at(t, part, stage);

    if (segment == PROGRAM_NONE)
        return;
    t->program->turns[t->nturns++] =
        (struct program_turn){segment, microbatch, count, !t->seen[segment], 0};
    t->seen[segment] = true;
}

/* Mark a pair: the turn at `forward` and the turns behind `backward`, up to now. */
static void note_pair(struct turns *t, uint32_t forward, uint32_t backward)
{
    if (backward == forward + 1)
        t->program->turns[forward].paired = (uint8_t)(t->nturns - backward);
}

static void add_action(struct turns *t, const struct timetable_action *a)
{
    static const enum program_part parts[TIMETABLE_KINDS] = {
        [TIMETABLE_FORWARD] = PROGRAM_FORWARD,
        [TIMETABLE_BACKWARD] = PROGRAM_BACKWARD,
        [TIMETABLE_BACKWARD_INPUT] = PROGRAM_BACKWARD,
        [TIMETABLE_BACKWARD_WEIGHT] = PROGRAM_WEIGHTS};

    add_turn(t, parts[a->kind], a->stage, a->microbatch, 1);
    if (a->kind == TIMETABLE_BACKWARD)
        add_turn(t, PROGRAM_WEIGHTS, a->stage, a->microbatch, 1);
}

/* Add one turn of all microbatches for each segment: the order of a single stage. */
static void add_row(struct turns *t)
{
    const struct program *program = t->program;

    for (uint32_t s = 0; s < program->nsegments; s++)
        if (!program_segment_is_once(&program->segments[s]))
            add_turn(t, program->segments[s].part, 0, 0, program->microbatches);
}

static void add_rank(struct turns *t, const struct timetable *timetable, uint32_t rank)
{
    uint32_t forward = 0; /* turn at which the action before begins */

    add_turn(t, PROGRAM_START, 0, 0, 1);
    if (!timetable)
        add_row(t);
    for (size_t a = timetable ? timetable->first[rank] : 0;
         timetable && a < timetable->first[rank + 1]; a++) {
        uint32_t before = t->nturns;

        add_action(t, &timetable->actions[a]);
        if (a > timetable->first[rank] && timetable->actions[a - 1].overlapped)
            note_pair(t, forward, before);
        forward = before;
    }
    add_turn(t, PROGRAM_UPDATE, 0, t->program->microbatches - 1, 1);
}

/* An action takes at most two turns, and each rank has a START and an UPDATE turn. */
static size_t room_for_turns(const struct program *program, const struct timetable *timetable)
{
    return 2 * (timetable ? timetable_nactions(timetable) : 1) + 2 * (size_t)program->nranks + 1;
}

static int set_turns(struct program *program, const struct timetable *timetable,
                     struct shd_error *err)
{
    struct turns t = {.program = program};

    free(program->turns);
    free(program->first_turn);
    program->turns = malloc(room_for_turns(program, timetable) * sizeof *program->turns);
    program->first_turn = calloc((size_t)program->nranks + 1, sizeof *program->first_turn);
    t.seen = calloc((size_t)program->nsegments + 1, sizeof *t.seen);
    if (!program->turns || !program->first_turn || !t.seen || !find_parts(&t)) {
        free(t.seen);
        return shd_error_set(err, SHD_ENOMEM, "no memory for the order of a step");
    }
    for (uint32_t rank = 0; rank < program->nranks; rank++) {
        memset(t.seen, 0, program->nsegments * sizeof *t.seen);
        program->first_turn[rank] = t.nturns;
        add_rank(&t, timetable, rank);
    }
    program->first_turn[program->nranks] = t.nturns;
    free(t.segments);
    free(t.seen);
    return SHD_OK;
}

static int take_stages(struct program *program, const struct timetable *timetable, int axis,
                       struct shd_error *err)
{
    uint32_t *ranks = malloc(timetable->nstages * sizeof *ranks);

    if (!ranks)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the stages");
    memcpy(ranks, timetable->rank_of_stage, timetable->nstages * sizeof *ranks);
    free(program->rank_of_stage);
    program->rank_of_stage = ranks;
    program->nranks = timetable->nranks;
    program->stage_axis = axis;
    return SHD_OK;
}

/* ---- what a microbatch has of its own ---- */

static uint32_t segment_of(const struct program *program, uint32_t op)
{
    uint32_t low = 0, high = program->nsegments; /* one past the last segment is the end of the
                                                    step */

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (program->segments[middle].end_op <= op)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_of_microbatch(const struct program *program, uint32_t segment)
{
    return segment < program->nsegments && !program_segment_is_once(&program->segments[segment]);
}

/* Record a buffer that carries a microbatch's data between its segments.  Data that outlives the
 * microbatch must be accumulated over all of them. */
static int set_frame(struct program *program, uint32_t buffer, struct shd_error *err)
{
    const struct program_buffer *b = &program->buffers[buffer];
    uint32_t from = segment_of(program, b->first_op), to = segment_of(program, b->last_op);

    if (b->argument || !is_of_microbatch(program, from) || from == to)
        return SHD_OK;
    if (is_of_microbatch(program, to)) {
        program->frames[program->nframes++] = buffer;
        return SHD_OK;
    }
    if (program->microbatches == 1 || program->ops[b->first_op].accumulates)
        return SHD_OK;
    return shd_error_set(
        err, SHD_EUNSUPPORTED,
        "batch.microbatches: '%.100s' of one microbatch is needed after the last microbatch",
        b->name);
}

static int set_frames(struct program *program, struct shd_error *err)
{
    int status = SHD_OK;

    free(program->frames);
    program->frames = malloc(((size_t)program->nbuffers + 1) * sizeof *program->frames);
    program->nframes = 0;
    if (!program->frames)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the order of a step");
    for (uint32_t b = 0; b < program->nbuffers && status == SHD_OK; b++)
        status = set_frame(program, b, err);
    return status;
}

/* Whether an op is in PROGRAM_START.  `op` may be `nops`, the end of the step. */
static bool is_of_start(const struct program *program, uint32_t op)
{
    return op < program->nops && program->ops[op].part == PROGRAM_START;
}

/* Buffers made once before the first microbatch live to the end of the step if any microbatch reads
 * them. */
static void keep_started(struct program *program)
{
    for (uint32_t b = 0; b < program->nbuffers; b++) {
        struct program_buffer *buffer = &program->buffers[b];

        if (!buffer->argument && is_of_start(program, buffer->first_op) &&
            !is_of_start(program, buffer->last_op))
            buffer->last_op = program->nops;
    }
}

static int set_channels(struct program *program, struct shd_error *err)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < program->nops; i++)
        if (program->ops[i].kind == PROGRAM_SEND && program->ops[i].channel >= n)
            n = program->ops[i].channel + 1;
    free(program->channels);
    program->channels = calloc((size_t)n + 1, sizeof *program->channels);
    program->nchannels = n;
    if (!program->channels)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the order of a step");
    for (uint32_t i = 0; i < program->nops; i++) {
        if (program->ops[i].kind == PROGRAM_SEND)
            program->channels[program->ops[i].channel].send = i;
        if (program->ops[i].kind == PROGRAM_RECV)
            program->channels[program->ops[i].channel].recv = i;
    }
    return SHD_OK;
}

int program_set_order(struct program *program, uint32_t microbatches,
                      const struct program_stages *stages, struct shd_error *err)
{
    const struct timetable *timetable = stages ? stages->timetable : NULL;
    int status = SHD_OK;

    program->microbatches = microbatches;
    for (uint32_t i = program->first_op; i < program->nops; i++)
        program->ops[i].times =
            program_part_times((enum program_part)program->ops[i].part, microbatches);
    if (stages)
        status = take_stages(program, timetable, stages->axis, err);
    if (status == SHD_OK)
        status = find_segments(program, err);
    if (status == SHD_OK)
        status = set_turns(program, timetable, err);
    keep_started(program);
    if (status == SHD_OK)
        status = set_frames(program, err);
    return status == SHD_OK ? set_channels(program, err) : status;
}

/* ---- walking ---- */

struct program_walk program_walk_begin(const struct program *program, uint32_t rank)
{
    return (struct program_walk){
        .program = program, .rank = rank, .turn = program->first_turn[rank], .op = PROGRAM_NONE};
}

bool program_walk_next(struct program_walk *w, struct program_action *out)
{
    const struct program *program = w->program;

    while (w->turn < program->first_turn[w->rank + 1]) {
        const struct program_turn *turn = &program->turns[w->turn];
        const struct program_segment *segment = &program->segments[turn->segment];

        if (w->op == PROGRAM_NONE) {
            w->op = segment->first_op;
            w->begins = true;
        }
        while (w->op < segment->end_op && !program_holds(program, w->rank, &program->ops[w->op]))
            w->op++;
        if (w->op < segment->end_op) {
            *out = (struct program_action){w->op++, turn->microbatch + w->microbatch, w->begins,
                                           turn->first && w->microbatch == 0};
            w->begins = false;
            return true;
        }
        w->op = PROGRAM_NONE;
        if (++w->microbatch < turn->count)
            continue;
        w->microbatch = 0;
        w->turn++;
    }
    return false;
}

uint64_t program_number_actions(const struct program *program, uint32_t rank, uint64_t *base)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < program->nops; i++) {
        bool has = i >= program->first_op && program_holds(program, rank, &program->ops[i]);

        if (base)
            base[i] = has ? n : UINT64_MAX;
        n += has ? program->ops[i].times : 0;
    }
    return n;
}

uint64_t program_nactions(const struct program *program, uint32_t rank)
{
    return program_number_actions(program, rank, NULL);
}

bool program_allocates(const struct program *program, const struct program_op *op, uint32_t output,
                       bool first)
{
    if (op->accumulates)
        return first;
    return program->buffers[op->outputs[output]].over == PROGRAM_NONE;
}
