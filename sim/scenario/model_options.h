/* scenario/model_options.h - the `model`, `moe` and `mla` sections of a scenario: what the layers
 * are.
 *
 * Part of scenario.h, which others include.
 *
 * Thread class: immutable once loaded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SCENARIO_MODEL_OPTIONS_H
#define SCENARIO_MODEL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shd/dtype.h>

#include "base/diag.h"

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
    SCENARIO_NORMED,       /* serial; what is added to is the norm's output, not its input */
    SCENARIO_BESIDE,       /* both read one norm of the block's input, and are added together */
    SCENARIO_BESIDE_NORMS, /* so too, each with a norm of its own */
    SCENARIO_ALONE,        /* a layer is one of both, as its type says */
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

/* What tokens of a layer attend to, or what it has in place of attention. */
enum scenario_layer_type {
    SCENARIO_LAYER_FULL,
    SCENARIO_LAYER_WINDOW,     /* the latest model.window tokens */
    SCENARIO_LAYER_CHUNK,      /* those of their own chunk of model.chunk tokens */
    SCENARIO_LAYER_FULL_PLAIN, /* as the three above, without rotary positions */
    SCENARIO_LAYER_WINDOW_PLAIN,
    SCENARIO_LAYER_CHUNK_PLAIN,
    SCENARIO_LAYER_DELTA,      /* a state by the gated delta rule */
    SCENARIO_LAYER_KDA,        /* likewise, with a decay of each channel of keys */
    SCENARIO_LAYER_MAMBA,      /* a state by the recurrence of Mamba-2 */
    SCENARIO_LAYER_CONV,       /* a gated short convolution */
    SCENARIO_LAYER_LIGHTNING,  /* a state by lightning attention, with attention's heads */
    SCENARIO_LAYER_FULL_MAMBA, /* attention to all tokens, and Mamba-2 beside it */
    SCENARIO_LAYER_MLP,        /* an mlp alone; with SCENARIO_ALONE */
    SCENARIO_LAYER_EXPERTS,    /* likewise, with experts */
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
    SCENARIO_ROUTING_AUTO, /* the router; a plan assumes balanced experts */
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

/* Whether software does something with transfers: mostly, whether they run beside computation. */
enum scenario_beside {
    SCENARIO_EXPOSED, /* exposed: computation waits for the transfers */
    SCENARIO_BESIDE_WORK,
    SCENARIO_AS_CLUSTER, /* as the software of the cluster does */
    SCENARIO_NBESIDES
};

/* Experts instead of an mlp; graph/layers/moe.h. */
struct scenario_moe {
    int64_t experts; /* 0: none, and the other fields are unused */
    int64_t top_k;
    int64_t d_ff;      /* of one expert; 0: model.d_ff */
    int64_t redundant; /* copies of experts beside these */
    int64_t shared;    /* shared experts, applied to every token as one MLP of their joint width */
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
    enum scenario_beside by_node; /* for times on `hardware`: overrides dispatches_by_node */
    char *node_axis; /* mesh axis that numbers nodes, to each of which a token's row goes once;
                        NULL: a row goes straight to each of its experts */
};

/* Attention whose keys and values are computed from one short vector for each token. */
struct scenario_mla {
    int64_t kv_rank; /* 0: plain attention, and the other fields are unused */
    int64_t q_rank;  /* of queries; 0: not compressed */
    int64_t rope_dim, value_dim;
};

/* Where what a layer of Mamba-2 puts out is normalised. */
enum scenario_state_norm {
    SCENARIO_STATE_BEHIND, /* the gate */
    SCENARIO_STATE_BEFORE,
    SCENARIO_STATE_BARE, /* nowhere */
    SCENARIO_NSTATE_NORMS
};

/* Layers with a state, or with a short convolution, in place of attention. */
struct scenario_linear {
    int64_t key_heads, value_heads; /* 0: as model.heads */
    int64_t key_dim, value_dim;
    int64_t taps;   /* of the convolution along the sequence */
    bool taps_bias; /* of layers with a state */
    enum scenario_state_norm norm;
    /* Factors of projections and outputs; 0: 1. */
    double query_scale, key_scale, value_scale, gate_scale, step_scale, out_scale;
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
    int64_t chunk;  /* tokens of a chunk: attention stays inside a chunk; causal attention sees
                       earlier tokens only; 0: all */
    struct scenario_layer_types layer_types;
    /* Of each of the following numbers 0 means none. */
    double attention_scale; /* of scores; 0: head_dim^-1/2 */
    double attention_cap;   /* scores are cap * tanh(score / cap) */
    bool attention_gate;    /* heads' outputs are gated by a sigmoid of a projection */
    bool sinks;             /* each head has one more score, learned, whose key has no value */
    double embed_scale, residual_scale, skip_scale, logit_scale; /* factors; 0: 1 */
    double attention_out_scale, activation_scale, mlp_out_scale; /* likewise */
    double logit_cap;                                            /* as attention_cap */
    bool head_bias;                                              /* the head's kernel has a bias */
    int64_t mtp;       /* modules that predict further tokens: DeepSeek-V3, arXiv 2412.19437, 2.2 */
    double mtp_weight; /* of their mean loss */
    int64_t positions; /* positions with a learned vector; 0: none */
    bool tied;         /* the head uses the embedding table */
    int64_t decoder_layers;
    int64_t buckets, distance; /* of relative positions: model/relative.h */
    struct scenario_moe moe;
    struct scenario_mla mla;
    struct scenario_linear linear;
    int64_t size;    /* a published size, see scenario/published.h; 0: the other options decide */
    double scale;    /* of that size, above 0 to 1 */
    char *from;      /* path of a config.json with the sizes, or NULL */
    bool text_alone; /* that is the config of a model of texts and images, of which this is the
                        text's part */
};

#endif /* SCENARIO_MODEL_OPTIONS_H */
