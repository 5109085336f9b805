/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "scenario/option.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scenario/scenario.h"
#include "scenario/value.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define AT(field) offsetof(struct scenario, field)

/* In the order of their enums. */
static const char *const kinds[] = {
    [SCENARIO_MLP] = "mlp",
    [SCENARIO_ATTENTION] = "attention",
    [SCENARIO_BLOCK] = "block",
    [SCENARIO_TRANSFORMER] = "transformer",
    [SCENARIO_GRAPH] = "graph",
    [SCENARIO_NKINDS] = NULL,
};

/* Which options go with which kinds. */
#define OF(kind) (1u << (kind))
#define OF_GRAPH OF(SCENARIO_GRAPH)
#define OF_TRANSFORMER OF(SCENARIO_TRANSFORMER)
#define OF_BLOCKS (OF(SCENARIO_BLOCK) | OF_TRANSFORMER)
#define OF_MLPS (OF(SCENARIO_MLP) | OF_BLOCKS)
#define OF_ATTENTION (OF(SCENARIO_ATTENTION) | OF_BLOCKS)
#define OF_PRESETS (OF(SCENARIO_MLP) | OF_ATTENTION)

static const char *const norms[] = {
    [SCENARIO_RMS] = "rms",
    [SCENARIO_LAYER_NORM] = "layer",
    [SCENARIO_NNORMS] = NULL,
};

static const char *const activations[] = {
    [SCENARIO_GELU] = "gelu",         [SCENARIO_SWIGLU] = "swiglu", [SCENARIO_RELU] = "relu",
    [SCENARIO_SILU] = "silu",         [SCENARIO_NACTIVATIONS] = NULL,
};

static const char *const dtypes[] = {
    [SHD_F32] = "float32", [SHD_F64] = "float64", [SHD_BF16] = "bfloat16", [SHD_F16] = "float16",
    NULL,
};

static const char *const placements[] = {
    [SCENARIO_FOLLOW] = "follow",
    [SCENARIO_SEARCH] = "search",
    [SCENARIO_NPLACEMENTS] = NULL,
};

static const char *const rules_from[] = {
    [SCENARIO_RULES_PARAMS] = "params",
    [SCENARIO_RULES_AUTO] = "auto",
    NULL,
};

const struct option_section option_sections[] = {
    {"model", "the computation"},
    {"batch", "one step's input"},
    {"graph", "a computation of your own"},
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
        .type = OPTION_NAME,
        .offset = AT(name),
        .help = "what the scenario is called; by default the file's name",
    },
    {
        .key = "mesh",
        .type = OPTION_MESH,
        .required = true,
        .help =
            "the devices: axis names and sizes; ids are row-major, the last axis varies fastest",
    },
    {
        .section = "model",
        .key = "kind",
        .type = OPTION_WORD,
        .required = true,
        .offset = AT(model.kind),
        .words = kinds,
        .help = "what is computed; graph where there is a graph section",
    },
    {
        .section = "model",
        .key = "d_model",
        .type = OPTION_INT,
        .required = true,
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
        .type = OPTION_INT,
        .required = true,
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
        .type = OPTION_WORD,
        .kinds = OF_MLPS,
        .offset = AT(model.activation),
        .words = activations,
        .standard = "gelu",
        .help = "between the matrix products; swiglu adds a gate kernel",
    },
    {
        .section = "model",
        .key = "layers",
        .type = OPTION_INT,
        .kinds = OF_PRESETS,
        .offset = AT(model.layers),
        .min = 1,
        .max = 65536,
        .standard = "1",
        .help = "how many, one after the other",
    },
    {
        .section = "model",
        .key = "bias",
        .type = OPTION_BOOL,
        .kinds = OF_MLPS,
        .offset = AT(model.bias),
        .standard = "false",
        .help = "whether kernels of mlp layers have a bias beside them",
    },
    {
        .section = "model",
        .key = "heads",
        .type = OPTION_INT,
        .required = true,
        .kinds = OF_ATTENTION,
        .offset = AT(model.heads),
        .min = 1,
        .max = 65536,
        .help = "of queries (logical axis heads)",
    },
    {
        .section = "model",
        .key = "kv_heads",
        .type = OPTION_INT,
        .kinds = OF_ATTENTION,
        .offset = AT(model.kv_heads),
        .min = 1,
        .max = 65536,
        .help = "of keys and values (logical axis kv_heads), a divisor of heads; by default heads",
    },
    {
        .section = "model",
        .key = "head_dim",
        .type = OPTION_INT,
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
        .type = OPTION_BOOL,
        .kinds = OF_ATTENTION,
        .offset = AT(model.causal),
        .standard = "true",
        .help = "whether a token sees only itself and those before it",
    },
    {
        .section = "model",
        .key = "rope",
        .type = OPTION_ROPE,
        .kinds = OF_ATTENTION,
        .standard = "null",
        .help = "rotary embedding of queries and keys; {} is theta 10000 with pairs of halves",
    },
    {
        .section = "model",
        .key = "norm",
        .type = OPTION_WORD,
        .kinds = OF_BLOCKS,
        .offset = AT(model.norm),
        .words = norms,
        .standard = "rms",
        .help = "before attention and mlp",
    },
    {
        .section = "model",
        .key = "vocab",
        .type = OPTION_INT,
        .required = true,
        .kinds = OF_TRANSFORMER,
        .offset = AT(model.vocab),
        .min = 1,
        .max = INT32_MAX,
        .unit = "tokens",
        .help = "that there are (logical axis vocab)",
    },
    {
        .section = "model",
        .key = "dtype",
        .type = OPTION_WORD,
        .offset = AT(model.dtype),
        .words = dtypes,
        .standard = "float32",
        .help = "element type of parameters and activations",
    },
    {
        .section = "batch",
        .key = "size",
        .type = OPTION_INT,
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
        .type = OPTION_INT,
        .required = true,
        .kinds = OF_PRESETS,
        .offset = AT(batch.seq),
        .min = 1,
        .max = INT32_MAX,
        .unit = "tokens",
        .help = "of each sequence (logical axis seq)",
    },
    {
        .section = "graph",
        .key = "dims",
        .type = OPTION_DIMS,
        .required = true,
        .kinds = OF_GRAPH,
        .help = "names and sizes; each is a logical axis",
    },
    {
        .section = "graph",
        .key = "inputs",
        .type = OPTION_ARRAYS,
        .kinds = OF_GRAPH,
        .offset = AT(graph.inputs),
        .standard = "{}",
        .help = "arrays of random numbers; with below: whole numbers under the size of a dim",
    },
    {
        .section = "graph",
        .key = "params",
        .type = OPTION_ARRAYS,
        .kinds = OF_GRAPH,
        .offset = AT(graph.params),
        .standard = "{}",
        .help = "arrays that are learned",
    },
    {
        .section = "graph",
        .key = "ops",
        .type = OPTION_OPS,
        .required = true,
        .kinds = OF_GRAPH,
        .help =
            "one line an op, such as h[b,s,f] = gelu(einsum(x[b,s,d], w1[d,f])); 'shardsim show "
            "functions' lists what can be called",
    },
    {
        .section = "graph",
        .key = "outputs",
        .type = OPTION_OUTPUTS,
        .kinds = OF_GRAPH,
        .standard = "[]",
        .help = "names of results; none: the last op's",
    },
    {
        .key = "step",
        .type = OPTION_STEP,
        .standard = "[forward, backward]",
        .help = "the phases of one step",
    },
    {
        .key = "placement",
        .type = OPTION_WORD,
        .offset = AT(placement),
        .words = placements,
        .standard = "follow",
        .help = "of what nobody asked for: follow takes mesh axes only where rules, constraints and "
                "operands bring them; search looks for the fewest bytes",
    },
    {
        .key = "rules",
        .type = OPTION_WORD,
        .offset = AT(rules),
        .words = rules_from,
        .standard = "params",
        .help =
            "where specs of parameters come from: the list in params, or (auto) their shapes, for "
            "mesh axes named dp, fsdp, sp, tp",
    },
    {
        .key = "params",
        .type = OPTION_PARAMS,
        .standard = "[]",
        .help = "how parameters are sharded; the first pattern found in a name wins, and a name "
                "without "
                "one is an error: [.*, []] at the end replicates what is left",
    },
    {
        .key = "axes",
        .type = OPTION_AXES,
        .standard = "{}",
        .help = "mesh axes that shard a logical axis (batch, seq, ... or a dim of graph) of inputs",
    },
    {
        .key = "partition_axis",
        .type = OPTION_PARTITION_AXIS,
        .standard = "null",
        .help = "names that specs may have in the place of mesh axes: batch, query_sequence, head, "
                "...; {} is batch [fsdp, dp], sequences sp, heads, mlp and vocab tp, expert ep; "
                "mode: generation takes the generation_ ones",
    },
    {
        .key = "constraints",
        .type = OPTION_CONSTRAINTS,
        .standard = "[]",
        .help = "how activations are sharded where `axes` does not say enough; first match wins",
    },
    {
        .key = "algorithms",
        .type = OPTION_ALGORITHMS,
        .standard = "{}",
        .help = "algorithm for a kind of collective, such as {all-reduce: ring}",
    },
    {
        .section = "limits",
        .key = "memory",
        .type = OPTION_BYTES,
        .offset = AT(memory_limit_bytes),
        .standard = "null",
        .help = "of one device; null: no limit",
    },
    {
        .section = "transfers",
        .key = "rate",
        .type = OPTION_RATE,
        .offset = AT(transfers.bytes_per_s),
        .standard = "200GB/s",
        .help = "into each device, about that of one accelerator's links to its neighbours",
    },
    {
        .section = "transfers",
        .key = "latency",
        .type = OPTION_TIME,
        .offset = AT(transfers.latency_ns),
        .standard = "5us",
        .help = "before the first byte",
    },
    {
        .key = "tolerance",
        .type = OPTION_NUMBER,
        .offset = AT(tolerance),
        .max = 1,
        .standard = "null",
        .help = "max |a-b| / max |b| that results may have, besides the error bound of each element",
    },
    {
        .key = "seed",
        .type = OPTION_INT,
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

static bool is_same_section(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

const struct option *option_find(const char *section, const char *key)
{
    for (size_t i = 0; i < option_count; i++)
        if (is_same_section(option_table[i].section, section) &&
            strcmp(option_table[i].key, key) == 0)
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

bool option_is_of(const struct option *option, unsigned kind)
{
    return option->kinds == 0 || (option->kinds >> kind & 1);
}

size_t option_id(const struct option *option)
{
    return (size_t)(option - option_table);
}

size_t option_section_id(const struct option_section *section)
{
    return option_count + (size_t)(section - option_sections);
}

const char *option_path(const struct option *option, char *buf, size_t size)
{
    if (option->section)
        snprintf(buf, size, "%s.%s", option->section, option->key);
    else
        snprintf(buf, size, "%s", option->key);
    return buf;
}

void option_offer(struct nearest *nearest, const char *section)
{
    for (size_t i = 0; i < option_count; i++)
        if (is_same_section(option_table[i].section, section))
            nearest_add(nearest, option_table[i].key);
    if (section)
        return;
    for (size_t i = 0; i < option_section_count; i++)
        nearest_add(nearest, option_sections[i].key);
}

void option_expect(const struct option *option, struct text *out)
{
    text_add(out, value_type_get(option->type)->expected);
    if (option->type == OPTION_INT && option->max == INT64_MAX)
        text_addf(out, ", at least %" PRId64, option->min);
    else if (option->type == OPTION_INT)
        text_addf(out, " from %" PRId64 " to %" PRId64, option->min, option->max);
    else if (option->type == OPTION_NUMBER)
        text_addf(out, " above 0, at most %" PRId64 ", or null", option->max);
    for (size_t i = 0; option->words && option->words[i]; i++)
        text_addf(out, "%s%s", i ? ", " : "", option->words[i]);
}

static void print_option_help(const struct option *option, struct text *out)
{
    char path[OPTION_PATH_MAX];

    text_addf(out, "%s: ", option_path(option, path, sizeof(path)));
    option_expect(option, out);
    if (option->unit)
        text_addf(out, ", in %s", option->unit);
    if (option->kinds)
        text_add(out, "; of");
    for (unsigned k = 0, n = 0; option->kinds && kinds[k]; k++)
        if (option_is_of(option, k))
            text_addf(out, "%s%s", n++ ? ", " : " ", kinds[k]);
    if (option->required)
        text_add(out, "; required");
    else if (option->standard)
        text_addf(out, "; default %s", option->standard);
    text_addf(out, "\n    %s\n", option->help);
}

void scenario_print_options(struct text *out)
{
    for (size_t i = 0; i < option_file_key_count; i++)
        text_addf(out, "%s:\n    %s\n", option_file_keys[i].key, option_file_keys[i].help);
    for (size_t i = 0; i < option_count; i++)
        print_option_help(&option_table[i], out);
}
