/* Building a program, and the lifetimes of its buffers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/array.h"
#include "program/row_nodes.h"
#include "program/rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program_text {
    struct program_text *next;
    char chars[];
};

struct program *program_create(const struct shd_mesh *mesh)
{
    struct program *program = calloc(1, sizeof *program);

    if (!program)
        return NULL;
    program->mesh = program->asked_mesh = mesh;
    program->microbatches = 1;
    program->nstages = program->nranks = 1;
    program->stage_axis = -1;
    for (uint8_t a = 0; a < SHD_MESH_AXES_MAX; a++)
        program->asked_axis[a] = a;
    return program;
}

void program_ask_algos(struct program *program, const struct coll_algo *const *algos)
{
    for (int kind = 0; kind < COLL_NKINDS; kind++)
        program->algos[kind] = algos ? algos[kind] : NULL;
}

void program_destroy(struct program *program)
{
    if (!program)
        return;
    while (program->texts) {
        struct program_text *next = program->texts->next;

        free(program->texts);
        program->texts = next;
    }
    program_rows_free_counts(program->rows_counts);
    program_nodes_free_counts(program->node_counts);
    program_descs_fini(&program->descs);
    free(program->buffers);
    free(program->ops);
    free(program->results);
    free(program->rank_of_stage);
    free(program->segments);
    free(program->turns);
    free(program->first_turn);
    free(program->channels);
    free(program->frames);
    shd_mesh_destroy(program->own_mesh);
    free(program);
}

const char *program_text(struct program *program, const char *fmt, ...)
{
    va_list args;
    int length;
    struct program_text *text;

    va_start(args, fmt);
    length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    text = malloc(sizeof *text + (size_t)length + 1);
    if (!text) {
        program->failed = true;
        return "";
    }
    va_start(args, fmt);
    vsnprintf(text->chars, (size_t)length + 1, fmt, args);
    va_end(args);
    text->next = program->texts;
    program->texts = text;
    return text->chars;
}

/* Room for one more element behind `count`. */
static int make_room(void *array, uint32_t count, size_t size, struct shd_error *err)
{
    return array_make_room(array, count, size)
               ? SHD_OK
               : shd_error_set(err, SHD_ENOMEM, "no memory for a program of %u ops", count);
}

int program_add_buffer(uint32_t *out, struct program *program, const char *name,
                       enum shd_dtype dtype, const int64_t *shape,
                       const struct shd_sharding *sharding, struct shd_error *err)
{
    struct program_buffer b = {.name = name,
                               .dtype = dtype,
                               .stored = dtype,
                               .rank = sharding->rank,
                               .over = PROGRAM_NONE};
    void *buffers = program->buffers;
    struct shd_error why;
    int status = shd_sharding_check(sharding, shape, &why);

    if (status != SHD_OK)
        return shd_error_set(err, status, "'%s': %s", name, why.text);
    if (b.rank > PROGRAM_RANK_MAX)
        return shd_error_set(err, SHD_ERANGE, "'%s' has %u dimensions, at most %d are allowed",
                             name, b.rank, PROGRAM_RANK_MAX);
    b.sharding = *sharding;
    memcpy(b.shape, shape, b.rank * sizeof *shape);
    memcpy(b.held, shape, b.rank * sizeof *shape);
    shd_sharding_shard_shape(sharding, shape, b.local);
    status = shd_shape_bytes(&b.bytes, b.local, b.rank, dtype, &why);
    if (status != SHD_OK || b.bytes > PROGRAM_SHARD_BYTES_MAX)
        return shd_error_set(err, SHD_ERANGE, "mesh: '%s' has more than 2^55 bytes on a device",
                             name);
    status = make_room(&buffers, program->nbuffers, sizeof b, err);
    if (status != SHD_OK)
        return status;
    program->buffers = buffers;
    *out = program->nbuffers++;
    program->buffers[*out] = b;
    return SHD_OK;
}

int program_add_copy(uint32_t *out, struct program *program, uint32_t of, bool on_host,
                     struct shd_error *err)
{
    void *buffers = program->buffers;
    int status = make_room(&buffers, program->nbuffers, sizeof *program->buffers, err);

    if (status != SHD_OK)
        return status;
    program->buffers = buffers;
    *out = program->nbuffers++;
    program->buffers[*out] = program->buffers[of];
    program->buffers[*out].argument = program->buffers[*out].offloads = false;
    program->buffers[*out].over = PROGRAM_NONE;
    program->buffers[*out].on_host = on_host;
    return SHD_OK;
}

void program_make_room(struct program *program, uint32_t buffer, uint64_t bytes)
{
    struct program_buffer *b = &program->buffers[buffer];

    if (bytes <= b->bytes)
        return;
    b->room_bytes += bytes - b->bytes;
    b->bytes = bytes;
}

void program_make_step_room(struct program *program, const struct program_op *op)
{
    const struct shd_reshard_step *step = &op->reshard;
    uint64_t in = program->buffers[op->inputs[0]].bytes;
    uint64_t out = program->buffers[op->outputs[0]].bytes;

    if (step->kind == SHD_RESHARD_ALL_GATHER && shd_reshard_is_flat(step))
        program_make_room(program, op->outputs[0],
                          in * (uint64_t)shd_sharding_npieces(&step->from));
    if (step->kind == SHD_RESHARD_REDUCE_SCATTER && shd_reshard_is_flat(step))
        program_make_room(program, op->inputs[0],
                          out * (uint64_t)shd_sharding_npieces(&step->to));
    else if (program_pads_chunks(program, op, 0))
        program_make_room(program, op->inputs[0], in + out * program_step_nmembers(op));
}

enum program_part program_part_of_phase(uint8_t phase)
{
    static const enum program_part parts[] = {PROGRAM_FORWARD, PROGRAM_BACKWARD, PROGRAM_UPDATE};

    return parts[phase];
}

/* The part of an op.  An op that does not set one gets its phase's. */
static uint8_t part_of(const struct program_op *op)
{
    return op->part != PROGRAM_ARGUMENTS || op->kind == PROGRAM_FILL
               ? op->part
               : (uint8_t)program_part_of_phase(op->phase);
}

int program_add_op(struct program *program, const struct program_op *op, struct shd_error *err)
{
    void *ops = program->ops;
    int status = make_room(&ops, program->nops, sizeof *op, err);
    struct program_op added = *op;

    if (status != SHD_OK)
        return status;
    program->ops = ops;
    if (op->kind == PROGRAM_KERNEL && op->desc) {
        added.desc = program_descs_keep(&program->descs, op->desc);
        if (!added.desc)
            return shd_error_set(err, SHD_ENOMEM, "no memory for a program of %u ops",
                                 program->nops);
    }
    program->ops[program->nops] = added;
    program->ops[program->nops].part = part_of(op);
    program->ops[program->nops++].times = 1;
    return SHD_OK;
}

int program_add_result(struct program *program, enum program_result_kind kind, const char *name,
                       uint32_t buffer, struct shd_error *err)
{
    void *results = program->results;
    int status = make_room(&results, program->nresults, sizeof *program->results, err);

    if (status != SHD_OK)
        return status;
    program->results = results;
    program->results[program->nresults++] =
        (struct program_result){kind, name, buffer, PROGRAM_NONE};
    return SHD_OK;
}

int program_add_next(struct program *program, const char *name, uint32_t buffer, uint32_t of,
                     struct shd_error *err)
{
    const struct program_buffer *b = &program->buffers[buffer], *a = &program->buffers[of];
    bool is_result = b->argument;
    int status;

    for (uint32_t r = 0; r < program->nresults; r++)
        is_result |= program->results[r].buffer == buffer;
    if (is_result || b->dtype != a->dtype || !shd_sharding_equal(&b->sharding, &a->sharding))
        return shd_error_set(err, SHD_EINVAL, "'%s' cannot become '%s' of the next step", b->name,
                             a->name);
    status = program_add_result(program, PROGRAM_NEXT, name, buffer, err);
    if (status != SHD_OK)
        return status;
    program->results[program->nresults - 1].of = of;
    program_make_room(program, of, program->buffers[buffer].bytes); /* the result may be written
                                                                       there */
    return SHD_OK;
}

bool program_has_state(const struct program *program)
{
    for (uint32_t r = 0; r < program->nresults; r++)
        if (program->results[r].kind == PROGRAM_NEXT)
            return true;
    return false;
}

bool program_learns(const struct program *program)
{
    uint32_t i = program->first_op;

    while (i < program->nops && program->ops[i].part == PROGRAM_FORWARD)
        i++;
    return i < program->nops;
}

bool program_serves(const struct program *program)
{
    return !program_learns(program) && program_has_state(program);
}

/* Find the first op after the arguments and the first op of the update. */
static void find_parts(struct program *program)
{
    uint32_t i = 0;

    while (i < program->nops && program->ops[i].part == PROGRAM_ARGUMENTS)
        i++;
    program->first_op = i;
    while (i < program->nops && program->ops[i].part < PROGRAM_UPDATE)
        i++;
    program->update_op = i;
}

void program_set_lifetimes(struct program *program)
{
    uint32_t end = program->nops; /* past the last op: no op frees them */

    find_parts(program);
    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];

        for (uint32_t k = 0; k < op->noutputs; k++) {
            program->buffers[op->outputs[k]].first_op = i;
            program->buffers[op->outputs[k]].last_op = i;
        }
        for (uint32_t k = 0; k < op->ninputs; k++)
            program->buffers[op->inputs[k]].last_op = i;
        if (op->holds)
            program->buffers[op->held].last_op = i;
    }
    for (uint32_t b = 0; b < program->nbuffers; b++)
        if (program->buffers[b].argument)
            program->buffers[b].last_op = end;
    for (uint32_t r = 0; r < program->nresults; r++)
        program->buffers[program->results[r].buffer].last_op = end;
}

uint32_t program_dead_buffers(const struct program *program, uint32_t i,
                              uint32_t dead[PROGRAM_DEAD_MAX])
{
    const struct program_op *op = &program->ops[i];
    uint32_t ndead = 0;

    for (uint32_t k = 0; k < op->ninputs + op->noutputs + op->holds; k++) {
        uint32_t buffer = k < op->ninputs                  ? op->inputs[k]
                          : k < op->ninputs + op->noutputs ? op->outputs[k - op->ninputs]
                                                           : op->held;
        bool seen = false;

        for (uint32_t d = 0; d < ndead; d++)
            seen |= dead[d] == buffer;
        if (!seen && program->buffers[buffer].last_op == i)
            dead[ndead++] = buffer;
    }
    return ndead;
}
