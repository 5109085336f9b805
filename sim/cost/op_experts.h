/* op_experts.h - times of experts: shared ones of a step of serving, which engines run beside the
 * routed ones, the exchange of their rows, and those of training, which wait for the host to start
 * their kernels.
 *
 * With few tokens neither fills the device.  vLLM starts the shared experts on a stream of their own
 * for up to 256 tokens (VLLM_SHARED_EXPERTS_STREAM_TOKEN_THRESHOLD), SGLang and TensorRT-LLM do
 * the same inside of a captured graph.
 *
 * In training Transformer Engine starts a product for each expert of a device, and before it the
 * kernels that round this expert's rows; a token count that the host reads after each dispatch
 * keeps it from starting them ahead.  Where rows are few, the device has done its work before the
 * host has started all.  So the ops between a dispatch and its combine, and between their
 * gradients, take at least the time of the starts; the last product among them waits for what is
 * missing.
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

/* Find the products of experts that wait in a step of training, and for how long a start. */
void op_experts_start(struct op_seconds *seconds);

/* The model of the kernel by which the step's engine sends rows to experts on devices of one domain,
 * or back, and its sizes.  NULL: the op is none such, the software is no engine, or its kernel was
 * not measured on the cluster. */
const struct kernel_model *op_experts_exchange(struct kernel_sizes *out,
                                               const struct op_seconds *seconds, uint32_t op);

#endif /* COST_OP_EXPERTS_H */
