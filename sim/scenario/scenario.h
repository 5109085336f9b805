/* scenario/scenario.h - a scenario file as plain data: what to lay out, where, and how.
 *
 * A file describes one model and one or more strategies.  Each strategy becomes a complete `struct
 * scenario`: the file's own values, overridden by the strategy's, then by those of --set; other
 * options have their defaults.  A `sweep:` makes further strategies from lists of mesh sizes and
 * rule sets (scenario/sweep_strategies.h).  The names of options, their ranges, defaults and help
 * are in one table (scenario/table.h).
 *
 * Thread class: immutable once loaded; any number of threads may read it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_SCENARIO_H
#define SCENARIO_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/dtype.h>
#include <shd/mesh.h>
#include <shd/partition_axis.h>
#include <shd/rules.h>
#include <shd/spec.h>

#include "base/diag.h"
#include "base/map.h"
#include "base/nearest.h"
#include "base/text.h"

#define SCENARIO_VERSION 1                  /* of the file format; other versions are refused */
#define SCENARIO_DEFAULT_STRATEGY "default" /* for a file without `strategies` */

/* Limits of a file: several times what people write, and small enough that a malicious file costs
 * only seconds. */
#define SCENARIO_STRATEGIES_MAX 256 /* including the sweep's */
#define SCENARIO_RULES_MAX 1024     /* for `params` and `constraints` each */
#define SCENARIO_NAME_MAX 200       /* bytes of any name or pattern */
#define SCENARIO_GRAPH_MAX 1000000  /* for dims, arrays and ops of the `graph:` section each */
#define SCENARIO_OP_BYTES_MAX 2000  /* of one op's line */

enum scenario_kind {
    SCENARIO_MLP,
    SCENARIO_ATTENTION,
    SCENARIO_BLOCK,       /* pre-norm: attention and mlp, each with its residual sum */
    SCENARIO_TRANSFORMER, /* embedding, blocks, norm, head, cross-entropy */
    SCENARIO_GPT2,        /* a transformer: learned positions, layer norms, biases, tied head */
    SCENARIO_LLAMA3,      /* a transformer: rope, grouped queries, swiglu, RMS norms */
    SCENARIO_T5,          /* encoder and decoder: relative positions, cross attention */
    SCENARIO_MIXTRAL,     /* as llama3, with experts instead of the mlp */
    SCENARIO_DEEPSEEK,    /* experts, some shared by all tokens, and compressed attention */
    SCENARIO_DECODER,     /* a transformer of any published family, as its config.json says */
    SCENARIO_GRAPH,       /* defined in the scenario's `graph:` section */
    SCENARIO_NKINDS
};

enum scenario_norm { SCENARIO_RMS, SCENARIO_LAYER_NORM, SCENARIO_NNORMS };

/* Which norms a block has, around attention and around the mlp. */
enum scenario_norm_place {
    SCENARIO_NORM_BEFORE, /* of the layer's input */
    SCENARIO_NORM_AFTER,  /* of the layer's output, before it is added */
    SCENARIO_NORM_BOTH,
    SCENARIO_NNORM_PLACES
};

/* The parameters of norms. */
enum scenario_norm_weights {
    SCENARIO_NORM_STANDARD, /* a scale; of layer norms, also a bias */
    SCENARIO_NORM_SCALE,    /* a scale alone */
    SCENARIO_NORM_BARE,     /* none */
    SCENARIO_NNORM_WEIGHTS
};

/* How attention and mlp of a block follow each other. */
enum scenario_residual {
    SCENARIO_SERIAL,
    SCENARIO_BESIDE,       /* both read one norm of the block's input, and are added together */
    SCENARIO_BESIDE_NORMS, /* so too, each with a norm of its own */
    SCENARIO_NRESIDUALS
};

/* The norms of queries and keys. */
enum scenario_qk_norm {
    SCENARIO_QK_PLAIN,
    SCENARIO_QK_HEAD,  /* each head by itself, with one scale for all heads */
    SCENARIO_QK_HEADS, /* each head by itself, with its own scale */
    SCENARIO_QK_WHOLE, /* all heads together */
    SCENARIO_QK_LATE,  /* as HEAD, after positions are rotated in */
    SCENARIO_QK_BARE,  /* each head by itself without a scale, after positions are rotated in; in
                          layers with positions only */
    SCENARIO_NQK_NORMS
};

/* What tokens of a layer attend to. */
enum scenario_layer_type {
    SCENARIO_LAYER_FULL,
    SCENARIO_LAYER_WINDOW,     /* the latest model.window tokens */
    SCENARIO_LAYER_CHUNK,      /* those of their own chunk of model.chunk tokens */
    SCENARIO_LAYER_FULL_PLAIN, /* as the three above, without rotary positions */
    SCENARIO_LAYER_WINDOW_PLAIN,
    SCENARIO_LAYER_CHUNK_PLAIN,
    SCENARIO_NLAYER_TYPES
};

#define SCENARIO_LAYER_TYPES_MAX 256

/* The types of the first n layers; the list repeats for the layers after them. */
struct scenario_layer_types {
    uint32_t n; /* 0: all are of one type: window if model.window is not 0, else chunk, else full */
    uint8_t types[SCENARIO_LAYER_TYPES_MAX]; /* enum scenario_layer_type */
};

enum scenario_activation {
    SCENARIO_GELU,   /* the tanh approximation */
    SCENARIO_SWIGLU, /* gated: silu(x * gate) times (x * up) */
    SCENARIO_RELU,
    SCENARIO_SILU,
    SCENARIO_GEGLU,      /* gated: gelu(x * gate) times (x * up) */
    SCENARIO_GELU_EXACT, /* by the error function */
    SCENARIO_GEGLU_EXACT,
    SCENARIO_RELU_SQUARED,
    SCENARIO_SWIGLU_CLAMPED, /* gated, as in gpt-oss: g * sigmoid(1.702 g) times (u + 1), with g at
                                most 7 and u within -7..7 */
    SCENARIO_NACTIVATIONS
};

/* Which projections of attention have a bias. */
enum scenario_attention_bias {
    SCENARIO_BIAS_NONE,
    SCENARIO_BIAS_QKV,
    SCENARIO_BIAS_ALL,
    SCENARIO_NATTENTION_BIASES
};

/* How attention is computed. */
enum scenario_attention {
    SCENARIO_FUSED,   /* one kernel, which stores no scores */
    SCENARIO_UNFUSED, /* matmuls and a softmax, with their results in memory */
    SCENARIO_NATTENTIONS
};

/* How the frequencies of rotary embedding are scaled, for sequences longer than a model was trained
 * on first. */
enum scenario_rope_scaling_kind {
    SCENARIO_ROPE_UNSCALED,
    SCENARIO_ROPE_LINEAR,
    SCENARIO_ROPE_DYNAMIC,
    SCENARIO_ROPE_LLAMA3,
    SCENARIO_ROPE_YARN,
    SCENARIO_ROPE_LONGROPE,
    SCENARIO_NROPE_SCALINGS
};

#define SCENARIO_ROPE_FACTORS_MAX 256 /* half the width of a head */

struct scenario_rope_scaling {
    enum scenario_rope_scaling_kind kind;
    double factor;               /* of positions */
    int64_t original;            /* the longest sequence that the model was trained on first */
    double low, high;            /* llama3: frequency factors */
    double beta_fast, beta_slow; /* yarn; 0: 32 and 1 */
    double mscale, mscale_all;   /* yarn, of scores; 0: none given */
    double attention_factor;     /* yarn and longrope: of rotated values; 0: by the formula */
    bool untruncated;            /* yarn: the bounds of frequencies are not rounded */
    uint32_t nfactors;           /* longrope: those of each pair */
    double short_factors[SCENARIO_ROPE_FACTORS_MAX], long_factors[SCENARIO_ROPE_FACTORS_MAX];
};

struct scenario_rope {
    bool used;
    bool interleaved; /* pairs are elements (2i, 2i+1), else (i, i + half) */
    double theta;
    double part; /* of a head's width, from its first element on; 0: all of it */
    double
        local_theta; /* of layers with a window or chunks, which are not scaled; 0: as the others */
    struct scenario_rope_scaling scaling;
};

/* The function that turns a router's logits into scores. */
enum scenario_score { SCENARIO_SOFTMAX, SCENARIO_SIGMOID, SCENARIO_NSCORES };

/* Which tokens an expert drops when it is full. */
enum scenario_drop {
    SCENARIO_DROP_TOKENS,  /* the last tokens: queues are in token order */
    SCENARIO_DROP_CHOICES, /* the last choices: all tokens' first choices come first */
    SCENARIO_NDROPS
};

/* What gives a group of experts its score (kern/experts.h). */
enum scenario_group_score { SCENARIO_GROUP_TOP2, SCENARIO_GROUP_MAX, SCENARIO_NGROUP_SCORES };

/* What chooses the experts of a token: the router, or a workload in its place. */
enum scenario_routing {
    SCENARIO_ROUTING_AUTO, /* the router, of which a plan assumes that it balances its experts */
    SCENARIO_ROUTING_LEARNED,
    SCENARIO_ROUTING_UNIFORM,
    SCENARIO_ROUTING_ZIPF,
    SCENARIO_ROUTING_HOT_EXPERT,
    SCENARIO_ROUTING_HOT_RANK,
    SCENARIO_ROUTING_RAGGED,
    SCENARIO_ROUTING_EMPTY,
    SCENARIO_ROUTING_ROTATING,
    SCENARIO_NROUTINGS
};

/* Experts instead of an mlp; graph/layers/moe.h. */
struct scenario_moe {
    int64_t experts; /* 0: none, and the other fields are unused */
    int64_t top_k;
    int64_t d_ff;               /* of one expert; 0: model.d_ff */
    int64_t redundant;          /* copies of experts beside these */
    int64_t shared;             /* experts applied to every token, as one mlp of that many widths */
    int64_t first_dense, every; /* layers without experts: the first ones, and all but every
                                   every-th */
    enum scenario_score score;
    bool renormalize;
    double scale;         /* of gates */
    bool bias;            /* added to the scores for choosing only */
    bool after;           /* the softmax is over the chosen experts' logits alone */
    bool router_bias;     /* added to the router's logits */
    bool expert_bias;     /* experts' kernels have biases */
    bool gates_input;     /* gates multiply the experts' inputs, not their outputs */
    bool shared_gate;     /* the shared experts' output has a gate of its own, a sigmoid */
    int64_t shared_d_ff;  /* joint width of the shared experts; 0: shared times d_ff */
    int64_t groups, kept; /* groups of experts, and how many of them a token may choose from */
    enum scenario_group_score group_score;
    double capacity; /* slots of an expert, as a multiple of the tokens it would get if they were
                        spread evenly; 0: no limit */
    enum scenario_drop drop;
    int64_t token_groups; /* groups of sequences with queues and capacity of their own; 0: one
                             for each shard of the batch along axes that do not shard experts */
    double aux_loss, z_loss;
    enum scenario_routing routing;
    double skew;   /* the workload's parameter: zipf's exponent, or the hot share; 0: its default */
    int64_t ranks; /* ranks of the workload; 0: the shards of experts in the mesh */
    char *node_axis; /* mesh axis that numbers nodes, to each of which a token's row goes once;
                        NULL: a row goes straight to each of its experts */
};

/* Attention whose keys and values are computed from one short vector for each token. */
struct scenario_mla {
    int64_t kv_rank; /* 0: plain attention, and the other fields are unused */
    int64_t q_rank;  /* of queries; 0: not compressed */
    int64_t rope_dim, value_dim;
};

struct scenario_axis {
    char *name;
    int32_t size; /* devices, at least 1 */
    struct place place;
};

struct scenario_model {
    struct place place; /* of the `model:` map */
    enum scenario_kind kind;
    enum scenario_activation activation;
    enum shd_dtype dtype; /* SHD_F32, SHD_F64, SHD_BF16, SHD_F16 */
    bool bias;
    bool causal;
    enum scenario_norm norm;
    int64_t d_model;
    int64_t d_ff;
    int64_t layers;
    int64_t heads;
    int64_t kv_heads; /* divides heads */
    int64_t head_dim;
    int64_t vocab;
    int64_t vocab_multiple; /* embedding and head are padded to a multiple of it */
    struct scenario_rope rope;
    enum scenario_attention_bias attention_bias;
    enum scenario_qk_norm qk_norm;
    enum scenario_attention attention;
    double norm_eps; /* 0: the default of the norm */
    enum scenario_norm_place norm_place;
    enum scenario_norm_weights norm_weights;
    bool norm_one_plus; /* norms multiply by 1 + scale */
    enum scenario_residual residual;
    int64_t window; /* number of latest tokens that a token sees, including itself; 0: all */
    int64_t chunk;  /* tokens that see each other, the earlier ones only if causal; 0: all */
    struct scenario_layer_types layer_types;
    /* Of each of the following numbers 0 means none. */
    double attention_scale; /* of scores; 0: head_dim^-1/2 */
    double attention_cap;   /* scores are cap * tanh(score / cap) */
    bool sinks;             /* each head has one more score, learned, whose key has no value */
    double embed_scale, residual_scale, logit_scale; /* factors; 0: 1 */
    double logit_cap;                                /* as attention_cap */
    bool head_bias;                                  /* the head's kernel has a bias */
    int64_t mtp;       /* modules that predict further tokens: DeepSeek-V3, arXiv 2412.19437, 2.2 */
    double mtp_weight; /* of their mean loss */
    int64_t positions; /* positions with a learned vector; 0: none */
    bool tied;         /* the head uses the embedding table */
    int64_t decoder_layers;
    int64_t buckets, distance; /* of relative positions: model/relative.h */
    struct scenario_moe moe;
    struct scenario_mla mla;
    int64_t size; /* a published size, see scenario/published.h; 0: the other options decide */
    double scale; /* of that size, above 0 to 1 */
    char *from;   /* path of a config.json with the sizes, or NULL */
    bool text_alone; /* that is the config of a model of texts and images, of which this is the
                        text's part */
};

struct scenario_dim {
    char *name;
    int64_t size;
    struct place key_place;
    struct place place; /* of the size */
};

#define SCENARIO_ARRAY_RANK_MAX 12 /* dims of an array of `graph:`; equals GRAPH_RANK_MAX */

/* `x: [b, s, d]`, `ids: {dims: [b, s], below: v}` or `w: {dims: [d, f], dtype: bfloat16, values:
 * layers/0/w}`. */
struct scenario_array {
    char *name;
    size_t ndims;
    char *dims[SCENARIO_ARRAY_RANK_MAX];
    struct place dim_places[SCENARIO_ARRAY_RANK_MAX];
    char *below;        /* integers from 0 to below the size of this dimension, or NULL */
    double scale;       /* of random values, -scale/2..scale/2; 0: chosen by the first dimension */
    bool typed;         /* whether `dtype` is given; else the values' kind or the model decides */
    enum shd_dtype dtype;
    char *values; /* the array's name in the file of values; NULL: random values */
    const struct stored_array *stored; /* its entry there; the element types and shapes fit */
    struct place place; /* of the name */
    struct place below_place, dtype_place, values_place;
};

struct scenario_arrays {
    size_t count;
    struct scenario_array *list;
    struct map names; /* of `list` */
};

/* One text of the `graph:` section with its place: an op's line, or an output's name. */
struct scenario_line {
    char *text;
    struct place place; /* of the text's first character */
};

/* The `graph:` section; model/graph_text.h defines its lines. */
struct scenario_graph {
    size_t ndims;
    struct scenario_dim *dims;
    char *path;                /* of the file of values, from the working directory, or NULL */
    struct array_file *values; /* base/array_file.h */
    struct scenario_arrays inputs, params;
    size_t nops;
    struct scenario_line *ops;
    size_t noutputs; /* 0: the last op is the output */
    struct scenario_line *outputs;
};

struct scenario_batch {
    int64_t size;         /* sequences, over all devices */
    int64_t seq;          /* tokens of each sequence */
    int64_t source;       /* tokens of each sequence for the encoder */
    int64_t microbatches; /* successive parts of the batch; divides size */
};

/* How keys reach queries that are sharded over context.axis. */
enum scenario_context_method {
    SCENARIO_GATHER, /* all keys are gathered */
    SCENARIO_RING,   /* one block at a time, from neighbour to neighbour */
    SCENARIO_NCONTEXT_METHODS
};

/* The order of a sequence's tokens along the axis: kern/sight.h. */
enum scenario_order { SCENARIO_CONTIGUOUS, SCENARIO_ZIGZAG, SCENARIO_STRIPED, SCENARIO_NORDERS };

#define SCENARIO_DOCUMENTS_MAX 65536 /* lengths */

/* Documents packed into a sequence: a token sees only tokens of its own document. */
struct scenario_documents {
    int64_t mean;    /* mean of pseudo-random lengths, in tokens; 0: use `lengths` */
    int64_t seed;    /* of the lengths */
    size_t nlengths; /* 0, and no mean: a sequence is one document */
    int64_t *lengths;
};

struct scenario_context {
    char *axis; /* mesh axis; NULL: none */
    enum scenario_context_method method;
    enum scenario_order order;
    struct scenario_documents documents;
};

/* A text whose bytes are the tokens of a model with a vocabulary. */
struct scenario_data {
    char *path; /* from the working directory; NULL: random tokens */
    struct file_bytes *bytes; /* model/token_inputs.h defines where sequences begin */
};

struct scenario_step {
    bool forward; /* always true */
    bool backward;
    bool update; /* parameter update by the optimizer; requires a backward phase */
    bool prefill; /* of serving: forward of new tokens, whose keys and values are kept ... */
    bool decode;  /* ... or of one token of each sequence, beside what is kept of those before */
};

/* A strategy with step: [prefill, decode] is read as two. */
enum scenario_half { SCENARIO_WHOLE, SCENARIO_PREFILL, SCENARIO_DECODE };

/* The type of what is kept: the model's, codes of 8 bits whose scale is 1, or of 4 bits with scales
 * of blocks. */
enum scenario_cache_type {
    SCENARIO_CACHE_COMPUTE,
    SCENARIO_CACHE_E4M3,
    SCENARIO_CACHE_E5M2,
    SCENARIO_CACHE_INT4,
    SCENARIO_CACHE_MXFP4,
    SCENARIO_NCACHE_TYPES
};

/* What is kept of tokens, and how many are made. */
struct scenario_decode {
    int64_t tokens;  /* new ones of each sequence, one a step */
    int64_t context; /* tokens kept before the first step */
    int64_t page;    /* tokens of a page of the cache; 0: it is contiguous */
    enum scenario_cache_type cache;
    int64_t block;   /* elements of a row with a scale, of a cache of 4 bits; 0: its type's own */
    int64_t draft;   /* tokens that a draft proposes in each step, to be verified at once */
    double accepted; /* of these, on average */
    int64_t shared;  /* tokens that all sequences begin with, and which are kept once in a pool */
};

enum scenario_optimizer_kind {
    SCENARIO_NO_OPTIMIZER,
    SCENARIO_SGD,
    SCENARIO_ADAMW,
    SCENARIO_NOPTIMIZERS
};

enum scenario_decay { SCENARIO_CONSTANT, SCENARIO_COSINE, SCENARIO_NDECAYS };

/* graph/optimizer/state.h explains the fields. */
struct scenario_optimizer {
    enum scenario_optimizer_kind kind; /* SCENARIO_NO_OPTIMIZER: no update */
    enum scenario_decay decay;
    double lr;
    int64_t warmup;
    double betas[2]; /* each at least 0 and below 1 */
    double eps, weight_decay, momentum;
    double clip; /* 0: no clipping */
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

/* A list of patterns, each a rule without a spec. */
struct scenario_patterns {
    size_t n;
    struct scenario_rule *list;
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
    enum scenario_base weights; /* as they are kept, without a recipe */
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
    const struct recompute_policy *policy; /* full: what it keeps, besides `kept`; NULL: nothing */
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

/* Names of mesh axes, the first the most significant. */
struct scenario_axis_list {
    size_t n;
    char **names;
};

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

#define SCENARIO_STAGES_MAX 65536

/* Places all values whose name matches the pattern in a stage. */
struct scenario_stage_place {
    char *pattern; /* for re.search(); it compiles */
    int64_t stage;
    struct place place; /* of the pattern */
};

/* Consecutive layers in stages: model/pipeline.h.  The caller checks that the schedule exists. */
struct scenario_pipeline {
    char *axis; /* mesh axis of the stages; NULL: no pipeline */
    char *schedule;
    int64_t stages_per_rank; /* 0: the schedule's own number */
    bool weighed;            /* layers are split by their work: model/weigh.h */
    size_t nlayers;          /* 0: weighed, or as even as possible */
    int64_t *layers;         /* in each stage */
    size_t nplaces;
    struct scenario_stage_place *places; /* the first matching pattern decides */
};

struct scenario_transfers {
    uint64_t bytes_per_s; /* into each device, at least 1 */
    int64_t latency_ns;
};

/* The software of a job: a number of the option's words. */
enum scenario_software {
    SCENARIO_SOFTWARE_OF_CLUSTER,
    SCENARIO_SOFTWARE_NAMED /* this one and those behind it */
};

/* Whether a kind of transfer runs beside computation. */
enum scenario_beside {
    SCENARIO_EXPOSED,    /* computation waits for it */
    SCENARIO_BESIDE_WORK,
    SCENARIO_AS_CLUSTER, /* as the software of the cluster does */
    SCENARIO_NBESIDES
};

/* Whether software makes values inside one kernel. */
enum scenario_fusion {
    SCENARIO_APART, /* each op is a kernel, and leaves its result in memory */
    SCENARIO_ONE_KERNEL,
    SCENARIO_FUSED_AS_CLUSTER, /* as the software of the cluster does; apart without a cluster */
    SCENARIO_NFUSIONS
};

/* What is fused: cross-entropy of logits in 16 bits, and the activations of mlps and experts. */
struct scenario_fused {
    enum scenario_fusion loss, activation;
};

/* Which transfers run beside computation, for times on `hardware`: each overrides a field of
 * struct hardware_software. */
struct scenario_overlap {
    enum scenario_beside gradients, weights, products, sends, pairs;
};

/* One device that is slower than the others, for times on `hardware`. */
struct scenario_straggler {
    int64_t device;
    double compute, links; /* slowdown factors; 0: none */
};

/* The source of parameters' specs: `rules` or `params`, whichever is given last. */
enum scenario_rules_from {
    SCENARIO_RULES_PARAMS,
    SCENARIO_RULES_AUTO /* from shapes: shd/auto_shard.h, strict, dimensions of any size */
};

/* What happens to a value that the forward phase gathered and the backward phase reads as well. */
enum scenario_gathered {
    SCENARIO_GATHER_AGAIN, /* keep the shard, and gather it again */
    SCENARIO_GATHERED_KEPT,
    SCENARIO_NGATHERED
};

/* How to place values without a rule or constraint of their own. */
enum scenario_placement {
    SCENARIO_FOLLOW, /* follow operands, rules and constraints */
    SCENARIO_SEARCH, /* minimise the bytes moved */
    SCENARIO_NPLACEMENTS
};

/* What happens to dimensions that do not divide by their rules' axes. */
enum scenario_uneven {
    SCENARIO_REFUSED, /* report an error */
    SCENARIO_PADDED,  /* extend them: graph/pad.h */
    SCENARIO_NUNEVENS
};

/* The cost that the partitioner minimises. */
enum scenario_price {
    SCENARIO_PRICE_BYTES, /* bytes that all devices receive */
    SCENARIO_PRICE_TIME,  /* seconds on the scenario's cluster */
    SCENARIO_NPRICES
};

/* `[pattern, spec]`, for parameters and constraints; the first rule whose pattern matches
 * applies. */
struct scenario_rule {
    char *pattern;            /* for re.search(); it compiles */
    struct shd_spec *spec;    /* axes are in the mesh, none twice */
    struct shd_spec *written; /* as in the file, with names of `partition_axis`; NULL: as `spec` */
    struct place place;       /* of the pattern */
    struct place *entry_places; /* of each entry of the spec */
    struct place spec_place;
    char *source; /* the file of all these places, which a program was traced from; NULL: the rule's
                     own */
};

/* `batch: dp`, `seq: [dp, tp]`, `mlp: null`. */
struct scenario_logical {
    char *name;
    size_t naxes; /* 0: null, not sharded */
    char **axes;  /* names of mesh axes, the first the most significant */
    size_t nwritten;
    char **written;         /* as in the file, with names of `partition_axis`; NULL: as `axes` */
    struct place key_place; /* of the logical axis's name */
    struct place place;     /* of the value */
};

/* `partition_axis:`, which maps names in specs to mesh axes: scenario/partition_axis_value.h. */
struct scenario_partition_axis {
    bool used; /* given, even if only as {} */
    enum shd_axis_mode mode;
    size_t nfields;
    struct scenario_logical *fields; /* the given fields, under their full names: "head_axis" */
    struct shd_partition_axis *axis; /* built from these fields; NULL unless used */
};

/* `all-reduce: ring`; the caller checks that collective and algorithm exist. */
struct scenario_algorithm {
    char *kind;
    char *name;
    struct place kind_place;
    struct place place; /* of the algorithm's name */
};

#define SCENARIO_OPTIONS_MAX 256 /* maximum rows of the option table */

struct scenario {
    char *name;         /* `name:`, or the file name without directory and extension */
    char *strategy;     /* name of the strategy; distinct within a file */
    bool swept;         /* made by the file's sweep; the caller checks that it divides */
    bool planned;       /* set by callers that execute nothing: what only an execution finds out may
                           be assumed */
    struct place place; /* of the strategy, or of the file's first value */
    size_t nmesh;
    struct scenario_axis *mesh; /* at most SHD_MESH_AXES_MAX; the product fits an int32_t */
    struct scenario_model model;
    struct scenario_batch batch;
    struct scenario_context context;
    struct scenario_data data;
    struct scenario_graph graph;
    struct scenario_step step;
    int64_t steps; /* consecutive steps; 1 without an update, and in a decode the tokens */
    struct scenario_decode decode;
    const struct scenario *prefill; /* of a decode: the one that it goes on from; NULL: none.  Of
                                       the same file */
    bool apart;                     /* a prefill on devices of its own */
    struct scenario_optimizer optimizer;
    struct scenario_types types;
    struct scenario_products products;
    struct scenario_loss_scale loss_scale;
    struct scenario_zero zero;
    struct scenario_pipeline pipeline;
    struct scenario_recompute recompute;
    struct scenario_patterns frozen; /* parameters that are not learned */
    struct scenario_lora lora;
    struct scenario_offload offload;
    char *hardware; /* a cluster's name, or the path of its file; NULL: none */
    int64_t slices; /* slices of a torus that the devices come from */
    enum scenario_software software;
    struct scenario_overlap overlap;
    struct scenario_fused fused;
    struct scenario_straggler straggler;
    enum scenario_gathered gathered;
    enum scenario_placement placement;
    enum scenario_uneven uneven;
    enum scenario_price price;
    enum scenario_rules_from rules;
    size_t nparams; /* 0 if specs come from shapes */
    struct scenario_rule *params;
    size_t nlogical;
    struct scenario_logical *logical; /* the `axes:` option */
    struct scenario_partition_axis partition_axis;
    size_t nconstraints;
    struct scenario_rule *constraints;
    size_t nalgorithms;
    struct scenario_algorithm *algorithms;
    struct scenario_limits limits;
    struct scenario_transfers transfers;
    double tolerance; /* additional tolerance of the verification, relative to the largest value;
                         0: none */
    uint64_t seed;
    struct place places[SCENARIO_OPTIONS_MAX]; /* by option; see scenario_place() */
};

struct scenario_file {
    char *path; /* must live as long as the file: places point to it */
    size_t nscenarios;
    struct scenario *scenarios;
};

/* Load a file ("-": standard input).  `sets` are "key=value" or "key.sub=value" with a YAML value,
 * applied in order to every strategy; a fault in the n-th is at place `--set:n:COLUMN`.
 *
 * On success stores the file in *out; free it with scenario_file_destroy().  On failure reports
 * every error found to `diag`, leaves *out alone and returns a status below 0. */
SHD_MUST_CHECK int scenario_load(struct scenario_file **out, const char *path,
                                 const char *const *sets, size_t nsets, struct diag *diag);

/* scenario_load() for the strategies with some names: of the others only the name is used, and
 * their faults are not reported.  No names: all strategies. */
struct scenario_choice {
    const char *const *names;
    size_t nnames;
};
SHD_MUST_CHECK int scenario_load_chosen(struct scenario_file **out, const char *path,
                                        const char *const *sets, size_t nsets,
                                        struct scenario_choice choice, struct diag *diag);

/* scenario_load() for a text; `path` is its name in places and messages. */
SHD_MUST_CHECK int scenario_parse(struct scenario_file **out, const char *path, const char *text,
                                  size_t length, const char *const *sets, size_t nsets,
                                  struct diag *diag);

/* Read the text of a file ("-": standard input); a failure is reported to `diag`. */
SHD_MUST_CHECK int scenario_read(struct text *out, const char *path, struct diag *diag);

/* Both: scenario_load_chosen() for a text. */
SHD_MUST_CHECK int scenario_parse_chosen(struct scenario_file **out, const char *path,
                                         const char *text, size_t length, const char *const *sets,
                                         size_t nsets, struct scenario_choice choice,
                                         struct diag *diag);

/* Free a file and its scenarios.  NULL is allowed. */
void scenario_file_destroy(struct scenario_file *file);

/* Note that nothing of a file will be executed (`planned` of each scenario). */
void scenario_file_plan(struct scenario_file *file);

/* Suggest an option for an unknown key: an option or section, by its path or by the last component,
 * or the size of an axis ("mesh.tp").  Writes into buf, cut if it does not fit; "" if none is near.
 * Returns buf. */
const char *scenario_nearest_option(const char *key, char *buf, size_t size);

/* The place of an option's value ("model.d_ff", "limits.memory", "mesh"); of its section, or else
 * of the scenario, if the option has its default.  An unknown name gives the scenario's place. */
struct place scenario_place(const struct scenario *scenario, const char *option);

/* The place of an error that was found behind the reader: that of the option that its text names at
 * its beginning or behind ": ", as in "moe.node_axis: experts are not sharded over the axis"; of
 * a text without one, `otherwise`. */
struct place scenario_blamed(const struct scenario *scenario, const char *text,
                             struct place otherwise);

/* Create the mesh as a struct shd_mesh.  Errors as shd_mesh_create(). */
SHD_MUST_CHECK int scenario_mesh(struct shd_mesh **out, const struct scenario *scenario,
                                 struct shd_error *err);

/* Create shd_rules from `params` or `constraints`, numbered alike.  Free with shd_rules_destroy().
 * Errors as shd_rules_add(). */
SHD_MUST_CHECK int scenario_rules(struct shd_rules **out, const struct scenario_rule *rules,
                                  size_t nrules, struct shd_error *err);

/* Read rules from a node: a list, as `params`, or a scenario with `params`, `rules` and
 * `partition_axis`. *rules is NULL if specs come from shapes.  Reports every fault; SHD_EINVAL if
 * there was any.  Free the rules with scenario_free_rules() either way. */
struct yaml_node;
SHD_MUST_CHECK int scenario_read_rules(struct scenario_rule **rules, size_t *nrules,
                                       const struct yaml_node *node, struct diag *diag);
void scenario_free_rules(struct scenario_rule *rules, size_t nrules);

/* The logical axis of a name, or NULL. */
const struct scenario_logical *scenario_find_logical(const struct scenario *scenario,
                                                     const char *name);

/* Whether a list has an axis of this name; false for NULL. */
bool scenario_has_axis(const struct scenario_axis_list *axes, const char *name);

/* The algorithm requested for a kind of collective ("all-reduce"), or NULL. */
const struct scenario_algorithm *scenario_find_algorithm(const struct scenario *scenario,
                                                         const char *kind);

/* Print the canonical text: YAML with every option in the table's order, which loads as an equal
 * scenario. */
void scenario_print(const struct scenario *scenario, struct text *out);

/* Print a text that loads as an equal scenario, with only the options that differ from their
 * defaults; where none such can be written, the canonical text. */
void scenario_print_brief(const struct scenario *scenario, struct text *out);

/* Call fn() for each option that differs from its default, with its path ("model.layers") and its
 * value on one line: the options that determine the computation, without layout rules (the mesh,
 * `params`, constraints and their axes), limits, the cluster and the seed.  A status from fn()
 * other than SHD_OK ends the calls and is returned; SHD_ENOMEM. */
typedef int (*scenario_given_fn)(void *arg, const char *option, const char *value);
SHD_MUST_CHECK int scenario_each_given(const struct scenario *scenario, scenario_given_fn fn,
                                       void *arg);

/* Call fn() for each part of the layout that scenario_each_given() leaves out, in the order of the
 * file: an axis of the mesh ("mesh.tp", "4"), a rule ("params mlp/up/kernel", "[null, tp]"), a
 * constraint, a logical axis ("axes.batch", "dp"); `place` is that of the value.  As
 * scenario_each_given(). */
typedef int (*scenario_line_fn)(void *arg, const char *key, const char *value,
                                struct place key_place, struct place place);
SHD_MUST_CHECK int scenario_each_line(const struct scenario *scenario, scenario_line_fn fn,
                                      void *arg);

/* Whether any values are named, and the option of a scenario that offloads something; NULL: nothing
 * is offloaded. */
bool scenario_has_values(const struct scenario_values *values);
const char *scenario_offload_option(const struct scenario *scenario);

/* The name of published model n, a value of model.size; NULL after the last. */
const char *scenario_model_name(size_t n);

/* Find a published model by its name, or by that of its repository, as Qwen/Qwen3-8B.  Names are
 * offered to `nearest` until it is found. */
bool scenario_find_model(size_t *n, const char *name, struct nearest *nearest);

/* Name i of the repositories of published model n; NULL after the last. */
const char *scenario_model_repository(size_t n, size_t i);

/* Append options of `products` that keep the weights of a model of a published size, or of a
 * config.json and the hf_quant_config.json beside it, in the types in which they were published;
 * none: they have 16 bits or more.  *otherwise becomes what is planned in another way, static text;
 * NULL: nothing.  SHD_EINVAL (a file that cannot be read or is no map), SHD_ENOMEM; reported. */
SHD_MUST_CHECK int scenario_model_products(struct text *products, const char **otherwise,
                                           const struct scenario_model *model, struct diag *diag);

/* The number of learned positions of published model n; 0: none. */
int64_t scenario_model_positions(size_t n);

/* The most tokens of a sequence that a model's config.json, or that of its published size, allows;
 * 0: it does not say. */
int64_t scenario_model_longest(const struct scenario_model *model);

/* Print all keys and options of a file, with type, default and help, for people.  With a `key` only
 * those whose path contains it ("zero", "model.d", "heads"); returns how many. */
size_t scenario_print_options(struct text *out, const char *key);

/* Whether a strategy's name is a given one, or that of half of it: NAME/prefill, NAME/decode. */
bool scenario_is_called(const char *strategy, const char *name);

/* Whether a step is of serving; and then the tokens of each sequence that it takes in, those that
 * are kept before, all that it has in the end, and how many can be kept: a multiple of what pages
 * and the order over context.axis need. */
bool scenario_serves(const struct scenario *scenario);
int64_t scenario_new_tokens(const struct scenario *scenario); /* of other steps: batch.seq */
int64_t scenario_kept_tokens(const struct scenario *scenario);
/* The most sequences of each part of the batch by the limits of the server; INT64_MAX: any. */
int64_t scenario_most_sequences(const struct scenario *scenario);
int64_t scenario_sequence_tokens(const struct scenario *scenario);
int64_t scenario_cache_tokens(const struct scenario *scenario);

/* The first token that layers keep which see a window or a chunk: no later query sees an earlier
 * one.  Others keep all. */
int64_t scenario_cache_from(const struct scenario *scenario, enum scenario_layer_type sees);

/* The tokens, from that one on, for which they have room: of a chunk that has just begun all of it,
 * as the sequence will fill it. */
int64_t scenario_cache_room(const struct scenario *scenario, enum scenario_layer_type sees);

/* Tokens that a step of a decode makes of each sequence on average, and the number of steps. */
double scenario_step_tokens(const struct scenario *scenario);
int64_t scenario_decode_steps(const struct scenario *scenario);

/* Devices, or groups of them, that have sequences of their own: the sizes of the batch's axes. */
int64_t scenario_batch_shards(const struct scenario *scenario);

/* Whether an axis shards the batch. */
bool scenario_shards_batch(const struct scenario *scenario, const char *axis);

/* Bits of a code of the cache: 8 or 4; 0: it is kept in the type of the computation. */
int scenario_cache_bits(const struct scenario *scenario);

/* The parts in which the cache lies: the size of context.axis. */
int64_t scenario_cache_parts(const struct scenario *scenario);

/* The pieces into which a sequence is cut: zigzag order gives each part two. */
int64_t scenario_pieces(const struct scenario *scenario);

/* The type of a layer, from 0 on; whether layers of a type rotate no positions in; and what its
 * tokens attend to: one of the first three types. */
enum scenario_layer_type scenario_layer_type(const struct scenario_model *model, int64_t layer);
bool scenario_layer_is_plain(enum scenario_layer_type type);
enum scenario_layer_type scenario_layer_sight(enum scenario_layer_type type);

const char *scenario_layer_type_name(enum scenario_layer_type type);
const char *scenario_rope_scaling_name(enum scenario_rope_scaling_kind kind);
const char *scenario_kind_name(enum scenario_kind kind);
const char *scenario_activation_name(enum scenario_activation activation);

/* Whether an mlp with the activation has a gate kernel. */
bool scenario_is_gated(enum scenario_activation activation);
const char *scenario_optimizer_name(enum scenario_optimizer_kind kind);

/* "megatron", "fsdp2", ...; "cluster": that of the cluster's file. */
const char *scenario_software_name(enum scenario_software software);

/* "compute", "int8", ... */
const char *scenario_base_name(enum scenario_base base);
const char *scenario_routing_name(enum scenario_routing routing);
const char *scenario_drop_name(enum scenario_drop drop);

/* The dtype of a value of `types`. */
enum shd_dtype scenario_type(const struct scenario *scenario, enum scenario_type type);

#endif /* SCENARIO_SCENARIO_H */
