/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/op_codes.h"

#define FEW_BITS 0.4 /* of 16: between codes of 4 bits and those of 8, with scales */

/* The op that makes a buffer's numbers of codes, or the scales of such; PROGRAM_NONE: none does. */
static uint32_t unpacker(const struct program *program, uint32_t buffer, bool scales)
{
    const struct program_buffer *b = &program->buffers[buffer];
    const struct program_op *op = &program->ops[b->first_op];

    return !b->argument && op->kind == PROGRAM_KERNEL &&
                   (op->kernel == &kern_kernel_dequantize ||
                    (scales && op->kernel == &kern_kernel_map))
               ? b->first_op
               : PROGRAM_NONE;
}

/* Bytes that are read in place of a buffer that is made of codes: theirs and those of their scales.
 * What makes them has no time of its own any more. */
static double unpacked_bytes(struct op_seconds *s, uint32_t op)
{
    const struct program_op *o = &s->program->ops[op];
    double bytes = 0;

    s->moves[op].elsewhere = true;
    for (uint32_t k = 0; k < o->ninputs; k++) {
        uint32_t from = unpacker(s->program, o->inputs[k], true);

        bytes += from == PROGRAM_NONE ? op_seconds_bytes(s, o->inputs[k]) : unpacked_bytes(s, from);
    }
    return bytes;
}

/* The type of models of measured kernels whose weights are so many bytes of codes in place of
 * numbers of 16 bits: with 8 bits a code the bytes alone tell them from numbers. */
static enum kernel_type weights_type(const struct op_seconds *s, uint32_t unpacker, double numbers,
                                     double codes)
{
    const struct program_op *op = &s->program->ops[unpacker];

    if (codes > FEW_BITS * numbers)
        return KERNEL_BF16;
    return op->kernel == &kern_kernel_dequantize && op->desc->dequantize.type == KERN_MXFP4
               ? KERNEL_MXFP4_WEIGHTS
               : KERNEL_INT4_WEIGHTS;
}

/* Whether an op is a product, whose operands may be made while it reads them. */
static bool is_product(const struct program_op *op)
{
    return op->kind == PROGRAM_KERNEL &&
           (op->kernel == &kern_kernel_einsum || op->kernel == &kern_kernel_grouped);
}

/* Bytes of the keys and values that attention reads: those that it reads less with half or fewer
 * bytes for each. */
static double key_bytes(const struct op_seconds *s, const struct program_op *op)
{
    union kern_desc desc = *op->desc;
    int64_t offsets[KERN_OFFSETS_MAX];
    double each = (double)shd_dtype_size(desc.attention.dtype), all;

    program_op_offsets(s->program, op, program_doer(s->program, op, 0), offsets);
    all = (double)op->kernel->bytes(&desc, offsets);
    desc.attention.code = SHD_F8E4M3;
    return (all - (double)op->kernel->bytes(&desc, offsets)) * each / (each - 1);
}

/* Let attention read the codes of its keys and values, as many of them as of the numbers. */
static void read_codes(struct op_seconds *s, uint32_t i)
{
    const struct program_op *op = &s->program->ops[i];
    double numbers = 0, codes = 0;
    struct hardware_work work;

    for (uint32_t k = 1; k < 3; k++) {
        uint32_t from = unpacker(s->program, op->inputs[k], false);

        if (from == PROGRAM_NONE)
            return;
        numbers += op_seconds_bytes(s, op->inputs[k]);
        codes += unpacked_bytes(s, from);
    }
    if (numbers > 0 && op_seconds_work(&work, s, i, program_doer(s->program, op, 0)))
        s->moves[i].bytes = work.bytes - key_bytes(s, op) * (1 - codes / numbers);
    s->moves[i].coded = true;
    s->moves[i].type = KERNEL_BF16_FP8;
}

/* Let the kernel that writes codes of 4 bits into a cache round them, and write their scales, too:
 * it reads what is rounded in place of the codes.  Codes of 8 bits are rounded on their own, which
 * meets published figures better. */
static void write_codes(struct op_seconds *s, uint32_t i)
{
    const struct program_op *op = &s->program->ops[i], *rounds;
    const struct program_buffer *rows = &s->program->buffers[op->inputs[KERN_APPEND_ROWS]];
    struct hardware_work work;

    if (rows->argument)
        return;
    rounds = &s->program->ops[rows->first_op];
    if (rounds->kind != PROGRAM_KERNEL || rounds->kernel != &kern_kernel_quantize)
        return;
    if (op->inputs[KERN_APPEND_ROWS] != rounds->outputs[0]) { /* scales, beside their codes */
        s->moves[i].elsewhere = true;
        return;
    }
    if (!op_seconds_work(&work, s, rows->first_op, program_doer(s->program, rounds, 0)))
        return;
    s->moves[i].bytes = work.bytes;
    s->moves[rows->first_op].elsewhere = true;
}

/* Whether no group has elements of two tokens, which are the first two dimensions of activations
 * (batch and sequence, or expert and slot). */
static bool is_of_tokens(const struct kern_grid *grid)
{
    bool own = grid->ndims > 1;

    for (uint32_t d = 0; d < 2 && own && d + 1 < grid->ndims; d++)
        own = grid->stride[d] > 0;
    for (uint32_t k = 0; k < grid->ncoarse; k++)
        own &= grid->coarse[k].dim + 1 >= grid->ndims || grid->coarse[k].dim > 1;
    return own;
}

/* Let the kernel that rounds an array find its groups' magnitudes, too, where each group is of one
 * token: it reads the array once and writes the magnitudes in place of reading them.  A scale
 * above those of groups has to be known before. */
static void find_magnitudes(struct op_seconds *s, uint32_t i)
{
    const struct program_op *op = &s->program->ops[i], *finds;
    const struct program_buffer *amax = &s->program->buffers[op->inputs[1]];

    if (amax->argument || (op->ninputs > 2 && !s->program->buffers[op->inputs[2]].argument))
        return;
    finds = &s->program->ops[amax->first_op];
    if (finds->kind != PROGRAM_KERNEL || finds->kernel != &kern_kernel_amax ||
        finds->inputs[0] != op->inputs[0] || s->moves[amax->first_op].bytes > 0)
        return;
    if (is_of_tokens(&finds->desc->amax.grid))
        s->moves[amax->first_op].elsewhere = true;
}

void op_codes_find(struct op_seconds *s)
{
    for (uint32_t i = 0; i < s->program->nops; i++) {
        const struct program_op *op = &s->program->ops[i];

        if (op->kind == PROGRAM_KERNEL && op->kernel == &kern_kernel_append)
            write_codes(s, i);
        if (op->kind == PROGRAM_KERNEL && op->kernel == &kern_kernel_encode)
            find_magnitudes(s, i);
        if (op->kind == PROGRAM_KERNEL && op->kernel == &kern_kernel_attention)
            read_codes(s, i);
        for (uint32_t k = 0; is_product(op) && k < op->ninputs; k++) {
            uint32_t from = unpacker(s->program, op->inputs[k], false);
            double numbers, codes;

            if (from == PROGRAM_NONE)
                continue;
            numbers = op_seconds_bytes(s, op->inputs[k]);
            codes = unpacked_bytes(s, from);
            s->moves[i].unread += numbers - codes;
            s->moves[i].coded = true;
            s->moves[i].type = weights_type(s, from, numbers, codes);
        }
    }
}
