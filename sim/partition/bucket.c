/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/bucket.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct buckets {
    struct program *program;
    uint128 *live; /* [op] live bytes while the op runs */
    uint128 peak;
    uint32_t *first_read; /* [buffer] first op that reads the buffer; PROGRAM_NONE: none */
    bool *gone;           /* [op] merged into a later op */
    uint32_t *candidates; /* candidates so far, in program order */
    uint32_t ncandidates;
};

static uint64_t bytes_of(const struct program *program, const uint32_t *buffers, uint32_t n)
{
    uint64_t bytes = 0;

    for (uint32_t k = 0; k < n; k++)
        bytes += program_buffer_taken(&program->buffers[buffers[k]]);
    return bytes;
}

/* Bytes of an op's results; results written over an argument take none. */
static uint64_t bytes_made(const struct program *program, const struct program_op *op)
{
    uint64_t bytes = 0;

    for (uint32_t k = 0; k < op->noutputs; k++)
        if (program_allocates(program, op, k, true))
            bytes += bytes_of(program, &op->outputs[k], 1);
    return bytes;
}

static bool is_candidate(const struct buckets *b, uint32_t i)
{
    const struct program_op *op = &b->program->ops[i];

    /* Gathers at the start of a step stay apart: the first layer need not wait for the other
     * layers'. */
    return program_coll_kind(op) >= 0 && op->part != PROGRAM_START &&
           bytes_of(b->program, op->inputs, op->ninputs) > 0;
}

/* Whether both ops are the same collective on different arrays. */
static bool alike(const struct program *program, const struct program_op *x,
                  const struct program_op *y)
{
    const struct shd_reshard_step *a = &x->reshard, *b = &y->reshard;

    return x->part == y->part && x->stage == y->stage && a->kind == b->kind && a->dim == b->dim &&
           a->dim2 == b->dim2 && shd_reshard_is_flat(a) == shd_reshard_is_flat(b) &&
           a->naxes == b->naxes &&
           !memcmp(a->axes, b->axes, a->naxes * sizeof *a->axes) &&
           a->from.partial_op == b->from.partial_op &&
           program->buffers[x->inputs[0]].dtype == program->buffers[y->inputs[0]].dtype;
}

/* Whether op `i` may be delayed to op `until`, and one op has room for the arrays of both. */
static bool can_wait(const struct buckets *b, uint32_t i, uint32_t until)
{
    const struct program *program = b->program;
    const struct program_op *x = &program->ops[i], *y = &program->ops[until];

    for (uint32_t k = 0; k < x->noutputs; k++)
        if (b->first_read[x->outputs[k]] <= until)
            return false;
    return x->ninputs + y->ninputs <= PROGRAM_PARTS_MAX &&
           bytes_of(program, x->inputs, x->ninputs) + bytes_of(program, y->inputs, y->ninputs) <=
               BUCKET_BYTES_MAX;
}

/* Live bytes at op `at`, behind `i`, if op `i` is delayed to op `until`: its inputs live longer,
 * its results start later. */
static uint128 live_when_late(const struct buckets *b, uint32_t i, uint32_t until, uint32_t at)
{
    const struct program *program = b->program;
    const struct program_op *op = &program->ops[i];
    uint128 live = b->live[at];

    for (uint32_t k = 0; k < op->ninputs; k++)
        if (program->buffers[op->inputs[k]].last_op < at)
            live += program->buffers[op->inputs[k]].bytes;
    if (at < until)
        for (uint32_t k = 0; k < op->noutputs; k++)
            if (program->buffers[op->outputs[k]].last_op >= at &&
                program_allocates(program, op, k, true))
                live -= program->buffers[op->outputs[k]].bytes;
    return live;
}

static bool fits(const struct buckets *b, uint32_t i, uint32_t until)
{
    for (uint32_t at = i + 1; at <= until; at++)
        if (live_when_late(b, i, until, at) > b->peak)
            return false;
    return true;
}

/* Merge op `i` into the later op `into`; op `i`'s arrays come first. */
static void merge(struct buckets *b, uint32_t i, uint32_t into)
{
    struct program *program = b->program;
    struct program_op *from = &program->ops[i], *to = &program->ops[into];

    for (uint32_t at = i + 1; at <= into; at++)
        b->live[at] = live_when_late(b, i, into, at);
    for (uint32_t k = 0; k < from->ninputs; k++)
        if (program->buffers[from->inputs[k]].last_op < into)
            program->buffers[from->inputs[k]].last_op = into;
    memmove(to->inputs + from->ninputs, to->inputs, to->ninputs * sizeof *to->inputs);
    memmove(to->outputs + from->noutputs, to->outputs, to->noutputs * sizeof *to->outputs);
    memcpy(to->inputs, from->inputs, from->ninputs * sizeof *to->inputs);
    memcpy(to->outputs, from->outputs, from->noutputs * sizeof *to->outputs);
    /* Listing the reasons of all gradients of a layer would fill a page. */
    to->why = from->ninputs == 1
                  ? program_text(program, "%s; with it: %s", to->why, from->why)
                  : program_text(program, "%s; with it: %u more arrays", to->why, from->ninputs);
    to->ninputs += from->ninputs;
    to->noutputs += from->noutputs;
    b->gone[i] = true;
}

/* Merge the nearest earlier collective of the same kind into op `i`, if it can be delayed. */
static void collect(struct buckets *b, uint32_t i)
{
    const struct program *program = b->program;

    for (uint32_t k = b->ncandidates; k-- > 0;) {
        uint32_t j = b->candidates[k];

        if (b->gone[j] || !alike(program, &program->ops[j], &program->ops[i]))
            continue;
        if (can_wait(b, j, i) && fits(b, j, i))
            merge(b, j, i);
        return;
    }
}

/* Name a merged op "gradient of head/kernel and 3 more". */
static void name_bucket(struct program *program, struct program_op *op)
{
    if (program_coll_kind(op) >= 0 && op->ninputs > 1)
        op->name = program_text(program, "%s and %u more", op->name, op->ninputs - 1);
}

static void drop_gone(struct buckets *b)
{
    struct program *program = b->program;
    uint32_t n = 0;

    for (uint32_t i = 0; i < program->nops; i++) {
        if (b->gone[i])
            continue;
        name_bucket(program, &program->ops[i]);
        if (n < i)
            program->ops[n] = program->ops[i];
        n++;
    }
    program->nops = n;
    program_set_lifetimes(program);
}

static void find_live(struct buckets *b)
{
    const struct program *program = b->program;
    uint128 live = 0;
    uint32_t dead[PROGRAM_DEAD_MAX];

    memset(b->first_read, 0xff, program->nbuffers * sizeof *b->first_read);
    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];

        live += bytes_made(program, op);
        b->live[i] = live + op->workspace_bytes;
        b->peak = b->live[i] > b->peak ? b->live[i] : b->peak;
        live -= bytes_of(program, dead, program_dead_buffers(program, i, dead));
        for (uint32_t k = 0; k < op->ninputs; k++)
            if (b->first_read[op->inputs[k]] == PROGRAM_NONE)
                b->first_read[op->inputs[k]] = i;
    }
}

void bucket_collectives(struct program *program, struct pool *pool)
{
    struct buckets b = {.program = program,
                        .live = pool_array(pool, program->nops, sizeof *b.live),
                        .first_read = pool_array(pool, program->nbuffers, sizeof *b.first_read),
                        .gone = pool_array(pool, program->nops, sizeof *b.gone),
                        .candidates = pool_array(pool, program->nops, sizeof *b.candidates)};

    find_live(&b);
    for (uint32_t i = 0; i < program->nops; i++)
        if (is_candidate(&b, i)) {
            collect(&b, i);
            b.candidates[b.ncandidates++] = i;
        }
    drop_gone(&b);
    if (program->failed)
        pool_fail(pool);
}
