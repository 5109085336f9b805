/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "cost/traits.h"

#include <math.h>

#include "base/text.h"
#include "cost/op_seconds.h"
#include "hardware/traits.h"

#define BIT(trait) (UINT32_C(1) << (trait))

/* Axes that shard the inputs along their first dimension, the batch, and along others. */
struct input_axes {
    uint32_t batch, others;
    int64_t length;
};

static uint32_t axes_along(const struct shd_sharding *sharding, uint32_t dim)
{
    uint32_t mask = 0;

    for (uint32_t k = 0; k < sharding->dims[dim].naxes; k++)
        mask |= BIT(sharding->dims[dim].axes[k]);
    return mask;
}

static void find_inputs(struct input_axes *out, const struct program *program)
{
    *out = (struct input_axes){0};
    for (uint32_t k = 0; k < program->nbuffers; k++) {
        const struct program_buffer *b = &program->buffers[k];

        if (b->use != PROGRAM_DATA || b->rank < 1)
            continue;
        out->batch |= axes_along(&b->sharding, 0);
        for (uint32_t d = 1; d < b->rank; d++)
            out->others |= axes_along(&b->sharding, d);
        if (b->rank > 1 && b->shape[1] > out->length)
            out->length = b->shape[1];
    }
}

/* ---- what ops say ---- */

struct finding {
    struct traits *out;
    struct op_seconds seconds; /* only what says the work of an op */
    struct input_axes inputs;
    uint32_t tensor_axes;
    bool serves;
    uint128 flops[SHD_NDTYPES];
};

static uint32_t axes_of(const struct program_op *op)
{
    uint8_t axes[SHD_MESH_AXES_MAX];
    size_t naxes = program_op_axes(op, axes);
    uint32_t mask = 0;

    for (size_t k = 0; k < naxes; k++)
        mask |= BIT(axes[k]);
    return mask;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Queries of a decode: one token of each sequence, or a few that were guessed. */
#define DECODE_QUERIES_MOST 16

/* A serving step's length is the number of attended tokens: this step's and the KV cache's. */
static void see_attention(struct finding *f, const struct kern_attention *attention)
{
    f->out->mask |= BIT(TRAIT_FUSED);
    if (!f->serves)
        return;
    f->out->mask |=
        attention->queries <= DECODE_QUERIES_MOST ? BIT(TRAIT_DECODE) : BIT(TRAIT_PREFILL);
    f->out->mask |= attention->code ? BIT(TRAIT_CODED_CACHE) : 0;
    f->out->length = larger(f->out->length, attention->keys);
}

static void see_kernel(struct finding *f, uint32_t i)
{
    const struct program_op *op = &f->seconds.program->ops[i];
    struct hardware_work work;

    if (op->kernel == &kern_kernel_attention)
        see_attention(f, &op->desc->attention);
    if (op->kernel == &kern_kernel_linear_attention)
        f->out->mask |= BIT(TRAIT_LINEAR);
    if (op->kernel == &kern_kernel_einsum && op->part == PROGRAM_UPDATE)
        f->out->mask |= BIT(TRAIT_MATRICES);
    if (op->kernel == &kern_kernel_dequantize)
        f->out->mask |= BIT(f->seconds.program->buffers[op->inputs[0]].use == PROGRAM_CACHE
                                ? TRAIT_CACHE4
                                : TRAIT_CODED_WEIGHTS);
    if (!op_seconds_work(&work, &f->seconds, i, program_doer(f->seconds.program, op, 0)) ||
        work.kind != HARDWARE_MATMUL || op->part != PROGRAM_FORWARD || op->again)
        return;
    f->flops[work.dtype] += (uint128)op->dense_flops * op->times;
    if (work.batch > 1 && op->kernel == &kern_kernel_einsum)
        f->out->mask |= BIT(TRAIT_SCORES);
    if (work.batch > 1)
        return;
    f->out->near.rows = larger(f->out->near.rows, work.m);
    f->out->near.inner = larger(f->out->near.inner, work.k);
}

/* Activations that are summed or gathered over axes which do not cut the inputs are those of tensor
 * parallelism; parameters that are gathered before the update are ZeRO 3's, those after it ZeRO
 * 1's. */
static void see_reshard(struct finding *f, const struct program_op *op)
{
    const struct program_buffer *to = &f->seconds.program->buffers[op->outputs[0]];
    uint32_t axes = axes_of(op);

    if (to->use == PROGRAM_GATHERED && op->part != PROGRAM_UPDATE && (axes & f->inputs.batch))
        f->out->mask |= BIT(TRAIT_WEIGHTS);
    if (op->part == PROGRAM_UPDATE && program_coll_kind(op) == COLL_ALL_GATHER &&
        (axes & f->inputs.batch))
        f->out->mask |= BIT(TRAIT_STATE);
    if (op->part == PROGRAM_FORWARD && to->use == PROGRAM_ACTIVATIONS)
        f->tensor_axes |= axes & ~(f->inputs.batch | f->inputs.others);
}

static void see_op(struct finding *f, uint32_t i)
{
    const struct program_op *op = &f->seconds.program->ops[i];

    if (op->on_host || op->kind == PROGRAM_HOST)
        f->out->mask |= BIT(TRAIT_HOST);
    else if (op->kind == PROGRAM_ROWS)
        f->out->mask |= BIT(TRAIT_EXPERTS) | (op->rows.naxes > 0 ? BIT(TRAIT_DISPATCH) : 0);
    else if (op->kind == PROGRAM_KERNEL)
        see_kernel(f, i);
    else if (op->kind == PROGRAM_RESHARD && program_communicates(op))
        see_reshard(f, op);
}

/* ---- what they come to ---- */

static uint32_t trait_of_type(enum shd_dtype dtype)
{
    if (dtype == SHD_F4E2M1)
        return BIT(TRAIT_FLOAT4);
    switch (shd_dtype_size(dtype)) {
    case 1:
        return BIT(TRAIT_FLOAT8);
    case 2:
        return BIT(TRAIT_16BIT);
    default:
        return BIT(TRAIT_FLOAT32);
    }
}

/* The type of most products. */
static void add_type(struct finding *f)
{
    int most = 0;

    for (int t = 1; t < SHD_NDTYPES; t++)
        if (f->flops[t] > f->flops[most])
            most = t;
    if (f->flops[most] > 0)
        f->out->mask |= trait_of_type((enum shd_dtype)most);
}

/* Of the forward phase, a third of the step's flops, most is done again where whole layers
 * are. */
#define WHOLE 0.6

static void add_again(struct traits *out, const struct program *program)
{
    struct program_work work;

    program_work(&work, program);
    if (work.again_flops > 0)
        out->mask |= (double)work.again_flops > WHOLE * (double)work.model_flops / 3
                         ? BIT(TRAIT_LAYERS)
                         : BIT(TRAIT_PARTS);
}

static void add_replicas(struct finding *f)
{
    const struct program *program = f->seconds.program;
    uint8_t axes[SHD_MESH_AXES_MAX];
    struct hardware_group group;
    size_t naxes = 0;

    for (uint8_t a = 0; a < shd_mesh_naxes(program->mesh); a++)
        if (f->inputs.batch >> a & 1)
            axes[naxes++] = a;
    hardware_group_of(&group, f->seconds.hardware, program->mesh, axes, naxes);
    if (group.members > 1)
        f->out->mask |= BIT(TRAIT_REPLICAS);
    if (group.members > group.inside[0])
        f->out->mask |= BIT(TRAIT_NODES);
    if (shd_mesh_size_along(program->mesh, f->inputs.others) > 1)
        f->out->mask |= BIT(TRAIT_CONTEXT);
    f->out->near.tensor = shd_mesh_size_along(program->mesh, f->tensor_axes);
    if (f->out->near.tensor > 1)
        f->out->mask |= BIT(TRAIT_TENSOR);
}

void traits_of(struct traits *out, const struct program *program, const struct hardware *hardware)
{
    struct finding f = {.out = out,
                        .seconds = {.program = program, .hardware = hardware},
                        .serves = program_serves(program)};

    *out = (struct traits){.parameters = program_parameters(program),
                           .devices = shd_mesh_size(program->mesh)};
    find_inputs(&f.inputs, program);
    out->length = f.inputs.length;
    for (uint32_t i = program->first_op; i < program->nops; i++)
        see_op(&f, i);
    for (uint32_t k = 0; k < program->nbuffers; k++)
        if (program->buffers[k].frozen && !f.serves)
            out->mask |= BIT(TRAIT_FROZEN);
    if (program->nranks > 1)
        out->mask |= BIT(TRAIT_PIPELINE);
    if (hardware->other_software && !f.serves)
        out->mask |= BIT(TRAIT_SOFTWARE);
    for (int kind = 0; kind < COLL_NKINDS; kind++)
        if (program->algos[kind])
            out->mask |= BIT(TRAIT_ALGORITHMS);
    add_type(&f);
    add_again(out, program);
    add_replicas(&f);
}

/* ---- trust ---- */

/* Of fewer steps the largest error is no bound of further ones. */
#define STEPS_LEAST 4

static uint32_t beyond(const struct hardware_validation *v, const struct traits *t)
{
    uint32_t mask = t->mask & ~v->traits;

    if (t->parameters < v->parameters_least || t->parameters > v->parameters_most)
        mask |= BIT(TRAIT_PARAMETERS);
    if (t->devices < v->devices_least || t->devices > v->devices_most)
        mask |= BIT(TRAIT_DEVICES);
    if (t->length < v->length_least || t->length > v->length_most)
        mask |= BIT(TRAIT_LENGTH);
    return mask;
}

/* Whether two lengths have the same power of two below them. */
static bool alike(int64_t a, int64_t b)
{
    return a > 0 && b > 0 && ilogb((double)a) == ilogb((double)b);
}

static void claim(struct trust *out, const struct traits *t)
{
    out->claim = out->set->claim;
    out->rows = out->set->rows;
    for (int k = 0; k < out->set->nnear; k++) {
        const struct hardware_near *n = &out->set->near[k];

        if (n->tensor == t->near.tensor && alike(n->rows, t->near.rows) &&
            alike(n->inner, t->near.inner)) {
            out->claim = n->claim;
            out->rows = n->steps;
        }
    }
}

void trust_of(struct trust *out, const struct program *program, const struct hardware *hardware)
{
    struct traits t;

    *out = (struct trust){.claim = -1};
    if (hardware->nvalidations == 0)
        return;
    traits_of(&t, program, hardware);
    for (int k = 0; k < hardware->nvalidations; k++) {
        const struct hardware_validation *v = &hardware->validations[k];
        uint32_t mask = beyond(v, &t);
        int fewer = out->set ? __builtin_popcount(mask) - __builtin_popcount(out->beyond) : -1;

        if (hardware_validates_serving(v) && !program_serves(program))
            continue;
        if (fewer < 0 || (fewer == 0 && v->rows > out->set->rows))
            *out = (struct trust){.set = v, .beyond = mask, .claim = -1};
    }
    if (out->set && out->beyond == 0 && out->set->rows >= STEPS_LEAST)
        claim(out, &t);
}

void trust_join(struct trust_of_all *all, const struct trust *trust)
{
    bool first = all->nsteps++ == 0, less = trust->claim < 0 || trust->rows < all->rows;

    all->measured = trust->set && (first || all->measured);
    all->beyond |= trust->beyond;
    all->rows = first || less ? trust->rows : all->rows;
    if (first || trust->claim < 0 || (all->claim >= 0 && trust->claim > all->claim))
        all->claim = trust->claim;
}

void trust_print_beyond(struct text *out, uint32_t beyond)
{
    const char *comma = "";

    for (int t = 0; t < TRAIT_NTRAITS; t++)
        if (beyond >> t & 1) {
            text_addf(out, "%s%s", comma, hardware_traits[t].text);
            comma = ", ";
        }
}
