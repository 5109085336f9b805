/* Gathering outputs (trial/outputs.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "trial/outputs.h"

#include <stdlib.h>

#include "base/safetensors.h"
#include "kern/kern.h"
#include "program/shard.h"

struct outputs {
    const struct program *program;
    void **whole; /* by result; NULL: no output */
};

static const struct program_buffer *buffer_of(const struct outputs *o, uint32_t result)
{
    return &o->program->buffers[o->program->results[result].buffer];
}

/* Bytes of an output without padding. */
static uint64_t bytes_of(const struct program_buffer *b)
{
    uint64_t bytes = shd_dtype_size(b->dtype);

    for (uint32_t d = 0; d < b->rank; d++)
        bytes *= (uint64_t)b->held[d];
    return bytes;
}

void outputs_destroy(struct outputs *outputs)
{
    if (!outputs)
        return;
    for (uint32_t r = 0; outputs->whole && r < outputs->program->nresults; r++)
        free(outputs->whole[r]);
    free(outputs->whole);
    free(outputs);
}

int outputs_create(struct outputs **out, const struct program *program, struct shd_error *err)
{
    struct outputs *o = calloc(1, sizeof *o);
    bool right = o != NULL;

    if (right) {
        o->program = program;
        o->whole = calloc((size_t)program->nresults + 1, sizeof *o->whole);
        right = o->whole != NULL;
    }
    for (uint32_t r = 0; right && r < program->nresults; r++) {
        if (program->results[r].kind != PROGRAM_OUTPUT)
            continue;
        o->whole[r] = malloc((size_t)bytes_of(buffer_of(o, r)) + 1);
        right = o->whole[r] != NULL;
    }
    if (right) {
        *out = o;
        return SHD_OK;
    }
    outputs_destroy(o);
    return shd_error_set(err, SHD_ENOMEM, "no memory for the outputs");
}

static void strides_of(uint32_t rank, const int64_t *shape, int64_t *stride)
{
    int64_t n = 1;

    for (uint32_t d = rank; d-- > 0; n *= shape[d])
        stride[d] = n;
}

static void take_shard(const struct outputs *o, uint32_t r, int32_t position, const void *shard)
{
    const struct program_buffer *b = buffer_of(o, r);
    struct program_boxes boxes = program_boxes_begin(b, position);
    int64_t to[PROGRAM_RANK_MAX], from[PROGRAM_RANK_MAX];
    size_t size = shd_dtype_size(b->dtype);
    struct shd_box box;

    strides_of(b->rank, b->held, to);
    while (program_boxes_next(&boxes, &box)) {
        int64_t first = 0;

        for (uint32_t d = 0; d < b->rank; d++)
            first += box.start[d] * to[d];
        strides_of(b->rank, box.extent, from);
        kern_copy_box(size, b->rank, box.extent, (char *)o->whole[r] + (size_t)first * size, to,
                      (const char *)shard + (size_t)box.at * size, from);
    }
}

void outputs_take(void *outputs, uint32_t step, const void *const *const *results)
{
    const struct outputs *o = outputs;
    const struct program *p = o->program;

    (void)step;
    for (uint32_t r = 0; r < p->nresults; r++) {
        const struct program_op *made = &p->ops[buffer_of(o, r)->first_op];

        for (int32_t d = shd_mesh_size(p->mesh); o->whole[r] && d-- > 0;)
            if (program_holds(p, program_rank(p, d), made))
                take_shard(o, r, d, results[d][r]);
    }
}

void outputs_print(const struct outputs *o, struct text *out)
{
    struct safetensors_writer writer;

    safetensors_begin(&writer);
    for (uint32_t r = 0; r < o->program->nresults; r++) {
        const struct program_buffer *b = buffer_of(o, r);

        if (o->whole[r])
            safetensors_add(&writer, o->program->results[r].name, b->dtype, b->held, b->rank);
    }
    safetensors_end(&writer, out);
    for (uint32_t r = 0; r < o->program->nresults; r++)
        if (o->whole[r])
            text_add_bytes(out, o->whole[r], (size_t)bytes_of(buffer_of(o, r)));
}
