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

/* Sizes are 0 and words NULL where nothing was said; words are of the tables. */
struct import_job {
    const char *size; /* a published model, not owned; NULL: by the sizes */
    int64_t layers, d_model, d_ff, heads, kv_heads, head_dim, vocab, positions;
    bool swiglu, unbiased, qkv_bias, untied, grouped, interleaved;
    const char *position, *norm;
    double theta, norm_eps;
    bool bf16, fp16;
    int64_t experts, top_k, expert_d_ff;
    bool pre_softmax;
    double aux_loss, z_loss, capacity;
    int64_t devices, nodes, node_devices; /* devices, or their product */
    int64_t tensor, stages, context, expert_devices, replicas, shards; /* at least 1; shards -1:
                                                                          what is left */
    bool sequence, data_outside, gathers; /* keys are gathered, not sent around */
    int64_t virtual_stages;
    const char *schedule;
    int64_t zero;                  /* stage */
    bool keep;                     /* of stage 3: gathered parameters are kept */
    int64_t batch, sequences, seq; /* of all, of a microbatch on a device, tokens */
    const char *recompute;
    int64_t recompute_layers;
    const char *optimizer, *decay;
    double lr, betas[2], eps, weight_decay, momentum, clip;
    int64_t warmup, steps, loss_scale, loss_scale_window;
    bool dynamic_scale;
    /* As one source says it; what it comes to stands above. */
    const char *comm, *strategy, *method, *model, *flavor, *type, *reshard;
    bool distributed, fsdp;
    int64_t microbatch, local; /* sequences that a replica has in a step; 0: as the batch says */
    struct text left_out;      /* options that say nothing of the layout, for a comment */
    struct place end;          /* of the file, where what is missing is reported */
};

enum import_type { IMPORT_INT, IMPORT_FRACTION, IMPORT_FLAG, IMPORT_WORD };

struct import_option {
    const char *name;
    enum import_type type;
    size_t offset;            /* into struct import_job */
    int64_t min;              /* IMPORT_INT */
    const char *const *words; /* IMPORT_WORD: all there are, ended by NULL */
    const char *refused;      /* not NULL: why a scenario cannot say it */
};

void import_job_init(struct import_job *job);
void import_job_fini(struct import_job *job);

/* An option that no row names says nothing of the layout and is left out, and named in a comment;
 * but where it is one letter from a row's name it is taken for a slip, which is an error. */
void import_job_leave_out(struct import_job *job, const struct import_option *table,
                          const char *name, struct place place, struct diag *diag);

/* The row of a name, or NULL. */
const struct import_option *import_option_find(const struct import_option *table, const char *name);

/* Put a value where its option says.  `value` is NULL where none was given: a flag has none.  What
 * is wrong is reported at `place`. */
void import_job_set(struct import_job *job, const struct import_option *option, const char *value,
                    struct place place, struct diag *diag);

/* Readers of whole texts.  What is wrong is reported; several faults in one run. */
void import_megatron(struct import_job *job, struct place first, const char *text,
                     struct diag *diag);
void import_torchtitan(struct import_job *job, struct place first, const char *text,
                       struct diag *diag);

/* The scenario of a job; nothing where there were faults.  Sizes that do not go together are
 * reported at the end of the file. */
void import_job_print(const struct import_job *job, const char *from, struct text *out,
                      struct diag *diag);

#endif /* IMPORT_JOB_H */
