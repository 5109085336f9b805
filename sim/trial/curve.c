/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/curve.h"

#include <string.h>

#include "graph/optimizer/optimizer.h"
#include "kern/convert.h"
#include "run/ranks/ranks.h"

static double number_of(const struct program_buffer *b, const void *shard)
{
    double number[1 + KERN_LANES];

    kern_load_f64(b->dtype, shard, 1, 1, number);
    return number[0];
}

/* Whether the device is the first that has a buffer. */
static bool is_first(const struct program *program, uint32_t buffer, int32_t position)
{
    return position ==
           program_doer(program, &program->ops[program->buffers[buffer].first_op], 0);
}

/* Scalars are equal on all devices that have them, so the first device's value is kept. */
void curve_keep(struct record *record, int32_t position, uint32_t step, const void *const *shards)
{
    const struct program *program = record->program;

    for (uint32_t r = 0; r < program->nresults && record->training.nsteps > 0; r++) {
        const struct program_result *result = &program->results[r];
        const struct program_buffer *b = &program->buffers[result->buffer];

        if (!is_first(program, result->buffer, position))
            continue;
        if (result->kind == PROGRAM_LOSS)
            record->training.losses[step] = number_of(b, shards[r]);
        else if (result->kind == PROGRAM_OUTPUT && !strcmp(result->name, OPTIMIZER_NORM))
            record->training.grad_norms[step] = number_of(b, shards[r]);
    }
}

void curve_gather(struct record *record, const struct spread *spread)
{
    struct record_training *t = &record->training;

    if (!spread || t->nsteps == 0)
        return;
    ranks_merge(t->losses, t->nsteps * sizeof *t->losses, RANKS_JOIN);
    ranks_merge(t->grad_norms, t->nsteps * sizeof *t->grad_norms, RANKS_JOIN);
}
