/* Tests shd/attention_specs.h: the specs of an attention's arrays.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <string.h>

#include <shd/attention_specs.h>

#include "../support/tap.h"

static const struct {
    bool jax, fsdp;
    const char *specs[SHD_NATTENTION_TENSORS]; /* query, generation query, key, value, bias,
                                                  generation bias, attention */
} cases[] = {
#define GENERATION_QUERY "[[dp, fsdp], tp, null, null]"
#define GENERATION_BIAS "[[dp, fsdp], null, null, null]"
    {true,
     true,
     {"[fsdp, null, sp, null]", GENERATION_QUERY, "[fsdp, null, sp, null]",
      "[fsdp, null, sp, null]", "[fsdp, null, sp, null]", GENERATION_BIAS,
      "[fsdp, null, sp, null]"}},
    {true,
     false,
     {"[dp, fsdp, tp, sp, null]", GENERATION_QUERY, "[dp, fsdp, tp, sp, null]",
      "[dp, fsdp, tp, sp, null]", "[dp, null, fsdp, null]", GENERATION_BIAS,
      "[dp, fsdp, tp, sp, null]"}},
    {false,
     true,
     {"[fsdp, sp, null, null]", GENERATION_QUERY, "[fsdp, sp, null, null]",
      "[fsdp, sp, null, null]", "[fsdp, sp, null, null]", GENERATION_BIAS,
      "[fsdp, sp, null, null]"}},
    {false,
     false,
     {"[dp, sp, fsdp, null]", GENERATION_QUERY, "[dp, sp, fsdp, null]", "[dp, sp, fsdp, null]",
      "[dp, fsdp, null, null]", GENERATION_BIAS, "[dp, sp, fsdp, null]"}},
};

static void test_spec(size_t row, enum shd_attention_tensor tensor)
{
    struct shd_attention_variant variant = {cases[row].jax, cases[row].fsdp};
    struct shd_spec *spec = NULL;
    char text[100] = "";

    if (!shd_attention_spec(&spec, variant, tensor, NULL))
        shd_spec_print(spec, SHD_SPEC_YAML, text, sizeof(text));
    ok(!strcmp(text, cases[row].specs[tensor]), "(%d, %d) %s: %s", variant.jax_attention_format,
       variant.fsdp_on_batch, shd_attention_spec_name(tensor), text);
    shd_spec_destroy(spec);
}

int main(void)
{
    static const char *const names[SHD_NATTENTION_TENSORS] = {
        "query_partition_spec",    "generation_query_partition_spec",
        "key_partition_spec",      "value_partition_spec",
        "bias_partition_spec",     "generation_bias_partition_spec",
        "attention_partition_spec"};

    plan(0);
    for (size_t row = 0; row < sizeof(cases) / sizeof(cases[0]); row++) {
        for (int t = 0; t < SHD_NATTENTION_TENSORS; t++)
            test_spec(row, (enum shd_attention_tensor)t);
    }
    for (int t = 0; t < SHD_NATTENTION_TENSORS; t++)
        ok(!strcmp(shd_attention_spec_name((enum shd_attention_tensor)t), names[t]),
           "the original's name: %s", names[t]);
    return done();
}
