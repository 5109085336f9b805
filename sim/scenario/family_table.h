/* scenario/family_table.h - the families of models whose config.json is read, as data.
 *
 * Thread class: immutable data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_FAMILY_TABLE_H
#define SCENARIO_FAMILY_TABLE_H

#include "scenario/family.h"

/* A value of a config, and the options that it sets, as "model.bias: true, moe.shared: 1". */
struct family_word {
    const char *theirs, *ours;
};

enum family_form {
    FAMILY_VALUE,   /* the option's value itself */
    FAMILY_NEEDED,  /* the same; an error if neither the config nor the family has one */
    FAMILY_INVERSE, /* a number; the option is 1 / number */
    FAMILY_SQRT,    /* a number; the option is its square root */
    FAMILY_ROOT,    /* a number; the option is 1 / sqrt(number) */
    FAMILY_WORDS,   /* one of `words`; others are errors */
    FAMILY_PREFIX,  /* a list of layers, 0 to n - 1: the option is n */
    FAMILY_DENSE,   /* a word for each layer, "dense" n times, then "sparse": the option is n */
    FAMILY_SAME     /* a number, 1 if it is missing, which key `standard` must have, too */
};

/* A key of a config.  One that is missing or null leaves the family's own values. */
struct family_key {
    const char *key;    /* with a dot: of a map in the config */
    const char *option; /* "model.d_model"; of FAMILY_WORDS NULL */
    enum family_form form;
    const struct family_word *words; /* ended by a row of NULLs */
    const char *standard; /* of FAMILY_WORDS: the word of a missing key, NULL: none; of FAMILY_SAME:
                             another key */
    const char *when;     /* the key is read only where this one is true, or, with '!', is not */
    const char *why;      /* what of another word is not modelled; NULL: nothing to say */
};

/* How the layers of a family, and their positions, differ; bits. */
enum family_layers {
    FAMILY_WINDOW = 1,   /* `sliding_window` is read */
    FAMILY_SWITCHED = 2, /* only with `use_sliding_window`, in layers from `max_window_layers` on */
    FAMILY_TYPES = 4,    /* `layer_types` is read */
    FAMILY_PATTERN = 8,  /* `sliding_window_pattern` n: every n-th layer is full */
    FAMILY_CHUNK = 16,   /* `attention_chunk_size` is read */
    FAMILY_NOPE = 32,    /* `no_rope_layers` and `no_rope_layer_interval` are read */
    FAMILY_FULL_NOPE = 64, /* beside layers with a window, full ones have no rotary positions */
    FAMILY_ALPHA = 128,    /* `alpha` of dynamic rotary positions stretches their base */
    FAMILY_DELTA = 256,    /* all but every `full_attention_interval`-th layer have a state by the
                              gated delta rule: linear_attention of `layer_types` */
    FAMILY_CONV = 512,     /* layers may be short convolutions: conv of `layer_types` */
    FAMILY_MAMBA = 1024,   /* all layers but those of `attn_layer_indices` are Mamba-2's: mamba of
                              `layer_types` */
    FAMILY_ALONE =
        4096, /* a layer is a letter of `hybrid_override_pattern`, M(amba), * (attention),
                 - (mlp) or E(xperts), or a word of `layers_block_type` */
    FAMILY_POSITIONED = 2048, /* rotary positions only with `position_embedding_type: rope` */
    FAMILY_SHARED_MLP = 8192, /* without experts, the shared expert is the mlp */
    FAMILY_LIGHTNING = 16384, /* layers may be lightning attention: linear_attention of
                                 `layer_types`, 0 of `attn_type_list` */
    FAMILY_BESIDE = 32768,    /* with FAMILY_MAMBA: all layers have attention beside Mamba-2 */
    FAMILY_FACTORS = 65536,   /* `ssm_multipliers` and others are read */
    FAMILY_KDA = 131072       /* layers have KDA, linear_attention of `layer_types`, or attention
                                 without rotary positions; without `layer_types` by the lists of
                                 `linear_attn_config` */
};

struct family_row {
    const char *types[8];
    const char *ours;                 /* options of all its models, and defaults of keys */
    const struct family_key *keys[4]; /* lists, each ended by a row without a key */
    unsigned layers;                  /* bit set of enum family_layers */
    const char *pattern;              /* of layers by default, repeated: w(indow), c(hunk), f(ull),
                                         l(ightning) */
    double rope_theta;                /* by default; 0: the family has no rotary positions */
    double rope_part;                 /* by default, of a head's width; 0: all of it */
    double local_theta;               /* by default, of layers with a window; 0: as the others */
    int64_t window, chunk;            /* by default; 0: none */
};

extern const struct family_row family_table[];
extern const size_t family_count;

/* Models that are known and not modelled, with the reason; without types: that are not known by
 * their names, as no size of them is published here. */
struct family_refusal {
    const char *types, *why; /* types are words (base/words.h) */
    const char *names;       /* beginnings of names of their models, or NULL */
};

extern const struct family_refusal family_refusals[];
extern const size_t family_refusal_count;

/* Why a model is known by its name, or that of its repository, and not modelled; NULL: it is not
 * known. */
const char *family_refuses(const char *name);

#endif /* SCENARIO_FAMILY_TABLE_H */
