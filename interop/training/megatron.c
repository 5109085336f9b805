/* Reads a command of Megatron-LM, or the script that launches the command, and combines its
 * options.  Options without effect on the layout (paths, tokenizers, logs) are left out, and named.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "training/megatron.h"
#include "training/megatron_options.h"
#include "training/products.h"
#include "training/tokenizers.h"

#define FIELD(name) offsetof(struct import_job, name)

/* ---- what options come to together ---- */

/* The tokens of a tokenizer with a known name.  A file of merges alone means GPT-2's tokenizer, as
 * before --tokenizer-type existed. */
static int64_t vocab_by_name(struct import_job *job)
{
    const char *type = job->tokenizer.text, *by = "--tokenizer-type", *what = type;
    int64_t tokens = tokenizers_of_type(type);

    if (tokens == 0 && (!type || !strcmp(type, "HuggingFaceTokenizer"))) {
        tokens = tokenizers_of_models(job->tokenizer_model.text);
        by = job->tokenizer_by ? job->tokenizer_by : "--tokenizer-model";
        what = job->tokenizer_model.text;
    }
    if (tokens == 0 && !type && job->merge_file.text) {
        tokens = tokenizers_of_type("GPT2BPETokenizer");
        by = "--merge-file";
        what = "GPT2BPETokenizer";
    }
    if (tokens > 0)
        text_addf(&job->notes,
                  "# The vocabulary is not given: %lld tokens are assumed, the size of %.100s "
                  "(%s).\n",
                  (long long)tokens, what, by);
    return tokens;
}

/* If an option gives the vocabulary, the options of the tokenizer are left out. */
static void leave_hints(struct import_job *job)
{
    for (size_t i = 0; megatron_options[i].name; i++)
        if (megatron_options[i].type == IMPORT_HINT && job->said[i])
            text_addf(&job->left_out, " %s", megatron_options[i].name);
}

static void find_vocab(struct import_job *job, struct diag *diag)
{
    int64_t of = (job->divisor > 0 ? job->divisor : 128) * job->tensor;

    if (job->given_vocab == 0)
        job->given_vocab = job->tokenizer_vocab;
    if (job->size || job->given_vocab > 0 || job->padded_vocab > 0)
        leave_hints(job);
    else
        job->given_vocab = vocab_by_name(job);
    if (job->size)
        return;
    if (job->padded_vocab > 0)
        job->vocab = job->padded_vocab;
    else if (job->given_vocab > 0)
        job->vocab = job->given_vocab;
    else
        diag_error(diag, job->end,
                   "no vocabulary size, because the command takes it from its tokenizer; add "
                   "--vocab N, or --vocab-size N or --padded-vocab-size N to the command");
    if (job->padded_vocab > 0 || job->vocab % of == 0)
        return;
    job->vocab_multiple = of;
    text_addf(&job->notes,
              "# The vocabulary of %lld is padded to a multiple of %lld, "
              "--make-vocab-size-divisible-by times tensor parallelism.\n",
              (long long)job->vocab, (long long)of);
}

/* Read "127,0" or "(127,0)": how many tokens before a token, and none after it, are attended to. */
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
                   "--window-size is '%.40s'; expected tokens before and none after, as in 127,0",
                   job->window_size.text);
    else
        job->window = before + 1;
}

/* T5 is known by its program, or by options that only T5 has. */
static void find_stacks(struct import_job *job, struct diag *diag)
{
    bool stacks = job->decoder_layers > 0 || job->decoder_seq > 0;

    if (job->layers > 0 && job->encoder_layers > 0)
        diag_error(diag, import_job_place_named(job, "--encoder-num-layers"),
                   "--num-layers and --encoder-num-layers; expected one of them");
    if (job->layers == 0)
        job->layers = job->encoder_layers;
    if (stacks && job->known_program && !job->t5)
        diag_error(diag, import_job_place_named(job, "--decoder-num-layers --decoder-seq-length"),
                   "--decoder-num-layers and --decoder-seq-length are options of pretrain_t5.py; "
                   "remove them");
    job->t5 |= stacks && !job->known_program;
    megatron_note_program(job);
}

/* Find the encoder and the decoder of T5, and what a scenario's T5 does differently. */
static void find_t5(struct import_job *job, struct diag *diag)
{
    if (job->stages > 1 || job->context > 1 || job->experts > 0 || job->grouped || job->latent ||
        job->qk_norm)
        diag_error(diag,
                   import_job_place_named(job, "--pipeline-model-parallel-size "
                                               "--context-parallel-size --num-experts "
                                               "--group-query-attention --multi-latent-attention "
                                               "--qk-layernorm"),
                   "T5 does not support pipeline or context parallelism, experts, query groups, "
                   "MLA or QK norms; remove them");
    if (job->decoder_layers == 0)
        job->decoder_layers = job->layers;
    if (job->decoder_seq == 0) {
        job->decoder_seq = job->seq;
        text_addf(&job->taken, " --decoder-seq-length %lld (that of the encoder)",
                  (long long)job->seq);
    }
    if (strcmp(job->position, "relative") != 0)
        text_addf(&job->notes, "# T5 is planned with relative positions, the job has %s.\n",
                  job->position);
    text_add(&job->notes, "# T5 is planned without biases in norms and matmuls; Megatron-LM's T5 "
                          "has them.\n");
}

/* Find the widths of compressed attention; by default those of Megatron-LM. */
static void find_latent(struct import_job *job, struct diag *diag)
{
    const struct {
        int64_t *width, standard;
        const char *option;
    } widths[] = {{&job->kv_rank, 32, "--kv-lora-rank"},
                  {&job->latent_head, 128, "--qk-head-dim"},
                  {&job->rope_dim, 64, "--qk-pos-emb-head-dim"},
                  {&job->value_dim, 128, "--v-head-dim"}};

    if (!job->latent)
        return;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (*widths[i].width == 0) {
            *widths[i].width = widths[i].standard;
            text_addf(&job->taken, " %s %lld", widths[i].option, (long long)widths[i].standard);
        }
    if (!job->unbiased || job->qkv_bias)
        diag_error(diag, import_job_place_named(job, "--add-qkv-bias --multi-latent-attention"),
                   "--multi-latent-attention with biases is not modelled; expected "
                   "--disable-bias-linear and no --add-qkv-bias");
    if (!job->qk_norm)
        text_add(&job->notes, "# MLA's latent vectors are planned with norms; Megatron-LM has them "
                              "only with --qk-layernorm.\n");
    job->head_dim = job->latent_head;
    job->qk_norm = job->grouped = false;
}

/* The width of the mlp as in Megatron-LM, narrower with a gate, which makes three kernels of
 * two. */
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
    find_latent(job, diag);
    if (job->t5)
        find_t5(job, diag);
    else if (!strcmp(job->position, "relative"))
        diag_error(diag, import_job_place_named(job, "--position-embedding-type"),
                   "--position-embedding-type relative is supported for T5 only; expected another "
                   "type");
    find_vocab(job, diag);
    find_window(job, diag);
}

static void find_shared(struct import_job *job, struct diag *diag)
{
    int64_t one = job->expert_d_ff > 0 ? job->expert_d_ff : job->d_ff;

    if (job->shared_d_ff == 0 || job->experts == 0)
        return;
    if (one == 0 || job->shared_d_ff % one)
        diag_error(diag, import_job_place(job, FIELD(shared_d_ff)),
                   "--moe-shared-expert-intermediate-size %lld is not a multiple of %lld; expected "
                   "a multiple of --moe-ffn-hidden-size",
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
    job->resharded = job->fsdp2 && job->unshard_once ? "never" : NULL;
    job->rows = job->fsdp2;
}

/* The scenario's name of a type kept beside 16-bit parameters; NULL: float32. */
static const char *type_name(const char *type)
{
    return !type || !strcmp(type, "fp32") || !strcmp(type, "auto") ? NULL
           : !strcmp(type, "bf16")                                 ? "bfloat16"
                                                                   : "float16";
}

static void find_types(struct import_job *job, struct diag *diag)
{
    const char *second = type_name(job->second_moment);

    job->gradients = job->fp16 && !job->full_sums  ? "float16" /* float32 is a default of bf16 */
                     : job->half_sums && job->bf16 ? "bfloat16"
                                                   : type_name(job->grads);
    if (job->fsdp && job->summed_type && strcmp(job->summed_type, "auto") != 0)
        job->reduce = type_name(job->summed_type) ? type_name(job->summed_type) : "float32";
    if (job->fp16 && job->bf16)
        diag_error(diag, import_job_place_named(job, "--fp16"),
                   "--fp16 and --bf16; expected one of them");
    job->moments = type_name(job->moment);
    if ((job->moments || second) && (!job->moments || !second || strcmp(job->moments, second) != 0))
        diag_error(diag, import_job_place_named(job, "--exp-avg-sq-dtype --exp-avg-dtype"),
                   "moments of different types are not modelled; expected --exp-avg-dtype and "
                   "--exp-avg-sq-dtype to be equal");
    if (job->aware && job->bf16)
        text_add(&job->notes, "# --use-precision-aware-optimizer keeps only the 16 bits that "
                              "float32 adds to a bfloat16 parameter: less memory than planned.\n");
    job->dynamic_scale = job->loss_scale_window > 0 || (job->fp16 && job->loss_scale == 0);
}

/* If the batch grows during the run, a step of the full batch is planned. */
static void find_growth(struct import_job *job, struct diag *diag)
{
    const char *last = job->batches.text ? strrchr(job->batches.text, ':') : NULL;
    char *end = NULL;
    long long full = last ? strtoll(last + 1, &end, 10) : 0;

    if (job->batches.text &&
        (!last || *end || full < 1 || full > INT32_MAX || (job->batch > 0 && job->batch != full)))
        diag_error(diag, job->batches.place,
                   "--step-batch-size-schedule is '%.40s'; expected START:SEQUENCES pairs "
                   "separated by spaces, the last equal to --global-batch-size if given",
                   job->batches.text);
    else if (job->batches.text)
        job->batch = full;
    if (job->rampup.text && job->batch == 0)
        diag_error(diag, job->rampup.place,
                   "--rampup-batch-size needs a final batch size; add --global-batch-size N");
    if (job->rampup.text || job->batches.text)
        text_addf(&job->notes,
                  "# The batch grows to %lld during the run: a step of the full batch is "
                  "planned.\n",
                  (long long)job->batch);
}

/* Note what Megatron-LM does differently. */
static void add_notes(struct import_job *job)
{
    if (job->experts > 0 && job->expert_devices > 1 && !job->dispatcher)
        text_add(&job->notes, "# Without --moe-token-dispatcher-type alltoall, Megatron-LM "
                              "all-gathers tokens: more traffic than planned.\n");
    if ((job->tensor > 1 || job->context > 1) && !job->fsdp && !job->fsdp2 &&
        job->connections != 1 && job->launched)
        text_addf(&job->notes,
                  "# CUDA_DEVICE_MAX_CONNECTIONS is %s: with tensor or context parallelism "
                  "Megatron-LM needs 1 on GPUs before Blackwell, and stops otherwise.\n",
                  job->connections == 0 ? "not set" : "another number");
    if (job->dropout[0] > 0 || job->dropout[1] > 0)
        text_add(&job->notes,
                 "# Dropout is not modelled (Megatron-LM's default is 0.1; --attention-dropout 0 "
                 "--hidden-dropout 0 turn it off): its masks take more memory.\n");
}

/* Both of its backends send a token's row once to each node. */
static void find_dispatcher(struct import_job *job, struct diag *diag)
{
    bool flexible = job->dispatcher && !strcmp(job->dispatcher, "flex");

    if (job->deepep && !flexible)
        diag_error(diag, import_job_place_named(job, "--moe-enable-deepep"),
                   "--moe-enable-deepep: expected --moe-token-dispatcher-type flex as well");
    job->once_a_node = flexible;
    job->directly = !flexible;
}

/* Words of a device's vocabulary that linear_cross_entropy multiplies by at a time. */
#define WORDS_AT_A_TIME 3072

/* The head fused with the loss makes the logits of some words at a time, and again in the backward
 * phase; of a chunk of tokens they would be as many bytes. */
static void find_loss(struct import_job *job)
{
    if (!job->fused_loss || !job->loss_kernel || strcmp(job->loss_kernel, "linear") != 0)
        return;
    job->loss_chunks = (job->vocab / job->tensor + WORDS_AT_A_TIME - 1) / WORDS_AT_A_TIME;
    job->loss_again = true;
}

/* PyTorch's FSDP gathers and sums on streams of its own, and Megatron-FSDP does where it shards
 * gradients, and parameters; other transfers are waited for unless an option says otherwise. */
static void find_overlaps(struct import_job *job)
{
    job->known_overlaps = job->known_fusions = true;
    job->overlap_sums |= job->fsdp2 || (job->fsdp && job->zero > 1);
    job->overlap_gathers |= job->fsdp2 || (job->fsdp && job->zero > 2);
}

static void find_context(struct import_job *job)
{
    job->context_method = !job->comm || !strcmp(job->comm, "p2p") ? "ring"
                          : !strcmp(job->comm, "a2a")             ? "all-to-all"
                                                                  : "gather";
}

static void finish(struct import_job *job, struct diag *diag)
{
    import_job_take_standards(job, megatron_options, diag);
    if (diag->nerrors > 0)
        return;
    megatron_check_rules(job, diag);
    find_context(job);
    find_model(job, diag);
    if (job->size)
        import_job_take_model(job, diag);
    import_job_find_stages(job, diag);
    if (!job->size) {
        import_job_find_experts(job, diag);
        find_shared(job, diag);
    }
    find_dispatcher(job, diag);
    find_zero(job);
    find_overlaps(job);
    find_loss(job);
    megatron_find_recompute(job, diag);
    megatron_find_offload(job, diag);
    find_growth(job, diag);
    find_types(job, diag);
    import_megatron_products(job, diag);
    if (job->expert_tensor > 1 && job->expert_tensor != job->tensor)
        diag_error(diag, import_job_place(job, FIELD(expert_tensor)),
                   "--expert-tensor-parallel-size %lld: expected 1, or %lld "
                   "(--tensor-model-parallel-size)",
                   (long long)job->expert_tensor, (long long)job->tensor);
    if (import_job_is_expert_whole(job) && !job->sequence)
        diag_error(diag, import_job_place(job, FIELD(expert_tensor)),
                   "--expert-tensor-parallel-size 1: tensor-parallel ranks would dispatch the same "
                   "tokens; Megatron-LM requires --sequence-parallel, add it");
    add_notes(job);
}

/* Name the files that were not read, because they may set missing options, or override given
 * ones. */
static void tell_unread(struct import_job *job, struct diag *diag)
{
    if (job->unread.length == 0)
        return;
    if (diag->nerrors > 0)
        diag_error(diag, job->unread_at,
                   "%s is not read and may set the missing options; add --with FILE, or --set "
                   "NAME=VALUE",
                   text_get(&job->unread));
    else
        text_addf(&job->unknown, " %s", text_get(&job->unread));
}

void import_megatron(struct import_job *job, struct place first, const char *text,
                     struct diag *diag)
{
    job->system = "Megatron-LM";
    job->software = "megatron";
    job->dropout[0] = job->dropout[1] = 0.1;
    job->momentum = 0.9;
    job->end = first;
    if (megatron_is_test(text))
        megatron_read_test(job, first, text, diag);
    else
        launch_script_read(job, &megatron_system, first, text, diag);
    import_job_read_remarks(job, first, text, diag);
    finish(job, diag);
    tell_unread(job, diag);
}
