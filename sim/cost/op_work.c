/* What the kernel of an op does, for a cluster to take time for (op_seconds.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "cost/op_seconds.h"

#include <string.h>

#include "program/rows.h"

/* The mean of an array's parts, without padding. */
static double mean_bytes(const struct op_seconds *s, const struct program_buffer *b)
{
    double bytes = (double)shd_dtype_size(b->dtype);
    uint32_t cut = shd_sharding_axes(&b->sharding);

    for (uint32_t d = 0; d < b->rank; d++)
        bytes *= (double)b->shape[d];
    for (size_t a = 0; cut >> a; a++)
        if (cut >> a & 1)
            bytes /= s->sizes[a];
    return bytes;
}

double op_seconds_bytes(const struct op_seconds *s, uint32_t buffer)
{
    const struct program_buffer *b = &s->program->buffers[buffer];

    return s->resized && b->use != PROGRAM_ACTIVATIONS ? mean_bytes(s, b) : (double)b->bytes;
}

/* Set the extents of a matrix product; dimensions of both operands and the result are its batch.
 * False: no matrix product, as no dimension is summed over, or an operand has no dimension of its
 * own: vectors are multiplied, or each of a batch by a matrix of its own.  Single rows, columns and
 * terms have a dimension of extent 1, and a single row may do without.  Dimensions of neither
 * operand are those of the blocks that have a scale each. */
static bool set_product(struct hardware_work *out, const struct kern_einsum *e)
{
    bool has_m = false, has_n = false, has_k = false;

    out->batch = out->m = out->n = out->k = 1;
    for (uint32_t d = 0; d < e->ndims; d++) {
        bool a = e->a_has >> d & 1, b = e->b_has >> d & 1, c = e->c_has >> d & 1;
        int64_t *to = a && b && c ? &out->batch : a && c ? &out->m : b && c ? &out->n : &out->k;

        if (!a && !b)
            continue;
        *to *= e->extent[d];
        has_m |= to == &out->m;
        has_n |= to == &out->n;
        has_k |= to == &out->k;
    }
    return has_k && ((has_m && has_n) || ((has_m || has_n) && out->batch == 1));
}

enum shd_dtype op_seconds_code(const struct kern_coded *c)
{
    return c->a.code == SHD_F4E2M1 ? c->b.code : c->a.code;
}

/* The type of models of measured products of numbers; KERNEL_ANY_TYPE: of none. */
static enum kernel_type type_of_numbers(enum shd_dtype dtype)
{
    return dtype == SHD_BF16 || dtype == SHD_F16 ? KERNEL_BF16 : KERNEL_ANY_TYPE;
}

/* Queries of different heads fill tiles together only where all else that they read is one. */
static void set_attention(struct hardware_work *out, const struct kern_attention *a)
{
    int64_t together = a->one ? a->heads / a->kv_heads : 1;

    out->dtype = a->dtype;
    out->batch = a->batch * a->heads / together;
    out->m = a->queries * together;
    out->n = a->keys;
    out->k = a->head_dim;
    out->sequences = a->batch;
    out->heads = a->heads;
    out->kv_heads = a->kv_heads;
    out->queries = a->queries;
    out->head = ((double)a->head_dim + (double)a->value_dim) / 2;
    out->latent = a->one || a->head_dim != a->value_dim;
    if (type_of_numbers(a->dtype) == KERNEL_BF16)
        out->type = a->code ? KERNEL_BF16_FP8 : KERNEL_BF16_BF16;
}

/* The same of products of codes. */
static enum kernel_type type_of_codes(const struct kern_coded *c)
{
    enum shd_dtype code = op_seconds_code(c);

    if (code == SHD_F4E2M1)
        return KERNEL_NVFP4;
    return c->b.ncoarse > 0 ? KERNEL_FP8_BLOCK : KERNEL_FP8;
}

/* Linear attention is a batch of products of a chunk of tokens with a head's state, as many as have
 * the flops: products of pairs of tokens are of such sizes, too. */
static void set_linear_attention(struct hardware_work *out, const struct program_op *op)
{
    const struct kern_linear_attention *a = &op->desc->linear_attention;

    out->m = a->chunk < a->seq ? a->chunk : a->seq;
    out->n = a->value_dim;
    out->k = a->key_dim;
    out->batch = (int64_t)((double)kern_dense_flops(op->kernel, op->desc) /
                           (2 * (double)out->m * (double)out->n * (double)out->k));
    out->batch = out->batch > 1 ? out->batch : 1;
    out->kind = HARDWARE_MATMUL;
    out->dtype = a->dtype;
    out->type = type_of_numbers(a->dtype);
}

static void set_kind(struct hardware_work *out, const struct program_op *op)
{
    out->kind = HARDWARE_MEMORY;
    out->type = KERNEL_ANY_TYPE;
    if (op->kernel == &kern_kernel_einsum) {
        /* A product of vectors is a sum that reads its operands once. */
        if (set_product(out, &op->desc->einsum))
            out->kind = HARDWARE_MATMUL;
        out->dtype = op->desc->einsum.dtype;
        out->type = type_of_numbers(out->dtype);
    } else if (op->kernel == &kern_kernel_grouped) {
        (void)set_product(out, &op->desc->grouped.einsum);
        out->kind = HARDWARE_MATMUL;
        out->dtype = op->desc->grouped.einsum.dtype;
        out->type = type_of_numbers(out->dtype);
    } else if (kern_multiplies_codes(op->kernel)) {
        if (set_product(out, &op->desc->coded.product.einsum) || op->desc->coded.product.routing)
            out->kind = HARDWARE_MATMUL;
        out->dtype = op_seconds_code(&op->desc->coded);
        out->type = type_of_codes(&op->desc->coded);
    } else if (op->kernel == &kern_kernel_attention || op->kernel == &kern_kernel_attention_grad) {
        out->kind =
            op->kernel == &kern_kernel_attention ? HARDWARE_ATTENTION : HARDWARE_ATTENTION_BACKWARD;
        set_attention(out, &op->desc->attention);
    } else if (op->kernel == &kern_kernel_linear_attention ||
               op->kernel == &kern_kernel_linear_attention_grad) {
        set_linear_attention(out, op);
    }
}

/* Bytes of a copy within the device: its results, read and written. */
static double copied_bytes(const struct program *program, const struct program_op *op,
                           int32_t position)
{
    double bytes = 0;

    for (uint32_t k = 0; k < op->noutputs; k++) {
        const struct program_buffer *b = &program->buffers[op->outputs[k]];

        bytes += 2 * (double)b->bytes * program_rows_taken(b, position);
    }
    return bytes;
}

/* Bytes of a buffer that only has room for rows of experts: no token takes these. */
static double untaken_bytes(const struct program_buffer *b, int32_t position)
{
    return b->routing ? (double)b->bytes * (1 - program_rows_taken(b, position)) : 0;
}

/* Bytes that a program has and a device has not of an array of codes: each code of 4 bits has a
 * byte where steps learn or round activations, each scale of a group the array's type. */
static double room_of_codes(const struct kern_grid *grid, enum shd_dtype dtype)
{
    double scales = (double)grid->count * ((double)shd_dtype_size(dtype) - 1);

    if (grid->code != SHD_F4E2M1 || grid->pairs)
        return 0;
    return (double)kern_grid_elements(grid) / 2 + scales;
}

/* The same of all arrays of codes that an op reads and writes.  Constants of steps that learn are
 * fitted to the bytes that the program has. */
static double room_of_op(const struct op_seconds *s, const struct program_op *op, int32_t position)
{
    const struct kern_coded *c = &op->desc->coded;
    double taken;

    if (!s->hardware || !s->hardware->by_models ||
        (op->kernel != &kern_kernel_encode && !kern_multiplies_codes(op->kernel)))
        return 0;
    taken = program_rows_taken(&s->program->buffers[op->inputs[0]], position);
    if (op->kernel == &kern_kernel_encode)
        return taken * room_of_codes(&op->desc->encode.grid, op->desc->encode.dtype);
    return taken * room_of_codes(&c->a, c->dtype) +
           (c->product.routing ? 0 : room_of_codes(&c->b, c->dtype));
}

/* Bytes that a kernel moves.  Products of experts know the rows that are taken; of the arrays of
 * other kernels the rows that are not are left out. */
static double kernel_bytes(const struct program *program, const struct program_op *op,
                           int32_t position)
{
    int64_t offsets[KERN_OFFSETS_MAX];
    double bytes;

    program_op_offsets(program, op, position, offsets);
    bytes = (double)op->kernel->bytes(op->desc, offsets);
    if (op->kernel->uneven == KERN_BY_ROUTING)
        return bytes;
    for (uint32_t k = 0; k < op->ninputs; k++)
        bytes -= untaken_bytes(&program->buffers[op->inputs[k]], position);
    for (uint32_t k = 0; k < op->noutputs; k++)
        bytes -= untaken_bytes(&program->buffers[op->outputs[k]], position);
    return bytes > 0 ? bytes : 0;
}

/* The product of experts that a kernel is; NULL: none. */
static const struct kern_grouped *experts_product(const struct program_op *op)
{
    if (op->kernel == &kern_kernel_grouped)
        return &op->desc->grouped;
    return kern_multiplies_codes(op->kernel) && op->desc->coded.product.routing
               ? &op->desc->coded.product
               : NULL;
}

double op_seconds_experts(const struct program *program, const struct program_op *op,
                          int32_t position)
{
    const struct kern_grouped *product = experts_product(op);
    int64_t offsets[KERN_OFFSETS_MAX];

    if (!product)
        return 0;
    program_op_offsets(program, op, position, offsets);
    return kern_grouped_part(product, UINT32_C(1) << product->expert, offsets) *
           (double)product->einsum.extent[product->expert];
}

/* Whether the kernel of an op, or a copy, works on a device. */
static bool works(const struct program_op *op)
{
    return !program_communicates(op) && op->kind != PROGRAM_FILL && op->kind != PROGRAM_HOST &&
           op->noutputs > 0;
}

bool op_seconds_is_kind(const struct program_op *op, enum hardware_work_kind kind)
{
    struct hardware_work work = {.kind = HARDWARE_MEMORY};

    if (!works(op))
        return false;
    if (op->kind == PROGRAM_KERNEL)
        set_kind(&work, op);
    return work.kind == kind;
}

bool op_seconds_set_work(struct hardware_work *out, const struct op_seconds *seconds,
                         const struct program_op *op, int32_t position)
{
    *out = (struct hardware_work){.kind = HARDWARE_MEMORY};
    if (!works(op))
        return false;
    out->dtype = seconds->program->buffers[op->outputs[0]].dtype;
    if (op->kind != PROGRAM_KERNEL) {
        out->bytes = copied_bytes(seconds->program, op, position);
        return true;
    }
    set_kind(out, op);
    out->flops = (double)program_op_flops(seconds->program, op, position);
    out->bytes = kernel_bytes(seconds->program, op, position) - room_of_op(seconds, op, position);
    out->experts = op_seconds_experts(seconds->program, op, position);
    return true;
}

bool op_seconds_work(struct hardware_work *out, const struct op_seconds *seconds, uint32_t op,
                     int32_t position)
{
    const struct program_op *o = &seconds->program->ops[op];

    return op_seconds_set_work(out, seconds, o, position) && !o->on_host;
}
