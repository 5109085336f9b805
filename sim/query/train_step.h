/* train_step.h - a question about one step of training, and the scenario that it stands for.
 *
 * A question has the sizes of a decoder and how it is laid out, as tables of published measurements
 * do; the scenario says the same in the options of scenarios, so that `shardsim plan` of its text
 * plans the very same program.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef QUERY_TRAIN_STEP_H
#define QUERY_TRAIN_STEP_H

#include <shd/error.h>

#include <jansson.h>

#include "base/text.h"

/* What software does that a question leaves open. */
struct train_step_stack {
    bool whole_layers; /* recomputation does all of a layer again: recompute.whole */
    bool prefetches;   /* the next layer's parameters are gathered beside this one's work */
    bool fsdp;         /* stage 2 is PyTorch's FSDP with SHARD_GRAD_OP: parameters are cut as in
                          stage 3, gathered once a microbatch and kept for its backward phase */
    bool sequence_parallel; /* whatever the question says */
    const char
        *gradients;     /* types.gradients of 16-bit models; NULL: as TRAIN_STEP_GRADIENTS says */
    const char *reduce; /* types.reduce of 16-bit models; NULL: likewise */
};

/* Megatron's: float16 gradients stay so, those of bfloat16 are summed and combined in float32. */
#define TRAIN_STEP_GRADIENTS(float16) ((float16) ? "compute" : "parameters")

struct train_step_policy;

struct train_step {
    /* The model; widths in elements. */
    int64_t hidden, layers, heads, kv_heads, mlp_dim, vocab, seq, head_dim;
    bool gated_mlp;
    /* Of which kind, and how many, devices; the sizes of axes multiply to these. */
    const char *hardware; /* the question's text; NULL: none */
    int64_t devices, tp, pp, cp, dp, slices;
    /* The schedule. */
    int64_t virtual_stages, micro_batch, global_batch, microbatches; /* batches in sequences */
    const struct train_step_policy *recompute;
    const char *dtype; /* of a scenario */
    bool sequence_parallel, flash_attention;
    int64_t zero_stage;
};

/* Read a question, whose texts it then points to.  SHD_ETYPE, SHD_ERANGE, SHD_EINVAL,
 * SHD_EINDIVISIBLE, SHD_ENOTFOUND (a policy that is not known), SHD_EUNSUPPORTED. */
SHD_MUST_CHECK int train_step_read(struct train_step *out, const json_t *in, struct shd_error *err);

/* Append the scenario, in YAML. */
void train_step_scenario(const struct train_step *step, const struct train_step_stack *stack,
                         struct text *out);

#endif /* QUERY_TRAIN_STEP_H */
