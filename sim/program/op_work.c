/* An op's kernel offsets and flops on each device, and how much of the step's work devices repeat.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "program/program.h"

void program_op_offsets(const struct program *program, const struct program_op *op,
                        int32_t position, int64_t offsets[KERN_OFFSETS_MAX])
{
    int64_t start[SHD_RANK_MAX];

    for (uint32_t k = 0; k < op->noffsets; k++) {
        const struct program_buffer *b = &program->buffers[op->offsets[k].buffer];

        shd_sharding_offset(&b->sharding, b->shape, position, start);
        offsets[k] = start[op->offsets[k].dim];
    }
}

uint64_t program_op_flops(const struct program *program, const struct program_op *op,
                          int32_t position)
{
    int64_t offsets[KERN_OFFSETS_MAX] = {0};

    if (op->kind != PROGRAM_KERNEL || !program_holds(program, program_rank(program, position), op))
        return 0;
    if (!op->kernel->dense_flops) /* without kernel->dense_flops offsets have no influence:
                                     counted when the op was made */
        return op->dense_flops;
    program_op_offsets(program, op, position, offsets);
    return kern_flops(op->kernel, op->desc, offsets);
}

bool program_op_skips(const struct program_op *op)
{
    return op->kind == PROGRAM_KERNEL && kern_skips(op->kernel, op->desc);
}

/* How many devices along an asked axis repeat an op: those along parts of the axis that do not
 * shard the op and are not the stage axis. */
static int32_t times_done(const struct program *program, const struct program_op *op, uint8_t asked)
{
    int32_t times = 1;

    for (size_t a = 0; a < shd_mesh_naxes(program->mesh); a++)
        if (program->asked_axis[a] == asked && !(op->cut_axes >> a & 1) &&
            (int)a != program->stage_axis)
            times *= shd_mesh_axis_size(program->mesh, a);
    return times;
}

static void work_along(struct program_work_axis *out, const struct program *program, uint8_t asked)
{
    int32_t size = shd_mesh_axis_size(program->asked_mesh, asked);
    double all = 0, repeated = 0;

    *out = (struct program_work_axis){.idle = true, .times = 1};
    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];
        int32_t times = times_done(program, op, asked);

        if (op->kind != PROGRAM_KERNEL || op->dense_flops == 0)
            continue;
        all += (double)op->dense_flops * op->times;
        repeated += times > 1 ? (double)op->dense_flops * op->times : 0;
        out->idle &= times == size;
        out->times = times > out->times ? times : out->times;
    }
    out->idle &= all > 0 && size > 1;
    out->repeated = all > 0 ? repeated / all : 0;
}

/* Causal attention as one kernel; unfused attention is matmuls over all scores. */
static bool is_causal_attention(const struct program_op *op)
{
    if (op->kind != PROGRAM_KERNEL ||
        (op->kernel != &kern_kernel_attention && op->kernel != &kern_kernel_attention_grad))
        return false;
    return op->desc->attention.sight ? op->desc->attention.sight->causal
                                     : op->desc->attention.causal;
}

void program_work(struct program_work *out, const struct program *program)
{
    *out = (struct program_work){.unsharded_flops = 0};
    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];

        out->unsharded_flops += (uint128)op->unsharded_flops * op->times;
        *(op->again ? &out->again_flops : &out->model_flops) +=
            (uint128)op->model_flops * op->times;
        if (!op->again && is_causal_attention(op))
            out->causal_flops += (uint128)op->model_flops * op->times;
    }
    for (size_t a = 0; a < shd_mesh_naxes(program->asked_mesh); a++)
        work_along(&out->axes[a], program, (uint8_t)a);
}

static double count_parameters(const struct program *program, bool frozen)
{
    double all = 0;

    for (uint32_t i = 0; i < program->nbuffers; i++) {
        const struct program_buffer *b = &program->buffers[i];
        double elements = b->packs;

        if (!b->argument || b->use != PROGRAM_PARAMETERS || (b->frozen && !frozen))
            continue;
        for (uint32_t d = 0; d < b->rank; d++)
            elements *= (double)b->held[d];
        all += elements;
    }
    return all;
}

double program_parameters(const struct program *program)
{
    return count_parameters(program, true);
}

double program_learned(const struct program *program)
{
    return count_parameters(program, false);
}
