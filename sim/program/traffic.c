/* Who receives what in one op: read off the schedule, or off the boxes that are fetched.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "program/program.h"

#include <shd/group.h>

#include <stdio.h>

int program_coll_kind(const struct program_op *op)
{
    if (op->kind != PROGRAM_RESHARD)
        return -1;
    switch (op->reshard.kind) {
    case SHD_RESHARD_ALL_GATHER:
        return COLL_ALL_GATHER;
    case SHD_RESHARD_ALL_TO_ALL:
        return COLL_ALL_TO_ALL;
    case SHD_RESHARD_REDUCE_SCATTER:
        return COLL_REDUCE_SCATTER;
    case SHD_RESHARD_ALL_REDUCE:
        return COLL_ALL_REDUCE;
    default:
        return -1;
    }
}

const char *program_kind_name(enum program_op_kind kind)
{
    static const char *const names[PROGRAM_NKINDS] = {"fill", "kernel", "reshard"};

    return names[kind];
}

const char *program_phase_name(uint8_t phase)
{
    static const char *const names[] = {"forward", "backward", "optimizer"};

    return names[phase];
}

const char *program_step_name(const struct program_op *op)
{
    if (op->kind == PROGRAM_KERNEL)
        return op->kernel->name;
    if (op->kind != PROGRAM_RESHARD)
        return program_kind_name(op->kind);
    if (op->reshard.kind == SHD_RESHARD_PERMUTE)
        return coll_kind_name(COLL_PERMUTE);
    return shd_reshard_kind_name(op->reshard.kind);
}

bool program_communicates(const struct program_op *op)
{
    return op->kind == PROGRAM_RESHARD && op->reshard.kind != SHD_RESHARD_SLICE &&
           op->reshard.kind != SHD_RESHARD_MASK;
}

/* How many devices a step's axes span of one asked axis. */
static int32_t spanned(const struct program *program, const uint8_t *axes, uint32_t naxes,
                       uint8_t asked)
{
    int32_t size = 1;

    for (uint32_t a = 0; a < naxes; a++)
        if (program->asked_axis[axes[a]] == asked)
            size *= shd_mesh_axis_size(program->mesh, axes[a]);
    return size;
}

size_t program_axes_print(const struct program *program, const uint8_t *axes, uint32_t naxes,
                          char *buf, size_t size)
{
    size_t used = 0;
    uint32_t told = 0; /* asked axes that are written already */

    if (size)
        buf[0] = '\0';
    for (uint32_t a = 0; a < naxes; a++) {
        uint8_t asked = program->asked_axis[axes[a]];
        bool whole =
            spanned(program, axes, naxes, asked) == shd_mesh_axis_size(program->asked_mesh, asked);
        const char *name = whole ? shd_mesh_axis_name(program->asked_mesh, asked)
                                 : shd_mesh_axis_name(program->mesh, axes[a]);

        if (whole && told >> asked & 1)
            continue;
        if (whole)
            told |= 1u << asked;
        used += (size_t)snprintf(used < size ? buf + used : NULL, used < size ? size - used : 0,
                                 "%s%s", used ? "," : "", name);
    }
    return used;
}

const struct coll_algo *program_algo(const struct program *program, const struct program_op *op,
                                     struct coll_shape *shape)
{
    int kind = program_coll_kind(op);
    const struct program_buffer *in = &program->buffers[op->inputs[0]];
    const struct coll_algo *algo;

    if (kind < 0)
        return NULL;
    *shape = (struct coll_shape){.nmembers = 1};
    for (uint8_t a = 0; a < op->reshard.naxes; a++)
        shape->nmembers *= (uint32_t)shd_mesh_axis_size(program->mesh, op->reshard.axes[a]);
    for (uint32_t k = 0; k < op->ninputs; k++)
        shape->count += program->buffers[op->inputs[k]].bytes / shd_dtype_size(in->dtype);
    algo = program->algos[kind];
    return algo && coll_serves(algo, shape->nmembers) ? algo : coll_find(kind, NULL);
}

/* Bytes of the boxes that a position fetches from others. */
static uint64_t fetched_bytes(const struct program *program, const struct program_op *op,
                              int32_t position, uint128 *from)
{
    const struct program_buffer *b = &program->buffers[op->outputs[0]];
    int64_t n = shd_reshard_fetch_count(&op->reshard, b->shape, position);
    uint64_t total = 0;

    for (int64_t i = 0; i < n; i++) {
        struct shd_fetch box;
        uint64_t bytes = shd_dtype_size(b->dtype);

        shd_reshard_fetch(&op->reshard, b->shape, position, i, &box);
        if (box.source == position)
            continue;
        for (uint32_t d = 0; d < b->rank; d++)
            bytes *= (uint64_t)box.extent[d];
        total += bytes;
        if (from)
            from[box.source] += bytes;
    }
    return total;
}

static uint64_t scheduled_bytes(const struct program *program, const struct program_op *op,
                                const struct coll_algo *algo, const struct coll_shape *shape,
                                int32_t position, uint128 *from)
{
    struct shd_groups groups;
    uint64_t size = shd_dtype_size(program->buffers[op->inputs[0]].dtype), total = 0;
    uint32_t member;
    int32_t group;

    if (shd_groups_init(&groups, program->mesh, op->reshard.axes, op->reshard.naxes, NULL))
        return 0; /* the planner's own axes: cannot fail */
    group = shd_groups_find(&groups, position);
    member = (uint32_t)shd_groups_member(&groups, position);
    for (uint32_t s = 0; s < algo->nsteps(shape); s++)
        for (uint32_t i = 0; i < algo->nmoves(shape, member, s); i++) {
            struct coll_move move;

            algo->move(shape, member, s, i, &move);
            if (move.peer == member)
                continue;
            total += move.count * size;
            if (from)
                from[shd_groups_position(&groups, group, (int32_t)move.peer)] += move.count * size;
        }
    return total;
}

uint64_t program_received_bytes(const struct program *program, const struct program_op *op,
                                int32_t position, uint128 *from)
{
    struct coll_shape shape;
    const struct coll_algo *algo;

    if (!program_communicates(op))
        return 0;
    algo = program_algo(program, op, &shape);
    if (algo)
        return scheduled_bytes(program, op, algo, &shape, position, from);
    return fetched_bytes(program, op, position, from);
}
