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
#include "import/serving.h"

/* Ends of names that say how a model was tuned, or when, but not its sizes. */
static const char tuned[] = "-Instruct -Chat -it -Base -hf -Thinking -BF16 -2507 -0324 -0528 -0905 "
                            "-Terminus -v0.1 -pt";

/* Weights with fewer than 16 bits: ends of names, what --quantization calls them, and how a
 * scenario keeps them; NULL: as no scenario does. */
static const struct {
    const char *ends, *words, *products;
} narrow[] = {
    {"-AWQ -GPTQ -GPTQ-Int4 -INT4 -W4A16 -quantized.w4a16",
     "awq awq_marlin gptq gptq_marlin moe_wna16", "weights: int4"},
    {"-GPTQ-Int8 -W8A16", "", "weights: int8"},
    {"-bnb-4bit", "bitsandbytes", "weights: nf4"},
    {"-FP8 -FP8-KV -FP8-dynamic -FP8-block -NVFP4 -FP4 -MXFP4 -MXFP8 -INT8 -W8A8 -quantized.w8a8",
     "", NULL},
};
#define NNARROW (sizeof narrow / sizeof *narrow)

/* Names of models that have the sizes of another. */
static const struct {
    const char *name, *size;
} others[] = {
    {"DeepSeek-R1", "deepseek-v3"},
    {"DeepSeek-V3.1", "deepseek-v3"},
    {"Kimi-K2", "kimi-k2"},
    {"Meta-Llama-3.1-8B", "llama3.1-8b"},
    {"Meta-Llama-3.1-70B", "llama3.1-70b"},
    {"Meta-Llama-3.1-405B", "llama3.1-405b"},
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
        for (size_t i = 0; i < NNARROW; i++)
            length = without(name, length, narrow[i].ends);
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

/* By the end of a name, before ends of other kinds; NNARROW: none. */
static size_t narrow_end(const char *name)
{
    size_t length = name ? strlen(name) : 0, before;

    do {
        for (size_t i = 0; i < NNARROW; i++)
            if (without(name, length, narrow[i].ends) < length)
                return i;
        before = length;
        length = length > 0 ? without(name, length, tuned) : 0;
    } while (length < before);
    return NNARROW;
}

struct serving_weights serving_model_weights(size_t n, const char *name, const char *quantization)
{
    const char *published = scenario_model_products(n);
    size_t end = narrow_end(name);

    if (published)
        return (struct serving_weights){true, published[0] ? published : NULL};
    for (size_t i = 0; quantization && end == NNARROW && i < NNARROW; i++)
        if (words_has(narrow[i].words, quantization))
            end = i;
    if (end == NNARROW)
        return (struct serving_weights){quantization != NULL, NULL};
    return (struct serving_weights){true, narrow[end].products};
}
