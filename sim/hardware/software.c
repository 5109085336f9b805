/* The table of software (software.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/software.h"

#include <string.h>

/* Bucket size of gradient reduction, in bytes. */
#define FSDP_BUCKET 1e9
#define MEGATRON_BUCKET 1e8

static const struct hardware_software table[] = {
    /* Megatron Core and Transformer Engine with the options of NeMo's and Megatron Bridge's
     * performance recipes: overlap_p2p_comm, tp_comm_overlap, overlap_grad_reduce and
     * overlap_param_gather; their recipes of FP8 and NVFP4 have grad_reduce_in_fp32 false, while
     * Megatron-LM's --bf16 reduces in float32.  Recipes with experts on several nodes have the
     * dispatcher flex (DeepEP, HybridEP).  Since Megatron Core 0.12 experts take the gates of their
     * rows (permuted_probs), which weighted_bias_swiglu_impl multiplies. */
    {.name = "megatron",
     .overlaps_gradients = true,
     .overlaps_weights = true,
     .overlaps_sends = true,
     .overlaps_products = true,
     .dispatches_by_node = true,
     .expert_launch_s = 8e-6,
     .expert_coding_s = 60e-6,
     .fuses_elementwise = true,
     .fuses_loss = true,
     .fuses_activation = true,
     .fuses_gates = true,
     .codes_frozen = true,
     .coded_half_gradients = true},
    /* Narayanan and others 2021: arXiv 2104.04473. */
    {.name = "megatron-2021",
     .recomputes_layers = true,
     .waits_for_collectives = true,
     .scatters_sends = true,
     .bucket_bytes = MEGATRON_BUCKET,
     .fuses_elementwise = true},
    /* PyTorch's FullyShardedDataParallel, not compiled. */
    {.name = "fsdp1",
     .overlaps_gradients = true,
     .overlaps_weights = true,
     .half_gradients = true,
     .bucket_bytes = FSDP_BUCKET,
     .fsdp = true},
    /* PyTorch's fully_shard with torch.compile. */
    {.name = "fsdp2",
     .overlaps_gradients = true,
     .overlaps_weights = true,
     .fuses_elementwise = true,
     .fuses_loss = true,
     .fuses_activation = true,
     .fsdp = true},
    /* XLA, as MaxText runs it. */
    {.name = "jax",
     .overlaps_gradients = true,
     .overlaps_weights = true,
     .half_gradients = true,
     .bucket_bytes = FSDP_BUCKET,
     .fuses_elementwise = true,
     .chunks_again = true,
     .sequence_parallel = true},
    /* Engines of serving: all-reduces of tensor parallelism are waited for.  Experts' rows go by
     * DeepEP: vLLM's deepep_low_latency and deepep_high_throughput, SGLang's deepep-mode auto,
     * TensorRT-LLM's DeepEPLowLatency and DeepEP. */
    {.name = "vllm",
     .fuses_elementwise = true,
     .exchange = "vllm/deepep_ll",
     .prompts_exchange = "vllm/deepep_ht"},
    {.name = "sglang",
     .fuses_elementwise = true,
     .exchange = "sglang-deepep/low-latency",
     .prompts_exchange = "sglang-deepep/normal"},
    {.name = "trtllm",
     .fuses_elementwise = true,
     .exchange = "trtllm/trtllm_deepep_ll/bfloat16",
     .prompts_exchange = "trtllm/trtllm_deepep_ht/bfloat16"},
    /* This program, op by op. */
    {.name = "shardsim", .waits_for_collectives = true},
};

#define NSOFTWARE ((int)(sizeof table / sizeof table[0]))

const char *software_name(int index)
{
    return index < NSOFTWARE ? table[index].name : NULL;
}

static void exchange(double *a, double *b)
{
    double kept = *a;

    *a = *b;
    *b = kept;
}

/* Let a cluster's kernels and those of FSDP change places, if the file has both. */
static void exchange_kernels(struct hardware *hardware)
{
    struct hardware_kernels *k = &hardware->kernels;
    struct hardware_fsdp *f = &hardware->fsdp;

    if (f->matmul_efficiency == 0)
        return;
    exchange(&k->matmul_efficiency, &f->matmul_efficiency);
    exchange(&k->coded_efficiency, &f->coded_efficiency);
    exchange(&k->attention_efficiency, &f->attention_efficiency);
    exchange(&k->attention_backward_efficiency, &f->attention_backward_efficiency);
}

void software_run(struct hardware *hardware, const struct hardware_software *software)
{
    if (software->fsdp != hardware->software.fsdp)
        exchange_kernels(hardware);
    hardware->software = *software;
}

bool hardware_run_software(struct hardware *hardware, const char *name)
{
    const struct hardware_software *found = software_find(name, NULL);

    if (!found)
        return false;
    if (!hardware->software.name || strcmp(hardware->software.name, name) != 0) {
        software_run(hardware, found);
        hardware->other_software = true;
    }
    return true;
}

bool hardware_halves_gradients(const struct hardware_software *software, bool coded)
{
    return software->half_gradients || (coded && software->coded_half_gradients);
}

const struct hardware_software *software_find(const char *name, struct nearest *nearest)
{
    for (int i = 0; i < NSOFTWARE; i++) {
        if (!strcmp(table[i].name, name))
            return &table[i];
        if (nearest)
            nearest_add(nearest, table[i].name);
    }
    return NULL;
}
