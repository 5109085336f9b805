/* Ops of EasyDeL.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/attention_specs.h>

#include "layouts/query/layout_ops.h"
#include "layouts/query/write_layout.h"
#include "question/read_field.h"

static int write_specs(struct json_out *out, struct shd_attention_variant variant,
                       struct shd_error *err)
{
    int status = SHD_OK;

    json_out_begin_object(out);
    for (int t = 0; status == SHD_OK && t < SHD_NATTENTION_TENSORS; t++) {
        struct shd_spec *spec;

        status = shd_attention_spec(&spec, variant, (enum shd_attention_tensor)t, err);
        if (status != SHD_OK)
            break;
        write_spec_key(out, shd_attention_spec_name((enum shd_attention_tensor)t), spec);
        shd_spec_destroy(spec);
    }
    json_out_end_object(out);
    return status;
}

static int answer_get_partitions(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_attention_variant variant;
    int status = read_bool(&variant.jax_attention_format, in, "jax_attn_format", true, err);

    if (status == SHD_OK)
        status = read_bool(&variant.fsdp_on_batch, in, "fsdp_on_batch", true, err);
    return status == SHD_OK ? write_specs(out, variant, err) : status;
}

const struct query_op query_easydel_ops[] = {
    {.name = "easydel.get_partitions",
     .answer = answer_get_partitions,
     .about = "The specs of attention's arrays, as EasyDeL's get_partitions returns them, over the "
              "axes dp, fsdp, tp and sp.",
     .in = QUERY_FIELDS({"jax_attn_format", "boolean", "true",
                         "Dimensions are [batch, heads, sequence, head_dim]; else [batch, "
                         "sequence, heads, head_dim]."},
                        {"fsdp_on_batch", "boolean", "true",
                         "The axis fsdp shards the batch; else the sequence."}),
     .gives = "object",
     .out = QUERY_FIELDS({"NAME_partition_spec", "spec", NULL,
                          "One key for each array: query, generation_query, key, value, bias, "
                          "generation_bias, attention."}),
     .question = "{'jax_attn_format': false}",
     .reply = "'out':{'query_partition_spec':['fsdp','sp',null,null],'generation_query_partition_"
              "spec':[['dp','fsdp'],'tp',null,null],'key_partition_spec':['fsdp','sp',null,null],'"
              "value_partition_spec':['fsdp','sp',null,null],'bias_partition_spec':['fsdp','sp',"
              "null,null],'generation_bias_partition_spec':[['dp','fsdp'],null,null,null],'"
              "attention_partition_spec':['fsdp','sp',null,null]}"},
    {.name = NULL}};
