/* Tokens and caches of serving (model/serving.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/serving.h"

#include "graph/layers/argmax.h"
#include "model/model.h"
#include "model/token_inputs.h"
#include "model/token_order.h"

/* Pages of the cache; NULL: it is contiguous, or there is no memory. */
static const struct kern_pages *make_pages(struct graph *g, const struct scenario *s)
{
    struct kern_pages *pages = s->decode.page > 0 ? graph_memory(g, 1, sizeof *pages) : NULL;
    int64_t pools = scenario_batch_shards(s), parts = scenario_cache_parts(s);

    if (!pages)
        return NULL;
    *pages = (struct kern_pages){.page = s->decode.page,
                                 .pools = pools,
                                 .rows = s->batch.size / pools,
                                 .parts = parts,
                                 .tokens = scenario_cache_tokens(s) / parts,
                                 .shared = s->decode.shared / parts / s->decode.page};
    kern_pages_init(pages);
    return pages;
}

/* What new tokens see of the cache in layers of a type. */
static const struct kern_sight *make_sight(struct graph *g, const struct scenario *s,
                                           const struct kern_pages *pages,
                                           enum scenario_layer_type type)
{
    const struct kern_sight sight = {
        .order = context_order(s, scenario_cache_tokens(s)),
        .causal = true,
        .window = type == SCENARIO_LAYER_WINDOW ? s->model.window : 0,
        .chunk = type == SCENARIO_LAYER_CHUNK ? s->model.chunk : 0,
        .pages = pages,
        .queries = {.count = scenario_new_tokens(s),
                    .first = scenario_kept_tokens(s),
                    .each = s->step.decode ? scenario_step_tokens(s) : 0,
                    .last_step = s->steps - 1}};

    return graph_sight(g, &sight);
}

static uint32_t add_array(struct graph *g, const char *name, const struct kern_sight *sight,
                          enum kern_sight_array array, const uint32_t *dims, uint32_t rank)
{
    return graph_input(g, name, SHD_I32, dims, rank,
                       (struct kern_source){.sight = sight, .sight_array = array});
}

/* The sight of layers of a type; positions of keys and queries are those of all types. */
static const struct attention_sight *add_sight(struct graph *g, const struct scenario *s,
                                               const struct kern_pages *pages,
                                               enum scenario_layer_type type,
                                               const struct attention_sight *like)
{
    struct attention_sight *out = graph_memory(g, 1, sizeof *out);
    const char *name = s->model.layer_types.n == 0
                           ? "spans"
                           : graph_text(g, "spans/%s", scenario_layer_type_name(type));
    int64_t parts = like->blocks;
    uint32_t dims[2] = {graph_dim(g, "cache_queries", parts * scenario_new_tokens(s)),
                        graph_dim(g, "span", 2)};

    if (!out)
        return NULL;
    *out = *like;
    out->sight = make_sight(g, s, pages, type);
    if (parts == 1)
        dims[0] = graph_find_dim(g, "seq");
    out->spans = add_array(g, name, out->sight, KERN_SPANS, dims, 2);
    return out;
}

static uint32_t add_table(struct graph *g, const struct kern_sight *sight, uint32_t batch)
{
    int64_t entries = sight->pages->parts * kern_pages_entries(sight->pages);
    const uint32_t dims[2] = {batch, graph_dim(g, "entries", entries)};

    return add_array(g, "pages", sight, KERN_TABLE, dims, 2);
}

/* Sights of the types that layers have. */
static void add_sights(struct context_sights *out, struct graph *g, const struct scenario *s,
                       const struct kern_sight *sight, uint32_t batch, uint32_t seq)
{
    struct attention_sight like = {.blocks = (uint32_t)scenario_cache_parts(s),
                                   .table = GRAPH_NONE};
    uint32_t cache = graph_dim(g, "cache", sight->order.extent);
    uint32_t *positions = graph_memory(g, 1, sizeof *positions);

    if (!positions)
        return;
    *positions = add_array(g, "positions", sight, KERN_POSITIONS, &cache, 1);
    like.positions = positions;
    if (sight->pages)
        like.table = add_table(g, sight, batch);
    like.queries = add_array(g, "queries", sight, KERN_QUERIES, &seq, 1);
    for (int type = 0; type < SCENARIO_LAYER_FULL_PLAIN; type++)
        if (context_has_type(s, (enum scenario_layer_type)type))
            out->of[type] = add_sight(g, s, sight->pages, (enum scenario_layer_type)type, &like);
}

/* Say where new tokens are kept. */
static void place_tokens(struct attention_cache *cache, struct graph *g,
                         const struct kern_sight *sight, uint32_t seq)
{
    const struct kern_pages *pages = sight->pages;
    uint32_t dims[3] = {GRAPH_NONE, GRAPH_NONE, seq};

    if (!pages) {
        cache->dim = graph_dim(g, "cache", sight->order.extent);
        cache->places = add_array(g, "places", sight, KERN_PLACES, &seq, 1);
        return;
    }
    cache->pools = dims[0] = graph_dim(g, "pools", pages->pools);
    cache->rows = dims[1] = graph_dim(g, "rows", pages->rows);
    cache->dim = graph_dim(g, "slots", kern_pages_slots(pages));
    cache->places = add_array(g, "places", sight, KERN_PLACES, dims, 3);
}

static enum shd_dtype code_of(const struct scenario *s)
{
    static const enum shd_dtype codes[] = {[SCENARIO_CACHE_COMPUTE] = SHD_NDTYPES,
                                           [SCENARIO_CACHE_E4M3] = SHD_F8E4M3,
                                           [SCENARIO_CACHE_E5M2] = SHD_F8E5M2};

    return codes[s->decode.cache];
}

const struct attention_cache *serving_add(struct context_sights *out, struct graph *graph,
                                          const struct scenario *scenario, uint32_t batch,
                                          uint32_t seq)
{
    struct attention_cache *cache = graph_memory(graph, 1, sizeof *cache);
    const struct kern_pages *pages = make_pages(graph, scenario);
    const struct kern_sight *sight = make_sight(graph, scenario, pages, SCENARIO_LAYER_FULL);

    if (!cache || !sight)
        return NULL;
    *cache = (struct attention_cache){
        .kept = {context_order(scenario, scenario_cache_tokens(scenario)), pages},
        .code = code_of(scenario),
        .begins = scenario_kept_tokens(scenario) == 0,
        .seed = scenario->seed,
        .source = model_source};
    place_tokens(cache, graph, sight, seq);
    if (!cache->begins)
        add_sights(out, graph, scenario, sight, batch, seq);
    return graph->err.status == SHD_OK ? cache : NULL;
}

/* Ids of which all sequences have the first ones in common, as prompts with the same instructions
 * have. */
static uint32_t with_prefix(struct graph *g, const struct scenario *s, uint32_t ids, uint32_t seq)
{
    struct kern_source source = model_source(s->seed, "prefix", 0);
    uint32_t at = layer_numbers(g, seq), end, prefix;

    source.modulus = (uint32_t)s->model.vocab;
    prefix = graph_input(g, "prefix", SHD_I32, &seq, 1, source);
    end = graph_map(g, "tokens/shared", KERN_FILL, at, GRAPH_NONE, (double)s->decode.shared);
    at = graph_map(g, "tokens/shared", KERN_LESS, at, end, 0);
    return graph_select(g, "tokens/all", at, prefix, ids);
}

/* The token made last, and those that a draft proposes to follow it. */
static struct serving_ids with_draft(struct graph *g, const struct scenario *s, uint32_t batch,
                                     uint32_t last, uint32_t seq)
{
    struct kern_source source = model_source(s->seed, SERVING_DRAFT, 0);
    const uint32_t dims[2] = {batch, graph_dim(g, "draft", s->decode.draft)};
    const uint32_t one[2] = {batch, graph_dim(g, "one", 1)};
    struct serving_ids ids = {.state = last};

    source.modulus = (uint32_t)s->model.vocab;
    ids.draft = graph_input(g, SERVING_DRAFT, SHD_I32, dims, 2, source);
    last = graph_reshape(g, "tokens/last", last, one, 2);
    ids.all = graph_concat(g, "tokens/all", last, one[1], ids.draft, dims[1], seq);
    return ids;
}

struct serving_ids serving_tokens(struct graph *graph, const struct scenario *scenario,
                                  uint32_t batch, uint32_t seq)
{
    struct kern_source source = model_source(scenario->seed, SERVING_TOKENS, 0);
    struct serving_ids ids = {.draft = GRAPH_NONE};

    source.modulus = (uint32_t)scenario->model.vocab;
    if (scenario->step.decode && scenario->decode.draft > 0)
        return with_draft(graph, scenario, batch,
                          graph_input(graph, SERVING_TOKENS, SHD_I32, &batch, 1, source), seq);
    ids.state = tokens_add(graph, scenario, SERVING_TOKENS, batch, seq, (struct tokens_part){0, 0});
    ids.all = ids.state;
    if (scenario->step.prefill && scenario->decode.shared > 0 && graph->err.status == SHD_OK)
        ids.all = with_prefix(graph, scenario, ids.state, seq);
    return ids;
}

uint32_t serving_last(struct graph *graph, const struct scenario *scenario, uint32_t x,
                      uint32_t *seq)
{
    uint32_t from = *seq;

    if (graph->dims[from].size == 1 || scenario->step.decode)
        return x;
    *seq = graph_dim(graph, "last", 1);
    return graph_slice(graph, "last", x, from, *seq, graph->dims[from].size - 1);
}

/* Add the tokens that a step made, next[batch, seq], to the list of all that a decode makes; those
 * behind a wrong proposal are overwritten by the next step's. */
static void list_tokens(struct graph *g, const struct scenario *s, uint32_t next)
{
    const struct graph_node n = g->nodes[next];
    double *before = graph_numbers(g, (size_t)s->steps);
    uint32_t dims[2] = {n.dims[0]}, place, made, list;

    for (int64_t i = 0; before && i < s->steps; i++)
        before[i] = (double)kern_step_tokens(scenario_step_tokens(s), i);
    if (!before)
        return;
    dims[1] = graph_dim(g, "new", (int64_t)before[s->steps - 1] + scenario_new_tokens(s));
    place = graph_input(g, "new/before", SHD_I32, &n.dims[1], 1,
                        (struct kern_source){.by_step = before, .nsteps = (uint32_t)s->steps});
    if (scenario_new_tokens(s) > 1)
        place = graph_map(g, "new/place", KERN_ADD, place, layer_numbers(g, n.dims[1]), 0);
    made = graph_input(g, SERVING_MADE, SHD_I32, dims, 2, (struct kern_source){.scale = 0});
    list = graph_append(g, "made/append", made, next, place, dims[1]);
    graph_output(g, GRAPH_NEXT, SERVING_MADE, list, made);
    if (g->err.status == SHD_OK && g->dims[dims[1]].size > s->decode.tokens) /* not yet verified */
        list = graph_slice(g, "made/verified", list, dims[1],
                           graph_dim(g, "verified", s->decode.tokens), 0);
    graph_output(g, GRAPH_OUTPUT, SERVING_MADE, list, GRAPH_NONE);
}

/* Of the tokens next[batch, seq] that follow the last one and each of the proposed ones, the one
 * behind the first that was proposed wrongly, [batch]; the number that were right is an output. */
static uint32_t behind_accepted(struct graph *g, uint32_t next, uint32_t draft)
{
    uint32_t dim, right, at, n, seq;

    if (g->err.status != SHD_OK)
        return GRAPH_NONE;
    dim = g->nodes[draft].dims[1];
    seq = g->nodes[next].dims[1];
    right = graph_slice(g, "next/proposed", next, seq, dim, 0);
    right = graph_map(g, "next/right", KERN_EQUAL, draft, right, 0);
    at = layer_numbers(g, dim);
    n = graph_map(g, "next/all", KERN_FILL, at, GRAPH_NONE, (double)g->dims[dim].size);
    right = graph_select(g, "next/wrong", right, n, at);
    right = graph_reduce(g, "accepted", SHD_MIN, right, g->nodes[next].dims, 1);
    graph_output(g, GRAPH_OUTPUT, "accepted", right, GRAPH_NONE);
    return graph_pick(g, "next/last", next, right, seq);
}

void serving_choose(struct graph *graph, const struct scenario *scenario, uint32_t logits,
                    uint32_t vocab, const struct serving_ids *ids)
{
    uint32_t next = layer_argmax(graph, "next", SHD_MAX, logits, vocab), last = next;

    if (graph->err.status != SHD_OK)
        return;
    if (!scenario->step.decode) {
        graph_output(graph, GRAPH_OUTPUT, SERVING_NEXT, next, GRAPH_NONE);
        return;
    }
    if (scenario->decode.draft > 0)
        last = behind_accepted(graph, next, ids->draft);
    graph_output(graph, GRAPH_NEXT, SERVING_TOKENS, last, ids->state);
    list_tokens(graph, scenario, next);
}
