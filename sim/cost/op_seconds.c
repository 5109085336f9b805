/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/op_seconds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/events.h"
#include "cost/op_chains.h"
#include "cost/op_chunks.h"
#include "cost/op_codes.h"
#include "cost/op_experts.h"
#include "hardware/kernel_work.h"
#include "hardware/shipped_models.h"
#include "program/rows.h"

/* ---- products of one kernel ----
 *
 * Engines keep the weights of products that read the same rows side by side: queries, keys and
 * values, or gate and up, are one product of more columns.  A program has a product for each. */

#define NEAR 24 /* search distance, in ops, for matmuls of the same rows */

/* A product of rows by weights; false: an op is none, or has its time elsewhere. */
static bool is_product(struct hardware_work *out, const struct op_seconds *s, uint32_t i)
{
    const struct program_op *op = &s->program->ops[i];

    return !s->moves[i].elsewhere && s->moves[i].columns == 0 && op->ninputs >= 2 &&
           op_seconds_work(out, s, i, program_doer(s->program, op, 0)) &&
           out->kind == HARDWARE_MATMUL && out->batch == 1 && out->experts == 0;
}

static bool reads_same(const struct program_op *a, const struct program_op *b)
{
    return a->kernel == b->kernel && a->stage == b->stage && a->part == b->part &&
           a->inputs[0] == b->inputs[0] && a->inputs[1] != b->inputs[1];
}

/* Give the first of such products the columns of all, and the others no time, in the chains of
 * `seconds`. */
static void join_products(struct op_seconds *s)
{
    const struct program *program = s->program;

    for (uint32_t i = program->first_op; i < program->nops; i++) {
        struct hardware_work first, other;

        if (!is_product(&first, s, i))
            continue;
        for (uint32_t j = i + 1; j < program->nops && j <= i + NEAR; j++) {
            if (!reads_same(&program->ops[i], &program->ops[j]) || !is_product(&other, s, j) ||
                other.m != first.m || other.k != first.k || other.type != first.type ||
                s->moves[i].type != s->moves[j].type || s->moves[i].hidden != s->moves[j].hidden)
                continue;
            s->moves[i].columns += (double)other.n;
            s->moves[i].beside_flops += other.flops;
            s->moves[i].beside_bytes +=
                other.bytes - op_seconds_bytes(s, program->ops[j].inputs[0]);
            s->moves[i].unread += s->moves[j].unread;
            s->moves[j].elsewhere = true;
        }
    }
}

/* ---- arrays ---- */

static void find_sizes(struct op_seconds *s)
{
    const struct shd_mesh *from = s->program->mesh;

    s->resized = false;
    for (size_t a = 0; a < shd_mesh_naxes(from); a++) {
        int32_t size = shd_mesh_axis_size(from, a);
        int axis = shd_mesh_find_axis(s->mesh, shd_mesh_axis_name(from, a));
        int32_t laid = axis < 0 ? size : shd_mesh_axis_size(s->mesh, (size_t)axis);

        s->sizes[a] = (double)laid;
        s->resized |= laid != size;
    }
}

/* Whether a cluster says how fast each product of codes is: the rate of a wider type would be a
 * time that nobody asked for. */
static int check_rates(const struct program *program, const struct hardware *hardware,
                       struct shd_error *err)
{
    for (uint32_t i = 0; i < program->nops; i++) {
        const struct program_op *op = &program->ops[i];
        enum shd_dtype code;

        if (op->kind != PROGRAM_KERNEL || !kern_multiplies_codes(op->kernel))
            continue;
        code = op_seconds_code(&op->desc->coded);
        if (!(hardware->flops_per_s[code] > 0))
            return shd_error_set(err, SHD_EUNSUPPORTED,
                                 "products.recipe: cluster '%.40s' has no rate of %s, the type of "
                                 "matmul '%.40s'; expected rates.%s, or products.recipe none",
                                 hardware->name, shd_dtype_name(code), op->name,
                                 shd_dtype_name(code));
    }
    return SHD_OK;
}

/* The cluster as a program's kind of step uses it: as engines of serving run it, as kernels were
 * measured alone, or, of a step that learns, as its file says. */
static struct hardware as_used(const struct hardware *hardware, const struct program *program)
{
    if (program_serves(program))
        return hardware_as_served(hardware);
    return program_learns(program) ? *hardware : hardware_as_measured(hardware);
}

/* Whether a step that is not served has to be timed otherwise than by the cluster as it is.  A list
 * of models of the cluster's own is bound already. */
static bool uses_models(const struct hardware *hardware, const struct program *program)
{
    const struct hardware_sustained *s = &hardware->sustained;

    if (program_learns(program))
        return s->products + s->coded_products + s->experts + s->coded_experts + s->attention > 0 &&
               !hardware->models && hardware->models_of;
    return hardware->models || hardware->models_of;
}

/* Let a step of serving be timed as engines of serving run it, and a step that only computes
 * results as its kernels were measured: constants that were fitted to steps that learn have in them
 * what devices lose under a load that lasts.  The host prepares a step of serving before its first
 * kernel.  False: no memory. */
static bool serve(struct op_seconds *out)
{
    const struct program *program = out->program;
    bool serves = program_serves(program);

    out->host_op = PROGRAM_NONE;
    if (!serves && !uses_models(out->hardware, program))
        return true;
    out->served = malloc(sizeof *out->served);
    if (out->served)
        *out->served = as_used(out->hardware, program);
    out->hardware = out->served;
    if (!out->served || shipped_models_bind(out->served) != SHD_OK)
        return false;
    if (!serves)
        return true;
    out->host_op = program->first_op;
    while (out->host_op < program->nops && program->ops[out->host_op].kind != PROGRAM_KERNEL)
        out->host_op++;
    return true;
}

/* Queries of a sequence, at most, of a step whose kernels start from a captured graph: those of a
 * decode that verifies a draft. */
#define CAPTURED_QUERIES 16

/* Whether a step takes prompts in. */
static bool takes_prompts(const struct op_seconds *s)
{
    for (uint32_t i = s->program->first_op; i < s->program->nops; i++) {
        const struct program_op *op = &s->program->ops[i];

        if (op->kind == PROGRAM_KERNEL && op->kernel == &kern_kernel_attention &&
            op->desc->attention.queries > CAPTURED_QUERIES)
            return true;
    }
    return false;
}

/* Let devices wait for the host: before each step, and, where no captured graph starts its kernels,
 * for as long as the host takes to start them beyond what the first device takes. */
static void wait_for_host(struct op_seconds *s)
{
    double starting = 0, busy = 0;

    s->host_s = s->hardware->serving.step_s;
    if (!(s->hardware->serving.host_launch_s > 0) || !s->prompts)
        return;
    for (uint32_t i = s->program->first_op; i < s->program->nops; i++) {
        double seconds =
            op_seconds_of(s, i, program_doer(s->program, &s->program->ops[i], 0));

        busy += seconds;
        starting += seconds > 0 ? s->hardware->serving.host_launch_s : 0;
    }
    s->host_s = fmax(s->host_s, s->host_s + starting - busy);
}

int op_seconds_init(struct op_seconds *out, const struct program *program,
                    const struct hardware *hardware, struct shd_error *err)
{
    int status = check_rates(program, hardware, err);

    if (status != SHD_OK)
        return status;
    *out = (struct op_seconds){.program = program, .hardware = hardware};
    out->moves = calloc((size_t)program->nops + 1, sizeof *out->moves);
    if (!serve(out) || !out->moves) {
        op_seconds_fini(out);
        *out = (struct op_seconds){.program = program};
        return shd_error_set(err, SHD_ENOMEM, "no memory to time a program");
    }
    out->prompts = program_serves(program) && takes_prompts(out);
    op_seconds_lay(out, program->mesh);
    if (program_serves(program)) {
        op_codes_find(out);
        op_experts_hide(out);
        join_products(out);
    }
    op_chains_find(out);
    op_experts_start(out);
    if (program_serves(program))
        wait_for_host(out);
    return SHD_OK;
}

void op_seconds_fini(struct op_seconds *seconds)
{
    free(seconds->moves);
    free(seconds->served);
}

/* The part of a product's weights that a device reads. */
static double weights_part(const struct op_seconds *s, const struct program_op *op,
                           int32_t position)
{
    int64_t offsets[KERN_OFFSETS_MAX];

    if (op->kernel != &kern_kernel_grouped)
        return 1;
    program_op_offsets(s->program, op, position, offsets);
    return kern_grouped_part(&op->desc->grouped, UINT32_C(1) << op->desc->grouped.expert, offsets);
}

/* Work of an op, or of the chain that begins with it; false: none. */
static bool timed_work(struct hardware_work *out, const struct op_seconds *s, uint32_t i,
                       int32_t position)
{
    const struct program_op *op = &s->program->ops[i];
    const struct op_moves *m = &s->moves[i];

    if (m->elsewhere || !op_seconds_set_work(out, s, op, position))
        return false;
    if (m->bytes > 0 || m->rows > 0)
        out->bytes = op_chains_bytes(s, m, position);
    if (m->unread != 0)
        out->bytes -= m->unread * weights_part(s, op, position);
    if (m->coded)
        out->type = m->type;
    out->n += (int64_t)m->columns;
    out->flops += m->beside_flops;
    out->bytes += m->beside_bytes;
    return true;
}

bool op_seconds_timed(struct hardware_work *out, const struct op_seconds *s, uint32_t i,
                      int32_t position)
{
    return timed_work(out, s, i, position) && !s->program->ops[i].on_host;
}

/* Seconds of an op's kernel, started before. */
static double own_seconds(const struct op_seconds *s, uint32_t i, int32_t position)
{
    const struct program_op *op = &s->program->ops[i];
    struct hardware_work work;

    if (s->moves[i].hidden || !timed_work(&work, s, i, position))
        return 0;
    return op->on_host
               ? hardware_host_kernel_seconds(s->hardware, &work, shd_mesh_size(s->program->mesh))
               : op_chunks_seconds(s->hardware, &work, s->program, op);
}

/* Seconds that a device waits for the host to start the kernels of its experts. */
static double waits_for_starts(const struct op_seconds *s, uint32_t i, int32_t position)
{
    double waits = s->moves[i].starts_s;

    for (uint32_t k = s->moves[i].first; k <= i && waits > 0; k++)
        waits -= own_seconds(s, k, position);
    return fmax(waits, 0);
}

static double kernel_seconds(const struct op_seconds *s, uint32_t i, int32_t position)
{
    return own_seconds(s, i, position) + waits_for_starts(s, i, position);
}

enum hardware_bound op_seconds_bound(const struct op_seconds *s, uint32_t i, int32_t position)
{
    struct hardware_work work;

    if (waits_for_starts(s, i, position) > own_seconds(s, i, position))
        return HARDWARE_BY_LAUNCH;
    return timed_work(&work, s, i, position) ? hardware_kernel_bound(s->hardware, &work)
                                             : HARDWARE_BY_MEMORY;
}

/* ---- collectives ---- */

static double operand_bytes(const struct op_seconds *s, const struct program_op *op)
{
    double bytes = 0;

    for (uint32_t k = 0; k < op->ninputs; k++)
        bytes += op_seconds_bytes(s, op->inputs[k]);
    return bytes;
}

/* Whether an op moves parameters or their gradients, which software merges into buckets. */
static bool is_bucketed(const struct program *program, const struct program_op *op)
{
    enum program_use use = program->buffers[op->outputs[0]].use;

    return op->kind == PROGRAM_RESHARD && (op->part == PROGRAM_UPDATE || use == PROGRAM_GRADIENTS ||
                                           use == PROGRAM_GATHERED || use == PROGRAM_PARAMETERS);
}

/* Bytes of the sums of experts' results, if each device of the group gets those of all tokens in a
 * step of serving; 0: tokens have devices of their own.  Engines then let a device add up what its
 * experts made of a token, and sum these over the group, in place of sending every row. */
static double sums_bytes(const struct op_seconds *s, const struct program_op *op)
{
    const struct program_buffer *b = &s->program->buffers[op->outputs[0]];
    double bytes = op_seconds_bytes(s, op->outputs[0]);

    if (!s->hardware->served || op->kind != PROGRAM_ROWS || !op->rows.combines || op->rows.beside)
        return 0;
    for (uint8_t a = 0; a < op->rows.naxes; a++)
        if (shd_sharding_axes(&b->sharding) >> op->rows.axes[a] & 1)
            return 0;
    return op->rows.sums ? bytes : bytes / (double)b->local[b->rank - 2];
}

void op_seconds_transfer(struct hardware_transfer *out, const struct op_seconds *s, uint32_t i,
                         int32_t position)
{
    const struct program_op *op = &s->program->ops[i];
    double received = 0, n;

    if (program_coll_kind(op) < 0)
        received = (double)program_moved(s->program, op, position).received;
    if (op->kind == PROGRAM_RESHARD) {
        hardware_transfer_of(out, s->hardware, &op->reshard, operand_bytes(s, op), received);
        if (s->mesh != s->program->mesh)
            op_seconds_group(&out->group, s, i);
        return;
    }
    op_seconds_group(&out->group, s, i);
    out->kind = COLL_ALL_REDUCE;
    out->operand_bytes = sums_bytes(s, op);
    if (out->operand_bytes > 0)
        return;
    out->kind = COLL_ALL_TO_ALL;
    out->group.crossing = s->moves[i].crossing;
    n = (double)out->group.members;
    out->operand_bytes = n > 1 ? received * n / (n - 1) : 0;
}

/* ---- algorithms that are asked for ---- */

/* False: the op is left to the cluster's library. */
static bool asks(struct op_schedule *out, const struct op_seconds *s, const struct program_op *op)
{
    int kind = program_coll_kind(op);
    struct coll_shape shape;
    uint8_t axes[SHD_MESH_AXES_MAX];

    if (kind < 0 || kind == COLL_PERMUTE || !s->program->algos[kind])
        return false;
    out->algo = program_algo(s->program, op, &shape);
    memcpy(axes, op->reshard.axes, op->reshard.naxes * sizeof *axes);
    op_seconds_find_axes(s, axes, op->reshard.naxes);
    return out->algo == s->program->algos[kind] &&
           shd_groups_init(&out->groups, s->mesh, axes, op->reshard.naxes, NULL) == SHD_OK;
}

static const struct op_schedule *find_schedule(const struct op_seconds *s,
                                               const struct op_schedule *asked)
{
    for (size_t k = 0; k < s->nschedules; k++)
        if (s->schedules[k].algo == asked->algo &&
            s->schedules[k].groups.naxes == asked->groups.naxes &&
            !memcmp(s->schedules[k].groups.axes, asked->groups.axes, asked->groups.naxes))
            return &s->schedules[k];
    return NULL;
}

void op_seconds_lay(struct op_seconds *s, const struct shd_mesh *mesh)
{
    s->mesh = mesh;
    find_sizes(s);
    op_seconds_cross(s);
    s->nschedules = 0;
    for (uint32_t i = 0; i < s->program->nops && s->nschedules < OP_SCHEDULES_MAX; i++) {
        struct op_schedule *next = &s->schedules[s->nschedules];

        if (!asks(next, s, &s->program->ops[i]) || find_schedule(s, next))
            continue;
        hardware_steps_of(next->steps, s->hardware, next->algo, &next->groups);
        s->nschedules++;
    }
}

/* ---- their seconds ---- */

static double transfer_seconds(const struct op_seconds *s, const struct program_op *op,
                               const struct hardware_transfer *transfer, double bytes)
{
    const struct op_schedule *known;
    struct op_schedule asked;

    if (!asks(&asked, s, op))
        return hardware_collective_seconds(s->hardware, transfer->kind, &transfer->group, bytes);
    known = find_schedule(s, &asked);
    if (known)
        return hardware_steps_seconds(known->steps, bytes);
    hardware_steps_of(asked.steps, s->hardware, asked.algo, &asked.groups);
    return hardware_steps_seconds(asked.steps, bytes);
}

/* Seconds of a collective; one smaller than a bucket takes its share of a whole bucket's time. */
static double collective_seconds(const struct op_seconds *s, uint32_t i, int32_t position)
{
    const struct program_op *op = &s->program->ops[i];
    double bucket = s->hardware->software.bucket_bytes, bytes;
    const struct kernel_model *exchange;
    struct hardware_transfer transfer;
    struct kernel_parts parts;
    struct kernel_sizes sizes;

    op_seconds_transfer(&transfer, s, i, position);
    exchange = transfer.kind == COLL_ALL_TO_ALL ? op_experts_exchange(&sizes, s, i) : NULL;
    if (exchange) /* data sent alongside rows is part of the rows' exchange */
        return op->rows.beside
                   ? 0
                   : kernel_work_model_seconds(&parts, s->hardware, exchange, &sizes);
    bytes = transfer.operand_bytes;
    if (bytes <= 0 || bytes >= bucket || !is_bucketed(s->program, op))
        return transfer_seconds(s, op, &transfer, bytes);
    return transfer_seconds(s, op, &transfer, bucket) * (bytes / bucket);
}

/* ---- collectives beside products ---- */

static double product_seconds(const struct op_seconds *s, const struct program_op *op,
                              int32_t position)
{
    struct hardware_work work;

    return op->kind == PROGRAM_KERNEL && op_seconds_set_work(&work, s, op, position) &&
                   work.kind == HARDWARE_MATMUL
               ? hardware_kernel_seconds(s->hardware, &work)
               : 0;
}

/* Seconds of the products in the op's part that read its result. */
static double readers_seconds(const struct op_seconds *s, uint32_t i, int32_t position)
{
    const struct program_op *ops = s->program->ops, *op = &ops[i];
    uint32_t last = s->program->buffers[op->outputs[0]].last_op;
    double seconds = 0;

    for (uint32_t j = i + 1; j <= last && j < s->program->nops && ops[j].part == op->part; j++)
        for (uint32_t k = 0; k < ops[j].ninputs; k++)
            if (ops[j].inputs[k] == op->outputs[0])
                seconds += product_seconds(s, &ops[j], position);
    return seconds;
}

/* Seconds of a collective of activations that remain outside of products: what a device needs
 * first, or has made last, is its own part, and of the others' one piece after the other travels
 * beside the product of the piece before.  At least one piece is exposed. */
static double beside_product(const struct op_seconds *s, uint32_t i, int32_t position,
                             double seconds)
{
    const struct program_op *op = &s->program->ops[i];
    const struct program_buffer *from = &s->program->buffers[op->inputs[0]];
    int kind = program_coll_kind(op);
    struct hardware_group group;
    double product, pieces;

    if (!s->hardware->software.overlaps_products || op->kind != PROGRAM_RESHARD ||
        s->program->buffers[op->outputs[0]].use != PROGRAM_ACTIVATIONS)
        return seconds;
    product = kind == COLL_ALL_GATHER ? readers_seconds(s, i, position)
              : kind == COLL_REDUCE_SCATTER
                  ? product_seconds(s, &s->program->ops[from->first_op], position)
                  : 0;
    op_seconds_group(&group, s, i);
    pieces = (double)group.members;
    if (product <= 0 || pieces < 2)
        return seconds;
    return fmax(seconds / pieces, seconds - product * (pieces - 1) / pieces);
}

/* The device that sends the message which a device receives. */
static int32_t sender(const struct program *program, const struct program_op *op, int32_t position)
{
    const struct program_channel *c = &program->channels[op->channel];

    return program_doer(program, &program->ops[c->send], position);
}

/* The devices along some axes that have the same shard of an array, as a group. */
static void group_of_copies(struct hardware_group *out, const struct op_seconds *s,
                            const struct program_buffer *b, uint32_t along)
{
    uint32_t cut = shd_sharding_axes(&b->sharding);
    uint8_t axes[SHD_MESH_AXES_MAX];
    size_t naxes = 0;

    for (size_t a = 0; a < shd_mesh_naxes(s->program->mesh); a++)
        if (along >> a & 1 && !(cut >> a & 1))
            axes[naxes++] = (uint8_t)a;
    op_seconds_group_along(out, s, axes, naxes);
}

/* Seconds of a message.  If several devices of a node would send equal messages over a slower tier,
 * each sends a part, and the receivers gather the whole. */
double op_seconds_message(const struct op_seconds *s, int64_t from, int64_t to, uint32_t buffer,
                          uint32_t along)
{
    const struct program_buffer *b = &s->program->buffers[buffer];
    double bytes = op_seconds_bytes(s, buffer), part;
    struct hardware_group group;

    if (!s->hardware->software.scatters_sends)
        return hardware_message_seconds(s->hardware, from, to, bytes);
    group_of_copies(&group, s, b, along);
    if (hardware_tier_between(s->hardware, from, to) == 0 || group.inside[0] < group.members ||
        group.members < 2)
        return hardware_message_seconds(s->hardware, from, to, bytes);
    part = bytes / (double)group.members;
    return hardware_message_seconds(s->hardware, from, to, part) +
           hardware_collective_seconds(s->hardware, COLL_ALL_GATHER, &group, part);
}

static double message_seconds(const struct op_seconds *s, const struct program_op *op,
                              int32_t position)
{
    uint32_t along = UINT32_MAX;

    if (op->kind == PROGRAM_SEND)
        return 0;
    if (s->program->stage_axis >= 0) /* stages have different arrays */
        along &= ~(UINT32_C(1) << s->program->stage_axis);
    return op_seconds_message(s, sender(s->program, op, position), position, op->outputs[0], along);
}

/* The outermost tier that an op uses for communication. */
static int tier_of(const struct op_seconds *s, uint32_t i)
{
    const struct program_op *op = &s->program->ops[i];
    struct hardware_group group;
    int tier = 0;

    if (op->kind == PROGRAM_SEND || op->kind == PROGRAM_RECV) {
        int32_t to = program_doer(s->program, op, 0);
        int32_t from = op->kind == PROGRAM_RECV ? sender(s->program, op, to) : to;

        return hardware_tier_between(s->hardware, from, to);
    }
    op_seconds_group(&group, s, i);
    while (tier + 1 < s->hardware->ntiers && group.inside[tier] < group.members)
        tier++;
    return tier;
}

unsigned op_seconds_stream(const struct op_seconds *s, uint32_t i)
{
    const struct program_op *op = &s->program->ops[i];
    int tier = program_communicates(op) ? tier_of(s, i) : 0;
    struct hardware_group group;
    unsigned axis = 0;

    if (!program_communicates(op))
        return events_host_stream(op);
    if (!s->hardware->tiers[0].torus)
        return (unsigned)tier;
    if (tier > 0)
        return HARDWARE_TORUS_MAX;
    if (op->kind == PROGRAM_SEND || op->kind == PROGRAM_RECV)
        return 0;
    op_seconds_group(&group, s, i);
    while (axis + 1 < HARDWARE_TORUS_MAX && group.along[axis] <= 1)
        axis++;
    return axis;
}

double op_seconds_of(const struct op_seconds *s, uint32_t i, int32_t position)
{
    const struct program_op *op = &s->program->ops[i];

    if (op->kind == PROGRAM_HOST)
        return hardware_host_copy_seconds(s->hardware, op->to_host,
                                          (double)s->program->buffers[op->inputs[0]].bytes);
    if (!program_communicates(op))
        return kernel_seconds(s, i, position) + (i == s->host_op ? s->host_s : 0);
    if (op->kind == PROGRAM_SEND || op->kind == PROGRAM_RECV)
        return message_seconds(s, op, position);
    return beside_product(s, i, position, collective_seconds(s, i, position));
}

/* Whether devices have more or fewer rows of experts than others in the arrays of an op, or of the
 * chain that begins with it. */
static bool moves_unevenly(const struct op_seconds *s, uint32_t i)
{
    const struct program_op *op = &s->program->ops[i];
    const struct program_buffer *buffers = s->program->buffers;
    bool uneven = s->moves[i].rows > 0 && program_rows_differ(&buffers[s->moves[i].taken]);

    for (uint32_t k = 0; k < op->ninputs; k++)
        uneven |= program_rows_differ(&buffers[op->inputs[k]]);
    for (uint32_t k = 0; k < op->noutputs; k++)
        uneven |= program_rows_differ(&buffers[op->outputs[k]]);
    return uneven && !s->moves[i].elsewhere;
}

bool op_seconds_even(const struct op_seconds *s, uint32_t i)
{
    const struct program_op *op = &s->program->ops[i];

    if (op->kind == PROGRAM_SEND || op->kind == PROGRAM_RECV)
        return true;
    if (program_communicates(op))
        return program_coll_kind(op) >= 0;
    return !program_op_skips(op) && !moves_unevenly(s, i);
}
