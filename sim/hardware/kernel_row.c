/* Kernels by the columns of a table (kernel_row.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/kernel_row.h"

#include <math.h>
#include <string.h>

#include "hardware/kernel_work.h"

static double number(const struct kernel_columns *c, const char *column)
{
    return c->number(c->arg, column);
}

static bool says(const struct kernel_columns *c, const char *column, const char *word)
{
    return !strcmp(c->word(c->arg, column), word);
}

static void set_shape(struct kernel_row *out, int n, const double *sizes)
{
    memcpy(out->shape, sizes, (size_t)n * sizeof *sizes);
    out->nshape = n;
}

static void add_copy(struct kernel_row *out, double bytes)
{
    out->copies[out->ncopies++] = bytes;
}

/* A row is a layer from 16 bits to 16 bits: where it multiplies codes, those of its input are made,
 * too. */
static void read_gemm(struct kernel_row *out, const struct kernel_columns *c)
{
    double m = number(c, "m"), n = number(c, "n"), k = number(c, "k");

    out->kernel = KERNEL_PRODUCT;
    kernel_work_set_product(&out->sizes, out->type, 1, m, n, k);
    if (out->type != KERNEL_BF16)
        add_copy(out, m * k * (16 + out->sizes.a_bits) / 8);
    set_shape(out, 2, (double[]){n, k});
}

/* Keys that the queries of a causal head see, behind a window (0: none). */
static double pairs_of(double queries, double window)
{
    double most = window > 0 ? fmin(window, queries) : queries;

    return queries * most - most * (most - 1) / 2;
}

/* Set what prompts and decodes have alike; returns the bytes of an element of the cache. */
static double set_attention(struct kernel_row *out, const struct kernel_columns *c)
{
    struct kernel_sizes *s = &out->sizes;

    s->batch = number(c, "batch");
    s->heads = number(c, "heads");
    s->kv_heads = number(c, "kv_heads");
    s->head_dim = number(c, "head_dim");
    set_shape(out, 4, (double[]){s->heads, s->kv_heads, s->head_dim, number(c, "length")});
    return out->type == KERNEL_BF16_BF16 ? 2 : 1;
}

static void read_prefill(struct kernel_row *out, const struct kernel_columns *c)
{
    struct kernel_sizes *s = &out->sizes;
    double length = number(c, "length"), cache = set_attention(out, c);

    out->kernel = KERNEL_PREFILL;
    s->queries = length;
    s->pairs = pairs_of(length, number(c, "window"));
    s->bytes = 2 * s->batch * length * s->head_dim * (2 * s->heads + cache * s->kv_heads);
}

static void read_decode(struct kernel_row *out, const struct kernel_columns *c)
{
    struct kernel_sizes *s = &out->sizes;
    double length = number(c, "length"), window = number(c, "window");
    double cache = set_attention(out, c);

    out->kernel = KERNEL_DECODE;
    s->queries = 1;
    s->pairs = window > 0 ? fmin(window, length) : length;
    s->bytes = 2 * s->batch * s->head_dim * (2 * s->heads + cache * s->kv_heads * s->pairs);
}

/* DeepSeek's: a latent vector of 512 and 64 rotated elements a token, which all heads share; in a
 * prefill each head has keys of 192 and values of 128 elements. */
#define LATENT 576.0
#define LATENT_VALUES 512.0

static void read_mla_prefill(struct kernel_row *out, const struct kernel_columns *c)
{
    struct kernel_sizes *s = &out->sizes;
    double length = number(c, "length");

    out->kernel = KERNEL_LATENT_PREFILL;
    s->batch = number(c, "batch");
    s->heads = s->kv_heads = number(c, "heads");
    s->head_dim = (192 + 128) / 2.0;
    s->queries = length;
    s->pairs = pairs_of(length, 0);
    s->bytes = 2 * s->batch * length * s->heads * 2 * (192 + 128);
    set_shape(out, 2, (double[]){s->heads, length});
}

static void read_mla_decode(struct kernel_row *out, const struct kernel_columns *c)
{
    struct kernel_sizes *s = &out->sizes;

    out->kernel = KERNEL_LATENT_DECODE;
    s->batch = number(c, "batch");
    s->heads = number(c, "heads");
    s->kv_heads = 1;
    s->head_dim = (LATENT + LATENT_VALUES) / 2;
    s->queries = 1;
    s->pairs = number(c, "length");
    s->bytes = s->batch * (2 * s->heads * (LATENT + LATENT_VALUES) +
                           (out->type == KERNEL_BF16_BF16 ? 2 : 1) * LATENT * s->pairs);
    set_shape(out, 2, (double[]){s->heads, s->pairs});
}

/* What an engine's experts take besides their products, as a step of serving has it: choosing,
 * gathering rows, activating, rows in the tokens' order, and their sums.  Codes of the rows are
 * made on their own, and those of activations where these are. */
static void add_around_experts(struct kernel_row *out, double hidden, double inter, double tokens,
                               double rows, double choices)
{
    double a_bytes = out->sizes.a_bits / 8;

    add_copy(out, tokens * choices * 4);
    add_copy(out, 2 * rows * hidden * 2);
    if (a_bytes < 2)
        add_copy(out, rows * hidden * (2 + a_bytes));
    add_copy(out, rows * inter * (2 * 2 + a_bytes));
    add_copy(out, 2 * rows * hidden * 2);
    add_copy(out, (rows + 2 * tokens) * hidden * 2);
}

/* A device has its part of the experts, and of the rows that are chosen for these.  With experts on
 * several devices, engines differ by more than what a model would be good for. */
static void read_moe(struct kernel_row *out, const struct kernel_columns *c)
{
    double tokens = number(c, "tokens"), experts = number(c, "experts"), devices = number(c, "ep");
    double rows = tokens * number(c, "topk") / devices, hidden = number(c, "hidden");
    double inter = number(c, "inter"), chosen = fmin(experts / devices, rows);

    out->kernel = KERNEL_EXPERTS;
    out->count = number(c, "gated") != 0 ? 3 : 2;
    set_shape(out, 4, (double[]){hidden, inter, number(c, "topk"), experts});
    inter /= number(c, "tp");
    if (devices != 1)
        out->unlike = "experts on several devices";
    else if (!says(c, "distribution", "even"))
        out->unlike = "experts that are chosen unevenly";
    else if (out->count != 3)
        out->unlike = "experts without a gate";
    kernel_work_set_experts(&out->sizes, out->type, chosen, rows / chosen, inter, hidden);
    add_around_experts(out, hidden, inter, tokens, rows, experts);
}

/* NCCL's, measured in 16 bits, and engines' own all-reduces from a captured graph. */
static void read_collective(struct kernel_row *out, const struct kernel_columns *c)
{
    const char *op = c->word(c->arg, "op");
    int kernel = KERNEL_ALL_REDUCE;

    while (kernel < KERNEL_ENGINE_ALL_REDUCE && strcmp(op, kernel_kinds[kernel]) != 0)
        kernel++;
    out->sizes.devices = number(c, "devices");
    out->sizes.bytes = number(c, "bytes");
    set_shape(out, 1, &out->sizes.bytes);
    if (says(c, "library", "nccl") && kernel < KERNEL_ENGINE_ALL_REDUCE)
        out->kernel = (enum kernel_kind)kernel;
    else if (kernel == KERNEL_ALL_REDUCE)
        out->kernel = KERNEL_ENGINE_ALL_REDUCE;
    if (out->kernel == KERNEL_ENGINE_ALL_REDUCE ? !says(c, "graph", "yes")
                                                : !says(c, "type", "float16"))
        out->unlike = "collectives that are started otherwise";
    if (out->sizes.devices < 2)
        out->unlike = "a device by itself";
}

static void read_quantize(struct kernel_row *out, const struct kernel_columns *c)
{
    double m = number(c, "m"), k = number(c, "k");

    out->sizes.bytes = 3 * m * k;
    out->sizes.devices = 1;
    set_shape(out, 1, &k);
    if (says(c, "op", "scale_matrix") && says(c, "type", "fp8"))
        out->kernel = KERNEL_COPY;
}

const struct kernel_table kernel_row_tables[] = {
    {"quantize", true, "us_median", KERNEL_ANY_TYPE, KERNEL_ANY_TYPE, read_quantize},
    {"gemm", false, "us_median", KERNEL_BF16, KERNEL_NVFP4, read_gemm},
    {"prefill", false, "us_median", KERNEL_BF16_BF16, KERNEL_FP8_FP8, read_prefill},
    {"decode", false, "us_median", KERNEL_BF16_BF16, KERNEL_FP8_FP8, read_decode},
    {"mla_prefill", false, "us_median", KERNEL_BF16_BF16, KERNEL_FP8_FP8, read_mla_prefill},
    {"mla_decode", false, "us_median", KERNEL_BF16_BF16, KERNEL_FP8_FP8, read_mla_decode},
    {"moe", false, "us_median", KERNEL_BF16, KERNEL_MXFP4_WEIGHTS, read_moe},
    {"collectives", false, "us", KERNEL_ANY_TYPE, KERNEL_ANY_TYPE, read_collective},
    {.name = NULL}};

static enum kernel_type type_of(const struct kernel_table *table, const char *word)
{
    int type = (int)table->first_type;

    if (table->first_type == KERNEL_ANY_TYPE)
        return KERNEL_ANY_TYPE;
    while (type <= (int)table->last_type && strcmp(word, kernel_types[type]) != 0)
        type++;
    return type <= (int)table->last_type ? (enum kernel_type)type : KERNEL_NTYPES;
}

void kernel_row_read(struct kernel_row *out, const struct kernel_table *table,
                     const struct kernel_columns *columns)
{
    *out = (struct kernel_row){.kernel = KERNEL_NKERNELS, .count = 1};
    out->type = type_of(table, columns->word(columns->arg, "type"));
    table->read(out, columns);
}

double kernel_row_copies_seconds(const struct hardware *hardware, const struct kernel_row *row)
{
    struct hardware_work work = {.kind = HARDWARE_MEMORY, .dtype = SHD_BF16};
    double seconds = 0;

    for (int i = 0; i < row->ncopies; i++) {
        work.bytes = row->copies[i];
        seconds += hardware_kernel_seconds(hardware, &work);
    }
    return seconds;
}

/* ---- the time ---- */

static struct hardware_work work_of(const struct kernel_row *row)
{
    const struct kernel_sizes *s = &row->sizes;
    struct hardware_work work = {.kind = HARDWARE_MEMORY,
                                 .dtype = kernel_work_rate(row->type),
                                 .type = row->type,
                                 .bytes = s->bytes};

    if (row->kernel == KERNEL_PRODUCT || row->kernel == KERNEL_EXPERTS) {
        work.kind = HARDWARE_MATMUL;
        work.flops = 2 * s->groups * s->m * s->n * s->k;
        work.batch = (int64_t)s->groups;
        work.m = (int64_t)ceil(s->m);
        work.n = (int64_t)s->n;
        work.k = (int64_t)s->k;
    } else if (row->kernel <= KERNEL_LATENT_DECODE) {
        work.kind = HARDWARE_ATTENTION;
        work.flops = 4 * s->batch * s->heads * s->pairs * s->head_dim;
        work.batch = (int64_t)(s->batch * s->heads);
        work.m = (int64_t)s->queries;
        work.n = (int64_t)(s->queries > 1 ? s->queries : s->pairs);
        work.k = (int64_t)s->head_dim;
    }
    return work;
}

static bool has_rate(const struct hardware *hardware, enum kernel_type type)
{
    enum shd_dtype rate = kernel_work_rate(type);

    return rate == SHD_BF16 ? hardware_flops_per_s(hardware, rate) > 0
                            : hardware->flops_per_s[rate] > 0;
}

static int kernel_time(struct kernel_row_time *out, const struct hardware *hardware,
                       const struct kernel_row *row, struct shd_error *err)
{
    const struct hardware_work work = work_of(row);
    struct kernel_parts parts;

    if (!has_rate(hardware, row->type))
        return shd_error_set(err, SHD_EUNSUPPORTED, "cluster '%.40s' has no rate of %s",
                             hardware->name, shd_dtype_name(kernel_work_rate(row->type)));
    out->model = kernel_work_find(hardware, row->kernel, row->type);
    if (out->model) {
        out->seconds = kernel_work_model_seconds(&parts, hardware, out->model, &row->sizes);
        out->bound_by = hardware_bound_name(kernel_work_bound(&parts));
        out->beyond = kernel_model_beyond(out->model, &row->sizes);
    } else {
        out->seconds = hardware_kernel_seconds(hardware, &work);
        out->bound_by = hardware_bound_name(hardware_kernel_bound(hardware, &work));
    }
    out->seconds = row->count * out->seconds + kernel_row_copies_seconds(hardware, row);
    return SHD_OK;
}

/* Whether latency takes longer than the bytes do. */
static const char *bound_of(const struct hardware_collective *c)
{
    double latency = 0, bandwidth = 0;

    for (int p = 0; p < c->nparts; p++) {
        latency += c->parts[p].start_s + c->parts[p].latency_s;
        bandwidth += c->parts[p].bandwidth_s;
    }
    if (c->host_s > 0 && c->seconds <= c->host_s)
        return "host";
    return latency > bandwidth ? "latency" : "bandwidth";
}

static int collective_time(struct kernel_row_time *out, const struct hardware *hardware,
                           const struct kernel_row *row, struct shd_error *err)
{
    static const enum coll_kind kinds[KERNEL_NKERNELS] = {
        [KERNEL_ALL_REDUCE] = COLL_ALL_REDUCE,
        [KERNEL_ALL_GATHER] = COLL_ALL_GATHER,
        [KERNEL_REDUCE_SCATTER] = COLL_REDUCE_SCATTER,
        [KERNEL_ALL_TO_ALL] = COLL_ALL_TO_ALL,
        [KERNEL_ENGINE_ALL_REDUCE] = COLL_ALL_REDUCE};
    enum coll_kind kind = kinds[row->kernel];
    int32_t devices = (int32_t)row->sizes.devices;
    struct hardware laid = *hardware;
    struct hardware_collective c;
    struct hardware_group group;
    struct shd_mesh *mesh;
    int status = laid.tiers[0].torus ? hardware_lay_out(&laid, devices, 1, NULL, err) : SHD_OK;

    if (status == SHD_OK)
        status = shd_mesh_create(&mesh, (const char *[]){"x"}, &devices, 1, err);
    if (status != SHD_OK)
        return status;
    hardware_group_of(&group, &laid, mesh, (const uint8_t[]){0}, 1);
    hardware_collective(&c, &laid, kind, &group,
                        row->sizes.bytes / (kind == COLL_ALL_GATHER ? devices : 1));
    shd_mesh_destroy(mesh);
    out->seconds = c.seconds;
    out->bound_by = bound_of(&c);
    if (c.schedule == HARDWARE_MEASURED) {
        out->model = kernel_work_collective_model(&laid, kind);
        out->beyond = kernel_model_beyond(out->model, &row->sizes);
    }
    return SHD_OK;
}

int kernel_row_time(struct kernel_row_time *out, const struct hardware *hardware,
                    const struct kernel_row *row, struct shd_error *err)
{
    bool nccl = row->kernel >= KERNEL_ALL_REDUCE && row->kernel < KERNEL_ENGINE_ALL_REDUCE;
    struct hardware used = nccl ? hardware_as_measured(hardware) : hardware_as_served(hardware);

    *out = (struct kernel_row_time){.model = NULL};
    return row->kernel >= KERNEL_ALL_REDUCE ? collective_time(out, &used, row, err)
                                            : kernel_time(out, &used, row, err);
}
