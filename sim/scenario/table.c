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

static const char *const residuals[] = {
    [SCENARIO_SERIAL] = "serial",
    [SCENARIO_BESIDE] = "beside",
    [SCENARIO_BESIDE_NORMS] = "beside-norms",
    [SCENARIO_NRESIDUALS] = NULL,
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
    [SCENARIO_NO_OPTIMIZER] = "none",
    [SCENARIO_SGD] = "sgd",
    [SCENARIO_ADAMW] = "adamw",
    [SCENARIO_NOPTIMIZERS] = NULL,
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
    {"model", "the computation"},
    {"moe", "experts in the place of an mlp"},
    {"mla", "multi-head latent attention: keys and values come from one short vector a token"},
    {"batch", "one step's input"},
    {"context", "context parallelism: how keys reach queries, and which tokens a rank has"},
    {"graph", "a computation of your own"},
    {"decode", "tokens made one after the other, beside a cache of those before"},
    {"optimizer", "how parameters are updated"},
    {"types", "the element types of what is kept and updated"},
    {"products", "products of weights and activations in 8 bits and below"},
    {"loss_scale", "what keeps gradients in the range of float16"},
    {"lora", "adapters of low rank beside kernels that are not learned (LoRA, QLoRA)"},
    {"zero", "ZeRO: what is sharded in addition to the batch"},
    {"offload", "what lies in the memory of the host, and comes from there when it is wanted"},
    {"pipeline", "layers in stages, one after the other"},
    {"overlap", "which transfers run beside computation, where time is of a cluster"},
    {"fused", "which values only exist inside one kernel"},
    {"straggler", "a device that is slower than those like it, where time is of a cluster"},
    {"limits", "the limits of a device"},
    {"transfers", "the rate and latency of transfers where the step is replayed"},
};
const size_t option_section_count = COUNT(option_sections);

const struct option_section option_file_keys[] = {
    {"version", "The version of this file format: 1; required."},
    {"strategies", "A list of maps, each with a name and the options that it overrides."},
    {"prefill", "Of step: [prefill, decode]: a map of the options that differ for the prefill."},
    {"sweep", "Strategies from lists of mesh sizes and rule sets: devices, mesh, rules."},
};
const size_t option_file_key_count = COUNT(option_file_keys);

/* How a row begins: a section, a key and a type, and the field of the key's name in the section's
 * struct.  OPTION: the field has another name, or the type knows it; TOP: of no section. */
#define IN_model model
#define IN_moe model.moe
#define IN_mla model.mla
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

const struct option option_table[] = {
    {TOP(name, name), .offset = AT(name),
     .help = "The name of the scenario; the name of the file by default."},
    {TOP(mesh, mesh), .required = true,
     .help = "The mesh of devices: names and sizes of its axes. Device ids are row-major: the "
             "last axis varies fastest."},
    {WORD(model, kind, kinds), .required = true,
     .help = "What is computed. A file with a graph section has kind graph."},
    {INT(model, d_model, 1, INT32_MAX), .required = true, .sized = OF_PUBLISHED,
     .kinds = OF_PRESETS, .unit = "elements",
     .help = "The width between layers (logical axis embed)."},
    {INT(model, d_ff, 1, INT32_MAX), .required = true, .sized = OF_PUBLISHED, .kinds = OF_MLPS,
     .unit = "elements", .help = "The width inside an mlp layer (logical axis mlp)."},
    {WORD(model, activation, activations), .kinds = OF_MLPS, .standard = "gelu", .trait = true,
     .help = "The activation between the matrix products of an mlp; swiglu and geglu add a gate "
             "kernel. gelu is the approximation by tanh; swiglu-clamped is that of gpt-oss."},
    {INT(model, layers, 1, 65536), .kinds = OF_PRESETS, .standard = "1",
     .help = "The number of layers, one after the other; of t5, the layers of the encoder."},
    {FIELD(model, bias, bool), .kinds = OF_MLPS & ~OF_T5, .standard = "false", .trait = true,
     .help = "Whether the kernels of mlp layers have a bias."},
    {INT(model, heads, 1, 65536), .required = true, .sized = OF_PUBLISHED, .kinds = OF_ATTENTION,
     .help = "The number of query heads (logical axis heads)."},
    {INT(model, kv_heads, 1, 65536), .kinds = OF_ATTENTION & ~OF_T5,
     .help = "The number of heads of keys and values (logical axis kv_heads), a divisor of "
             "heads; equal to heads by default."},
    {INT(model, head_dim, 1, INT32_MAX), .kinds = OF_ATTENTION, .unit = "elements",
     .help = "The width of a head (logical axis head_dim); d_model / heads by default."},
    {FIELD(model, causal, bool), .kinds = OF_ATTENTION & ~OF_PUBLISHED, .standard = "true",
     .help = "Whether a token attends only to itself and to the tokens before it."},
    {FIELD(model, rope, rope), .kinds = OF_ATTENTION & ~(OF(SCENARIO_GPT2) | OF_T5),
     .standard = "null", .trait = true,
     .help =
         "The rotary embedding of queries and keys; {} means theta 10000, with pairs of halves. "
         "part: of a head's width; local_theta: of layers with a window or chunks, unscaled; "
         "scaling: of frequencies, for sequences longer than the original ones."},
    {WORD(model, norm, norms), .kinds = OF_BLOCKS, .standard = "rms", .trait = true,
     .help = "The normalization of attention and of the mlp."},
    {WORD(model, norm_place, norm_places), .kinds = OF_BLOCKS, .standard = "before", .trait = true,
     .help = "Whether norms are of a layer's input (before), of its output before it is added "
             "to the residual stream (after), or of both."},
    {WORD(model, norm_weights, norm_weights), .kinds = OF_BLOCKS, .standard = "standard",
     .trait = true,
     .help = "The parameters of norms: a scale, and of layer norms a bias (standard), a scale "
             "alone, or none (bare)."},
    {FIELD(model, norm_one_plus, bool), .kinds = OF_BLOCKS, .standard = "false", .trait = true,
     .help = "Whether norms multiply by 1 + scale, so that scales begin at 0."},
    {WORD(model, residual, residuals), .kinds = OF_BLOCKS, .standard = "serial", .trait = true,
     .help = "Whether the mlp reads what attention left (serial), or both read the block's "
             "input and are added together: beside, after one norm; beside-norms, each with a "
             "norm of its own."},
    {INT(model, vocab, 1, INT32_MAX), .required = true, .sized = OF_PUBLISHED, .kinds = OF_TOKENS,
     .unit = "tokens", .help = "The size of the vocabulary (logical axis vocab)."},
    {INT(model, vocab_multiple, 1, 65536), .standard = "1", .kinds = OF_TOKENS, .unit = "tokens",
     .help = "What embedding and head are padded to a multiple of, by words that no token is: "
             "Megatron-LM pads to --make-vocab-size-divisible-by times tensor parallelism."},
    {WORD(model, attention_bias, attention_biases), .kinds = OF_ATTENTION & ~OF_T5,
     .standard = "none", .trait = true, .help = "Which kernels of attention have a bias."},
    {WORD(model, qk_norm, qk_norms), .kinds = OF_BLOCKS, .standard = "false", .trait = true,
     .help = "Whether queries and keys are normalised before positions are rotated into them, "
             "as model.norm says: true, each head by itself, with one scale of head_dim; heads, "
             "with a scale for each head; whole, all heads together; late, as true, but after the "
             "rotation; bare, without a scale, and after the rotation."},
    {WORD(model, attention, attentions), .kinds = OF_SELF_ATTENTION, .standard = "fused",
     .help = "fused is one kernel, which keeps no scores; unfused is products and a softmax, "
             "whose scores are arrays of seq by seq, above the causal mask too."},
    {FIELD(model, norm_eps, number), .kinds = OF_BLOCKS | OF_T5, .max = 1, .standard = "null",
     .trait = true,
     .help = "The number that is added to variances; null means 1e-6 for RMS norms and 1e-5 for "
             "layer norms.  Norms of latent vectors (mla) add 1e-6, whatever this is."},
    {INT(model, window, 0, INT32_MAX), .kinds = OF_SELF_ATTENTION, .standard = "0",
     .unit = "tokens", .trait = true,
     .help = "The sliding window of causal attention: the number of latest tokens, itself "
             "included, that a token attends to; 0 means all."},
    {INT(model, chunk, 0, INT32_MAX), .kinds = OF_BLOCKS, .standard = "0", .unit = "tokens",
     .trait = true,
     .help = "The chunks of causal attention: tokens attend only to those of their own chunk of "
             "so many; 0 means all."},
    {FIELD(model, layer_types, layer_types), .kinds = OF_BLOCKS, .standard = "null", .trait = true,
     .help = "What tokens of the first layers attend to, of which the list repeats for the layers "
             "after them: full, all; window, the latest model.window; chunk, their own chunk of "
             "model.chunk; with -plain behind it, without rotary positions. null means window "
             "in all layers if there is a window, or else chunk, or full."},
    {FIELD(model, attention_scale, amount), .kinds = OF_BLOCKS, .max = 1000, .standard = "0",
     .trait = true,
     .help = "The factor of attention's scores; 0 means head_dim to the power of -1/2."},
    {FIELD(model, attention_cap, amount), .kinds = OF_BLOCKS, .max = 1000000, .standard = "0",
     .trait = true,
     .help = "The cap of attention's scores: cap * tanh(score / cap); 0 means none."},
    {FIELD(model, sinks, bool), .kinds = OF_BLOCKS, .standard = "false", .trait = true,
     .help = "Whether each head has a learned score more, of a key without a value, so that it "
             "may attend to nothing."},
    {FIELD(model, embed_scale, amount), .kinds = OF_DECODERS, .max = 1000000, .standard = "0",
     .trait = true, .help = "The factor of embedded tokens; 0 means 1."},
    {FIELD(model, residual_scale, amount), .kinds = OF_BLOCKS, .max = 1000, .standard = "0",
     .trait = true,
     .help = "The factor of what attention and mlp add to the residual stream; 0 means 1."},
    {FIELD(model, logit_scale, amount), .kinds = OF_DECODERS, .max = 1000000, .standard = "0",
     .trait = true, .help = "The factor of the head's logits; 0 means 1."},
    {FIELD(model, logit_cap, amount), .kinds = OF_DECODERS, .max = 1000000, .standard = "0",
     .trait = true, .help = "The cap of the head's logits: cap * tanh(logit / cap); 0 means none."},
    {FIELD(model, head_bias, bool), .kinds = OF_DECODERS, .standard = "false", .trait = true,
     .help = "Whether the head's kernel has a bias."},
    {INT(model, mtp, 0, 64), .kinds = OF_DECODERS, .standard = "0", .unit = "modules",
     .help = "The number of modules that predict further tokens, one after the other: each joins "
             "the last hidden states with the next tokens' embeddings, and has one more block."},
    {FIELD(model, mtp_weight, amount), .kinds = OF_DECODERS, .max = 1000, .standard = "0.3",
     .help = "The weight of the mean loss of those modules."},
    {INT(model, positions, 0, INT32_MAX), .kinds = OF_TRANSFORMER | OF(SCENARIO_GPT2),
     .standard = "0", .unit = "tokens", .trait = true,
     .help = "The number of learned position embeddings (logical axis positions), at least seq; "
             "0 means none."},
    {FIELD(model, tied, bool), .kinds = OF_TOKENS, .standard = "false", .trait = true,
     .help = "Whether the head shares the embedding's table."},
    {INT(model, decoder_layers, 1, 65536), .kinds = OF_T5,
     .help = "The number of decoder layers; equal to layers by default."},
    {INT(model, buckets, 4, 256), .kinds = OF_T5, .standard = "32",
     .help = "The number of buckets of relative positions, each with a bias for each head "
             "(logical axis buckets)."},
    {INT(model, distance, 2, INT32_MAX), .kinds = OF_T5, .standard = "128", .unit = "tokens",
     .help = "The distance from which on all positions share the last bucket."},
    {FIELD(model, size, size), .kinds = OF_PUBLISHED, .standard = "custom",
     .help = "A published model, by its name or by that of its repository, as Qwen/Qwen3-8B, "
             "which sets the kind and whatever is not given here; custom means none."},
    {FIELD(model, scale, fraction), .kinds = OF_PUBLISHED, .standard = "1",
     .help = "The factor by which the model of size or from shrinks: layers, widths and "
             "vocabulary, and heads only when they are as narrow as can be; rounded up so that "
             "mesh axes still divide them."},
    {FIELD(model, from, file), .kinds = OF_PUBLISHED, .standard = "null",
     .help = "A config.json of Hugging Face, of the families that docs/models.md lists, which "
             "sets the kind and whatever is not given here, but no types; the path starts at "
             "this file's directory."},
    {WORD(model, dtype, dtypes), .standard = "float32",
     .help = "The element type of parameters and activations, in which the model is computed."},
    {INT(moe, experts, 0, 65536), .kinds = OF_BLOCKS, .standard = "0",
     .help = "The number of experts of each layer that has any (dimension expert); 0 means that "
             "layers have an mlp instead."},
    {INT(moe, top_k, 1, 64), .kinds = OF_BLOCKS, .standard = "2", .unit = "experts",
     .help = "The number of experts that each token is sent to (dimension choice)."},
    {INT(moe, d_ff, 0, INT32_MAX), .kinds = OF_BLOCKS, .standard = "0", .unit = "elements",
     .help = "The width inside an expert (dimension expert_mlp); 0 means that of the mlp, "
             "model.d_ff."},
    {INT(moe, redundant, 0, 4096), .kinds = OF_BLOCKS, .standard = "0", .unit = "copies",
     .help = "The number of copies of experts beside these, in steps of serving: of the experts "
             "that by routing and skew have the most tokens for each copy, dealt out so that "
             "devices have even loads. Tokens take the copies of an expert in turn."},
    {INT(moe, shared, 0, 1024), .kinds = OF_BLOCKS, .standard = "0", .unit = "experts",
     .help = "The number of shared experts, which all tokens pass through as one mlp of their "
             "joint width (dimension shared_mlp)."},
    {INT(moe, first_dense, 0, 65536), .kinds = OF_BLOCKS, .standard = "0", .unit = "layers",
     .help = "The number of leading layers that have an mlp instead of experts."},
    {INT(moe, every, 1, 65536), .kinds = OF_BLOCKS, .standard = "1",
     .help = "Which of the layers after those have experts: 1 for each, 2 for every second, ..."},
    {WORD(moe, score, scores), .kinds = OF_BLOCKS, .standard = "softmax",
     .help = "The function that turns the router's logits into the scores by which experts are "
             "chosen, and into gates."},
    {FIELD(moe, renormalize, bool), .kinds = OF_BLOCKS, .standard = "true",
     .help = "Whether the gates of a token are divided by their sum."},
    {FIELD(moe, scale, amount), .kinds = OF_BLOCKS, .max = 1000, .standard = "1",
     .help = "The factor that gates are multiplied by."},
    {FIELD(moe, bias, bool), .kinds = OF_BLOCKS, .standard = "false",
     .help = "Whether a number for each expert is added to its score for the choice alone."},
    {FIELD(moe, after, bool), .kinds = OF_BLOCKS, .standard = "false", .trait = true,
     .help = "Whether gates are a softmax over the logits of the chosen experts alone."},
    {FIELD(moe, router_bias, bool), .kinds = OF_BLOCKS, .standard = "false", .trait = true,
     .help = "Whether the router's kernel has a bias."},
    {FIELD(moe, expert_bias, bool), .kinds = OF_BLOCKS, .standard = "false", .trait = true,
     .help = "Whether the experts' kernels have biases."},
    {FIELD(moe, gates_input, bool), .kinds = OF_BLOCKS, .standard = "false", .trait = true,
     .help = "Whether gates multiply the inputs of experts instead of their outputs."},
    {FIELD(moe, shared_gate, bool), .kinds = OF_BLOCKS, .standard = "false", .trait = true,
     .help = "Whether the output of the shared experts is multiplied by a gate of its own, the "
             "sigmoid of one more product."},
    {INT(moe, shared_d_ff, 0, INT32_MAX), .kinds = OF_BLOCKS, .standard = "0", .unit = "elements",
     .trait = true,
     .help = "The joint width of the shared experts; 0 means shared times that of an expert."},
    {INT(moe, groups, 1, 65536), .kinds = OF_BLOCKS, .standard = "1",
     .help = "The number of groups of experts: a token chooses among groups first, by their "
             "scores (group_score)."},
    {INT(moe, kept, 1, 65536), .kinds = OF_BLOCKS, .standard = "1",
     .help = "The number of groups from which a token chooses its experts."},
    {WORD(moe, group_score, group_scores), .kinds = OF_BLOCKS, .standard = "top2",
     .help = "The score of a group of experts: the sum of the two highest scores in it (top2, as "
             "DeepSeek-V3), or the highest (max, as DeepSeek-V2)."},
    {FIELD(moe, node_axis, axis), .kinds = OF_BLOCKS, .standard = "null",
     .help = "A mesh axis that shards experts and numbers nodes: a token's row goes once to each "
             "node that has experts of it, and from there to the devices of these experts; their "
             "results are added up in the node before they go back. It must be the last of the "
             "axes that shard the batch. null: a row goes straight to each of its experts, and "
             "each result back."},
    {WORD(moe, by_node, besides), .kinds = OF_BLOCKS, .standard = "cluster",
     .help = "Whether the time of an exchange of experts' rows is of rows that go once to each node "
             "and from there to experts, though no mesh axis numbers nodes (dispatches_by_node): "
             "true for DeepEP and HybridEP, false for Megatron-LM's dispatcher alltoall."},
    {FIELD(moe, capacity, amount), .kinds = OF_BLOCKS, .max = 65536, .standard = "0",
     .help = "The capacity factor: the tokens that an expert takes, relative to an even share; "
             "the rest are dropped. 0 means no limit."},
    {WORD(moe, drop, drops), .kinds = OF_BLOCKS, .standard = "tokens",
     .help = "What is dropped beyond the capacity: the last tokens of an expert's queue, or the "
             "last choices of all tokens."},
    {INT(moe, token_groups, 0, 65536), .kinds = OF_BLOCKS, .standard = "0",
     .help = "The number of groups of the sequences of a microbatch, each with queues and a "
             "capacity of its own; tokens are sent only inside their group. 0 means as many as "
             "the batch has shards along axes that do not shard experts, so that tokens stay "
             "among devices that have all experts."},
    {FIELD(moe, aux_loss, amount), .kinds = OF_BLOCKS, .max = 1000, .standard = "0",
     .help = "The weight of the auxiliary loss that balances the load of experts."},
    {FIELD(moe, z_loss, amount), .kinds = OF_BLOCKS, .max = 1000, .standard = "0",
     .help = "The weight of the loss that keeps the router's logits small."},
    {WORD(moe, routing, routings), .kinds = OF_BLOCKS, .standard = "auto",
     .help = "Who routes tokens: the router (learned), or a workload in its place, which run "
             "and plan both know. auto is the router where a step is executed; a plan assumes "
             "that it sends each expert as many tokens, and has memory for these alone. learned, "
             "without a capacity: also a plan has room for all tokens at each expert."},
    {FIELD(moe, skew, amount), .kinds = OF_BLOCKS, .max = 100, .standard = "0",
     .help = "The skew of a workload: the exponent of zipf (1), or the share of all tokens that "
             "the hot expert or rank has (0.5); 0 means the number in brackets."},
    {INT(moe, ranks, 0, 65536), .kinds = OF_BLOCKS, .standard = "0",
     .help = "The number of ranks of a workload with a hot rank or ragged ranks; 0 means as "
             "many as there are shards of experts, or of the tokens of a group."},
    {INT(mla, kv_rank, 0, INT32_MAX), .kinds = OF_BLOCKS, .standard = "0", .unit = "elements",
     .help = "The width of the latent vector from which keys and values are made (dimension "
             "kv_rank); 0 means none."},
    {INT(mla, q_rank, 0, INT32_MAX), .kinds = OF_BLOCKS, .standard = "0", .unit = "elements",
     .help = "The width of the latent vector from which queries are made (dimension q_rank); 0 "
             "means none."},
    {INT(mla, rope_dim, 2, INT32_MAX), .kinds = OF_BLOCKS, .standard = "64", .unit = "elements",
     .help = "The part of a head that rotary embedding is applied to, in addition to head_dim "
             "(dimension rope_dim)."},
    {INT(mla, value_dim, 1, INT32_MAX), .kinds = OF_BLOCKS, .standard = "128", .unit = "elements",
     .help = "The width of a head's values (dimension value_dim)."},
    {INT(batch, size, 1, INT32_MAX), .required = true, .kinds = OF_PRESETS, .unit = "sequences",
     .help = "The number of sequences of a step, over all devices (logical axis batch)."},
    {INT(batch, seq, 1, INT32_MAX), .required = true, .kinds = OF_PRESETS, .unit = "tokens",
     .help = "The length of each sequence (logical axis seq)."},
    {INT(batch, source, 1, INT32_MAX), .kinds = OF_T5, .unit = "tokens",
     .help = "The length of each sequence that the encoder reads (logical axis source); seq by "
             "default."},
    {INT(batch, microbatches, 1, 4096), .kinds = OF_PRESETS, .standard = "1",
     .help = "The number of microbatches of a step, which divides the size. They run one after "
             "the other; gradients are summed and reduced once."},
    {FIELD(context, axis, axis), .kinds = OF_SELF_ATTENTION, .standard = "null",
     .help = "The mesh axis over whose ranks the tokens of a sequence are distributed; axes and "
             "constraints must shard the sequence over it."},
    {WORD(context, method, context_methods), .kinds = OF_SELF_ATTENTION, .standard = "gather",
     .help = "How keys and values reach queries: gather gathers them all; ring passes blocks "
             "from neighbour to neighbour."},
    {WORD(context, order, orders), .kinds = OF_SELF_ATTENTION, .standard = "contiguous",
     .help = "Which tokens a rank has: one contiguous piece, one piece from the head and one "
             "from the tail (zigzag), or every n-th token (striped)."},
    {OPTION(context, documents, documents), .kinds = OF_SELF_ATTENTION, .standard = "null",
     .help = "The documents packed in each sequence, of pseudo-random lengths or of given ones: "
             "a token attends only to its own document."},
    {TOP(data, file), .offset = AT(data.path), .kinds = OF_TOKENS, .standard = "null",
     .help = "A text whose bytes are the tokens, and whose next byte is a token's label; the "
             "path starts at this file's directory. Sequence r of b begins at r/b of the text "
             "and reads on in each step, starting over at the end; null means random tokens."},
    {OPTION(graph, dims, dims), .required = true, .kinds = OF_GRAPH,
     .help = "The dimensions: names and sizes. Each is a logical axis."},
    {FIELD(graph, inputs, arrays), .kinds = OF_GRAPH, .standard = "{}",
     .help = "The inputs, arrays of random numbers; with below, whole numbers below the size of "
             "a dimension; with values, those of an array in the file of values. dtype is the "
             "model's if not given, of whole numbers int32."},
    {OPTION(graph, values, file), .offset = AT(graph.path), .kinds = OF_GRAPH, .standard = "null",
     .help = "A .safetensors or .npz file with the arrays that have values: true, or values: NAME "
             "where the file calls them otherwise. Elements are as many and in the same order, "
             "whether or not they are split into the same dimensions; the path starts at this "
             "file's directory."},
    {FIELD(graph, params, arrays), .kinds = OF_GRAPH, .standard = "{}",
     .help = "The parameters, arrays that are learned."},
    {OPTION(graph, ops, ops), .required = true, .kinds = OF_GRAPH,
     .help = "The ops, a line each, such as h[b,s,f] = gelu(einsum(x[b,s,d], w1[d,f])); "
             "'shardsim show functions' lists the functions."},
    {OPTION(graph, outputs, outputs), .kinds = OF_GRAPH, .standard = "[]",
     .help = "The names of the results; by default that of the last op."},
    {TOP(step, step), .standard = "[forward, backward]",
     .help = "The phases of one step; update needs an optimizer. Of serving: prefill takes in the "
             "tokens of a prompt and keeps their keys and values, decode makes one token of each "
             "sequence."},
    {TOP(steps, int), .offset = AT(steps), .min = 1, .max = SCENARIO_STEPS_MAX, .standard = "1",
     .help = "The number of steps. Each has data of its own and the parameters that the step "
             "before left; more than one needs an update."},
    {INT(decode, tokens, 1, SCENARIO_STEPS_MAX), .kinds = OF_DECODERS, .standard = "1",
     .unit = "tokens",
     .help = "The number of tokens that a decode makes of each sequence, one a step. A run makes "
             "all; figures are of the last step."},
    {INT(decode, context, 0, INT32_MAX), .kinds = OF_DECODERS, .standard = "0", .unit = "tokens",
     .help = "The tokens of each sequence that the cache has before the first step; 0 means "
             "batch.seq in a decode, and none in a prefill."},
    {INT(decode, page, 0, INT32_MAX), .kinds = OF_DECODERS, .standard = "0", .unit = "tokens",
     .help = "The tokens of a page of the cache: sequences have pages of a pool, wherever they lie "
             "in it, and tables that name them. 0: each sequence lies in one piece."},
    {WORD(decode, cache, cache_types), .kinds = OF_DECODERS, .standard = "compute",
     .help = "The type of the keys and values that are kept: that of the computation; 8 bits, "
             "rounded as they are and read so by attention; or 4 bits, with a scale of each block "
             "of a head's row."},
    {INT(decode, block, 0, INT32_MAX), .kinds = OF_DECODERS, .standard = "0",
     .help =
         "The elements of a head's row that have a scale, in a cache of 4 bits. 0 means 128 for "
         "int4 and 32 for mxfp4, or the most of their halves that divide the row."},
    {INT(decode, draft, 0, 1024), .kinds = OF_DECODERS, .standard = "0", .unit = "tokens",
     .help = "The tokens of each sequence that a draft proposes in each step of a decode, which "
             "verifies them all at once. What the draft itself takes is not counted."},
    {FIELD(decode, accepted, amount), .max = 1024, .kinds = OF_DECODERS, .standard = "0",
     .unit = "tokens",
     .help = "How many of the proposed tokens are right in a step, on average: a decode makes one "
             "more. A run's proposals are those that as many are right of."},
    {INT(decode, shared, 0, INT32_MAX), .kinds = OF_DECODERS, .standard = "0", .unit = "tokens",
     .help = "The tokens that all sequences begin with: whole pages of them are kept once in each "
             "pool. Needs decode.page."},
    {WORD(optimizer, kind, optimizer_kinds), .standard = "none",
     .help = "The optimizer. Its state begins as zeros and is named opt/KIND/PARAMETER."},
    {FIELD(optimizer, lr, amount), .max = 1000, .standard = "0.001",
     .help = "The learning rate at its highest."},
    {INT(optimizer, warmup, 0, SCENARIO_STEPS_MAX), .standard = "0", .unit = "steps",
     .help = "The number of steps in which the learning rate grows linearly to lr."},
    {WORD(optimizer, decay, decays), .standard = "constant",
     .help =
         "The decay of the learning rate after the warm-up; cosine reaches 0 at the last step."},
    {OPTION(optimizer, betas, betas), .standard = "[0.9, 0.999]",
     .help = "The two betas of adamw: how much of its moments is kept from step to step."},
    {FIELD(optimizer, eps, amount), .max = 1, .standard = "1e-8",
     .help = "The epsilon of adamw, which is added to the divisor of an update."},
    {FIELD(optimizer, weight_decay, amount), .max = 1000, .standard = "0",
     .help = "The weight decay of every parameter; decoupled from the gradient with adamw, part "
             "of it with sgd."},
    {FIELD(optimizer, momentum, amount), .max = 1, .standard = "0",
     .help = "The momentum of sgd; 0 keeps no state."},
    {FIELD(optimizer, clip, amount), .max = 1000000, .standard = "0",
     .help = "The norm to which all gradients together are clipped; 0 does not clip."},
    {WORD(types, parameters, parameter_types), .standard = "compute",
     .help = "The type in which parameters are updated. Where it is not model.dtype, each "
             "parameter has a master copy, opt/master/PARAMETER."},
    {WORD(types, gradients, gradient_types), .standard = "software",
     .help = "The type in which gradients are summed over microbatches. software: bfloat16 where, "
             "reduce being software too, the cluster's software keeps gradients of bfloat16 models "
             "so (half_gradients, or "
             "coded_half_gradients beside products in 8 bits or fewer: --grad-reduce-in-bf16 of "
             "Megatron-LM, grad_reduce_in_fp32: false of NeMo), else types.parameters."},
    {WORD(types, moments, update_types), .standard = "parameters",
     .help = "The type of the optimizer's other state; updates are computed in the type of the "
             "parameters."},
    {WORD(types, reduce, gradient_types), .standard = "software",
     .help = "The type in which gradients are reduced over devices; software as for gradients."},
    {WORD(products, recipe, recipes), .standard = "none",
     .help = "How the operands of products of weights and activations, and of their gradients' "
             "products, are rounded to e4m3 before they are multiplied: none, or with a scale for "
             "each array (tensorwise), row (rowwise), 1 x 128 elements and 128 x 128 of weights "
             "(blockwise, as DeepSeek-V3), 32 elements (mxfp8), or 16 elements of 4 bits "
             "(nvfp4)."},
    {WORD(products, gradients, codes), .standard = "recipe",
     .help = "The type to which gradients are rounded: e5m2 with tensorwise scales and e4m3 with "
             "others, as recipe says, or the one that is given."},
    {WORD(products, weights, bases), .standard = "compute",
     .help = "How the weights of a model that is served are kept where products do not round "
             "(recipe none): in model.dtype (compute), or as codes of which each product makes "
             "numbers of model.dtype while it reads them: int8, a scale for each output; int4, a "
             "scale of model.dtype for each 128 inputs (GPTQ, AWQ without zero points); mxfp4, a "
             "power of two for each 32; nf4, a scale of 8 bits for each 64."},
    {INT(products, block, 0, INT32_MAX), .standard = "0", .unit = "elements",
     .help = "The elements of a block; 0: as many as the recipe, or the weights' type, says."},
    {WORD(products, amax, amax_of), .standard = "local",
     .help =
         "The largest magnitude from which a scale of an array or row follows: of each device's "
         "shard, as libraries do (local); or of the whole array, by an all-reduce over devices "
         "(all). static: that of the data was found before, and is kept beside the weights of "
         "a model that is served."},
    {FIELD(products, gathers, bool), .standard = "false",
     .help = "Whether weights are rounded before ZeRO's stage 3 gathers them, and gathered in 8 "
             "bits; otherwise they are gathered in the type of the computation."},
    {FIELD(products, dispatch, bool), .standard = "false",
     .help =
         "Whether tokens, and the gradients of what experts return, are rounded before they are "
         "sent to experts, and sent in 8 bits with their magnitudes, as DeepSeek-V3 does; needs "
         "blocks along the sum (blockwise, mxfp8). What experts return stays in the type of "
         "the computation."},
    {WORD(products, kept, products_kept), .standard = "recipe",
     .help = "What the backward phase rereads of an array that it rounds along another dimension: "
             "codes of 8 bits that the forward phase made as well, or the array itself (wide), "
             "rounded again; recipe: wide with rowwise scales, else codes."},
    {WORD(products, frozen, products_frozen), .standard = "cluster",
     .help = "How weights that are not learned are kept where all products round them alike "
             "(tensorwise, blockwise): in the type of the computation, beside the codes that each "
             "step makes of them (compute), or as codes alone: --fp8-param-gather of Megatron-LM, "
             "fp8_param of NeMo, fp8_model_init of Transformer Engine. cluster: as the software "
             "does (codes_frozen); compute without a cluster."},
    {FIELD(products, except, patterns), .standard = "['^head$', 'router$']",
     .help = "Patterns of the products' names that are not rounded."},
    {WORD(loss_scale, kind, loss_scales), .standard = "none",
     .help = "Whether the loss is scaled before gradients are taken. A step whose gradients are "
             "not finite is skipped, and a dynamic scale is then halved."},
    {INT(loss_scale, initial, 1, 1 << 30), .standard = "65536",
     .help = "The scale, or the first one of a dynamic scale."},
    {INT(loss_scale, growth_interval, 1, SCENARIO_STEPS_MAX), .standard = "2000", .unit = "steps",
     .help = "The number of steps in a row without a skipped one after which a dynamic scale is "
             "doubled."},
    {TOP(frozen, patterns), .offset = AT(frozen), .standard = "[]",
     .help = "The parameters that are not learned, by patterns found in their names: they have no "
             "gradient and no optimizer state, and gradients pass through them. With lora, all "
             "but the adapters are frozen in any case."},
    {INT(lora, rank, 0, 65536), .standard = "0",
     .help = "The rank r of adapters (dimension lora_rank); 0 means none. Beside a kernel "
             "attn/q/kernel[in, out], attn/q/lora_a/kernel[in, r] and "
             "attn/q/lora_b/kernel[r, out] are learned and all else is frozen: y = x W + "
             "alpha/r (x A) B. An adapter is sharded along in and out as its kernel is, unless "
             "a rule is found in its name and not in the kernel's."},
    {FIELD(lora, alpha, number), .max = 1000000, .standard = "null",
     .help = "The numerator of the factor on an adapter's product, alpha/r; null means r."},
    {FIELD(lora, targets, patterns), .standard = "[]",
     .help = "The kernels that have adapters, by patterns found in their names, such as [attn/q, "
             "attn/v, mlp/.*]; kernels of experts have one for each expert."},
    {WORD(lora, base, bases), .standard = "compute",
     .help = "How the kernels with adapters are stored: in model.dtype (compute), or in 8 bits "
             "(int8: a scale for each output) or 4 (nf4: 16 levels, a scale of 8 bits for "
             "each 64 inputs, and a float32 for each 256 scales, as QLoRA; int4: a scale of "
             "model.dtype for each 128 inputs; mxfp4: e2m1, a power of two for each 32), to be "
             "converted to model.dtype for each product."},
    {WORD(lora, start, lora_starts), .standard = "model",
     .help = "The first values of lora_b. zeros, as adapters start, also hide a fault of lora_a, "
             "whose gradient is then 0; model means zeros in published models and random "
             "numbers in others."},
    {INT(zero, stage, 0, 3), .standard = "0",
     .help = "What is sharded over the axes of zero.axis too: 1 the optimizer's state, 2 also "
             "gradients, 3 also parameters. 2 equals 1 where there is one microbatch, as "
             "gradients do not outlive a step."},
    {OPTION(zero, axis, axis_list), .offset = AT(zero.axes), .standard = "null",
     .help = "The mesh axis of ZeRO or a list of them, mostly those that shard the batch and "
             "the sequence; each array is sharded over those that do not shard it already, "
             "along its longest dimension that they divide."},
    {WORD(zero, layout, zero_layouts), .standard = "flat",
     .help = "How arrays are sharded of which no dimension divides: flat by elements, as "
             "Megatron-LM and DeepSpeed do, pad by rows of the first dimension, as PyTorch's "
             "FSDP2 does. Either way pieces are equal, the last with padding."},
    {OPTION(zero, reshard_after_forward, reshard), .offset = AT(zero.reshard),
     .standard = "default",
     .help = "With stage 3, whether gathered parameters are sharded again behind the forward "
             "phase, and gathered again for the backward phase. always: less memory, half as "
             "many bytes again. never: they are kept for the backward phase, and in a pipeline "
             "gathered once a step, for all its microbatches. default: never in a pipeline, "
             "else always. A number: they stay sharded over so many neighbours of zero.axis, "
             "which gather them again among themselves. true and false are always and never."},
    {INT(zero, prefetch, 0, SCENARIO_PREFETCH_MAX), .standard = "1", .unit = "layers",
     .help = "With stage 3, how many layers ahead parameters are gathered, beside computations; "
             "they take memory for longer. 0: when they are wanted."},
    {FIELD(pipeline, axis, axis), .standard = "null",
     .help = "The mesh axis whose ranks hold the stages; it shards no array."},
    {FIELD(pipeline, schedule, name), .standard = "1F1B",
     .help = "The schedule: in which order each rank does what. 'shardsim show timetable all' "
             "lists them."},
    {INT(pipeline, stages_per_rank, 0, 65536), .standard = "0",
     .help = "The number of virtual stages of each rank; 0 means as many as the schedule is "
             "made for."},
    {FIELD(pipeline, layers, layers), .standard = "null",
     .help = "The number of layers of each stage, from the first one on, as a list or as "
             "Megatron-LM's layout: E is the embedding, t a layer, L the head, with a bar between "
             "stages, as in \"Et*3|(tt|)*2L\". weighed: so that the stage with the most work has "
             "as little as can be, the embedding and the head counted by their flops, or with "
             "`hardware` by their time. null: as even as can be, neither counted."},
    {OPTION(pipeline, place, places), .offset = AT(pipeline.places), .standard = "[]",
     .help = "The stage, from 0, of what a name pattern matches; the first match counts. By "
             "default what comes before the layers is in the first stage, and what follows them "
             "in the last."},
    {TOP(recompute, recompute), .standard = "none",
     .help = "What the backward phase computes again instead of keeping it. selective: "
             "attention, or in a map the modules of a layer that Megatron-LM names (core_attn, "
             "layernorm, mlp, moe, moe_act, shared_experts, mla_up_proj); full: all inside a "
             "layer; a policy: all but what it keeps, by op as torchtitan's (selective_op), or by "
             "name as MaxText's (minimal, minimal_with_context, save_dot_with_context_except_mlp, "
             "save_dot_except_mlp, save_dot_except_mlpwi, save_qkv_proj, save_out_proj, or in "
             "the host's memory qkv_proj_offloaded, minimal_offloaded); a list: "
             "forward values whose names match a pattern. In a map, every: of each every-th group "
             "of so many layers, at offset; first: up to the first so many; count: whether layers "
             "are counted in the model or in each stage; keep: except values that match a pattern, "
             "or results of ops, as op:attention, op:product/2 (every second product of a layer), "
             "op:dense (products but for those of experts), op:sum (sums over devices of tensor "
             "parallelism), op:exchange (rows that went to experts and back), op:choice (of "
             "experts); whole: also what nobody reads again, as where a layer is called a second "
             "time; hold: kept results stay until their layer is computed again, also those that "
             "nobody reads then, as without a compiler."},
    {OPTION(offload, activations, values), .offset = AT(offload.activations), .standard = "none",
     .help = "Which values of the forward phase wait in the host's memory for the backward phase: "
             "none, all, or a list of those whose names match a pattern. Only what the backward "
             "phase reads is copied; recompute says what it need not read. The device's memory is "
             "free once the next layer is done."},
    {INT(offload, layers, 0, 65536), .standard = "0",
     .help = "The number of layers, from the first on, of which activations are offloaded; 0 means "
             "all, and what is outside of layers. The last layers need not leave: their values are "
             "wanted soonest."},
    {FIELD(offload, optimizer, amount), .max = 1, .standard = "0",
     .help = "For which part of the parameters the host keeps the optimizer's state (master copies "
             "and moments) and computes the update, as ZeRO-Offload: whole arrays, from the first "
             "on, until they are that part. Gradients go to the host, and new parameters come "
             "back. 1: all."},
    {FIELD(offload, parameters, bool), .standard = "false",
     .help = "Whether parameters lie in the host's memory, as with ZeRO-Infinity: each device has "
             "its shard there, copied anew for each layer and phase, and then gathered."},
    {INT(offload, prefetch, 0, SCENARIO_PREFETCH_MAX), .standard = "1", .unit = "layers",
     .help = "How many layers ahead of its reader an array comes from the host, beside "
             "computations; it takes memory for longer. 0: when it is wanted."},
    {TOP(gathered, word), .offset = AT(gathered), .words = gathered, .standard = "again",
     .help = "Values that were gathered for the forward phase, where the backward phase reads "
             "them too, as the inputs of products under sequence parallelism. again: their "
             "shards are kept and gathered once more, as Megatron does. keep: the whole arrays "
             "are kept, as PyTorch does, for fewer bytes moved and more memory: of two inputs "
             "of s b h elements a layer over t devices, 4 s b h (1 - 1/t) bytes in 16 bits, and "
             "2 of 6 gathers less. With placement search, which prices one gather, they are kept "
             "if the step fits. Parameters: zero.reshard_after_forward."},
    {TOP(hardware, cluster), .offset = AT(hardware), .standard = "null",
     .help = "The cluster for which a plan's time is modelled: a name that 'shardsim show "
             "hardware' lists, or the path of a file (docs/hardware.md). With --set, "
             "hardware.tiers.1.rate=100GB/s supposes another number of it."},
    {TOP(software, word), .offset = AT(software), .words = software_names, .standard = "cluster",
     .help = "The software that runs the job: what it overlaps and fuses, and the types of its "
             "gradients (docs/hardware.md), in place of what the cluster's file has (cluster). "
             "Import writes that of the job."},
    {TOP(slices, int), .offset = AT(slices), .min = 1, .max = INT32_MAX, .standard = "1",
     .help = "The number of equal slices of devices, where the cluster's links are a torus."},
    {TOP(placement, word), .offset = AT(placement), .words = placements, .standard = "follow",
     .help = "How arrays are sharded that no rule names: follow takes mesh axes only from rules, "
             "constraints and operands; search minimizes bytes, or with price: time the time."},
    {TOP(uneven, word), .offset = AT(uneven), .words = unevens, .standard = "refuse",
     .help = "What becomes of a dimension that does not divide by the axes that rules, axes and "
             "constraints put on it, as 50257 words over 8: an error, or with pad it is made "
             "longer by zeros until it divides, as partitioners of whole programs do; what "
             "padding costs is counted and told, and it changes no result."},
    {TOP(price, word), .offset = AT(price), .words = prices, .standard = "bytes",
     .help = "What reshards and the layouts of a search are compared by: the bytes that devices "
             "receive, or the time on the cluster of hardware. The faster of the two steps is "
             "then taken."},
    {TOP(rules, word), .offset = AT(rules), .words = rules_from, .standard = "params",
     .help = "Where the specs of parameters come from: the list in params, or (auto) their "
             "shapes, for mesh axes named dp, fsdp, sp and tp."},
    {TOP(params, params), .standard = "[]",
     .help = "How parameters are sharded. The first pattern found in a name wins, and a name "
             "that none matches is an error; [.*, []] at the end replicates the rest."},
    {TOP(axes, axes), .standard = "{}",
     .help = "The mesh axes that shard a logical axis (batch, seq, ... or a dimension of graph) "
             "of inputs."},
    {TOP(partition_axis, partition_axis), .standard = "null",
     .help = "Names that specs may have in place of mesh axes: batch, query_sequence, head, ... "
             "{} means batch over [fsdp, dp], sequences over sp, heads, mlp and vocab over tp, "
             "expert over ep; mode: generation takes the generation_ ones."},
    {TOP(constraints, constraints), .standard = "[]",
     .help = "How activations are sharded where `axes` does not say enough; the first match wins."},
    {TOP(algorithms, algorithms), .standard = "{}",
     .help = "The algorithm of a kind of collective, such as {all-reduce: ring}: executed, counted "
             "and timed step by step.  Without it, bytes are those of direct exchanges and times "
             "those of the cluster's library."},
    {WORD(overlap, gradients, besides), .standard = "cluster",
     .help = "Whether gradients are summed beside the backward phase: cluster, as the cluster's "
             "software does (overlaps_gradients), or true or false, as options of the job say: "
             "--overlap-grad-reduce of Megatron-LM, overlap_comm of DeepSpeed."},
    {WORD(overlap, weights, besides), .standard = "cluster",
     .help = "Whether weights are gathered beside computation: with ZeRO's stages 1 and 2 what the "
             "update gathers, unless false, for which computation waits (Megatron-LM without "
             "--overlap-param-gather; with it the next step's forward phase hides more than a plan "
             "of one step shows). With stage 3 zero.prefetch says how far ahead; a search takes "
             "none where this is false (overlaps_weights)."},
    {WORD(overlap, products, besides), .standard = "cluster",
     .help = "Whether activations are gathered or reduce-scattered piece by piece beside the "
             "product that reads or makes them (overlaps_products): --tp-comm-overlap of "
             "Megatron-LM, enable_async_tensor_parallel of torchtitan."},
    {WORD(overlap, sends, besides), .standard = "cluster",
     .help = "Whether messages between stages travel beside computation where a rank has several "
             "stages (overlaps_sends): false for --no-overlap-p2p-communication of Megatron-LM."},
    {WORD(overlap, pairs, besides), .standard = "cluster",
     .help = "Whether experts' rows of one microbatch travel beside the computation of another, in "
             "schedules with overlapped pairs (overlaps_pairs)."},
    {WORD(fused, loss, besides), .standard = "cluster",
     .help = "Whether cross-entropy is one kernel that reads logits as the head makes them and "
             "leaves their gradients so, without copies in float32: --cross-entropy-loss-fusion of "
             "Megatron-LM, a compiled loss of torchtitan, Liger's. cluster: as the software does "
             "(fuses_loss)."},
    {WORD(fused, activation, besides), .standard = "cluster",
     .help = "Whether a gated activation keeps its operands for the backward phase and not what "
             "lies between them, which is computed again: false for --no-bias-swiglu-fusion of "
             "Megatron-LM. cluster: as the software does (fuses_activation)."},
    {INT(fused, loss_chunks, 1, 65536), .standard = "1", .kinds = OF_TOKENS,
     .help = "The number of chunks of a microbatch's tokens, one after the other, for which the "
             "head and the loss are computed, so that a device has the logits of one chunk alone: "
             "num_vocab_tiling of MaxText, ChunkedLossWrapper of torchtitan, "
             "fused_linear_cross_entropy of Liger."},
    {WORD(fused, loss_again, besides), .standard = "cluster", .kinds = OF_TOKENS,
     .help = "Whether the backward phase computes the logits of each chunk again (MaxText, "
             "Megatron-LM's linear_cross_entropy), or a chunk's gradients are computed with its "
             "loss (torchtitan, Liger). cluster: as the software does (chunks_again)."},
    {INT(straggler, device, 0, INT32_MAX), .standard = "0",
     .help = "The position of the slower device in the mesh."},
    {FIELD(straggler, compute, number), .max = 1000000, .standard = "null",
     .help = "How many times as long its computations take; null means no longer."},
    {FIELD(straggler, links, number), .max = 1000000, .standard = "null",
     .help = "How many times as long the transfers take that it takes part in; null means no "
             "longer."},
    {FIELD(limits, memory, memory), .standard = "null",
     .help = "The memory of one device, without what its runtime keeps: bytes, or, as servers have "
             "it, a part of what the cluster's devices have (90%); null means no limit."},
    {INT(limits, sequences, 0, INT32_MAX), .standard = "0", .unit = "sequences",
     .help = "The most sequences that devices which share them take at once, as a server's "
             "--max-num-seqs; 0 means any number."},
    {INT(limits, tokens, 0, INT32_MAX), .standard = "0", .unit = "tokens",
     .help = "The most tokens that devices which share sequences keep of them, as a server's "
             "--max-total-tokens; 0 means any number."},
    {OPTION(transfers, rate, rate), .offset = AT(transfers.bytes_per_s), .standard = "200GB/s",
     .help = "The rate of transfers into each device, by default about that of one "
             "accelerator's links to its neighbours."},
    {OPTION(transfers, latency, time), .offset = AT(transfers.latency_ns), .standard = "5us",
     .help = "The latency before the first byte."},
    {TOP(tolerance, number), .offset = AT(tolerance), .max = 1, .standard = "null",
     .help = "The largest max |a-b| / max |b| of results, in addition to the error bound of "
             "each element; of none that is 0 in exact arithmetic."},
    {TOP(seed, int), .offset = AT(seed), .min = 0, .max = INT64_MAX, .standard = "0",
     .help = "The seed of parameters and inputs."},
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
