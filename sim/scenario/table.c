/* The table of options (scenario/table.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/table.h"

#include <string.h>

#include "scenario/scenario.h"
#include "scenario/types.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define AT(field) offsetof(struct scenario, field)

/* in the order of their enums */
static const char *const kinds[] = {
    [SCENARIO_MLP] = "mlp",
    [SCENARIO_ATTENTION] = "attention",
    [SCENARIO_BLOCK] = "block",
    [SCENARIO_TRANSFORMER] = "transformer",
    [SCENARIO_GPT2] = "gpt2",
    [SCENARIO_LLAMA3] = "llama3",
    [SCENARIO_T5] = "t5",
    [SCENARIO_MIXTRAL] = "mixtral",
    [SCENARIO_DEEPSEEK] = "deepseek",
    [SCENARIO_DECODER] = "decoder",
    [SCENARIO_GRAPH] = "graph",
    [SCENARIO_NKINDS] = NULL,
};

/* Bit masks of the kinds of models that have an option. */
#define OF(kind) (1u << (kind))
#define OF_GRAPH OF(SCENARIO_GRAPH)
#define OF_TRANSFORMER OF(SCENARIO_TRANSFORMER)
#define OF_T5 OF(SCENARIO_T5)
#define OF_EXPERTS (OF(SCENARIO_MIXTRAL) | OF(SCENARIO_DEEPSEEK))
#define OF_DECODER OF(SCENARIO_DECODER)
#define OF_PUBLISHED (OF(SCENARIO_GPT2) | OF(SCENARIO_LLAMA3) | OF_T5 | OF_EXPERTS | OF_DECODER)
#define OF_DECODERS \
    (OF_TRANSFORMER | OF(SCENARIO_GPT2) | OF(SCENARIO_LLAMA3) | OF_EXPERTS | OF_DECODER)
#define OF_TOKENS (OF_DECODERS | OF_T5)
#define OF_BLOCKS (OF(SCENARIO_BLOCK) | OF_DECODERS)
#define OF_MLPS (OF(SCENARIO_MLP) | OF_BLOCKS | OF_T5)
#define OF_ATTENTION (OF(SCENARIO_ATTENTION) | OF_BLOCKS | OF_T5)
#define OF_SELF_ATTENTION (OF(SCENARIO_ATTENTION) | OF_BLOCKS)
#define OF_PRESETS (OF(SCENARIO_MLP) | OF_ATTENTION)

static const char *const norms[] = {
    [SCENARIO_RMS] = "rms",
    [SCENARIO_LAYER_NORM] = "layer",
    [SCENARIO_NNORMS] = NULL,
};

static const char *const norm_places[] = {
    [SCENARIO_NORM_BEFORE] = "before",
    [SCENARIO_NORM_AFTER] = "after",
    [SCENARIO_NORM_BOTH] = "both",
    [SCENARIO_NNORM_PLACES] = NULL,
};

static const char *const norm_weights[] = {
    [SCENARIO_NORM_STANDARD] = "standard",
    [SCENARIO_NORM_SCALE] = "scale",
    [SCENARIO_NORM_BARE] = "bare",
    [SCENARIO_NNORM_WEIGHTS] = NULL,
};

static const char *const state_norms[] = {
    [SCENARIO_STATE_BEHIND] = "behind",
    [SCENARIO_STATE_BEFORE] = "before",
    [SCENARIO_STATE_BARE] = "none",
    [SCENARIO_NSTATE_NORMS] = NULL,
};

static const char *const residuals[] = {
    [SCENARIO_SERIAL] = "serial", [SCENARIO_NORMED] = "normed",
    [SCENARIO_BESIDE] = "beside", [SCENARIO_BESIDE_NORMS] = "beside-norms",
    [SCENARIO_ALONE] = "alone",   [SCENARIO_NRESIDUALS] = NULL,
};

/* The first two are what a flag would be. */
static const char *const qk_norms[] = {
    [SCENARIO_QK_PLAIN] = "false", [SCENARIO_QK_HEAD] = "true", [SCENARIO_QK_HEADS] = "heads",
    [SCENARIO_QK_WHOLE] = "whole", [SCENARIO_QK_LATE] = "late", [SCENARIO_QK_BARE] = "bare",
    [SCENARIO_NQK_NORMS] = NULL,
};

static const char *const activations[] = {
    [SCENARIO_GELU] = "gelu",
    [SCENARIO_SWIGLU] = "swiglu",
    [SCENARIO_RELU] = "relu",
    [SCENARIO_SILU] = "silu",
    [SCENARIO_GEGLU] = "geglu",
    [SCENARIO_GELU_EXACT] = "gelu-exact",
    [SCENARIO_GEGLU_EXACT] = "geglu-exact",
    [SCENARIO_RELU_SQUARED] = "relu-squared",
    [SCENARIO_SWIGLU_CLAMPED] = "swiglu-clamped",
    [SCENARIO_NACTIVATIONS] = NULL,
};

static const char *const scores[] = {
    [SCENARIO_SOFTMAX] = "softmax",
    [SCENARIO_SIGMOID] = "sigmoid",
    [SCENARIO_NSCORES] = NULL,
};

static const char *const drops[] = {
    [SCENARIO_DROP_TOKENS] = "tokens",
    [SCENARIO_DROP_CHOICES] = "choices",
    [SCENARIO_NDROPS] = NULL,
};

static const char *const group_scores[] = {
    [SCENARIO_GROUP_TOP2] = "top2",
    [SCENARIO_GROUP_MAX] = "max",
    [SCENARIO_NGROUP_SCORES] = NULL,
};

static const char *const routings[] = {
    [SCENARIO_ROUTING_AUTO] = "auto",
    [SCENARIO_ROUTING_LEARNED] = "learned",
    [SCENARIO_ROUTING_UNIFORM] = "uniform",
    [SCENARIO_ROUTING_ZIPF] = "zipf",
    [SCENARIO_ROUTING_HOT_EXPERT] = "hot-expert",
    [SCENARIO_ROUTING_HOT_RANK] = "hot-rank",
    [SCENARIO_ROUTING_RAGGED] = "ragged",
    [SCENARIO_ROUTING_EMPTY] = "empty",
    [SCENARIO_ROUTING_ROTATING] = "rotating",
    [SCENARIO_NROUTINGS] = NULL,
};

static const char *const attention_biases[] = {
    [SCENARIO_BIAS_NONE] = "none",
    [SCENARIO_BIAS_QKV] = "qkv",
    [SCENARIO_BIAS_ALL] = "all",
    [SCENARIO_NATTENTION_BIASES] = NULL,
};

static const char *const attentions[] = {
    [SCENARIO_FUSED] = "fused",
    [SCENARIO_UNFUSED] = "unfused",
    [SCENARIO_NATTENTIONS] = NULL,
};

static const char *const dtypes[] = {
    [SHD_F32] = "float32",
    [SHD_F64] = "float64",
    [SHD_BF16] = "bfloat16",
    [SHD_F16] = "float16",
    NULL,
};

static const char *const parameter_types[] = {
    [SHD_F32] = "float32",
    [SHD_F64] = "float64",
    [SHD_BF16] = "bfloat16",
    [SHD_F16] = "float16",
    [SCENARIO_TYPE_COMPUTE] = "compute",
    NULL,
};

static const char *const update_types[] = {
    [SHD_F32] = "float32",
    [SHD_F64] = "float64",
    [SHD_BF16] = "bfloat16",
    [SHD_F16] = "float16",
    [SCENARIO_TYPE_COMPUTE] = "compute",
    [SCENARIO_TYPE_PARAMETERS] = "parameters",
    NULL,
};

static const char *const gradient_types[] = {
    [SHD_F32] = "float32",
    [SHD_F64] = "float64",
    [SHD_BF16] = "bfloat16",
    [SHD_F16] = "float16",
    [SCENARIO_TYPE_COMPUTE] = "compute",
    [SCENARIO_TYPE_PARAMETERS] = "parameters",
    [SCENARIO_TYPE_SOFTWARE] = "software",
    NULL,
};

static const char *const recipes[] = {
    [SCENARIO_NO_RECIPE] = "none",  [SCENARIO_TENSORWISE] = "tensorwise",
    [SCENARIO_ROWWISE] = "rowwise", [SCENARIO_BLOCKWISE] = "blockwise",
    [SCENARIO_MXFP8] = "mxfp8",     [SCENARIO_NVFP4] = "nvfp4",
    [SCENARIO_NRECIPES] = NULL,
};

static const char *const codes[] = {
    [SCENARIO_CODE_OF_RECIPE] = "recipe",
    [SCENARIO_E4M3] = "e4m3",
    [SCENARIO_E5M2] = "e5m2",
    [SCENARIO_NCODES] = NULL,
};

static const char *const amax_of[] = {
    [SCENARIO_AMAX_LOCAL] = "local",
    [SCENARIO_AMAX_ALL] = "all",
    [SCENARIO_AMAX_STATIC] = "static",
    [SCENARIO_NAMAX] = NULL,
};

static const char *const cache_types[] = {
    [SCENARIO_CACHE_COMPUTE] = "compute",  [SCENARIO_CACHE_E4M3] = "float8_e4m3",
    [SCENARIO_CACHE_E5M2] = "float8_e5m2", [SCENARIO_CACHE_INT4] = "int4",
    [SCENARIO_CACHE_MXFP4] = "mxfp4",      [SCENARIO_NCACHE_TYPES] = NULL,
};

static const char *const products_kept[] = {
    [SCENARIO_KEPT_BY_RECIPE] = "recipe",
    [SCENARIO_KEPT_CODES] = "codes",
    [SCENARIO_KEPT_WIDE] = "wide",
    [SCENARIO_NPRODUCTS_KEPT] = NULL,
};

static const char *const products_frozen[] = {
    [SCENARIO_FROZEN_WIDE] = "compute",
    [SCENARIO_FROZEN_CODES] = "codes",
    [SCENARIO_FROZEN_AS_CLUSTER] = "cluster",
    [SCENARIO_NFROZEN] = NULL,
};

static const char *const loss_scales[] = {
    [SCENARIO_NO_LOSS_SCALE] = "none",
    [SCENARIO_STATIC_LOSS_SCALE] = "static",
    [SCENARIO_DYNAMIC_LOSS_SCALE] = "dynamic",
    [SCENARIO_NLOSS_SCALES] = NULL,
};

static const char *const gathered[] = {
    [SCENARIO_GATHER_AGAIN] = "again",
    [SCENARIO_GATHERED_KEPT] = "keep",
    [SCENARIO_NGATHERED] = NULL,
};

static const char *const software_names[] = {
    [SCENARIO_SOFTWARE_OF_CLUSTER] = "cluster",
    "megatron",
    "megatron-2021",
    "fsdp1",
    "fsdp2",
    "jax",
    "vllm",
    "sglang",
    "trtllm",
    NULL,
};

static const char *const besides[] = {
    [SCENARIO_EXPOSED] = "false",
    [SCENARIO_BESIDE_WORK] = "true",
    [SCENARIO_AS_CLUSTER] = "cluster",
    [SCENARIO_NBESIDES] = NULL,
};

static const char *const unevens[] = {
    [SCENARIO_REFUSED] = "refuse",
    [SCENARIO_PADDED] = "pad",
    [SCENARIO_NUNEVENS] = NULL,
};

static const char *const placements[] = {
    [SCENARIO_FOLLOW] = "follow",
    [SCENARIO_SEARCH] = "search",
    [SCENARIO_NPLACEMENTS] = NULL,
};

static const char *const prices[] = {
    [SCENARIO_PRICE_BYTES] = "bytes",
    [SCENARIO_PRICE_TIME] = "time",
    [SCENARIO_NPRICES] = NULL,
};

static const char *const context_methods[] = {
    [SCENARIO_GATHER] = "gather",
    [SCENARIO_RING] = "ring",
    [SCENARIO_NCONTEXT_METHODS] = NULL,
};

static const char *const orders[] = {
    [SCENARIO_CONTIGUOUS] = "contiguous",
    [SCENARIO_ZIGZAG] = "zigzag",
    [SCENARIO_STRIPED] = "striped",
    [SCENARIO_NORDERS] = NULL,
};

static const char *const optimizer_kinds[] = {
    [SCENARIO_NO_OPTIMIZER] = "none", [SCENARIO_SGD] = "sgd",        [SCENARIO_ADAMW] = "adamw",
    [SCENARIO_MUON] = "muon",         [SCENARIO_NOPTIMIZERS] = NULL,
};

static const char *const rests[] = {
    [SCENARIO_REST_ADAMW] = "adamw",
    [SCENARIO_REST_SGD] = "sgd",
    [SCENARIO_NRESTS] = NULL,
};

static const char *const adjusted[] = {
    [SCENARIO_ADJUST_ORIGINAL] = "original",
    [SCENARIO_ADJUST_MATCH_RMS_ADAMW] = "match_rms_adamw",
    [SCENARIO_ADJUST_SPECTRAL_UNCLAMPED] = "spectral_unclamped",
    [SCENARIO_NADJUST] = NULL,
};

static const char *const matrix_layouts[] = {
    [SCENARIO_DUPLICATED] = "duplicated",
    [SCENARIO_DISTRIBUTED] = "distributed",
    [SCENARIO_OWNED] = "owned",
    [SCENARIO_NMATRIX_LAYOUTS] = NULL,
};

static const char *const decays[] = {
    [SCENARIO_CONSTANT] = "constant",
    [SCENARIO_COSINE] = "cosine",
    [SCENARIO_NDECAYS] = NULL,
};

static const char *const bases[] = {
    [SCENARIO_BASE_COMPUTE] = "compute", [SCENARIO_BASE_INT8] = "int8",
    [SCENARIO_BASE_NF4] = "nf4",         [SCENARIO_BASE_INT4] = "int4",
    [SCENARIO_BASE_MXFP4] = "mxfp4",     [SCENARIO_NBASES] = NULL,
};

static const char *const lora_starts[] = {
    [SCENARIO_START_OF_MODEL] = "model",
    [SCENARIO_START_ZEROS] = "zeros",
    [SCENARIO_START_RANDOM] = "random",
    [SCENARIO_NLORA_STARTS] = NULL,
};

static const char *const zero_layouts[] = {
    [SCENARIO_FLAT] = "flat",
    [SCENARIO_PAD] = "pad",
    NULL,
};

static const char *const rules_from[] = {
    [SCENARIO_RULES_PARAMS] = "params",
    [SCENARIO_RULES_AUTO] = "auto",
    NULL,
};

const struct option_section option_sections[] = {
    {"model", "the model: its architecture and sizes"},
    {"moe", "mixture of experts: experts and a router in place of the MLP"},
    {"mla", "multi-head latent attention (MLA): keys and values from one latent vector per token"},
    {"linear", "layers of model.layer_types without attention: their heads and convolution"},
    {"batch", "the batch of a step"},
    {"context",
     "context parallelism: how keys reach queries, and how tokens are distributed over ranks"},
    {"graph", "a custom model, written op by op"},
    {"decode", "serving: decode steps and the KV cache"},
    {"optimizer", "the optimizer and its learning rate schedule"},
    {"types", "element types of master parameters, gradients and optimizer state"},
    {"products", "low-precision matmuls of weights and activations: FP8, MXFP8, NVFP4"},
    {"loss_scale", "loss scaling for float16 gradients"},
    {"lora", "low-rank adapters on frozen weights (LoRA, QLoRA)"},
    {"zero", "ZeRO and FSDP: shard optimizer state, gradients and parameters, too"},
    {"offload", "activations, optimizer state and parameters offloaded to host memory"},
    {"pipeline", "pipeline parallelism: stages and their schedule"},
    {"overlap", "communication that overlaps with computation, in modelled times"},
    {"fused", "kernel fusion of losses and activations"},
    {"straggler", "a device that is slower than the others, in modelled times"},
    {"limits", "limits of a device, and of a server"},
    {"transfers", "rate and latency of transfers when an executed step is replayed"},
};
const size_t option_section_count = COUNT(option_sections);

const struct option_section option_file_keys[] = {
    {"version", "The version of this file format: 1; required."},
    {"strategies", "A list of strategies: maps of a name and the options to override."},
    {"prefill", "With step: [prefill, decode]: a map of options to override for the prefill."},
    {"sweep", "Strategies generated from lists of mesh sizes and rule sets: devices, mesh, rules."},
};
const size_t option_file_key_count = COUNT(option_file_keys);

/* How a row begins: a section, a key and a type, and the field of the key's name in the section's
 * struct.  OPTION: the field has another name, or the type knows it; TOP: of no section. */
#define IN_model model
#define IN_moe model.moe
#define IN_mla model.mla
#define IN_linear model.linear
#define IN_batch batch
#define IN_context context
#define IN_graph graph
#define IN_decode decode
#define IN_optimizer optimizer
#define IN_types types
#define IN_products products
#define IN_loss_scale loss_scale
#define IN_lora lora
#define IN_zero zero
#define IN_offload offload
#define IN_pipeline pipeline
#define IN_overlap overlap
#define IN_fused fused
#define IN_limits limits
#define IN_straggler straggler
#define TOP(name, kind) .key = #name, .type = &value_##kind
#define OPTION(in, name, kind) .section = #in, .key = #name, .type = &value_##kind
#define FIELD(in, name, kind) \
    .section = #in, .key = #name, .type = &value_##kind, .offset = AT(IN_##in.name)
#define INT(in, name, least, most) FIELD(in, name, int), .min = (least), .max = (most)
#define WORD(in, name, list) FIELD(in, name, word), .words = (list)

#define STATE_SCALE(of, what)                                                                \
    {                                                                                        \
        FIELD(linear, of##_scale, amount), .kinds = OF_BLOCKS, .max = 1000, .standard = "0", \
                                           .help = "The factor of " what "; 0 means 1."      \
    }

const struct option option_table[] = {
    {TOP(name, name), .offset = AT(name),
     .help = "The name of the scenario. Default: the file's name."},
    {TOP(mesh, mesh), .required = true,
     .help = "The device mesh: names and sizes of its axes. Device ids are row-major: the last "
             "axis varies fastest."},
    {WORD(model, kind, kinds), .required = true,
     .help = "The architecture. A file with a graph section has kind graph."},
    {INT(model, d_model, 1, INT32_MAX), .required = true, .sized = OF_PUBLISHED,
     .kinds = OF_PRESETS, .unit = "elements", .help = "The hidden size (logical axis embed)."},
    {INT(model, d_ff, 1, INT32_MAX), .required = true, .sized = OF_PUBLISHED, .kinds = OF_MLPS,
     .unit = "elements", .help = "The intermediate size of an MLP (logical axis mlp)."},
    {WORD(model, activation, activations), .kinds = OF_MLPS, .standard = "gelu", .trait = true,
     .help = "The activation of an MLP. swiglu and geglu add a gate matrix. gelu is the tanh "
             "approximation; swiglu-clamped is gpt-oss's."},
    {INT(model, layers, 1, 65536), .kinds = OF_PRESETS, .standard = "1",
     .help = "The number of layers; for t5, of encoder layers."},
    {FIELD(model, bias, bool), .kinds = OF_MLPS & ~OF_T5, .standard = "false", .trait = true,
     .help = "Whether the linear layers of an MLP have a bias."},
    {INT(model, heads, 1, 65536), .required = true, .sized = OF_PUBLISHED, .kinds = OF_ATTENTION,
     .help = "The number of query heads (logical axis heads)."},
    {INT(model, kv_heads, 1, 65536), .kinds = OF_ATTENTION & ~OF_T5,
     .help = "The number of key/value heads (logical axis kv_heads), a divisor of heads. Default: "
             "heads."},
    {INT(model, head_dim, 1, INT32_MAX), .kinds = OF_ATTENTION, .unit = "elements",
     .help = "The width of a head (logical axis head_dim). Default: d_model / heads."},
    {FIELD(model, causal, bool), .kinds = OF_ATTENTION & ~OF_PUBLISHED, .standard = "true",
     .help = "Causal attention: a token attends only to itself and earlier tokens."},
    {FIELD(model, rope, rope), .kinds = OF_ATTENTION & ~(OF(SCENARIO_GPT2) | OF_T5),
     .standard = "null", .trait = true,
     .help = "Rotary position embedding (RoPE) of queries and keys; {} means theta 10000, with "
             "pairs (i, i + half). part: fraction of a head's width that is rotated; local_theta: "
             "theta of layers with a window or chunks, unscaled; scaling: frequency scaling for "
             "sequences beyond the original length."},
    {WORD(model, norm, norms), .kinds = OF_BLOCKS, .standard = "rms", .trait = true,
     .help = "The normalization of attention and MLP."},
    {WORD(model, norm_place, norm_places), .kinds = OF_BLOCKS, .standard = "before", .trait = true,
     .help = "Where a layer is normalised: its input (before), its output before the residual add "
             "(after), or both."},
    {WORD(model, norm_weights, norm_weights), .kinds = OF_BLOCKS, .standard = "standard",
     .trait = true,
     .help = "The parameters of a norm: scale, and for layer norms a bias (standard); scale alone; "
             "or none (bare)."},
    {FIELD(model, norm_one_plus, bool), .kinds = OF_BLOCKS, .standard = "false", .trait = true,
     .help = "Whether norms multiply by 1 + scale, so that scales are initialised to 0."},
    {WORD(model, residual, residuals), .kinds = OF_BLOCKS, .standard = "serial", .trait = true,
     .help = "serial: the MLP reads attention's output. normed: likewise, and each output is added "
             "to the output of its norm. beside: attention and MLP read the block's "
             "input in parallel, after one shared norm, and are added; beside-norms: in parallel, "
             "each after its own norm. alone: a layer is attention, or what model.layer_types "
             "has in its place, or an MLP (mlp, experts)."},
    {INT(model, vocab, 1, INT32_MAX), .required = true, .sized = OF_PUBLISHED, .kinds = OF_TOKENS,
     .unit = "tokens", .help = "The vocabulary size (logical axis vocab)."},
    {INT(model, vocab_multiple, 1, 65536), .standard = "1", .kinds = OF_TOKENS, .unit = "tokens",
     .help = "The embedding and the head are padded to a multiple of this many rows. Megatron-LM "
             "pads to --make-vocab-size-divisible-by times the tensor parallel size."},
    {WORD(model, attention_bias, attention_biases), .kinds = OF_ATTENTION & ~OF_T5,
     .standard = "none", .trait = true, .help = "Which linear layers of attention have a bias."},
    {WORD(model, qk_norm, qk_norms), .kinds = OF_BLOCKS, .standard = "false", .trait = true,
     .help = "Normalization of queries and keys (QK norm), with model.norm, before RoPE. true: per "
             "head, with one scale of head_dim; heads: with a scale per head; whole: over all "
             "heads together; late: as true, but after RoPE; bare: without a scale, after RoPE."},
    {WORD(model, attention, attentions), .kinds = OF_SELF_ATTENTION, .standard = "fused",
     .help = "fused: one kernel without stored scores (flash attention). unfused: matmuls and a "
             "softmax, with stored scores of seq by seq, masked positions included."},
    {FIELD(model, norm_eps, number), .kinds = OF_BLOCKS | OF_T5, .max = 1, .standard = "null",
     .trait = true,
     .help = "The epsilon of norms; null means 1e-6 for RMS norms and 1e-5 for layer norms. Norms "
             "of latent vectors (mla) always use 1e-6."},
    {INT(model, window, 0, INT32_MAX), .kinds = OF_SELF_ATTENTION, .standard = "0",
     .unit = "tokens", .trait = true,
     .help = "The sliding window of causal attention: the number of latest tokens that a token "
             "attends to, including itself; 0 means all."},
    {INT(model, chunk, 0, INT32_MAX), .kinds = OF_BLOCKS, .standard = "0", .unit = "tokens",
     .trait = true,
     .help = "The chunk size of causal attention: a token attends only to its own chunk; 0 means "
             "no chunks."},
    {FIELD(model, layer_types, layer_types), .kinds = OF_BLOCKS, .standard = "null", .trait = true,
     .help =
         "The attention of each layer, as a list that repeats over the layers. full: all "
         "tokens; window: the latest model.window tokens; chunk: the token's own chunk of "
         "model.chunk; suffix -plain: without RoPE. Without attention: delta, a state by the gated "
         "delta rule, kda, likewise with a decay of each channel of keys, mamba, that of Mamba-2, "
         "and conv, a gated short convolution (section linear: kda as delta); lightning, "
         "lightning attention with model.heads. full-mamba: full and mamba side by side, added. "
         "With residual: alone, also mlp and experts. null means window in all layers if "
         "model.window is set, else chunk if model.chunk is set, else full."},
    {FIELD(model, attention_scale, amount), .kinds = OF_BLOCKS, .max = 1000, .standard = "0",
     .trait = true, .help = "The factor of attention scores; 0 means 1 / sqrt(head_dim)."},
    {FIELD(model, attention_cap, amount), .kinds = OF_BLOCKS, .max = 1000000, .standard = "0",
     .trait = true,
     .help = "The soft cap of attention scores: cap * tanh(score / cap); 0 means none."},
    {FIELD(model, attention_gate, bool), .kinds = OF_BLOCKS, .standard = "false", .trait = true,
     .help = "Gated attention: whether the heads' outputs are multiplied by a sigmoid of a "
             "projection of the layer's input."},
    {FIELD(model, sinks, bool), .kinds = OF_BLOCKS, .standard = "false", .trait = true,
     .help = "Attention sinks: whether each head has one more learned score, without a value, so "
             "that a token may attend to nothing."},
    {FIELD(model, embed_scale, amount), .kinds = OF_DECODERS, .max = 1000000, .standard = "0",
     .trait = true, .help = "The factor of token embeddings; 0 means 1."},
    {FIELD(model, residual_scale, amount), .kinds = OF_BLOCKS, .max = 1000, .standard = "0",
     .trait = true,
     .help =
         "The factor of the outputs that attention and MLP add to the residual stream; 0 means 1."},
    {FIELD(model, skip_scale, amount), .kinds = OF_BLOCKS, .max = 1000, .standard = "0",
     .trait = true,
     .help = "The factor of the residual stream where these outputs are added to it; 0 means 1."},
    {FIELD(model, attention_out_scale, amount), .kinds = OF_BLOCKS, .max = 1000, .standard = "0",
     .trait = true, .help = "The factor of attention's output; 0 means 1."},
    {FIELD(model, activation_scale, amount), .kinds = OF_BLOCKS, .max = 1000, .standard = "0",
     .trait = true,
     .help = "The factor of what an MLP's activation function reads; 0 means 1."},
    {FIELD(model, mlp_out_scale, amount), .kinds = OF_BLOCKS, .max = 1000, .standard = "0",
     .trait = true, .help = "The factor of the output of the MLP or the experts; 0 means 1."},
    {FIELD(model, logit_scale, amount), .kinds = OF_DECODERS, .max = 1000000, .standard = "0",
     .trait = true, .help = "The factor of logits; 0 means 1."},
    {FIELD(model, logit_cap, amount), .kinds = OF_DECODERS, .max = 1000000, .standard = "0",
     .trait = true, .help = "The soft cap of logits: cap * tanh(logit / cap); 0 means none."},
    {FIELD(model, head_bias, bool), .kinds = OF_DECODERS, .standard = "false", .trait = true,
     .help = "Whether the LM head has a bias."},
    {INT(model, mtp, 0, 64), .kinds = OF_DECODERS, .standard = "0", .unit = "modules",
     .help = "The number of multi-token prediction (MTP) modules, in sequence: each joins the last "
             "hidden states with the next tokens' embeddings, and has one more block."},
    {FIELD(model, mtp_weight, amount), .kinds = OF_DECODERS, .max = 1000, .standard = "0.3",
     .help = "The weight of the MTP modules' mean loss."},
    {INT(model, positions, 0, INT32_MAX), .kinds = OF_TRANSFORMER | OF(SCENARIO_GPT2),
     .standard = "0", .unit = "tokens", .trait = true,
     .help = "The number of learned position embeddings (logical axis positions), at least seq; 0 "
             "means none."},
    {FIELD(model, tied, bool), .kinds = OF_TOKENS, .standard = "false", .trait = true,
     .help = "Whether the LM head shares the embedding table."},
    {INT(model, decoder_layers, 1, 65536), .kinds = OF_T5,
     .help = "The number of decoder layers. Default: layers."},
    {INT(model, buckets, 4, 256), .kinds = OF_T5, .standard = "32",
     .help = "The number of buckets of relative positions, with one bias per bucket and head "
             "(logical axis buckets)."},
    {INT(model, distance, 2, INT32_MAX), .kinds = OF_T5, .standard = "128", .unit = "tokens",
     .help = "The distance from which all positions share the last bucket."},
    {FIELD(model, size, size), .kinds = OF_PUBLISHED, .standard = "custom",
     .help = "A published model, by name or by repository, such as Qwen/Qwen3-8B. Sets the kind "
             "and every model option that is not given; custom means none."},
    {FIELD(model, scale, fraction), .kinds = OF_PUBLISHED, .standard = "1",
     .help = "Shrinks the model of size or from by this factor: layers, widths and vocabulary, and "
             "heads only once they cannot be narrower. Rounds up to sizes that the mesh axes still "
             "divide."},
    {FIELD(model, from, file), .kinds = OF_PUBLISHED, .standard = "null",
     .help =
         "A Hugging Face config.json of a family in docs/models.md. Sets the kind and every model "
         "option that is not given, but no element types. The path is relative to this file."},
    {WORD(model, dtype, dtypes), .standard = "float32",
     .help = "The element type of parameters and activations, and of the computation."},
    {INT(moe, experts, 0, 65536), .kinds = OF_BLOCKS, .standard = "0",
     .help =
         "The number of experts of a MoE layer (dimension expert); 0 means a dense MLP instead."},
    {INT(moe, top_k, 1, 64), .kinds = OF_BLOCKS, .standard = "2", .unit = "experts",
     .help = "The number of experts per token (dimension choice)."},
    {INT(moe, d_ff, 0, INT32_MAX), .kinds = OF_BLOCKS, .standard = "0", .unit = "elements",
     .help = "The intermediate size of an expert (dimension expert_mlp); 0 means model.d_ff."},
    {INT(moe, redundant, 0, 4096), .kinds = OF_BLOCKS, .standard = "0", .unit = "copies",
     .help = "The number of redundant experts in serving: copies of the experts with the most "
             "tokens per copy by routing and skew, placed so that devices have even loads. Tokens "
             "alternate between the copies of an expert."},
    {INT(moe, shared, 0, 1024), .kinds = OF_BLOCKS, .standard = "0", .unit = "experts",
     .help = "The number of shared experts, computed for every token as one MLP of their joint "
             "width (dimension shared_mlp)."},
    {INT(moe, first_dense, 0, 65536), .kinds = OF_BLOCKS, .standard = "0", .unit = "layers",
     .help = "The number of leading layers with a dense MLP instead of experts."},
    {INT(moe, every, 1, 65536), .kinds = OF_BLOCKS, .standard = "1",
     .help = "Every n-th layer after first_dense has experts: 1 for each, 2 for every second, ..."},
    {WORD(moe, score, scores), .kinds = OF_BLOCKS, .standard = "softmax",
     .help = "The function that turns router logits into scores: experts are chosen by score, and "
             "gates are made from scores."},
    {FIELD(moe, renormalize, bool), .kinds = OF_BLOCKS, .standard = "true",
     .help = "Whether a token's gates are divided by their sum."},
    {FIELD(moe, scale, amount), .kinds = OF_BLOCKS, .max = 1000, .standard = "1",
     .help = "The factor of gates."},
    {FIELD(moe, bias, bool), .kinds = OF_BLOCKS, .standard = "false",
     .help =
         "Whether a bias per expert is added to the score for the choice only, not for the gate."},
    {FIELD(moe, after, bool), .kinds = OF_BLOCKS, .standard = "false", .trait = true,
     .help = "Whether gates are a softmax over the chosen experts' logits only."},
    {FIELD(moe, router_bias, bool), .kinds = OF_BLOCKS, .standard = "false", .trait = true,
     .help = "Whether the router's linear layer has a bias."},
    {FIELD(moe, expert_bias, bool), .kinds = OF_BLOCKS, .standard = "false", .trait = true,
     .help = "Whether the experts' linear layers have a bias."},
    {FIELD(moe, gates_input, bool), .kinds = OF_BLOCKS, .standard = "false", .trait = true,
     .help = "Whether gates multiply the inputs of experts instead of the outputs."},
    {FIELD(moe, shared_gate, bool), .kinds = OF_BLOCKS, .standard = "false", .trait = true,
     .help = "Whether the shared experts' output has a gate: the sigmoid of another linear layer."},
    {INT(moe, shared_d_ff, 0, INT32_MAX), .kinds = OF_BLOCKS, .standard = "0", .unit = "elements",
     .trait = true,
     .help = "The joint intermediate size of the shared experts; 0 means shared times that of an "
             "expert."},
    {INT(moe, groups, 1, 65536), .kinds = OF_BLOCKS, .standard = "1",
     .help = "The number of expert groups: a token first chooses groups by their scores "
             "(group_score), then experts in the groups."},
    {INT(moe, kept, 1, 65536), .kinds = OF_BLOCKS, .standard = "1",
     .help = "The number of expert groups that a token chooses."},
    {WORD(moe, group_score, group_scores), .kinds = OF_BLOCKS, .standard = "top2",
     .help = "The score of an expert group: the sum of its two highest scores (top2, DeepSeek-V3) "
             "or its highest score (max, DeepSeek-V2)."},
    {FIELD(moe, node_axis, axis), .kinds = OF_BLOCKS, .standard = "null",
     .help =
         "A mesh axis that shards experts and numbers nodes, for a two-level all-to-all: a token's "
         "row is sent once to each node with experts of the token, and forwarded inside the node; "
         "results are summed inside the node before they return. Must be the last of the axes that "
         "shard the batch. null: rows go directly to each expert, and results directly back."},
    {WORD(moe, by_node, besides), .kinds = OF_BLOCKS, .standard = "cluster",
     .help =
         "Whether the modelled time of the experts' all-to-all assumes rows sent once per node and "
         "forwarded inside the node, although no mesh axis numbers nodes (dispatches_by_node): "
         "true for DeepEP and HybridEP, false for Megatron-LM's dispatcher alltoall."},
    {FIELD(moe, capacity, amount), .kinds = OF_BLOCKS, .max = 65536, .standard = "0",
     .help = "The capacity factor: the most tokens of an expert, relative to an even share; "
             "further tokens are dropped. 0 means no limit."},
    {WORD(moe, drop, drops), .kinds = OF_BLOCKS, .standard = "tokens",
     .help = "The tokens dropped beyond the capacity: the last tokens of an expert's queue "
             "(tokens), or the last choices of all tokens (choices)."},
    {INT(moe, token_groups, 0, 65536), .kinds = OF_BLOCKS, .standard = "0",
     .help = "The number of groups of sequences in a microbatch, each with its own queues and "
             "capacity; tokens are only sent inside their group. 0 means one per batch shard along "
             "axes that do not shard experts, so that tokens stay among devices that together have "
             "all experts."},
    {FIELD(moe, aux_loss, amount), .kinds = OF_BLOCKS, .max = 1000, .standard = "0",
     .help = "The weight of the auxiliary load-balancing loss."},
    {FIELD(moe, z_loss, amount), .kinds = OF_BLOCKS, .max = 1000, .standard = "0",
     .help = "The weight of the router z-loss, which keeps router logits small."},
    {WORD(moe, routing, routings), .kinds = OF_BLOCKS, .standard = "auto",
     .help = "The source of token routing: the router (learned), or a synthetic workload that run "
             "and plan both know. auto: the router when executed; a plan assumes balanced experts "
             "and sizes buffers for balanced routing. learned without a capacity: a plan sizes "
             "buffers for all tokens at every expert."},
    {FIELD(moe, skew, amount), .kinds = OF_BLOCKS, .max = 100, .standard = "0",
     .help = "The skew of a workload: the exponent of zipf (default 1), or the share of tokens for "
             "the hot expert or rank (default 0.5); 0 means the default."},
    {INT(moe, ranks, 0, 65536), .kinds = OF_BLOCKS, .standard = "0",
     .help = "The number of ranks of a hot-rank or ragged workload; 0 means the number of shards "
             "of experts, or of a group's tokens."},
    {INT(mla, kv_rank, 0, INT32_MAX), .kinds = OF_BLOCKS, .standard = "0", .unit = "elements",
     .help =
         "The width of the latent vector of keys and values (dimension kv_rank); 0 means no MLA."},
    {INT(mla, q_rank, 0, INT32_MAX), .kinds = OF_BLOCKS, .standard = "0", .unit = "elements",
     .help = "The width of the latent vector of queries (dimension q_rank); 0 means none."},
    {INT(mla, rope_dim, 2, INT32_MAX), .kinds = OF_BLOCKS, .standard = "64", .unit = "elements",
     .help = "The RoPE part of a head's width, in addition to head_dim (dimension rope_dim)."},
    {INT(mla, value_dim, 1, INT32_MAX), .kinds = OF_BLOCKS, .standard = "128", .unit = "elements",
     .help = "The width of a head's values (dimension value_dim)."},
    {INT(linear, key_heads, 0, 65536), .kinds = OF_BLOCKS, .standard = "0",
     .help = "The number of query and key heads of delta layers (dimension linear_key_heads), and "
             "of groups of mamba layers, a divisor of value_heads; 0 means model.heads."},
    {INT(linear, value_heads, 0, 65536), .kinds = OF_BLOCKS, .standard = "0",
     .help = "The number of value heads of delta and mamba layers, which have a state each "
             "(dimension linear_heads); 0 means model.heads."},
    {INT(linear, key_dim, 1, 65536), .kinds = OF_BLOCKS, .standard = "128", .unit = "elements",
     .help = "The width of a key head of delta layers, and of a state of mamba layers (dimension "
             "linear_key_dim)."},
    {INT(linear, value_dim, 1, 65536), .kinds = OF_BLOCKS, .standard = "128", .unit = "elements",
     .help = "The width of a value head of delta and mamba layers (dimension linear_value_dim)."},
    {INT(linear, taps, 1, 64), .kinds = OF_BLOCKS, .standard = "4", .unit = "tokens",
     .help = "The tokens that the convolutions of delta, mamba and conv layers read: the token "
             "itself and those before it (dimension taps)."},
    {FIELD(linear, taps_bias, bool), .kinds = OF_BLOCKS, .standard = "false",
     .help = "Whether the convolutions of delta and mamba layers have biases."},
    {WORD(linear, norm, state_norms), .kinds = OF_BLOCKS, .standard = "behind",
     .help = "Where the output of mamba layers is normalised: behind the gate, before it, or not "
             "at all."},
    STATE_SCALE(query, "the projection to queries of delta layers, and c of mamba layers"),
    STATE_SCALE(key, "the projection to keys of delta layers, and b of mamba layers"),
    STATE_SCALE(value, "the projection to values of delta layers, and x of mamba layers"),
    STATE_SCALE(gate, "the projection to gates of delta and mamba layers"),
    STATE_SCALE(step, "the projection to decays of delta layers, and dt of mamba layers"),
    STATE_SCALE(out, "the output of delta and mamba layers"),
    {INT(batch, size, 1, INT32_MAX), .required = true, .kinds = OF_PRESETS, .unit = "sequences",
     .help = "The global batch size: sequences of a step over all devices (logical axis batch)."},
    {INT(batch, seq, 1, INT32_MAX), .required = true, .kinds = OF_PRESETS, .unit = "tokens",
     .help = "The sequence length (logical axis seq)."},
    {INT(batch, source, 1, INT32_MAX), .kinds = OF_T5, .unit = "tokens",
     .help = "The encoder's sequence length (logical axis source). Default: seq."},
    {INT(batch, microbatches, 1, SCENARIO_MICROBATCHES_MAX), .kinds = OF_PRESETS, .standard = "1",
     .help = "The number of microbatches of a step, a divisor of size. They run in sequence; "
             "gradients are accumulated, and reduced once."},
    {FIELD(context, axis, axis), .kinds = OF_SELF_ATTENTION, .standard = "null",
     .help = "The mesh axis of context parallelism, which shards the tokens of a sequence; axes "
             "and constraints must shard seq over this axis."},
    {WORD(context, method, context_methods), .kinds = OF_SELF_ATTENTION, .standard = "gather",
     .help = "gather: all-gather keys and values. ring: ring attention, which passes blocks of "
             "keys and values from neighbour to neighbour."},
    {WORD(context, order, orders), .kinds = OF_SELF_ATTENTION, .standard = "contiguous",
     .help = "The tokens of a rank: one contiguous chunk (contiguous), a chunk from the head and "
             "one from the tail (zigzag), or every n-th token (striped)."},
    {OPTION(context, documents, documents), .kinds = OF_SELF_ATTENTION, .standard = "null",
     .help = "The documents packed into each sequence, of pseudo-random or given lengths: a token "
             "attends only to its own document."},
    {TOP(data, file), .offset = AT(data.path), .kinds = OF_TOKENS, .standard = "null",
     .help = "A text file: each byte is a token, and the next byte the token's label. The path is "
             "relative to this file. Sequence r of b starts at r/b of the text and continues in "
             "each step, wrapping around; null means random tokens."},
    {OPTION(graph, dims, dims), .required = true, .kinds = OF_GRAPH,
     .help = "The dimensions: names and sizes. Each is a logical axis."},
    {FIELD(graph, inputs, arrays), .kinds = OF_GRAPH, .standard = "{}",
     .help = "The inputs: random arrays. below: integers below the size of a dimension; values: an "
             "array from the values file. dtype defaults to model.dtype, for integers to int32."},
    {OPTION(graph, values, file), .offset = AT(graph.path), .kinds = OF_GRAPH, .standard = "null",
     .help = "A .safetensors or .npz file with the arrays marked values: true, or values: NAME if "
             "the file's name differs. Element count and order must match; dimensions may be split "
             "or merged. The path is relative to this file."},
    {FIELD(graph, params, arrays), .kinds = OF_GRAPH, .standard = "{}",
     .help = "The parameters: arrays that are learned."},
    {OPTION(graph, ops, ops), .required = true, .kinds = OF_GRAPH,
     .help = "The ops, one per line, such as h[b,s,f] = gelu(einsum(x[b,s,d], w1[d,f])); 'shardsim "
             "show functions' lists the functions."},
    {OPTION(graph, outputs, outputs), .kinds = OF_GRAPH, .standard = "[]",
     .help = "The names of the outputs. Default: the last op's result."},
    {TOP(step, step), .standard = "[forward, backward]",
     .help = "The phases of a step; update needs an optimizer. Serving: prefill processes the "
             "prompt's tokens and fills the KV cache, decode generates one token per sequence."},
    {TOP(steps, int), .offset = AT(steps), .min = 1, .max = SCENARIO_STEPS_MAX, .standard = "1",
     .help = "The number of steps. Each has its own data and continues with the parameters of the "
             "previous step; more than one needs an update."},
    {INT(decode, tokens, 1, SCENARIO_STEPS_MAX), .kinds = OF_DECODERS, .standard = "1",
     .unit = "tokens",
     .help = "The number of tokens that a decode generates per sequence, one per step. A run "
             "generates all; figures are of the last step."},
    {INT(decode, context, 0, INT32_MAX), .kinds = OF_DECODERS, .standard = "0", .unit = "tokens",
     .help = "The tokens per sequence in the KV cache before the first step; 0 means batch.seq in "
             "a decode, and none in a prefill."},
    {INT(decode, page, 0, INT32_MAX), .kinds = OF_DECODERS, .standard = "0", .unit = "tokens",
     .help = "The page size of a paged KV cache, in tokens: sequences have pages of a shared pool, "
             "by page tables. 0: each sequence is contiguous."},
    {WORD(decode, cache, cache_types), .kinds = OF_DECODERS, .standard = "compute",
     .help = "The element type of the KV cache: model.dtype (compute); FP8, without scales, read "
             "by attention directly; or 4 bits, with a scale per block of a head's row."},
    {INT(decode, block, 0, INT32_MAX), .kinds = OF_DECODERS, .standard = "0",
     .help = "The block size of a 4-bit KV cache: elements of a head's row per scale. 0 means 128 "
             "for int4 and 32 for mxfp4, halved until it divides the row."},
    {INT(decode, draft, 0, 1024), .kinds = OF_DECODERS, .standard = "0", .unit = "tokens",
     .help = "Speculative decoding: the tokens that a draft model proposes per sequence and step, "
             "all verified at once. The draft model's own cost is not counted."},
    {FIELD(decode, accepted, amount), .max = 1024, .kinds = OF_DECODERS, .standard = "0",
     .unit = "tokens",
     .help = "Speculative decoding: the mean number of accepted draft tokens per step; a decode "
             "step generates one more. A run proposes tokens with this acceptance."},
    {INT(decode, shared, 0, INT32_MAX), .kinds = OF_DECODERS, .standard = "0", .unit = "tokens",
     .help = "The length of the prefix that all sequences share: its whole pages are stored once "
             "in each pool. Needs decode.page."},
    {WORD(optimizer, kind, optimizer_kinds), .standard = "none",
     .help = "The optimizer. Its state starts as zeros and is named opt/KIND/PARAMETER."},
    {FIELD(optimizer, lr, amount), .max = 1000, .standard = "0.001",
     .help = "The peak learning rate."},
    {INT(optimizer, warmup, 0, SCENARIO_STEPS_MAX), .standard = "0", .unit = "steps",
     .help = "The number of steps of linear warm-up to lr."},
    {WORD(optimizer, decay, decays), .standard = "constant",
     .help = "The learning rate decay after the warm-up; cosine reaches 0 at the last step."},
    {OPTION(optimizer, betas, betas), .standard = "[0.9, 0.999]",
     .help = "The betas of adamw, also as muon's rest: decay rates of its moments."},
    {FIELD(optimizer, eps, amount), .max = 1, .standard = "1e-8",
     .help = "The epsilon of adamw, added to the denominator of an update."},
    {FIELD(optimizer, weight_decay, amount), .max = 1000, .standard = "0",
     .help = "The weight decay of all parameters: decoupled with adamw and muon, part of the "
             "gradient with sgd."},
    {FIELD(optimizer, momentum, amount), .max = 1, .standard = "0",
     .help = "The momentum of sgd and muon; 0 keeps no state. muon: expected, usually 0.95."},
    {FIELD(optimizer, clip, amount), .max = 1000000, .standard = "0",
     .help = "The global gradient norm to clip to; 0 means no clipping."},
    {OPTION(optimizer, for, patterns), .offset = AT(optimizer.matrices),
     .standard = "['^(?!head/)']",
     .help = "muon: the matrices that it updates, by patterns found in their names. A matrix is a "
             "weight that only matmuls read, of inputs by outputs; its other dimensions, such as "
             "experts, number matrices. All other parameters (embeddings, norms, biases) are "
             "optimizer.rest's."},
    {WORD(optimizer, rest, rests), .standard = "adamw",
     .help = "muon: the optimizer of all parameters that are not its matrices."},
    {FIELD(optimizer, rest_lr, amount), .max = 1000, .standard = "0",
     .help = "muon: the peak learning rate of optimizer.rest; 0 means lr."},
    {OPTION(optimizer, apart, patterns), .offset = AT(optimizer.apart), .standard = "[]",
     .help = "muon: further dimensions that number matrices, by patterns found in their names: "
             "[heads] makes each head's part of q, k, v and o a matrix."},
    {FIELD(optimizer, nesterov, bool), .standard = "true",
     .help = "muon: whether the momentum is Nesterov's."},
    {INT(optimizer, ns_steps, 1, 100), .standard = "5",
     .help = "muon: the number of Newton-Schulz steps."},
    {FIELD(optimizer, ns_coefficients, coefficients), .standard = "[3.4445, -4.775, 2.0315]",
     .help = "muon: a, b and c of a Newton-Schulz step, X = a X + (b A + c A A) X with the Gram "
             "matrix A = X X^T of the shorter side."},
    {WORD(optimizer, ns_dtype, dtypes), .standard = "bfloat16",
     .help = "muon: the element type of Newton-Schulz steps, in which matrices are also sent."},
    {WORD(optimizer, adjust_lr, adjusted), .standard = "original",
     .help = "muon: the factor of lr for a matrix, as adjust_lr_fn of torch.optim.Muon. original: "
             "sqrt(max(1, outputs / inputs)); match_rms_adamw: 0.2 sqrt(max(outputs, inputs)); "
             "spectral_unclamped: sqrt(outputs / inputs)."},
    {WORD(optimizer, layout, matrix_layouts), .standard = "duplicated",
     .help = "muon: how devices that hold shards of a matrix compute its Newton-Schulz steps. "
             "duplicated: the matrix is gathered, and every device computes all; distributed: it "
             "stays sharded along its longer side, and Gram matrices are all-reduced; owned: "
             "matrices of one shape are shared out over optimizer.homes by an all-to-all, and "
             "updates return by another."},
    {OPTION(optimizer, homes, axis_list), .offset = AT(optimizer.homes), .standard = "null",
     .help = "muon, layout owned: the mesh axis, or a list of axes, whose devices own matrices, "
             "each whole; for an array that the axis numbers, such as experts, all others."},
    {WORD(types, parameters, parameter_types), .standard = "compute",
     .help = "The type in which parameters are updated. If it differs from model.dtype, each "
             "parameter has a master copy, opt/master/PARAMETER."},
    {WORD(types, gradients, gradient_types), .standard = "software",
     .help = "The type of gradient accumulation over microbatches. software: bfloat16 if reduce is "
             "also software and the cluster's software accumulates gradients of bfloat16 models in "
             "bfloat16 (half_gradients, or coded_half_gradients with matmuls in 8 bits or fewer; "
             "--grad-reduce-in-bf16 of Megatron-LM, grad_reduce_in_fp32: false of NeMo), else "
             "types.parameters."},
    {WORD(types, moments, update_types), .standard = "parameters",
     .help = "The type of the other optimizer state (moments); updates are computed in "
             "types.parameters."},
    {WORD(types, reduce, gradient_types), .standard = "software",
     .help = "The type of gradient reduction over devices; software as for gradients."},
    {WORD(products, recipe, recipes), .standard = "none",
     .help = "The low-precision recipe of matmuls of weights and activations, and of their "
             "gradients: operands are quantized to e4m3 with one scale per tensor (tensorwise), "
             "per row (rowwise), per 1 x 128 elements and 128 x 128 of weights (blockwise, as "
             "DeepSeek-V3), per 32 elements (mxfp8), or to 4 bits with one per 16 elements "
             "(nvfp4). none: no quantization."},
    {WORD(products, gradients, codes), .standard = "recipe",
     .help = "The type that gradients are quantized to. recipe: e5m2 with tensorwise, else e4m3."},
    {WORD(products, weights, bases), .standard = "compute",
     .help = "Weight-only quantization of a served model (recipe none): weights in model.dtype "
             "(compute), or quantized and dequantized inside the matmul. int8: a scale per output; "
             "int4: a scale of model.dtype per 128 inputs (GPTQ, AWQ without zero points); mxfp4: "
             "a power of two per 32; nf4: an 8-bit scale per 64."},
    {INT(products, block, 0, INT32_MAX), .standard = "0", .unit = "elements",
     .help = "The elements per block scale; 0 means the default of the recipe, or of the weights' "
             "type."},
    {WORD(products, amax, amax_of), .standard = "local",
     .help = "The source of the amax of a tensorwise or rowwise scale: each device's shard, as "
             "libraries do (local), or the whole array, by an all-reduce (all). static: activation "
             "scales are calibrated beforehand and stored with the weights of a served model."},
    {FIELD(products, gathers, bool), .standard = "false",
     .help = "Whether ZeRO stage 3 quantizes weights before the all-gather and gathers 8 bits (FP8 "
             "all-gather); else weights are gathered in model.dtype."},
    {FIELD(products, dispatch, bool), .standard = "false",
     .help = "Whether the experts' all-to-all sends tokens, and gradients of expert outputs, in 8 "
             "bits with their scales, as DeepSeek-V3 does; needs scales of blocks along the "
             "contraction (blockwise, mxfp8). Expert outputs stay in model.dtype."},
    {WORD(products, kept, products_kept), .standard = "recipe",
     .help = "What the forward phase saves of an array that the backward phase quantizes along "
             "another dimension: 8-bit values quantized in advance (codes), or the unquantized "
             "array (wide). recipe: wide with rowwise, else codes."},
    {WORD(products, frozen, products_frozen), .standard = "cluster",
     .help =
         "The storage of frozen weights that all matmuls quantize alike (tensorwise, blockwise). "
         "compute: in model.dtype, quantized again in each step; codes: quantized only "
         "(--fp8-param-gather of Megatron-LM, fp8_param of NeMo, fp8_model_init of Transformer "
         "Engine). cluster: as the software does (codes_frozen); compute without a cluster."},
    {FIELD(products, except, patterns), .standard = "['^head$', 'router$']",
     .help = "Patterns of the names of matmuls that are not quantized."},
    {WORD(loss_scale, kind, loss_scales), .standard = "none",
     .help = "Whether the loss is scaled. A step with non-finite gradients is skipped; a dynamic "
             "scale is then halved."},
    {INT(loss_scale, initial, 1, 1 << 30), .standard = "65536",
     .help = "The static scale, or the initial dynamic scale."},
    {INT(loss_scale, growth_interval, 1, SCENARIO_STEPS_MAX), .standard = "2000", .unit = "steps",
     .help = "The number of consecutive good steps after which a dynamic scale is doubled."},
    {TOP(frozen, patterns), .offset = AT(frozen), .standard = "[]",
     .help =
         "The frozen parameters, by patterns found in their names: without gradient and optimizer "
         "state; gradients pass through. With lora, everything but the adapters is frozen anyway."},
    {INT(lora, rank, 0, 65536), .standard = "0",
     .help = "The rank r of adapters (dimension lora_rank); 0 means none. For a weight "
             "attn/q/kernel[in, out], attn/q/lora_a/kernel[in, r] and attn/q/lora_b/kernel[r, out] "
             "are learned, and everything else is frozen: y = x W + alpha/r (x A) B. An adapter is "
             "sharded along in and out like its weight, unless a rule matches the adapter's name "
             "and not the weight's."},
    {FIELD(lora, alpha, number), .max = 1000000, .standard = "null",
     .help = "The alpha of the adapters' factor alpha/r; null means r."},
    {FIELD(lora, targets, patterns), .standard = "[]",
     .help = "The weights with adapters, by patterns found in their names, such as [attn/q, "
             "attn/v, mlp/.*]; weights of experts get one adapter per expert."},
    {WORD(lora, base, bases), .standard = "compute",
     .help = "The storage of the weights with adapters: model.dtype (compute), or quantized and "
             "dequantized to model.dtype for each matmul. int8: a scale per output; nf4: 16 "
             "levels, an 8-bit scale per 64 inputs and a float32 per 256 scales, as QLoRA; int4: a "
             "scale of model.dtype per 128 inputs; mxfp4: e2m1, a power of two per 32."},
    {WORD(lora, start, lora_starts), .standard = "model",
     .help = "The initial values of lora_b. zeros, the usual start, makes the gradient of lora_a "
             "0, and so hides errors in it; model means zeros in published models and random "
             "numbers in others."},
    {INT(zero, stage, 0, 3), .standard = "0",
     .help =
         "The ZeRO stage: shards over the axes of zero.axis 1 optimizer state, 2 also gradients, 3 "
         "also parameters. With one microbatch 2 equals 1, as gradients do not outlive a step."},
    {OPTION(zero, axis, axis_list), .offset = AT(zero.axes), .standard = "null",
     .help = "The mesh axis of ZeRO or a list of axes, usually the axes that shard batch and "
             "sequence. Each array is sharded over those axes not in its spec already, along the "
             "longest dimension that they divide."},
    {WORD(zero, layout, zero_layouts), .standard = "flat",
     .help = "The sharding of arrays without a divisible dimension: flat, by elements "
             "(Megatron-LM, DeepSpeed); pad, by rows of the first dimension (PyTorch FSDP2). "
             "Shards are equal, the last one padded."},
    {OPTION(zero, reshard_after_forward, reshard), .offset = AT(zero.reshard),
     .standard = "default",
     .help = "Stage 3: whether gathered parameters are freed after the forward phase, and gathered "
             "again in the backward phase. always: less memory, half as many bytes again. never: "
             "kept for the backward phase, and in a pipeline gathered once per step, for all "
             "microbatches. default: never in a pipeline, else always. A number: parameters stay "
             "sharded over this many neighbours of zero.axis, which gather them again among "
             "themselves. true and false are always and never."},
    {INT(zero, prefetch, 0, SCENARIO_PREFETCH_MAX), .standard = "1", .unit = "layers",
     .help = "Stage 3: how many layers ahead parameters are gathered, overlapped with computation; "
             "costs memory. 0: gathered at their use, without overlap."},
    {FIELD(pipeline, axis, axis), .standard = "null",
     .help = "The mesh axis of pipeline parallelism, which shards no array."},
    {FIELD(pipeline, schedule, name), .standard = "1F1B",
     .help = "The pipeline schedule. 'shardsim show timetable all' lists them."},
    {INT(pipeline, stages_per_rank, 0, 65536), .standard = "0",
     .help = "The number of virtual stages per rank; 0 means the schedule's own number."},
    {FIELD(pipeline, layers, layers), .standard = "null",
     .help =
         "The number of layers of each stage, as a list or in Megatron-LM's layout: E is the "
         "embedding, t a layer, L the head, and a bar separates stages, as in \"Et*3|(tt|)*2L\". "
         "weighed: minimizes the work of the busiest stage, with embedding and head counted, by "
         "flops or with `hardware` by time. null: even numbers, embedding and head not counted."},
    {OPTION(pipeline, place, places), .offset = AT(pipeline.places), .standard = "[]",
     .help = "The stage, from 0, of arrays whose name matches a pattern; the first match wins. By "
             "default, arrays before the layers are in the first stage, and arrays after the "
             "layers in the last."},
    {TOP(recompute, recompute), .standard = "none",
     .help =
         "Activation recomputation (checkpointing) in the backward phase. selective: attention, or "
         "in a map Megatron-LM's modules (core_attn, layernorm, mlp, moe, moe_act, shared_experts, "
         "mla_up_proj); full: everything inside a layer; a policy: everything but the ops that "
         "torchtitan's selective_op keeps, or the names that MaxText's policies keep (minimal, "
         "minimal_with_context, save_dot_with_context_except_mlp, save_dot_except_mlp, "
         "save_dot_except_mlpwi, save_qkv_proj, save_out_proj, or kept in host memory "
         "qkv_proj_offloaded, minimal_offloaded); a list: forward values whose names match a "
         "pattern. In a map, every: of each every-th group of layers, at offset; first: only in "
         "the first layers; count: layers counted in the model or in each stage; keep: except "
         "values that match a pattern, or results of ops: op:attention, op:product/2 (every second "
         "matmul of a layer), op:dense (matmuls except experts'), op:sum (tensor parallelism's "
         "reductions), op:exchange (rows that an all-to-all sent to experts, and back), op:choice "
         "(of experts); whole: also values without a later reader, as when a layer is called a "
         "second time; hold: kept results stay in memory until their layer is recomputed, even "
         "without a reader, as without a compiler."},
    {OPTION(offload, activations, values), .offset = AT(offload.activations), .standard = "none",
     .help =
         "Activations offloaded to host memory between the forward and backward phases: none, all, "
         "or a list of patterns of their names. Only values that the backward phase reads are "
         "copied; recompute reduces these. Device memory is freed when the next layer is done."},
    {INT(offload, layers, 0, 65536), .standard = "0",
     .help = "The number of layers, from the first, with offloaded activations; 0 means all, and "
             "activations outside layers. The last layers need no offload: their activations are "
             "read soonest."},
    {FIELD(offload, optimizer, amount), .max = 1, .standard = "0",
     .help =
         "The fraction of parameters whose optimizer state (master copies and moments) and update "
         "are on the host, as ZeRO-Offload: whole arrays, from the first, until the fraction is "
         "reached. Gradients are copied to the host and new parameters back. 1: all."},
    {FIELD(offload, parameters, bool), .standard = "false",
     .help = "Whether parameters are in host memory, as with ZeRO-Infinity: each device's shard is "
             "copied to the device for each layer and phase, and then gathered."},
    {INT(offload, prefetch, 0, SCENARIO_PREFETCH_MAX), .standard = "1", .unit = "layers",
     .help = "How many layers ahead of its use an array is copied from the host, overlapped with "
             "computation; costs memory. 0: copied at its use."},
    {TOP(gathered, word), .offset = AT(gathered), .words = gathered, .standard = "again",
     .help = "Activations gathered in the forward phase that the backward phase reads as well, as "
             "matmul inputs under sequence parallelism. again: keep the shard and gather again, as "
             "Megatron does. keep: keep the gathered array, as PyTorch does: less traffic, more "
             "memory. For two inputs of s b h elements per layer over t devices, that is 4 s b h "
             "(1 - 1/t) bytes in 16 bits, and 2 of 6 gathers saved. With placement: search, arrays "
             "are kept if the step then fits in memory. For parameters see "
             "zero.reshard_after_forward."},
    {TOP(hardware, cluster), .offset = AT(hardware), .standard = "null",
     .help = "The cluster for modelled times: a name from 'shardsim show hardware', or the path of "
             "a file (docs/hardware.md). --set hardware.tiers.1.rate=100GB/s overrides a constant "
             "of the cluster."},
    {TOP(software, word), .offset = AT(software), .words = software_names, .standard = "cluster",
     .help = "The software that runs the job, which determines overlap, fusion and gradient types "
             "(docs/hardware.md). cluster: that of the cluster's file. Import sets the job's."},
    {TOP(slices, int), .offset = AT(slices), .min = 1, .max = INT32_MAX, .standard = "1",
     .help = "The number of equal slices of devices, if the cluster is a torus."},
    {TOP(placement, word), .offset = AT(placement), .words = placements, .standard = "follow",
     .help = "The sharding of arrays without a rule. follow: propagated from rules, constraints "
             "and operands; search: minimizes bytes moved, or time with price: time."},
    {TOP(uneven, word), .offset = AT(uneven), .words = unevens, .standard = "refuse",
     .help = "A dimension that the axes of rules, axes and constraints do not divide, such as a "
             "vocabulary of 50257 over 8: refuse reports an error; pad extends it with zeros, as "
             "whole-program partitioners do. The report has the padding's cost; results do not "
             "change."},
    {TOP(price, word), .offset = AT(price), .words = prices, .standard = "bytes",
     .help = "The cost of reshards and of a search's layouts: bytes received by devices, or time "
             "on the cluster of hardware. With time, the layout for the fewest bytes is planned as "
             "well, and the faster step is taken."},
    {TOP(rules, word), .offset = AT(rules), .words = rules_from, .standard = "params",
     .help = "The source of parameter specs: the list in params, or (auto) the shapes, for mesh "
             "axes named dp, fsdp, sp and tp."},
    {TOP(params, params), .standard = "[]",
     .help =
         "The sharding of parameters: [pattern, spec] rules. The first pattern found in a name "
         "wins; a parameter without a match is an error; [.*, []] at the end replicates the rest."},
    {TOP(axes, axes), .standard = "{}",
     .help = "The mesh axes that shard a logical axis (batch, seq, ... or a dimension of graph) of "
             "inputs."},
    {TOP(partition_axis, partition_axis), .standard = "null",
     .help = "Semantic names for mesh axes in specs: batch, query_sequence, head, ... {} means "
             "batch over [fsdp, dp], sequences over sp, heads, mlp and vocab over tp, expert over "
             "ep; mode: generation uses the generation_ names."},
    {TOP(constraints, constraints), .standard = "[]",
     .help = "Sharding constraints of activations, in addition to `axes`; the first match wins."},
    {TOP(algorithms, algorithms), .standard = "{}",
     .help = "The algorithm of a kind of collective, such as {all-reduce: ring}: executed, counted "
             "and timed step by step. Without it, bytes are counted for direct exchange, and times "
             "are of the cluster's library."},
    {WORD(overlap, gradients, besides), .standard = "cluster",
     .help = "Whether gradient reduction overlaps with the backward phase: true or false as the "
             "job's options say (--overlap-grad-reduce of Megatron-LM, overlap_comm of DeepSpeed), "
             "or as the cluster's software does (cluster: overlaps_gradients)."},
    {WORD(overlap, weights, besides), .standard = "cluster",
     .help =
         "Whether weight gathers overlap with computation. ZeRO stages 1 and 2: the update's "
         "all-gather is exposed if false (Megatron-LM without --overlap-param-gather; with it, the "
         "next step's forward phase hides more than the plan of one step shows). Stage 3: "
         "zero.prefetch sets the distance; a search uses 0 if this is false (overlaps_weights)."},
    {WORD(overlap, products, besides), .standard = "cluster",
     .help = "Whether activation all-gathers and reduce-scatters are pipelined with the matmul "
             "that reads or writes the array (overlaps_products): --tp-comm-overlap of "
             "Megatron-LM, enable_async_tensor_parallel of torchtitan."},
    {WORD(overlap, sends, besides), .standard = "cluster",
     .help = "Whether sends between pipeline stages overlap with computation if a rank has several "
             "stages (overlaps_sends): false for --no-overlap-p2p-communication of Megatron-LM."},
    {WORD(overlap, pairs, besides), .standard = "cluster",
     .help = "Whether the experts' all-to-all of one microbatch overlaps with the computation of "
             "another, in schedules with overlapped pairs (overlaps_pairs)."},
    {WORD(fused, loss, besides), .standard = "cluster",
     .help = "Whether cross-entropy is one kernel that reads the head's logits and writes their "
             "gradients in their own type, without float32 copies: --cross-entropy-loss-fusion of "
             "Megatron-LM, a compiled loss of torchtitan, Liger's. cluster: as the software does "
             "(fuses_loss)."},
    {WORD(fused, activation, besides), .standard = "cluster",
     .help = "Whether a gated activation saves only its inputs for the backward phase and "
             "recomputes the intermediate values: false for --no-bias-swiglu-fusion of "
             "Megatron-LM. cluster: as the software does (fuses_activation)."},
    {WORD(fused, gates, besides), .standard = "cluster", .kinds = OF_BLOCKS,
     .help = "Whether gates multiply the experts' activations in the activation's kernel, so that "
             "no result of an expert is saved for the gradient of its gate: Megatron Core since "
             "0.12. cluster: as the software does (fuses_gates)."},
    {INT(fused, loss_chunks, 1, 65536), .standard = "1", .kinds = OF_TOKENS,
     .help = "The number of chunks of a microbatch's tokens for which head and loss are computed "
             "in sequence, so that only one chunk's logits are in memory: num_vocab_tiling of "
             "MaxText, ChunkedLossWrapper of torchtitan, fused_linear_cross_entropy of Liger."},
    {WORD(fused, loss_again, besides), .standard = "cluster", .kinds = OF_TOKENS,
     .help = "Whether the backward phase recomputes each chunk's logits (MaxText, Megatron-LM's "
             "linear_cross_entropy), or a chunk's gradients are computed with its loss "
             "(torchtitan, Liger). cluster: as the software does (chunks_again)."},
    {INT(straggler, device, 0, INT32_MAX), .standard = "0",
     .help = "The straggler: the slow device's position in the mesh."},
    {FIELD(straggler, compute, number), .max = 1000000, .standard = "null",
     .help = "The slowdown factor of the straggler's computation; null means 1."},
    {FIELD(straggler, links, number), .max = 1000000, .standard = "null",
     .help = "The slowdown factor of transfers to and from the straggler; null means 1."},
    {FIELD(limits, memory, memory), .standard = "null",
     .help = "The memory limit of a device, without the runtime's reserve: bytes, or a fraction of "
             "the cluster's device memory (90%), as servers take it; null means no limit."},
    {INT(limits, sequences, 0, INT32_MAX), .standard = "0", .unit = "sequences",
     .help = "The most concurrent sequences of each data-parallel shard, as --max-num-seqs of a "
             "server; 0 means no limit."},
    {INT(limits, tokens, 0, INT32_MAX), .standard = "0", .unit = "tokens",
     .help = "The most tokens in the KV cache of each data-parallel shard, as --max-total-tokens "
             "of a server; 0 means no limit."},
    {OPTION(transfers, rate, rate), .offset = AT(transfers.bytes_per_s), .standard = "200GB/s",
     .help = "The bandwidth into each device. The default is about that of an accelerator's links "
             "to its neighbours."},
    {OPTION(transfers, latency, time), .offset = AT(transfers.latency_ns), .standard = "5us",
     .help = "The latency before the first byte."},
    {TOP(tolerance, number), .offset = AT(tolerance), .max = 1, .standard = "null",
     .help = "An additional tolerance of the verification: the largest max |a-b| / max |b| of "
             "results, on top of each element's error bound. Not for elements that are exactly 0."},
    {TOP(seed, int), .offset = AT(seed), .min = 0, .max = INT64_MAX, .standard = "0",
     .help = "The random seed of parameters and inputs."},
};
const size_t option_count = COUNT(option_table);

_Static_assert(COUNT(option_table) + COUNT(option_sections) <= SCENARIO_OPTIONS_MAX,
               "raise SCENARIO_OPTIONS_MAX");

const struct option *option_find(const char *section, const char *key)
{
    for (size_t i = 0; i < option_count; i++)
        if (option_is_in(&option_table[i], section) && strcmp(option_table[i].key, key) == 0)
            return &option_table[i];
    return NULL;
}

const struct option_section *option_find_section(const char *key)
{
    for (size_t i = 0; i < option_section_count; i++)
        if (strcmp(option_sections[i].key, key) == 0)
            return &option_sections[i];
    return NULL;
}

size_t option_id(const struct option *option)
{
    return (size_t)(option - option_table);
}

size_t option_section_id(const struct option_section *section)
{
    return option_count + (size_t)(section - option_sections);
}

void option_offer(struct nearest *nearest, const char *section)
{
    for (size_t i = 0; i < option_count; i++)
        if (option_is_in(&option_table[i], section))
            nearest_add(nearest, option_table[i].key);
    if (section)
        return;
    for (size_t i = 0; i < option_section_count; i++)
        nearest_add(nearest, option_sections[i].key);
}
