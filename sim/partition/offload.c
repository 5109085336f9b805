/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/offload.h"

#include <stdlib.h>
#include <string.h>

#include "partition/layer_groups.h"

/* The newest copy of a buffer in the other memory. */
struct copy {
    uint32_t buffer; /* PROGRAM_NONE: none */
    uint32_t used;   /* the last op that used it, in the order before the copies */
};

struct offload {
    struct program *program;
    struct layer_groups groups; /* of the ops as they were */
    struct copy *copies;        /* [buffer as they were] */
    uint32_t *waiting;          /* [buffer]: the copy in which a value of the forward phase waits on
                                   the host; PROGRAM_NONE: it stays on the device */
    uint32_t nbuffers;          /* as they were */
    struct program_op *ops;     /* as they were */
    uint32_t nops;
    uint32_t *made;    /* [old op]: the op's first result, or ... */
    uint32_t *another; /* ... [result]: the next of these; PROGRAM_NONE: no more */
    struct shd_error *err;
};

/* ---- where things are ---- */

/* Whether a buffer on the host draws the kernels that read it there: state, and what was computed
 * there, but not parameters. */
static bool draws(const struct program *program, uint32_t buffer)
{
    const struct program_buffer *b = &program->buffers[buffer];

    return b->on_host && !(b->argument && b->use == PROGRAM_PARAMETERS);
}

/* Whether the host computes an op.  A kernel with a workspace stays on the device. */
static bool runs_on_host(const struct program *program, const struct program_op *op)
{
    if (op->kind != PROGRAM_KERNEL || op->part != PROGRAM_UPDATE || op->workspace_bytes > 0)
        return false;
    for (uint32_t k = 0; k < op->ninputs; k++)
        if (draws(program, op->inputs[k]))
            return true;
    return false;
}

static void run_on_host(struct program *program, struct program_op *op)
{
    op->on_host = true;
    for (uint32_t k = 0; k < op->noutputs; k++)
        program->buffers[op->outputs[k]].on_host = true;
}

/* Place arguments, then kernels of the update that read state, and their results. */
static void place(struct program *program)
{
    for (uint32_t b = 0; b < program->nbuffers; b++)
        program->buffers[b].on_host = program->buffers[b].offloads && program->buffers[b].argument;
    for (uint32_t i = 0; i < program->nops; i++)
        if (runs_on_host(program, &program->ops[i]))
            run_on_host(program, &program->ops[i]);
}

/* Which buffers the device and the host read.  Results count as read by the device. */
struct readers {
    bool *device, *host; /* [buffer] */
};

/* Whether an op of the device had better run on the host: only the host reads its results, and no
 * more bytes of operands than of results would have to go there.  So gradients go in the type that
 * they were summed in, and are converted and clipped on the host. */
static bool may_follow(const struct program *program, const struct program_op *op,
                       const struct readers *readers)
{
    uint64_t operands = 0, results = 0;
    bool wanted = false;

    if (op->kind != PROGRAM_KERNEL || op->part != PROGRAM_UPDATE || op->workspace_bytes > 0)
        return false;
    for (uint32_t k = 0; k < op->noutputs; k++) {
        if (readers->device[op->outputs[k]])
            return false;
        wanted |= readers->host[op->outputs[k]];
        results += program->buffers[op->outputs[k]].bytes;
    }
    for (uint32_t k = 0; k < op->ninputs; k++)
        operands +=
            program->buffers[op->inputs[k]].on_host ? 0 : program->buffers[op->inputs[k]].bytes;
    return wanted && operands <= results;
}

/* Let ops follow their readers to the host, from the end so that all readers are placed; then
 * `readers` is complete. */
static void follow_readers(struct program *program, const struct readers *readers)
{
    for (uint32_t r = 0; r < program->nresults; r++)
        readers->device[program->results[r].buffer] = true;
    for (uint32_t i = program->nops; i-- > 0;) {
        struct program_op *op = &program->ops[i];

        if (!op->on_host && may_follow(program, op, readers))
            run_on_host(program, op);
        for (uint32_t k = 0; k < op->ninputs; k++)
            (op->on_host ? readers->host : readers->device)[op->inputs[k]] = true;
    }
}

/* Place data that only the host's kernels read, such as the learning rate, on the host. */
static void place_data(struct program *program, const struct readers *readers)
{
    for (uint32_t b = 0; b < program->nbuffers; b++) {
        struct program_buffer *buffer = &program->buffers[b];

        buffer->on_host |= buffer->argument && buffer->use == PROGRAM_DATA && readers->host[b] &&
                           !readers->device[b];
    }
}

/* Whether a buffer is a marked value of the forward phase, and no result. */
static bool may_wait(const struct offload *o, uint32_t buffer)
{
    const struct program_buffer *b = &o->program->buffers[buffer];
    bool waits = b->offloads && !b->inside && !b->argument && b->use == PROGRAM_ACTIVATIONS &&
                 o->ops[b->first_op].part == PROGRAM_FORWARD;

    for (uint32_t r = o->made[b->first_op]; waits && r != PROGRAM_NONE; r = o->another[r])
        waits = o->program->results[r].buffer != buffer;
    return waits;
}

/* ---- copies ---- */

/* Append a copy of a buffer to the program, beside an op. */
static int add_copy(struct offload *o, const struct program_op *beside, uint32_t from, bool to_host,
                    const char *why, uint32_t *out)
{
    struct program_op op = {.kind = PROGRAM_HOST,
                            .phase = beside->phase,
                            .part = beside->part,
                            .stage = beside->stage,
                            .name = beside->name,
                            .why = why,
                            .ninputs = 1,
                            .noutputs = 1,
                            .inputs = {from},
                            .to_host = to_host};
    int status = program_add_copy(out, o->program, from, to_host, o->err);

    op.outputs[0] = *out;
    return status == SHD_OK ? program_add_op(o->program, &op, o->err) : status;
}

/* Whether the copy that an earlier op used is still there for op `i`: the next layer may use it. */
static bool still_there(const struct offload *o, const struct copy *copy, uint32_t i)
{
    return copy->buffer != PROGRAM_NONE && layer_groups_same_part(&o->groups, copy->used, i) &&
           o->groups.of[i] - o->groups.of[copy->used] <= 1;
}

static const char *why_brought(struct offload *o, uint32_t i, uint32_t buffer, bool to_host)
{
    const char *name = o->program->buffers[buffer].name, *reader = o->ops[i].name;

    return to_host ? program_text(o->program, "the host computes %s and reads %s", reader, name)
                   : program_text(o->program, "%s reads %s, which lies on the host", reader, name);
}

/* Bring an operand of op `i` to the memory that the op works on. */
static int bring(struct offload *o, uint32_t i, uint32_t *operand)
{
    bool waits = program_is_backward(o->ops[i].part) && o->waiting[*operand] != PROGRAM_NONE;
    bool on_host = waits || o->program->buffers[*operand].on_host, to_host = o->ops[i].on_host;
    struct copy *copy = &o->copies[*operand];
    int status = SHD_OK;

    if (on_host == to_host)
        return SHD_OK;
    if (!still_there(o, copy, i))
        status = add_copy(o, &o->ops[i], waits ? o->waiting[*operand] : *operand, to_host,
                          why_brought(o, i, *operand, to_host), &copy->buffer);
    copy->used = i;
    *operand = copy->buffer;
    return status;
}

/* Bring the results of op `i` to the argument that they replace in the next step. */
static int return_results(struct offload *o, uint32_t i)
{
    struct program *program = o->program;
    int status = SHD_OK;

    for (uint32_t r = o->made[i]; r != PROGRAM_NONE && status == SHD_OK; r = o->another[r]) {
        struct program_result *result = &program->results[r];
        uint32_t buffer = result->buffer;

        if (result->kind != PROGRAM_NEXT ||
            program->buffers[buffer].on_host == program->buffers[result->of].on_host)
            continue;
        status = add_copy(
            o, &o->ops[i], buffer, program->buffers[result->of].on_host,
            program_text(program, "%s of the next step lies %s", result->name,
                         program->buffers[result->of].on_host ? "on the host" : "on the device"),
            &buffer);
        program->buffers[result->buffer].over = PROGRAM_NONE; /* it is a result no more */
        program->results[r].buffer = buffer;
    }
    return status;
}

/* Send the marked results of op `i` to the host, if the backward phase reads them. */
static int send_away(struct offload *o, uint32_t i, const bool *read_later)
{
    int status = SHD_OK;

    for (uint32_t k = 0; k < o->ops[i].noutputs && status == SHD_OK; k++) {
        uint32_t buffer = o->ops[i].outputs[k];

        if (read_later[buffer] && may_wait(o, buffer))
            status =
                add_copy(o, &o->ops[i], buffer, true,
                         program_text(o->program, "%s waits on the host for the backward phase",
                                      o->program->buffers[buffer].name),
                         &o->waiting[buffer]);
    }
    return status;
}

static int add_all(struct offload *o, const bool *read_later)
{
    int status = SHD_OK;

    o->program->nops = 0;
    for (uint32_t i = 0; i < o->nops && status == SHD_OK; i++) {
        struct program_op op = o->ops[i];

        for (uint32_t k = 0; k < op.ninputs && status == SHD_OK; k++)
            status = bring(o, i, &op.inputs[k]);
        if (status == SHD_OK)
            status = program_add_op(o->program, &op, o->err);
        if (status == SHD_OK)
            status = send_away(o, i, read_later);
        if (status == SHD_OK)
            status = return_results(o, i);
    }
    return status;
}

static void find_read_later(const struct program *program, bool *read_later)
{
    for (uint32_t i = 0; i < program->nops; i++)
        for (uint32_t k = 0;
             program_is_backward(program->ops[i].part) && k < program->ops[i].ninputs; k++)
            read_later[program->ops[i].inputs[k]] = true;
}

/* List the results that each op makes. */
static void find_made(struct offload *o)
{
    for (uint32_t r = o->program->nresults; r-- > 0;) {
        uint32_t op = o->program->buffers[o->program->results[r].buffer].first_op;

        o->another[r] = o->made[op];
        o->made[op] = r;
    }
}

/* An array of which every byte is 0xff: numbers are PROGRAM_NONE. */
static void *array_of_none(struct pool *pool, size_t n, size_t size)
{
    return memset(pool_array(pool, n, size), 0xff, n * size);
}

static bool is_asked(const struct program *program)
{
    for (uint32_t b = 0; b < program->nbuffers; b++)
        if (program->buffers[b].offloads)
            return true;
    return false;
}

static int build(struct program *program, struct pool *pool, struct shd_error *err)
{
    size_t nbuffers = program->nbuffers, nops = program->nops;
    bool *read_later = pool_array(pool, nbuffers, sizeof *read_later);
    const struct readers readers = {pool_array(pool, nbuffers, sizeof(bool)),
                                    pool_array(pool, nbuffers, sizeof(bool))};
    struct offload o = {.program = program,
                        .nbuffers = program->nbuffers,
                        .nops = program->nops,
                        .ops = pool_array(pool, nops, sizeof *o.ops),
                        .made = array_of_none(pool, nops, sizeof *o.made),
                        .another = pool_array(pool, program->nresults, sizeof *o.another),
                        .copies = array_of_none(pool, nbuffers, sizeof *o.copies),
                        .waiting = array_of_none(pool, nbuffers, sizeof *o.waiting),
                        .err = err};

    layer_groups_init(&o.groups, program, pool);
    program_set_lifetimes(program);
    find_made(&o);
    place(program);
    follow_readers(program, &readers);
    place_data(program, &readers);
    find_read_later(program, read_later);
    memcpy(o.ops, program->ops, nops * sizeof *o.ops);
    o.groups.ops = o.ops;
    return add_all(&o, read_later);
}

int offload_build(struct program *program, struct pool *outer, struct shd_error *err)
{
    struct pool *pool;
    int status;

    if (!is_asked(program))
        return SHD_OK;
    pool = pool_in(outer);
    status = build(program, pool, err);
    pool_drop(outer, pool);
    return status;
}
