/* A command of Megatron-LM: words as a shell parts them, with quotes, comments and lines that go
 * on.  What is not of the layout (paths, tokenizers, logs) is left out, and named.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "import/job.h"

#define AT(field) offsetof(struct import_job, field)
#define NUMBER(name, field)                        \
    {                                              \
        name, IMPORT_INT, AT(field), 1, NULL, NULL \
    }
#define COUNT(name, field)                         \
    {                                              \
        name, IMPORT_INT, AT(field), 0, NULL, NULL \
    }
#define FRACTION(name, field)                           \
    {                                                   \
        name, IMPORT_FRACTION, AT(field), 0, NULL, NULL \
    }
#define FLAG(name, field)                           \
    {                                               \
        name, IMPORT_FLAG, AT(field), 0, NULL, NULL \
    }
#define WORD(name, field, words)                     \
    {                                                \
        name, IMPORT_WORD, AT(field), 0, words, NULL \
    }
#define REFUSED(name, why)                 \
    {                                      \
        name, IMPORT_FLAG, 0, 0, NULL, why \
    }

static const char *const positions[] = {"learned_absolute", "rope", "none", NULL};
static const char *const norms[] = {"RMSNorm", "LayerNorm", NULL};
static const char *const comms[] = {"p2p", "all_gather", "allgather", NULL};
static const char *const strategies[] = {"no_shard", "optim", "optim_grads", "optim_grads_params",
                                         NULL};
static const char *const granularities[] = {"full", "selective", NULL};
static const char *const methods[] = {"uniform", NULL};
static const char *const optimizers[] = {"adam", "sgd", NULL};
static const char *const decays[] = {"constant", "cosine", NULL};

static const struct import_option options[] = {
    NUMBER("--num-layers", layers),
    NUMBER("--hidden-size", d_model),
    NUMBER("--ffn-hidden-size", d_ff),
    NUMBER("--num-attention-heads", heads),
    NUMBER("--kv-channels", head_dim),
    FLAG("--group-query-attention", grouped),
    NUMBER("--num-query-groups", kv_heads),
    NUMBER("--vocab-size", vocab),
    NUMBER("--seq-length", seq),
    NUMBER("--max-position-embeddings", positions),
    WORD("--position-embedding-type", position, positions),
    FLAG("--rotary-interleaved", interleaved),
    FRACTION("--rotary-base", theta),
    WORD("--normalization", norm, norms),
    FRACTION("--norm-epsilon", norm_eps),
    FLAG("--swiglu", swiglu),
    FLAG("--disable-bias-linear", unbiased),
    FLAG("--add-qkv-bias", qkv_bias),
    FLAG("--untie-embeddings-and-output-weights", untied),
    FLAG("--bf16", bf16),
    FLAG("--fp16", fp16),
    NUMBER("--num-experts", experts),
    NUMBER("--moe-router-topk", top_k),
    NUMBER("--moe-ffn-hidden-size", expert_d_ff),
    FLAG("--moe-router-pre-softmax", pre_softmax),
    FRACTION("--moe-aux-loss-coeff", aux_loss),
    FRACTION("--moe-z-loss-coeff", z_loss),
    FRACTION("--moe-expert-capacity-factor", capacity),
    NUMBER("--nnodes", nodes),
    NUMBER("--nproc-per-node", node_devices),
    NUMBER("--nproc_per_node", node_devices),
    NUMBER("--tensor-model-parallel-size", tensor),
    FLAG("--sequence-parallel", sequence),
    NUMBER("--pipeline-model-parallel-size", stages),
    NUMBER("--num-virtual-stages-per-pipeline-rank", virtual_stages),
    NUMBER("--context-parallel-size", context),
    NUMBER("--expert-model-parallel-size", expert_devices),
    NUMBER("--num-distributed-optimizer-instances", replicas),
    FLAG("--use-tp-pp-dp-mapping", data_outside),
    NUMBER("--micro-batch-size", sequences),
    NUMBER("--global-batch-size", batch),
    WORD("--recompute-granularity", recompute, granularities),
    NUMBER("--recompute-num-layers", recompute_layers),
    WORD("--optimizer", optimizer, optimizers),
    WORD("--lr-decay-style", decay, decays),
    FRACTION("--lr", lr),
    COUNT("--lr-warmup-iters", warmup),
    FRACTION("--weight-decay", weight_decay),
    FRACTION("--clip-grad", clip),
    NUMBER("--train-iters", steps),
    FRACTION("--adam-beta1", betas[0]),
    FRACTION("--adam-beta2", betas[1]),
    FRACTION("--adam-eps", eps),
    FRACTION("--sgd-momentum", momentum),
    NUMBER("--loss-scale", loss_scale),
    NUMBER("--initial-loss-scale", loss_scale),
    NUMBER("--loss-scale-window", loss_scale_window),
    WORD("--cp-comm-type", comm, comms),
    WORD("--data-parallel-sharding-strategy", strategy, strategies),
    WORD("--recompute-method", method, methods),
    FLAG("--use-distributed-optimizer", distributed),
    FLAG("--use-megatron-fsdp", fsdp),
    REFUSED("--expert-tensor-parallel-size", "experts are sharded as the mlp is; leave it out"),
    REFUSED("--num-layers-per-virtual-pipeline-stage",
            "expected --num-virtual-stages-per-pipeline-rank instead"),
    REFUSED("--decoder-first-pipeline-num-layers", "expected stages of equal layers"),
    REFUSED("--decoder-last-pipeline-num-layers", "expected stages of equal layers"),
    REFUSED("--multi-latent-attention", "give the model by --model instead"),
    REFUSED("--fp8-format", "there are no types of 8 bits"),
    REFUSED("--squared-relu", "there is no such activation"),
    {NULL, IMPORT_FLAG, 0, 0, NULL, NULL},
};

/* ---- words of a shell ---- */

struct words {
    const char *at;
    struct place place; /* of `at` */
    struct text word;
    struct place start; /* of the word */
};

static void step(struct words *w)
{
    if (*w->at == '\n') {
        w->place.line++;
        w->place.column = 1;
    } else if (((unsigned char)*w->at & 0xC0) != 0x80) {
        w->place.column++;
    }
    w->at++;
}

/* Spaces, ends of lines, lines that go on, comments. */
static void skip_gap(struct words *w)
{
    for (;;) {
        if (w->at[0] == '\\' && w->at[1] == '\n')
            step(w);
        else if (*w->at == '#')
            while (w->at[1] && w->at[1] != '\n')
                step(w);
        else if (!*w->at || !strchr(" \t\r\n", *w->at))
            return;
        step(w);
    }
}

/* The text in quotes, without them. */
static void add_quoted(struct words *w, struct diag *diag)
{
    struct place open = w->place;
    char quote = *w->at;

    step(w);
    for (; *w->at && *w->at != quote; step(w)) {
        if (quote == '"' && *w->at == '\\' && w->at[1])
            step(w);
        text_add_char(&w->word, *w->at);
    }
    if (*w->at)
        step(w);
    else
        diag_error(diag, open, "a quote that does not end");
}

/* The next word; false: there is none. */
static bool next_word(struct words *w, struct diag *diag)
{
    skip_gap(w);
    text_clear(&w->word);
    w->start = w->place;
    if (!*w->at)
        return false;
    while (*w->at && !strchr(" \t\r\n", *w->at)) {
        if (*w->at == '"' || *w->at == '\'') {
            add_quoted(w, diag);
            continue;
        }
        if (*w->at == '\\' && w->at[1] == '\n')
            break;
        if (*w->at == '\\' && w->at[1])
            step(w);
        text_add_char(&w->word, *w->at);
        step(w);
    }
    if (w->word.failed)
        diag_no_memory(diag);
    return !w->word.failed;
}

/* ---- options ---- */

static void finish(struct import_job *job, struct diag *diag)
{
    const char *strategy = job->strategy ? job->strategy : "optim";

    job->gathers = job->comm && strcmp(job->comm, "p2p") != 0;
    job->zero = job->distributed ? 1 : 0;
    if (job->fsdp)
        job->zero = !strcmp(strategy, "no_shard")      ? 0
                    : !strcmp(strategy, "optim")       ? 1
                    : !strcmp(strategy, "optim_grads") ? 2
                                                       : 3;
    job->schedule = job->virtual_stages > 1 ? "Interleaved1F1B" : "1F1B";
    if (!job->position)
        job->position = "learned_absolute";
    if (strcmp(job->position, "learned_absolute") != 0)
        job->positions = 0;
    job->dynamic_scale = job->loss_scale_window > 0;
    if (diag->nerrors == 0 && !job->size &&
        (job->layers == 0 || job->d_model == 0 || job->heads == 0))
        diag_error(diag, job->end,
                   "no model; expected --num-layers, --hidden-size, --num-attention-heads");
}

/* The value of an option: behind `=`, or the next word. */
static void read_option(struct import_job *job, struct words *w, struct diag *diag)
{
    struct place place = w->start;
    char *name = text_take(&w->word);
    char *equals = name ? strchr(name, '=') : NULL;
    const struct import_option *option;

    if (!name) {
        diag_no_memory(diag);
        return;
    }
    if (equals)
        *equals = '\0';
    option = import_option_find(options, name);
    if (!option)
        import_job_leave_out(job, options, name, place, diag);
    else if (option->type == IMPORT_FLAG || equals)
        import_job_set(job, option, equals ? equals + 1 : NULL, place, diag);
    else if (next_word(w, diag))
        import_job_set(job, option, text_get(&w->word), w->start, diag);
    else
        import_job_set(job, option, NULL, place, diag);
    free(name);
}

void import_megatron(struct import_job *job, struct place first, const char *text,
                     struct diag *diag)
{
    struct words w = {.at = text, .place = first, .word = TEXT_INIT};

    while (!diag_is_full(diag) && next_word(&w, diag))
        if (!strncmp(text_get(&w.word), "--", 2))
            read_option(job, &w, diag);
    job->end = w.place;
    text_fini(&w.word);
    finish(job, diag);
}
