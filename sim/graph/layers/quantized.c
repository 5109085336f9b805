/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "graph/layers/quantized.h"

#include <inttypes.h>

#include "graph/rebuild.h"
#include "kern/quant.h"

int64_t quantized_block(enum kern_quant_type type)
{
    static const int64_t blocks[KERN_NQUANT_TYPES] = {
        [KERN_NF4] = 64, [KERN_INT4] = 128, [KERN_MXFP4] = 32};

    return blocks[type];
}

struct quantizing {
    struct graph *graph;
    const struct graph_node *kernel;
    struct kern_quant *quant;
};

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Extend a box along some dimensions, the last first, to at most `wanted` elements of an array;
 * returns how many times as many are still wanted. */
static int64_t extend_box(int64_t *box, const int64_t *shape, uint32_t rank, uint32_t dims,
                          int64_t wanted, uint32_t *nboxed)
{
    for (uint32_t d = rank; d-- > 0;) {
        int64_t several = dims >> d & 1 ? common_divisor(shape[d], wanted) : 1;

        if (several == 1 || *nboxed == KERN_QUANT_BOXED_MAX)
            continue;
        box[d] = several;
        wanted /= several;
        ++*nboxed;
    }
    return wanted;
}

/* Two codes of 4 bits are a byte along the last of the inputs. */
static bool set_pairs(struct kern_quant *k, uint32_t inputs)
{
    uint32_t last = k->rank;

    if (!kern_quant_levels(k->type))
        return true;
    while (last > 1 && !(inputs >> (last - 1) & 1))
        last--;
    k->pair_dim = last - 1;
    return k->shape[k->pair_dim] % 2 == 0;
}

/* A block is of one output. */
static void set_blocks(struct quantizing *q, int64_t block, uint32_t inputs)
{
    struct kern_quant *k = q->quant;
    uint32_t nboxed = 0;

    for (uint32_t d = 0; block == 0 && d < k->rank; d++)
        if (inputs >> d & 1)
            k->box[d] = k->shape[d];
    if (!set_pairs(k, inputs) ||
        (block > 0 && extend_box(k->box, k->shape, k->rank, inputs, block, &nboxed) > 1))
        graph_fail(q->graph, SHD_EINDIVISIBLE,
                   "the inputs of '%.60s' do not divide into blocks of %" PRId64
                   ", or codes into bytes; expected other blocks, or int8",
                   q->kernel->name, block);
}

/* Boxes of the scales that share a factor. */
static void set_outer(struct kern_quant *k, uint32_t inputs)
{
    int64_t scales[KERN_QUANT_DIMS_MAX];
    uint32_t nboxed = 0;

    for (uint32_t d = 0; d < k->rank; d++)
        scales[d] = k->shape[d] / k->box[d];
    extend_box(k->outer, scales, k->rank, ~inputs,
               extend_box(k->outer, scales, k->rank, inputs, QUANTIZED_SCALES, &nboxed), &nboxed);
}

/* A part's values. */
static struct kern_source source_of(const struct quantizing *q, enum kern_quant_part part)
{
    return (struct kern_source){
        .quant = q->quant, .quant_part = part, .copies = q->kernel->source.copies};
}

/* A parameter beside the codes. */
static uint32_t add_beside(const struct quantizing *q, const char *what, enum shd_dtype dtype,
                           const uint32_t *dims, uint32_t rank, enum kern_quant_part part)
{
    struct graph *g = q->graph;
    uint32_t node = graph_param(g, graph_text(g, "%s/%s", q->kernel->name, what), dtype, dims, rank,
                                source_of(q, part));

    if (node != GRAPH_NONE) {
        g->nodes[node].frozen = true;
        g->nodes[node].packs = 0;
        g->nodes[node].base = q->kernel->name;
    }
    return node;
}

static void divide_dims(struct graph *g, uint32_t *out, const uint32_t *dims, const int64_t *box,
                        uint32_t rank)
{
    for (uint32_t d = 0; d < rank; d++)
        out[d] = graph_dim_of(g, dims[d], box[d]);
}

/* The type of scales: with 4 bits that of the kernel or a byte, else float32 or the kernel's own
 * float64. */
static enum shd_dtype type_of_scales(const struct quantizing *q)
{
    if (q->quant->type == KERN_MXFP4)
        return SHD_U8;
    return q->quant->type == KERN_INT4 || q->kernel->dtype == SHD_F64 ? q->kernel->dtype : SHD_F32;
}

/* The scales, or their codes. */
static void add_scales(const struct quantizing *q, struct quantized *out)
{
    struct graph *g = q->graph;
    const struct kern_quant *k = q->quant;
    enum shd_dtype dtype = type_of_scales(q);
    uint32_t dims[KERN_QUANT_DIMS_MAX], outer[KERN_QUANT_DIMS_MAX];

    divide_dims(g, dims, q->kernel->dims, k->box, k->rank);
    if (k->type != KERN_NF4) {
        out->scales = add_beside(q, "absmax", dtype, dims, k->rank, KERN_QUANT_SCALES);
        return;
    }
    divide_dims(g, outer, dims, k->outer, k->rank);
    out->scales = add_beside(q, "absmax", SHD_I8, dims, k->rank, KERN_QUANT_SCALE_CODES);
    out->factors = add_beside(q, "absmax/absmax", dtype, outer, k->rank, KERN_QUANT_FACTORS);
    out->mean = add_beside(q, "absmax/mean", dtype, NULL, 0, KERN_QUANT_MEAN);
}

/* The kernel's own leaf, with codes in place of its values. */
static uint32_t add_codes(const struct quantizing *q)
{
    struct graph_node codes = *q->kernel;
    const struct kern_quant *k = q->quant;
    bool pairs = kern_quant_levels(k->type);

    codes.dtype = codes.stored = pairs ? SHD_U8 : SHD_I8;
    codes.packs = pairs ? 2 : 1;
    codes.source = source_of(q, KERN_QUANT_CODES);
    if (pairs)
        codes.dims[k->pair_dim] = graph_dim_of(q->graph, codes.dims[k->pair_dim], 2);
    return graph_rebuild_copy(q->graph, &codes);
}

struct quantized quantized_add(struct graph *graph, enum kern_quant_type type, int64_t block,
                               const struct graph_node *kernel, uint32_t inputs)
{
    struct quantized out = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    struct kern_quant *quant = graph_memory(graph, 1, sizeof *quant);
    struct kern_source *of = graph_memory(graph, 1, sizeof *of);
    struct quantizing q = {graph, kernel, quant};

    if (!quant || !of)
        return out;
    *of = kernel->source;
    *quant = (struct kern_quant){.of = of, .type = type, .rank = kernel->rank};
    for (uint32_t d = 0; d < kernel->rank; d++) {
        quant->shape[d] = graph->dims[kernel->dims[d]].size;
        quant->box[d] = quant->outer[d] = 1;
    }
    set_blocks(&q, block, inputs);
    if (graph->err.status != SHD_OK)
        return out;
    if (type == KERN_NF4)
        set_outer(quant, inputs);
    out.codes = add_codes(&q);
    add_scales(&q, &out);
    return out;
}

uint32_t quantized_read(struct graph *graph, enum kern_quant_type type,
                        const struct graph_node *kernel, const struct quantized *parts)
{
    const char *name = graph_text(graph, "%s/dequantized", kernel->name);
    uint32_t scales = parts->scales;
    struct graph_node s;

    if (!graph_usable(graph, scales))
        return GRAPH_NONE;
    s = graph->nodes[scales];
    if (parts->factors != GRAPH_NONE) {
        scales = graph_dequantize(graph, s.name, KERN_INT8, graph->nodes[parts->factors].dtype,
                                  scales, parts->factors, s.dims, s.rank);
        scales = graph_map(graph, s.name, KERN_ADD, scales, parts->mean, 0);
    }
    return graph_dequantize(graph, name, type, kernel->dtype, parts->codes, scales, kernel->dims,
                            kernel->rank);
}
