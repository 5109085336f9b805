/* op_experts.h - shared experts of a step of serving, which engines run beside the routed ones.
 *
 * With few tokens neither fills the device.  vLLM starts the shared experts on a stream of their own
 * for up to 256 tokens (VLLM_SHARED_EXPERTS_STREAM_TOKEN_THRESHOLD), SGLang and TensorRT-LLM do
 * the same inside of a captured graph.
 *
 * Thread class: not thread safe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COST_OP_EXPERTS_H
#define COST_OP_EXPERTS_H

#include "cost/op_seconds.h"

/* Hide the ops of shared experts that take no longer than the routed ones, on a cluster with models
 * of measured kernels. */
void op_experts_hide(struct op_seconds *seconds);

#endif /* COST_OP_EXPERTS_H */
