/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "scenario/table.h"

#include <string.h>

#include "scenario/scenario.h"
#include "scenario/types.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define AT(field) offsetof(struct scenario, field)

/* In the order of their enums. */
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

/* Which options go with which kinds. */
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

static const char *const rules_from[] = {
    [SCENARIO_RULES_PARAMS] = "params",
    [SCENARIO_RULES_AUTO] = "auto",
    NULL,
};

const struct option_section option_sections[] = {
    {"model", "the computation"},
    {"moe", "experts in the place of an mlp"},
    {"mla", "attention whose keys and values come from one short vector a token"},
    {"batch", "one step's input"},
    {"context", "a sequence that is cut: how keys come to queries, and which tokens lie where"},
    {"graph", "a computation of your own"},
    {"optimizer", "how parameters are updated"},
    {"types", "of what is kept and updated, chosen one by one"},
    {"loss_scale", "what keeps gradients in the range of float16"},
    {"zero", "what ZeRO cuts besides the batch"},
    {"pipeline", "layers in stages, one after the other"},
    {"straggler", "a device that is slower than those like it, where time is of a cluster"},
    {"limits", "what a device has"},
    {"transfers", "what a transfer takes where the step is replayed"},
};
const size_t option_section_count = COUNT(option_sections);

const struct option_section option_file_keys[] = {
    {"version", "of this form of files: 1; required"},
    {"strategies", "a list of maps, each with a name and the options that it overrides"},
    {"sweep", "strategies from lists of mesh sizes and rule sets: devices, mesh, rules"},
};
const size_t option_file_key_count = COUNT(option_file_keys);

const struct option option_table[] = {
    {
        .key = "name",
        .type = &value_name,
        .offset = AT(name),
        .help = "what the scenario is called; by default the file's name",
    },
    {
        .key = "mesh",
        .type = &value_mesh,
        .required = true,
        .help =
            "the devices: axis names and sizes; ids are row-major, the last axis varies fastest",
    },
    {
        .section = "model",
        .key = "kind",
        .type = &value_word,
        .required = true,
        .offset = AT(model.kind),
        .words = kinds,
        .help = "what is computed; graph where there is a graph section",
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
        .help = "width between the layers (logical axis embed)",
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
        .help = "width inside an mlp layer (logical axis mlp)",
    },
    {
        .section = "model",
        .key = "activation",
        .type = &value_word,
        .kinds = OF_MLPS,
        .offset = AT(model.activation),
        .words = activations,
        .standard = "gelu",
        .help = "between the matrix products; swiglu and geglu add a gate kernel",
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
        .help = "how many, one after the other; of t5 in the encoder",
    },
    {
        .section = "model",
        .key = "bias",
        .type = &value_bool,
        .kinds = OF_MLPS & ~OF_T5,
        .offset = AT(model.bias),
        .standard = "false",
        .help = "whether kernels of mlp layers have a bias beside them",
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
        .help = "of queries (logical axis heads)",
    },
    {
        .section = "model",
        .key = "kv_heads",
        .type = &value_int,
        .kinds = OF_ATTENTION & ~OF_T5,
        .offset = AT(model.kv_heads),
        .min = 1,
        .max = 65536,
        .help = "of keys and values (logical axis kv_heads), a divisor of heads; by default heads",
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
        .help = "width of a head (logical axis head_dim); by default d_model / heads",
    },
    {
        .section = "model",
        .key = "causal",
        .type = &value_bool,
        .kinds = OF_ATTENTION & ~OF_PUBLISHED,
        .offset = AT(model.causal),
        .standard = "true",
        .help = "whether a token sees only itself and those before it",
    },
    {
        .section = "model",
        .key = "rope",
        .type = &value_rope,
        .kinds = OF_ATTENTION & ~(OF(SCENARIO_GPT2) | OF_T5),
        .standard = "null",
        .help = "rotary embedding of queries and keys; {} is theta 10000 with pairs of halves",
    },
    {
        .section = "model",
        .key = "norm",
        .type = &value_word,
        .kinds = OF_BLOCKS,
        .offset = AT(model.norm),
        .words = norms,
        .standard = "rms",
        .help = "before attention and mlp",
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
        .help = "that there are (logical axis vocab)",
    },
    {
        .section = "model",
        .key = "attention_bias",
        .type = &value_word,
        .kinds = OF_ATTENTION & ~OF_T5,
        .offset = AT(model.attention_bias),
        .words = attention_biases,
        .standard = "none",
        .help = "which kernels of attention have a bias beside them",
    },
    {
        .section = "model",
        .key = "attention",
        .type = &value_word,
        .kinds = OF_SELF_ATTENTION,
        .offset = AT(model.attention),
        .words = attentions,
        .standard = "fused",
        .help = "fused: one kernel, which keeps no scores; unfused: products and a softmax, whose "
                "scores are arrays of seq by seq, also above the causal mask",
    },
    {
        .section = "model",
        .key = "norm_eps",
        .type = &value_number,
        .kinds = OF_BLOCKS | OF_T5,
        .offset = AT(model.norm_eps),
        .max = 1,
        .standard = "null",
        .help = "added to variances; null: 1e-6 of RMS norms, 1e-5 of layer norms",
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
        .help = "the last so many tokens that a token attends to, itself among them (a sliding "
                "window, of causal attention); 0: all",
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
        .help = "that have a learned vector each (logical axis positions), at least seq; 0: none",
    },
    {
        .section = "model",
        .key = "tied",
        .type = &value_bool,
        .kinds = OF_TOKENS,
        .offset = AT(model.tied),
        .standard = "false",
        .help = "whether the head is the embedding's table",
    },
    {
        .section = "model",
        .key = "decoder_layers",
        .type = &value_int,
        .kinds = OF_T5,
        .offset = AT(model.decoder_layers),
        .min = 1,
        .max = 65536,
        .help = "by default as many as layers",
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
        .help = "of relative positions, each with a number for each head (logical axis buckets)",
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
        .help = "from which on all places are in the last bucket",
    },
    {
        .section = "model",
        .key = "size",
        .type = &value_size,
        .kinds = OF_PUBLISHED,
        .offset = AT(model.size),
        .standard = "custom",
        .help =
            "a published one, which says all that is not given here, and the kind; custom: none",
    },
    {
        .section = "model",
        .key = "scale",
        .type = &value_fraction,
        .kinds = OF_PUBLISHED,
        .offset = AT(model.scale),
        .standard = "1",
        .help = "of what size or from say: layers, widths and vocabulary shrink, heads only when "
                "they are as narrow as can be; rounded up so that mesh axes still divide them",
    },
    {
        .section = "model",
        .key = "from",
        .type = &value_file,
        .kinds = OF_PUBLISHED,
        .offset = AT(model.from),
        .standard = "null",
        .help = "a Hugging Face config.json (gpt2, llama, mistral, mixtral, qwen2, deepseek_v2, "
                "deepseek_v3, t5), which says all that is not given here, and the kind; a path "
                "from this file's directory",
    },
    {
        .section = "model",
        .key = "dtype",
        .type = &value_word,
        .offset = AT(model.dtype),
        .words = dtypes,
        .standard = "float32",
        .help = "element type that is computed in, of parameters and activations",
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
        .help = "of each layer that has any (dimension expert); 0: none, layers have an mlp",
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
        .help = "experts that a token goes to (dimension choice)",
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
        .help = "width inside an expert (dimension expert_mlp); 0: that of the mlp, model.d_ff",
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
        .help = "experts that all tokens go through, as one mlp of their width together (dimension "
                "shared_mlp)",
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
        .help = "that come first and have an mlp, not experts",
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
        .help = "which of the layers behind those have experts: each, each second, ...",
    },
    {
        .section = "moe",
        .key = "score",
        .type = &value_word,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.score),
        .words = scores,
        .standard = "softmax",
        .help = "what the router's logits become: gates, and what experts are chosen by",
    },
    {
        .section = "moe",
        .key = "renormalize",
        .type = &value_bool,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.renormalize),
        .standard = "true",
        .help = "whether the gates of a token are divided by their sum",
    },
    {
        .section = "moe",
        .key = "scale",
        .type = &value_amount,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.scale),
        .max = 1000,
        .standard = "1",
        .help = "of gates",
    },
    {
        .section = "moe",
        .key = "bias",
        .type = &value_bool,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.bias),
        .standard = "false",
        .help = "whether a number for each expert is added to scores for the choice alone",
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
        .help =
            "that experts are in, of which a token chooses first; a group counts as much as its "
            "two highest scores",
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
        .help = "groups of experts that a token chooses from",
    },
    {
        .section = "moe",
        .key = "capacity",
        .type = &value_amount,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.capacity),
        .max = 65536,
        .standard = "0",
        .help = "the tokens that an expert takes, times those that it would have if all had as "
                "many; what comes beyond is dropped; 0: as many as come",
    },
    {
        .section = "moe",
        .key = "drop",
        .type = &value_word,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.drop),
        .words = drops,
        .standard = "tokens",
        .help = "what is dropped: the last tokens of an expert's queue, or the last choices of all "
                "tokens",
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
        .help =
            "that the sequences of a microbatch are in, each with its own queues and capacity; "
            "tokens are sent inside a group alone; 0: as many as shards of the batch along axes "
            "that do not cut experts, so that tokens stay among devices that have all experts",
    },
    {
        .section = "moe",
        .key = "aux_loss",
        .type = &value_amount,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.aux_loss),
        .max = 1000,
        .standard = "0",
        .help = "what the loss that wants all experts to have as many tokens is multiplied by",
    },
    {
        .section = "moe",
        .key = "z_loss",
        .type = &value_amount,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.z_loss),
        .max = 1000,
        .standard = "0",
        .help = "what the loss that wants small logits of the router is multiplied by",
    },
    {
        .section = "moe",
        .key = "routing",
        .type = &value_word,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.routing),
        .words = routings,
        .standard = "learned",
        .help = "who chooses: the router, or a workload in its place that run and plan know alike",
    },
    {
        .section = "moe",
        .key = "skew",
        .type = &value_amount,
        .kinds = OF_BLOCKS,
        .offset = AT(model.moe.skew),
        .max = 100,
        .standard = "0",
        .help = "of a workload: the exponent of zipf (1), the part of all tokens that the hot "
                "expert or rank has (0.5); 0: what stands in brackets",
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
        .help =
            "that a workload has a hot one of, or ragged ones; 0: as many shards as experts, or "
            "the tokens of a group, are cut into",
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
        .help = "width of the vector that keys and values are made of (dimension kv_rank); 0: "
                "none",
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
        .help = "width of the vector that queries are made of (dimension q_rank); 0: none",
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
        .help = "part of a head that positions are rotated into, besides head_dim (dimension "
                "rope_dim)",
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
        .help = "width of a head's values (dimension value_dim)",
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
        .help = "over all devices (logical axis batch)",
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
        .help = "of each sequence (logical axis seq)",
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
        .help = "of each sequence that the encoder reads (logical axis source); by default seq",
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
        .help =
            "done one after the other, gradients summed and combined once; they divide the size",
    },
    {
        .section = "context",
        .key = "axis",
        .type = &value_axis,
        .kinds = OF_SELF_ATTENTION,
        .offset = AT(context.axis),
        .standard = "null",
        .help = "the mesh axis among whose ranks the tokens of a sequence are dealt; that it cuts "
                "them is said by axes and constraints",
    },
    {
        .section = "context",
        .key = "method",
        .type = &value_word,
        .kinds = OF_SELF_ATTENTION,
        .offset = AT(context.method),
        .words = context_methods,
        .standard = "gather",
        .help = "how keys and values come to queries: all of them gathered, or in a ring, a block "
                "at a time from neighbour to neighbour",
    },
    {
        .section = "context",
        .key = "order",
        .type = &value_word,
        .kinds = OF_SELF_ATTENTION,
        .offset = AT(context.order),
        .words = orders,
        .standard = "contiguous",
        .help = "which tokens a rank has: those of one piece, of a head piece and a tail piece, or "
                "every n-th",
    },
    {
        .section = "context",
        .key = "documents",
        .type = &value_documents,
        .kinds = OF_SELF_ATTENTION,
        .standard = "null",
        .help = "that are packed in each sequence, of pseudo-random or given lengths: a token sees "
                "those of its own document only",
    },
    {
        .key = "data",
        .type = &value_file,
        .kinds = OF_TOKENS,
        .offset = AT(data.path),
        .standard = "null",
        .help = "a text whose bytes are the tokens, the next byte a token's label; a path from "
                "this file's directory.  Sequence r of b begins at r/b of the text and reads on in "
                "each step, in a ring; null: random tokens",
    },
    {
        .section = "graph",
        .key = "dims",
        .type = &value_dims,
        .required = true,
        .kinds = OF_GRAPH,
        .help = "names and sizes; each is a logical axis",
    },
    {
        .section = "graph",
        .key = "inputs",
        .type = &value_arrays,
        .kinds = OF_GRAPH,
        .offset = AT(graph.inputs),
        .standard = "{}",
        .help = "arrays of random numbers; with below: whole numbers under the size of a dim",
    },
    {
        .section = "graph",
        .key = "params",
        .type = &value_arrays,
        .kinds = OF_GRAPH,
        .offset = AT(graph.params),
        .standard = "{}",
        .help = "arrays that are learned",
    },
    {
        .section = "graph",
        .key = "ops",
        .type = &value_ops,
        .required = true,
        .kinds = OF_GRAPH,
        .help =
            "one line an op, such as h[b,s,f] = gelu(einsum(x[b,s,d], w1[d,f])); 'shardsim show "
            "functions' lists what can be called",
    },
    {
        .section = "graph",
        .key = "outputs",
        .type = &value_outputs,
        .kinds = OF_GRAPH,
        .standard = "[]",
        .help = "names of results; none: the last op's",
    },
    {
        .key = "step",
        .type = &value_step,
        .standard = "[forward, backward]",
        .help = "the phases of one step; update needs an optimizer",
    },
    {
        .key = "steps",
        .type = &value_int,
        .offset = AT(steps),
        .min = 1,
        .max = SCENARIO_STEPS_MAX,
        .standard = "1",
        .help = "that follow each other, each with data of its own and the parameters that the "
                "one before left; more than one needs an update",
    },
    {
        .section = "optimizer",
        .key = "kind",
        .type = &value_word,
        .offset = AT(optimizer.kind),
        .words = optimizer_kinds,
        .standard = "none",
        .help = "what updates parameters; its state begins as zeros, named opt/KIND/PARAMETER",
    },
    {
        .section = "optimizer",
        .key = "lr",
        .type = &value_amount,
        .offset = AT(optimizer.lr),
        .max = 1000,
        .standard = "0.001",
        .help = "learning rate, at its highest",
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
        .help = "in which the rate grows to lr, in a straight line",
    },
    {
        .section = "optimizer",
        .key = "decay",
        .type = &value_word,
        .offset = AT(optimizer.decay),
        .words = decays,
        .standard = "constant",
        .help = "of the rate after the warm-up; a cosine ends, at 0, with the steps",
    },
    {
        .section = "optimizer",
        .key = "betas",
        .type = &value_betas,
        .standard = "[0.9, 0.999]",
        .help = "of adamw: what its two moments keep from step to step",
    },
    {
        .section = "optimizer",
        .key = "eps",
        .type = &value_amount,
        .offset = AT(optimizer.eps),
        .max = 1,
        .standard = "1e-8",
        .help = "of adamw: added to what an update is divided by",
    },
    {
        .section = "optimizer",
        .key = "weight_decay",
        .type = &value_amount,
        .offset = AT(optimizer.weight_decay),
        .max = 1000,
        .standard = "0",
        .help = "of every parameter; decoupled from the gradient with adamw, part of it with sgd",
    },
    {
        .section = "optimizer",
        .key = "momentum",
        .type = &value_amount,
        .offset = AT(optimizer.momentum),
        .max = 1,
        .standard = "0",
        .help = "of sgd: what is kept of earlier gradients; 0 keeps no state",
    },
    {
        .section = "optimizer",
        .key = "clip",
        .type = &value_amount,
        .offset = AT(optimizer.clip),
        .max = 1000000,
        .standard = "0",
        .help = "the norm that all gradients together are scaled down to; 0 does not clip",
    },
    {
        .section = "types",
        .key = "parameters",
        .type = &value_word,
        .offset = AT(types.parameters),
        .words = parameter_types,
        .standard = "compute",
        .help = "in which parameters are updated; where model.dtype, what is computed in, is "
                "another one, each has a master beside it, opt/master/PARAMETER",
    },
    {
        .section = "types",
        .key = "gradients",
        .type = &value_word,
        .offset = AT(types.gradients),
        .words = update_types,
        .standard = "parameters",
        .help = "of gradients summed over microbatches",
    },
    {
        .section = "types",
        .key = "moments",
        .type = &value_word,
        .offset = AT(types.moments),
        .words = update_types,
        .standard = "parameters",
        .help = "of the optimizer's other state; updates are computed in the parameters' type",
    },
    {
        .section = "types",
        .key = "reduce",
        .type = &value_word,
        .offset = AT(types.reduce),
        .words = update_types,
        .standard = "parameters",
        .help = "in which gradients are combined over devices",
    },
    {
        .section = "loss_scale",
        .key = "kind",
        .type = &value_word,
        .offset = AT(loss_scale.kind),
        .words = loss_scales,
        .standard = "none",
        .help = "whether the loss is scaled before gradients are taken; a step whose gradients "
                "are not finite is skipped, and a dynamic scale halved",
    },
    {
        .section = "loss_scale",
        .key = "initial",
        .type = &value_int,
        .offset = AT(loss_scale.initial),
        .min = 1,
        .max = 1 << 30,
        .standard = "65536",
        .help = "the scale, or the one that a dynamic scale begins with",
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
        .help = "that are not skipped, one after the other, until a dynamic scale is doubled",
    },
    {
        .section = "zero",
        .key = "stage",
        .type = &value_int,
        .offset = AT(zero.stage),
        .min = 0,
        .max = 3,
        .standard = "0",
        .help =
            "cuts over one more axis: 1 the optimizer's state, 2 gradients too, 3 parameters too; "
            "2 is 1 where there is one microbatch, as gradients do not outlive a step",
    },
    {
        .section = "zero",
        .key = "axis",
        .type = &value_axis,
        .offset = AT(zero.axis),
        .standard = "null",
        .help = "the mesh axis, mostly one that cuts the batch; each array is cut along its "
                "longest dimension that the axis divides",
    },
    {
        .section = "zero",
        .key = "reshard_after_forward",
        .type = &value_bool,
        .offset = AT(zero.reshard),
        .standard = "true",
        .help = "of stage 3: gather parameters again for the backward phase (less memory, half as "
                "many bytes again), or keep them from the forward one",
    },
    {
        .section = "zero",
        .key = "prefetch",
        .type = &value_int,
        .offset = AT(zero.prefetch),
        .min = 0,
        .max = SCENARIO_PREFETCH_MAX,
        .standard = "0",
        .unit = "layers",
        .help = "of stage 3: how much earlier than a layer needs them its parameters are gathered, "
                "which takes memory for longer",
    },
    {
        .section = "pipeline",
        .key = "axis",
        .type = &value_axis,
        .offset = AT(pipeline.axis),
        .standard = "null",
        .help = "the mesh axis along which stages lie; it cuts no array",
    },
    {
        .section = "pipeline",
        .key = "schedule",
        .type = &value_name,
        .offset = AT(pipeline.schedule),
        .standard = "1F1B",
        .help = "in which order each rank does what: shardsim show timetable all lists them",
    },
    {
        .section = "pipeline",
        .key = "stages_per_rank",
        .type = &value_int,
        .offset = AT(pipeline.stages_per_rank),
        .min = 0,
        .max = 65536,
        .standard = "0",
        .help = "virtual stages of each rank; 0: as many as the schedule is made for",
    },
    {
        .section = "pipeline",
        .key = "layers",
        .type = &value_layers,
        .offset = AT(pipeline.layers),
        .standard = "null",
        .help = "how many layers each stage has, from the first stage on; null: as even as can be",
    },
    {
        .section = "pipeline",
        .key = "place",
        .type = &value_places,
        .offset = AT(pipeline.places),
        .standard = "[]",
        .help = "what lies in which stage by name, from 0; the first pattern that is found counts. "
                "By default what is before the layers lies in the first stage, what is behind in "
                "the last",
    },
    {
        .key = "recompute",
        .type = &value_recompute,
        .standard = "none",
        .help =
            "what the backward phase computes again instead of keeping it: selective attention, "
            "full all that is inside a layer, or values of the forward phase whose names a pattern "
            "is found in; in a map, of each every-th group of so many layers, up to the first so "
            "many, but for values that patterns of keep are found in; whole: also what nobody "
            "reads "
            "again, as where a layer is called a second time",
    },
    {
        .key = "hardware",
        .type = &value_cluster,
        .offset = AT(hardware),
        .standard = "null",
        .help = "the cluster that a plan's time is of: a name, as 'shardsim show hardware' lists "
                "them, or the path of a file (docs/hardware.md)",
    },
    {
        .key = "slices",
        .type = &value_int,
        .offset = AT(slices),
        .min = 1,
        .max = INT32_MAX,
        .standard = "1",
        .help = "equal ones that the devices lie in, where the cluster's links are a torus",
    },
    {
        .key = "placement",
        .type = &value_word,
        .offset = AT(placement),
        .words = placements,
        .standard = "follow",
        .help =
            "of what nobody asked for: follow takes mesh axes only where rules, constraints and "
            "operands bring them; search looks for the fewest bytes, or by price the least time",
    },
    {
        .key = "price",
        .type = &value_word,
        .offset = AT(price),
        .words = prices,
        .standard = "bytes",
        .help = "what ways from one sharding to another are compared by, and layouts of a search: "
                "bytes that devices receive, or time on the cluster that hardware names; of both "
                "choices the faster step is then taken",
    },
    {
        .key = "rules",
        .type = &value_word,
        .offset = AT(rules),
        .words = rules_from,
        .standard = "params",
        .help =
            "where specs of parameters come from: the list in params, or (auto) their shapes, for "
            "mesh axes named dp, fsdp, sp, tp",
    },
    {
        .key = "params",
        .type = &value_params,
        .standard = "[]",
        .help = "how parameters are sharded; the first pattern found in a name wins, and a name "
                "without "
                "one is an error: [.*, []] at the end replicates what is left",
    },
    {
        .key = "axes",
        .type = &value_axes,
        .standard = "{}",
        .help = "mesh axes that shard a logical axis (batch, seq, ... or a dim of graph) of inputs",
    },
    {
        .key = "partition_axis",
        .type = &value_partition_axis,
        .standard = "null",
        .help = "names that specs may have in the place of mesh axes: batch, query_sequence, head, "
                "...; {} is batch [fsdp, dp], sequences sp, heads, mlp and vocab tp, expert ep; "
                "mode: generation takes the generation_ ones",
    },
    {
        .key = "constraints",
        .type = &value_constraints,
        .standard = "[]",
        .help = "how activations are sharded where `axes` does not say enough; first match wins",
    },
    {
        .key = "algorithms",
        .type = &value_algorithms,
        .standard = "{}",
        .help = "algorithm for a kind of collective, such as {all-reduce: ring}",
    },
    {
        .section = "straggler",
        .key = "device",
        .type = &value_int,
        .offset = AT(straggler.device),
        .min = 0,
        .max = INT32_MAX,
        .standard = "0",
        .help = "its position in the mesh",
    },
    {
        .section = "straggler",
        .key = "compute",
        .type = &value_number,
        .offset = AT(straggler.compute),
        .max = 1000000,
        .standard = "null",
        .help = "how many times as long its computations take; null: no longer",
    },
    {
        .section = "straggler",
        .key = "links",
        .type = &value_number,
        .offset = AT(straggler.links),
        .max = 1000000,
        .standard = "null",
        .help = "how many times as long the transfers take that it takes part in; null: no longer",
    },
    {
        .section = "limits",
        .key = "memory",
        .type = &value_bytes,
        .offset = AT(memory_limit_bytes),
        .standard = "null",
        .help = "of one device; null: no limit",
    },
    {
        .section = "transfers",
        .key = "rate",
        .type = &value_rate,
        .offset = AT(transfers.bytes_per_s),
        .standard = "200GB/s",
        .help = "into each device, about that of one accelerator's links to its neighbours",
    },
    {
        .section = "transfers",
        .key = "latency",
        .type = &value_time,
        .offset = AT(transfers.latency_ns),
        .standard = "5us",
        .help = "before the first byte",
    },
    {
        .key = "tolerance",
        .type = &value_number,
        .offset = AT(tolerance),
        .max = 1,
        .standard = "null",
        .help =
            "max |a-b| / max |b| that results may have, besides the error bound of each element",
    },
    {
        .key = "seed",
        .type = &value_int,
        .offset = AT(seed),
        .min = 0,
        .max = INT64_MAX,
        .standard = "0",
        .help = "of parameters and inputs",
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
