/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/op_experts.h"

#include "hardware/kernel_work.h"

#define NEAR 24           /* ops among which a layer's dispatch, combine and sum are looked for */
#define FEW_TOKENS 256.0 /* of a step with both kinds of experts beside each other */

/* Ops first..end-1. */
struct range {
    uint32_t first, end;
};

/* Whether an op reads what an op of a range made. */
static bool reads_from(const struct op_seconds *s, uint32_t i, struct range range)
{
    const struct program_op *op = &s->program->ops[i];
    bool reads = false;

    for (uint32_t k = 0; k < op->ninputs; k++) {
        const struct program_buffer *b = &s->program->buffers[op->inputs[k]];

        reads |= !b->argument && b->first_op >= range.first && b->first_op < range.end;
    }
    return reads;
}

static uint32_t last_near(const struct op_seconds *s, uint32_t i)
{
    return i + NEAR < s->program->nops ? i + NEAR : s->program->nops;
}

/* The tokens of a branch's products; 0: it has none. */
static double tokens_of(const struct op_seconds *s, struct range range)
{
    struct hardware_work work;
    double tokens = 0;

    for (uint32_t i = range.first; i < range.end; i++)
        if (op_seconds_work(&work, s, i, program_doer(s->program, &s->program->ops[i], 0)) &&
            work.kind == HARDWARE_MATMUL)
            tokens = (double)work.m;
    return tokens;
}

/* The first ops from `from` on whose inputs are older than a combine, up to an op with a younger
 * input. */
static struct range next_apart(const struct op_seconds *s, uint32_t combine, uint32_t from,
                               uint32_t end)
{
    struct range apart = {from, from};

    while (apart.first < end && reads_from(s, apart.first, (struct range){combine, apart.first}))
        apart.first++;
    apart.end = apart.first;
    while (apart.end < end && !program_communicates(&s->program->ops[apart.end]) &&
           !reads_from(s, apart.end, (struct range){combine, apart.first}))
        apart.end++;
    return apart;
}

/* The branch behind a combine whose results are added to its rows, products among its ops.  Empty:
 * no such branch. */
static struct range branch_behind(const struct op_seconds *s, uint32_t combine)
{
    uint32_t end = last_near(s, combine);
    struct range branch = next_apart(s, combine, combine + 1, end);

    while (branch.end < end && tokens_of(s, branch) == 0)
        branch = next_apart(s, combine, branch.end + 1, end);
    if (branch.end >= end || !reads_from(s, branch.end, branch))
        branch.end = branch.first;
    return branch;
}

/* Seconds of the kernels of a range. */
static double range_seconds(const struct op_seconds *s, struct range range)
{
    struct hardware_work work;
    double seconds = 0;

    for (uint32_t i = range.first; i < range.end; i++)
        if (op_seconds_work(&work, s, i, program_doer(s->program, &s->program->ops[i], 0)))
            seconds += hardware_kernel_seconds(s->hardware, &work);
    return seconds;
}

void op_experts_hide(struct op_seconds *s)
{
    uint32_t dispatch = PROGRAM_NONE;

    if (!s->hardware->models)
        return;
    for (uint32_t i = s->program->first_op; i < s->program->nops; i++) {
        const struct program_op *op = &s->program->ops[i];
        struct range branch;
        double tokens;

        if (op->kind != PROGRAM_ROWS || op->rows.beside)
            continue;
        if (!op->rows.combines)
            dispatch = i;
        if (!op->rows.combines || dispatch == PROGRAM_NONE || i - dispatch > NEAR)
            continue;
        branch = branch_behind(s, i);
        tokens = tokens_of(s, branch);
        if (tokens > 0 && tokens <= FEW_TOKENS &&
            range_seconds(s, branch) <= range_seconds(s, (struct range){dispatch, i}))
            for (uint32_t k = branch.first; k < branch.end; k++)
                s->moves[k].hidden = true;
    }
}

/* ---- starts of kernels ---- */

/* Experts of a device whose rows an op reads; 0: it reads none. */
static int64_t experts_of(const struct program *program, const struct program_op *op)
{
    for (uint32_t k = 0; k < op->ninputs; k++) {
        const struct program_buffer *b = &program->buffers[op->inputs[k]];

        if (b->routing)
            return b->local[b->expert_dim];
    }
    return 0;
}

static bool is_expert_product(const struct program_op *op)
{
    return op->kernel == &kern_kernel_grouped || op->kernel == &kern_kernel_coded_grouped;
}

/* Whether an op of first..i-1 rounds the array that op i rounds: one kernel makes the codes of
 * rows and of columns. */
static bool is_rounded_before(const struct program *program, uint32_t first, uint32_t i)
{
    const struct program_op *ops = program->ops;

    while (first < i && (ops[first].kind != PROGRAM_KERNEL ||
                         ops[first].kernel != &kern_kernel_encode ||
                         ops[first].inputs[0] != ops[i].inputs[0]))
        first++;
    return first < i;
}

/* The host's time to start the kernels of op i, one for each expert, behind those of first..i-1; 0:
 * it has none. */
static double starts_of(const struct op_seconds *s, uint32_t first, uint32_t i)
{
    const struct hardware_software *software = &s->hardware->software;
    const struct program_op *op = &s->program->ops[i];

    if (op->kind != PROGRAM_KERNEL || op->on_host)
        return 0;
    if (is_expert_product(op))
        return software->expert_launch_s * (double)experts_of(s->program, op);
    if (op->kernel == &kern_kernel_encode && !is_rounded_before(s->program, first, i))
        return software->expert_coding_s * (double)experts_of(s->program, op);
    return 0;
}

void op_experts_start(struct op_seconds *s)
{
    uint32_t first = PROGRAM_NONE, last = PROGRAM_NONE;
    double starts = 0;

    for (uint32_t i = s->program->first_op; i < s->program->nops && !s->hardware->by_models; i++) {
        const struct program_op *op = &s->program->ops[i];

        if (op->kind == PROGRAM_ROWS && !op->rows.beside) {
            if (op->rows.combines && last != PROGRAM_NONE) {
                s->moves[last].first = first;
                s->moves[last].starts_s = starts;
            }
            first = op->rows.combines ? PROGRAM_NONE : i + 1;
            last = PROGRAM_NONE;
            starts = 0;
        } else if (first != PROGRAM_NONE) {
            double more = starts_of(s, first, i);

            starts += more;
            last = more > 0 && is_expert_product(op) ? i : last;
        }
    }
}

/* ---- exchanges of rows ---- */

/* Tokens of a device, where each has as many of those that devices of the group have together. */
static double tokens_each(const struct op_seconds *s, const struct program_op *op, double devices)
{
    uint32_t of = op->rows.combines ? op->outputs[0] : op->inputs[0];
    const struct program_buffer *b = &s->program->buffers[of];
    uint32_t cut = shd_sharding_axes(&b->sharding);
    uint32_t last = b->rank - (op->rows.combines && !op->rows.sums ? 2 : 1);
    double tokens = 1;

    for (uint32_t d = 0; d < last; d++)
        tokens *= (double)b->local[d];
    for (uint8_t a = 0; a < op->rows.naxes; a++)
        if (cut >> op->rows.axes[a] & 1)
            tokens *= (double)shd_mesh_axis_size(s->program->mesh, op->rows.axes[a]);
    return tokens / devices;
}

const struct kernel_model *op_experts_exchange(struct kernel_sizes *out, const struct op_seconds *s,
                                               uint32_t i)
{
    const struct hardware_software *software = &s->hardware->software;
    const char *name = s->prompts ? software->prompts_exchange : software->exchange;
    const struct program_op *op = &s->program->ops[i];
    const struct program_buffer *rows = &s->program->buffers[op->inputs[0]];
    const struct kernel_model *model;
    struct hardware_group group;
    double devices;

    if (!s->hardware->served || !name || op->kind != PROGRAM_ROWS ||
        op->rows.way != PROGRAM_ROWS_DIRECT || !op->rows.routing || !program_communicates(op))
        return NULL;
    model = kernel_work_find_named(s->hardware,
                                   op->rows.combines ? KERNEL_COMBINE : KERNEL_DISPATCH, name);
    op_seconds_group(&group, s, i);
    devices = (double)group.members;
    if (!model || group.inside[0] != group.members)
        return NULL;
    *out = (struct kernel_sizes){.devices = devices};
    kernel_work_set_exchange(out, tokens_each(s, op, devices), (double)rows->local[rows->rank - 1],
                             op->rows.routing->experts, op->rows.routing->choices, devices, 2);
    return model;
}
