/* Finding chains of kernels (op_chains.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cost/op_chains.h"

#include "program/rows.h"

/* Whether the step is run by an engine whose kernels were measured. */
static bool is_measured(const struct op_seconds *s)
{
    return s->hardware->served && s->hardware->by_models && s->hardware->models;
}

/* Whether engines fuse a kernel with its neighbours, where software for training starts it alone.
 */
static bool is_fused_by_engines(const struct kern_kernel *kernel)
{
    return kernel == &kern_kernel_topk || kernel == &kern_kernel_pick ||
           kernel == &kern_kernel_slots || kernel == &kern_kernel_encode ||
           kernel == &kern_kernel_quantize || kernel == &kern_kernel_rope ||
           kernel == &kern_kernel_append || kernel == &kern_kernel_window;
}

/* Whether a kernel may be part of a chain if it is bound by memory. */
static bool is_chained(const struct op_seconds *s, const struct program_op *op)
{
    return op->kernel == &kern_kernel_map || op->kernel == &kern_kernel_reduce ||
           op->kernel == &kern_kernel_einsum || (is_measured(s) && is_fused_by_engines(op->kernel));
}

/* Whether an op is bound by memory and may be part of a chain. */
static bool may_chain(const struct op_seconds *s, uint32_t i)
{
    const struct program_op *op = &s->program->ops[i];

    return op->kind == PROGRAM_KERNEL && is_chained(s, op) &&
           op_seconds_is_kind(op, HARDWARE_MEMORY);
}

/* Whether no kernel has taken an op's time or bytes yet. */
static bool is_free(const struct op_seconds *s, uint32_t i)
{
    return !s->moves[i].elsewhere && !(s->moves[i].bytes > 0);
}

/* Whether ops of a chain follow each other: on the same cores of the same stage.  The update on the
 * host is one loop over all arrays of a parameter, whatever the device's software does. */
static bool goes_on(const struct op_seconds *s, uint32_t from, uint32_t i)
{
    const struct program_op *a = &s->program->ops[from], *b = &s->program->ops[i];

    return a->stage == b->stage && a->on_host == b->on_host &&
           s->moves[from].hidden == s->moves[i].hidden &&
           (a->on_host || s->hardware->software.fuses_elementwise) && is_free(s, i) &&
           may_chain(s, i);
}

/* ---- what a chain moves ---- */

/* Count an array that a chain reads or writes. */
static void add_moved(struct op_moves *out, const struct op_seconds *s, uint32_t buffer)
{
    double bytes = op_seconds_bytes(s, buffer);

    if (!s->program->buffers[buffer].routing) {
        out->bytes += bytes;
        return;
    }
    out->rows += bytes;
    out->taken = buffer;
}

/* Whether an earlier op of a chain reads a buffer, too. */
static bool is_read_before(const struct op_seconds *s, uint32_t first, uint32_t i, uint32_t buffer)
{
    for (uint32_t j = first; j < i; j++)
        for (uint32_t m = 0; m < s->program->ops[j].ninputs; m++)
            if (s->program->ops[j].inputs[m] == buffer && may_chain(s, j))
                return true;
    return false;
}

/* Whether a buffer comes from outside of a chain whose first op is `first`. */
static bool is_from_outside(const struct op_seconds *s, uint32_t first, uint32_t buffer)
{
    const struct program_buffer *b = &s->program->buffers[buffer];

    return b->argument || b->first_op < first || !may_chain(s, b->first_op);
}

/* Count the bytes that an op of a chain moves, the chain ending before `end`.  An op that appends
 * writes its rows alone. */
static void add_op(struct op_moves *out, const struct op_seconds *s, uint32_t first, uint32_t i,
                   uint32_t end)
{
    const struct program_op *op = &s->program->ops[i];
    bool appends = op->kernel == &kern_kernel_append;

    for (uint32_t k = appends ? KERN_APPEND_ROWS : 0; k < op->ninputs; k++)
        if (is_from_outside(s, first, op->inputs[k]) && !is_read_before(s, first, i, op->inputs[k]))
            add_moved(out, s, op->inputs[k]);
    if (appends) {
        add_moved(out, s, op->inputs[KERN_APPEND_ROWS]);
        return;
    }
    for (uint32_t k = 0; k < op->noutputs; k++) {
        if (s->program->buffers[op->outputs[k]].last_op >= end || op->accumulates)
            add_moved(out, s, op->outputs[k]);
        if (op->accumulates)
            add_moved(out, s, op->outputs[k]);
    }
}

/* What the chained ops of first..end-1 read from others and leave for later ops. */
static struct op_moves outer_moves(const struct op_seconds *s, uint32_t first, uint32_t end)
{
    struct op_moves out = {.bytes = 0};

    for (uint32_t i = first; i < end; i++)
        if (may_chain(s, i))
            add_op(&out, s, first, i, end);
    return out;
}

double op_chains_bytes(const struct op_seconds *s, const struct op_moves *m, int32_t position)
{
    return m->bytes + (m->rows > 0
                           ? m->rows * program_rows_taken(&s->program->buffers[m->taken], position)
                           : 0);
}

/* ---- finding them ---- */

static bool is_product(const struct op_seconds *s, uint32_t i)
{
    const struct program_op *op = &s->program->ops[i];

    return op_seconds_is_kind(op, HARDWARE_MATMUL) && !op->on_host;
}

/* Whether a buffer is a parameter, or a parameter masked on all devices but one. */
static bool is_parameter(const struct op_seconds *s, uint32_t buffer)
{
    const struct program_buffer *b = &s->program->buffers[buffer];
    const struct program_op *op = &s->program->ops[b->first_op];

    return b->use == PROGRAM_PARAMETERS ||
           (!b->argument && op->kind == PROGRAM_RESHARD && op->reshard.kind == SHD_RESHARD_MASK &&
            is_parameter(s, op->inputs[0]));
}

/* Whether an op adds a parameter to a product's results, as a product does before writing, or masks
 * such a parameter. */
static bool is_bias(const struct op_seconds *s, uint32_t i)
{
    const struct program *program = s->program;
    const struct program_op *op = &program->ops[i];
    const struct program_buffer *sums = &program->buffers[op->inputs[0]];

    if (op->kind == PROGRAM_RESHARD)
        return is_parameter(s, op->outputs[0]);
    return op->kind == PROGRAM_KERNEL && op->kernel == &kern_kernel_map && op->ninputs == 2 &&
           is_parameter(s, op->inputs[1]) && !sums->argument && sums->last_op == i &&
           is_product(s, sums->first_op);
}

static void find_biases(struct op_seconds *s)
{
    for (uint32_t i = s->program->first_op; i < s->program->nops; i++)
        if (is_bias(s, i))
            s->moves[i].elsewhere = true;
}

/* Models of experts have the time in which a device moves their rows to them and back. */
static void find_rows(struct op_seconds *s)
{
    for (uint32_t i = s->program->first_op; i < s->program->nops; i++)
        if (s->program->ops[i].kind == PROGRAM_ROWS && !program_communicates(&s->program->ops[i]))
            s->moves[i].elsewhere = true;
}

/* Ops of a chain: enough for a norm with its sums.  Longer chains are split, so that searching for
 * operands read twice stays cheap. */
#define CHAIN_MAX 16

/* The op behind the last op of the chain that begins with `from`. */
static uint32_t end_of_chain(const struct op_seconds *s, uint32_t from, uint32_t end)
{
    uint32_t behind = from;

    for (uint32_t i = from; goes_on(s, from, from) && i < end && i - from < CHAIN_MAX; i++)
        if (goes_on(s, from, i))
            behind = i + 1;
        else if (!s->moves[i].elsewhere)
            break;
    return behind;
}

static void find_chains(struct op_seconds *s, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end;) {
        uint32_t behind = end_of_chain(s, i, end);
        struct op_moves moves;

        if (behind == i) {
            i++;
            continue;
        }
        moves = outer_moves(s, i, behind);
        moves.hidden = s->moves[i].hidden;
        for (uint32_t k = i; k < behind; k++)
            s->moves[k].elsewhere = true;
        s->moves[i] = moves;
        i = behind;
    }
}

void op_chains_find(struct op_seconds *s)
{
    const struct program *program = s->program;

    if (is_measured(s))
        find_biases(s);
    if (s->hardware->by_models && s->hardware->models)
        find_rows(s);
    for (uint32_t k = 0; k < program->nsegments; k++)
        find_chains(s, program->segments[k].first_op, program->segments[k].end_op);
}

double op_seconds_chain(const struct op_seconds *s, uint32_t first, uint32_t *end)
{
    const struct program_op *ops = s->program->ops;
    struct hardware_work work;
    struct op_moves moves;
    uint32_t i = first;

    while (s->hardware->software.fuses_elementwise && i < s->program->nops && may_chain(s, i) &&
           ops[i].part == ops[first].part && ops[i].stage == ops[first].stage)
        i++;
    *end = i;
    if (i == first || !op_seconds_work(&work, s, first, program_doer(s->program, &ops[first], 0)))
        return 0;
    moves = outer_moves(s, first, i);
    work.bytes = op_chains_bytes(s, &moves, program_doer(s->program, &ops[first], 0));
    return hardware_kernel_seconds(s->hardware, &work);
}
