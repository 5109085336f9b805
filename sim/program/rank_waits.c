/* How long ranks of a pipeline wait for each other, with a flop as the unit of time and transfers
 * that take no time: the bubble that the schedule and uneven stages cause, before any hardware is
 * known.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>

#include "program/program.h"

#define NOT_SENT (-1.0)

/* Progress of a rank through its turns. */
struct clock {
    uint32_t turn, microbatch; /* next to do */
    double now, busy;          /* flops */
};

struct bubble {
    const struct program *program;
    struct clock *clocks; /* [rank] */
    double *flops;        /* [segment] flops of one device */
    double *sent;         /* [channel][microbatch] time of the send; NOT_SENT before it */
};

static double *sent_at(const struct bubble *b, const struct program_op *op, uint32_t microbatch)
{
    return &b->sent[(size_t)op->channel * b->program->microbatches + microbatch];
}

/* When a segment has received all its inputs; NOT_SENT if a send is still to come. */
static double ready(const struct bubble *b, const struct program_segment *segment,
                    uint32_t microbatch)
{
    double when = 0;

    for (uint32_t i = segment->first_op; i < segment->end_op; i++) {
        const struct program_op *op = &b->program->ops[i];
        double sent;

        if (op->kind != PROGRAM_RECV)
            continue;
        sent = *sent_at(b, op, microbatch);
        if (sent < 0)
            return NOT_SENT;
        when = sent > when ? sent : when;
    }
    return when;
}

static void do_segment(struct bubble *b, struct clock *c, const struct program_turn *turn)
{
    const struct program_segment *segment = &b->program->segments[turn->segment];
    uint32_t microbatch = turn->microbatch + c->microbatch;

    c->now += b->flops[turn->segment];
    c->busy += b->flops[turn->segment];
    for (uint32_t i = segment->first_op; i < segment->end_op; i++)
        if (b->program->ops[i].kind == PROGRAM_SEND)
            *sent_at(b, &b->program->ops[i], microbatch) = c->now;
}

/* Advance a rank until it has to wait.  Returns whether it made progress. */
static bool advance(struct bubble *b, uint32_t rank)
{
    const struct program *program = b->program;
    struct clock *c = &b->clocks[rank];
    bool any = false;

    while (c->turn < program->first_turn[rank + 1]) {
        const struct program_turn *turn = &program->turns[c->turn];
        const struct program_segment *segment = &program->segments[turn->segment];
        double when = 0;

        if (!program_segment_is_once(segment)) {
            when = ready(b, segment, turn->microbatch + c->microbatch);
            if (when < 0)
                break;
            c->now = when > c->now ? when : c->now;
            do_segment(b, c, turn);
        }
        any = true;
        if (++c->microbatch < turn->count)
            continue;
        c->microbatch = 0;
        c->turn++;
    }
    return any;
}

static void count_flops(struct bubble *b)
{
    const struct program *program = b->program;

    for (uint32_t s = 0; s < program->nsegments; s++)
        for (uint32_t i = program->segments[s].first_op; i < program->segments[s].end_op; i++) {
            const struct program_op *op = &program->ops[i];

            b->flops[s] += (double)program_op_flops(program, op, program_doer(program, op, 0));
        }
}

static void walk(struct bubble *b)
{
    bool any = true;

    while (any) {
        any = false;
        for (uint32_t rank = 0; rank < b->program->nranks; rank++)
            any |= advance(b, rank);
    }
}

static bool allocate(struct bubble *b)
{
    const struct program *program = b->program;
    size_t n = (size_t)program->nchannels * program->microbatches;

    b->clocks = calloc(program->nranks, sizeof *b->clocks);
    b->flops = calloc((size_t)program->nsegments + 1, sizeof *b->flops);
    b->sent = malloc((n + 1) * sizeof *b->sent);
    if (!b->clocks || !b->flops || !b->sent)
        return false;
    for (size_t i = 0; i < n; i++)
        b->sent[i] = NOT_SENT;
    for (uint32_t rank = 0; rank < program->nranks; rank++)
        b->clocks[rank].turn = program->first_turn[rank];
    return true;
}

int program_bubble(double *out, const struct program *program, struct shd_error *err)
{
    struct bubble b = {.program = program};
    double span = 0, busy = 0;
    bool allocated = program->nranks > 1 && allocate(&b);

    if (allocated) {
        count_flops(&b);
        walk(&b);
        for (uint32_t rank = 0; rank < program->nranks; rank++) {
            span = b.clocks[rank].now > span ? b.clocks[rank].now : span;
            busy += b.clocks[rank].busy / program->nranks;
        }
    }
    free(b.clocks);
    free(b.flops);
    free(b.sent);
    if (program->nranks > 1 && !allocated)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the bubble of a pipeline");
    *out = span > 0 ? 1 - busy / span : 0;
    return SHD_OK;
}
