/* torchtitan's names of models and modules (flavors.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/flavors.h"

#include <stddef.h>

const struct family_flavor family_flavors[] = {
    {"llama3.2-1b", "llama3", "1B"},
    {"llama3.2-3b", "llama3", "3B"},
    {"llama3.1-8b", "llama3", "8B"},
    {"llama3.1-70b", "llama3", "70B"},
    {"llama3.1-405b", "llama3", "405B"},
    {"qwen3-0.6b", "qwen3", "0.6B"},
    {"qwen3-1.7b", "qwen3", "1.7B"},
    {"qwen3-4b", "qwen3", "4B"},
    {"qwen3-8b", "qwen3", "8B"},
    {"qwen3-14b", "qwen3", "14B"},
    {"qwen3-32b", "qwen3", "32B"},
    {"qwen3-30b-a3b", "qwen3", "30B-A3B"},
    {"qwen3-235b-a22b", "qwen3", "235B-A22B"},
    {"deepseek-v2-lite", "deepseek_v3", "16B"},
    {"deepseek-v2", "deepseek_v3", "236B"},
    {"deepseek-v3", "deepseek_v3", "671B"},
    {NULL, NULL, NULL},
};

/* "experts" is in the names of routed experts, which are never rounded there, and of the shared. */
const struct family_module family_modules[] = {
    {"attention.wq", "attn/q$"},
    {"attention.wk", "attn/k$"},
    {"attention.wv", "attn/v$"},
    {"attention.wo", "attn/o$"},
    {"feed_forward.w1", "mlp/gate$"},
    {"feed_forward.w2", "mlp/down$"},
    {"feed_forward.w3", "mlp/up$"},
    {"output", "^head$"},
    {"lm_head", "^head$"},
    {"router.gate", "router$"},
    {"moe.router.gate", "router$"},
    {"experts", "shared/(up|gate|down)$"},
    {NULL, NULL},
};
