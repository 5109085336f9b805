/* Which results overwrite the argument that they replace in the next step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "program/program.h"

#include <stdlib.h>

static bool reads(const struct program_op *op, uint32_t buffer)
{
    for (uint32_t k = 0; k < op->ninputs; k++)
        if (op->inputs[k] == buffer)
            return true;
    return false;
}

/* Whether a kernel reads each element of a buffer only where it writes the output, so that it may
 * overwrite the buffer: an elementwise one loads a block before it stores it; rows are written into
 * the array that they belong to. */
static bool reads_where_it_writes(const struct program_op *op, uint32_t buffer)
{
    const struct kern_map *m = &op->desc->map;

    if (op->kind == PROGRAM_KERNEL && op->kernel == &kern_kernel_append)
        return op->inputs[KERN_APPEND_ARRAY] == buffer;
    if (op->kind != PROGRAM_KERNEL || op->kernel != &kern_kernel_map || op->accumulates)
        return false;
    for (uint32_t k = 0; k < op->ninputs; k++)
        for (uint32_t d = 0; d < m->ndims && op->inputs[k] == buffer; d++)
            if (m->extent[d] > 1 && m->in_stride[k][d] != m->out_stride[d])
                return false;
    return true;
}

/* `last_read`: for each buffer the last op that reads it, plus one; 0 if no op does. */
static bool may_overwrite(const struct program *program, const struct program_result *result,
                          const uint32_t *last_read)
{
    uint32_t i = program->buffers[result->buffer].first_op;
    const struct program_op *op = &program->ops[i];

    if (program->microbatches > 1 && i < program->update_op)
        return false; /* the next microbatch still reads the argument */
    if (last_read[result->of] > i + 1)
        return false;
    return !reads(op, result->of) || reads_where_it_writes(op, result->of);
}

int program_update_in_place(struct program *program, struct shd_error *err)
{
    uint32_t *last_read = calloc((size_t)program->nbuffers + 1, sizeof *last_read);

    if (!last_read)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the program");
    for (uint32_t i = 0; i < program->nops; i++)
        for (uint32_t k = 0; k < program->ops[i].ninputs; k++)
            last_read[program->ops[i].inputs[k]] = i + 1;
    for (uint32_t r = 0; r < program->nresults; r++) {
        const struct program_result *result = &program->results[r];

        if (result->kind == PROGRAM_NEXT)
            program->buffers[result->buffer].over =
                may_overwrite(program, result, last_read) ? result->of : PROGRAM_NONE;
    }
    free(last_read);
    return SHD_OK;
}
