/* plan.train_step: from a decoder's sizes and layout to memory and flops of one training step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/query.h"
#include "query/train_step_trial.h"
#include "report/figures.h"
#include "report/modelled.h"
#include "report/ranks.h"

static void write_memory(struct json_out *out, const struct program *program)
{
    struct program_memory memory;

    program_memory(&memory, program, program_peak_rank(program));
    json_out_key_object(out, "memory");
    json_out_key(out, "by_kind");
    ranks_kinds_json(&memory, out);
    if (program->nranks > 1) {
        json_out_key(out, "by_rank");
        ranks_json(program, out);
    }
    json_out_end_object(out);
}

static void write_answer(struct json_out *out, const struct trial *trial, const struct text *text)
{
    const struct scenario *s = trial->scenario;
    uint64_t tokens = (uint64_t)s->batch.size * (uint64_t)s->batch.seq;
    struct figures figures = {.good = false};
    struct modelled_figures step;
    struct program_work work;

    program_work(&work, trial->program);
    modelled_figures_of(&step, trial->record, tokens);
    figures_set_step(&figures, trial->record, tokens);
    json_out_begin_object(out);
    json_out_key_double(out, "step_seconds", step.step_s);
    json_out_key_uint(out, "model_flops", work.model_flops);
    json_out_key_double(out, "mfu", step.mfu);
    json_out_key_double(out, "mfu_causal_half", step.mfu_causal_half);
    json_out_key_double(out, "hfu", step.hfu);
    json_out_key_double(out, "peak_bytes", step.memory_bytes);
    json_out_key_bool(out, "fits", step.fits);
    json_out_key(out, "breakdown");
    modelled_json(out, trial->record, &figures);
    write_memory(out, trial->program);
    json_out_key_string(out, "scenario", text_get(text));
    json_out_end_object(out);
}

static int answer_train_step(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct train_step_trial planned;
    int status = train_step_trial_init(&planned, in, NULL, err);

    if (status != SHD_OK)
        return status;
    write_answer(out, &planned.variant.trial, &planned.text);
    train_step_trial_fini(&planned);
    return SHD_OK;
}

const struct query_op query_train_step_ops[] = {
    {.name = "plan.train_step",
     .answer = answer_train_step,
     .about =
         "Memory, flops and time of one training step of a decoder, from its sizes and layout.",
     .in = QUERY_FIELDS(
         {"model", "object", NULL, "Sizes of the decoder."},
         {"model.hidden", "whole number", NULL, "Hidden size."},
         {"model.layers", "whole number", NULL, "Layers."},
         {"model.heads", "whole number", NULL, "Heads of attention."},
         {"model.mlp_dim", "whole number", NULL, "Intermediate size of the MLP."},
         {"model.vocab", "whole number", NULL, "Vocabulary size."},
         {"model.seq", "whole number", NULL, "Sequence length."},
         {"model.kv_heads", "whole number", "heads", "KV heads."},
         {"model.head_dim", "whole number", "hidden / heads", "Head size."},
         {"model.gated_mlp", "boolean", "false",
          "false: GELU with biases, tied embeddings; true: SwiGLU, RMS norms, RoPE."},
         {"hardware", "text", NULL, "A cluster by name, as 'shardsim show hardware' lists them."},
         {"software", "text", "from the cluster, or from the value of recompute",
          "Training software, such as megatron."},
         {"devices", "whole number", NULL, "Devices; Number of devices: tp * pp * cp * dp."},
         {"tp", "whole number", "1", "Tensor parallelism."},
         {"pp", "whole number", "1", "Pipeline parallelism."},
         {"cp", "whole number", "1", "Context parallelism; needs flash_attention."},
         {"dp", "whole number", "what remains", "Data parallelism."},
         {"ep", "whole number", "1",
          "Expert parallelism; must be 1, because the model has no experts."},
         {"slices", "whole number", "1", "Pods (slices) that data parallelism spans."},
         {"virtual_stages", "whole number", "1", "Virtual stages per pipeline rank."},
         {"micro_batch", "whole number", NULL, "Microbatch size per replica, in sequences."},
         {"global_batch", "whole number", NULL, "Global batch size, in sequences."},
         {"grad_accum", "whole number", "what follows",
          "Microbatches of a replica; checked against global_batch / (micro_batch * dp)."},
         {"recompute", "text", "\"none\"",
          "none, full, selective, 'selective layer', 'selective op', 'per-op SAC' or minimal."},
         {"dtype", "text", "\"bf16\"",
          "fp16, bf16 or fp32; or bf16 with matmuls in fp8 (one scale per tensor), fp8-rowwise, "
          "fp8-blockwise, mxfp8 or nvfp4."},
         {"sequence_parallel", "boolean", "false",
          "Sequence parallelism: activations between layers are sharded over tp."},
         {"flash_attention", "boolean", "true", "Flash attention: scores are not stored."},
         {"zero_stage", "whole number from 0 to 3", "0", "The stage of ZeRO."}),
     .gives = "object",
     .out = QUERY_FIELDS(
         {"step_seconds", "number", NULL, "Time of a step, in seconds."},
         {"model_flops", "whole number", NULL,
          "Flops of the model in a step, without recomputation."},
         {"mfu", "number", NULL, "Model flops utilization, 0 to 1, with causal attention in full."},
         {"mfu_causal_half", "number", NULL, "The same with causal attention counted half."},
         {"hfu", "number", NULL, "Hardware flops utilization: recomputed flops included."},
         {"peak_bytes", "number", NULL, "Memory of the fullest device, in bytes."},
         {"fits", "boolean", NULL, "Whether that fits."},
         {"breakdown", "object", NULL,
          "Where the time goes, as time.modelled of 'shardsim plan --json'."},
         {"memory", "object", NULL, "by_kind at the peak, in bytes; by_rank for a pipeline."},
         {"scenario", "text", NULL, "The equivalent scenario."}),
     .errors = "indivisible, not-found",
     .question = "{'model': {'hidden': 1024, 'layers': 4, 'heads': 8, 'mlp_dim': 4096, 'vocab': "
                 "32000, 'seq': 1024}, 'hardware': 'h100-sxm', 'devices': 8, 'tp': 2, "
                 "'micro_batch': 1, 'global_batch': 8}",
     .reply = "'out':{'step_seconds':0.00520561,'model_flops':4506589622354,'mfu':0.10941825,'"
              "mfu_causal_half':0.1044128,'hfu':0.10941825,'peak_bytes':1978181648.0,'fits':true,'"
              "breakdown':{'hardware':'h100-sxm',"
              "...},'memory':{'by_kind':{'activations':123029508,'parameters':83181568,...}},'"
              "scenario':'version: "
              "1...mesh: {dp: 4, tp: 2}...'}"},
    {.name = NULL}};
