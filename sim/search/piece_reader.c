/* The cost of a piece read from its program (search/piece_reader.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "search/piece_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void piece_scale(struct piece *out, const struct piece *piece, double part)
{
    *out = *piece;
    for (int p = 0; p < PIECE_NPARTS; p++) {
        out->parts[p].forward_s *= part;
        out->parts[p].backward_s *= part;
        out->parts[p].weights_s *= part;
        out->parts[p].waits_s *= part;
        out->parts[p].late_s *= part;
        out->parts[p].last_s *= part;
        out->parts[p].sums_s *= part;
        for (int k = 0; k < EVENTS_STREAMS_MAX; k++) {
            out->parts[p].streams_s[k] *= part;
            out->parts[p].sent_s[k] *= part;
        }
    }
    /* Compute that need not wait (free_s) is an upper bound, and stays. */
    for (int way = 0; way < HOP_NWAYS; way++)
        for (int t = 0; t < HARDWARE_TIERS_MAX; t++)
            out->hops[way].message_s[t] *= part;
}

/* Costs of a stage of a piece, or of a whole piece without stages. */
struct stage {
    double forward_s, backward_s, weights_s, saved_bytes, state_bytes, gradient_bytes;
    double waits_s, late_s, last_s, sums_s;
    double most_bytes; /* of activations, at any time of a backward phase */
    bool sent;         /* the backward phase has sent its message */
    double update_s[PIECE_NLINES], streams_s[EVENTS_STREAMS_MAX], sent_s[EVENTS_STREAMS_MAX];
    double once_s[EVENTS_STREAMS_MAX], start_s[EVENTS_STREAMS_MAX], summed_s[EVENTS_STREAMS_MAX];
};

/* A phase of a piece of layers, from its start on: when its last computation ends, when transfers
 * end that block the next one, and when those of each stream end.  Gradients are rounded and added
 * up behind the computation that makes them, in the layout's other piece: so a turn ends there, and
 * transfers of earlier turns delay nothing. */
struct clock {
    enum program_part part;
    uint32_t stage, turn;
    double core_s, blocked_s, streams_s[EVENTS_STREAMS_MAX];
};

struct reader {
    const struct program *program;
    const struct hardware_software *software;
    struct op_seconds seconds;
    const bool *fixed;         /* of the source */
    const uint32_t *reader;    /* of the source */
    const bool *covered;       /* of the source */
    struct piece_ready *ready; /* of the source */
    double slower;             /* slowdown of the slowest node */
    int dp, shard;             /* axes of replicas; -1: none; a piece of layers has no dp */
    struct stage stages[ATTEMPT_STAGES];
    struct hop hops[HOP_NWAYS];
    double update_message_s[HARDWARE_TIERS_MAX];
    bool computes_first;
    /* Transfers that computations wait for, with no computation between them, by stream: transfers
     * that count in this piece, and transfers that count in the layout's other piece.  All streams
     * run in parallel. */
    struct {
        double own_s[EVENTS_STREAMS_MAX], others_s[EVENTS_STREAMS_MAX];
        enum program_part part;
        uint32_t stage;
    } row;
    struct clock clock;
};

static bool computes(const struct program_op *op)
{
    return op->kind != PROGRAM_FILL && !program_communicates(op);
}

static bool is_gradient(const struct program *program, const struct program_op *op)
{
    return program->buffers[op->outputs[0]].use == PROGRAM_GRADIENTS;
}

static bool transfers(const struct program_op *op)
{
    return op->kind == PROGRAM_RESHARD || op->kind == PROGRAM_ROWS;
}

/* Whether a transfer may run beside the computations around it: gradients if the software combines
 * them so, repeated gathers, and experts' rows beside the other microbatch of a pair. */
static bool is_hidden(const struct reader *r, const struct program_op *op)
{
    if (is_gradient(r->program, op))
        return r->software->overlaps_gradients;
    return (program_gathers_again(r->program, op) && r->software->overlaps_regathers) ||
           (op->kind == PROGRAM_ROWS && r->software->overlaps_pairs);
}

/* Whether all computations after a transfer that is not hidden wait for it. */
static bool blocks(const struct reader *r, const struct program_op *op)
{
    return is_gradient(r->program, op) || r->software->waits_for_collectives;
}

/* Whether the device is idle during a transfer.  Computations run in the program's order.  If the
 * computation before the transfer writes its input, and the computation after it reads its output,
 * nothing can be computed meanwhile; nor with software that waits for each collective. */
static bool stops(const struct reader *r, uint32_t i)
{
    const struct program_op *op = &r->program->ops[i];

    if (!transfers(op) || is_hidden(r, op))
        return false;
    return blocks(r, op) ||
           (i > r->program->first_op && i + 1 < r->program->nops && computes(op - 1) &&
            computes(op + 1) && op[-1].part == op->part && op[1].part == op->part &&
            op[-1].stage == op->stage && op[1].stage == op->stage && program_reads(op, op - 1) &&
            program_reads(op + 1, op));
}

static bool runs_over(const struct program_op *op, int axis)
{
    for (uint32_t k = 0; op->kind == PROGRAM_RESHARD && k < op->reshard.naxes; k++)
        if (op->reshard.axes[k] == axis)
            return true;
    return false;
}

/* Whether a transfer counts in a piece of replicas: it runs between these.  One of activations that
 * also runs over other axes, such as the largest magnitude of all that is rounded together, counts
 * in the piece of layers, where it runs over those alone. */
static bool is_of_replicas(const struct reader *r, const struct program_op *op)
{
    bool mixed = false;

    if (!runs_over(op, r->dp) && !runs_over(op, r->shard))
        return false;
    for (uint32_t k = 0; k < op->reshard.naxes; k++)
        mixed |= op->reshard.axes[k] != r->dp && op->reshard.axes[k] != r->shard;
    return !mixed || r->program->buffers[op->outputs[0]].use != PROGRAM_ACTIVATIONS;
}

/* Ops with fewer bytes of results are left out of the update: the norm of gradients sums a fixed
 * number of arrays at a time, so that the number of these ops is no multiple of the layers. */
#define UPDATE_BYTES_LEAST 65536

static bool is_small(const struct reader *r, const struct program_op *op)
{
    double bytes = 0;

    for (uint32_t k = 0; k < op->noutputs; k++)
        bytes += op_seconds_bytes(&r->seconds, op->outputs[k]);
    return bytes < UPDATE_BYTES_LEAST;
}

/* Whether a transfer moves what the update has computed. */
static bool is_of_update(const struct program *program, const struct program_op *op)
{
    for (uint32_t k = 0; k < op->ninputs; k++) {
        const struct program_buffer *b = &program->buffers[op->inputs[k]];
        const struct program_op *maker = &program->ops[b->first_op];

        if (!b->argument && maker->part == PROGRAM_UPDATE &&
            (computes(maker) || is_of_update(program, maker)))
            return true;
    }
    return false;
}

/* Add an op that runs once a step.  In the update, computations run one after the other, and so do
 * the transfers of each stream, perhaps in parallel to computations; but if the software sums
 * gradients during the backward phase, these sums may be over when that phase ends, and only what
 * the update has computed is moved later. */
static void add_once(struct reader *r, uint32_t i, double seconds)
{
    const struct program_op *op = &r->program->ops[i];
    struct stage *stage = &r->stages[op->stage];
    unsigned stream;

    if (is_small(r, op))
        return;
    if (computes(op)) {
        stage->update_s[PIECE_COMPUTE] += op->part == PROGRAM_UPDATE ? seconds : 0;
        return;
    }
    if (!transfers(op))
        return;
    stream = op_seconds_stream(&r->seconds, i);
    stage->once_s[stream] += seconds;
    stage->start_s[stream] += op->part == PROGRAM_START ? seconds : 0;
    if (op->part == PROGRAM_UPDATE && is_gradient(r->program, op))
        stage->summed_s[stream] += seconds;
    if (op->part == PROGRAM_UPDATE &&
        (!r->software->overlaps_gradients ||
         (!is_gradient(r->program, op) && is_of_update(r->program, op))))
        stage->update_s[PIECE_STREAMS + stream] += seconds;
}

/* Add the least time of a chain of ops in the update: where its parts begin and end depends on the
 * number of layers.  Returns the op behind the chain; `i` if no chain begins there. */
static uint32_t add_chain(struct reader *r, uint32_t i)
{
    const struct program_op *op = &r->program->ops[i];
    uint32_t end = i;

    if (r->dp >= 0 && op->part == PROGRAM_UPDATE)
        r->stages[op->stage].update_s[PIECE_COMPUTE] +=
            op_seconds_chain(&r->seconds, i, &end) * r->slower;
    return end;
}

static double *seconds_of_part(struct stage *stage, enum program_part part)
{
    return part == PROGRAM_FORWARD    ? &stage->forward_s
           : part == PROGRAM_BACKWARD ? &stage->backward_s
                                      : &stage->weights_s;
}

/* End a row of transfers.  The row takes as long as its longest stream; what it takes more than
 * without this piece's own transfers is added to the stage. */
static void end_row(struct reader *r, bool computed)
{
    struct stage *stage = &r->stages[r->row.stage];
    double all = 0, others = 0;

    for (int k = 0; k < EVENTS_STREAMS_MAX; k++) {
        all = fmax(all, r->row.own_s[k] + r->row.others_s[k]);
        others = fmax(others, r->row.others_s[k]);
        r->row.own_s[k] = r->row.others_s[k] = 0;
    }
    stage->waits_s += all - others;
    if (stage->sent && r->row.part == PROGRAM_BACKWARD)
        stage->late_s += all - others;
    if (!computed)
        stage->last_s = fmax(stage->last_s, all - others);
    *seconds_of_part(stage, r->row.part) += all - others;
}

static void add_wait(struct reader *r, uint32_t i, double seconds, bool counts)
{
    const struct program_op *op = &r->program->ops[i];
    unsigned stream = op_seconds_stream(&r->seconds, i);

    if (r->row.stage != op->stage || r->row.part != op->part)
        end_row(r, false);
    r->row.stage = op->stage;
    r->row.part = (enum program_part)op->part;
    *(counts ? &r->row.own_s[stream] : &r->row.others_s[stream]) += seconds;
}

/* Let the computations of the phase wait. */
static void wait_until(struct reader *r, double until_s, bool last)
{
    struct clock *clock = &r->clock;
    struct stage *stage = &r->stages[clock->stage];
    double seconds = until_s - clock->core_s;

    if (!(seconds > 0))
        return;
    clock->core_s = until_s;
    stage->waits_s += seconds;
    if (stage->sent && clock->part == PROGRAM_BACKWARD)
        stage->late_s += seconds;
    if (last)
        stage->last_s = fmax(stage->last_s, seconds);
    *seconds_of_part(stage, clock->part) += seconds;
}

static void begin_turn(struct clock *clock)
{
    clock->turn++;
    memset(clock->streams_s, 0, sizeof clock->streams_s);
}

/* Come to an op's phase, from another if that is over. */
static void come_to(struct reader *r, enum program_part part, uint32_t stage)
{
    struct clock *clock = &r->clock;

    if (clock->turn > 0 && clock->part == part && clock->stage == stage)
        return;
    if (clock->turn > 0)
        wait_until(r, clock->blocked_s, true);
    begin_turn(clock);
    clock->part = part;
    clock->stage = stage;
    clock->core_s = clock->blocked_s = 0;
}

/* When the operands of an op that this turn makes are there; 0: it makes none. */
static double operands_s(const struct reader *r, const struct program_op *op)
{
    double seconds = 0;

    for (uint32_t k = 0; k < op->ninputs; k++)
        if (r->ready[op->inputs[k]].turn == r->clock.turn)
            seconds = fmax(seconds, r->ready[op->inputs[k]].seconds);
    return seconds;
}

static void set_ready(struct reader *r, const struct program_op *op, double seconds)
{
    for (uint32_t k = 0; k < op->noutputs; k++)
        r->ready[op->outputs[k]] = (struct piece_ready){r->clock.turn, seconds};
}

static bool makes_gradients(const struct program *program, const struct program_op *op)
{
    bool makes = op->accumulates;

    for (uint32_t k = 0; k < op->noutputs; k++)
        makes |= program->buffers[op->outputs[k]].use == PROGRAM_GRADIENTS;
    return makes;
}

/* The argument: computations run in the program's order, each once its operands are there;
 * transfers of a stream run in that order, too, each once its operands are there or, if it blocks,
 * after the computation in front of it.  What is not known delays nothing. */
static void time_computation(struct reader *r, const struct program_op *op, double seconds)
{
    struct clock *clock = &r->clock;

    wait_until(r, fmax(clock->blocked_s, operands_s(r, op)), false);
    clock->core_s += seconds;
    if (makes_gradients(r->program, op))
        begin_turn(clock);
    else
        set_ready(r, op, clock->core_s);
}

static void time_transfer(struct reader *r, uint32_t i, double seconds)
{
    const struct program_op *op = &r->program->ops[i];
    struct clock *clock = &r->clock;
    double *line = &clock->streams_s[op_seconds_stream(&r->seconds, i)];
    double from_s = blocks(r, op) ? clock->core_s : operands_s(r, op);

    if (is_hidden(r, op) || !(from_s > 0))
        return;
    *line = fmax(*line, from_s) + seconds;
    if (blocks(r, op))
        clock->blocked_s = fmax(clock->blocked_s, *line);
    set_ready(r, op, *line);
}

/* Whether an op makes the same in each microbatch, such as codes of rounded weights. */
static bool is_fixed(const bool *fixed, const struct program_op *op)
{
    bool all = op->ninputs > 0;

    for (uint32_t k = 0; k < op->ninputs; k++)
        all &= fixed[op->inputs[k]];
    return all;
}

static void find_fixed(bool *fixed, const struct program *p)
{
    for (uint32_t b = 0; b < p->nbuffers; b++)
        fixed[b] = p->buffers[b].argument && p->buffers[b].use == PROGRAM_PARAMETERS;
    for (uint32_t i = p->first_op; i < p->nops; i++)
        for (uint32_t k = 0; k < p->ops[i].noutputs; k++)
            fixed[p->ops[i].outputs[k]] = is_fixed(fixed, &p->ops[i]);
}

/* Whether a computation reads and writes only gradients: it does not depend on the sequences. */
static bool is_on_gradients(const struct program *program, const struct program_op *op)
{
    for (uint32_t k = 0; k < op->ninputs; k++)
        if (program->buffers[op->inputs[k]].use != PROGRAM_GRADIENTS)
            return false;
    return op->ninputs > 0 && is_gradient(program, op);
}

/* Whether gradients are made, brought together and read in one phase. */
static bool is_within_phase(const struct reader *r, uint32_t i)
{
    const struct program_op *op = &r->program->ops[i];
    uint32_t reader = r->reader[op->outputs[0]];

    if (!transfers(op) || !is_gradient(r->program, op) || reader == PROGRAM_NONE)
        return false;
    for (uint32_t k = 0; k < op->ninputs; k++) {
        const struct program_buffer *b = &r->program->buffers[op->inputs[k]];
        const struct program_op *maker = &r->program->ops[b->first_op];

        if (b->argument || maker->part != op->part || maker->stage != op->stage)
            return false;
    }
    return r->program->ops[reader].part == op->part && r->program->ops[reader].stage == op->stage;
}

/* The first computation that reads each array. */
static void find_readers(uint32_t *readers, const struct program *p)
{
    for (uint32_t b = 0; b < p->nbuffers; b++)
        readers[b] = PROGRAM_NONE;
    for (uint32_t i = p->nops; i-- > p->first_op;)
        for (uint32_t k = 0; computes(&p->ops[i]) && k < p->ops[i].ninputs; k++)
            readers[p->ops[i].inputs[k]] = i;
}

/* Seconds of an op; 0 if the op counts in the layout's other piece. */
static double seconds_of(const struct reader *r, uint32_t i)
{
    const struct program_op *op = &r->program->ops[i];

    if (r->dp >= 0 && computes(op) && op->part != PROGRAM_UPDATE &&
        !is_on_gradients(r->program, op))
        return 0;
    return op_seconds_of(&r->seconds, i, 0) * (computes(op) ? r->slower : 1);
}

static void add_of_replicas(struct reader *r, uint32_t i, double seconds, bool counts)
{
    const struct program_op *op = &r->program->ops[i];

    if (!computes(op)) {
        if (stops(r, i))
            add_wait(r, i, seconds, counts);
        return;
    }
    if (r->covered[i])
        memset(r->row.own_s, 0, sizeof r->row.own_s);
    end_row(r, r->row.stage == op->stage && r->row.part == op->part);
    r->stages[op->stage].sums_s += is_on_gradients(r->program, op) ? seconds : 0;
}

static void add_of_layers(struct reader *r, uint32_t i, double seconds, bool counts)
{
    const struct program_op *op = &r->program->ops[i];
    struct stage *stage = &r->stages[op->stage];

    come_to(r, (enum program_part)op->part, op->stage);
    if (!computes(op)) {
        if (counts)
            time_transfer(r, i, seconds);
        return;
    }
    time_computation(r, op, seconds);
    stage->sums_s += op->accumulates || is_on_gradients(r->program, op) ? seconds : 0;
    *seconds_of_part(stage, (enum program_part)op->part) += seconds;
}

static void add_op(struct reader *r, uint32_t i)
{
    const struct program_op *op = &r->program->ops[i];
    struct stage *stage = &r->stages[op->stage];
    double seconds;
    bool counts;

    if (op->kind == PROGRAM_SEND && op->part == PROGRAM_BACKWARD) {
        stage->sent = true;
        stage->late_s = 0;
    }
    if (op->kind == PROGRAM_FILL || op->kind == PROGRAM_SEND || op->kind == PROGRAM_RECV)
        return;
    seconds = seconds_of(r, i);
    if (op->part == PROGRAM_UPDATE || op->part == PROGRAM_START) {
        if (r->dp >= 0)
            add_once(r, i, seconds);
        return;
    }
    if (op->part != PROGRAM_FORWARD && op->part != PROGRAM_BACKWARD && op->part != PROGRAM_WEIGHTS)
        return;
    /* What is made of parameters alone may be made once for all microbatches. */
    if (computes(op) && is_fixed(r->fixed, op))
        return;
    /* In a piece of replicas only transfers between replicas count.  All other ops count in the
     * piece of layers, except sums of gradients over devices that hold experts together, because
     * all replicas sum these gradients. */
    counts = r->dp >= 0 ? is_of_replicas(r, op) : !(transfers(op) && is_gradient(r->program, op));
    if (counts && transfers(op))
        stage->streams_s[op_seconds_stream(&r->seconds, i)] += seconds;
    if (counts && is_within_phase(r, i))
        stage->sent_s[op_seconds_stream(&r->seconds, i)] += seconds;
    if (r->dp >= 0)
        add_of_replicas(r, i, seconds, counts);
    else
        add_of_layers(r, i, seconds, counts);
}

/* Whether transfers that a piece of layers counts may delay a computation beside others: then it is
 * not known what transfers between replicas, of which its own piece does not know the computations,
 * delay it more. */
static void cover(bool *covered, const struct program *p, uint32_t from, uint32_t to)
{
    bool any = false;

    for (uint32_t i = from + 1; i < to; i++) {
        if (makes_gradients(p, &p->ops[i]))
            return;
        any |= computes(&p->ops[i]);
    }
    for (uint32_t i = from + 1; i <= to && any; i++)
        covered[i] = true;
}

static bool is_in_phase(const struct program *p, uint32_t i, const struct program_op *op)
{
    return i != PROGRAM_NONE && p->ops[i].part == op->part && p->ops[i].stage == op->stage;
}

/* From the last computation of the phase that a transfer follows to the first that reads it. */
static void find_covered(bool *covered, uint32_t *last, const struct program *p,
                         const uint32_t *readers)
{
    for (uint32_t b = 0; b < p->nbuffers; b++)
        last[b] = PROGRAM_NONE;
    for (uint32_t i = p->first_op; i < p->nops; i++) {
        const struct program_op *op = &p->ops[i];
        uint32_t from = PROGRAM_NONE,
                 to = op->noutputs > 0 ? readers[op->outputs[0]] : PROGRAM_NONE;

        for (uint32_t k = 0; k < op->ninputs && transfers(op); k++)
            if (is_in_phase(p, last[op->inputs[k]], op) &&
                (from == PROGRAM_NONE || last[op->inputs[k]] > from))
                from = last[op->inputs[k]];
        for (uint32_t k = 0; k < op->noutputs; k++)
            last[op->outputs[k]] = computes(op) ? i : from;
        if (from != PROGRAM_NONE && is_in_phase(p, to, op) && !is_gradient(p, op))
            cover(covered, p, from, to);
    }
}

/* The stage of each array that exists before the step: the stage of the array's first reader. */
static void find_stages(uint32_t *stages, const struct program *p)
{
    memset(stages, 0, p->nbuffers * sizeof *stages);
    for (uint32_t i = p->nops; i-- > p->first_op;)
        for (uint32_t k = 0; k < p->ops[i].ninputs; k++)
            stages[p->ops[i].inputs[k]] = p->ops[i].stage;
}

static void add_buffer(struct reader *r, uint32_t b, uint32_t stage)
{
    const struct program *p = r->program;
    const struct program_buffer *buffer = &p->buffers[b];
    const struct program_op *from = &p->ops[buffer->first_op];
    enum program_part last = buffer->last_op < p->nops
                                 ? (enum program_part)p->ops[buffer->last_op].part
                                 : PROGRAM_UPDATE;

    /* What is made before the first microbatch, such as gathered parameters, stays to the end.  A
     * transfer without a partner on the layout's mesh makes nothing. */
    if (!buffer->argument && from->part == PROGRAM_START && buffer->last_op == p->nops &&
        buffer->over == PROGRAM_NONE && program_buffer_on_device(buffer) > 0 &&
        (!transfers(from) || op_seconds_of(&r->seconds, buffer->first_op, 0) > 0))
        r->stages[from->stage].state_bytes += op_seconds_bytes(&r->seconds, b);
    else if (buffer->argument &&
             (buffer->use == PROGRAM_PARAMETERS || buffer->use == PROGRAM_OPTIMIZER))
        r->stages[stage].state_bytes += op_seconds_bytes(&r->seconds, b);
    else if (buffer->use == PROGRAM_GRADIENTS && program_is_backward(from->part) &&
             from->accumulates && last == PROGRAM_UPDATE)
        r->stages[from->stage].gradient_bytes += op_seconds_bytes(&r->seconds, b);
    else if (buffer->use == PROGRAM_ACTIVATIONS && from->part == PROGRAM_FORWARD &&
             program_is_backward(last) && buffer->over == PROGRAM_NONE)
        r->stages[from->stage].saved_bytes += (double)program_buffer_on_device(buffer);
}

static bool is_activation(const struct program_buffer *b)
{
    return b->use == PROGRAM_ACTIVATIONS && !b->argument && b->over == PROGRAM_NONE;
}

/* Walk through the backward phases of a piece of layers, with what each finds of its microbatch,
 * makes and frees. */
static void find_most(struct reader *r)
{
    const struct program *p = r->program;
    double live[ATTEMPT_STAGES];
    uint32_t dead[PROGRAM_DEAD_MAX];

    for (int s = 0; s < ATTEMPT_STAGES; s++)
        live[s] = r->stages[s].saved_bytes;
    for (uint32_t i = p->first_op; i < p->nops; i++) {
        const struct program_op *op = &p->ops[i];
        struct stage *stage = &r->stages[op->stage];

        if (op->part != PROGRAM_BACKWARD)
            continue;
        for (uint32_t k = 0; k < op->noutputs; k++)
            if (is_activation(&p->buffers[op->outputs[k]]) &&
                p->buffers[op->outputs[k]].first_op == i)
                live[op->stage] += (double)program_buffer_on_device(&p->buffers[op->outputs[k]]);
        stage->most_bytes = fmax(stage->most_bytes, live[op->stage] + (double)op->workspace_bytes);
        for (uint32_t d = program_dead_buffers(p, i, dead); d-- > 0;)
            if (is_activation(&p->buffers[dead[d]]))
                live[op->stage] -= (double)program_buffer_on_device(&p->buffers[dead[d]]);
    }
}

static double above(double whole, double part)
{
    return whole > part ? whole - part : 0;
}

static void set_part(struct piece *out, enum piece_part part, const struct stage *more,
                     const struct stage *less)
{
    out->parts[part].forward_s = more->forward_s - less->forward_s;
    out->parts[part].backward_s = more->backward_s - less->backward_s;
    out->parts[part].weights_s = more->weights_s - less->weights_s;
    out->parts[part].waits_s = more->waits_s - less->waits_s;
    out->parts[part].late_s = more->late_s - less->late_s;
    out->parts[part].last_s = more->last_s - less->last_s;
    out->parts[part].sums_s = more->sums_s - less->sums_s;
    out->parts[part].saved_bytes = above(more->saved_bytes, less->saved_bytes);
    out->parts[part].state_bytes = above(more->state_bytes, less->state_bytes);
    out->parts[part].gradient_bytes = above(more->gradient_bytes, less->gradient_bytes);
    for (int k = 0; k < PIECE_NLINES; k++)
        out->parts[part].update_s[k] = above(more->update_s[k], less->update_s[k]);
    for (int k = 0; k < EVENTS_STREAMS_MAX; k++) {
        out->parts[part].streams_s[k] = above(more->streams_s[k], less->streams_s[k]);
        out->parts[part].sent_s[k] = above(more->sent_s[k], less->sent_s[k]);
        out->parts[part].once_s[k] = above(more->once_s[k], less->once_s[k]);
        out->parts[part].start_s[k] = above(more->start_s[k], less->start_s[k]);
        out->parts[part].summed_s[k] = above(more->summed_s[k], less->summed_s[k]);
    }
}

/* Lower what stages save less than their layers, and what they work on besides, to those of a stage
 * of some layers: the first layer needs no gradient of its input if nothing before it learns. */
static void least_kept(struct piece *out, const struct stage *stage, double layers)
{
    double saved = layers * out->parts[PIECE_LAYER].saved_bytes;

    out->less_bytes = fmin(out->less_bytes, stage->saved_bytes - saved);
    out->working_bytes = fmin(out->working_bytes, above(stage->most_bytes, saved));
}

/* A layer is the difference between the stage of two layers and the stage of one.  What a stage has
 * besides its layers may be negative: where layers meet, ops are fused or transfers are waited for,
 * but not where stages meet.  The ends are what the outer stages have more than a stage of one
 * layer. */
static void set_staged(struct piece *out, const struct stage stages[ATTEMPT_STAGES])
{
    set_part(out, PIECE_LAYER, &stages[2], &stages[1]);
    out->parts[PIECE_STAGE].forward_s = stages[1].forward_s - out->parts[PIECE_LAYER].forward_s;
    out->parts[PIECE_STAGE].backward_s = stages[1].backward_s - out->parts[PIECE_LAYER].backward_s;
    out->parts[PIECE_STAGE].weights_s = stages[1].weights_s - out->parts[PIECE_LAYER].weights_s;
    out->parts[PIECE_STAGE].waits_s = stages[1].waits_s - out->parts[PIECE_LAYER].waits_s;
    out->parts[PIECE_STAGE].late_s = stages[1].late_s - out->parts[PIECE_LAYER].late_s;
    out->parts[PIECE_STAGE].last_s = stages[1].last_s - out->parts[PIECE_LAYER].last_s;
    out->parts[PIECE_STAGE].sums_s = stages[1].sums_s - out->parts[PIECE_LAYER].sums_s;
    for (int s = 0; s < ATTEMPT_STAGES; s++) /* the stage of two layers has one more */
        least_kept(out, &stages[s], s == 2 ? 2 : 1);
    set_part(out, PIECE_FRONT, &stages[0], &stages[1]);
    set_part(out, PIECE_BACK, &stages[ATTEMPT_STAGES - 1], &stages[1]);
}

/* A layer is the difference between three layers and two.  What the program of two layers has more
 * than two such layers lies before and behind them: all of it counts as PIECE_FRONT. */
static void set_unstaged(struct piece *out, const struct stage *two, const struct stage *three)
{
    struct stage layers;

    set_part(out, PIECE_LAYER, three, two);
    least_kept(out, two, 2);
    layers = (struct stage){.forward_s = 2 * out->parts[PIECE_LAYER].forward_s,
                            .backward_s = 2 * out->parts[PIECE_LAYER].backward_s,
                            .waits_s = 2 * out->parts[PIECE_LAYER].waits_s,
                            .sums_s = 2 * out->parts[PIECE_LAYER].sums_s,
                            .saved_bytes = 2 * out->parts[PIECE_LAYER].saved_bytes,
                            .state_bytes = 2 * out->parts[PIECE_LAYER].state_bytes,
                            .gradient_bytes = 2 * out->parts[PIECE_LAYER].gradient_bytes};
    for (int k = 0; k < PIECE_NLINES; k++)
        layers.update_s[k] = 2 * out->parts[PIECE_LAYER].update_s[k];
    for (int k = 0; k < EVENTS_STREAMS_MAX; k++) {
        layers.streams_s[k] = 2 * out->parts[PIECE_LAYER].streams_s[k];
        layers.sent_s[k] = 2 * out->parts[PIECE_LAYER].sent_s[k];
        layers.once_s[k] = 2 * out->parts[PIECE_LAYER].once_s[k];
        layers.start_s[k] = 2 * out->parts[PIECE_LAYER].start_s[k];
        layers.summed_s[k] = 2 * out->parts[PIECE_LAYER].summed_s[k];
    }
    set_part(out, PIECE_FRONT, two, &layers);
}

static void lower_all(double *costs, const double *others, size_t n)
{
    for (size_t i = 0; i < n; i++)
        costs[i] = fmin(costs[i], others[i]);
}

static void lower_hop(struct hop *least, const struct hop *hop)
{
    lower_all(least->message_s, hop->message_s, HARDWARE_TIERS_MAX);
    least->free_s = fmax(least->free_s, hop->free_s);
    least->free_layer_s = fmax(least->free_layer_s, hop->free_layer_s);
    least->late_s = fmax(least->late_s, hop->late_s);
    least->late_layer_s = fmax(least->late_layer_s, hop->late_layer_s);
}

/* Bounds take the sums of pieces of layers off the sums of replicas. */
void piece_lower(struct piece *least, const struct piece *piece)
{
    for (int p = 0; p < PIECE_NPARTS; p++) {
        double waits_s = fmax(least->parts[p].waits_s, piece->parts[p].waits_s);
        double late_s = fmax(least->parts[p].late_s, piece->parts[p].late_s);
        double last_s = fmax(least->parts[p].last_s, piece->parts[p].last_s);
        double sums_s = fmax(least->parts[p].sums_s, piece->parts[p].sums_s);

        lower_all((double *)&least->parts[p], (const double *)&piece->parts[p],
                  sizeof least->parts[p] / sizeof(double));
        least->parts[p].waits_s = waits_s;
        least->parts[p].late_s = late_s;
        least->parts[p].last_s = last_s;
        if (least->of_layers)
            least->parts[p].sums_s = sums_s;
    }
    for (int way = 0; way < HOP_NWAYS; way++)
        lower_hop(&least->hops[way], &piece->hops[way]);
    least->computes_first |= piece->computes_first;
    least->working_bytes = fmin(least->working_bytes, piece->working_bytes);
    least->less_bytes = fmin(least->less_bytes, piece->less_bytes);
    lower_all(least->update_message_s, piece->update_message_s, HARDWARE_TIERS_MAX);
}

static int64_t nodes_of(const struct subject *subject)
{
    int64_t each = subject->hardware->tiers[0].devices;

    return each > 0 ? (subject->space.devices + each - 1) / each : 1;
}

void piece_source_fini(struct piece_source *source)
{
    if (!source->built)
        return;
    free(source->stages);
    free(source->reader);
    free(source->fixed);
    free(source->covered);
    free(source->ready);
    op_seconds_fini(&source->seconds);
    variant_fini(&source->attempt);
}

int piece_source_init(struct piece_source *out, const struct subject *subject,
                      const struct piece_of *of, int64_t layers, struct shd_error *err)
{
    const struct program *program;
    int status = attempt_init(&out->attempt, subject, of->layout, of->kind, layers, of->type, err);

    if (status != SHD_OK)
        return status;
    program = out->attempt.trial.program;
    status = op_seconds_init(&out->seconds, program, out->attempt.trial.hardware, err);
    if (status != SHD_OK) {
        variant_fini(&out->attempt);
        return status;
    }
    out->built = true;
    out->stages = malloc(((size_t)program->nbuffers + 1) * sizeof *out->stages);
    out->reader = malloc(((size_t)program->nbuffers + 1) * sizeof *out->reader);
    out->fixed = calloc((size_t)program->nbuffers + 1, sizeof *out->fixed);
    out->covered = calloc((size_t)program->nops + 1, sizeof *out->covered);
    out->ready = calloc((size_t)program->nbuffers + 1, sizeof *out->ready);
    if (!out->stages || !out->reader || !out->fixed || !out->covered || !out->ready)
        return shd_error_set(err, SHD_ENOMEM, "no memory to read a piece");
    find_readers(out->reader, program);
    if (of->kind == ATTEMPT_REPLICAS && !out->seconds.hardware->software.waits_for_collectives)
        find_covered(out->covered, out->stages, program, out->reader);
    find_stages(out->stages, program);
    find_fixed(out->fixed, program);
    return SHD_OK;
}

/* Read a program with its devices placed by a mesh. */
static int read_source(struct reader *out, const struct subject *subject,
                       const struct piece_source *source, const struct shd_mesh *mesh, bool staged,
                       struct shd_error *err)
{
    const struct hardware *hardware = source->seconds.hardware;
    const struct program *program = source->seconds.program;
    int status = SHD_OK;

    *out = (struct reader){.program = program,
                           .software = &hardware->software,
                           .seconds = source->seconds,
                           .fixed = source->fixed,
                           .reader = source->reader,
                           .covered = source->covered,
                           .ready = source->ready,
                           .slower = hardware_slowest(hardware, nodes_of(subject)),
                           .dp = shd_mesh_find_axis(program->mesh, "dp"),
                           .shard = shd_mesh_find_axis(program->mesh, "shard")};
    memset(out->ready, 0, program->nbuffers * sizeof *out->ready);
    op_seconds_lay(&out->seconds, mesh);
    for (uint32_t i = program->first_op, end; i < program->nops; i = end) {
        out->computes_first |= computes(&program->ops[i]) && program->ops[i].part == PROGRAM_START;
        end = add_chain(out, i);
        if (end == i)
            add_op(out, end++);
    }
    end_row(out, false);
    if (out->dp < 0)
        wait_until(out, out->clock.blocked_s, true);
    for (uint32_t b = 0; b < program->nbuffers; b++)
        add_buffer(out, b, source->stages[b]);
    if (out->dp < 0)
        find_most(out);
    if (staged && out->dp < 0)
        status = hops_read(out->hops, &out->seconds, out->slower, err);
    if (staged && out->dp >= 0)
        hops_read_update(out->update_message_s, &out->seconds);
    return status;
}

int piece_read(struct piece *out, const struct subject *subject,
               const struct piece_source sources[2], const struct piece_of *of,
               struct shd_error *err)
{
    bool staged = of->staged;
    struct reader first, three;
    struct shd_mesh *mesh;
    int status = attempt_mesh(&mesh, of->layout, of->kind, err);

    if (status != SHD_OK)
        return status;
    status = read_source(&first, subject, &sources[0], mesh, staged, err);
    if (status == SHD_OK && !staged)
        status = read_source(&three, subject, &sources[1], mesh, staged, err);
    shd_mesh_destroy(mesh);
    if (status != SHD_OK)
        return status;
    out->of_layers = of->kind == ATTEMPT_LAYERS;
    out->computes_first = first.computes_first;
    out->less_bytes = 0;
    out->working_bytes = INFINITY;
    if (!staged) {
        set_unstaged(out, &first.stages[0], &three.stages[0]);
        return SHD_OK;
    }
    set_staged(out, first.stages);
    memcpy(out->hops, first.hops, sizeof out->hops);
    memcpy(out->update_message_s, first.update_message_s, sizeof out->update_message_s);
    return SHD_OK;
}
