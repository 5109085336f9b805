/* training/job.h - reads the layout of a training job from another system's options, and writes it
 * as a scenario.
 *
 * A source (Megatron-LM's arguments, torchtitan's file) has a table of options: each row has the
 * option's name in the source and the field of a job for its value.  All sources share the writer
 * of the scenario.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TRAINING_JOB_H
#define TRAINING_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"

#define IMPORT_JOB_BYTES_MAX \
    ((size_t)1 << 20) /* of a file of options: far more than people write */

#define IMPORT_OPTIONS_MAX 1024 /* rows of a table */

/* A file with its whole text; a script names the file by the part of the path after the last
 * '/'. */
struct import_file {
    const char *path, *text;
};

/* A value that is read after all options are known; owned. */
struct import_text {
    char *text; /* NULL: not given */
    struct place place;
};

/* An option that was given and affects the layout. */
struct import_given {
    char *name, *value;             /* owned; "" for a flag */
    struct place name_place, place; /* of the value, which may come from a variable elsewhere */
    const char *unplanned; /* why the plan differs from the job, not owned; NULL: no difference */
    size_t field; /* of a number: the offset of its field in struct import_job; 0: no number */
};

/* Options of a server that generates tokens, in the words of vLLM and SGLang. */
struct import_server {
    int64_t tensor, replicas, stages;
    int64_t batch_parts; /* SGLang: parts of the batch in which attention is done apart, inside of
                            tensor parallelism */
    int64_t cache_parts,
        prefill_parts; /* devices over which a sequence's cache, its prompt, is cut */
    int64_t expert_devices, dense_devices;
    bool experts_apart;                         /* each expert is whole on a device */
    bool attention_apart;                       /* `replicas` counts batch_parts */
    bool local_head, local_shared, local_dense; /* these are sharded as attention is */
    const char *exchange;                       /* how tokens get to experts */
    const char *phase, *dtype, *cache_type;
    int64_t sequences;   /* at once */
    int64_t step_tokens; /* the most of a step */
    int64_t page;        /* tokens of a page of the cache; 0: not given */
    int64_t tokens;      /* kept at once by a scheduler; 0: not given */
    int64_t blocks;      /* pages of the cache; 0: not given */
    int64_t copies;      /* of experts beside these */
    bool balances;       /* experts are moved and copied so that devices have even loads */
    struct import_text model, length, transfer, quantization;
    struct import_text memory;    /* the part of a device's that the server takes */
    struct import_text balancing; /* vLLM: JSON with `copies`, or something else of it */
};

/* Sizes are 0 and words NULL if no option gave them; words point into the tables. */
struct import_job {
    const char *const *given; /* "NAME=VALUE" for variables of a script; not owned */
    size_t ngiven;
    const struct import_file *files; /* other files that a script may read; not owned */
    size_t nfiles;
    const char *size; /* a published model, not owned; NULL: the sizes count */
    int64_t layers, d_model, d_ff, heads, kv_heads, head_dim, vocab, positions, window;
    bool swiglu, unbiased, qkv_bias, untied, grouped, interleaved, unfused, qk_norm;
    bool latent; /* keys and values come from one short vector a token; its widths, 0: not given */
    int64_t kv_rank, q_rank, rope_dim, value_dim, latent_head;
    const char *position, *norm;
    bool once_a_node; /* a token's row goes once to each node that has experts of it, ... */
    bool directly;    /* ... or to each of its experts */
    int64_t mtp;      /* modules that predict further tokens */
    bool scaled;      /* positions, as of Llama 3.1 */
    double theta, rope_factor, norm_eps, mtp_weight;
    bool bf16, fp16;
    int64_t experts, top_k, expert_d_ff, shared, first_dense, every; /* `every` at least 1 */
    const char *score;
    bool pre_softmax, expert_bias, balanced; /* `balanced`: a workload in the router's place */
    int64_t groups, kept;
    double aux_loss, z_loss, capacity, scale;
    int64_t devices, nodes, node_devices; /* devices; if 0, nodes times node_devices */
    int64_t tensor, stages, context, expert_devices, replicas, shards; /* at least 1; shards -1: all
                                                                          remaining devices */
    bool sequence, data_outside;
    const char *context_method; /* of a scenario's `context:`; NULL: a ring */
    int64_t virtual_stages;
    const char *schedule;
    struct text stage_layers; /* "2, 3, 3, 2"; empty: equal stages */
    /* What runs beside computation; `known_overlaps`: the system's options say what does. */
    bool known_fusions, fused_loss, split_activation; /* of kernels */
    int64_t loss_chunks;     /* chunks of tokens for which head and loss are computed; 0: one */
    bool loss_again;         /* the backward phase makes the logits of a chunk again */
    const char *loss_kernel; /* Megatron-LM's, by name; NULL: the default */
    bool known_overlaps, overlap_sums, overlap_gathers, overlap_products, blocked_sends;
    int64_t connections;   /* CUDA_DEVICE_MAX_CONNECTIONS of a script; 0: it sets none */
    int64_t zero;          /* stage */
    const char *resharded; /* reshard_after_forward of stage 3; NULL: the default */
    bool keep_values;      /* values that tensor parallelism gathers are kept */
    bool rows; /* arrays without a divisible dimension are sharded by rows, as in FSDP2; else
                  flat */
    int64_t batch, sequences, seq; /* sequences of a step, sequences of a microbatch on a device,
                                      tokens of a sequence */
    const char *recompute;
    int64_t recompute_layers, recompute_first, recompute_every; /* layers of a group; only the first
                                                                   layers; only the last of every N
                                                                   layers */
    bool recompute_whole; /* recomputed layers run to their end, with values that no op reads */
    bool compiled;        /* a compiler leaves out what nobody reads */
    struct import_text compiled_parts; /* of "model" and "loss", if not of both */
    bool recompute_hold;           /* kept results are held until their layer is computed again */
    bool recompute_by_stage;       /* layers are counted in each stage */
    struct text recompute_modules; /* names of recomputed parts of layers; empty: by `recompute` */
    bool offload_state, offload_parameters; /* to the host */
    double offload_fraction;                /* of the state; 1 */
    int64_t offload_layers;     /* first layers whose activations are offloaded; 0: none */
    struct text offload_values; /* quoted patterns of activations that are offloaded */
    const char *optimizer, *decay;
    double lr, betas[2], eps, weight_decay, momentum, clip;
    int64_t loss_scale, loss_scale_window;
    bool dynamic_scale;
    struct text products;            /* options of that section; empty: none */
    const char *gradients, *moments; /* types; NULL: the type of the parameters */
    const char *reduce;              /* type of sums over devices; NULL: that of gradients */
    bool half_parameters;            /* updated in the type of the computation, without a copy */
    /* Options in the words of one source; the fields above hold their results. */
    const char *comm, *balancer, *strategy, *method, *old_method, *type, *kept_type, *summed_type;
    const char *reshard, *backend, *implementation, *dispatcher, *flexible, *grads, *moment,
        *second_moment, *cpu_offload;
    const char *fp8_format, *fp8_recipe, *fp4_format;
    const char *fp8_all_gather; /* "true", "false" */
    bool fp8_gathers, bf16_ends;
    int64_t bf16_first, bf16_last; /* layers in 16 bits */
    struct import_text converters, fp8_filter;
    const char *kept_whole, *kept_routing, *kept_gathered; /* from remarks; NULL: no remark */
    bool t5, known_program; /* the program trains T5; the program is known */
    bool launched;          /* a command of the system is in the script */
    struct text programs;   /* names of unknown programs, each after a space */
    struct text unread;     /* names of files that a script reads and that are not given */
    struct place unread_at; /* where the last of these files is named */
    int64_t encoder_layers, decoder_layers, decoder_seq, buckets, distance;
    bool distributed, fsdp, fsdp2, unshard_once, rotary, unpositioned, selective, flash, half_sums,
        full_sums, aware, count_embedding, count_loss, embedding_alone;
    int64_t tokenizer_vocab; /* the tokenizer's, if no option gives the vocabulary; 0: unknown */
    int64_t vocab_multiple;  /* that the vocabulary is padded to; 0: not padded */
    int64_t given_vocab, padded_vocab, divisor, shared_d_ff, expert_tensor, stage_depth,
        first_depth, last_depth, schedule_group;
    int64_t first_less, last_less; /* layers for which the embedding, and the head, count */
    struct import_text stage_layout, stage_modules, split_points;
    double dropout[2];
    struct import_text layer_freq, window_size, every_layer, modules, offload_modules, rampup,
        batches;
    struct import_text tokenizer, tokenizer_model, merge_file; /* options that may determine the
                                                                  vocabulary */
    const char *tokenizer_by; /* name of the source of tokenizer_model; NULL: its option */
    bool deepep;              /* of the flexible dispatcher */
    bool moe_again, fine_grained_offload;
    int64_t microbatch, microbatches; /* sequences of a microbatch, number of microbatches; 0: not
                                         given */
    int64_t local;                    /* sequences of a replica in a step; 0: from the batch */
    int64_t tokens, batch_tokens; /* tokens of a replica's microbatch, tokens of a step; 0: given in
                                     sequences */
    int64_t old_stages;           /* stages by an old key, whose default is a microbatch for each
                                     stage */
    bool by_ops;                  /* selective recomputation is by ops if no option says how */
    struct import_text model_name, flavor, schedule_name;
    struct import_server server;
    struct text scenario; /* of a server, written by its reader; else empty */
    struct text unsaid;   /* options that are planned differently, one line each with the reason */
    /* Texts for comments in the scenario: options without effect on the layout; unknown options and
     * unread files; options that were not given, with their assumed values; differences of the
     * system, a line each. */
    struct text left_out, unknown, taken, notes;
    const char *system;           /* the system's name, for these comments */
    const char *software;         /* the scenario's option; NULL: that of the cluster */
    struct import_given *options; /* in the order of the file; of one given twice the last value */
    size_t noptions;
    struct place name_place; /* of the option that is being set; file NULL: that of its value */
    bool assumes;            /* options that are being set are standards, and not given */
    bool said[IMPORT_OPTIONS_MAX]; /* by row */
    struct place end;              /* end of the file, where missing options are reported */
};

enum import_type {
    IMPORT_INT,
    IMPORT_FRACTION,
    IMPORT_LIMIT, /* a fraction; `inf`, for none, is 0 */
    IMPORT_FLAG,
    IMPORT_WORD,
    IMPORT_TEXT, /* a struct import_text */
    IMPORT_LIST, /* a struct import_text of all words up to the next option, separated by spaces */
    IMPORT_HINT, /* a struct import_text of one word; a doubtful value counts as not given, without
                    an error */
    IMPORT_UNSAID, /* changes memory or time, and a scenario does not say it: `refused` tells what
                      is planned instead; no error */
    IMPORT_QUIET   /* known to have no effect on the layout: left out, and named */
};

struct import_option {
    const char *name; /* ending in '.' or '-': a prefix, for all names without a row of their own;
                         with spaces: several names (base/words.h) of an option that has no field */
    enum import_type type;
    size_t offset;            /* into struct import_job */
    int64_t min;              /* IMPORT_INT */
    const char *const *words; /* ended by NULL. All words of an IMPORT_WORD; with `refused`: words
                                 for what is planned anyway, without an error */
    const char *refused;      /* not NULL: why a scenario cannot express the option, and the
                                 remedy */
    const char *standard;     /* not NULL: value that is assumed if the option is not given */
};

void import_job_init(struct import_job *job);
void import_job_fini(struct import_job *job);

/* The row of a name, or NULL. */
const struct import_option *import_option_find(const struct import_option *table, const char *name);

/* Store a value in the field of its option, called `name`.  `value` is NULL if none was given, as
 * for a flag.  Faults are reported at `place`. */
void import_job_set(struct import_job *job, const struct import_option *table,
                    const struct import_option *option, const char *name, const char *value,
                    struct place place, struct diag *diag);

/* Note an option, or a variable, that was given; import_job_set() does that of its options.  Places
 * are copied as they are, and their file must outlive the job. */
void import_job_note(struct import_job *job, const char *name, const char *value,
                     struct place name_place, struct place place, struct diag *diag);

/* Record why the plan of a noted option differs from the job; `why` must outlive the job. */
void import_job_unplanned(struct import_job *job, const char *name, const char *why);

/* Note an option without a row: the option is left out, and named in a comment.  A name one letter
 * from a row's name is reported as a slip, which is an error. */
void import_job_unknown(struct import_job *job, const struct import_option *table, const char *name,
                        struct place place, struct diag *diag);

/* Assume the standard values of options that were not given. */
void import_job_take_standards(struct import_job *job, const struct import_option *table,
                               struct diag *diag);

/* Set the sizes that the writer needs of a job with `size` from that published model. */
void import_job_take_model(struct import_job *job, struct diag *diag);

/* The next name of letters, digits, '.' and '_' in a list such as ["float8", 'mx'], which goes
 * behind it; NULL: there is none, or `*at` is NULL.  Sets *opens, unless NULL, to whether a bracket
 * opens before the name. */
const char *import_next_name(const char **at, size_t *length, bool *opens);

/* Add a stage with so many layers. */
void import_job_add_stage(struct import_job *job, int64_t layers);

/* Find Megatron-LM's virtual stages and schedule, and stage_layers if stages differ. */
void import_job_find_stages(struct import_job *job, struct diag *diag);

/* The same of torchtitan, whose schedule and number of stages a rank are known. */
void import_job_split_as_torchtitan(struct import_job *job, struct diag *diag);

/* Whether each expert is whole on a device although the rest is sharded over tensor parallelism. */
bool import_job_is_expert_whole(const struct import_job *job);

/* Find first_dense and every of `moe:` from a number N (the first of every N layers has experts),
 * or from a list in Python such as "[0]*3+[1]*58".  Layers that these two sizes cannot express are
 * reported at the text's place. */
void import_job_find_experts(struct import_job *job, struct diag *diag);

/* Read the remarks of an export in a text's comments. */
void import_job_read_remarks(struct import_job *job, struct place first, const char *text,
                             struct diag *diag);

/* Read a whole text.  Faults are reported, several in one run. */
void import_megatron(struct import_job *job, struct place first, const char *text,
                     struct diag *diag);
void import_torchtitan(struct import_job *job, struct place first, const char *text,
                       struct diag *diag);
void import_vllm(struct import_job *job, struct place first, const char *text, struct diag *diag);
void import_sglang(struct import_job *job, struct place first, const char *text, struct diag *diag);

/* The place of the value that an option gave to the number at offset `field` of struct import_job;
 * the end of the file if none did. */
struct place import_job_place(const struct import_job *job, size_t field);

/* The same of the first of several fields that was given; `fields` ends with 0. */
struct place import_job_place_of(const struct import_job *job, const size_t *fields);

/* The same of the first of several options, by their names (base/words.h), that was given. */
struct place import_job_place_named(const struct import_job *job, const char *names);

/* Report parts of which a job has no whole number each, at the option that makes them. */
void import_job_check_parts(const struct import_job *job, struct diag *diag);

/* Write the scenario of a job; nothing if there were faults.  Sizes that do not fit together, and
 * faults that the reader of scenarios finds in the text, are reported at the end of the file. */
void import_job_print(const struct import_job *job, const char *from, struct text *out,
                      struct diag *diag);

#endif /* TRAINING_JOB_H */
