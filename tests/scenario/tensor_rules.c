/* What scenario/tensor_rules.h promises.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include "scenario/scenario.h"
#include "scenario/tensor_rules.h"
#include "../support/tap.h"

static const struct {
    const char *what;
    struct scenario_model model;
    struct tensor_axes axes;
    const char *rules; /* as items of a list in brackets */
} cases[] = {
    {"a dense model with a head of its own",
     {.kind = SCENARIO_LLAMA3},
     {.queries = "tp", .keys = "tp", .mlp = "tp", .shared = "tp", .vocab = "tp"},
     "['(attn/(q|k|v)|mlp/(gate|up)|head)/kernel', [null, tp]], "
     "['(attn/o|mlp/down)/kernel|embed/table', [tp]], [.*, []]"},
    {"biases of both halves of a gated mlp, and no head",
     {.kind = SCENARIO_TRANSFORMER,
      .tied = true,
      .bias = true,
      .attention_bias = SCENARIO_BIAS_ALL},
     {.queries = "tp", .keys = "tp", .mlp = "tp", .vocab = "tp"},
     "['(attn/(q|k|v)|mlp/(gate|up))/kernel', [null, tp]], ['(attn/o|mlp/down)/kernel|"
     "(attn/(q|k|v)|mlp/(gate|up))/bias|embed/table', [tp]], [.*, []]"},
    {"an encoder and a decoder",
     {.kind = SCENARIO_T5, .tied = true, .bias = true, .attention_bias = SCENARIO_BIAS_ALL},
     {.queries = "tp", .keys = "tp", .mlp = "tp", .vocab = "tp"},
     "['(attn/(q|k|v)|cross/(q|k|v)|mlp/(gate|up))/kernel|relative/table', [null, tp]], "
     "['(attn/o|cross/o|mlp/down)/kernel|embed/table', [tp]], [.*, []]"},
    {"fewer heads of keys: rules of their own, of kernels and of biases",
     {.kind = SCENARIO_TRANSFORMER, .tied = true, .attention_bias = SCENARIO_BIAS_QKV},
     {.queries = "[tp, copy]", .keys = "tp", .mlp = "[tp, copy]", .vocab = "[tp, copy]"},
     "['(attn/q|mlp/(gate|up))/kernel', [null, [tp, copy]]], ['attn/(k|v)/kernel', [null, tp]], "
     "['(attn/o|mlp/down)/kernel|attn/q/bias|embed/table', [[tp, copy]]], "
     "['attn/(k|v)/bias', [tp]], [.*, []]"},
    {"experts with biases in all layers, and sinks",
     {.kind = SCENARIO_TRANSFORMER,
      .bias = true,
      .sinks = true,
      .moe = {.experts = 8, .every = 1, .expert_bias = true}},
     {.queries = "tp", .mlp = "tp", .experts = "ep", .expert_widths = "tp"},
     "[moe/(gate|up)/kernel, [ep, null, tp]], [moe/down/kernel, [ep, tp]], "
     "[moe/(gate|up)/bias, [ep, tp]], [moe/down/bias, [ep]], ['attn/q/kernel', [null, tp]], "
     "['attn/o/kernel|attn/sinks', [tp]], [.*, []]"},
    {"latent attention, a dense layer, shared experts and modules for further tokens",
     {.kind = SCENARIO_DEEPSEEK,
      .mtp = 1,
      .mla.kv_rank = 8,
      .moe = {.experts = 8, .every = 1, .first_dense = 1, .shared = 1}},
     {.queries = "tp", .keys = "tp", .mlp = "tp", .shared = "tp", .vocab = "tp", .experts = "ep"},
     "[moe/(gate|up)/kernel, [ep, null, null]], [moe/down/kernel, [ep, null]], "
     "['(attn/(q|q_rope|k|v)|mlp/(gate|up)|shared/(gate|up)|join|head)/kernel', [null, tp]], "
     "['(attn/o|mlp/down|shared/down)/kernel|embed/table', [tp]], [.*, []]"},
    {"a gated delta rule and a short convolution beside gated attention",
     {.kind = SCENARIO_DECODER,
      .attention_gate = true,
      .layer_types = {3, {SCENARIO_LAYER_DELTA, SCENARIO_LAYER_CONV, SCENARIO_LAYER_FULL}}},
     {.queries = "tp", .keys = "tp", .mlp = "tp"},
     "['attn/(q|gate|key|value|decay|beta|k|v)/kernel|attn/(q|key|value)/taps|"
     "conv/(in|gate|value)/kernel|conv/taps|mlp/(gate|up)/kernel', [null, tp]], "
     "['(attn/o|conv/o)/kernel|attn/decay/log|attn/decay/bias|mlp/down/kernel', [tp]], [.*, []]"},
    {"KDA beside compressed attention",
     {.kind = SCENARIO_DECODER,
      .mla.kv_rank = 8,
      .layer_types = {2, {SCENARIO_LAYER_KDA, SCENARIO_LAYER_FULL_PLAIN}}},
     {.queries = "tp", .keys = "tp"},
     "['attn/(q|q_rope|gate|key|value|decay|beta|k|v)/kernel|attn/(q|key|value)/taps', [null, "
     "tp]], ['attn/o/kernel|attn/decay/log|attn/decay/bias', [tp]], [.*, []]"},
    {"Mamba-2 of one group",
     {.kind = SCENARIO_DECODER,
      .linear = {.key_heads = 1},
      .layer_types = {2, {SCENARIO_LAYER_MAMBA, SCENARIO_LAYER_FULL}}},
     {.queries = "tp"},
     "['(attn/q|mamba/(x|z|dt))/kernel|mamba/x/taps', [null, tp]], "
     "['(attn/o|mamba/o)/kernel|mamba/dt/log|mamba/dt/bias|mamba/skip|mamba/norm/scale', [tp]], "
     "[.*, []]"},
    {"Mamba-2 of several groups, whose convolutions have biases",
     {.kind = SCENARIO_DECODER,
      .linear = {.key_heads = 8, .taps_bias = true},
      .layer_types = {2, {SCENARIO_LAYER_MAMBA, SCENARIO_LAYER_FULL}}},
     {.queries = "tp"},
     "['(attn/q|mamba/(x|z|dt|b|c))/kernel|mamba/(x|b|c)/taps', [null, tp]], "
     "['(attn/o|mamba/o)/kernel|mamba/dt/log|mamba/dt/bias|mamba/(x|b|c)/conv_bias|mamba/skip|"
     "mamba/norm/scale', [tp]], [.*, []]"},
    {"Mamba-2 of one group beside attention, without a norm",
     {.kind = SCENARIO_DECODER,
      .linear = {.key_heads = 1, .norm = SCENARIO_STATE_BARE},
      .layer_types = {1, {SCENARIO_LAYER_FULL_MAMBA}}},
     {.queries = "tp"},
     "['(attn/q|mamba/(x|z|dt))/kernel|mamba/x/taps', [null, tp]], "
     "['(attn/o|mamba/o)/kernel|mamba/dt/log|mamba/dt/bias|mamba/skip', [tp]], [.*, []]"},
    {"lightning attention",
     {.kind = SCENARIO_DECODER,
      .layer_types = {2, {SCENARIO_LAYER_LIGHTNING, SCENARIO_LAYER_FULL}}},
     {.queries = "tp"},
     "['(attn/q|lightning/(q|k|v|gate))/kernel', [null, tp]], "
     "['(attn/o|lightning/o)/kernel|lightning/norm/scale', [tp]], [.*, []]"},
    {"layers of one part each, one of experts and none of an MLP",
     {.kind = SCENARIO_DECODER,
      .residual = SCENARIO_ALONE,
      .moe = {.experts = 8, .every = 1},
      .layer_types = {2, {SCENARIO_LAYER_FULL, SCENARIO_LAYER_EXPERTS}}},
     {.queries = "tp", .mlp = "tp", .experts = "ep"},
     "[moe/(gate|up)/kernel, [ep, null, null]], [moe/down/kernel, [ep, null]], ['attn/q/kernel', "
     "[null, tp]], ['attn/o/kernel', [tp]], [.*, []]"},
    {"nothing is sharded", {.kind = SCENARIO_LLAMA3}, {.queries = NULL}, "[.*, []]"},
};

int main(void)
{
    const struct tensor_values values = {"[dp, ep]", "cp", "tp", "[cp, tp]"};
    struct text text = TEXT_INIT;

    plan(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text_clear(&text);
        tensor_rules_print(&text, &cases[i].model, &cases[i].axes, RULES_FLOW);
        if (!ok(!text.failed && !strcmp(text_get(&text), cases[i].rules), "%s", cases[i].what))
            diag("%s", text_get(&text));
    }
    text_clear(&text);
    tensor_constraints_print(&text, &values, RULES_BLOCK);
    ok(!strcmp(text_get(&text), "  - [head/out, [[dp, ep], cp, tp]]\n"
                                "  - [out$, [[dp, ep], [cp, tp], null]]\n"),
       "values between layers");
    text_clear(&text);
    tensor_inside_print(&text, &values,
                        &(struct scenario_model){.kind = SCENARIO_T5, .moe = {.experts = 0}}, true,
                        RULES_BLOCK);
    ok(!strcmp(text_get(&text), "  - [(attn|cross)/(q|kv), [[dp, ep], cp, tp, null]]\n"
                                "  - [mlp/hidden, [[dp, ep], cp, tp]]\n"),
       "values inside an encoder and a decoder");
    text_clear(&text);
    tensor_inside_print(&text, &values,
                        &(struct scenario_model){.kind = SCENARIO_DEEPSEEK,
                                                 .moe = {.experts = 8, .every = 1, .shared = 1}},
                        false, RULES_FLOW);
    ok(!strcmp(text_get(&text), "[shared/hidden, [[dp, ep], cp, tp]], "),
       "values inside layers of experts, without those of attention");
    text_clear(&text);
    tensor_exchange_print(&text, &values, "[tp, cp]", false, RULES_FLOW);
    ok(!strcmp(text_get(&text), "[attn/(projected|attended), [[dp, ep], cp, tp, null]], "
                                "[attn/q, [[dp, ep], null, [tp, cp], null]], "),
       "tokens exchanged for heads, of which keys have too few");
    text_fini(&text);
    return done();
}
