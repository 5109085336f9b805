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
         "Memory, flops and time of one training step of a decoder, from its sizes and its layout.",
     .in = QUERY_FIELDS(
         {"model", "object", NULL, "Sizes of the decoder."},
         {"model.hidden", "whole number", NULL, "Width of the model."},
         {"model.layers", "whole number", NULL, "Layers."},
         {"model.heads", "whole number", NULL, "Heads of attention."},
         {"model.mlp_dim", "whole number", NULL, "Width inside the MLP."},
         {"model.vocab", "whole number", NULL, "Entries of the vocabulary."},
         {"model.seq", "whole number", NULL, "Tokens of a sequence."},
         {"model.kv_heads", "whole number", "heads", "Heads of keys and values."},
         {"model.head_dim", "whole number", "hidden / heads", "Width of a head."},
         {"model.gated_mlp", "boolean", "false",
          "false: GELU with biases, tied embeddings; true: SwiGLU, RMS norms, RoPE."},
         {"hardware", "text", NULL, "A cluster by name, as 'shardsim show hardware' lists them."},
         {"software", "text", "the cluster's, or that of the words of recompute",
          "The software that runs the step, such as megatron."},
         {"devices", "whole number", NULL, "Devices; tp * pp * cp * dp of them."},
         {"tp", "whole number", "1", "Tensor parallelism."},
         {"pp", "whole number", "1", "Pipeline parallelism."},
         {"cp", "whole number", "1", "Context parallelism; needs flash_attention."},
         {"dp", "whole number", "what remains", "Data parallelism."},
         {"ep", "whole number", "1", "Expert parallelism; there are no experts, so it must be 1."},
         {"slices", "whole number", "1", "Pods that data parallelism goes over."},
         {"virtual_stages", "whole number", "1", "Stages of each rank of the pipeline."},
         {"micro_batch", "whole number", NULL, "Sequences of a microbatch on one replica."},
         {"global_batch", "whole number", NULL, "Sequences of a step, of all replicas."},
         {"grad_accum", "whole number", "what follows",
          "Microbatches of a replica; checked against global_batch / (micro_batch * dp)."},
         {"recompute", "text", "\"none\"",
          "none, full, selective, 'selective layer', 'selective op', 'per-op SAC' or minimal."},
         {"dtype", "text", "\"bf16\"",
          "fp16, bf16 or fp32; or bf16 with products in fp8 (a scale for each array), fp8-rowwise, "
          "fp8-blockwise, mxfp8 or nvfp4."},
         {"sequence_parallel", "boolean", "false",
          "Activations between layers are sharded over tp, too."},
         {"flash_attention", "boolean", "true", "Attention keeps no scores."},
         {"zero_stage", "whole number from 0 to 3", "0", "The stage of ZeRO."}),
     .gives = "object",
     .out = QUERY_FIELDS(
         {"step_seconds", "number", NULL, "Time of a step, in seconds."},
         {"model_flops", "whole number", NULL,
          "Flops of the model in a step, without recomputation."},
         {"mfu", "number", NULL, "Model flops utilization, 0 to 1."},
         {"hfu", "number", NULL, "Hardware flops utilization: recomputed flops count, too."},
         {"peak_bytes", "number", NULL, "Memory of the fullest device, in bytes."},
         {"fits", "boolean", NULL, "Whether that fits."},
         {"breakdown", "object", NULL,
          "Where the time goes, as time.modelled of 'shardsim plan --json'."},
         {"memory", "object", NULL, "by_kind at the peak, in bytes; of a pipeline also by_rank."},
         {"scenario", "text", NULL, "The scenario that says the same."}),
     .errors = "indivisible, not-found",
     .question = "{'model': {'hidden': 1024, 'layers': 4, 'heads': 8, 'mlp_dim': 4096, 'vocab': "
                 "32000, 'seq': 1024}, 'hardware': 'h100-sxm', 'devices': 8, 'tp': 2, "
                 "'micro_batch': 1, 'global_batch': 8}",
     .reply = "'out':{'step_seconds':0.00501815,'model_flops':4506589622354,'mfu':0.11350581,'hfu'"
              ":0.11350581,'peak_bytes':1978181648.0,'fits':true,'breakdown':{'hardware':'h100-sxm'"
              ",...},'memory':{'by_kind':{'activations':123029508,'parameters':83181568,...}},'"
              "scenario':'version: 1...mesh: {dp: 4, tp: 2}...'}"},
    {.name = NULL}};
