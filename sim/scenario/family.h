/* family.h - the contents of a Hugging Face config.json: a model's family, sizes and traits.
 *
 * A family is a row of scenario/family_table.c: values of `model_type`, what all its models have in
 * common in the words of a scenario's options, and which key of a config sets which option.
 * Defaults are those of the family's module in transformers.  Keys that no row names have no effect
 * on the sizes of a model or on what it computes.
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
#include "scenario/scenario.h"

/* The names of a family's arrays: trees/config.c. */
enum family_arrays {
    FAMILY_UNNAMED,
    FAMILY_LLAMA, /* and mistral */
    FAMILY_QWEN2,
    FAMILY_QWEN3,
    FAMILY_MIXTRAL,
    FAMILY_GEMMA,
    FAMILY_GEMMA2,
    FAMILY_GEMMA3,
    FAMILY_GPT2,
    FAMILY_T5,
    FAMILY_QWEN3_MOE,
    FAMILY_GPT_OSS,
    FAMILY_PHI3,
    FAMILY_OLMO2,  /* and olmo3 */
    FAMILY_COHERE, /* and cohere2 */
    FAMILY_STARCODER2,
    FAMILY_GPT_NEOX,
    FAMILY_FALCON
};

/* The use of a config: not every family supports each. */
enum family_door {
    FAMILY_BLOCKS, /* planning its blocks */
    FAMILY_NAMES   /* the names and shapes of its arrays */
};

struct family_config {
    enum family_arrays arrays;
    struct scenario_model model;
    enum shd_dtype dtype; /* of its arrays; SHD_F32 by default */
};

/* Read a config's map, of a family that the door admits, for sequences of `seq` tokens: a window
 * or chunk that is no shorter has no effect, and is left out.  Reports every fault at its place;
 * SHD_EINVAL when there was any. */
SHD_MUST_CHECK int family_read(struct family_config *out, const struct yaml_node *root,
                               enum family_door door, int64_t seq, struct diag *diag);

/* The map of the text model in a config's map: a config of a model of texts and images has it as
 * `text_config`. */
const struct yaml_node *family_text(const struct yaml_node *root);

/* Print the values of model_type that a door admits, as "llama, mistral and t5". */
void family_print_types(enum family_door door, struct text *out);

#endif /* SCENARIO_FAMILY_H */
