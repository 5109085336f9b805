/* What an op computes where: the offsets that its kernel gets on a device, and its flops there.
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

    if (op->kind != PROGRAM_KERNEL)
        return 0;
    if (op->kernel->dense_flops) /* else no offset changes them */
        program_op_offsets(program, op, position, offsets);
    return op->kernel->flops(&op->desc, offsets);
}
