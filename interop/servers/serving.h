/* servers/serving.h - what the readers of vLLM's and SGLang's options share: the layout that a
 * server's options come to, and its scenario.
 *
 * Thread class: owned by one thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SERVERS_SERVING_H
#define SERVERS_SERVING_H

#include "scenario/scenario.h"
#include "training/launch_script.h"

#define NUMBER(option, field) FIELD(option, IMPORT_INT, field, .min = 1)
#define COUNT(option, field) FIELD(option, IMPORT_INT, field, .min = 0)
#define FLAG(option, field) FIELD(option, IMPORT_FLAG, field, .min = 0)

#define NOT_SERVED "only servers of generative models are modelled; expected such a command"
#define ELSEWHERE "reads options from another file; give those options in the command and remove it"

#define VLLM_COPIES "--eplb-config.num_redundant_experts"

extern const struct import_option vllm_options[];           /* ended by a row without a name */
extern const struct import_option sglang_options[];         /* ended by a row without a name */
extern const char vllm_bare[], vllm_valued[], vllm_lists[]; /* as in struct launch_system */
extern const char sglang_bare[], sglang_lists[];

/* Over which of a server's devices widths are sharded. */
enum serving_span {
    SERVING_INSIDE, /* the devices of one data-parallel rank, like attention */
    SERVING_ALL,    /* all, to which the tokens of all parts of the batch are gathered */
    SERVING_NONE    /* each device has all of them */
};

/* Append options of `products` that keep the weights of a published model as the name says that it
 * is given by, else as --quantization asks (NULL: it was not given), else as they were published;
 * none: they have 16 bits.  *otherwise becomes what is planned in another way, static text; NULL:
 * nothing.  SHD_ENOMEM, which is reported. */
SHD_MUST_CHECK int serving_model_weights(struct text *products, const char **otherwise,
                                         const struct scenario_model *model, const char *name,
                                         const char *quantization, struct diag *diag);

/* The layout of a server.  Devices are numbered with its copies outermost, then the parts of the
 * batch, then tensor parallelism. */
struct serving {
    int64_t copies;  /* of the whole server */
    int64_t devices; /* of a copy */
    int64_t parts;   /* of the batch in a copy */
    int64_t cache_parts;
    int64_t experts; /* devices among which whole experts are dealt out, the outermost; their widths
                        are sharded over the rest */
    bool gathers;    /* tokens of all parts of the batch are gathered for experts, not each sent */
    enum serving_span dense, shared;
    bool prefill;     /* else decode */
    bool from_config; /* the model is that of a config.json, not of a published size */
    struct scenario_model model;
    const char *products;      /* options of that section, not owned; "": none */
    double memory;             /* the part of a device's that the server takes; 0: all */
    int64_t sequences, tokens; /* the most at once in each part of the batch; 0: any */
    bool fills; /* a server without a number of sequences takes as many as have room */
};

/* Find the program in a command: behind the word `program` and "serve", or behind -m and one of
 * `modules`, which are words, and "serve" if it comes next, or behind an image of containers with
 * one of `images`, which are words, in its name. */
struct serving_program {
    const char *program, *modules, *images;
};

bool serving_find_program(const struct shell *shell, const struct serving_program *program,
                          size_t *first);

/* Read the options of a system's command, check what they ask for, and find the model and its
 * types; faults are reported. */
void serving_read(struct serving *out, struct import_job *job, const struct launch_system *system,
                  void (*check)(const struct import_job *job, struct diag *diag),
                  struct place first, const char *text, struct diag *diag);

/* Refuse what steps of serving here have not, naming the options that ask for it: stages of layers,
 * and prompts cut over devices of their own. */
void serving_refuse_cuts(const struct import_job *job, const char *stages, const char *prompts,
                         struct diag *diag);

/* The most tokens of a sequence that a published model has, as it is called by the name (NULL: by
 * its size); 0: not known. */
int64_t serving_model_longest(const struct scenario_model *model, const char *name);

/* The published size that a name stands for, which may be a repository's or a path's, of other
 * types or versions; NULL: none. */
const char *serving_model_size(const char *name);

/* Find the sequences of a step and their tokens, where `ways` schedulers have as many each as the
 * options say, and the limits of the server, which takes the part `memory` of a device's memory
 * where no option says another; a fault is reported. */
void serving_find_load(struct import_job *job, struct serving *serving, int64_t ways, double memory,
                       struct diag *diag);

/* The type of cache that a server calls `type`, as decode.cache has it, and its block, if it has
 * one; NULL: it is not of 8 or 4 bits, or otherwise than here. */
const char *serving_cache_code(const char *type);

/* Write the scenario, without its comments, to job->scenario.  Sizes that do not fit together are
 * reported. */
void serving_print(struct import_job *job, const struct serving *serving, struct diag *diag);

#endif /* SERVERS_SERVING_H */
