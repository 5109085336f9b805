/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/op_chunks.h"

/* The first array in chunks among some; NULL: none. */
static const struct program_buffer *find_logits(const struct program *program,
                                                const uint32_t *buffers, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (program->buffers[buffers[k]].chunks > 0)
            return &program->buffers[buffers[k]];
    return NULL;
}

/* The extent of a product along which tokens lie: its sum, for the gradient of the head's kernel,
 * else its rows.  *whole is the elements of the operand or result that has no tokens. */
static int64_t *token_extent(struct hardware_work *work, int64_t tokens, double *whole)
{
    if (work->k == tokens && work->m != tokens) {
        *whole = (double)work->m * (double)work->n;
        return &work->k;
    }
    *whole = (double)work->k * (double)work->n;
    return &work->m;
}

double op_chunks_seconds(const struct hardware *hardware, const struct hardware_work *work,
                         const struct program *program, const struct program_op *op)
{
    const struct program_buffer *logits = find_logits(program, op->outputs, op->noutputs);
    struct hardware_work part = *work;
    double chunks, whole = 0;

    if (!logits)
        logits = find_logits(program, op->inputs, op->ninputs);
    if (!logits)
        return hardware_kernel_seconds(hardware, work);
    chunks = logits->chunks;
    if (work->kind == HARDWARE_MATMUL) {
        int64_t tokens = (int64_t)program_buffer_count(logits) / logits->local[logits->rank - 1];
        int64_t *extent = token_extent(&part, tokens, &whole);

        *extent = (*extent + logits->chunks - 1) / logits->chunks;
        whole *= (double)shd_dtype_size(work->dtype);
    }
    part.flops /= chunks;
    part.bytes = whole + (work->bytes - whole) / chunks;
    return chunks * hardware_kernel_seconds(hardware, &part);
}
