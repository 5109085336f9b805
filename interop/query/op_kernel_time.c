/* kernel.time: the time of one kernel, or of a collective, on a cluster, by the same models and
 * constants as a plan's, and how far these were off.
 *
 * The op, type and sizes of a question are the columns of tables of measured kernels
 * (hardware/kernel_row.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>

#include "query/kernel_question.h"
#include "query/query.h"
#include "question/read_field.h"

static void write_error(struct json_out *out, const struct kernel_error *e)
{
    json_out_key_int(out, "rows", e->rows);
    json_out_key_double(out, "median", e->median);
    json_out_key_double(out, "p90", e->p90);
}

/* The class of sizes that a kernel is of: "m above 16 to 128". */
static void write_class(struct json_out *out, const struct kernel_form *form, int class)
{
    char text[80], above[32] = "", to[32] = "";

    if (class > 0)
        snprintf(above, sizeof above, " above %.0f", form->classes[class - 1]);
    if (class < KERNEL_CLASSES - 1)
        snprintf(to, sizeof to, " to %.0f", form->classes[class]);
    snprintf(text, sizeof text, "%s%s%s", form->measures[0].name, above, to);
    json_out_key_string(out, "sizes", text);
}

static void write_errors(struct json_out *out, const struct kernel_row *row,
                         const struct kernel_model *model)
{
    const struct kernel_form *form = model ? &kernel_model_forms[model->kernel] : NULL;
    int class = model ? kernel_model_class(form, &row->sizes) : 0;

    json_out_key(out, "error");
    if (!model) {
        json_out_null(out);
        return;
    }
    json_out_begin_object(out);
    write_error(out, &model->error);
    json_out_key(out, "of_size");
    if (model->by_size[class].rows > 0) {
        json_out_begin_object(out);
        write_class(out, form, class);
        write_error(out, &model->by_size[class]);
        json_out_end_object(out);
    } else {
        json_out_null(out);
    }
    json_out_end_object(out);
}

/* Whether a model is of another type, like the row's. */
static bool is_alike(const struct kernel_model *model, const struct kernel_row *row)
{
    return !*model->name && model->type != row->type;
}

static void write_beyond(struct json_out *out, const struct kernel_row *row,
                         const struct kernel_row_time *time)
{
    const struct kernel_model *model = time->model;
    char text[160];

    json_out_key_bool(out, "extrapolated",
                      !model || time->beyond || row->unlike || is_alike(model, row));
    json_out_key_array(out, "extrapolated_in");
    if (!model)
        json_out_string(out, "the kernel was not measured on the cluster");
    if (row->unlike)
        json_out_string(out, row->unlike);
    if (model && is_alike(model, row)) {
        snprintf(text, sizeof text, "type: %s was measured", kernel_types[model->type]);
        json_out_string(out, text);
    }
    for (int m = 0; m < KERNEL_MEASURES_MAX; m++) {
        const struct kernel_form *form = model ? &kernel_model_forms[model->kernel] : NULL;

        if (!(time->beyond >> m & 1))
            continue;
        snprintf(text, sizeof text, "%s %.10g: %.10g to %.10g were measured",
                 form->measures[m].name, kernel_model_measure(form, m, &row->sizes),
                 model->least[m], model->most[m]);
        json_out_string(out, text);
    }
    json_out_end_array(out);
}

static void write_time(struct json_out *out, const struct kernel_row *row,
                       const struct kernel_row_time *time)
{
    json_out_begin_object(out);
    json_out_key_double(out, "seconds", time->seconds);
    json_out_key_string(out, "bound_by", time->bound_by);
    json_out_key_string(out, "by", time->model ? "measured kernels" : "constants");
    write_errors(out, row, time->model);
    write_beyond(out, row, time);
    json_out_end_object(out);
}

static int find_cluster(struct hardware **out, const json_t *in, struct shd_error *err)
{
    struct diag diag = DIAG_INIT;
    const char *name;
    int status = read_string(&name, in, "cluster", NULL, err);

    if (status == SHD_OK && !name)
        status = shd_error_set(err, SHD_ETYPE,
                               "'cluster' must be the name of a cluster, such as "
                               "h100-sxm; 'shardsim show hardware' lists them");
    if (status != SHD_OK)
        return status;
    status = hardware_find(out, name, NULL, (struct place){.file = "<question>"}, &diag);
    if (diag.no_memory)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the cluster");
    else if (status != SHD_OK)
        status = shd_error_set(err, status, "%s",
                               diag.nmessages > 0 ? diag.messages[0].text : "no such cluster");
    diag_fini(&diag);
    return status;
}

static int answer(const json_t *in, struct json_out *out, struct shd_error *err)
{
    struct hardware *hardware = NULL;
    struct kernel_row_time time;
    struct kernel_row row;
    int status = kernel_question_read(&row, in, err);

    if (status == SHD_OK)
        status = find_cluster(&hardware, in, err);
    if (status == SHD_OK)
        status = kernel_row_time(&time, hardware, &row, err);
    if (status == SHD_OK)
        write_time(out, &row, &time);
    hardware_destroy(hardware);
    return status;
}

#define SIZE "whole number from 1 to 2147483647"
#define OTHERS "none for other ops"

const struct query_op query_kernel_time_ops[] = {
    {.name = "kernel.time",
     .answer = answer,
     .about =
         "The time of one kernel, or of a collective inside a node, on a cluster, as a serving "
         "plan uses it. Where the cluster has models of measured kernels, also their error on "
         "kernels left out of the fit. Names of sizes are columns of the tables of 'shardsim "
         "calibrate --kernels'.",
     .in = QUERY_FIELDS(
         {"op", "text", NULL,
          "product, prefill, decode, mla_prefill, mla_decode, experts, quantize, copy; all-reduce, "
          "all-gather, reduce-scatter or all-to-all of NCCL, engine-all-reduce; dispatch, combine "
          "and prepare of tokens for experts; mla_module_prefill and mla_module_decode, latent "
          "attention (MLA) with its projections; linear, a kernel of a Mamba-2, gated delta rule "
          "or KDA layer. product (or gemm) is a matmul; moe is another name of experts."},
         {"type", "text", "in 16 bits",
          "Matmul: bfloat16, fp8, fp8_block or nvfp4; experts also int4_wo or w4a16_mxfp4. "
          "Attention: type of computation / type of KV cache: bfloat16/bfloat16, bfloat16/fp8 or "
          "fp8/fp8, with projections also their type. Dispatch, combine, prepare and linear: a "
          "name such as trtllm/NVLinkTwoSided/nvfp4 or gdn/vllm/causal_conv1d_fn/prefill: "
          "measured_kernels in the cluster's file lists them. Other ops have one type."},
         {"cluster", "text", NULL, "A cluster by name, as 'shardsim show hardware' lists them."},
         {"sizes", "object", NULL, "The sizes of the op; sizes of other ops are errors."},
         {"sizes.m", SIZE, OTHERS, "Rows (M) of a matmul, or of a matrix to quantize."},
         {"sizes.n", SIZE, OTHERS, "Columns (N) of a matmul's weights."},
         {"sizes.k", SIZE, OTHERS, "Elements of a row (K)."},
         {"sizes.batch", SIZE, OTHERS, "Sequences of attention."},
         {"sizes.length", SIZE, OTHERS,
          "Tokens of each prompt; in a decode the context length, the new token included."},
         {"sizes.heads", SIZE, OTHERS, "Query heads per device."},
         {"sizes.kv_heads", SIZE, OTHERS, "KV heads per device."},
         {"sizes.head_dim", SIZE, OTHERS, "Head size."},
         {"sizes.window", "whole number from 0 to 2147483647", "0",
          "Sliding window: keys that a query attends to at most; 0: all."},
         {"sizes.tokens", SIZE, OTHERS,
          "Tokens of all expert-parallel devices; for dispatch and combine, tokens per device."},
         {"sizes.hidden", SIZE, OTHERS, "Hidden size."},
         {"sizes.inter", SIZE, OTHERS, "Intermediate size of an expert, before sharding."},
         {"sizes.topk", SIZE, OTHERS, "Experts per token (top-k), evenly loaded."},
         {"sizes.experts", SIZE, OTHERS, "Experts in total."},
         {"sizes.tp", SIZE, "1", "Tensor-parallel size of an expert."},
         {"sizes.ep", SIZE, "1", "Expert-parallel size."},
         {"sizes.gated", "whole number from 0 to 1", "1",
          "1: experts have a gate and an up projection, 0: one."},
         {"sizes.num_k_heads", SIZE, OTHERS, "Key heads of a delta-rule layer."},
         {"sizes.head_k_dim", SIZE, OTHERS, "Elements of one."},
         {"sizes.num_v_heads", SIZE, OTHERS, "Value heads of a delta-rule layer."},
         {"sizes.head_v_dim", SIZE, OTHERS, "Elements of one."},
         {"sizes.nheads", SIZE, OTHERS, "Heads of Mamba-2."},
         {"sizes.n_groups", SIZE, OTHERS, "State groups (heads share B and C)."},
         {"sizes.d_state", SIZE, OTHERS, "State size."},
         {"sizes.d_conv", SIZE, "4", "Width of the convolution, in tokens."},
         {"sizes.devices", "whole number from 2 to 1048576", OTHERS, "Devices of the collective."},
         {"sizes.bytes", "whole number from 1 to 1125899906842624", OTHERS,
          "Bytes of the collective's whole array, or read and written by a copy."}),
     .gives = "object",
     .out = QUERY_FIELDS(
         {"seconds", "number", NULL,
          "Matmul or experts with 16-bit input and output: includes quantizing the input, and "
          "routing, gathering and summing the experts' tokens."},
         {"bound_by", "text", NULL,
          "compute, memory, launch or tiles; for a collective latency, bandwidth or host."},
         {"by", "text", NULL,
          "'measured kernels': a model fitted to them; 'constants': the constants of the cluster's "
          "file."},
         {"error", "object or null", NULL,
          "Error of the model on shapes left out of its fit: rows, median and p90 of the relative "
          "error; of_size, the same for measured kernels of the named sizes, or null. null: no "
          "such kernel was measured."},
         {"extrapolated", "boolean", NULL, "Whether the kernel is outside the measured range."},
         {"extrapolated_in", "list of texts", NULL, "In what."}),
     .errors = NULL,
     .question =
         "{'op': 'product', 'type': 'bfloat16', 'cluster': 'h100-sxm', 'sizes': {'m': 64, 'n': "
         "4096, 'k': 4096}}",
     .reply = "'out':{'seconds':1.6010635e-05,'bound_by':'memory','by':'measured "
              "kernels','error':{'rows':"
              "18204,'median':0.032,'p90':0.1,'of_size':{'sizes':'m above 16 to 128','rows':3444,"
              "'median':0.031,'p90':0.083}},'extrapolated':false,'extrapolated_in':[]}"},
    {.name = NULL}};
