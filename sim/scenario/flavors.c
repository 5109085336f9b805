/* torchtitan's names of models and modules (flavors.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "scenario/flavors.h"

#include <stddef.h>

const struct family_flavor family_flavors[] = {
    {"llama3.2-1b", "llama3", "1B", "llama3_8b"},
    {"llama3.2-3b", "llama3", "3B", "llama3_8b"},
    {"llama3.1-8b", "llama3", "8B", "llama3_8b"},
    {"llama3.1-70b", "llama3", "70B", "llama3_70b"},
    {"llama3.1-405b", "llama3", "405B", "llama3_70b"},
    {"qwen3-0.6b", "qwen3", "0.6B", "qwen3_0_6b"},
    {"qwen3-1.7b", "qwen3", "1.7B", "qwen3_1_7b"},
    {"qwen3-4b", "qwen3", "4B", "qwen3_1_7b"},
    {"qwen3-8b", "qwen3", "8B", "qwen3_14b"},
    {"qwen3-14b", "qwen3", "14B", "qwen3_14b"},
    {"qwen3-32b", "qwen3", "32B", "qwen3_32b"},
    {"qwen3-30b-a3b", "qwen3", "30B-A3B", "qwen3_30b_a3b"},
    {"qwen3-235b-a22b", "qwen3", "235B-A22B", "qwen3_30b_a3b"},
    {"deepseek-v2-lite", "deepseek_v3", "16B", "deepseek_v3_16b"},
    {"deepseek-v2", "deepseek_v3", "236B", "deepseek_v3_16b"},
    {"deepseek-v3", "deepseek_v3", "671B", "deepseek_v3_671b"},
    {NULL, NULL, NULL, NULL},
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
