/* The kernels of kern.h as values.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "kern/kernel.h"

#include "kern/cut.h"
#include "kern/error.h"

uint64_t kern_flops(const struct kern_kernel *kernel, const union kern_desc *desc,
                    const int64_t *offsets)
{
    return kernel->flops ? kernel->flops(desc, offsets) : 0;
}

uint64_t kern_dense_flops(const struct kern_kernel *kernel, const union kern_desc *desc)
{
    const int64_t none[KERN_OFFSETS_MAX] = {0};

    return kernel->dense_flops ? kernel->dense_flops(desc) : kern_flops(kernel, desc, none);
}

uint64_t kern_model_flops(const struct kern_kernel *kernel, const union kern_desc *desc)
{
    return kern_dense_flops(kernel, desc) - (kernel->again_flops ? kernel->again_flops(desc) : 0);
}

bool kern_skips(const struct kern_kernel *kernel, const union kern_desc *desc)
{
    return kernel->skips && kernel->skips(desc);
}

void kern_set_dtype(const struct kern_kernel *kernel, union kern_desc *desc, enum shd_dtype dtype)
{
    desc->map.dtype = dtype; /* every description begins with its type */
    for (uint32_t i = 0; kernel == &kern_kernel_map && i < desc->map.ninputs; i++)
        if (!kern_is_whole(desc->map.in_dtype[i]))
            desc->map.in_dtype[i] = dtype;
    if (kernel == &kern_kernel_attention)
        desc->attention.code = 0;
    if (kernel == &kern_kernel_linear_attention || kernel == &kern_kernel_linear_attention_grad)
        desc->linear_attention.decay_dtype = dtype;
    if (kernel == &kern_kernel_dequantize && !kern_is_whole(desc->dequantize.scale_dtype))
        desc->dequantize.scale_dtype = dtype;
    if (kernel == &kern_kernel_quantize && !kern_is_whole(desc->quantize.scale_dtype))
        desc->quantize.scale_dtype = dtype;
}

static uint64_t einsum_run(const union kern_desc *desc, const struct kern_args *args)
{
    return kern_einsum_run(&desc->einsum, args->in[0], args->in[1], args->out[0], args->workspace,
                           args->nthreads);
}

static uint64_t einsum_flops(const union kern_desc *desc, const int64_t *offsets)
{
    (void)offsets;
    return kern_einsum_flops(&desc->einsum);
}

static uint64_t einsum_bytes(const union kern_desc *desc, const int64_t *offsets)
{
    (void)offsets;
    return kern_einsum_bytes(&desc->einsum);
}

static uint64_t einsum_workspace_bytes(const union kern_desc *desc)
{
    return kern_einsum_workspace_bytes(&desc->einsum);
}

const struct kern_kernel kern_kernel_einsum = {
    .name = "einsum",
    .run = einsum_run,
    .flops = einsum_flops,
    .bytes = einsum_bytes,
    .workspace_bytes = einsum_workspace_bytes,
    .error = kern_einsum_error,
    .nest = kern_einsum_nest,
};

static uint64_t map_run(const union kern_desc *desc, const struct kern_args *args)
{
    return kern_map_run(&desc->map, args->in, args->out[0], args->nthreads);
}

static uint64_t map_flops(const union kern_desc *desc, const int64_t *offsets)
{
    (void)offsets;
    return kern_map_flops(&desc->map);
}

static uint64_t map_bytes(const union kern_desc *desc, const int64_t *offsets)
{
    (void)offsets;
    return kern_map_bytes(&desc->map);
}

const struct kern_kernel kern_kernel_map = {.name = "map",
                                            .run = map_run,
                                            .flops = map_flops,
                                            .bytes = map_bytes,
                                            .error = kern_map_error,
                                            .nest = kern_map_nest};

static uint64_t reduce_run(const union kern_desc *desc, const struct kern_args *args)
{
    return kern_reduce_run(&desc->reduce, args->in[0], args->out[0], args->nthreads);
}

static uint64_t reduce_flops(const union kern_desc *desc, const int64_t *offsets)
{
    (void)offsets;
    return kern_reduce_flops(&desc->reduce);
}

static uint64_t reduce_bytes(const union kern_desc *desc, const int64_t *offsets)
{
    (void)offsets;
    return kern_reduce_bytes(&desc->reduce);
}

const struct kern_kernel kern_kernel_reduce = {.name = "reduce",
                                               .run = reduce_run,
                                               .flops = reduce_flops,
                                               .bytes = reduce_bytes,
                                               .error = kern_reduce_error,
                                               .nest = kern_reduce_nest};
