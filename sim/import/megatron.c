/* A command of Megatron-LM, or the script that launches it: what its options come to together.
 * What is not of the layout (paths, tokenizers, logs) is left out, and named.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "import/megatron.h"
#include "import/megatron_options.h"
#include "import/megatron_script.h"

/* ---- what options come to together ---- */

static void find_vocab(struct import_job *job, struct diag *diag)
{
    int64_t of = (job->divisor > 0 ? job->divisor : 128) * job->tensor;

    if (job->size)
        return;
    if (job->given_vocab == 0)
        job->given_vocab = job->tokenizer_vocab;
    if (job->padded_vocab > 0)
        job->vocab = job->padded_vocab;
    else if (job->given_vocab > 0)
        job->vocab = (job->given_vocab + of - 1) / of * of;
    else
        diag_error(diag, job->end,
                   "no vocabulary, which the command leaves to its tokenizer; expected "
                   "--vocab-size N or --padded-vocab-size N in it, or --vocab N here");
    if (job->given_vocab > 0 && job->vocab != job->given_vocab && job->padded_vocab == 0)
        text_addf(&job->notes,
                  "# The vocabulary of %lld is padded to a multiple of %lld, "
                  "--make-vocab-size-divisible-by times tensor parallelism.\n",
                  (long long)job->given_vocab, (long long)of);
}

/* "127,0" or "(127,0)": so many tokens before a token, none after it. */
static void find_window(struct import_job *job, struct diag *diag)
{
    const char *text = job->window_size.text;
    char *end;
    long long before;

    if (!text)
        return;
    text += *text == '(';
    before = strtoll(text, &end, 10);
    if (end == text || (strcmp(end, ",0") != 0 && strcmp(end, ",0)") != 0) || before < 0 ||
        before >= INT32_MAX)
        diag_error(diag, job->window_size.place,
                   "--window-size is '%.40s'; expected tokens before and none after, as 127,0",
                   job->window_size.text);
    else
        job->window = before + 1;
}

/* T5 is known by its program, or by what no other has. */
static void find_stacks(struct import_job *job, struct diag *diag)
{
    bool stacks = job->decoder_layers > 0 || job->decoder_seq > 0;

    if (job->layers > 0 && job->encoder_layers > 0)
        diag_error(diag, job->end, "--num-layers and --encoder-num-layers; expected one of them");
    if (job->layers == 0)
        job->layers = job->encoder_layers;
    if (stacks && job->known_program && !job->t5)
        diag_error(diag, job->end,
                   "--decoder-num-layers and --decoder-seq-length are of pretrain_t5.py; leave "
                   "them out");
    job->t5 |= stacks && !job->known_program;
    megatron_note_program(job);
}

/* The encoder and the decoder of T5, with what a scenario's T5 has otherwise. */
static void find_t5(struct import_job *job, struct diag *diag)
{
    if (job->stages > 1 || job->context > 1 || job->experts > 0 || job->grouped)
        diag_error(diag, job->end,
                   "T5 has no stages, context parallelism, experts or query groups there; leave "
                   "them out");
    if (job->decoder_layers == 0)
        job->decoder_layers = job->layers;
    if (job->decoder_seq == 0) {
        job->decoder_seq = job->seq;
        text_addf(&job->taken, " --decoder-seq-length %lld (that of the encoder)",
                  (long long)job->seq);
    }
    if (strcmp(job->position, "relative") != 0)
        text_addf(&job->notes, "# Positions of T5 are relative here, %s there.\n", job->position);
    text_add(&job->notes, "# Norms and kernels of T5 have no biases here; Megatron-LM's have.\n");
}

/* As Megatron-LM has it where a gate makes three kernels of two. */
static void find_width(struct import_job *job)
{
    if (job->d_ff == 0 && job->swiglu)
        job->d_ff = 8 * job->d_model / 3 / 64 * 64;
    else if (job->d_ff == 0)
        job->d_ff = 4 * job->d_model;
}

static void find_model(struct import_job *job, struct diag *diag)
{
    find_stacks(job, diag);
    find_width(job);
    if (job->rotary && !job->position)
        job->position = "rope";
    if (!job->position)
        job->position = job->unpositioned ? "none" : "learned_absolute";
    if (strcmp(job->position, "learned_absolute") != 0)
        job->positions = 0;
    job->unfused =
        job->backend ? !strcmp(job->backend, "unfused") || !strcmp(job->backend, "local")
                     : job->implementation && !strcmp(job->implementation, "local") && !job->flash;
    if (!job->size && (job->layers == 0 || job->d_model == 0 || job->heads == 0))
        diag_error(diag, job->end,
                   "no model; expected --num-layers, --hidden-size, --num-attention-heads");
    if (job->t5)
        find_t5(job, diag);
    else if (!strcmp(job->position, "relative"))
        diag_error(diag, job->end,
                   "--position-embedding-type relative is of T5 only; expected another one");
    find_vocab(job, diag);
    find_window(job, diag);
}

static void find_shared(struct import_job *job, struct diag *diag)
{
    int64_t one = job->expert_d_ff > 0 ? job->expert_d_ff : job->d_ff;

    if (job->shared_d_ff == 0 || job->experts == 0)
        return;
    if (one == 0 || job->shared_d_ff % one)
        diag_error(diag, job->end,
                   "--moe-shared-expert-intermediate-size %lld is not so many experts of %lld, "
                   "which a scenario counts; expected a multiple of --moe-ffn-hidden-size",
                   (long long)job->shared_d_ff, (long long)one);
    else
        job->shared = job->shared_d_ff / one;
}

static void find_zero(struct import_job *job)
{
    const char *strategy = job->strategy;

    job->zero = job->distributed ? 1 : 0;
    if (job->fsdp && !strategy) {
        strategy = "optim_grads_params";
        text_add(&job->taken, " --data-parallel-sharding-strategy optim_grads_params (no_shard "
                              "before April 2026)");
    }
    if (job->fsdp)
        job->zero = !strcmp(strategy, "no_shard")      ? 0
                    : !strcmp(strategy, "optim")       ? 1
                    : !strcmp(strategy, "optim_grads") ? 2
                                                       : 3;
    if (job->fsdp2)
        job->zero = 3;
    job->keep = job->fsdp2 && job->unshard_once;
}

/* A layer that is computed again is called a second time, to its end. */
static void find_recompute(struct import_job *job, struct diag *diag)
{
    const char *method = job->method ? job->method : job->old_method;

    if (job->old_method)
        job->recompute = "full";
    else if (job->selective && !job->recompute)
        job->recompute = "selective";
    job->recompute_whole = job->recompute && !strcmp(job->recompute, "full");
    if (!job->recompute_whole || !method || strcmp(method, "block") != 0)
        return;
    if (job->stages > 1)
        diag_error(diag, job->end,
                   "recomputation of the first layers of each stage (block) cannot be said; "
                   "expected --recompute-method uniform, or one stage");
    job->recompute_first = job->recompute_layers;
    job->recompute_layers = 1;
}

/* The types that are kept beside a 16-bit model's. */
static const char *type_name(const char *type)
{
    return !type || !strcmp(type, "fp32") ? NULL : !strcmp(type, "bf16") ? "bfloat16" : "float16";
}

static void find_types(struct import_job *job, struct diag *diag)
{
    const char *second = type_name(job->second_moment);

    job->gradients = job->fp16 && !job->full_sums  ? "float16" /* float32 is a default of bf16 */
                     : job->half_sums && job->bf16 ? "bfloat16"
                                                   : type_name(job->grads);
    if (job->fp16 && job->bf16)
        diag_error(diag, job->end, "--fp16 and --bf16; expected one of them");
    job->moments = type_name(job->moment);
    if ((job->moments || second) && (!job->moments || !second || strcmp(job->moments, second) != 0))
        diag_error(diag, job->end,
                   "the two moments have different types, which a scenario cannot say; expected "
                   "--exp-avg-dtype and --exp-avg-sq-dtype of one");
    if (job->aware && job->bf16)
        text_add(&job->notes, "# --use-precision-aware-optimizer keeps only what float32 has more "
                              "than bfloat16 of a parameter: less memory than planned.\n");
    job->dynamic_scale = job->loss_scale_window > 0 || (job->fp16 && job->loss_scale == 0);
}

/* What is done otherwise there. */
static void add_notes(struct import_job *job)
{
    if (job->experts > 0 && job->expert_devices > 1 && !job->dispatcher)
        text_add(&job->notes, "# Without --moe-token-dispatcher-type alltoall Megatron-LM gathers "
                              "tokens: more traffic than planned.\n");
    if (job->dropout[0] > 0 || job->dropout[1] > 0)
        text_add(&job->notes,
                 "# There is no dropout here (0.1 there unless --attention-dropout and "
                 "--hidden-dropout say 0): its masks take memory.\n");
}

static void finish(struct import_job *job, struct diag *diag)
{
    import_job_take_standards(job, megatron_options, diag);
    if (diag->nerrors > 0)
        return;
    job->gathers = job->comm && strcmp(job->comm, "p2p") != 0;
    find_model(job, diag);
    import_job_find_stages(job, diag);
    import_job_find_experts(job, diag);
    find_shared(job, diag);
    find_zero(job);
    find_recompute(job, diag);
    find_types(job, diag);
    if (job->expert_tensor > 0 && job->expert_tensor != job->tensor)
        diag_error(diag, job->end,
                   "--expert-tensor-parallel-size %lld: experts are sharded as the mlp is, over "
                   "%lld; leave it out",
                   (long long)job->expert_tensor, (long long)job->tensor);
    add_notes(job);
}

void import_megatron(struct import_job *job, struct place first, const char *text,
                     struct diag *diag)
{
    job->system = "Megatron-LM";
    job->dropout[0] = job->dropout[1] = 0.1;
    job->momentum = 0.9;
    job->end = first;
    if (megatron_is_test(text))
        megatron_read_test(job, first, text, diag);
    else
        megatron_read_script(job, first, text, diag);
    finish(job, diag);
}
