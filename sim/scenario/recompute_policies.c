/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "scenario/recompute_policies.h"

#include <stdlib.h>
#include <string.h>

#define OP_PREFIX "op:"

static const char *const ops[RECOMPUTE_NOPS] = {[RECOMPUTE_OP_PRODUCT] = "product",
                                                [RECOMPUTE_OP_DENSE] = "dense",
                                                [RECOMPUTE_OP_ATTENTION] = "attention",
                                                [RECOMPUTE_OP_SUM] = "sum",
                                                [RECOMPUTE_OP_EXCHANGE] = "exchange",
                                                [RECOMPUTE_OP_CHOICE] = "choice"};

bool recompute_is_op(const char *entry)
{
    return !strncmp(entry, OP_PREFIX, strlen(OP_PREFIX));
}

/* Read "/2", or nothing, which is 1; 0: something else. */
static uint32_t read_every(const char *text)
{
    bool digits = text[0] == '/' && text[1] && !text[1 + strspn(text + 1, "0123456789")];

    if (!*text)
        return 1;
    return digits && strlen(text) <= 6 ? (uint32_t)strtoul(text + 1, NULL, 10) : 0;
}

bool recompute_read_op(struct recompute_kept_op *out, const char *entry)
{
    const char *name = entry + strlen(OP_PREFIX);
    size_t length = strcspn(name, "/");

    for (int op = 0; op < RECOMPUTE_NOPS; op++) {
        if (strlen(ops[op]) != length || strncmp(ops[op], name, length) != 0)
            continue;
        *out = (struct recompute_kept_op){(enum recompute_op)op, read_every(name + length)};
        return out->every > 0;
    }
    return false;
}

/* ---- policies ---- */

#define QKV "attn/(q|k|v)$"
#define OUT "attn/(o|out)$"
#define WIDE "mlp/(gate|up)$"
#define NARROW "mlp/(down|out)$"

/* torchtitan's function decides op by op.  Results of products (aten.mm) are kept but for every
 * second one, and all of attention, of reduce-scatters, since September 2025 (#1672) of
 * all-to-alls, and since May 2026 (#3146) of top-k.  A router's product is not counted, and experts'
 * (aten._grouped_mm) have never been in its lists: torchtitan/distributed/activation_checkpoint.py,
 * until March 2026 (#2357) one list a model in models/NAME/infra/parallelize.py.  MaxText's are names of jax.checkpoint: query_proj, key_proj, value_proj;
 * context, the result of attention; out_proj; mlpwi and mlpwo, the products into the mlp and out of
 * it. */
const struct recompute_policy recompute_policies[] = {
    {"selective_op", "torchtitan", "op:dense/2 op:attention op:sum op:exchange op:choice", false},
    {"minimal", "MaxText", QKV " " OUT " " WIDE " " NARROW, false},
    {"minimal_with_context", "MaxText", QKV " attn/heads$ " OUT " " WIDE " " NARROW, false},
    {"save_dot_with_context_except_mlp", "MaxText", QKV " attn/heads$ " OUT, false},
    {"save_dot_except_mlp", "MaxText", QKV " " OUT, false},
    {"save_dot_except_mlpwi", "MaxText", QKV " " OUT " " NARROW, false},
    {"save_qkv_proj", "MaxText", QKV, false},
    {"save_out_proj", "MaxText", OUT, false},
    {"qkv_proj_offloaded", "MaxText", QKV, true},
    {"minimal_offloaded", "MaxText", QKV " " OUT " " WIDE " " NARROW, true},
    {NULL, NULL, NULL, false},
};

const struct recompute_policy *recompute_policy_find(const char *name)
{
    for (const struct recompute_policy *p = recompute_policies; p->name; p++)
        if (!strcmp(p->name, name))
            return p;
    return NULL;
}

/* ---- modules ---- */

/* Megatron-LM recomputes the results of norms, of the experts' activation and of the up
 * projections, and keeps those of the other parts. */
const struct recompute_module recompute_modules[] = {
    {"core_attn", NULL, false},
    {"layernorm", "norm[12]", false},
    {"mlp", "mlp/", true},
    {"moe", "moe/", true},
    {"moe_act", "moe/(silu|gelu|gated)", false},
    {"shared_experts", "shared/", true},
    {"mla_up_proj", "attn/(q|q_rope|k|v)(/|$)", false},
    {NULL, NULL, false},
};

int recompute_module_find(const char *name, size_t length)
{
    for (int i = 0; recompute_modules[i].name; i++)
        if (strlen(recompute_modules[i].name) == length &&
            !strncmp(recompute_modules[i].name, name, length))
            return i;
    return -1;
}
