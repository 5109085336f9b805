/* Ops: arrays rounded to codes of 8 or 4 bits, and products of such arrays (kern/coded.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "graph/ops/padding.h"

/* Whether the blocks of a coding cover its dimensions exactly. */
static bool check_blocks(struct graph *g, const char *name, const struct graph_coding *coding)
{
    for (uint32_t k = 0; k < coding->ncoarse + coding->nparts; k++) {
        int64_t size = g->dims[coding->coarse[k].dim].size, each = coding->coarse[k].each;
        int64_t blocks = g->dims[coding->coarse[k].blocks].size, period = coding->coarse[k].period;

        if (each < 1 || period < each || size % period != 0 ||
            kern_blocks(size, each, period) != blocks) {
            graph_fail(g, SHD_EINDIVISIBLE,
                       "'%s': dimension '%s' of %" PRId64 " does not divide into %" PRId64 " "
                       "blocks of %" PRId64,
                       name, g->dims[coding->coarse[k].dim].name, size, blocks, each);
            return false;
        }
    }
    return true;
}

uint32_t graph_amax(struct graph *graph, const char *name, uint32_t x,
                    const struct graph_coding *coding, const uint32_t *dims, uint32_t rank)
{
    struct graph_node node = graph_like(graph, GRAPH_AMAX, x);

    if (!graph_usable(graph, x) || !check_blocks(graph, name, coding))
        return GRAPH_NONE;
    node.attr.coded.coding[0] = *coding;
    node.attr.coded.coding[0].nparts = 0;
    node.rank = rank;
    memcpy(node.dims, dims, rank * sizeof *dims);
    return graph_add(graph, &node, name);
}

void graph_encode(struct graph *graph, const char *name, uint32_t x, struct graph_codes *out)
{
    struct graph_node node = graph_like(graph, GRAPH_ENCODE, x);

    out->codes = GRAPH_NONE;
    if (!graph_usable(graph, x) || !graph_usable(graph, out->amax))
        return;
    if (node.dtype == SHD_F64) { /* whose codes are numbers of the reference computation */
        graph_fail(graph, SHD_EUNSUPPORTED, "'%.60s' is in float64, which cannot be quantized",
                   graph->nodes[x].name);
        return;
    }
    node.dtype = out->coding.code;
    node.attr.coded.coding[0] = out->coding;
    node.inputs[node.ninputs++] = out->amax;
    if (out->coding.scaling == KERN_SCALE_DOUBLE)
        node.inputs[node.ninputs++] = out->whole;
    out->codes = graph_add(graph, &node, name);
}

uint32_t graph_decode(struct graph *graph, const char *name, const struct graph_codes *codes)
{
    struct graph_node node = graph_like(graph, GRAPH_DECODE, codes->codes);

    if (!graph_usable(graph, codes->codes) || !graph_usable(graph, codes->amax))
        return GRAPH_NONE;
    node.dtype = graph->nodes[codes->amax].dtype;
    node.attr.coded.coding[0] = codes->coding;
    node.inputs[node.ninputs++] = codes->amax;
    if (codes->coding.scaling == KERN_SCALE_DOUBLE)
        node.inputs[node.ninputs++] = codes->whole;
    return graph_add(graph, &node, name);
}

/* A product of codes, not yet added. */
static struct graph_node product_of(const struct graph *graph, enum graph_op op,
                                    const struct graph_codes *a, const struct graph_codes *b,
                                    const uint32_t *dims, uint32_t rank)
{
    struct graph_node node = {
        .op = op, .rank = rank, .ninputs = 4, .inputs = {a->codes, b->codes, a->amax, b->amax}};

    node.dtype =
        graph->nodes[a->coding.scaling == KERN_SCALE_KEPT ? a->whole : a->amax].dtype;
    memcpy(node.dims, dims, rank * sizeof *dims);
    node.attr.coded.coding[0] = a->coding;
    node.attr.coded.coding[1] = b->coding;
    if (kern_scaling_is_twofold(a->coding.scaling)) {
        node.inputs[node.ninputs++] = a->whole;
        node.inputs[node.ninputs++] = b->whole;
    }
    return node;
}

uint32_t graph_coded(struct graph *graph, const char *name, const struct graph_codes *a,
                     const struct graph_codes *b, const uint32_t *dims, uint32_t rank)
{
    struct graph_node node;

    if (!graph_usable(graph, a->codes) || !graph_usable(graph, b->codes))
        return GRAPH_NONE;
    node = product_of(graph, GRAPH_CODED, a, b, dims, rank);
    return graph_add(graph, &node, name);
}

uint32_t graph_coded_grouped(struct graph *graph, const struct graph_codes *a,
                             const struct graph_codes *b, uint32_t counts,
                             const struct graph_node *product)
{
    struct graph_node node;

    if (!graph_usable(graph, a->codes) || !graph_usable(graph, b->codes) ||
        !graph_usable(graph, counts))
        return GRAPH_NONE;
    node = product_of(graph, GRAPH_CODED_GROUPED, a, b, product->dims, product->rank);
    node.inputs[node.ninputs++] = counts;
    node.attr.coded.experts = product->attr.experts;
    return graph_add(graph, &node, product->name);
}

/* Padding of zeros neither changes a largest magnitude nor becomes another code than 0. */
static void need_zero(struct padding *p, struct graph_node *n)
{
    for (uint32_t k = 0; k < n->attr.coded.coding[0].ncoarse; k++)
        padding_refuse(p, n, n->attr.coded.coding[0].coarse[k].dim, "is cut into blocks");
    padding_want_summed(p, n, 0, 0);
}

static void need_product_of_experts(struct padding *p, struct graph_node *n)
{
    padding_refuse(p, n, n->attr.coded.experts.expert_dim, PADDING_COUNTS);
    padding_refuse(p, n, n->attr.coded.experts.slot_dim, PADDING_COUNTS);
    padding_need_product(p, n);
}

const struct graph_op_row graph_op_amax = {.name = "amax", .need = need_zero};
const struct graph_op_row graph_op_encode = {.name = "encode", .made = padding_zero_kept};
const struct graph_op_row graph_op_decode = {.name = "decode", .made = padding_zero_kept};
const struct graph_op_row graph_op_coded = {.name = "coded product",
                                            .heavy = true,
                                            .need = padding_need_product,
                                            .made = padding_multiplied};
const struct graph_op_row graph_op_coded_grouped = {.name = "coded grouped product",
                                                    .heavy = true,
                                                    .need = need_product_of_experts,
                                                    .made = padding_multiplied};
