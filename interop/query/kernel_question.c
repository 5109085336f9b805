/* Reading a question about a kernel (kernel_question.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "query/kernel_question.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "question/fields.h"
#include "question/read_field.h"

#define SIZES_MAX 10
#define PARTS 4 /* of a name such as "gdn/vllm/causal_conv1d_fn/prefill" */

/* An op, the table whose rows it is like, and its sizes; of these the last `ngiven` may be left
 * out. */
static const struct asked_op {
    const char *name, *table;
    const char *sizes[SIZES_MAX];
    size_t ngiven;
    const char *family; /* types begin with it; NULL: any */
} asked_ops[] = {
    {"product", "gemm", {"m", "n", "k"}, 0, NULL},
    {"prefill", "prefill", {"batch", "length", "heads", "kv_heads", "head_dim", "window"}, 1, NULL},
    {"decode", "decode", {"batch", "length", "heads", "kv_heads", "head_dim", "window"}, 1, NULL},
    {"mla_prefill", "mla_prefill", {"batch", "length", "heads"}, 0, NULL},
    {"mla_decode", "mla_decode", {"batch", "length", "heads"}, 0, NULL},
    {"experts",
     "moe",
     {"tokens", "hidden", "inter", "topk", "experts", "tp", "ep", "gated"},
     3,
     NULL},
    {"quantize", "quantize", {"m", "k"}, 0, NULL},
    {"copy", "copy", {"bytes"}, 0, NULL},
    {"all-reduce", "collectives", {"devices", "bytes"}, 0, NULL},
    {"all-gather", "collectives", {"devices", "bytes"}, 0, NULL},
    {"reduce-scatter", "collectives", {"devices", "bytes"}, 0, NULL},
    {"all-to-all", "collectives", {"devices", "bytes"}, 0, NULL},
    {"engine-all-reduce", "collectives", {"devices", "bytes"}, 0, NULL},
    {"dispatch", "a2a", {"tokens", "hidden", "topk", "experts", "ep"}, 0, NULL},
    {"combine", "a2a", {"tokens", "hidden", "topk", "experts", "ep"}, 0, NULL},
    {"prepare", "a2a", {"tokens", "hidden", "topk", "experts", "ep"}, 0, NULL},
    {"mla_module_prefill", "mla_module_prefill", {"batch", "length", "heads"}, 0, NULL},
    {"mla_module_decode", "mla_module_decode", {"batch", "length", "heads"}, 0, NULL},
    {"linear",
     "linear",
     {"batch", "length", "nheads", "head_dim", "n_groups", "d_state", "d_conv"},
     1,
     "mamba2/"},
    {"linear",
     "linear",
     {"batch", "length", "num_k_heads", "head_k_dim", "num_v_heads", "head_v_dim", "d_conv"},
     1,
     NULL}};
#define NOPS (sizeof asked_ops / sizeof *asked_ops)

struct asked {
    const struct asked_op *op;
    const char *type;
    const json_t *sizes;
    char parts[PARTS][KERNEL_NAME_MAX]; /* of a type that is a name */
};

/* Columns of the tables whose types are names: parts of the name. */
static const char *part_of(const struct asked *asked, const char *column)
{
    static const char *const a2a[] = {"library", "mode"}, *const linear[] = {"op", "software",
                                                                             "part", "phase"};
    bool exchanges = !strcmp(asked->op->table, "a2a");
    bool low = exchanges && !strcmp(asked->parts[2], "low_precision");

    if (exchanges && !strcmp(column, "phase"))
        return low ? "combine_low_precision" : asked->op->name;
    if (exchanges && !strcmp(column, "type"))
        return asked->parts[low ? 3 : 2];
    for (int i = 0; i < (exchanges ? 2 : PARTS); i++)
        if (!strcmp(column, exchanges ? a2a[i] : linear[i]))
            return asked->parts[i];
    return "";
}

static void split_name(struct asked *asked)
{
    const char *at = asked->type;

    for (int i = 0; i < PARTS; i++) {
        size_t length = strcspn(at, "/");

        snprintf(asked->parts[i], sizeof asked->parts[i], "%.*s", (int)length, at);
        at += length + (at[length] == '/');
    }
}

/* Columns of a table that the op decides, and those that were measured. */
static const char *word_of(void *arg, const char *column)
{
    const struct asked *asked = arg;
    bool engine = !strcmp(asked->op->name, "engine-all-reduce");

    if (!strcmp(asked->op->table, "a2a") || !strcmp(asked->op->table, "linear"))
        return part_of(asked, column);
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
    return !strcmp(column, "window") ? 0 : !strcmp(column, "d_conv") ? 4 : 1;
}

static int read_op(struct asked *out, const json_t *in, struct shd_error *err)
{
    const char *name, *type = NULL;
    struct nearest near;
    int status = read_string(&name, in, "op", "", err);

    if (status == SHD_OK)
        status = read_string(&type, in, "type", "", err);
    if (status != SHD_OK)
        return status;
    nearest_init(&near, name);
    for (size_t i = 0; i < NOPS; i++) {
        bool table = strcmp(asked_ops[i].table, "collectives") != 0;
        const char *family = asked_ops[i].family;

        if (family && strncmp(type, family, strlen(family)) != 0)
            continue;
        if (!strcmp(name, asked_ops[i].name) || (table && !strcmp(name, asked_ops[i].table))) {
            out->op = &asked_ops[i];
            return SHD_OK;
        }
        nearest_add(&near, asked_ops[i].name);
        nearest_add(&near, asked_ops[i].table);
    }
    return shd_error_set(err, *name ? SHD_EINVAL : SHD_ETYPE, "unknown kernel '%.40s'%s", name,
                         near.best ? nearest_hint(&near).text
                                   : "; expected a kernel such as product, decode or all-reduce");
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

/* Check that all keys are sizes of the op, and that none is missing. */
static int check_keys(const struct asked *asked, struct shd_error *err)
{
    const struct asked_op *op = asked->op;
    json_t *sizes = (json_t *)asked->sizes;
    size_t n;

    for (void *i = json_object_iter(sizes); i; i = json_object_iter_next(sizes, i))
        if (!json_is_null(json_object_iter_value(i)) &&
            !is_size_of(op, json_object_iter_key(i), &n))
            return fields_unknown(json_object_iter_key(i), op->name, op->sizes, n, err);
    (void)is_size_of(op, "", &n);
    for (size_t i = 0; i + op->ngiven < n; i++)
        if (!json_is_integer(json_object_get(sizes, op->sizes[i])))
            return shd_error_set(err, SHD_ETYPE, "'sizes.%s' of %s is missing", op->sizes[i],
                                 op->name);
    return SHD_OK;
}

static int check_sizes(const struct asked *asked, struct shd_error *err)
{
    int status = check_keys(asked, err);

    if (status == SHD_OK)
        status = check_divides(asked, "heads", "kv_heads", err);
    if (status == SHD_OK)
        status = check_divides(asked, "inter", "tp", err);
    if (status == SHD_OK)
        status = check_divides(asked, "experts", "ep", err);
    if (status == SHD_OK && number_of((void *)asked, "topk") > number_of((void *)asked, "experts"))
        status = shd_error_set(err, SHD_EINVAL,
                               "'topk' is %.0f; expected at most the value of 'experts'",
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
    if (*out->name)
        memcpy(out->name, asked->type, strnlen(asked->type, sizeof out->name - 1) + 1);
    if (out->type == KERNEL_NTYPES || out->kernel == KERNEL_NKERNELS)
        return no_type(asked, table, err);
    return SHD_OK;
}

/* The default type: of what has 16 bits, or no type.  NULL: it must be given. */
static const char *usual_type(const struct asked_op *op)
{
    const struct kernel_table *table = table_of(op);

    if (!strcmp(op->name, "quantize"))
        return "fp8";
    for (int k = KERNEL_FIRST_NAMED; k < KERNEL_NKERNELS; k++)
        if (!strcmp(op->name, kernel_kinds[k]))
            return NULL;
    return kernel_types[table->name ? table->first_type : KERNEL_ANY_TYPE];
}

static int read_asked(struct asked *out, const json_t *in, struct shd_error *err)
{
    int status = read_op(out, in, err);

    if (status != SHD_OK)
        return status;
    status = read_string(&out->type, in, "type", usual_type(out->op), err);
    out->sizes = json_object_get(in, "sizes");
    if (status == SHD_OK && !out->type)
        status = shd_error_set(err, SHD_ETYPE,
                               "'type' of %s is missing; expected a name from measured_kernels of "
                               "the cluster's file",
                               out->op->name);
    if (status == SHD_OK)
        split_name(out);
    if (status == SHD_OK && !json_is_object(out->sizes))
        status = shd_error_set(err, SHD_ETYPE, "'sizes' must be an object");
    return status == SHD_OK ? check_sizes(out, err) : status;
}

int kernel_question_read(struct kernel_row *out, const json_t *in, struct shd_error *err)
{
    struct asked asked;
    int status = read_asked(&asked, in, err);

    return status == SHD_OK ? read_row(out, &asked, err) : status;
}
