/* The forms of kernels' models (kernel_model.h).
 *
 * Rates are the device's own, times a fraction; where a time is stated in constants, it is in
 * microseconds.  Computing and moving go on beside each other, and hinder each other where both
 * take long: together they take (a^p + b^p)^(1/p), which is nearly the longer one if they differ.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "hardware/kernel_model.h"

#include <math.h>
#include <stddef.h>

#define MICRO 1e-6
#define TERA 1e12

static double beside(const struct kernel_parts *parts, double sharpness)
{
    double p = 1 + sharpness;
    double most = fmax(parts->computing_s, parts->moving_s);
    double least = fmin(parts->computing_s, parts->moving_s);

    return most > 0 ? most * pow(1 + pow(least / most, p), 1 / p) : 0;
}

/* ---- products ---- */

enum { P_START, P_MEMORY, P_COMPUTING, P_OPERANDS, P_SHARPNESS, P_RAMP, P_SPLIT };

#define RAMP_OF 64.0 /* elements of k that a tile's start costs as much as, at constant 1 */
#define MOST_SPLITS 16.0

static const struct tile {
    double m, n;
} tiles[] = {{16, 64},  {16, 128}, {32, 64},  {32, 128},  {64, 64},  {64, 128},
             {64, 256}, {128, 64}, {128, 128}, {128, 256}, {256, 128}};

/* Seconds in which a unit computes a tile of a part of k: its operations, or reading its operands.
 */
static double tile_seconds(const double *c, const struct kernel_sizes *s,
                           const struct kernel_peaks *p, const struct tile *t)
{
    double flops = 2 * t->m * t->n / (c[P_COMPUTING] * p->flops_per_s / p->units);
    double reading = (t->m * s->a_bits + t->n * s->b_bits) / 8 / (c[P_OPERANDS] * TERA / p->units);

    return fmax(flops, reading);
}

/* All units compute tiles in rounds; parts of k that are summed apart are added up in memory. */
static double split_seconds(const double *c, const struct kernel_sizes *s,
                            const struct kernel_peaks *p, const struct tile *t, double splits)
{
    double count = s->groups * ceil(s->m / t->m) * ceil(s->n / t->n) * splits;
    double k = s->k / splits + c[P_RAMP] * RAMP_OF;
    double summing = splits > 1 ? s->groups * s->m * s->n * splits * sizeof(float) /
                                      (c[P_SPLIT] * p->memory_bytes_per_s)
                                : 0;

    return ceil(count / p->units) * k * tile_seconds(c, s, p, t) + summing;
}

/* Of the libraries' tiles and splits the fastest. */
static double product_seconds(const double *c, const struct kernel_sizes *s,
                              const struct kernel_peaks *p, struct kernel_parts *parts)
{
    parts->computing_s = INFINITY;
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
        for (double splits = 1; splits <= MOST_SPLITS; splits *= 2)
            parts->computing_s =
                fmin(parts->computing_s, split_seconds(c, s, p, &tiles[i], splits));
    parts->start_s = c[P_START] * MICRO;
    parts->moving_s = s->bytes / (c[P_MEMORY] * p->memory_bytes_per_s);
    return parts->start_s + beside(parts, c[P_SHARPNESS]);
}

enum { P_MOVES = P_SPLIT + 1 };

/* Rows are gathered for experts and brought back to the order of tokens: read and written twice in
 * 16 bits, which each of three products has a third of. */
#define MOVED_BYTES (4 * 2 / 3.0)

/* Some engines move rows by kernels of their own, others in those that multiply them: at constant 1
 * the device's memory moves all of them on their own. */
static double experts_seconds(const double *c, const struct kernel_sizes *s,
                              const struct kernel_peaks *p, struct kernel_parts *parts)
{
    double moved = c[P_MOVES] * s->groups * s->m * s->k * MOVED_BYTES / p->memory_bytes_per_s;
    double seconds = product_seconds(c, s, p, parts);

    parts->moving_s += moved;
    return seconds + moved;
}

static void place_product(double *out, const struct kernel_sizes *s)
{
    out[0] = fmax(s->m, 1);
    out[1] = fmax(s->n, 1);
    out[2] = fmax(s->k, 1);
}

static void place_experts(double *out, const struct kernel_sizes *s)
{
    out[0] = fmax(s->m, 1);
    out[1] = fmax(s->groups, 1);
    out[2] = fmax(s->n * s->k, 1);
}

#define PRODUCT_CONSTANTS(start)                                                          \
    {"start_us", start, 0.01, 50}, {"memory", 0.8, 0.05, 1}, {"computing", 0.7, 0.02, 1},     \
        {"operands", 30, 0.1, 1000}, {"sharpness", 1, 0.05, 10}, {"ramp", 1, 0.01, 50},       \
    {                                                                                         \
        "split", 1, 0.05, 20                                                                  \
    }

/* ---- attention ---- */

enum { A_START, A_MEMORY, A_COMPUTING, A_SHARPNESS, A_HEAD, A_TILE, A_EACH };

#define QUERIES \
    128.0 /* queries of a tile; starting a tile costs as much as this many rows, at constant 1 */
#define QUERY_HEADS 16.0 /* that a tile of a decode has, all of one key head */

static double attention_start(const double *c)
{
    return c[A_START] * MICRO;
}

static double attention_moving(const double *c, const struct kernel_sizes *s,
                               const struct kernel_peaks *p)
{
    return s->bytes / (c[A_MEMORY] * p->memory_bytes_per_s);
}

/* Tiles of queries are spread over the units; a tile has the keys that its queries see, and each
 * score costs its exponential, as much as so many elements of a head. */
static double prefill_seconds(const double *c, const struct kernel_sizes *s,
                              const struct kernel_peaks *p, struct kernel_parts *parts)
{
    double tiles_each = ceil(s->queries / QUERIES);
    double rounds = fmax(s->batch * s->heads * tiles_each / p->units, 1);
    double scores = s->pairs / tiles_each + QUERIES * QUERIES * c[A_TILE];
    double flops = 4 * scores * (s->head_dim + QUERIES / 2 * c[A_HEAD]);

    parts->start_s = attention_start(c);
    parts->computing_s = rounds * flops / (c[A_COMPUTING] * p->flops_per_s / p->units);
    parts->moving_s = attention_moving(c, s, p);
    return parts->start_s + beside(parts, c[A_SHARPNESS]) +
           c[A_EACH] * MICRO * s->batch * s->heads / p->units;
}

/* All query heads of a key head share tiles; each sequence and key head, and each query, has a cost
 * of its own. */
static double decode_seconds(const double *c, const struct kernel_sizes *s,
                             const struct kernel_peaks *p, struct kernel_parts *parts)
{
    double rows = ceil(s->heads / s->kv_heads / QUERY_HEADS) * QUERY_HEADS;
    double flops = 4 * s->batch * s->kv_heads * rows * s->head_dim * s->pairs;

    parts->start_s = attention_start(c);
    parts->computing_s = flops / (c[A_COMPUTING] * p->flops_per_s) +
                         c[A_TILE] * MICRO * s->batch * s->kv_heads / p->units;
    parts->moving_s = attention_moving(c, s, p);
    return parts->start_s + beside(parts, c[A_SHARPNESS]) +
           c[A_EACH] * MICRO * s->batch * s->heads / p->units;
}

static void place_prefill(double *out, const struct kernel_sizes *s)
{
    out[0] = fmax(s->queries, 1);
    out[1] = fmax(s->batch * s->heads, 1);
    out[2] = fmax(s->head_dim, 1);
    out[3] = fmax(s->heads / s->kv_heads, 1);
}

static void place_decode(double *out, const struct kernel_sizes *s)
{
    out[0] = fmax(s->pairs, 1);
    out[1] = fmax(s->batch * s->kv_heads, 1);
    out[2] = fmax(s->head_dim, 1);
    out[3] = fmax(s->heads / s->kv_heads, 1);
}

static void place_latent_decode(double *out, const struct kernel_sizes *s)
{
    out[0] = fmax(s->pairs, 1);
    out[1] = fmax(s->batch, 1);
    out[2] = fmax(s->heads, 1);
}

#define ATTENTION_CONSTANTS                                                               \
    {                                                                                     \
        {"start_us", 9, 0.5, 100}, {"memory", 0.7, 0.02, 1}, {"computing", 0.5, 0.005, 1},    \
            {"sharpness", 1, 0.05, 10}, {"head", 1, 0.001, 50}, {"tile", 1, 0.001, 200},        \
        {                                                                                 \
            "each_us", 0.1, 0.0001, 100                                                   \
        }                                                                                 \
    }

/* ---- the rest ---- */

enum { C_START, C_MEMORY };

static double copy_seconds(const double *c, const struct kernel_sizes *s,
                           const struct kernel_peaks *p, struct kernel_parts *parts)
{
    parts->start_s = c[C_START] * MICRO;
    parts->computing_s = 0;
    parts->moving_s = s->bytes / (c[C_MEMORY] * p->memory_bytes_per_s);
    return parts->start_s + parts->moving_s;
}

enum { L_START, L_STEP, L_LINK, L_SHARPNESS };

/* Starts and steps of latency, beside the bytes that a device gets over its link: `times` the
 * array's part of the others. */
static double link_seconds(const double *c, const struct kernel_sizes *s,
                           const struct kernel_peaks *p, struct kernel_parts *parts, double times)
{
    parts->start_s = 0;
    parts->computing_s = (c[L_START] + c[L_STEP] * (s->devices - 1)) * MICRO;
    parts->moving_s =
        times * s->bytes * (1 - 1 / s->devices) / (c[L_LINK] * p->link_bytes_per_s);
    return beside(parts, c[L_SHARPNESS]);
}

static double reduce_seconds(const double *c, const struct kernel_sizes *s,
                             const struct kernel_peaks *p, struct kernel_parts *parts)
{
    return link_seconds(c, s, p, parts, 2);
}

static double gather_seconds(const double *c, const struct kernel_sizes *s,
                             const struct kernel_peaks *p, struct kernel_parts *parts)
{
    return link_seconds(c, s, p, parts, 1);
}

static void place_bytes(double *out, const struct kernel_sizes *s)
{
    out[0] = fmax(s->bytes, 1);
    out[1] = fmax(s->devices, 1);
}

#define LINK_CONSTANTS                                                            \
    {                                                                             \
        {"start_us", 5, 0.1, 100}, {"step_us", 1, 0.001, 50}, {"link", 0.8, 0.01, 1}, \
        {                                                                         \
            "sharpness", 1, 0.05, 10                                              \
        }                                                                         \
    }
#define EXCHANGE_CONSTANTS                                                                \
    {                                                                                     \
        {"start_us", 20, 0.1, 500}, {"step_us", 0.5, 0.001, 50}, {"link", 0.5, 0.001, 4},     \
            {"sharpness", 1, 0.05, 10},                                                       \
        {                                                                                 \
            "rows", 100, 0.1, 100000                                                \
        }                                                                                 \
    }
#define MODULE_CONSTANTS                                                                  \
    {                                                                                     \
        {"start_us", 30, 0.5, 200}, {"memory", 0.6, 0.02, 4}, {"products", 0.6, 0.005, 4},    \
            {"scores", 0.4, 0.005, 4},                                                 \
        {                                                                                 \
            "sharpness", 1, 0.05, 10                                                      \
        }                                                                                 \
    }
#define LINEAR_CONSTANTS                                                                  \
    {                                                                                     \
        {"start_us", 3, 0.1, 200}, {"memory", 0.6, 0.005, 4}, {"sharpness", 1, 0.05, 10},     \
        {                                                                                 \
            "chunk_us", 0.5, 0.0001, 100                                                  \
        }                                                                                 \
    }
#define LINK_AXES                      \
    {                                  \
        {"bytes", 2}, { "devices", 1 } \
    }

/* ---- exchanges of experts' rows ---- */

enum { E_ROWS = L_SHARPNESS + 1 };

#define GIGA 1e9

/* Starts and steps beside the bytes of the link; the k rows of an expert come in one after the
 * other, at so many GB/s, since few units work for each. */
static double exchange_seconds(const double *c, const struct kernel_sizes *s,
                               const struct kernel_peaks *p, struct kernel_parts *parts)
{
    (void)link_seconds(c, s, p, parts, 1);
    parts->moving_s = fmax(parts->moving_s, s->k * s->n * s->a_bits / 8 / (c[E_ROWS] * GIGA));
    return beside(parts, c[L_SHARPNESS]);
}

static void place_rows(double *out, const struct kernel_sizes *s)
{
    out[0] = fmax(s->m, 1);
    out[1] = fmax(s->bytes / fmax(s->m, 1), 1);
    out[2] = fmax(s->devices, 1);
}

/* ---- layers ---- */

enum { M_START, M_MEMORY, M_PRODUCTS, M_SCORES, M_SHARPNESS };

/* Latent attention with its projections: m tokens by n weights. */
static double module_seconds(const double *c, const struct kernel_sizes *s,
                             const struct kernel_peaks *p, struct kernel_parts *parts)
{
    double attention = 4 * s->batch * s->heads * s->pairs * s->head_dim;

    parts->start_s = c[M_START] * MICRO;
    parts->computing_s = 2 * s->m * s->n / (c[M_PRODUCTS] * p->flops_per_s) +
                         attention / (c[M_SCORES] * p->flops_per_s);
    parts->moving_s = s->bytes / (c[M_MEMORY] * p->memory_bytes_per_s);
    return parts->start_s + beside(parts, c[M_SHARPNESS]);
}

enum { S_START, S_MEMORY, S_SHARPNESS, S_CHUNK };

#define CHUNK 64.0 /* tokens that a unit takes at a time */

/* States go on from chunk to chunk of a sequence; heads of all sequences are spread over the units.
 */
static double linear_seconds(const double *c, const struct kernel_sizes *s,
                             const struct kernel_peaks *p, struct kernel_parts *parts)
{
    double rounds = fmax(s->batch * s->heads / p->units, 1);

    parts->start_s = c[S_START] * MICRO;
    parts->computing_s = c[S_CHUNK] * MICRO * rounds * ceil(s->queries / CHUNK);
    parts->moving_s = s->bytes / (c[S_MEMORY] * p->memory_bytes_per_s);
    return parts->start_s + beside(parts, c[S_SHARPNESS]);
}

static void place_linear(double *out, const struct kernel_sizes *s)
{
    out[0] = fmax(s->queries, 1);
    out[1] = fmax(s->batch * s->heads, 1);
    out[2] = fmax(s->heads, 1);
}

/* ---- what was measured ---- */

#define MEASURE(name, field) {name, offsetof(struct kernel_sizes, field)}
#define PRODUCT_MEASURES {MEASURE("m", m), MEASURE("n", n), MEASURE("k", k)}, {16, 128, 1024}
#define EXPERTS_MEASURES                                                                          \
    {MEASURE("rows", m), MEASURE("experts", groups), MEASURE("inner", n), MEASURE("outer", k)},    \
        {1, 16, 128}
#define HEADS_MEASURES MEASURE("heads", heads), MEASURE("kv_heads", kv_heads)
#define PREFILL_MEASURES                                                                  \
    {MEASURE("queries", queries), MEASURE("batch", batch), HEADS_MEASURES,                \
     MEASURE("head_dim", head_dim)},                                                      \
        {64, 512, 4096}
#define DECODE_MEASURES                                                                            \
    {MEASURE("batch", batch), MEASURE("keys", pairs), HEADS_MEASURES, MEASURE("head_dim", head_dim)}, \
        {4, 32, 256}
#define KIB 1024.0
#define MIB (1024 * KIB)
#define BYTES_MEASURES {MEASURE("bytes", bytes)}, {16 * KIB, MIB, 64 * MIB}
#define LINK_MEASURES                                                                   \
    {MEASURE("bytes", bytes), MEASURE("devices", devices)}, {16 * KIB, MIB, 64 * MIB}

#define EXCHANGE_MEASURES                                                                 \
    {MEASURE("tokens", m), MEASURE("hidden", n), MEASURE("ep", devices),                 \
     MEASURE("experts", groups)},                                                         \
        {16, 128, 1024}
#define MODULE_MEASURES(first, second)                                                    \
    {first, second, MEASURE("heads", heads)}, {16, 128, 1024}
#define LINEAR_MEASURES                                                                   \
    {MEASURE("tokens", m), MEASURE("batch", batch), MEASURE("heads", heads)}, {64, 1024, 16384}

#define EXCHANGE_FORM                                                                     \
    {                                                                                     \
        EXCHANGE_CONSTANTS, {{"tokens", 3}, {"row", 3}, {"devices", 1}}, exchange_seconds,    \
            place_rows, EXCHANGE_MEASURES                                                 \
    }

const struct kernel_form kernel_model_forms[KERNEL_NKERNELS] = {
    [KERNEL_PRODUCT] = {{PRODUCT_CONSTANTS(2.5)}, {{"m", 2}, {"n", 2}, {"k", 2}}, product_seconds,
                       place_product, PRODUCT_MEASURES},
    [KERNEL_EXPERTS] = {{PRODUCT_CONSTANTS(4), {"moves", 1, 0.001, 4}},
                       {{"m", 0}, {"experts", 0}, {"nk", 0}},
                       experts_seconds, place_experts, EXPERTS_MEASURES},
    [KERNEL_PREFILL] = {ATTENTION_CONSTANTS,
                       {{"queries", 2}, {"heads", 3}, {"head_dim", 1}, {"group", 3}},
                       prefill_seconds,
                       place_prefill, PREFILL_MEASURES},
    [KERNEL_DECODE] = {ATTENTION_CONSTANTS,
                      {{"keys", 3}, {"kv_heads", 3}, {"head_dim", 1}, {"group", 1}},
                      decode_seconds,
                      place_decode, DECODE_MEASURES},
    [KERNEL_LATENT_PREFILL] = {ATTENTION_CONSTANTS, {{"queries", 2}, {"heads", 2}}, prefill_seconds,
                              place_prefill, PREFILL_MEASURES},
    [KERNEL_LATENT_DECODE] = {ATTENTION_CONSTANTS, {{"keys", 2}, {"batch", 2}, {"heads", 2}},
                             decode_seconds, place_latent_decode, DECODE_MEASURES},
    [KERNEL_COPY] = {{{"start_us", 2, 0.1, 50}, {"memory", 0.8, 0.01, 1}}, {{"bytes", 2}},
                    copy_seconds, place_bytes, BYTES_MEASURES},
    [KERNEL_ALL_REDUCE] = {LINK_CONSTANTS, LINK_AXES, reduce_seconds, place_bytes, LINK_MEASURES},
    [KERNEL_ALL_GATHER] = {LINK_CONSTANTS, LINK_AXES, gather_seconds, place_bytes, LINK_MEASURES},
    [KERNEL_REDUCE_SCATTER] = {LINK_CONSTANTS, LINK_AXES, gather_seconds, place_bytes, LINK_MEASURES},
    [KERNEL_ALL_TO_ALL] = {LINK_CONSTANTS, LINK_AXES, gather_seconds, place_bytes, LINK_MEASURES},
    [KERNEL_ENGINE_ALL_REDUCE] = {LINK_CONSTANTS, LINK_AXES, reduce_seconds, place_bytes, LINK_MEASURES},
    [KERNEL_DISPATCH] = EXCHANGE_FORM,
    [KERNEL_COMBINE] = EXCHANGE_FORM,
    [KERNEL_PREPARE] = EXCHANGE_FORM,
    [KERNEL_LATENT_MODULE_PREFILL] = {MODULE_CONSTANTS,
                                      {{"queries", 3}, {"heads", 3}},
                                      module_seconds, place_prefill,
                                      MODULE_MEASURES(MEASURE("queries", queries),
                                                      MEASURE("batch", batch))},
    [KERNEL_LATENT_MODULE_DECODE] = {MODULE_CONSTANTS,
                                     {{"keys", 4}, {"batch", 3}, {"heads", 3}},
                                     module_seconds, place_latent_decode,
                                     MODULE_MEASURES(MEASURE("batch", batch),
                                                     MEASURE("keys", pairs))},
    [KERNEL_LINEAR] = {LINEAR_CONSTANTS,
                       {{"length", 4}, {"heads", 3}},
                       linear_seconds, place_linear, LINEAR_MEASURES},
};
