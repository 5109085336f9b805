/* rules/names.h - the names of a model's parameters in other systems: the modules of transformers,
 * EasyDeL and T5X.
 *
 * [embed, heads, head_dim] is mostly [embed, heads * head_dim] there.
 *
 * Thread class: pure functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RULES_NAMES_H
#define RULES_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scenario/scenario.h"

enum names_system {
    NAMES_EASYDEL,       /* the experts of a layer are one array */
    NAMES_EASYDEL_APART, /* each expert has arrays of its own, as in earlier releases */
    NAMES_OWN,           /* the names of this program */
    NAMES_T5X,
    NAMES_NSYSTEMS
};

extern const char *const names_systems[NAMES_NSYSTEMS];

/* An array of another system that has a parameter, or is one. */
struct names_array {
    char
        name[96]; /* '*' is the number of a layer; '#' that of an expert, which has an array each */
    char dims[16]; /* "0 12": dimension 0 there is 0 here, dimension 1 there is 1 (the major) and 2
                      here; "+12": along it, arrays of the same name follow each other; "1  0": the
                      one between has a single element */
    const char *part; /* not NULL: other contents of the array there, for a comment */
};

/* Find the array of a parameter of `rank` dimensions, whose name has '*' for the number of a layer.
 * False: EasyDeL or T5X has none. */
bool names_find(struct names_array *out, enum names_system system,
                const struct scenario_model *model, const char *ours, size_t rank);

/* The same of NAMES_OWN: the names are the same. */
void names_own(struct names_array *out, const char *ours, size_t rank);

/* The same in the module of transformers for a model_type (scenario/family.h), as checkpoints have
 * it.  `layer` is the number for which the name has '*'; -1: none.  Names depend on the kind of
 * the layer. */
bool names_module(struct names_array *out, const char *type, const struct scenario_model *model,
                  int64_t layer, const char *ours, size_t rank);

#endif /* RULES_NAMES_H */
