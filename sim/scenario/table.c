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
    [SCENARIO_GRAPH] = "graph",
    [SCENARIO_NKINDS] = NULL,
};

/* Bit masks of the kinds of models that have an option. */
#define OF(kind) (1u << (kind))
#define OF_GRAPH OF(SCENARIO_GRAPH)
#define OF_TRANSFORMER OF(SCENARIO_TRANSFORMER)
#define OF_T5 OF(SCENARIO_T5)
#define OF_EXPERTS (OF(SCENARIO_MIXTRAL) | OF(SCENARIO_DEEPSEEK))
#define OF_PUBLISHED (OF(SCENARIO_GPT2) | OF(SCENARIO_LLAMA3) | OF_T5 | OF_EXPERTS)
#define OF_DECODERS (OF_TRANSFORMER | OF(SCENARIO_GPT2) | OF(SCENARIO_LLAMA3) | OF_EXPERTS)
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

static const char *const activations[] = {
    [SCENARIO_GELU] = "gelu", [SCENARIO_SWIGLU] = "swiglu", [SCENARIO_RELU] = "relu",
    [SCENARIO_SILU] = "silu", [SCENARIO_GEGLU] = "geglu",   [SCENARIO_NACTIVATIONS] = NULL,
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

static const char *const routings[] = {
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
    {"optimizer", "how parameters are updated"},
    {"types", "the element types of what is kept and updated"},
    {"loss_scale", "what keeps gradients in the range of float16"},
    {"zero", "ZeRO: what is sharded in addition to the batch"},
    {"pipeline", "layers in stages, one after the other"},
    {"straggler", "a device that is slower than those like it, where time is of a cluster"},
    {"limits", "the limits of a device"},
    {"transfers", "the rate and latency of transfers where the step is replayed"},
};
const size_t option_section_count = COUNT(option_sections);

const struct option_section option_file_keys[] = {
    {"version", "The version of this file format: 1; required."},
    {"strategies", "A list of maps, each with a name and the options that it overrides."},
    {"sweep", "Strategies from lists of mesh sizes and rule sets: devices, mesh, rules."},
};
const size_t option_file_key_count = COUNT(option_file_keys);

const struct option option_table[] = {
    {
        .key = "name",
        .type = &value_name,
        .offset = AT(name),
        .help = "The name of the scenario; the name of the file by default.",
    },
    {
        .key = "mesh",
        .type = &value_mesh,
        .required = true,
        .help = "The mesh of devices: names and sizes of its axes. Device ids are row-major: the "
                "last axis varies fastest.",
    },
    {
        .section = "model",
        .key = "kind",
        .type = &value_word,
        .required = true,
        .offset = AT(model.kind),
        .words = kinds,
        .help = "What is computed. A file with a graph section has kind graph.",
    },
    {
        .section = "model",
        .key = "d_model",
        .type = &value_int,
        .required = true,
        .sized = OF_PUBLISHED,
        .kinds = OF_PRESETS,
        .offset = AT(model.d_model),
        .min = 1,
        .max = INT32_MAX,
        .unit = "elements",
        .help = "The width between layers (logical axis embed).",
    },
    {
        .section = "model",
        .key = "d_ff",
        .type = &value_int,
        .required = true,
        .sized = OF_PUBLISHED,
        .kinds = OF_MLPS,
        .offset = AT(model.d_ff),
        .min = 1,
        .max = INT32_MAX,
        .unit = "elements",
        .help = "The width inside an mlp layer (logical axis mlp).",
    },
    {
        .section = "model",
        .key = "activation",
        .type = &value_word,
        .kinds = OF_MLPS,
        .offset = AT(model.activation),
        .words = activations,
        .standard = "gelu",
        .help = "The activation between the matrix products of an mlp; swiglu and geglu add a gate "
                "kernel.",
    },
    {
        .section = "model",
        .key = "layers",
        .type = &value_int,
        .kinds = OF_PRESETS,
        .offset = AT(model.layers),
        .min = 1,
        .max = 65536,
        .standard = "1",
        .help = "The number of layers, one after the other; of t5, the layers of the encoder.",
    },
    {
        .section = "model",
        .key = "bias",
        .type = &value_bool,
        .kinds = OF_MLPS & ~OF_T5,
        .offset = AT(model.bias),
        .standard = "false",
        .help = "Whether the kernels of mlp layers have a bias.",
    },
    {
        .section = "model",
        .key = "heads",
        .type = &value_int,
        .required = true,
        .sized = OF_PUBLISHED,
        .kinds = OF_ATTENTION,
        .offset = AT(model.heads),
        .min = 1,
        .max = 65536,
        .help = "The number of query heads (logical axis heads).",
    },
    {
        .section = "model",
        .key = "kv_heads",
        .type = &value_int,
        .kinds = OF_ATTENTION & ~OF_T5,
        .offset = AT(model.kv_heads),
        .min = 1,
        .max = 65536,
        .help = "The number of heads of keys and values (logical axis kv_heads), a divisor of "
                "heads; equal to heads by default.",
    },
    {
        .section = "model",
        .key = "head_dim",
        .type = &value_int,
        .kinds = OF_ATTENTION,
        .offset = AT(model.head_dim),
        .min = 1,
        .max = INT32_MAX,
        .unit = "elements",
        .help = "The width of a head (logical axis head_dim); d_model / heads by default.",
    },
    {
        .section = "model",
        .key = "causal",
        .type = &value_bool,
        .kinds = OF_ATTENTION & ~OF_PUBLISHED,
        .offset = AT(model.causal),
        .standard = "true",
        .help = "Whether a token attends only to itself and to the tokens before it.",
    },
    {
        .section = "model",
        .key = "rope",
        .type = &value_rope,
        .kinds = OF_ATTENTION & ~(OF(SCENARIO_GPT2) | OF_T5),
        .standard = "null",
        .help =
            "The rotary embedding of queries and keys; {} means theta 10000, with pairs of halves.",
    },
    {
        .section = "model",
        .key = "norm",
        .type = &value_word,
        .kinds = OF_BLOCKS,
        .offset = AT(model.norm),
        .words = norms,
        .standard = "rms",
        .help = "The normalization before attention and before the mlp.",
    },
    {
        .section = "model",
        .key = "vocab",
        .type = &value_int,
        .required = true,
        .sized = OF_PUBLISHED,
        .kinds = OF_TOKENS,
        .offset = AT(model.vocab),
        .min = 1,
        .max = INT32_MAX,
        .unit = "tokens",
        .help = "The size of the vocabulary (logical axis vocab).",
    },
    {
        .section = "model",
        .key = "attention_bias",
        .type = &value_word,
        .kinds = OF_ATTENTION & ~OF_T5,
        .offset = AT(model.attention_bias),
        .words = attention_biases,
        .standard = "none",
        .help = "Which kernels of attention have a bias.",
    },
    {
        .section = "model",
        .key = "qk_norm",
        .type = &value_bool,
        .kinds = OF_BLOCKS,
        .offset = AT(model.qk_norm),
        .standard = "false",
        .help = "Whether queries and keys are normalised before positions are rotated into them, "
                "each head by itself, with a scale of head_dim (as model.norm says).",
    },
    {
        .section = "model",
        .key = "attention",
        .type = &value_word,
        .kinds = OF_SELF_ATTENTION,
        .offset = AT(model.attention),
        .words = attentions,
        .standard = "fused",
        .help = "fused is one kernel, which keeps no scores; unfused is products and a softmax, "
                "whose scores are arrays of seq by seq, above the causal mask too.",
    },
    {
        .section = "model",
        .key = "norm_eps",
        .type = &value_number,
        .kinds = OF_BLOCKS | OF_T5,
        .offset = AT(model.norm_eps),
        .max = 1,
        .standard = "null",
        .help = "The number that is added to variances; null means 1e-6 for RMS norms and 1e-5 for "
                "layer norms.",
    },
    {
        .section = "model",
        .key = "window",
        .type = &value_int,
        .kinds = OF_SELF_ATTENTION,
        .offset = AT(model.window),
        .min = 0,
        .max = INT32_MAX,
        .standard = "0",
        .unit = "tokens",
        .help = "The sliding window of causal attention: the number of latest tokens, itself "
                "included, that a token attends to; 0 means all.",
    },
    {
        .section = "model",
        .key = "positions",
        .type = &value_int,
        .kinds = OF_TRANSFORMER | OF(SCENARIO_GPT2),
        .offset = AT(model.positions),
        .min = 0,
        .max = INT32_MAX,
        .standard = "0",
        .unit = "tokens",
        .help = "The number of learned position embeddings (logical axis positions), at least seq; "
                "0 means none.",
    },
    {
        .section = "model",
        .key = "tied",
        .type = &value_bool,
        .kinds = OF_TOKENS,
        .offset = AT(model.tied),
        .standard = "false",
        .help = "Whether the head shares the embedding's table.",
    },
    {
        .section = "model",
        .key = "decoder_layers",
        .type = &value_int,
        .kinds = OF_T5,
        .offset = AT(model.decoder_layers),
        .min = 1,
        .max = 65536,
        .help = "The number of decoder layers; equal to layers by default.",
    },
    {
        .section = "model",
        .key = "buckets",
        .type = &value_int,
        .kinds = OF_T5,
        .offset = AT(model.buckets),
        .min = 4,
        .max = 256,
        .standard = "32",
        .help = "The number of buckets of relative positions, each with a bias for each head "
                "(logical axis buckets).",
    },
    {
        .section = "model",
        .key = "distance",
        .type = &value_int,
        .kinds = OF_T5,
        .offset = AT(model.distance),
        .min = 2,
        .max = INT32_MAX,
        .standard = "128",
        .unit = "tokens",
        .help = "The distance from which on all positions share the last bucket.",
    },
    {
        .section = "model",
        .key = "size",
        .type = &value_size,
        .kinds = OF_PUBLISHED,
        .offset = AT(model.size),
        .standard = "custom",
        .help = "A published model, which sets the kind and whatever is not given here; custom "
                "means none.",
    },
    {
        .section = "model",
        .key = "scale",
        .type = &value_fraction,
        .kinds = OF_PUBLISHED,
        .offset = AT(model.scale),
        .standard = "1",
        .help = "The factor by which the model of size or from shrinks: layers, widths and "
                "vocabulary, and heads only when they are as narrow as can be; rounded up so that "
                "mesh axes still divide them.",
    },
    {
        .section = "model",
        .key = "from",
        .type = &value_file,
        .kinds = OF_PUBLISHED,
        .offset = AT(model.from),
        .standard = "null",
        .help = "A config.json of Hugging Face (gpt2, llama, mistral, mixtral, qwen2, deepseek_v2, "
                "deepseek_v3, t5), which sets the kind and whatever is not given here; the path "
                "starts at this file's directory.",
    },
    {
        .section = "model",
        .key = "dtype",
        .type = &value_word,
        .offset = AT(model.dtype),
        .words = dtypes,
        .standard = "float32",
        .help = "The element type of parameters and activations, in which the model is computed.",
    },
    {
        .section = "moe",
        .key = "experts",
        .type = &value_int,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.experts),
        .min = 0,
        .max = 65536,
        .standard = "0",
        .help = "The number of experts of each layer that has any (dimension expert); 0 means that "
                "layers have an mlp instead.",
    },
    {
        .section = "moe",
        .key = "top_k",
        .type = &value_int,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.top_k),
        .min = 1,
        .max = 64,
        .standard = "2",
        .unit = "experts",
        .help = "The number of experts that each token is sent to (dimension choice).",
    },
    {
        .section = "moe",
        .key = "d_ff",
        .type = &value_int,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.d_ff),
        .min = 0,
        .max = INT32_MAX,
        .standard = "0",
        .unit = "elements",
        .help = "The width inside an expert (dimension expert_mlp); 0 means that of the mlp, "
                "model.d_ff.",
    },
    {
        .section = "moe",
        .key = "shared",
        .type = &value_int,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.shared),
        .min = 0,
        .max = 1024,
        .standard = "0",
        .unit = "experts",
        .help = "The number of shared experts, which all tokens pass through as one mlp of their "
                "joint width (dimension shared_mlp).",
    },
    {
        .section = "moe",
        .key = "first_dense",
        .type = &value_int,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.first_dense),
        .min = 0,
        .max = 65536,
        .standard = "0",
        .unit = "layers",
        .help = "The number of leading layers that have an mlp instead of experts.",
    },
    {
        .section = "moe",
        .key = "every",
        .type = &value_int,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.every),
        .min = 1,
        .max = 65536,
        .standard = "1",
        .help = "Which of the layers after those have experts: 1 for each, 2 for every second, ...",
    },
    {
        .section = "moe",
        .key = "score",
        .type = &value_word,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.score),
        .words = scores,
        .standard = "softmax",
        .help = "The function that turns the router's logits into the scores by which experts are "
                "chosen, and into gates.",
    },
    {
        .section = "moe",
        .key = "renormalize",
        .type = &value_bool,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.renormalize),
        .standard = "true",
        .help = "Whether the gates of a token are divided by their sum.",
    },
    {
        .section = "moe",
        .key = "scale",
        .type = &value_amount,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.scale),
        .max = 1000,
        .standard = "1",
        .help = "The factor that gates are multiplied by.",
    },
    {
        .section = "moe",
        .key = "bias",
        .type = &value_bool,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.bias),
        .standard = "false",
        .help = "Whether a number for each expert is added to its score for the choice alone.",
    },
    {
        .section = "moe",
        .key = "groups",
        .type = &value_int,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.groups),
        .min = 1,
        .max = 65536,
        .standard = "1",
        .help = "The number of groups of experts: a token chooses among groups first. A group's "
                "score is the sum of its two highest scores.",
    },
    {
        .section = "moe",
        .key = "kept",
        .type = &value_int,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.kept),
        .min = 1,
        .max = 65536,
        .standard = "1",
        .help = "The number of groups from which a token chooses its experts.",
    },
    {
        .section = "moe",
        .key = "capacity",
        .type = &value_amount,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.capacity),
        .max = 65536,
        .standard = "0",
        .help = "The capacity factor: the tokens that an expert takes, relative to an even share; "
                "the rest are dropped. 0 means no limit.",
    },
    {
        .section = "moe",
        .key = "drop",
        .type = &value_word,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.drop),
        .words = drops,
        .standard = "tokens",
        .help = "What is dropped beyond the capacity: the last tokens of an expert's queue, or the "
                "last choices of all tokens.",
    },
    {
        .section = "moe",
        .key = "token_groups",
        .type = &value_int,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.token_groups),
        .min = 0,
        .max = 65536,
        .standard = "0",
        .help = "The number of groups of the sequences of a microbatch, each with queues and a "
                "capacity of its own; tokens are sent only inside their group. 0 means as many as "
                "the batch has shards along axes that do not shard experts, so that tokens stay "
                "among devices that have all experts.",
    },
    {
        .section = "moe",
        .key = "aux_loss",
        .type = &value_amount,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.aux_loss),
        .max = 1000,
        .standard = "0",
        .help = "The weight of the auxiliary loss that balances the load of experts.",
    },
    {
        .section = "moe",
        .key = "z_loss",
        .type = &value_amount,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.z_loss),
        .max = 1000,
        .standard = "0",
        .help = "The weight of the loss that keeps the router's logits small.",
    },
    {
        .section = "moe",
        .key = "routing",
        .type = &value_word,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.routing),
        .words = routings,
        .standard = "learned",
        .help = "Who routes tokens: the router (learned), or a workload in its place, which run "
                "and plan both know.",
    },
    {
        .section = "moe",
        .key = "skew",
        .type = &value_amount,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.skew),
        .max = 100,
        .standard = "0",
        .help = "The skew of a workload: the exponent of zipf (1), or the share of all tokens that "
                "the hot expert or rank has (0.5); 0 means the number in brackets.",
    },
    {
        .section = "moe",
        .key = "ranks",
        .type = &value_int,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.ranks),
        .min = 0,
        .max = 65536,
        .standard = "0",
        .help = "The number of ranks of a workload with a hot rank or ragged ranks; 0 means as "
                "many as there are shards of experts, or of the tokens of a group.",
    },
    {
        .section = "mla",
        .key = "kv_rank",
        .type = &value_int,
        .kinds = OF_BLOCKS,
        .offset = AT(model.mla.kv_rank),
        .min = 0,
        .max = INT32_MAX,
        .standard = "0",
        .unit = "elements",
        .help = "The width of the latent vector from which keys and values are made (dimension "
                "kv_rank); 0 means none.",
    },
    {
        .section = "mla",
        .key = "q_rank",
        .type = &value_int,
        .kinds = OF_BLOCKS,
        .offset = AT(model.mla.q_rank),
        .min = 0,
        .max = INT32_MAX,
        .standard = "0",
        .unit = "elements",
        .help = "The width of the latent vector from which queries are made (dimension q_rank); 0 "
                "means none.",
    },
    {
        .section = "mla",
        .key = "rope_dim",
        .type = &value_int,
        .kinds = OF_BLOCKS,
        .offset = AT(model.mla.rope_dim),
        .min = 2,
        .max = INT32_MAX,
        .standard = "64",
        .unit = "elements",
        .help = "The part of a head that rotary embedding is applied to, in addition to head_dim "
                "(dimension rope_dim).",
    },
    {
        .section = "mla",
        .key = "value_dim",
        .type = &value_int,
        .kinds = OF_BLOCKS,
        .offset = AT(model.mla.value_dim),
        .min = 1,
        .max = INT32_MAX,
        .standard = "128",
        .unit = "elements",
        .help = "The width of a head's values (dimension value_dim).",
    },
    {
        .section = "batch",
        .key = "size",
        .type = &value_int,
        .required = true,
        .kinds = OF_PRESETS,
        .offset = AT(batch.size),
        .min = 1,
        .max = INT32_MAX,
        .unit = "sequences",
        .help = "The number of sequences of a step, over all devices (logical axis batch).",
    },
    {
        .section = "batch",
        .key = "seq",
        .type = &value_int,
        .required = true,
        .kinds = OF_PRESETS,
        .offset = AT(batch.seq),
        .min = 1,
        .max = INT32_MAX,
        .unit = "tokens",
        .help = "The length of each sequence (logical axis seq).",
    },
    {
        .section = "batch",
        .key = "source",
        .type = &value_int,
        .kinds = OF_T5,
        .offset = AT(batch.source),
        .min = 1,
        .max = INT32_MAX,
        .unit = "tokens",
        .help = "The length of each sequence that the encoder reads (logical axis source); seq by "
                "default.",
    },
    {
        .section = "batch",
        .key = "microbatches",
        .type = &value_int,
        .kinds = OF_PRESETS,
        .offset = AT(batch.microbatches),
        .min = 1,
        .max = 4096,
        .standard = "1",
        .help = "The number of microbatches of a step, which divides the size. They run one after "
                "the other; gradients are summed and reduced once.",
    },
    {
        .section = "context",
        .key = "axis",
        .type = &value_axis,
        .kinds = OF_SELF_ATTENTION,
        .offset = AT(context.axis),
        .standard = "null",
        .help = "The mesh axis over whose ranks the tokens of a sequence are distributed; axes and "
                "constraints must shard the sequence over it.",
    },
    {
        .section = "context",
        .key = "method",
        .type = &value_word,
        .kinds = OF_SELF_ATTENTION,
        .offset = AT(context.method),
        .words = context_methods,
        .standard = "gather",
        .help = "How keys and values reach queries: gather gathers them all; ring passes blocks "
                "from neighbour to neighbour.",
    },
    {
        .section = "context",
        .key = "order",
        .type = &value_word,
        .kinds = OF_SELF_ATTENTION,
        .offset = AT(context.order),
        .words = orders,
        .standard = "contiguous",
        .help = "Which tokens a rank has: one contiguous piece, one piece from the head and one "
                "from the tail (zigzag), or every n-th token (striped).",
    },
    {
        .section = "context",
        .key = "documents",
        .type = &value_documents,
        .kinds = OF_SELF_ATTENTION,
        .standard = "null",
        .help = "The documents packed in each sequence, of pseudo-random lengths or of given ones: "
                "a token attends only to its own document.",
    },
    {
        .key = "data",
        .type = &value_file,
        .kinds = OF_TOKENS,
        .offset = AT(data.path),
        .standard = "null",
        .help = "A text whose bytes are the tokens, and whose next byte is a token's label; the "
                "path starts at this file's directory. Sequence r of b begins at r/b of the text "
                "and reads on in each step, starting over at the end; null means random tokens.",
    },
    {
        .section = "graph",
        .key = "dims",
        .type = &value_dims,
        .required = true,
        .kinds = OF_GRAPH,
        .help = "The dimensions: names and sizes. Each is a logical axis.",
    },
    {
        .section = "graph",
        .key = "inputs",
        .type = &value_arrays,
        .kinds = OF_GRAPH,
        .offset = AT(graph.inputs),
        .standard = "{}",
        .help = "The inputs, arrays of random numbers; with below, whole numbers below the size of "
                "a dimension.",
    },
    {
        .section = "graph",
        .key = "params",
        .type = &value_arrays,
        .kinds = OF_GRAPH,
        .offset = AT(graph.params),
        .standard = "{}",
        .help = "The parameters, arrays that are learned.",
    },
    {
        .section = "graph",
        .key = "ops",
        .type = &value_ops,
        .required = true,
        .kinds = OF_GRAPH,
        .help = "The ops, a line each, such as h[b,s,f] = gelu(einsum(x[b,s,d], w1[d,f])); "
                "'shardsim show functions' lists the functions.",
    },
    {
        .section = "graph",
        .key = "outputs",
        .type = &value_outputs,
        .kinds = OF_GRAPH,
        .standard = "[]",
        .help = "The names of the results; by default that of the last op.",
    },
    {
        .key = "step",
        .type = &value_step,
        .standard = "[forward, backward]",
        .help = "The phases of one step; update needs an optimizer.",
    },
    {
        .key = "steps",
        .type = &value_int,
        .offset = AT(steps),
        .min = 1,
        .max = SCENARIO_STEPS_MAX,
        .standard = "1",
        .help = "The number of steps. Each has data of its own and the parameters that the step "
                "before left; more than one needs an update.",
    },
    {
        .section = "optimizer",
        .key = "kind",
        .type = &value_word,
        .offset = AT(optimizer.kind),
        .words = optimizer_kinds,
        .standard = "none",
        .help = "The optimizer. Its state begins as zeros and is named opt/KIND/PARAMETER.",
    },
    {
        .section = "optimizer",
        .key = "lr",
        .type = &value_amount,
        .offset = AT(optimizer.lr),
        .max = 1000,
        .standard = "0.001",
        .help = "The learning rate at its highest.",
    },
    {
        .section = "optimizer",
        .key = "warmup",
        .type = &value_int,
        .offset = AT(optimizer.warmup),
        .min = 0,
        .max = SCENARIO_STEPS_MAX,
        .standard = "0",
        .unit = "steps",
        .help = "The number of steps in which the learning rate grows linearly to lr.",
    },
    {
        .section = "optimizer",
        .key = "decay",
        .type = &value_word,
        .offset = AT(optimizer.decay),
        .words = decays,
        .standard = "constant",
        .help =
            "The decay of the learning rate after the warm-up; cosine reaches 0 at the last step.",
    },
    {
        .section = "optimizer",
        .key = "betas",
        .type = &value_betas,
        .standard = "[0.9, 0.999]",
        .help = "The two betas of adamw: how much of its moments is kept from step to step.",
    },
    {
        .section = "optimizer",
        .key = "eps",
        .type = &value_amount,
        .offset = AT(optimizer.eps),
        .max = 1,
        .standard = "1e-8",
        .help = "The epsilon of adamw, which is added to the divisor of an update.",
    },
    {
        .section = "optimizer",
        .key = "weight_decay",
        .type = &value_amount,
        .offset = AT(optimizer.weight_decay),
        .max = 1000,
        .standard = "0",
        .help = "The weight decay of every parameter; decoupled from the gradient with adamw, part "
                "of it with sgd.",
    },
    {
        .section = "optimizer",
        .key = "momentum",
        .type = &value_amount,
        .offset = AT(optimizer.momentum),
        .max = 1,
        .standard = "0",
        .help = "The momentum of sgd; 0 keeps no state.",
    },
    {
        .section = "optimizer",
        .key = "clip",
        .type = &value_amount,
        .offset = AT(optimizer.clip),
        .max = 1000000,
        .standard = "0",
        .help = "The norm to which all gradients together are clipped; 0 does not clip.",
    },
    {
        .section = "types",
        .key = "parameters",
        .type = &value_word,
        .offset = AT(types.parameters),
        .words = parameter_types,
        .standard = "compute",
        .help = "The type in which parameters are updated. Where it is not model.dtype, each "
                "parameter has a master copy, opt/master/PARAMETER.",
    },
    {
        .section = "types",
        .key = "gradients",
        .type = &value_word,
        .offset = AT(types.gradients),
        .words = update_types,
        .standard = "parameters",
        .help = "The type in which gradients are summed over microbatches.",
    },
    {
        .section = "types",
        .key = "moments",
        .type = &value_word,
        .offset = AT(types.moments),
        .words = update_types,
        .standard = "parameters",
        .help = "The type of the optimizer's other state; updates are computed in the type of the "
                "parameters.",
    },
    {
        .section = "types",
        .key = "reduce",
        .type = &value_word,
        .offset = AT(types.reduce),
        .words = update_types,
        .standard = "parameters",
        .help = "The type in which gradients are reduced over devices.",
    },
    {
        .section = "loss_scale",
        .key = "kind",
        .type = &value_word,
        .offset = AT(loss_scale.kind),
        .words = loss_scales,
        .standard = "none",
        .help = "Whether the loss is scaled before gradients are taken. A step whose gradients are "
                "not finite is skipped, and a dynamic scale is then halved.",
    },
    {
        .section = "loss_scale",
        .key = "initial",
        .type = &value_int,
        .offset = AT(loss_scale.initial),
        .min = 1,
        .max = 1 << 30,
        .standard = "65536",
        .help = "The scale, or the first one of a dynamic scale.",
    },
    {
        .section = "loss_scale",
        .key = "growth_interval",
        .type = &value_int,
        .offset = AT(loss_scale.growth_interval),
        .min = 1,
        .max = SCENARIO_STEPS_MAX,
        .standard = "2000",
        .unit = "steps",
        .help = "The number of steps in a row without a skipped one after which a dynamic scale is "
                "doubled.",
    },
    {
        .section = "zero",
        .key = "stage",
        .type = &value_int,
        .offset = AT(zero.stage),
        .min = 0,
        .max = 3,
        .standard = "0",
        .help = "What is sharded over the axes of zero.axis too: 1 the optimizer's state, 2 also "
                "gradients, 3 also parameters. 2 equals 1 where there is one microbatch, as "
                "gradients do not outlive a step.",
    },
    {
        .section = "zero",
        .key = "axis",
        .type = &value_axis_list,
        .offset = AT(zero.axes),
        .standard = "null",
        .help = "The mesh axis of ZeRO or a list of them, mostly those that shard the batch and "
                "the sequence; each array is sharded over those that do not shard it already, "
                "along its longest dimension that they divide.",
    },
    {
        .section = "zero",
        .key = "layout",
        .type = &value_word,
        .offset = AT(zero.layout),
        .words = zero_layouts,
        .standard = "flat",
        .help = "How arrays are sharded of which no dimension divides: flat by elements, as "
                "Megatron-LM and DeepSpeed do, pad by rows of the first dimension, as PyTorch's "
                "FSDP2 does. Either way pieces are equal, the last with padding.",
    },
    {
        .section = "zero",
        .key = "reshard_after_forward",
        .type = &value_reshard,
        .offset = AT(zero.reshard),
        .standard = "default",
        .help = "With stage 3, whether gathered parameters are sharded again behind the forward "
                "phase, and gathered again for the backward phase. always: less memory, half as "
                "many bytes again. never: they are kept for the backward phase, and in a pipeline "
                "gathered once a step, for all its microbatches. default: never in a pipeline, "
                "else always. A number: they stay sharded over so many neighbours of zero.axis, "
                "which gather them again among themselves. true and false are always and never.",
    },
    {
        .section = "zero",
        .key = "prefetch",
        .type = &value_int,
        .offset = AT(zero.prefetch),
        .min = 0,
        .max = SCENARIO_PREFETCH_MAX,
        .standard = "1",
        .unit = "layers",
        .help = "With stage 3, how many layers ahead parameters are gathered, beside computations; "
                "they take memory for longer. 0: when they are wanted.",
    },
    {
        .section = "pipeline",
        .key = "axis",
        .type = &value_axis,
        .offset = AT(pipeline.axis),
        .standard = "null",
        .help = "The mesh axis whose ranks hold the stages; it shards no array.",
    },
    {
        .section = "pipeline",
        .key = "schedule",
        .type = &value_name,
        .offset = AT(pipeline.schedule),
        .standard = "1F1B",
        .help = "The schedule: in which order each rank does what. 'shardsim show timetable all' "
                "lists them.",
    },
    {
        .section = "pipeline",
        .key = "stages_per_rank",
        .type = &value_int,
        .offset = AT(pipeline.stages_per_rank),
        .min = 0,
        .max = 65536,
        .standard = "0",
        .help = "The number of virtual stages of each rank; 0 means as many as the schedule is "
                "made for.",
    },
    {
        .section = "pipeline",
        .key = "layers",
        .type = &value_layers,
        .offset = AT(pipeline.layers),
        .standard = "null",
        .help = "The number of layers of each stage, from the first one on; null means as even as "
                "can be.",
    },
    {
        .section = "pipeline",
        .key = "place",
        .type = &value_places,
        .offset = AT(pipeline.places),
        .standard = "[]",
        .help = "The stage, from 0, of what a name pattern matches; the first match counts. By "
                "default what comes before the layers is in the first stage, and what follows them "
                "in the last.",
    },
    {
        .key = "recompute",
        .type = &value_recompute,
        .standard = "none",
        .help = "What the backward phase computes again instead of keeping it. selective: "
                "attention; full: all inside a layer; a list: forward values whose names match a "
                "pattern. In a map, every: of each every-th group of so many layers; first: up to "
                "the first so many; keep: except values that match; whole: also what nobody reads "
                "again, as where a layer is called a second time.",
    },
    {
        .key = "gathered",
        .type = &value_word,
        .offset = AT(gathered),
        .words = gathered,
        .standard = "again",
        .help =
            "Values that were gathered for the forward phase, where the backward phase reads "
            "them too, as the inputs of products under sequence parallelism. again: their "
            "shards are kept and gathered once more, as Megatron does. keep: the whole arrays "
            "are kept, as PyTorch does, for fewer bytes moved and more memory: of two inputs "
            "of s b h elements a layer over t devices, 4 s b h (1 - 1/t) bytes in 16 bits, and "
            "2 of 6 gathers less. With placement search, which prices one gather, they are kept "
            "if the step fits. Parameters: zero.reshard_after_forward.",
    },
    {
        .key = "hardware",
        .type = &value_cluster,
        .offset = AT(hardware),
        .standard = "null",
        .help = "The cluster for which a plan's time is modelled: a name that 'shardsim show "
                "hardware' lists, or the path of a file (docs/hardware.md). With --set, "
                "hardware.tiers.1.rate=100GB/s supposes another number of it.",
    },
    {
        .key = "slices",
        .type = &value_int,
        .offset = AT(slices),
        .min = 1,
        .max = INT32_MAX,
        .standard = "1",
        .help = "The number of equal slices of devices, where the cluster's links are a torus.",
    },
    {
        .key = "placement",
        .type = &value_word,
        .offset = AT(placement),
        .words = placements,
        .standard = "follow",
        .help =
            "How arrays are sharded that no rule names: follow takes mesh axes only from rules, "
            "constraints and operands; search minimizes bytes, or with price: time the time.",
    },
    {
        .key = "uneven",
        .type = &value_word,
        .offset = AT(uneven),
        .words = unevens,
        .standard = "refuse",
        .help = "What becomes of a dimension that does not divide by the axes that rules, axes and "
                "constraints put on it, as 50257 words over 8: an error, or with pad it is made "
                "longer by zeros until it divides, as partitioners of whole programs do; what "
                "padding costs is counted and told, and it changes no result.",
    },
    {
        .key = "price",
        .type = &value_word,
        .offset = AT(price),
        .words = prices,
        .standard = "bytes",
        .help = "What reshards and the layouts of a search are compared by: the bytes that devices "
                "receive, or the time on the cluster of hardware. The faster of the two steps is "
                "then taken.",
    },
    {
        .key = "rules",
        .type = &value_word,
        .offset = AT(rules),
        .words = rules_from,
        .standard = "params",
        .help = "Where the specs of parameters come from: the list in params, or (auto) their "
                "shapes, for mesh axes named dp, fsdp, sp and tp.",
    },
    {
        .key = "params",
        .type = &value_params,
        .standard = "[]",
        .help = "How parameters are sharded. The first pattern found in a name wins, and a name "
                "that none matches is an error; [.*, []] at the end replicates the rest.",
    },
    {
        .key = "axes",
        .type = &value_axes,
        .standard = "{}",
        .help = "The mesh axes that shard a logical axis (batch, seq, ... or a dimension of graph) "
                "of inputs.",
    },
    {
        .key = "partition_axis",
        .type = &value_partition_axis,
        .standard = "null",
        .help = "Names that specs may have in place of mesh axes: batch, query_sequence, head, ... "
                "{} means batch over [fsdp, dp], sequences over sp, heads, mlp and vocab over tp, "
                "expert over ep; mode: generation takes the generation_ ones.",
    },
    {
        .key = "constraints",
        .type = &value_constraints,
        .standard = "[]",
        .help =
            "How activations are sharded where `axes` does not say enough; the first match wins.",
    },
    {
        .key = "algorithms",
        .type = &value_algorithms,
        .standard = "{}",
        .help =
            "The algorithm of a kind of collective, such as {all-reduce: ring}: executed, counted "
            "and timed step by step.  Without it, bytes are those of direct exchanges and times "
            "those of the cluster's library.",
    },
    {
        .section = "straggler",
        .key = "device",
        .type = &value_int,
        .offset = AT(straggler.device),
        .min = 0,
        .max = INT32_MAX,
        .standard = "0",
        .help = "The position of the slower device in the mesh.",
    },
    {
        .section = "straggler",
        .key = "compute",
        .type = &value_number,
        .offset = AT(straggler.compute),
        .max = 1000000,
        .standard = "null",
        .help = "How many times as long its computations take; null means no longer.",
    },
    {
        .section = "straggler",
        .key = "links",
        .type = &value_number,
        .offset = AT(straggler.links),
        .max = 1000000,
        .standard = "null",
        .help = "How many times as long the transfers take that it takes part in; null means no "
                "longer.",
    },
    {
        .section = "limits",
        .key = "memory",
        .type = &value_bytes,
        .offset = AT(memory_limit_bytes),
        .standard = "null",
        .help = "The memory of one device; null means no limit.",
    },
    {
        .section = "transfers",
        .key = "rate",
        .type = &value_rate,
        .offset = AT(transfers.bytes_per_s),
        .standard = "200GB/s",
        .help = "The rate of transfers into each device, by default about that of one "
                "accelerator's links to its neighbours.",
    },
    {
        .section = "transfers",
        .key = "latency",
        .type = &value_time,
        .offset = AT(transfers.latency_ns),
        .standard = "5us",
        .help = "The latency before the first byte.",
    },
    {
        .key = "tolerance",
        .type = &value_number,
        .offset = AT(tolerance),
        .max = 1,
        .standard = "null",
        .help = "The largest max |a-b| / max |b| of results, in addition to the error bound of "
                "each element; of none that is 0 in exact arithmetic.",
    },
    {
        .key = "seed",
        .type = &value_int,
        .offset = AT(seed),
        .min = 0,
        .max = INT64_MAX,
        .standard = "0",
        .help = "The seed of parameters and inputs.",
    },
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
