/* train_step.h - a question about one training step, and its scenario.
 *
 * A question has the sizes of a decoder and its layout, in the form of published tables of
 * measurements; the scenario expresses the same in scenario options, so that `shardsim plan` of its
 * text plans the very same program.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_TRAIN_STEP_H
#define QUERY_TRAIN_STEP_H

#include <shd/error.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* Behaviour of the training software that a question leaves open. */
struct train_step_stack {
    bool whole_layers; /* recomputation repeats whole layers: recompute.whole */
    bool prefetches;   /* the next layer's parameters are gathered during the current layer */
    bool fsdp;         /* stage 2 is PyTorch's FSDP with SHARD_GRAD_OP: parameters are sharded as
                          in stage 3, gathered once a microbatch and kept for its backward phase */
    bool sequence_parallel; /* regardless of the question */
    bool half_gradients;    /* gradients of bfloat16 models are summed and reduced in bfloat16 */
};

struct train_step_policy;

struct train_step {
    /* The model; widths in elements. */
    int64_t hidden, layers, heads, kv_heads, mlp_dim, vocab, seq, head_dim;
    bool gated_mlp;
    /* Kind and number of devices; the sizes of the axes multiply to this number. */
    const char *hardware; /* the question's text; NULL: none */
    const char *software; /* the question's text; NULL: the cluster's */
    int64_t devices, tp, pp, cp, dp, slices;
    /* The schedule. */
    int64_t virtual_stages, micro_batch, global_batch, microbatches; /* batches in sequences */
    const struct train_step_policy *recompute;
    const char *dtype; /* as in a scenario */
    const char *recipe; /* of products, as in a scenario; NULL: none */
    bool sequence_parallel, flash_attention;
    int64_t zero_stage;
};

/* Read a question and keep pointers to its texts.  SHD_ETYPE, SHD_ERANGE, SHD_EINVAL,
 * SHD_EINDIVISIBLE, SHD_ENOTFOUND (unknown policy), SHD_EUNSUPPORTED. */
SHD_MUST_CHECK int train_step_read(struct train_step *out, const json_t *in, struct shd_error *err);

/* Append the scenario, in YAML. */
void train_step_scenario(const struct train_step *step, const struct train_step_stack *stack,
                         struct text *out);

#endif /* QUERY_TRAIN_STEP_H */
