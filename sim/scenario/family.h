/* family.h - the contents of a Hugging Face config.json: a model's family, sizes and traits.
 *
 * Keys and defaults are those of the family's module.  Other contents of a config (dropout,
 * initializer ranges, rope scaling) are not read.
 *
 * Thread class: pure functions; a config is plain data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_FAMILY_H
#define SCENARIO_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

#include <shd/dtype.h>
#include <shd/error.h>

#include "base/text.h"
#include "base/yaml.h"

enum family_size {
    FAMILY_END, /* end of a list of extents */
    FAMILY_HIDDEN,
    FAMILY_LAYERS,
    FAMILY_HEADS,
    FAMILY_KV_HEADS,
    FAMILY_HEAD_DIM,
    FAMILY_FF,
    FAMILY_VOCAB,
    FAMILY_EXPERTS,
    FAMILY_POSITIONS,
    FAMILY_BUCKETS,
    FAMILY_DECODER_LAYERS,
    FAMILY_TOP_K,
    FAMILY_EXPERT_FF,
    FAMILY_SHARED,        /* experts that every token goes through */
    FAMILY_DENSE_LAYERS,  /* the number of first layers without experts */
    FAMILY_EXPERT_GROUPS,
    FAMILY_KEPT_GROUPS,
    FAMILY_KV_RANK,
    FAMILY_Q_RANK, /* 0: queries are not compressed */
    FAMILY_ROPE_DIM,
    FAMILY_VALUE_DIM,
    /* derived from the others: */
    FAMILY_QUERIES, /* heads x head dim */
    FAMILY_KEYS,    /* kv heads x head dim */
    FAMILY_HIDDEN_3,
    FAMILY_NSIZES
};

/* Properties of a config besides sizes. */
enum family_trait {
    FAMILY_BIAS = 1,     /* queries, keys and values have biases */
    FAMILY_MLP_BIAS = 2, /* the mlp's kernels have biases */
    FAMILY_UNTIED = 4,   /* the head does not use the embedding table */
    FAMILY_GATED = 8,    /* the mlp of T5 has a gate */
    FAMILY_PLAIN = 16    /* the mlp of T5 has no gate */
};

enum family {
    FAMILY_LLAMA, /* and mistral */
    FAMILY_QWEN2,
    FAMILY_QWEN3,
    FAMILY_MIXTRAL,
    FAMILY_GEMMA,
    FAMILY_GEMMA2,
    FAMILY_GEMMA3,
    FAMILY_GPT2,
    FAMILY_T5,
    FAMILY_DEEPSEEK_V2,
    FAMILY_DEEPSEEK_V3
};

/* The use of a config: not every family supports each. */
enum family_door {
    FAMILY_BLOCKS = 1, /* planning its blocks */
    FAMILY_ARRAYS = 2  /* the names and shapes of its arrays */
};

struct family_config {
    enum family family;
    int64_t sizes[FAMILY_NSIZES];
    unsigned traits;
    enum shd_dtype dtype; /* of its arrays; SHD_F32 by default */
};

/* Read a config's map, of a family that the door admits.  Reports every fault at its place;
 * SHD_EINVAL when there was any. */
SHD_MUST_CHECK int family_read(struct family_config *out, const struct yaml_node *root,
                               enum family_door door, struct diag *diag);

/* Print the values of model_type that a door admits, as "llama, mistral and t5". */
void family_print_types(enum family_door door, struct text *out);

/* Read another flag of a config; `standard` if it is missing or null.  False after an error. */
bool family_read_flag(bool *out, const struct yaml_node *root, const char *key, bool standard,
                      struct diag *diag);

/* Read another number of a config, above 0; `standard` if it is missing or null.  False after an
 * error. */
bool family_read_number(double *out, const struct yaml_node *root, const char *key, double standard,
                        struct diag *diag);

#endif /* SCENARIO_FAMILY_H */
