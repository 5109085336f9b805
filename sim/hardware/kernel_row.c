/* Kernels by the columns of a table (kernel_row.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/kernel_row.h"

#include <math.h>
#include <stdio.h>
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

/* What an engine's experts take besides their products, which move the rows, as a step of serving
 * has it: choosing, activating, and the sums of a token's rows.  Codes of the rows are made on
 * their own, and those of activations where these are. */
static void add_around_experts(struct kernel_row *out, double hidden, double inter, double tokens,
                               double rows, double choices)
{
    double a_bytes = out->sizes.a_bits / 8;

    add_copy(out, tokens * choices * 4);
    if (a_bytes < 2)
        add_copy(out, rows * hidden * (2 + a_bytes));
    add_copy(out, rows * inter * (2 * 2 + a_bytes));
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
        out->unlike = "unevenly chosen experts";
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
        out->unlike = "collectives with another launch";
    if (out->sizes.devices < 2)
        out->unlike = "a single device";
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

/* ---- kinds with names ---- */

static const char *word(const struct kernel_columns *c, const char *column)
{
    return c->word(c->arg, column);
}

/* Bytes of an element of a row on its way; libraries that do not tell send 16 bits. */
static double element_bytes(const char *type)
{
    if (!strcmp(type, "nvfp4") || !strcmp(type, "fp4"))
        return 4.5 / 8;
    return !strcmp(type, "fp8") ? 1 : 2;
}

static void read_a2a(struct kernel_row *out, const struct kernel_columns *c)
{
    struct kernel_sizes *s = &out->sizes;
    const char *phase = word(c, "phase"), *type = word(c, "type"), *mode = word(c, "mode");
    bool prepares = !strcmp(phase, "prepare");
    bool typed = *type && strcmp(type, "default") != 0 && !prepares,
         low = !strcmp(phase, "combine_low_precision");

    if (!strcmp(phase, "dispatch"))
        out->kernel = KERNEL_DISPATCH;
    else if (!strcmp(phase, "combine") || low)
        out->kernel = KERNEL_COMBINE;
    else if (prepares)
        out->kernel = KERNEL_PREPARE;
    snprintf(out->name, sizeof out->name, "%s/%s%s%s%s", word(c, "library"), mode,
             low ? "/low_precision" : "", typed ? "/" : "", typed ? type : "");
    kernel_work_set_exchange(s, number(c, "tokens"), number(c, "hidden"), number(c, "experts"),
                             number(c, "topk"), fmax(number(c, "ep"), 1),
                             out->kernel == KERNEL_COMBINE && !low ? 2 : element_bytes(type));
    set_shape(out, 3, (double[]){s->n, number(c, "topk"), s->groups});
}

/* DeepSeek-V3's projections of a token: of 7168 elements to 1536 of queries and 576 that are
 * cached, of these to heads, and back. */
#define MODEL 7168.0
#define QUERY_RANK 1536.0

static void set_module(struct kernel_row *out, const struct kernel_columns *c)
{
    struct kernel_sizes *s = &out->sizes;

    snprintf(out->name, sizeof out->name, "%s", word(c, "type"));
    out->type = kernel_model_type_of_name(out->name);
    kernel_work_set_product(s, out->type, 1, 1, 1, 1);
    s->batch = number(c, "batch");
    s->heads = s->kv_heads = number(c, "heads");
    s->n = MODEL * (QUERY_RANK + LATENT) +
           s->heads * (QUERY_RANK * 192 + LATENT_VALUES * 256 + 128 * MODEL);
    set_shape(out, 2, (double[]){s->heads, number(c, "length")});
}

static void read_module_prefill(struct kernel_row *out, const struct kernel_columns *c)
{
    struct kernel_sizes *s = &out->sizes;

    set_module(out, c);
    out->kernel = KERNEL_LATENT_MODULE_PREFILL;
    s->queries = number(c, "length");
    s->pairs = pairs_of(s->queries, 0);
    s->head_dim = (192 + 128) / 2.0;
    s->m = s->batch * s->queries;
    s->bytes = s->n * s->b_bits / 8 + s->m * 2 * (4 * MODEL + s->heads * 4 * (192 + 128));
}

static void read_module_decode(struct kernel_row *out, const struct kernel_columns *c)
{
    struct kernel_sizes *s = &out->sizes;
    double cache = strstr(word(c, "type"), "/fp8/") ? 1 : 2;

    set_module(out, c);
    out->kernel = KERNEL_LATENT_MODULE_DECODE;
    s->queries = 1;
    s->pairs = number(c, "length");
    s->head_dim = (LATENT + LATENT_VALUES) / 2;
    s->m = s->batch;
    s->bytes = s->n * s->b_bits / 8 + s->batch * cache * LATENT * s->pairs;
}

#define CHUNK 64 /* tokens of a prompt that a rule takes at a time */

/* A convolution reads and writes the rows of all heads' queries, keys and values, or a decode's
 * last d_conv of them; a rule also each head's state, in 32 bits.  A decode takes token by token,
 * each as long as a chunk. */
static void read_linear(struct kernel_row *out, const struct kernel_columns *c)
{
    struct kernel_sizes *s = &out->sizes;
    bool mamba = !strcmp(word(c, "op"), "mamba2"),
         decodes = strcmp(word(c, "phase"), "prefill") != 0;
    double inner = mamba ? number(c, "nheads") * number(c, "head_dim")
                         : number(c, "num_v_heads") * number(c, "head_v_dim");
    double keys = mamba ? number(c, "n_groups") * number(c, "d_state")
                        : number(c, "num_k_heads") * number(c, "head_k_dim");
    double states = inner * (mamba ? number(c, "d_state") : number(c, "head_k_dim"));
    bool convolves = strstr(word(c, "part"), "conv");

    out->kernel = KERNEL_LINEAR;
    out->type = KERNEL_ANY_TYPE;
    snprintf(out->name, sizeof out->name, "%s/%s/%s/%s", word(c, "op"), word(c, "software"),
             word(c, "part"), word(c, "phase"));
    s->batch = number(c, "batch");
    s->queries = number(c, "length") * (decodes ? CHUNK : 1);
    s->m = s->batch * number(c, "length");
    s->heads = mamba ? number(c, "nheads") : number(c, "num_v_heads");
    s->bytes = 2 * 2 * s->m * (inner + 2 * keys);
    if (convolves && decodes)
        s->bytes += 2 * 2 * s->batch * number(c, "d_conv") * (inner + 2 * keys);
    else if (!convolves)
        s->bytes += s->batch * states * 2 * sizeof(float);
    set_shape(out, 3,
              (double[]){number(c, "d_model"), number(c, "num_v_heads"), number(c, "nheads")});
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
    {"a2a", false, "us", KERNEL_ANY_TYPE, KERNEL_ANY_TYPE, read_a2a},
    {"mla_module_prefill", false, "us_median", KERNEL_ANY_TYPE, KERNEL_ANY_TYPE,
     read_module_prefill},
    {"mla_module_decode", false, "us_median", KERNEL_ANY_TYPE, KERNEL_ANY_TYPE, read_module_decode},
    {"linear", false, "us", KERNEL_ANY_TYPE, KERNEL_ANY_TYPE, read_linear},
    {.name = NULL}};

static enum kernel_type type_of(const struct kernel_table *table, const struct kernel_columns *c)
{
    int type = (int)table->first_type;

    if (table->first_type == KERNEL_ANY_TYPE)
        return KERNEL_ANY_TYPE;
    while (type <= (int)table->last_type && !says(c, "type", kernel_types[type]))
        type++;
    return type <= (int)table->last_type ? (enum kernel_type)type : KERNEL_NTYPES;
}

void kernel_row_read(struct kernel_row *out, const struct kernel_table *table,
                     const struct kernel_columns *columns)
{
    *out = (struct kernel_row){.kernel = KERNEL_NKERNELS, .count = 1};
    out->type = type_of(table, columns);
    table->read(out, columns);
}
