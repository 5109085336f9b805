/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <shd/attention_specs.h>

static const char *const names[SHD_NATTENTION_TENSORS] = {
    [SHD_ATTENTION_QUERY] = "query_partition_spec",
    [SHD_ATTENTION_GENERATION_QUERY] = "generation_query_partition_spec",
    [SHD_ATTENTION_KEY] = "key_partition_spec",
    [SHD_ATTENTION_VALUE] = "value_partition_spec",
    [SHD_ATTENTION_BIAS] = "bias_partition_spec",
    [SHD_ATTENTION_GENERATION_BIAS] = "generation_bias_partition_spec",
    [SHD_ATTENTION_OUTPUT] = "attention_partition_spec",
};

/* The original's specs by variant: one for query, key, value and output, and one for the bias.
 * Those of generation are the same in all variants. */
static const struct {
    const char *all;
    const char *bias;
} variants[2][2] = {
    /* [jax_attention_format][fsdp_on_batch] */
    {{"[dp, sp, fsdp, null]", "[dp, fsdp, null, null]"},
     {"[fsdp, sp, null, null]", "[fsdp, sp, null, null]"}},
    {{"[dp, fsdp, tp, sp, null]", "[dp, null, fsdp, null]"},
     {"[fsdp, null, sp, null]", "[fsdp, null, sp, null]"}},
};

const char *shd_attention_spec_name(enum shd_attention_tensor tensor)
{
    return (unsigned)tensor < SHD_NATTENTION_TENSORS ? names[tensor] : "no tensor";
}

int shd_attention_spec(struct shd_spec **out, struct shd_attention_variant variant,
                       enum shd_attention_tensor tensor, struct shd_error *err)
{
    if (!SHD_GIVEN(err, out))
        return SHD_EINVAL;
    if ((unsigned)tensor >= SHD_NATTENTION_TENSORS)
        return shd_error_set(err, SHD_EINVAL, "%d is not a tensor of attention", (int)tensor);

    const char *text = variants[variant.jax_attention_format][variant.fsdp_on_batch].all;

    if (tensor == SHD_ATTENTION_BIAS)
        text = variants[variant.jax_attention_format][variant.fsdp_on_batch].bias;
    if (tensor == SHD_ATTENTION_GENERATION_QUERY)
        text = "[[dp, fsdp], tp, null, null]";
    if (tensor == SHD_ATTENTION_GENERATION_BIAS)
        text = "[[dp, fsdp], null, null, null]";
    return shd_spec_parse(out, text, err);
}
