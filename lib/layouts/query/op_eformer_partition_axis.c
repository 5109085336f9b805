/* Ops on eformer's PartitionAxis.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <shd/partition_axis.h>

#include <string.h>

#include "layouts/query/layout_ops.h"
#include "layouts/query/write_layout.h"
#include "question/read_field.h"

#define OVERRIDES_MAX 64  /* fields of a question; SHD_NAXIS_FIELDS exist */
#define DIMENSIONS_MAX 64 /* names of a question; arrays have at most 16 dimensions */

/* Read null, "axis", ["a", "b"] or "...". */
static int read_value(struct shd_axis_value *out, const char *field, const json_t *value,
                      struct shd_error *err)
{
    const char *name = json_string_value(value);

    *out = (struct shd_axis_value){.kind = SHD_AXIS_IS_NONE};
    if (json_is_null(value))
        return SHD_OK;
    if (name && !strcmp(name, "...")) {
        out->kind = SHD_AXIS_IS_DEFAULT;
        return SHD_OK;
    }
    if (name) {
        *out = (struct shd_axis_value){SHD_AXIS_IS_NAME, 1, {name}};
        return SHD_OK;
    }
    out->kind = SHD_AXIS_IS_TUPLE;
    if (json_array_size(value) <= SHD_AXIS_VALUE_MAX)
        out->naxes = json_array_size(value);
    for (size_t a = 0; a < out->naxes; a++) {
        out->axes[a] = json_string_value(json_array_get(value, a));
        if (!out->axes[a] && !json_is_null(json_array_get(value, a)))
            return shd_error_set(err, SHD_ETYPE, "an axis of '%.100s' must be a name", field);
    }
    if (!json_is_array(value) || out->naxes < json_array_size(value))
        return shd_error_set(err, SHD_ETYPE, "'%.100s' must be an axis or a short list of axes",
                             field);
    return SHD_OK;
}

static int read_axis(struct shd_partition_axis **out, const json_t *in, struct shd_error *err)
{
    struct shd_axis_override overrides[OVERRIDES_MAX];
    size_t n = 0;
    int status = SHD_OK;

    if (json_object_size(in) > OVERRIDES_MAX)
        return shd_error_set(err, SHD_ETYPE, "there are %d fields, not %zu", SHD_NAXIS_FIELDS,
                             json_object_size(in));
    for (void *i = json_object_iter((json_t *)in); status == SHD_OK && i;
         i = json_object_iter_next((json_t *)in, i)) {
        overrides[n].field = json_object_iter_key(i);
        status = read_value(&overrides[n].value, overrides[n].field, json_object_iter_value(i),
                            err);
        n++;
    }
    return status == SHD_OK ? shd_partition_axis_create(out, overrides, n, err) : status;
}

static void write_value(struct json_out *out, const struct shd_axis_value *value)
{
    if (value->kind == SHD_AXIS_IS_NONE)
        json_out_null(out);
    if (value->kind == SHD_AXIS_IS_NAME)
        json_out_string(out, value->axes[0]);
    if (value->kind == SHD_AXIS_IS_TUPLE)
        write_names(out, value->axes, value->naxes);
}

static int answer_axis(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct shd_partition_axis *axis;
    int status = read_axis(&axis, in, err);

    if (status != SHD_OK)
        return status;
    json_out_begin_object(out);
    for (int f = 0; f < SHD_NAXIS_FIELDS; f++) {
        json_out_key(out, shd_axis_field_name((enum shd_axis_field)f));
        write_value(out, shd_partition_axis_get(axis, (enum shd_axis_field)f));
    }
    json_out_end_object(out);
    shd_partition_axis_destroy(axis);
    return SHD_OK;
}

/* Read in["names"]: the role of each dimension, null for an unsharded one. */
static int read_dimensions(const char **names, size_t *n, const json_t *in, struct shd_error *err)
{
    const json_t *list = json_object_get(in, "names");

    *n = json_array_size(list);
    if (!json_is_array(list) || *n > DIMENSIONS_MAX)
        return shd_error_set(err, SHD_ETYPE, "'names' must be a list of at most %d names",
                             DIMENSIONS_MAX);
    for (size_t i = 0; i < *n; i++) {
        names[i] = json_string_value(json_array_get(list, i));
        if (!names[i] && !json_is_null(json_array_get(list, i)))
            return shd_error_set(err, SHD_ETYPE, "a name in 'names' must be a string or null");
    }
    return SHD_OK;
}

static int read_mode(enum shd_axis_mode *out, const json_t *in, struct shd_error *err)
{
    const char *mode;
    int status = read_string(&mode, in, "mode", "training", err);

    if (status != SHD_OK)
        return status;
    *out = !strcmp(mode, "generation") ? SHD_MODE_GENERATION : SHD_MODE_TRAINING;
    if (*out == SHD_MODE_TRAINING && strcmp(mode, "training") != 0)
        return shd_error_set(err, SHD_EINVAL, "'mode' is '%.60s'; expected training or generation",
                             mode);
    return SHD_OK;
}

static int answer_spec(const json_t *in, struct json_out *out, struct shd_error *err)
{
    const char *names[DIMENSIONS_MAX];
    struct shd_partition_axis *axis = NULL;
    struct shd_spec *spec;
    enum shd_axis_mode mode;
    size_t n;
    int status = read_dimensions(names, &n, in, err);

    if (status == SHD_OK)
        status = read_mode(&mode, in, err);
    if (status == SHD_OK)
        status = read_axis(&axis, json_object_get(in, "partition_axis"), err);
    if (status == SHD_OK)
        status = shd_partition_axis_spec(&spec, axis, names, n, mode, err);
    if (status == SHD_OK) {
        write_spec(out, spec);
        shd_spec_destroy(spec);
    }
    shd_partition_axis_destroy(axis);
    return status;
}

const struct query_op query_eformer_partition_axis_ops[] = {
    {.name = "eformer.PartitionAxis",
     .answer = answer_axis,
     .about = "A PartitionAxis with all its fields resolved: which mesh axes shard which axis of a "
              "model.",
     .in = QUERY_FIELDS({"*", "null, name or names", "\"...\"",
                         "Any field of the answer; '...' is its default, which follows the mesh "
                         "axes named above it."}),
     .gives = "object",
     .out = QUERY_FIELDS(
         {"data_parallel_axis", "name", NULL,
          "The mesh axis; so are fully_sharded_data_parallel_axis, tensor_parallel_axis, "
          "sequence_parallel_axis and expert_parallel_axis."},
         {"batch_axis", "null, name or names", NULL, "What shards the batch."},
         {"...", "null, name or names", NULL,
          "The other 17: sequence_axis, query_sequence_axis, head_axis, key_sequence_axis, "
          "hidden_state_axis, mlp_intermediate_axis, vocab_axis, expert_axis, expert_gate_axis, "
          "attention_dim_axis, bias_head_sequence_axis, bias_key_sequence_axis, "
          "generation_batch_axis, generation_query_sequence_axis, generation_head_axis, "
          "generation_key_sequence_axis, generation_attention_dim_axis."}),
     .question = "{'tensor_parallel_axis': 'model'}",
     .reply = "'out':{'data_parallel_axis':'dp','fully_sharded_data_parallel_axis':'fsdp','tensor_"
              "parallel_axis':'model',...,'batch_axis':['fsdp','dp'],...,'head_axis':'model',...}"},
    {.name = "eformer.resolve_spec",
     .answer = answer_spec,
     .about = "The spec of an array from what its dimensions mean.",
     .in = QUERY_FIELDS(
         {"names", "list of names or null", NULL,
          "For each dimension a field of PartitionAxis, with or without its '_axis'; null or '_': "
          "not sharded."},
         {"mode", "text", "\"training\"", "training or generation."},
         {"partition_axis", "object", "{}", "Fields, as eformer.PartitionAxis takes them."},
         {"partition_axis.*", "null, name or names", "\"...\"", "As there."}),
     .gives = "spec",
     .errors = "duplicate-axis, not-found",
     .question = "{'names': ['batch', 'query_sequence', 'head', null]}",
     .reply = "'out':[['fsdp','dp'],'sp','tp',null]"},
    {.name = NULL}};
