/* scenario/training_options.h - what a scenario says of training: optimizer, types, rounded products,
 * adapters, recomputation, offload and ZeRO.
 *
 * Part of scenario.h, which others include.
 *
 * Thread class: immutable once loaded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_TRAINING_OPTIONS_H
#define SCENARIO_TRAINING_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/dtype.h>

#include "base/diag.h"

enum scenario_optimizer_kind {
    SCENARIO_NO_OPTIMIZER,
    SCENARIO_SGD,
    SCENARIO_ADAMW,
    SCENARIO_MUON,
    SCENARIO_NOPTIMIZERS
};

enum scenario_decay { SCENARIO_CONSTANT, SCENARIO_COSINE, SCENARIO_NDECAYS };

enum scenario_rest { SCENARIO_REST_ADAMW, SCENARIO_REST_SGD, SCENARIO_NRESTS };

enum scenario_adjust_lr {
    SCENARIO_ADJUST_ORIGINAL,
    SCENARIO_ADJUST_MATCH_RMS_ADAMW,
    SCENARIO_ADJUST_SPECTRAL_UNCLAMPED,
    SCENARIO_NADJUST
};

/* How devices compute with whole matrices: model/matrices.h. */
enum scenario_matrix_layout {
    SCENARIO_DUPLICATED,
    SCENARIO_DISTRIBUTED,
    SCENARIO_OWNED,
    SCENARIO_NMATRIX_LAYOUTS
};

/* A list of patterns, each a rule without a spec. */
struct scenario_patterns {
    size_t n;
    struct scenario_rule *list;
};

/* Names of mesh axes, the first the most significant. */
struct scenario_axis_list {
    size_t n;
    char **names;
};

/* graph/optimizer/state.h explains the fields. */
struct scenario_optimizer {
    enum scenario_optimizer_kind kind; /* SCENARIO_NO_OPTIMIZER: no update */
    enum scenario_decay decay;
    double lr;
    int64_t warmup;
    double betas[2]; /* each at least 0 and below 1 */
    double eps, weight_decay, momentum;
    double clip; /* 0: no clipping */
    /* Muon alone. */
    struct scenario_patterns matrices, apart; /* of parameters, and of dimensions */
    enum scenario_rest rest;
    double rest_lr; /* 0: lr */
    bool nesterov;
    int64_t ns_steps;
    double ns_coefficients[3];
    enum shd_dtype ns_dtype;
    enum scenario_adjust_lr adjust_lr;
    enum scenario_matrix_layout layout;
    struct scenario_axis_list homes;
};

/* A value of `types`: a dtype by its number in shd/dtype.h, or a reference to another option. */
enum scenario_type {
    SCENARIO_TYPE_COMPUTE = SHD_I32, /* model.dtype; takes SHD_I32's number, as integers are not
                                        trained */
    SCENARIO_TYPE_PARAMETERS,        /* types.parameters */
    SCENARIO_TYPE_SOFTWARE, /* as the cluster's software; without a cluster types.parameters */
    SCENARIO_NTYPES
};

/* graph/optimizer/state.h explains the fields. */
struct scenario_types {
    enum scenario_type parameters, gradients, moments, reduce;
};

/* How products of weights and activations are rounded: graph/products.h. */
enum scenario_recipe {
    SCENARIO_NO_RECIPE,
    SCENARIO_TENSORWISE,
    SCENARIO_ROWWISE,
    SCENARIO_BLOCKWISE,
    SCENARIO_MXFP8,
    SCENARIO_NVFP4,
    SCENARIO_NRECIPES
};

enum scenario_code { SCENARIO_CODE_OF_RECIPE, SCENARIO_E4M3, SCENARIO_E5M2, SCENARIO_NCODES };

/* Of which elements of the data a scale's magnitude is the largest. */
enum scenario_amax { SCENARIO_AMAX_LOCAL, SCENARIO_AMAX_ALL, SCENARIO_AMAX_STATIC, SCENARIO_NAMAX };

enum scenario_products_kept {
    SCENARIO_KEPT_BY_RECIPE,
    SCENARIO_KEPT_CODES,
    SCENARIO_KEPT_WIDE,
    SCENARIO_NPRODUCTS_KEPT
};

/* How the kernels that have adapters are stored, or those of a model that is served. */
enum scenario_base {
    SCENARIO_BASE_COMPUTE, /* in model.dtype */
    SCENARIO_BASE_INT8,    /* 8 bits an element, with a scale for each output */
    SCENARIO_BASE_NF4,     /* 4 bits an element, with scales of blocks, themselves of 8 bits */
    SCENARIO_BASE_INT4,    /* with scales of blocks in the kernel's type */
    SCENARIO_BASE_MXFP4,   /* with a power of two for each block */
    SCENARIO_NBASES
};

/* How weights that are not learned are kept, if products round them. */
enum scenario_frozen {
    SCENARIO_FROZEN_WIDE,  /* in the type of the computation, and rounded in each step */
    SCENARIO_FROZEN_CODES, /* as codes alone */
    SCENARIO_FROZEN_AS_CLUSTER,
    SCENARIO_NFROZEN
};

struct scenario_products {
    enum scenario_recipe recipe;
    enum scenario_code gradients;
    enum scenario_amax amax;
    enum scenario_products_kept kept;
    enum scenario_frozen frozen;
    bool gathers;  /* weights in 8 bits, under ZeRO's stage 3 */
    bool dispatch; /* tokens go to experts in 8 bits, and gradients of what experts return */
    int64_t block; /* 0: the recipe's, or that of the weights' codes */
    enum scenario_base weights; /* storage type of weights, without a recipe */
    struct scenario_patterns except;
};

/* The most memory of a device: bytes, or a part of what the cluster's devices have; both 0: all. */
struct scenario_memory_limit {
    uint64_t bytes;
    double part;
};

/* What a device, or a server, may take.  The most of the sequences and of the tokens that are kept
 * at once are those of each part of the batch; 0: any. */
struct scenario_limits {
    struct scenario_memory_limit memory;
    int64_t sequences, tokens;
};

enum scenario_loss_scale_kind {
    SCENARIO_NO_LOSS_SCALE,
    SCENARIO_STATIC_LOSS_SCALE,
    SCENARIO_DYNAMIC_LOSS_SCALE,
    SCENARIO_NLOSS_SCALES
};

struct scenario_loss_scale {
    enum scenario_loss_scale_kind kind;
    int64_t initial;
    int64_t growth_interval; /* good steps before the scale is doubled */
};

/* Which activations the backward phase recomputes: graph/recompute.h. */
enum scenario_recompute_kind {
    SCENARIO_RECOMPUTE_NONE,
    SCENARIO_RECOMPUTE_SELECTIVE,
    SCENARIO_RECOMPUTE_FULL,
    SCENARIO_RECOMPUTE_NAMED, /* values that match patterns */
    SCENARIO_NRECOMPUTES
};

struct recompute_policy;

struct scenario_recompute {
    enum scenario_recompute_kind kind;
    const struct recompute_policy
        *policy; /* full: the policy's kept values, in addition to `kept`; NULL: none */
    uint32_t modules;               /* selective: bits of recompute_modules; 0: attention alone */
    int64_t group, every, first;    /* of layers, at least 1; first 0: all */
    int64_t offset;                 /* which of each `every` groups, from 0 */
    bool by_stage;                  /* layers are counted in each stage, not in the model */
    size_t npatterns;               /* named: at least one */
    struct scenario_rule *patterns; /* without specs */
    bool whole;                     /* not named: recompute also values that have no later reader */
    bool hold;                      /* not named: kept results stay until their layer is computed
                                       again, also those that nobody reads then */
    size_t nkept;                   /* not named: exceptions that are kept */
    struct scenario_rule *kept;     /* patterns, or ops as recompute_policies.h has them */
};

/* The first values of an adapter's second kernel. */
enum scenario_lora_start {
    SCENARIO_START_OF_MODEL, /* zeros in published models, random in others */
    SCENARIO_START_ZEROS,
    SCENARIO_START_RANDOM,
    SCENARIO_NLORA_STARTS
};

/* Adapters of low rank beside kernels, which are frozen: model/adapters.h. */
struct scenario_lora {
    int64_t rank; /* 0: none, and the other fields are unused */
    double alpha; /* 0: equal to the rank */
    struct scenario_patterns targets;
    enum scenario_base base;
    enum scenario_lora_start start;
};

/* Values of the forward phase, by their names. */
struct scenario_values {
    bool all;
    size_t npatterns;               /* 0: none, or all */
    struct scenario_rule *patterns; /* without specs */
};

/* What lies in the memory of the host: partition/offload.h. */
struct scenario_offload {
    struct scenario_values activations;
    int64_t layers;   /* of which activations are offloaded, from the first on; 0: all */
    double optimizer; /* part of the parameters whose optimizer state is offloaded, 0 to 1 */
    bool parameters;
    int64_t prefetch; /* layers */
};

#define SCENARIO_STEPS_MAX 100000  /* each step stores a loss, and a time for each device */
#define SCENARIO_PREFETCH_MAX 1000 /* layers: all of a model at once */

#define SCENARIO_RESHARD_ALWAYS (-1)
#define SCENARIO_RESHARD_DEFAULT 0 /* never in a pipeline, else always, as in PyTorch's training */
#define SCENARIO_RESHARD_NEVER 1

/* How to cut arrays whose dimensions all fail to divide by ZeRO's axes; model/zero.h. */
enum scenario_zero_layout { SCENARIO_FLAT, SCENARIO_PAD };

/* ZeRO: what is sharded over the data axes, too; model/zero.h. */
struct scenario_zero {
    int64_t stage; /* 0 to 3; 0: nothing */
    struct scenario_axis_list axes; /* may be empty only at stage 0 */
    enum scenario_zero_layout layout;
    int64_t reshard; /* for stage 3: SCENARIO_RESHARD_..., or the number of neighbours that
                        parameters stay sharded over between their uses (1: never resharded; the
                        size of the axis: always) */
    int64_t prefetch; /* layers; partition/overlap.h */
};

#endif /* SCENARIO_TRAINING_OPTIONS_H */
