/* kernel.time: the time of one kernel, or of a collective, on a cluster, by the same models and
 * constants as a plan's, and how far these were off.
 *
 * The op, type and sizes of a question are the columns of tables of measured kernels
 * (hardware/kernel_row.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "hardware/kernel_row.h"
#include "query/query.h"
#include "question/fields.h"
#include "question/read_field.h"

#define SIZES_MAX 10

/* An op, the table whose rows it is like, and its sizes; of these the last `ngiven` may be left
 * out. */
static const struct asked_op {
    const char *name, *table;
    const char *sizes[SIZES_MAX];
    size_t ngiven;
} asked_ops[] = {
    {"product", "gemm", {"m", "n", "k"}, 0},
    {"prefill", "prefill", {"batch", "length", "heads", "kv_heads", "head_dim", "window"}, 1},
    {"decode", "decode", {"batch", "length", "heads", "kv_heads", "head_dim", "window"}, 1},
    {"mla_prefill", "mla_prefill", {"batch", "length", "heads"}, 0},
    {"mla_decode", "mla_decode", {"batch", "length", "heads"}, 0},
    {"experts", "moe", {"tokens", "hidden", "inter", "topk", "experts", "tp", "ep", "gated"}, 3},
    {"quantize", "quantize", {"m", "k"}, 0},
    {"copy", "copy", {"bytes"}, 0},
    {"all-reduce", "collectives", {"devices", "bytes"}, 0},
    {"all-gather", "collectives", {"devices", "bytes"}, 0},
    {"reduce-scatter", "collectives", {"devices", "bytes"}, 0},
    {"all-to-all", "collectives", {"devices", "bytes"}, 0},
    {"engine-all-reduce", "collectives", {"devices", "bytes"}, 0}};
#define NOPS (sizeof asked_ops / sizeof *asked_ops)

struct asked {
    const struct asked_op *op;
    const char *type;
    const json_t *sizes;
};

/* ---- the question ---- */

/* Columns of a table that the op decides, and those that were measured. */
static const char *word_of(void *arg, const char *column)
{
    const struct asked *asked = arg;
    bool engine = !strcmp(asked->op->name, "engine-all-reduce");

    if (!strcmp(column, "type"))
        return !strcmp(asked->op->table, "collectives") ? "float16" : asked->type;
    if (!strcmp(column, "op"))
        return !strcmp(asked->op->table, "quantize") ? "scale_matrix"
               : engine                              ? "all-reduce"
                                                     : asked->op->name;
    if (!strcmp(column, "library"))
        return engine ? "engine" : "nccl";
    return !strcmp(column, "graph") ? "yes" : "even";
}

static double number_of(void *arg, const char *column)
{
    const struct asked *asked = arg;
    const json_t *value = json_object_get(asked->sizes, column);

    if (json_is_integer(value))
        return (double)json_integer_value(value);
    return !strcmp(column, "window") ? 0 : 1;
}

static int read_op(struct asked *out, const json_t *in, struct shd_error *err)
{
    const char *name;
    struct nearest near;
    int status = read_string(&name, in, "op", "", err);

    if (status != SHD_OK)
        return status;
    nearest_init(&near, name);
    for (size_t i = 0; i < NOPS; i++) {
        bool table = strcmp(asked_ops[i].table, "collectives") != 0;

        if (!strcmp(name, asked_ops[i].name) || (table && !strcmp(name, asked_ops[i].table))) {
            out->op = &asked_ops[i];
            return SHD_OK;
        }
        nearest_add(&near, asked_ops[i].name);
        nearest_add(&near, asked_ops[i].table);
    }
    return shd_error_set(err, *name ? SHD_EINVAL : SHD_ETYPE, "there is no kernel '%.40s'%s", name,
                         near.best ? nearest_hint(&near).text
                                   : "; expected one such as product, decode or all-reduce");
}

static bool is_size_of(const struct asked_op *op, const char *key, size_t *n)
{
    bool is = false;

    for (*n = 0; *n < SIZES_MAX && op->sizes[*n]; ++*n)
        is |= !strcmp(op->sizes[*n], key);
    return is;
}

/* Whether a size divides by another, where both are given. */
static int check_divides(const struct asked *asked, const char *what, const char *by,
                         struct shd_error *err)
{
    const json_t *a = json_object_get(asked->sizes, what), *b = json_object_get(asked->sizes, by);

    if (!json_is_integer(a) || !json_is_integer(b) ||
        json_integer_value(a) % json_integer_value(b) == 0)
        return SHD_OK;
    return shd_error_set(err, SHD_EINVAL, "'%s' is %lld; expected a multiple of '%s', %lld", what,
                         (long long)json_integer_value(a), by, (long long)json_integer_value(b));
}

static int check_sizes(const struct asked *asked, struct shd_error *err)
{
    const struct asked_op *op = asked->op;
    const char *key;
    json_t *value;
    size_t n = 0;
    int status;

    json_object_foreach((json_t *)asked->sizes, key,
                        value) if (!json_is_null(value) &&
                                   !is_size_of(op, key, &n)) return fields_unknown(key, op->name,
                                                                                   op->sizes, n,
                                                                                   err);
    (void)is_size_of(op, "", &n);
    for (size_t i = 0; i + op->ngiven < n; i++)
        if (!json_is_integer(json_object_get(asked->sizes, op->sizes[i])))
            return shd_error_set(err, SHD_ETYPE, "'sizes.%s' of %s is missing", op->sizes[i],
                                 op->name);
    status = check_divides(asked, "heads", "kv_heads", err);
    if (status == SHD_OK)
        status = check_divides(asked, "inter", "tp", err);
    if (status == SHD_OK)
        status = check_divides(asked, "experts", "ep", err);
    if (status == SHD_OK && number_of((void *)asked, "topk") > number_of((void *)asked, "experts"))
        status =
            shd_error_set(err, SHD_EINVAL, "'topk' is %.0f; expected at most as many as 'experts'",
                          number_of((void *)asked, "topk"));
    return status;
}

static const struct kernel_table *table_of(const struct asked_op *op)
{
    const struct kernel_table *table = kernel_row_tables;

    while (table->name && strcmp(table->name, op->table) != 0)
        table++;
    return table;
}

static int no_type(const struct asked *asked, const struct kernel_table *table,
                   struct shd_error *err)
{
    struct text known = TEXT_INIT;
    int status;

    for (int t = (int)table->first_type; t <= (int)table->last_type; t++)
        text_addf(&known, "%s%s", t > (int)table->first_type ? ", " : "", kernel_types[t]);
    if (known.failed)
        status = shd_error_set(err, SHD_ENOMEM, "no memory for the types");
    else
        status = shd_error_set(err, SHD_EINVAL, "'type' of %s is '%.20s'; expected one of %s",
                               asked->op->name, asked->type, text_get(&known));
    text_fini(&known);
    return status;
}

/* Read the row that is asked for. */
static int read_row(struct kernel_row *out, struct asked *asked, struct shd_error *err)
{
    const struct kernel_columns columns = {.arg = asked, .word = word_of, .number = number_of};
    const struct kernel_table *table = table_of(asked->op);

    if (!table->name) {
        *out = (struct kernel_row){.kernel = KERNEL_COPY, .type = KERNEL_ANY_TYPE, .count = 1};
        out->sizes.bytes = number_of(asked, "bytes");
        return SHD_OK;
    }
    kernel_row_read(out, table, &columns);
    if (out->type == KERNEL_NTYPES || out->kernel == KERNEL_NKERNELS)
        return no_type(asked, table, err);
    return SHD_OK;
}

/* The default type: of what has 16 bits, or no type. */
static const char *usual_type(const struct asked_op *op)
{
    const struct kernel_table *table = table_of(op);

    if (!strcmp(op->name, "quantize"))
        return "fp8";
    return kernel_types[table->name ? table->first_type : KERNEL_ANY_TYPE];
}

static int read_asked(struct asked *out, const json_t *in, struct shd_error *err)
{
    int status = read_op(out, in, err);

    if (status != SHD_OK)
        return status;
    status = read_string(&out->type, in, "type", usual_type(out->op), err);
    out->sizes = json_object_get(in, "sizes");
    if (status == SHD_OK && !json_is_object(out->sizes))
        status = shd_error_set(err, SHD_ETYPE, "'sizes' must be an object");
    return status == SHD_OK ? check_sizes(out, err) : status;
}

/* ---- the answer ---- */

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
    json_out_key_object(out, "of_size");
    write_class(out, form, class);
    write_error(out, &model->by_size[class]);
    json_out_end_object(out);
    json_out_end_object(out);
}

static void write_beyond(struct json_out *out, const struct kernel_row *row,
                         const struct kernel_row_time *time)
{
    const struct kernel_model *model = time->model;
    char text[160];

    json_out_key_bool(out, "extrapolated",
                      !model || time->beyond || row->unlike || model->type != row->type);
    json_out_key_array(out, "extrapolated_in");
    if (!model)
        json_out_string(out, "no such kernel was measured on the cluster");
    if (row->unlike)
        json_out_string(out, row->unlike);
    if (model && model->type != row->type) {
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
    struct asked asked;
    int status = read_asked(&asked, in, err);

    if (status == SHD_OK)
        status = read_row(&row, &asked, err);
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
#define OTHERS "of other ops none"

const struct query_op query_kernel_time_ops[] = {
    {.name = "kernel.time",
     .answer = answer,
     .about =
         "The time of one kernel, or of a collective inside a node, on a cluster: as a plan of "
         "serving takes it, from models of measured kernels where the cluster has them, and how "
         "far "
         "these were off on measured kernels that they were not fitted to. Names of sizes are "
         "columns of the tables of 'shardsim calibrate --kernels'.",
     .in = QUERY_FIELDS(
         {"op", "text", NULL,
          "product, prefill, decode, mla_prefill, mla_decode, experts, quantize, copy; all-reduce, "
          "all-gather, reduce-scatter or all-to-all of NCCL, engine-all-reduce. gemm is a product, "
          "moe are experts."},
         {"type", "text", "in 16 bits",
          "Of a product bfloat16, fp8, fp8_block or nvfp4, of experts also int4_wo or w4a16_mxfp4; "
          "of attention that of the computation and that of the cache: bfloat16/bfloat16, "
          "bfloat16/fp8 or fp8/fp8. Others have one type."},
         {"cluster", "text", NULL, "A cluster by name, as 'shardsim show hardware' lists them."},
         {"sizes", "object", NULL, "Those of the op; the others are errors."},
         {"sizes.m", SIZE, OTHERS, "Rows of a product, or of a matrix that is quantized."},
         {"sizes.n", SIZE, OTHERS, "Columns of a product's weights."},
         {"sizes.k", SIZE, OTHERS, "Elements of a row."},
         {"sizes.batch", SIZE, OTHERS, "Sequences of attention."},
         {"sizes.length", SIZE, OTHERS,
          "Tokens of each prompt; keys that each query of a decode sees, its own included."},
         {"sizes.heads", SIZE, OTHERS, "Query heads of a device."},
         {"sizes.kv_heads", SIZE, OTHERS, "Key heads of a device."},
         {"sizes.head_dim", SIZE, OTHERS, "Elements of a head."},
         {"sizes.window", "whole number from 0 to 2147483647", "0",
          "Keys that a query sees at most; 0: all."},
         {"sizes.tokens", SIZE, OTHERS, "Tokens of all devices that the experts lie on."},
         {"sizes.hidden", SIZE, OTHERS, "Elements of a token."},
         {"sizes.inter", SIZE, OTHERS, "Elements inside an expert, of all devices."},
         {"sizes.topk", SIZE, OTHERS, "Experts that each token chooses, evenly."},
         {"sizes.experts", SIZE, OTHERS, "Experts of all devices."},
         {"sizes.tp", SIZE, "1", "Devices that each expert is cut over."},
         {"sizes.ep", SIZE, "1", "Devices that the experts are shared out to."},
         {"sizes.gated", "whole number from 0 to 1", "1",
          "1: experts have two products into their inside, 0: one."},
         {"sizes.devices", "whole number from 2 to 1048576", OTHERS, "Devices of a collective."},
         {"sizes.bytes", "whole number from 1 to 1125899906842624", OTHERS,
          "Bytes of a collective's whole array, or that a copy reads and writes."}),
     .gives = "object",
     .out = QUERY_FIELDS(
         {"seconds", "number", NULL,
          "Of a product or experts with all that a layer from 16 bits to 16 bits takes: codes of "
          "the input, and choosing, gathering and adding up the experts' rows."},
         {"bound_by", "text", NULL,
          "compute, memory, launch or tiles; of a collective latency, bandwidth or host."},
         {"by", "text", NULL,
          "'measured kernels': a model of such; 'constants': those of the cluster's file."},
         {"error", "object or null", NULL,
          "Of the model, on shapes left out of its fit: rows, median and p90 of the relative "
          "error, "
          "and of_size, the same of measured kernels of the sizes told there. null: no such kernel "
          "was measured."},
         {"extrapolated", "boolean", NULL, "Whether no measured kernel is like it."},
         {"extrapolated_in", "list of texts", NULL, "In what."}),
     .errors = NULL,
     .question =
         "{'op': 'product', 'type': 'bfloat16', 'cluster': 'h100-sxm', 'sizes': {'m': 64, 'n': "
         "4096, 'k': 4096}}",
     .reply =
         "'out':{'seconds':1.6010635e-05,'bound_by':'memory','by':'measured "
         "kernels','error':{'rows':"
         "18204,'median':0.0323,'p90':0.0997,'of_size':{'sizes':'m above 16 to 128','rows':3444,"
         "'median':0.031,'p90':0.083}},'extrapolated':false,'extrapolated_in':[]}"},
    {.name = NULL}};
