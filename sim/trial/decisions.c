/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "trial/decisions.h"

#include <stdlib.h>
#include <string.h>

#include "program/record.h"
#include "run/ranks/ranks.h"
#include "trial/collect.h"

static bool decides(const struct program_op *op)
{
    return op->kind == PROGRAM_KERNEL && op->kernel == &kern_kernel_topk;
}

static const struct program_buffer *ids_of(const struct program *program,
                                           const struct program_op *op)
{
    return &program->buffers[op->outputs[0]];
}

/* Whether a result is state of whole numbers. */
static bool is_state(const struct program *program, const struct program_result *result)
{
    return result->kind == PROGRAM_NEXT && program->buffers[result->buffer].dtype == SHD_I32;
}

static uint64_t elements_of(const struct program *program, uint32_t buffer)
{
    const struct program_buffer *b = &program->buffers[buffer];
    uint64_t n = 1;

    for (uint32_t k = 0; k < b->rank; k++)
        n *= (uint64_t)b->shape[k]; /* no overflow: devices hold these arrays */
    return n;
}

/* Elements of an op's decisions in all steps and microbatches, one array after another. */
static uint64_t elements_in_all(const struct decisions *d, const struct program_op *op)
{
    return (uint64_t)d->nsteps * op->times * elements_of(d->program, op->outputs[0]);
}

static bool allocate_states(struct decisions *d)
{
    const struct program *program = d->program;

    d->states = calloc((size_t)program->nresults + 1, sizeof *d->states);
    d->wholes = calloc((size_t)program->nresults + 1, sizeof *d->wholes);
    for (uint32_t r = 0; d->states && r < program->nresults; r++)
        if (is_state(program, &program->results[r]))
            d->states[d->nstates++] = r;
    for (uint32_t k = 0; d->wholes && k < d->nstates; k++) {
        uint64_t n = elements_of(program, program->results[d->states[k]].buffer);

        d->wholes[k] = calloc(n * d->nsteps + 1, sizeof **d->wholes);
        if (!d->wholes[k])
            return false;
    }
    return d->states && d->wholes;
}

static bool allocate(struct decisions *d)
{
    size_t ndevices = (size_t)shd_mesh_size(d->program->mesh);

    d->ops = calloc((size_t)d->program->nops + 1, sizeof *d->ops);
    d->ids = calloc((size_t)d->program->nops + 1, sizeof *d->ids);
    for (uint32_t i = 0; d->ops && i < d->program->nops; i++)
        if (decides(&d->program->ops[i]))
            d->ops[d->nops++] = i;
    d->times = calloc(ndevices * d->nops + 1, sizeof *d->times);
    if (!d->ops || !d->ids || !d->times)
        return false;
    for (uint32_t k = 0; k < d->nops; k++) {
        uint64_t n = elements_in_all(d, &d->program->ops[d->ops[k]]);

        d->ids[k] = calloc(n + 1, sizeof **d->ids);
        if (!d->ids[k])
            return false;
    }
    return allocate_states(d);
}

/* A walk_stepped_fn. */
static void keep_states(void *arg, int32_t position, uint32_t step, const void *const *shards)
{
    const struct decisions *d = arg;

    for (uint32_t k = 0; k < d->nstates; k++) {
        uint32_t buffer = d->program->results[d->states[k]].buffer;

        collect_place(d->program, &d->program->buffers[buffer], position, shards[d->states[k]],
                      d->wholes[k] + step * elements_of(d->program, buffer));
    }
}

/* A walk_observe_fn. */
static void keep(void *arg, int32_t position, uint32_t op, uint32_t microbatch,
                 const void *const *shards)
{
    const struct decisions *d = arg;

    for (uint32_t k = 0; k < d->nops; k++) {
        const struct program_op *o = &d->program->ops[op];
        uint32_t *time = &d->times[(size_t)position * d->nops + k], at;

        if (d->ops[k] != op)
            continue;
        at = *time / o->times * o->times + (o->times > 1 ? microbatch : 0);
        collect_place(d->program, ids_of(d->program, o), position, shards[o->outputs[0]],
                      d->ids[k] + at * (elements_in_all(d, o) / d->nsteps / o->times));
        ++*time;
    }
}

/* Merge the decisions of all ranks' devices; decisions of several devices on one token are
 * equal. */
static void gather(const struct decisions *d)
{
    for (uint32_t k = 0; k < d->nops; k++)
        ranks_merge(d->ids[k], elements_in_all(d, &d->program->ops[d->ops[k]]) * sizeof **d->ids,
                    RANKS_JOIN);
    for (uint32_t k = 0; k < d->nstates; k++)
        ranks_merge(d->wholes[k],
                    elements_of(d->program, d->program->results[d->states[k]].buffer) * d->nsteps *
                        sizeof **d->wholes,
                    RANKS_JOIN);
}

static int run(struct decisions *d, const struct walk_opts *opts, struct shd_error *err)
{
    struct walk_opts run = {.memory = opts->memory,
                            .nthreads = opts->nthreads,
                            .stop_request = opts->stop_request,
                            .repeats = d->nsteps,
                            .spread = opts->spread,
                            .observe = keep,
                            .observe_arg = d,
                            .stepped = keep_states,
                            .stepped_arg = d};
    struct record *record;
    int status = record_create(&record, d->program, RECORD_EXECUTED, false, err);

    if (status != SHD_OK)
        return status;
    status = walk_run(record, &run, err);
    if (status == SHD_OK && opts->spread)
        gather(d);
    record_destroy(record);
    return status;
}

int decisions_make(struct decisions *out, const struct program *program, uint32_t nsteps,
                   const struct walk_opts *opts, struct shd_error *err)
{
    int status = SHD_OK;

    *out = (struct decisions){.program = program, .nsteps = nsteps ? nsteps : 1};
    if (!allocate(out))
        status = shd_error_set(err, SHD_ENOMEM, "no memory for routing decisions");
    if (status == SHD_OK && out->nops + out->nstates > 0)
        status = run(out, opts, err);
    if (status != SHD_OK)
        decisions_fini(out);
    return status;
}

void decisions_fini(struct decisions *decisions)
{
    for (uint32_t k = 0; decisions->ids && k < decisions->nops; k++)
        free(decisions->ids[k]);
    for (uint32_t k = 0; decisions->wholes && k < decisions->nstates; k++)
        free(decisions->wholes[k]);
    free(decisions->states);
    free(decisions->wholes);
    free(decisions->ids);
    free(decisions->ops);
    free(decisions->times);
    *decisions = (struct decisions){.nops = 0};
}

/* Index of the op of the run that decides the same as an op of another program. */
static uint32_t same_op(const struct decisions *d, const struct program_op *op)
{
    uint32_t k = 0;

    while (k < d->nops && (strcmp(d->program->ops[d->ops[k]].name, op->name) != 0 ||
                           d->program->ops[d->ops[k]].phase != op->phase))
        k++;
    return k;
}

const int32_t *decisions_find(const struct decisions *decisions, const struct program_op *op,
                              uint32_t time)
{
    uint32_t k = decisions && decides(op) ? same_op(decisions, op) : 0;
    const struct program_op *same;

    if (!decisions || !decides(op) || k == decisions->nops)
        return NULL;
    same = &decisions->program->ops[decisions->ops[k]];
    return decisions->ids[k] +
           time * (elements_in_all(decisions, same) / decisions->nsteps / same->times);
}

const int32_t *decisions_state(const struct decisions *decisions, const char *name, uint32_t step)
{
    for (uint32_t k = 0; decisions && k < decisions->nstates; k++) {
        const struct program_result *r = &decisions->program->results[decisions->states[k]];

        if (!strcmp(r->name, name))
            return decisions->wholes[k] + step * elements_of(decisions->program, r->buffer);
    }
    return NULL;
}
