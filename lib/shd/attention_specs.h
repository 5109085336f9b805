/* shd/attention_specs.h - EasyDeL's get_partitions(): the specs of an attention's seven tensors.
 *
 * Data, not a computation: four variants of seven specs over the axes dp, fsdp, tp and sp.  With
 * `jax_attention_format` dimensions are [batch, heads, sequence, head_dim], else [batch, sequence,
 * heads, head_dim].  The variant (true, false) has five entries where arrays have four dimensions;
 * it is given as the original has it, uncut.  The original's generation bias of the variant (true,
 * true) is a tuple around a spec by mistake; here it is the spec.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHD_ATTENTION_SPECS_H
#define SHD_ATTENTION_SPECS_H

#include <stdbool.h>

#include <shd/error.h>
#include <shd/spec.h>

#ifdef __cplusplus
extern "C" {
#endif

enum shd_attention_tensor {
    SHD_ATTENTION_QUERY,
    SHD_ATTENTION_GENERATION_QUERY,
    SHD_ATTENTION_KEY,
    SHD_ATTENTION_VALUE,
    SHD_ATTENTION_BIAS,
    SHD_ATTENTION_GENERATION_BIAS,
    SHD_ATTENTION_OUTPUT, /* "attention" in the original */
    SHD_NATTENTION_TENSORS
};

/* Both default to true in the original. */
struct shd_attention_variant {
    bool jax_attention_format;
    bool fsdp_on_batch;
};

/* The name of a tensor's spec in the original, as "query_partition_spec".  The string is static. */
SHD_API const char *shd_attention_spec_name(enum shd_attention_tensor tensor);

/* The spec of one tensor; free it with shd_spec_destroy().  SHD_ENOMEM. */
SHD_API SHD_MUST_CHECK int shd_attention_spec(struct shd_spec **out,
                                              struct shd_attention_variant variant,
                                              enum shd_attention_tensor tensor,
                                              struct shd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SHD_ATTENTION_SPECS_H */
