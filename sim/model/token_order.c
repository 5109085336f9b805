/* Sequence order, documents and windows of attention (model/token_order.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/token_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct kern_order context_order(const struct scenario *s, int64_t extent)
{
    static const enum kern_order_kind kinds[] = {[SCENARIO_CONTIGUOUS] = KERN_CONTIGUOUS,
                                                 [SCENARIO_ZIGZAG] = KERN_ZIGZAG,
                                                 [SCENARIO_STRIPED] = KERN_STRIPED};

    return (struct kern_order){kinds[s->context.order], scenario_cache_parts(s), extent};
}

static struct kern_order order_of(const struct scenario *s)
{
    struct kern_order order = context_order(s, s->batch.seq);

    if (scenario_serves(s)) /* it is the cache that lies in another order */
        order.kind = KERN_CONTIGUOUS;
    return order;
}

bool context_has_type(const struct scenario *s, enum scenario_layer_type type)
{
    for (int64_t i = 0; i < s->model.layers && i < SCENARIO_LAYER_TYPES_MAX; i++)
        if (scenario_layer_sight(scenario_layer_type(&s->model, i)) == type)
            return true;
    return false;
}

/* ---- documents ---- */

/* A random number for each index. */
static uint64_t mixed(uint64_t x)
{
    return hash_mix(x + HASH_MIX_STEP);
}

/* The length of the document that begins at a position.  Each token ends its document with
 * probability 1 / `mean`, so that lengths are geometric: few long documents among many short
 * ones. */
static int64_t length_at(const struct scenario *s, int64_t row, int64_t position)
{
    const struct scenario_documents *d = &s->context.documents;
    uint64_t stream = mixed(mixed((uint64_t)d->seed) + (uint64_t)row);
    int64_t end = position;

    while (end + 1 < s->batch.seq && mixed(stream + (uint64_t)end) % (uint64_t)d->mean != 0)
        end++;
    return end + 1 - position;
}

/* Set the first and last position of the document of each token in a row. */
static void fill_row(int32_t *first, int32_t *last, const struct scenario *s, int64_t row)
{
    const struct scenario_documents *d = &s->context.documents;
    int64_t length;

    for (int64_t at = 0, n = 0; at < s->batch.seq; at += length, n++) {
        length = d->nlengths > 0 ? d->lengths[n] : length_at(s, row, at);
        for (int64_t i = at; i < at + length; i++) {
            first[i] = (int32_t)at;
            last[i] = (int32_t)(at + length - 1);
        }
    }
}

static bool has_documents(const struct scenario *s)
{
    return s->context.documents.mean > 0 || s->context.documents.nlengths > 0;
}

static int64_t rows_of(const struct scenario *s, int64_t batch)
{
    if (!has_documents(s))
        return 0;
    if (s->context.documents.nlengths > 0)
        return 1; /* all rows are equal */
    return batch < CONTEXT_ROWS_MAX ? batch : CONTEXT_ROWS_MAX;
}

static const struct kern_sight *make_sight(struct graph *g, const struct scenario *s, int64_t batch,
                                           enum scenario_layer_type type)
{
    struct kern_sight sight = {.order = order_of(s),
                               .causal = s->model.causal,
                               .window = type == SCENARIO_LAYER_WINDOW ? s->model.window : 0,
                               .chunk = type == SCENARIO_LAYER_CHUNK ? s->model.chunk : 0,
                               .rows = rows_of(s, batch)};
    size_t count = (size_t)sight.rows * (size_t)s->batch.seq;
    int32_t *ends = count > 0 ? calloc(2 * count, sizeof *ends) : NULL;
    const struct kern_sight *kept;

    if (count > 0 && !ends) {
        graph_fail(g, SHD_ENOMEM, "no memory for documents of %lld sequences",
                   (long long)sight.rows);
        return NULL;
    }
    if (count > 0) {
        sight.first = ends;
        sight.last = ends + count;
    }
    for (int64_t row = 0; row < sight.rows; row++)
        fill_row(ends + row * s->batch.seq, ends + count + row * s->batch.seq, s, row);
    kept = graph_sight(g, &sight);
    free(ends);
    return kept;
}

/* ---- arrays ---- */

static uint32_t add_spans(struct graph *g, const char *name, const struct kern_sight *sight,
                          uint32_t batch, uint32_t seq)
{
    const uint32_t dims[3] = {batch, seq, graph_dim(g, "span", 2)};
    uint32_t rank = sight->rows > 0 ? 3 : 2;

    return graph_input(g, name, SHD_I32, dims + 3 - rank, rank,
                       (struct kern_source){.sight = sight, .sight_array = KERN_SPANS});
}

/* The positions of keys after `step` ring steps of one block each. */
static uint32_t add_positions(struct graph *g, const struct kern_sight *sight, uint32_t seq,
                              uint32_t step, uint32_t blocks)
{
    const char *name = step == 0 ? "positions" : graph_text(g, "positions/%u", step);

    return graph_input(g, name, SHD_I32, &seq, 1,
                       (struct kern_source){.sight = sight,
                                            .sight_array = KERN_POSITIONS,
                                            .moved = step * (sight->order.extent / blocks)});
}

/* Whether layers of a type, one of the first three, need a sight. */
static bool needs_sight(const struct scenario *s, enum scenario_layer_type type, uint32_t blocks)
{
    if (!context_has_type(s, type))
        return false;
    return blocks > 1 || order_of(s).kind != KERN_CONTIGUOUS || has_documents(s) ||
           type == SCENARIO_LAYER_WINDOW ||
           (type == SCENARIO_LAYER_CHUNK && s->model.chunk < s->batch.seq);
}

/* The sight of layers of a type; positions, of as many blocks, are those of other types, or NULL.
 */
static const struct attention_sight *add_sight(struct graph *graph, const struct scenario *scenario,
                                               uint32_t batch, uint32_t seq,
                                               enum scenario_layer_type type, uint32_t blocks,
                                               const uint32_t *positions)
{
    const char *name = scenario->model.layer_types.n == 0
                           ? "spans"
                           : graph_text(graph, "spans/%s", scenario_layer_type_name(type));
    const struct kern_sight *sight = make_sight(graph, scenario, graph->dims[batch].size, type);
    struct attention_sight *out = graph_memory(graph, 1, sizeof *out);
    uint32_t *own = positions ? NULL : graph_memory(graph, blocks, sizeof *own);

    if (!sight || !out || (!own && !positions))
        return NULL;
    *out = (struct attention_sight){.sight = sight,
                                    .spans = add_spans(graph, name, sight, batch, seq),
                                    .positions = own ? own : positions,
                                    .blocks = blocks,
                                    .table = GRAPH_NONE,
                                    .queries = GRAPH_NONE};
    for (uint32_t step = 0; step < blocks && own; step++)
        own[step] = add_positions(graph, sight, seq, step, blocks);
    return graph->err.status == SHD_OK ? out : NULL;
}

void context_add(struct context_sights *out, struct graph *graph, const struct scenario *scenario,
                 uint32_t batch, uint32_t seq)
{
    bool ring = scenario->context.method == SCENARIO_RING && scenario_cache_parts(scenario) > 1;
    uint32_t blocks = ring ? (uint32_t)scenario_cache_parts(scenario) : 1;
    const uint32_t *positions = NULL;

    *out = (struct context_sights){{NULL}};
    for (int type = 0; type < SCENARIO_LAYER_FULL_PLAIN; type++) {
        if (graph->err.status != SHD_OK ||
            !needs_sight(scenario, (enum scenario_layer_type)type, blocks))
            continue;
        out->of[type] = add_sight(graph, scenario, batch, seq, (enum scenario_layer_type)type,
                                  blocks, positions);
        if (out->of[type])
            positions = out->of[type]->positions;
    }
}

void context_order_inputs(struct graph *graph, const struct scenario *scenario)
{
    uint32_t seq = graph_find_dim(graph, "seq");

    if (graph->err.status != SHD_OK || order_of(scenario).kind == KERN_CONTIGUOUS)
        return;
    for (uint32_t i = 0; i < graph->nnodes; i++) {
        struct graph_node *n = &graph->nodes[i];
        int64_t inner = 1;

        if (n->op != GRAPH_INPUT || n->source.sight || n->source.routing || !graph_has_dim(n, seq))
            continue;
        for (uint32_t d = n->rank; n->dims[d - 1] != seq; d--)
            inner *= graph->dims[n->dims[d - 1]].size;
        n->source.order = order_of(scenario);
        n->source.inner = inner;
    }
}
