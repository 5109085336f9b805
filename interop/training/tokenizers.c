/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "training/tokenizers.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/words.h"

struct tokenizer {
    const char *name;
    int64_t tokens;
};

/* Tokens as Megatron-LM counts them (megatron/core/tokenizers): GPT-2's vocab.json; Llama 2's
 * sentencepiece model; the word pieces of bert-large-uncased and -cased, the latter with 100 more
 * for T5's spans; and its limit of 2^17 for a tiktoken file. */
static const struct tokenizer types[] = {
    {"GPT2BPETokenizer", 50257},
    {"Llama2Tokenizer", 32000},
    {"BertWordPieceLowerCase", 30522},
    {"BertWordPieceCase", 28996 + 100},
    {"TikTokenizer", 131072},
};

/* len(tokenizer) of the tokenizer published with a model on huggingface.co, added tokens included,
 * as Megatron-LM counts; by the beginning of the model's name, the first that fits. */
static const struct tokenizer models[] = {
    {"DeepSeek-R1-Distill-Llama", 128256},
    {"DeepSeek-R1-Distill-Qwen", 151665},
    {"DeepSeek-R1", 128815},
    {"DeepSeek-V2", 100002},
    {"DeepSeek-V3", 128815},
    {"gpt2", 50257},
    {"Llama-2-", 32000},
    {"Llama-3", 128256},
    {"Meta-Llama-3", 128256},
    {"Mistral-7B-v0.1", 32000},
    {"Mistral-7B-Instruct-v0.1", 32000},
    {"Mistral-7B-Instruct-v0.2", 32000},
    {"Mistral-7B-v0.3", 32768},
    {"Mistral-7B-Instruct-v0.3", 32768},
    {"Mixtral-8x7B", 32000},
    {"Qwen2-", 151646},
    {"Qwen2.5-", 151665},
    {"Qwen3-", 151669},
};

int64_t tokenizers_of_type(const char *type)
{
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++)
        if (!strcmp(type, types[i].name))
            return types[i].tokens;
    return 0;
}

/* The tokens for one name of `length` bytes. */
static int64_t of_model(const char *name, size_t length)
{
    const char *end = name + length;

    while (end > name && end[-1] == '/')
        end--;
    for (const char *c = name; c < end; c++)
        if (*c == '/')
            name = c + 1;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        size_t n = strlen(models[i].name);

        if ((size_t)(end - name) >= n && !strncasecmp(name, models[i].name, n))
            return models[i].tokens;
    }
    return 0;
}

int64_t tokenizers_of_models(const char *names)
{
    int64_t all = 0;
    size_t length;

    for (const char *name; names && (name = words_next(&names, &length));) {
        int64_t one = of_model(name, length);

        if (one == 0 || (all > 0 && one != all))
            return 0;
        all = one;
    }
    return all;
}
