/* import/job.h - the layout of a training job as other systems' options tell it, made a scenario.
 *
 * A source (Megatron-LM's arguments, torchtitan's file) is a table of options: each row says what
 * it is called there and where in a job it goes.  Then the job is written as a scenario, the same
 * for all sources.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef IMPORT_JOB_H
#define IMPORT_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"

#define IMPORT_JOB_BYTES_MAX \
    ((size_t)1 << 20) /* of a file of options, far above what people write */

#define IMPORT_OPTIONS_MAX 1024 /* rows of a table */

/* A file that is given as a whole; a script knows it by what follows the last '/' of its path. */
struct import_file {
    const char *path, *text;
};

/* What is read later, when all options are known; owned. */
struct import_text {
    char *text; /* NULL: not said */
    struct place place;
};

/* Sizes are 0 and words NULL where nothing was said; words are of the tables. */
struct import_job {
    const char *const *given; /* "NAME=VALUE" for variables of a script; not owned */
    size_t ngiven;
    const struct import_file *files; /* that a script may read, beside itself; not owned */
    size_t nfiles;
    const char *size; /* a published model, not owned; NULL: by the sizes */
    int64_t layers, d_model, d_ff, heads, kv_heads, head_dim, vocab, positions, window;
    bool swiglu, unbiased, qkv_bias, untied, grouped, interleaved, unfused, qk_norm;
    bool latent; /* keys and values of one short vector a token; its widths, 0: not said */
    int64_t kv_rank, q_rank, rope_dim, value_dim, latent_head;
    const char *position, *norm;
    double theta, norm_eps;
    bool bf16, fp16;
    int64_t experts, top_k, expert_d_ff, shared, first_dense, every; /* `every` at least 1 */
    const char *score;
    bool pre_softmax, expert_bias;
    int64_t groups, kept;
    double aux_loss, z_loss, capacity, scale;
    int64_t devices, nodes, node_devices; /* devices, or their product */
    int64_t tensor, stages, context, expert_devices, replicas, shards; /* at least 1; shards -1:
                                                                          what is left */
    bool sequence, data_outside, gathers; /* keys are gathered, not sent around */
    int64_t virtual_stages;
    const char *schedule;
    struct text stage_layers;      /* "2, 3, 3, 2"; empty: all have the same */
    int64_t zero;                  /* stage */
    const char *resharded;         /* of stage 3: reshard_after_forward; NULL: the default */
    bool keep_values;              /* what tensor parallelism gathers is kept */
    bool rows; /* what no dimension divides is sharded by rows, as FSDP2 does; else flat */
    int64_t batch, sequences, seq; /* of all, of a microbatch on a device, tokens */
    const char *recompute;
    int64_t recompute_layers, recompute_first, recompute_every; /* groups of; up to; each so many */
    bool recompute_whole; /* layers with what nobody reads again */
    const char *recompute_keep; /* patterns of what is kept all the same, as a list; NULL: none */
    struct text recompute_names; /* patterns of what is computed again; empty: by `recompute` */
    const char *optimizer, *decay;
    double lr, betas[2], eps, weight_decay, momentum, clip;
    int64_t loss_scale, loss_scale_window;
    bool dynamic_scale;
    const char *gradients, *moments; /* types; NULL: that of parameters */
    /* As one source says it; what it comes to stands above. */
    const char *comm, *balancer, *strategy, *method, *old_method, *type, *reshard, *backend,
        *implementation, *dispatcher, *grads, *moment, *second_moment;
    bool t5, known_program; /* what the program trains */
    struct text programs;   /* those that are not known, each behind a space */
    struct text unread;     /* other files that a script reads, which are not given */
    struct place unread_at; /* the last of them */
    int64_t encoder_layers, decoder_layers, decoder_seq, buckets, distance;
    bool distributed, fsdp, fsdp2, unshard_once, rotary, unpositioned, selective, flash, half_sums,
        full_sums, aware, count_embedding, count_loss;
    int64_t tokenizer_vocab; /* where the command does not say it; 0: not known */
    int64_t given_vocab, padded_vocab, divisor, shared_d_ff, expert_tensor, stage_depth,
        first_depth, last_depth, schedule_group;
    double dropout[2];
    struct import_text layer_freq, window_size, every_layer, modules, rampup, batches;
    struct import_text tokenizer, tokenizer_model, merge_file; /* what may say the vocabulary */
    const char *tokenizer_by; /* what tokenizer_model is of; NULL: its option */
    bool moe_again;
    int64_t microbatch, microbatches; /* sequences of one, and how many of them; 0: not said */
    int64_t local; /* sequences that a replica has in a step; 0: as the batch says */
    int64_t tokens, batch_tokens; /* of a microbatch of a replica, of a step; 0: by sequences */
    int64_t old_stages;           /* stages, by a key of a time with other microbatches */
    bool by_ops;                  /* what selective recomputation is by default */
    struct import_text model_name, flavor, schedule_name;
    /* For comments: options that say nothing of the layout, that no table has (and files that are
     * not read), and that were not said, with what they are taken as; what the system does
     * otherwise, a line each. */
    struct text left_out, unknown, taken, notes;
    const char *system;            /* its name, for these */
    bool said[IMPORT_OPTIONS_MAX]; /* by row */
    struct place end;              /* of the file, where what is missing is reported */
};

enum import_type {
    IMPORT_INT,
    IMPORT_FRACTION,
    IMPORT_LIMIT, /* a fraction; `inf`, for none, is 0 */
    IMPORT_FLAG,
    IMPORT_WORD,
    IMPORT_TEXT, /* a struct import_text */
    IMPORT_LIST, /* the same, of all words up to the next option, with a space between two */
    IMPORT_HINT, /* the same, of one word; where it is in doubt it was not said: no error */
    IMPORT_QUIET /* known to say nothing of the layout: left out, and named */
};

struct import_option {
    const char *name; /* ending in '.' or '-': all that begin so and have no row of their own */
    enum import_type type;
    size_t offset;            /* into struct import_job */
    int64_t min;              /* IMPORT_INT */
    const char *const *words; /* ended by NULL.  IMPORT_WORD: all there are; if refused: which are
                                 what is planned, and no error */
    const char *refused;      /* not NULL: why a scenario cannot say it, and the remedy */
    const char *standard;     /* not NULL: what it is taken as where it is not said */
};

void import_job_init(struct import_job *job);
void import_job_fini(struct import_job *job);

/* The row of a name, or NULL. */
const struct import_option *import_option_find(const struct import_option *table, const char *name);

/* Put a value where its option, called `name`, says.  `value` is NULL where none was given: a flag
 * has none.  What is wrong is reported at `place`. */
void import_job_set(struct import_job *job, const struct import_option *table,
                    const struct import_option *option, const char *name, const char *value,
                    struct place place, struct diag *diag);

/* An option of no row is left out, and named apart in a comment; but where it is one letter from a
 * row's name it is taken for a slip, which is an error. */
void import_job_unknown(struct import_job *job, const struct import_option *table, const char *name,
                        struct place place, struct diag *diag);

/* Options that were not said and have a standard. */
void import_job_take_standards(struct import_job *job, const struct import_option *table,
                               struct diag *diag);

/* Megatron-LM's virtual stages, its schedule, and stage_layers where they are not all the same. */
void import_job_find_stages(struct import_job *job, struct diag *diag);

/* Which layers have experts: a number N, of the first of every N layers, or a list in Python as
 * "[0]*3+[1]*58".  As first_dense and every of `moe:`; reported at the text's place where that
 * cannot say it. */
void import_job_find_experts(struct import_job *job, struct diag *diag);

/* Readers of whole texts.  What is wrong is reported; several faults in one run. */
void import_megatron(struct import_job *job, struct place first, const char *text,
                     struct diag *diag);
void import_torchtitan(struct import_job *job, struct place first, const char *text,
                       struct diag *diag);

/* The scenario of a job; nothing where there were faults.  Sizes that do not go together, and what
 * the reader of scenarios says of the text, are reported at the end of the file. */
void import_job_print(const struct import_job *job, const char *from, struct text *out,
                      struct diag *diag);

#endif /* IMPORT_JOB_H */
