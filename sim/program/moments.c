/* Recording a rank's live bytes by use at each op of a step (moments.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "program/moments.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

const enum program_use program_use_order[PROGRAM_NUSES] = {
    PROGRAM_PARAMETERS, PROGRAM_OPTIMIZER, PROGRAM_GRADIENTS,   PROGRAM_DATA,
    PROGRAM_CACHE,      PROGRAM_GATHERED,  PROGRAM_ACTIVATIONS, PROGRAM_WORKSPACE};

struct walker {
    struct program_moments *out;
    uint128 uses[PROGRAM_NUSES]; /* live bytes now */
    bool failed;
};

static void change(void *arg, uint32_t buffer, bool alive)
{
    struct walker *w = arg;
    const struct program_buffer *b = &w->out->program->buffers[buffer];

    w->uses[b->use] += alive ? (uint128)b->bytes : -(uint128)b->bytes;
}

static bool make_room(struct walker *w)
{
    size_t n = w->out->n;

    w->failed |= n >= PROGRAM_NONE / 2 || !array_make_room(&w->out->each, n, sizeof *w->out->each);
    return !w->failed;
}

/* The number of the action "op for microbatch" among the rank's actions
 * (program_number_actions()). */
static uint64_t number_of(const struct program_moments *m, uint32_t op, uint32_t microbatch)
{
    return m->base[op] + (m->program->ops[op].times > 1 ? microbatch : 0);
}

static void look(void *arg, uint32_t op, uint32_t microbatch)
{
    struct walker *w = arg;
    struct program_moment *moment;

    if (op < w->out->program->first_op || w->failed || !make_room(w))
        return;
    w->out->when[number_of(w->out, op, microbatch)] = (uint32_t)w->out->n;
    moment = &w->out->each[w->out->n++];
    *moment = (struct program_moment){.op = op, .microbatch = microbatch};
    memcpy(moment->uses, w->uses, sizeof moment->uses);
    moment->uses[PROGRAM_WORKSPACE] += w->out->program->ops[op].workspace_bytes;
}

int program_moments_init(struct program_moments *out, const struct program *program, uint32_t rank,
                         struct shd_error *err)
{
    struct walker w = {.out = out};
    const struct program_memory_watch watch = {.buffer = change, .op = look, .arg = &w};
    uint64_t n = program_nactions(program, rank);

    *out = (struct program_moments){.program = program};
    out->base = calloc((size_t)program->nops + 1, sizeof *out->base);
    if (n < SIZE_MAX / sizeof *out->when - 1)
        out->when = calloc(n + 1, sizeof *out->when);
    if (!out->base || !out->when)
        return shd_error_set(err, SHD_ENOMEM, "no memory for the memory of a step");
    memset(out->when, 0xff, (n + 1) * sizeof *out->when); /* PROGRAM_NONE */
    program_number_actions(program, rank, out->base);
    program_memory_walk(program, rank, &watch);
    return w.failed ? shd_error_set(err, SHD_ENOMEM, "no memory for the memory of a step") : SHD_OK;
}

void program_moments_fini(struct program_moments *moments)
{
    free(moments->each);
    free(moments->base);
    free(moments->when);
    memset(moments, 0, sizeof *moments);
}

const struct program_moment *program_moments_find(const struct program_moments *moments,
                                                  uint32_t op, uint32_t microbatch)
{
    uint64_t first = moments->base[op], at;

    if (first == UINT64_MAX)
        return NULL;
    for (at = number_of(moments, op, microbatch); moments->when[at] == PROGRAM_NONE; at--)
        if (at == first)
            return NULL;
    return &moments->each[moments->when[at]];
}

bool program_moments_are_of_two(const struct program *program)
{
    return program->microbatches > 2 && program->nranks == 1;
}

uint128 program_moment_bytes(const struct program_moment *moment)
{
    uint128 bytes = 0;

    for (int use = 0; use < PROGRAM_NUSES; use++)
        bytes += moment->uses[use];
    return bytes;
}
