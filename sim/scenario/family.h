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

#include "base/yaml.h"
#include "scenario/scenario.h"

struct family_config {
    const char *type; /* `model_type` */
    struct scenario_model model;
    enum shd_dtype dtype; /* of its arrays; SHD_F32 by default */
};

#define FAMILY_ARRAYS (-1)

/* Read a config's map for sequences of `seq` tokens: a window or chunk that is no shorter has no
 * effect, and is left out.  FAMILY_ARRAYS: for its arrays alone, which depend on neither windows
 * nor positions, but on layers without attention, and whose types are read.  Reports every fault at
 * its place; SHD_EINVAL when there was any. */
SHD_MUST_CHECK int family_read(struct family_config *out, const struct yaml_node *root, int64_t seq,
                               struct diag *diag);

/* The map of the text model in a config's map: a config of a model of texts and images has it as
 * `text_config`. */
const struct yaml_node *family_text(const struct yaml_node *root);

#endif /* SCENARIO_FAMILY_H */
