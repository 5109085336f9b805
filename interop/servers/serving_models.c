/* Names of models as servers are given them (serving.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/nearest.h"
#include "base/words.h"
#include "servers/serving.h"

/* Ends of names that say how a model was tuned, or when, but not its sizes. */
static const char tuned[] = "-Instruct -Chat -it -Base -hf -Thinking -BF16 -2507 -0324 -0528 -0905 "
                            "-Terminus -v0.1 -pt";

#define OF_TOKENS "recipe: rowwise, amax: local"

/* Types of weights: ends of names, what --quantization calls them, options of `products` that keep
 * them so, and what is planned in another way; of several rows with an end, that whose owner (NULL:
 * any) has the model is taken. */
static const struct {
    const char *owners, *ends, *words, *products, *otherwise;
} types[] = {
    {"", "-BF16", "", "", NULL},
    {"", "-AWQ -GPTQ -GPTQ-Int4 -INT4 -W4A16 -quantized.w4a16 -AutoRound",
     "awq awq_marlin gptq gptq_marlin moe_wna16 auto-round", "weights: int4", NULL},
    {"", "-GPTQ-Int8 -W8A16 -quantized.w8a16", "experts_int8", "weights: int8", NULL},
    {"", "-bnb-4bit", "bitsandbytes", "weights: nf4", NULL},
    {"", "-MXFP4", "mxfp4", "weights: mxfp4", NULL},
    {"", "-MXFP8", "mxfp8", "recipe: mxfp8", NULL},
    {"", "-NVFP4A16", "petit_nvfp4", "weights: mxfp4, block: 16, except: [^head$, router$]", NULL},
    {"", "-NVFP4 -FP4", "modelopt_fp4", "recipe: nvfp4, amax: static, except: [^head$, router$]",
     NULL},
    {"", "-INT8 -W8A8 -quantized.w8a8", "w8a8_int8 blockwise_int8", "weights: int8",
     "weights are planned as int8, matmuls in model.dtype instead of int8"},
    {"nvidia RedHatAI neuralmagic amd", "-FP8 -FP8-KV", "modelopt modelopt_fp8",
     "recipe: tensorwise, amax: static", NULL},
    {"Qwen deepseek-ai moonshotai MiniMaxAI inclusionAI", "-FP8", "fp8_per_block",
     "recipe: blockwise", NULL},
    {"", "-FP8-block", "", "recipe: blockwise", NULL},
    {"", "-FP8 -FP8-KV -FP8-dynamic", "fp8 fp8_per_tensor fbgemm_fp8 ptpc_fp8 w8a8_fp8", OF_TOKENS,
     NULL},
};
#define NTYPES (sizeof types / sizeof *types)

/* Models whose weight types differ from the published size's. */
static const struct {
    const char *name, *products;
} typed[] = {{"Kimi-K2-Thinking",
              "weights: int4, block: 32, except: [attn, shared, ^layers/0/mlp, router$, ^head$]"}};

/* Names of models that have the sizes of another, and their longest sequences, if others. */
static const struct {
    const char *name, *size;
    int64_t longest;
} others[] = {
    {"DeepSeek-R1", "deepseek-v3", 0},
    {"DeepSeek-V3.1", "deepseek-v3", 0},
    {"GLM-4.6", "glm4.5", 202752},
    {"GLM-4.7", "glm4.5", 202752},
    {"Kimi-K2", "kimi-k2", 0},
    {"Meta-Llama-3.1-8B", "llama3.1-8b", 0},
    {"Meta-Llama-3.1-70B", "llama3.1-70b", 0},
    {"Meta-Llama-3.1-405B", "llama3.1-405b", 0},
    {"MiniMax-M2.1", "minimax-m2", 0},
    {"MiniMax-M2.5", "minimax-m2", 0},
    {"MiniMax-M2.7", "minimax-m2", 0},
    {"Qwen3Guard-Gen-0.6B", "qwen3-0.6b", 32768},
    {"Qwen3Guard-Gen-4B", "qwen3-4b", 32768},
    {"Qwen3Guard-Gen-8B", "qwen3-8b", 32768},
};

/* The length of a name without one of the ends, which are words; the same: it has none. */
static size_t without(const char *name, size_t length, const char *ends)
{
    size_t n;

    for (const char *end; (end = words_next(&ends, &n));)
        if (n < length && !strncasecmp(name + length - n, end, n))
            return length - n;
    return length;
}

/* The length of a name without all ends that say nothing of the sizes. */
static size_t plain_length(const char *name)
{
    size_t length = strlen(name), before;

    while (length > 0 && name[length - 1] == '/')
        length--;
    do {
        before = length;
        for (size_t i = 0; i < NTYPES; i++)
            length = without(name, length, types[i].ends);
        length = without(name, length, tuned);
    } while (length < before);
    return length;
}

static bool is_same(const char *a, size_t na, const char *b)
{
    return na == strlen(b) && !strncasecmp(a, b, na);
}

static const char *find_plain(const char *name, size_t length)
{
    const char *size, *repository;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (is_same(name, length, others[i].name))
            return others[i].size;
    for (size_t n = 0; (size = scenario_model_name(n)) != NULL; n++)
        for (size_t i = 0; (repository = scenario_model_repository(n, i)) != NULL; i++) {
            const char *last = file_name(repository);

            if (plain_length(last) == length && !strncasecmp(last, name, length))
                return size;
        }
    return NULL;
}

const char *serving_model_size(const char *name)
{
    struct nearest nearest;
    size_t n;

    nearest_init(&nearest, name);
    if (scenario_find_model(&n, name, &nearest))
        return scenario_model_name(n);
    name = file_name(name);
    return find_plain(name, plain_length(name));
}

int64_t serving_model_longest(const struct scenario_model *model, const char *name)
{
    /* Ends of versions that were trained on longer sequences than the first ones. */
    static const char longer[] = "-2507 -0905";
    size_t length = name ? strlen(name) : 0, before;

    if (name && !strcasecmp(file_name(name), "Kimi-K2-Thinking"))
        return 262144;
    for (size_t i = 0; name && i < sizeof others / sizeof *others; i++)
        if (others[i].longest > 0 &&
            is_same(file_name(name), plain_length(file_name(name)), others[i].name))
            return others[i].longest;
    do {
        before = length;
        if (length > 0 && without(name, length, longer) < length)
            return 262144;
        for (size_t i = 0; i < NTYPES && length > 0; i++)
            length = without(name, length, types[i].ends);
    } while (length < before);
    return scenario_model_longest(model);
}

/* Whether a row of types is of the owner whose model it is. */
static bool is_of_owner(size_t row, const char *name)
{
    const char *slash = strchr(name, '/');

    return !*types[row].owners ||
           (slash && words_has_bytes(types[row].owners, name, (size_t)(slash - name)));
}

/* The row of types by the end of a name, before ends of other kinds; NTYPES: none. */
static size_t types_of_name(const char *name)
{
    size_t length = strlen(name), before;

    do {
        for (size_t i = 0; i < NTYPES; i++)
            if (is_of_owner(i, name) && without(name, length, types[i].ends) < length)
                return i;
        before = length;
        length = length > 0 ? without(name, length, tuned) : 0;
    } while (length < before);
    return NTYPES;
}

/* Add the types that --quantization asks for of a model of 16 bits. */
static void add_asked(struct text *products, const char **otherwise, const char *quantization)
{
    for (size_t i = 0; i < NTYPES; i++)
        if (words_has(types[i].words, quantization)) {
            text_add(products, types[i].products);
            *otherwise = types[i].otherwise;
            return;
        }
    *otherwise = "weights are planned in model.dtype";
}

int serving_model_weights(struct text *products, const char **otherwise,
                          const struct scenario_model *model, const char *name,
                          const char *quantization, struct diag *diag)
{
    size_t row = name ? types_of_name(name) : NTYPES;
    int status;

    *otherwise = NULL;
    for (size_t i = 0; name && i < sizeof typed / sizeof *typed; i++)
        if (!strcasecmp(file_name(name), typed[i].name)) {
            text_add(products, typed[i].products);
            return SHD_OK;
        }
    if (row < NTYPES) {
        text_add(products, types[row].products);
        *otherwise = types[row].otherwise;
        return SHD_OK;
    }
    status = scenario_model_products(products, otherwise, model, diag);
    if (status == SHD_OK && products->length == 0 && !*otherwise && quantization)
        add_asked(products, otherwise, quantization);
    return status;
}
