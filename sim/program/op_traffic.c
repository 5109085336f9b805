/* What each device receives and sends in an op, from the algorithm's closed form or the fetched
 * boxes; and the names of ops and axes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "program/row_nodes.h"
#include "program/rows.h"

#include <shd/group.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int coll_kind_of(const struct shd_reshard_step *step)
{
    switch (step->kind) {
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

int program_coll_kind(const struct program_op *op)
{
    return op->kind == PROGRAM_RESHARD ? coll_kind_of(&op->reshard) : -1;
}

size_t program_op_axes(const struct program_op *op, uint8_t axes[SHD_MESH_AXES_MAX])
{
    if (op->kind == PROGRAM_RESHARD)
        return shd_reshard_step_axes(&op->reshard, axes);
    if (op->kind != PROGRAM_ROWS)
        return 0;
    memcpy(axes, op->rows.axes, op->rows.naxes * sizeof *axes);
    return op->rows.naxes;
}

const char *program_kind_name(enum program_op_kind kind)
{
    static const char *const names[PROGRAM_NKINDS] = {"fill",    "kernel", "reshard", "send",
                                                      "receive", "rows",   "host"};

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
    if (op->kind == PROGRAM_ROWS && !program_communicates(op))
        return op->rows.combines ? "combine" : "dispatch";
    if (op->kind == PROGRAM_ROWS)
        return "all-to-all-v";
    if (op->kind == PROGRAM_HOST)
        return op->to_host ? "to host" : "from host";
    if (op->kind != PROGRAM_RESHARD)
        return program_kind_name(op->kind);
    if (op->reshard.kind == SHD_RESHARD_PERMUTE)
        return coll_kind_name(COLL_PERMUTE);
    return shd_reshard_kind_name(op->reshard.kind);
}

/* Whether a backward op makes a buffer, other than a recomputation or what brings a value of the
 * forward phase from the host. */
static bool is_made_backward(const struct program *program, const struct program_buffer *buffer)
{
    const struct program_op *maker = &program->ops[buffer->first_op];

    return maker->part > PROGRAM_FORWARD && !maker->again && maker->kind != PROGRAM_HOST;
}

bool program_gathers_again(const struct program *program, const struct program_op *op)
{
    if (!program_is_backward(op->part) || op->again || program_coll_kind(op) != COLL_ALL_GATHER)
        return false;
    for (uint32_t k = 0; k < op->ninputs; k++)
        if (program->buffers[op->outputs[k]].use != PROGRAM_ACTIVATIONS ||
            is_made_backward(program, &program->buffers[op->inputs[k]]))
            return false;
    return true;
}

bool program_reads(const struct program_op *op, const struct program_op *from)
{
    for (uint32_t k = 0; k < op->ninputs; k++)
        for (uint32_t j = 0; j < from->noutputs; j++)
            if (op->inputs[k] == from->outputs[j])
                return true;
    return false;
}

bool program_communicates(const struct program_op *op)
{
    if (op->kind == PROGRAM_SEND || op->kind == PROGRAM_RECV)
        return true;
    if (op->kind == PROGRAM_ROWS)
        return op->rows.naxes > 0;
    return op->kind == PROGRAM_RESHARD && op->reshard.kind != SHD_RESHARD_SLICE &&
           op->reshard.kind != SHD_RESHARD_MASK;
}

bool program_is_beside(const struct program_op *op)
{
    return program_communicates(op) || op->kind == PROGRAM_HOST || op->on_host;
}

bool program_uses_host(const struct program *program)
{
    for (uint32_t b = 0; b < program->nbuffers; b++)
        if (program->buffers[b].on_host)
            return true;
    return false;
}

struct program_host_moved program_host_moved(const struct program *program, uint32_t rank)
{
    struct program_host_moved moved = {0, 0};

    for (uint32_t i = program->first_op; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];
        uint128 *bytes;

        if (op->kind != PROGRAM_HOST || !program_holds(program, rank, op))
            continue;
        bytes = op->to_host ? &moved.to_host : &moved.from_host;
        *bytes += (uint128)program->buffers[op->inputs[0]].bytes * op->times;
    }
    return moved;
}

bool program_reads_others(const struct program_op *op)
{
    return op->kind == PROGRAM_RESHARD || op->kind == PROGRAM_ROWS;
}

/* How many devices of the asked axis `asked` the step's axes span. */
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
    uint32_t told = 0; /* bit mask of asked axes already written */

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

/* How many leading axes together are all parts, in order, of one asked axis; 0 if they are not. */
static size_t parts_of_whole(const struct program *program, const uint8_t *axes, size_t naxes)
{
    uint8_t asked = program->asked_axis[axes[0]];
    int32_t size = 1;
    size_t n = 0;

    while (n < naxes && program->asked_axis[axes[n]] == asked &&
           (n == 0 || axes[n] == axes[n - 1] + 1))
        size *= shd_mesh_axis_size(program->mesh, axes[n++]);
    return size == shd_mesh_axis_size(program->asked_mesh, asked) ? n : 0;
}

static void add_dim_axes(const struct program *program, const uint8_t *axes, size_t naxes,
                         struct text *out)
{
    text_add(out, "{");
    for (size_t i = 0; i < naxes;) {
        size_t n = parts_of_whole(program, &axes[i], naxes - i);

        text_addf(out, "%s%s", i ? "," : "",
                  n ? shd_mesh_axis_name(program->asked_mesh, program->asked_axis[axes[i]])
                    : shd_mesh_axis_name(program->mesh, axes[i]));
        i += n ? n : 1;
    }
    text_add(out, "}");
}

void program_add_sharding(const struct program *program, const struct shd_sharding *sharding,
                          struct text *out)
{
    uint8_t partial[SHD_MESH_AXES_MAX];
    char words[512], *op;
    size_t n = 0;

    shd_sharding_print(sharding, words, sizeof words);
    if (sharding->mesh != program->own_mesh || !program->own_mesh) {
        text_add(out, words);
        return;
    }
    text_add(out, "[");
    for (size_t d = 0; d < sharding->rank; d++) {
        text_add(out, d ? ", " : "");
        add_dim_axes(program, sharding->dims[d].axes, sharding->dims[d].naxes, out);
    }
    text_add(out, "]");
    if (sharding->flat.naxes > 0) {
        text_add(out, sharding->flat_dims == sharding->rank ? " flat over " : " rows over ");
        add_dim_axes(program, sharding->flat.axes, sharding->flat.naxes, out);
    }
    for (uint8_t a = 0; a < shd_mesh_naxes(program->mesh); a++)
        if (sharding->partial >> a & 1)
            partial[n++] = a;
    op = n ? strstr(words, " partial") : NULL;
    if (op) { /* " partial sum over {" */
        text_add_bytes(out, op, strcspn(op, "{"));
        add_dim_axes(program, partial, n, out);
    }
}

uint32_t program_flops_axes(const struct program *program, const struct program_op *op)
{
    uint32_t axes = 0;

    for (uint32_t k = 0; program_op_skips(op) && k < op->noffsets; k++) {
        const struct program_buffer *b = &program->buffers[op->offsets[k].buffer];
        const struct shd_dim_axes *dim = &b->sharding.dims[op->offsets[k].dim];

        for (uint8_t i = 0; i < dim->naxes; i++)
            axes |= UINT32_C(1) << dim->axes[i];
    }
    return axes;
}

static uint32_t nmembers_of(const struct shd_reshard_step *step)
{
    return (uint32_t)shd_mesh_size_of_axes(step->from.mesh, step->axes, step->naxes);
}

uint32_t program_step_nmembers(const struct program_op *op)
{
    return nmembers_of(&op->reshard);
}

bool program_pads_chunks(const struct program *program, const struct program_op *op, uint32_t k)
{
    const struct program_buffer *from = &program->buffers[op->inputs[k]];
    const struct program_buffer *to = &program->buffers[op->outputs[k]];
    int dim = op->reshard.dim;

    return op->reshard.kind == SHD_RESHARD_REDUCE_SCATTER && dim >= 0 &&
           to->local[dim] * (int64_t)program_step_nmembers(op) != from->local[dim];
}

/* The algorithm of a step's collective, and the number of devices in a group. */
static const struct coll_algo *algo_of(const struct shd_reshard_step *step,
                                       const struct coll_algo *const *algos, uint32_t *nmembers)
{
    int kind = coll_kind_of(step);
    const struct coll_algo *algo;

    if (kind < 0)
        return NULL;
    *nmembers = nmembers_of(step);
    algo = algos[kind];
    return algo && coll_serves(algo, *nmembers) ? algo : coll_find((enum coll_kind)kind, NULL);
}

/* Elements of an operand, including the padding of the pieces or chunks that it is cut into. */
static uint64_t operand_count(const struct program *program, const struct program_op *op,
                              uint32_t k)
{
    if (op->reshard.kind == SHD_RESHARD_REDUCE_SCATTER)
        return program_buffer_count(&program->buffers[op->outputs[k]]) *
               program_step_nmembers(op);
    return program_buffer_count(&program->buffers[op->inputs[k]]);
}

const struct coll_algo *program_algo(const struct program *program, const struct program_op *op,
                                     struct coll_shape *shape)
{
    if (program_coll_kind(op) < 0)
        return NULL;
    *shape = (struct coll_shape){.nmembers = 1};
    for (uint32_t k = 0; k < op->ninputs; k++)
        shape->count += operand_count(program, op, k);
    return algo_of(&op->reshard, program->algos, &shape->nmembers);
}

/* Bytes of all groups of `nmembers` devices in a mesh, with `count` elements for each group. */
static uint128 bytes_of_groups(const struct shd_mesh *mesh, uint32_t nmembers, uint128 count,
                               enum shd_dtype dtype)
{
    return (uint128)shd_mesh_size(mesh) / nmembers * count * shd_dtype_size(dtype);
}

uint128 program_step_received(const struct shd_reshard_step *step, const int64_t *shape,
                              enum shd_dtype dtype, const struct coll_algo *const *algos)
{
    struct coll_shape call;
    const struct coll_algo *algo = algo_of(step, algos, &call.nmembers);

    if (!algo)
        return step->received_bytes;
    call.count = shd_reshard_operand_count(step, shape);
    return bytes_of_groups(step->from.mesh, call.nmembers, coll_received_by_all(algo, &call),
                           dtype);
}

/* The rank at the other end of a send or receive. */
static uint32_t other_rank(const struct program *program, const struct program_op *op)
{
    const struct program_channel *c = &program->channels[op->channel];
    uint32_t end = op->kind == PROGRAM_SEND ? c->recv : c->send;

    return program->rank_of_stage[program->ops[end].stage];
}

/* Bytes that a send or receive moves at a device of its rank; none between stages of one rank. */
static struct program_moved moved_between_stages(const struct program *program,
                                                 const struct program_op *op)
{
    struct program_moved moved = {0, 0};

    if (!program->rank_of_stage || other_rank(program, op) == program->rank_of_stage[op->stage])
        return moved;
    if (op->kind == PROGRAM_SEND)
        moved.sent = program_buffer_filled(&program->buffers[op->inputs[0]]);
    else
        moved.received = program_buffer_filled(&program->buffers[op->outputs[0]]);
    return moved;
}

static bool moves_between_nodes(const struct program_op *op)
{
    return op->kind == PROGRAM_ROWS && op->rows.way == PROGRAM_ROWS_BETWEEN;
}

uint128 program_received_by_all(const struct program *program, const struct program_op *op)
{
    struct coll_shape call;
    const struct coll_algo *algo;
    uint128 ndevices = (uint128)shd_mesh_size(program->mesh) / program->nranks; /* devices of the
                                                                                   rank */

    if (!program_communicates(op))
        return 0;
    if (op->kind == PROGRAM_SEND || op->kind == PROGRAM_RECV)
        return moved_between_stages(program, op).received * ndevices;
    if (moves_between_nodes(op))
        return program_nodes_received_by_all(program, op);
    if (op->kind == PROGRAM_ROWS)
        return program_rows_received_by_all(program, op);
    algo = program_algo(program, op, &call);
    if (!algo)
        return op->reshard.received_bytes / program->nranks; /* each rank's devices do the same */
    return ndevices / call.nmembers * coll_received_by_all(algo, &call) *
           shd_dtype_size(program->buffers[op->inputs[0]].dtype);
}

/* The groups of a step.  This cannot fail, as the planner chose the axes. */
static struct shd_groups groups_of(const struct program *program, const struct program_op *op)
{
    struct shd_groups groups;

    if (shd_groups_init(&groups, program->mesh, op->reshard.axes, op->reshard.naxes, NULL))
        abort();
    return groups;
}

struct program_moved program_moved(const struct program *program, const struct program_op *op,
                                   int32_t position)
{
    const struct program_buffer *b;
    const struct coll_algo *algo;
    struct shd_groups groups;
    struct coll_shape call;
    uint32_t member;
    uint64_t size;

    if (!program_communicates(op) || !program_holds(program, program_rank(program, position), op))
        return (struct program_moved){0, 0};
    if (op->kind == PROGRAM_SEND || op->kind == PROGRAM_RECV)
        return moved_between_stages(program, op);
    if (moves_between_nodes(op))
        return program_nodes_moved(program, op, position);
    if (op->kind == PROGRAM_ROWS)
        return program_rows_moved(program, op, position);
    b = &program->buffers[op->inputs[0]];
    size = shd_dtype_size(b->dtype);
    algo = program_algo(program, op, &call);
    if (!algo)
        return (struct program_moved){
            shd_reshard_step_received(&op->reshard, b->shape, b->dtype, position),
            shd_reshard_step_sent(&op->reshard, b->shape, b->dtype, position)};
    groups = groups_of(program, op);
    member = (uint32_t)shd_groups_member(&groups, position);
    return (struct program_moved){algo->received(&call, member) * size,
                                  algo->sent(&call, member) * size};
}

static void fetch_transfers(const struct program *program, const struct program_op *op,
                            int32_t position, program_transfer_fn fn, void *arg)
{
    const struct program_buffer *b = &program->buffers[op->inputs[0]];
    int64_t n = shd_reshard_fetch_count(&op->reshard, b->shape, position);
    bool goes_on = true;

    for (int64_t i = 0; i < n && goes_on; i++) {
        struct shd_fetch box;

        shd_reshard_fetch(&op->reshard, b->shape, position, i, &box);
        if (box.source != position)
            goes_on = fn(arg, box.source, shd_fetch_bytes(&box, b->rank, b->dtype));
    }
}

static void receive_transfers(const struct program *program, const struct program_op *op,
                              int32_t position, program_transfer_fn fn, void *arg)
{
    uint64_t bytes = moved_between_stages(program, op).received;

    if (bytes > 0)
        (void)fn(arg, program_peer(program, position, other_rank(program, op)), bytes);
}

void program_transfers(const struct program *program, const struct program_op *op, int32_t position,
                       program_transfer_fn fn, void *arg)
{
    struct coll_shape call;
    const struct coll_algo *algo;
    struct shd_groups groups;
    uint64_t size;
    uint32_t member;
    int32_t group;
    bool goes_on = true;

    if (!program_communicates(op) || op->kind == PROGRAM_SEND ||
        !program_holds(program, program_rank(program, position), op))
        return;
    if (op->kind == PROGRAM_RECV) {
        receive_transfers(program, op, position, fn, arg);
        return;
    }
    if (moves_between_nodes(op)) {
        program_nodes_transfers(program, op, position, fn, arg);
        return;
    }
    if (op->kind == PROGRAM_ROWS) {
        program_rows_transfers(program, op, position, fn, arg);
        return;
    }
    algo = program_algo(program, op, &call);
    if (!algo) {
        fetch_transfers(program, op, position, fn, arg);
        return;
    }
    groups = groups_of(program, op);
    size = shd_dtype_size(program->buffers[op->inputs[0]].dtype);
    member = (uint32_t)shd_groups_member(&groups, position);
    group = shd_groups_find(&groups, position);
    for (uint32_t s = 0; s < algo->nsteps(&call) && goes_on; s++)
        for (uint32_t i = 0; i < algo->nmoves(&call, member, s) && goes_on; i++) {
            struct coll_move move;

            algo->move(&call, member, s, i, &move);
            if (move.peer != member)
                goes_on = fn(arg, shd_groups_position(&groups, group, (int32_t)move.peer),
                             move.count * size);
        }
}
