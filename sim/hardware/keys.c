/* Keys of a cluster's file, by section (keys.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/keys.h"

#include "hardware/hardware.h"

#define AT(what, field) offsetof(struct what, field)
#define SOURCE                                                      \
    {                                                               \
        "source", KEY_OTHER, false, 0, "where the figures are from" \
    }
#define END                             \
    {                                   \
        NULL, KEY_OTHER, false, 0, NULL \
    }

const struct key hardware_keys[] = {
    {"version", KEY_OTHER, true, 0, "of this format: 1"},
    {"name", KEY_TEXT, true, AT(hardware, name), "of the cluster"},
    {"source", KEY_TEXT, true, AT(hardware, source), "where the figures are from"},
    {"rates", KEY_OTHER, true, 0, "peak of the matrix units by type, without sparsity"},
    {"elementwise", KEY_OTHER, false, 0,
     "operations of elementwise kernels by type; not given: only their bytes count"},
    {"memory", KEY_OTHER, true, 0, "of a device"},
    {"kernels", KEY_OTHER, true, 0, "what keeps kernels below the peak"},
    {"host", KEY_OTHER, false, 0, "memory, links and cores of a node, for what is offloaded"},
    {"tiers", KEY_OTHER, true, 0, "links between devices, from the innermost on"},
    {"software", KEY_OTHER, false, 0, "what the measured software does"},
    {"fsdp", KEY_OTHER, false, 0, "what kernels of PyTorch's FSDP reach otherwise"},
    {"serving", KEY_OTHER, false, 0, "what engines that serve do otherwise"},
    {"validation", KEY_OTHER, false, 0, "how far modelled times were from published ones"},
    {"fitted", KEY_OTHER, false, 0, "the constants that were fitted, as kernels.launch"},
    {"measured_kernels", KEY_OTHER, false, 0,
     "models of kernels that were measured alone (calibrate --kernels), or the name of a shipped "
     "cluster that has those of the same devices"},
    END};

const struct key memory_keys[] = {
    {"size", KEY_SIZE, true, AT(hardware, memory_bytes), "of a device"},
    {"rate", KEY_RATE, true, AT(hardware, memory_bytes_per_s), "reading or writing"},
    {"cache", KEY_BYTES, false, AT(hardware, cache_bytes),
     "kernels that touch no more than this find it in a cache"},
    {"cache_rate", KEY_RATE, false, AT(hardware, cache_bytes_per_s), "which moves bytes so fast"},
    {"reserved", KEY_BYTES, false, AT(hardware, reserved_bytes), "that the runtime keeps"},
    {"fragmentation", KEY_FRACTION, false, AT(hardware, fragmentation),
     "what the allocator holds over what is in use, as a fraction of that"},
    SOURCE,
    END};

const struct key kernel_keys[] = {
    {"launch", KEY_SECONDS, true, AT(hardware_kernels, launch_s),
     "from the start of a small kernel to that of the next"},
    {"matmul_efficiency", KEY_SHARE, true, AT(hardware_kernels, matmul_efficiency),
     "of the peak, for a large product"},
    {"coded_efficiency", KEY_SHARE, false, AT(hardware_kernels, coded_efficiency),
     "of the peak, for a large product of 8 bits or fewer; matmul_efficiency if not given"},
    {"units", KEY_COUNT, false, AT(hardware_kernels, units),
     "that compute a tile of a product at a time each; 0: tiles do not count"},
    {"tile_m", KEY_COUNT, false, AT(hardware_kernels, tile_m),
     "rows of such a tile, for large products"},
    {"tile_n", KEY_COUNT, false, AT(hardware_kernels, tile_n), "columns of such a tile"},
    {"half_k", KEY_NUMBER, false, AT(hardware_kernels, half_k),
     "inner dimension at which a product reaches half of its efficiency"},
    {"memory_efficiency", KEY_SHARE, true, AT(hardware_kernels, memory_efficiency),
     "of the memory's rate, for elementwise kernels"},
    {"attention_efficiency", KEY_SHARE, true, AT(hardware_kernels, attention_efficiency),
     "of the peak, for fused attention"},
    {"alignment", KEY_COUNT, false, AT(hardware_kernels, alignment),
     "elements of which the rows of a product must be a multiple for the matrix units; 0: any"},
    {"vector_rate", KEY_FLOPS, false, AT(hardware_kernels, vector_flops_per_s),
     "that products of other rows reach, on the vector units"},
    {"spread", KEY_FRACTION, false, AT(hardware_kernels, spread),
     "of the speed of equal nodes (domains of the first tier), a standard deviation"},
    {"attention_backward_efficiency", KEY_SHARE, true,
     AT(hardware_kernels, attention_backward_efficiency), "of the peak, for its gradient"},
    {"attention_half_head", KEY_NUMBER, false, AT(hardware_kernels, attention_half_head),
     "head dimension at which attention reaches half of its efficiency"},
    {"attention_half_keys", KEY_NUMBER, false, AT(hardware_kernels, attention_half_keys),
     "keys at which it reaches half of that"},
    SOURCE,
    END};

const struct key host_keys[] = {
    {"memory", KEY_SIZE, true, AT(hardware_host, memory_bytes), "of a node"},
    {"devices", KEY_COUNT, true, AT(hardware_host, devices), "of a node, which share all of it"},
    {"to_host", KEY_RATE, true, AT(hardware_host, to_host_bytes_per_s),
     "of copies from a device to the host's pinned memory"},
    {"from_host", KEY_RATE, true, AT(hardware_host, from_host_bytes_per_s),
     "of copies from there to a device, at the same time"},
    {"latency", KEY_SECONDS, false, AT(hardware_host, latency_s), "of a copy"},
    {"memory_rate", KEY_RATE, true, AT(hardware_host, memory_bytes_per_s),
     "of the node's memory, reading or writing"},
    {"memory_efficiency", KEY_SHARE, false, AT(hardware_host, memory_efficiency),
     "of that rate, in the optimizer's update; 1 if not given"},
    {"flops", KEY_FLOPS, true, AT(hardware_host, flops_per_s), "of all cores, in float32"},
    SOURCE,
    END};

const struct key tier_keys[] = {
    {"name", KEY_TEXT, true, AT(hardware_tier, name), "of the links"},
    {"devices", KEY_COUNT, false, AT(hardware_tier, devices),
     "in one domain; 0: all there are; not for a torus"},
    {"torus", KEY_OTHER, false, 0, "lengths of its axes in a full pod; the last varies fastest"},
    {"wrap_multiple", KEY_COUNT, false, AT(hardware_tier, wrap_multiple),
     "a slice's axis of a multiple of this length is a ring; 0: none is"},
    {"rate", KEY_RATE, true, AT(hardware_tier, bytes_per_s),
     "into a device, and out of it at once; torus: of one link, one way"},
    {"efficiency", KEY_SHARE, false, AT(hardware_tier, efficiency),
     "of that rate, for large messages; 1 if not given"},
    {"oversubscription", KEY_FACTOR, false, AT(hardware_tier, oversubscription),
     "what all devices can send over what the tier carries; 1 if not given"},
    {"copy_rate", KEY_RATE, false, AT(hardware_tier, copy_bytes_per_s),
     "at which a collective passes its array through each device besides; not given: for free"},
    {"latency", KEY_SECONDS, true, AT(hardware_tier, latency_s),
     "of a message, and of a collective before its first step"},
    {"step", KEY_SECONDS, true, AT(hardware_tier, step_s),
     "of each step of a collective; torus: of a hop"},
    {"small_latency", KEY_SECONDS, false, AT(hardware_tier, small_latency_s),
     "latency by the library's protocol for small messages"},
    {"small_step", KEY_SECONDS, false, AT(hardware_tier, small_step_s), "step by that protocol"},
    {"small_efficiency", KEY_SHARE, false, AT(hardware_tier, small_efficiency),
     "of the rate by that protocol; not given: there is none"},
    {"host_latency", KEY_SECONDS, false, AT(hardware_tier, host_latency_s),
     "the host takes so long to start a collective, at least"},
    {"host_step", KEY_SECONDS, false, AT(hardware_tier, host_step_s),
     "and so long for each member after the first"},
    SOURCE,
    END};

const struct key software_keys[] = {
    {"name", KEY_OTHER, false, 0,
     "megatron, fsdp2, jax, ...: what it does is known, and other keys say what is different"},
    {"overlaps_gradients", KEY_YES_NO, false, AT(hardware_software, overlaps_gradients),
     "gradients are reduced while the backward phase goes on"},
    {"overlaps_weights", KEY_YES_NO, false, AT(hardware_software, overlaps_weights),
     "weights are gathered beside computation"},
    {"overlaps_pairs", KEY_YES_NO, false, AT(hardware_software, overlaps_pairs),
     "experts' rows of one microbatch travel beside the computation of another, in the pairs of "
     "schedules that have them (DualPipe)"},
    {"dispatches_by_node", KEY_YES_NO, false, AT(hardware_software, dispatches_by_node),
     "in training, a token's row goes once to each node, and from there to the devices of its "
     "experts"},
    {"overlaps_sends", KEY_YES_NO, false, AT(hardware_software, overlaps_sends),
     "messages between stages travel beside computation, where a rank has several stages"},
    {"overlaps_products", KEY_YES_NO, false, AT(hardware_software, overlaps_products),
     "activations are gathered or reduce-scattered piece by piece beside the product that reads or "
     "makes them"},
    {"recomputes_layers", KEY_YES_NO, false, AT(hardware_software, recomputes_layers),
     "recomputation redoes whole layers, with what nobody reads after"},
    {"waits_for_collectives", KEY_YES_NO, false, AT(hardware_software, waits_for_collectives),
     "computations of forward and backward wait for each collective, needed or not"},
    {"overlaps_regathers", KEY_YES_NO, false, AT(hardware_software, overlaps_regathers),
     "but not for what the backward phase gathers again, which comes beside the product before"},
    {"half_gradients", KEY_YES_NO, false, AT(hardware_software, half_gradients),
     "gradients of bfloat16 models are kept and summed in it, not in float32"},
    {"coded_half_gradients", KEY_YES_NO, false, AT(hardware_software, coded_half_gradients),
     "the same, only where products are rounded to 8 bits or fewer"},
    {"scatters_sends", KEY_YES_NO, false, AT(hardware_software, scatters_sends),
     "what devices of a node would send alike to the next stage, each sends a part of"},
    {"expert_launch", KEY_SECONDS, false, AT(hardware_software, expert_launch_s),
     "of the host to start a product of one expert, in training; devices wait where this takes "
     "longer than the work of their experts"},
    {"expert_coding", KEY_SECONDS, false, AT(hardware_software, expert_coding_s),
     "the same to start rounding one expert's rows to 8 bits or fewer"},
    {"bucket", KEY_BYTES, false, AT(hardware_software, bucket_bytes),
     "of parameters or gradients that travel together; 0: each array by itself"},
    {"fuses_elementwise", KEY_YES_NO, false, AT(hardware_software, fuses_elementwise),
     "a chain of elementwise ops is one kernel"},
    {"fuses_loss", KEY_YES_NO, false, AT(hardware_software, fuses_loss),
     "cross-entropy is one kernel, without copies of logits in float32"},
    {"fuses_activation", KEY_YES_NO, false, AT(hardware_software, fuses_activation),
     "a gated activation keeps its operands for the backward phase, and not what lies between"},
    {"chunks_again", KEY_YES_NO, false, AT(hardware_software, chunks_again),
     "a loss in chunks (`fused.loss_chunks`) makes their logits again in the backward phase"},
    {"codes_frozen", KEY_YES_NO, false, AT(hardware_software, codes_frozen),
     "weights that are not learned are kept as codes, if products round them"},
    {"fsdp", KEY_YES_NO, false, AT(hardware_software, fsdp),
     "stage 2 of ZeRO is that of PyTorch's FSDP: parameters are sharded, and gathered once a "
     "microbatch"},
    {"sequence_parallel", KEY_YES_NO, false, AT(hardware_software, sequence_parallel),
     "tensor parallelism always shards activations between layers along the sequence"},
    SOURCE,
    END};

const struct key fsdp_keys[] = {
    {"matmul_efficiency", KEY_SHARE, true, AT(hardware_fsdp, matmul_efficiency),
     "of the peak, for a large product"},
    {"coded_efficiency", KEY_SHARE, true, AT(hardware_fsdp, coded_efficiency),
     "of the peak, for a large product of 8 bits or fewer"},
    {"attention_efficiency", KEY_SHARE, true, AT(hardware_fsdp, attention_efficiency),
     "of the peak, for fused attention"},
    {"attention_backward_efficiency", KEY_SHARE, true,
     AT(hardware_fsdp, attention_backward_efficiency), "of the peak, for its gradient"},
    SOURCE,
    END};

const struct key serving_keys[] = {
    {"launch", KEY_SECONDS, false, AT(hardware_serving, launch_s),
     "from the start of a small kernel to that of the next, in a captured graph"},
    {"step", KEY_SECONDS, false, AT(hardware_serving, step_s),
     "of the host in each step, while devices wait"},
    {"host_launch", KEY_SECONDS, false, AT(hardware_serving, host_launch_s),
     "of the host for each kernel of a step that takes prompts in, which no captured graph starts: "
     "devices wait where this takes longer than they do"},
    {"matmul_efficiency", KEY_SHARE, false, AT(hardware_serving, matmul_efficiency),
     "of the peak, for a large product"},
    {"memory_efficiency", KEY_SHARE, false, AT(hardware_serving, memory_efficiency),
     "of the memory's rate, for weights and caches as for all else"},
    {"attention_efficiency", KEY_SHARE, false, AT(hardware_serving, attention_efficiency),
     "of the peak, for fused attention"},
    {"attention_half_queries", KEY_NUMBER, false, AT(hardware_serving, attention_half_queries),
     "queries of a sequence at which attention reaches half of that; 0: of one, all of it"},
    {"direct_latency", KEY_SECONDS, false, AT(hardware_serving, direct_s),
     "of a step in which all members of a domain of the first tier read from all others; not "
     "given: no such steps"},
    SOURCE,
    END};

const struct key near_keys[] = {
    {"tensor", KEY_COUNT, true, AT(hardware_near, tensor), "devices of tensor parallelism"},
    {"rows", KEY_COUNT, true, AT(hardware_near, rows),
     "of the product with most, to a power of two"},
    {"inner", KEY_COUNT, true, AT(hardware_near, inner),
     "dimension of the product with the largest, to a power of two"},
    {"steps", KEY_COUNT, true, AT(hardware_near, steps), "that the claim is from"},
    {"claim", KEY_FRACTION, true, AT(hardware_near, claim), "that nine of ten errors are within"},
    END};

const struct key validation_keys[] = {
    {"set", KEY_TEXT, true, AT(hardware_validation, set), "of published rows"},
    {"rows", KEY_COUNT, true, AT(hardware_validation, rows), "in it"},
    {"mape", KEY_FRACTION, true, AT(hardware_validation, mape), "of step times, as a fraction"},
    {"cross_validated_mape", KEY_FRACTION, true, AT(hardware_validation, cross_validated_mape),
     "the same of rows that the constants were not fitted to"},
    {"parameters_least", KEY_NUMBER, true, AT(hardware_validation, parameters_least),
     "of the smallest model in it"},
    {"parameters_most", KEY_NUMBER, true, AT(hardware_validation, parameters_most),
     "of the largest"},
    {"devices_least", KEY_COUNT, true, AT(hardware_validation, devices_least), "of a row"},
    {"devices_most", KEY_COUNT, true, AT(hardware_validation, devices_most), "of a row"},
    {"claim", KEY_FRACTION, false, AT(hardware_validation, claim),
     "that nine of ten errors of such rows are within"},
    {"software", KEY_TEXT, false, AT(hardware_validation, software), "that the rows ran"},
    {"length_least", KEY_COUNT, false, AT(hardware_validation, length_least),
     "of the shortest sequences"},
    {"length_most", KEY_COUNT, false, AT(hardware_validation, length_most), "of the longest"},
    {"with", KEY_OTHER, false, 0, "what some of the rows had, as tensor or experts"},
    {"near", KEY_OTHER, false, 0, "claims of rows that are alike"},
    SOURCE,
    END};
