/* How often a step does what, and in which order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "program/program.h"

/* What a microbatch leaves must be a sum over all of them, and nothing of one comes after the
 * update has begun. */
static int check_left(const struct program *program, struct shd_error *err)
{
    for (uint32_t i = program->update_op; i < program->nops; i++)
        if (program->ops[i].phase < PROGRAM_PHASE_UPDATE)
            return shd_error_set(err, SHD_EUNSUPPORTED,
                                 "'%.100s' of a microbatch is after the update",
                                 program->ops[i].name);
    for (uint32_t b = 0; b < program->nbuffers; b++) {
        const struct program_buffer *buffer = &program->buffers[b];

        if (buffer->argument || buffer->first_op >= program->update_op ||
            buffer->last_op < program->update_op || program->ops[buffer->first_op].accumulates)
            continue;
        return shd_error_set(err, SHD_EUNSUPPORTED,
                             "'%.100s' of one microbatch is wanted when all are done",
                             buffer->name);
    }
    return SHD_OK;
}

int program_set_microbatches(struct program *program, uint32_t microbatches, struct shd_error *err)
{
    program->microbatches = microbatches;
    for (uint32_t i = program->first_op; i < program->update_op; i++)
        program->ops[i].times = microbatches;
    return microbatches > 1 ? check_left(program, err) : SHD_OK;
}

static uint64_t ops_of_microbatch(const struct program *program)
{
    return program->update_op - program->first_op;
}

static uint64_t update_begin(const struct program *program)
{
    return ops_of_microbatch(program) * program->microbatches;
}

uint64_t program_nactions(const struct program *program)
{
    return update_begin(program) + program->nops - program->update_op;
}

struct program_action program_action_at(const struct program *program, uint64_t action)
{
    uint64_t n = ops_of_microbatch(program);

    if (action >= update_begin(program))
        return (struct program_action){program->update_op +
                                           (uint32_t)(action - update_begin(program)),
                                       program->microbatches - 1};
    return (struct program_action){program->first_op + (uint32_t)(action % n),
                                   (uint32_t)(action / n)};
}

uint64_t program_action_of(const struct program *program, uint64_t action, uint32_t op)
{
    uint64_t at;

    if (op < program->first_op)
        return UINT64_MAX;
    if (op >= program->update_op)
        return update_begin(program) + (op - program->update_op);
    at = program_action_at(program, action).microbatch * ops_of_microbatch(program) +
         (op - program->first_op);
    return at <= action ? at : at - ops_of_microbatch(program);
}

bool program_begins_microbatch(const struct program *program, uint64_t action)
{
    return action < update_begin(program) && action % ops_of_microbatch(program) == 0;
}

bool program_allocates(const struct program *program, const struct program_op *op, uint32_t output,
                       uint32_t microbatch)
{
    if (op->accumulates)
        return microbatch == 0;
    return program->buffers[op->outputs[output]].over == PROGRAM_NONE;
}
