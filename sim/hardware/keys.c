/* Keys of a cluster's file, by section (keys.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/keys.h"

#include "hardware/hardware.h"

#define AT(what, field) offsetof(struct what, field)
#define SOURCE                                                     \
    {                                                              \
        "source", KEY_OTHER, false, 0, "the source of the figures" \
    }
#define END                             \
    {                                   \
        NULL, KEY_OTHER, false, 0, NULL \
    }

const struct key hardware_keys[] = {
    {"version", KEY_OTHER, true, 0, "of this format: 1"},
    {"name", KEY_TEXT, true, AT(hardware, name), "of the cluster"},
    {"source", KEY_TEXT, true, AT(hardware, source), "the source of the figures"},
    {"rates", KEY_OTHER, true, 0, "peak dense rate of the matrix units (tensor cores), by type"},
    {"elementwise", KEY_OTHER, false, 0,
     "rate of elementwise kernels, by type; without it elementwise kernels are memory-bound"},
    {"memory", KEY_OTHER, true, 0, "of a device"},
    {"kernels", KEY_OTHER, true, 0, "kernel efficiencies and launch overhead"},
    {"host", KEY_OTHER, false, 0, "memory, links and cores of a node, for offload"},
    {"tiers", KEY_OTHER, true, 0, "links between devices, innermost first"},
    {"software", KEY_OTHER, false, 0, "overlap, fusion and types of the measured software"},
    {"fsdp", KEY_OTHER, false, 0, "kernel efficiencies under PyTorch FSDP, if different"},
    {"serving", KEY_OTHER, false, 0, "kernel efficiencies and overheads of serving engines"},
    {"sustained", KEY_OTHER, false, 0,
     "fraction of the measured kernels' rate in training steps, by kind"},
    {"validation", KEY_OTHER, false, 0, "errors of modelled times against published times"},
    {"fitted", KEY_OTHER, false, 0, "the fitted constants, by path (kernels.launch)"},
    {"measured_kernels", KEY_OTHER, false, 0,
     "models of kernels measured alone (calibrate --kernels), or the name of a shipped cluster "
     "with models of the same device"},
    END};

const struct key memory_keys[] = {
    {"size", KEY_SIZE, true, AT(hardware, memory_bytes), "of a device"},
    {"rate", KEY_RATE, true, AT(hardware, memory_bytes_per_s), "reading or writing"},
    {"cache", KEY_BYTES, false, AT(hardware, cache_bytes),
     "cache size: kernels that touch at most this many bytes run at cache_rate"},
    {"cache_rate", KEY_RATE, false, AT(hardware, cache_bytes_per_s), "rate of the cache"},
    {"reserved", KEY_BYTES, false, AT(hardware, reserved_bytes),
     "memory that the runtime reserves"},
    {"fragmentation", KEY_FRACTION, false, AT(hardware, fragmentation),
     "allocator overhead, as a fraction of the memory in use"},
    SOURCE,
    END};

const struct key kernel_keys[] = {
    {"launch", KEY_SECONDS, true, AT(hardware_kernels, launch_s),
     "launch overhead: from the start of a small kernel to the next start"},
    {"matmul_efficiency", KEY_SHARE, true, AT(hardware_kernels, matmul_efficiency),
     "of the peak, for a large matmul"},
    {"coded_efficiency", KEY_SHARE, false, AT(hardware_kernels, coded_efficiency),
     "of the peak, for a large matmul in 8 bits or fewer; default: matmul_efficiency"},
    {"units", KEY_COUNT, false, AT(hardware_kernels, units),
     "compute units (SMs), each computing one matmul tile at a time; 0: no tile "
     "quantization"},
    {"tile_m", KEY_COUNT, false, AT(hardware_kernels, tile_m),
     "rows of a matmul tile, for large matmuls"},
    {"tile_n", KEY_COUNT, false, AT(hardware_kernels, tile_n), "columns of a matmul tile"},
    {"half_k", KEY_NUMBER, false, AT(hardware_kernels, half_k),
     "inner dimension (K) at which a matmul reaches half its efficiency"},
    {"memory_efficiency", KEY_SHARE, true, AT(hardware_kernels, memory_efficiency),
     "of the memory rate, for elementwise kernels"},
    {"attention_efficiency", KEY_SHARE, true, AT(hardware_kernels, attention_efficiency),
     "of the peak, for fused attention"},
    {"alignment", KEY_COUNT, false, AT(hardware_kernels, alignment),
     "matmul rows use the matrix units only if a multiple of this many elements; 0: always"},
    {"vector_rate", KEY_FLOPS, false, AT(hardware_kernels, vector_flops_per_s),
     "rate of matmuls with other rows, on the vector units"},
    {"spread", KEY_FRACTION, false, AT(hardware_kernels, spread),
     "standard deviation of the speed of equal nodes (domains of the first tier)"},
    {"attention_backward_efficiency", KEY_SHARE, true,
     AT(hardware_kernels, attention_backward_efficiency),
     "of the peak, for the backward pass of fused attention"},
    {"attention_half_head", KEY_NUMBER, false, AT(hardware_kernels, attention_half_head),
     "head dimension at which attention reaches half its efficiency"},
    {"attention_half_keys", KEY_NUMBER, false, AT(hardware_kernels, attention_half_keys),
     "number of keys at which attention reaches half its efficiency"},
    SOURCE,
    END};

const struct key host_keys[] = {
    {"memory", KEY_SIZE, true, AT(hardware_host, memory_bytes), "of a node"},
    {"devices", KEY_COUNT, true, AT(hardware_host, devices),
     "devices of a node, which share its memory, links and cores"},
    {"to_host", KEY_RATE, true, AT(hardware_host, to_host_bytes_per_s),
     "device-to-host copies, to pinned memory"},
    {"from_host", KEY_RATE, true, AT(hardware_host, from_host_bytes_per_s),
     "host-to-device copies, at the same time"},
    {"latency", KEY_SECONDS, false, AT(hardware_host, latency_s), "of a copy"},
    {"memory_rate", KEY_RATE, true, AT(hardware_host, memory_bytes_per_s),
     "of the host memory, reading or writing"},
    {"memory_efficiency", KEY_SHARE, false, AT(hardware_host, memory_efficiency),
     "of memory_rate, in the optimizer's update; default 1"},
    {"flops", KEY_FLOPS, true, AT(hardware_host, flops_per_s), "of all cores, in float32"},
    SOURCE,
    END};

const struct key tier_keys[] = {
    {"name", KEY_TEXT, true, AT(hardware_tier, name), "of the links"},
    {"devices", KEY_COUNT, false, AT(hardware_tier, devices),
     "devices of one domain; 0: all devices; not for a torus"},
    {"torus", KEY_OTHER, false, 0, "axis lengths of a full pod; the last varies fastest"},
    {"wrap_multiple", KEY_COUNT, false, AT(hardware_tier, wrap_multiple),
     "a slice's axis wraps around if its length is a multiple of this; 0: never"},
    {"rate", KEY_RATE, true, AT(hardware_tier, bytes_per_s),
     "into a device, and out of the device at the same time; torus: one link, one way"},
    {"efficiency", KEY_SHARE, false, AT(hardware_tier, efficiency),
     "of the rate, for large messages; default 1"},
    {"oversubscription", KEY_FACTOR, false, AT(hardware_tier, oversubscription),
     "bandwidth of all devices over the capacity of the tier; default 1"},
    {"copy_rate", KEY_RATE, false, AT(hardware_tier, copy_bytes_per_s),
     "rate of a collective's copies inside each device, in addition; without it free"},
    {"latency", KEY_SECONDS, true, AT(hardware_tier, latency_s),
     "latency of a message, and of a collective before its first step"},
    {"step", KEY_SECONDS, true, AT(hardware_tier, step_s),
     "latency of a collective's step; torus: of a hop"},
    {"small_latency", KEY_SECONDS, false, AT(hardware_tier, small_latency_s),
     "latency with the library's protocol for small messages"},
    {"small_step", KEY_SECONDS, false, AT(hardware_tier, small_step_s),
     "step with the small-message protocol"},
    {"small_efficiency", KEY_SHARE, false, AT(hardware_tier, small_efficiency),
     "of the rate, with the small-message protocol; without it no such protocol"},
    {"host_latency", KEY_SECONDS, false, AT(hardware_tier, host_latency_s),
     "minimum host time to start a collective"},
    {"host_step", KEY_SECONDS, false, AT(hardware_tier, host_step_s),
     "host time for each further member of a collective"},
    SOURCE,
    END};

const struct key software_keys[] = {
    {"name", KEY_OTHER, false, 0, "megatron, fsdp2, jax, ...: sets the defaults of the other keys"},
    {"overlaps_gradients", KEY_YES_NO, false, AT(hardware_software, overlaps_gradients),
     "gradient reduction overlaps with the backward phase"},
    {"overlaps_weights", KEY_YES_NO, false, AT(hardware_software, overlaps_weights),
     "weight gathers overlap with computation"},
    {"overlaps_pairs", KEY_YES_NO, false, AT(hardware_software, overlaps_pairs),
     "the experts' all-to-all of one microbatch overlaps with the computation of another, in "
     "schedules with overlapped pairs (DualPipe)"},
    {"dispatches_by_node", KEY_YES_NO, false, AT(hardware_software, dispatches_by_node),
     "in training, the experts' all-to-all sends a token's row once to each node, and forwards the "
     "row inside the node"},
    {"overlaps_sends", KEY_YES_NO, false, AT(hardware_software, overlaps_sends),
     "sends between pipeline stages overlap with computation if a rank has several stages"},
    {"overlaps_products", KEY_YES_NO, false, AT(hardware_software, overlaps_products),
     "activation all-gathers and reduce-scatters are pipelined with the matmul that reads or "
     "writes the array"},
    {"recomputes_layers", KEY_YES_NO, false, AT(hardware_software, recomputes_layers),
     "recomputation repeats whole layers, including values without a later reader"},
    {"waits_for_collectives", KEY_YES_NO, false, AT(hardware_software, waits_for_collectives),
     "forward and backward computation waits for every collective, needed or not"},
    {"overlaps_regathers", KEY_YES_NO, false, AT(hardware_software, overlaps_regathers),
     "except gathers repeated in the backward phase, which overlap with the previous matmul"},
    {"half_gradients", KEY_YES_NO, false, AT(hardware_software, half_gradients),
     "gradients of bfloat16 models are accumulated in bfloat16, not in float32"},
    {"coded_half_gradients", KEY_YES_NO, false, AT(hardware_software, coded_half_gradients),
     "as half_gradients, only with matmuls in 8 bits or fewer"},
    {"scatters_sends", KEY_YES_NO, false, AT(hardware_software, scatters_sends),
     "tensor-parallel ranks each send a part of equal activations to the next stage "
     "(scatter-gather)"},
    {"expert_launch", KEY_SECONDS, false, AT(hardware_software, expert_launch_s),
     "host time to launch one expert's matmul, in training; devices wait if this exceeds their "
     "experts' work"},
    {"expert_coding", KEY_SECONDS, false, AT(hardware_software, expert_coding_s),
     "host time to launch the quantization of one expert's rows"},
    {"bucket", KEY_BYTES, false, AT(hardware_software, bucket_bytes),
     "bucket size of parameter gathers and gradient reduction; 0: each array by itself"},
    {"fuses_elementwise", KEY_YES_NO, false, AT(hardware_software, fuses_elementwise),
     "a chain of elementwise ops is one kernel"},
    {"fuses_loss", KEY_YES_NO, false, AT(hardware_software, fuses_loss),
     "cross-entropy is one kernel, without float32 copies of logits"},
    {"fuses_activation", KEY_YES_NO, false, AT(hardware_software, fuses_activation),
     "a gated activation saves only its inputs for the backward phase"},
    {"fuses_gates", KEY_YES_NO, false, AT(hardware_software, fuses_gates),
     "gates multiply the experts' activations, so that no results of experts are saved"},
    {"chunks_again", KEY_YES_NO, false, AT(hardware_software, chunks_again),
     "a chunked loss (`fused.loss_chunks`) recomputes logits in the backward phase"},
    {"codes_frozen", KEY_YES_NO, false, AT(hardware_software, codes_frozen),
     "frozen weights are stored quantized only, if matmuls quantize them"},
    {"fsdp", KEY_YES_NO, false, AT(hardware_software, fsdp),
     "ZeRO stage 2 is PyTorch FSDP's: parameters are sharded, and gathered once per microbatch"},
    {"sequence_parallel", KEY_YES_NO, false, AT(hardware_software, sequence_parallel),
     "tensor parallelism always shards activations between layers along the sequence"},
    SOURCE,
    END};

const struct key fsdp_keys[] = {
    {"matmul_efficiency", KEY_SHARE, true, AT(hardware_fsdp, matmul_efficiency),
     "of the peak, for a large matmul"},
    {"coded_efficiency", KEY_SHARE, true, AT(hardware_fsdp, coded_efficiency),
     "of the peak, for a large matmul in 8 bits or fewer"},
    {"attention_efficiency", KEY_SHARE, true, AT(hardware_fsdp, attention_efficiency),
     "of the peak, for fused attention"},
    {"attention_backward_efficiency", KEY_SHARE, true,
     AT(hardware_fsdp, attention_backward_efficiency),
     "of the peak, for the backward pass of fused attention"},
    SOURCE,
    END};

const struct key serving_keys[] = {
    {"launch", KEY_SECONDS, false, AT(hardware_serving, launch_s),
     "launch overhead in a captured graph: from the start of a small kernel to the next start"},
    {"step", KEY_SECONDS, false, AT(hardware_serving, step_s),
     "host time per step, while devices wait"},
    {"host_launch", KEY_SECONDS, false, AT(hardware_serving, host_launch_s),
     "host time per kernel of a prefill step, without a captured graph; devices wait if this "
     "exceeds the kernel"},
    {"matmul_efficiency", KEY_SHARE, false, AT(hardware_serving, matmul_efficiency),
     "of the peak, for a large matmul"},
    {"memory_efficiency", KEY_SHARE, false, AT(hardware_serving, memory_efficiency),
     "of the memory rate, for weights, KV cache and elementwise kernels"},
    {"attention_efficiency", KEY_SHARE, false, AT(hardware_serving, attention_efficiency),
     "of the peak, for fused attention"},
    {"attention_half_queries", KEY_NUMBER, false, AT(hardware_serving, attention_half_queries),
     "number of queries at which attention reaches half its efficiency; 0: full efficiency from "
     "one query"},
    {"direct_latency", KEY_SECONDS, false, AT(hardware_serving, direct_s),
     "latency of a direct exchange among all members of a first-tier domain; without it no direct "
     "exchange"},
    SOURCE,
    END};

const struct key sustained_keys[] = {
    {"products", KEY_SHARE, false, AT(hardware_sustained, products), "16-bit matmuls"},
    {"coded_products", KEY_SHARE, false, AT(hardware_sustained, coded_products),
     "matmuls in 8 bits or fewer"},
    {"experts", KEY_SHARE, false, AT(hardware_sustained, experts), "experts' 16-bit matmuls"},
    {"coded_experts", KEY_SHARE, false, AT(hardware_sustained, coded_experts),
     "experts' matmuls in 8 bits or fewer"},
    {"attention", KEY_SHARE, false, AT(hardware_sustained, attention), "fused attention, forward"},
    SOURCE,
    END};

const struct key near_keys[] = {
    {"tensor", KEY_COUNT, true, AT(hardware_near, tensor), "devices of tensor parallelism"},
    {"rows", KEY_COUNT, true, AT(hardware_near, rows),
     "rows of the largest matmul, to a power of two"},
    {"inner", KEY_COUNT, true, AT(hardware_near, inner),
     "largest inner dimension of a matmul, to a power of two"},
    {"steps", KEY_COUNT, true, AT(hardware_near, steps), "number of steps behind the claim"},
    {"claim", KEY_FRACTION, true, AT(hardware_near, claim), "bound of nine of ten errors"},
    END};

const struct key validation_keys[] = {
    {"set", KEY_TEXT, true, AT(hardware_validation, set), "name of a set of published rows"},
    {"rows", KEY_COUNT, true, AT(hardware_validation, rows), "in it"},
    {"mape", KEY_FRACTION, true, AT(hardware_validation, mape),
     "mean absolute error of step times, as a fraction"},
    {"cross_validated_mape", KEY_FRACTION, true, AT(hardware_validation, cross_validated_mape),
     "mape of rows not used for the fit"},
    {"parameters_least", KEY_NUMBER, true, AT(hardware_validation, parameters_least),
     "parameters of the smallest model"},
    {"parameters_most", KEY_NUMBER, true, AT(hardware_validation, parameters_most),
     "parameters of the largest model"},
    {"devices_least", KEY_COUNT, true, AT(hardware_validation, devices_least), "of a row"},
    {"devices_most", KEY_COUNT, true, AT(hardware_validation, devices_most), "of a row"},
    {"claim", KEY_FRACTION, false, AT(hardware_validation, claim),
     "90th percentile of the rows' errors"},
    {"software", KEY_TEXT, false, AT(hardware_validation, software), "software of the rows"},
    {"length_least", KEY_COUNT, false, AT(hardware_validation, length_least),
     "tokens of the shortest sequences"},
    {"length_most", KEY_COUNT, false, AT(hardware_validation, length_most),
     "tokens of the longest sequences"},
    {"with", KEY_OTHER, false, 0, "features of some rows (tensor, experts)"},
    {"near", KEY_OTHER, false, 0, "claims of groups of similar rows"},
    SOURCE,
    END};
