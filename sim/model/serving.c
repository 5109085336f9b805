/* Tokens and caches of serving (model/serving.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/serving.h"

#include "base/pace.h"
#include "graph/layers/argmax.h"
#include "model/model.h"
#include "model/token_inputs.h"
#include "model/token_order.h"

/* The tokens that layers keep from one on, in a room of their own. */
struct room {
    int64_t from, tokens;
    const struct kern_pages *pages; /* NULL: the cache is contiguous */
    struct attention_cache *cache;
    uint32_t *positions, table; /* as in struct attention_sight */
    const char *suffix;         /* of the names of its arrays */
};

/* A page that is partly of a common prefix is each sequence's own. */
static int64_t shared_pages(const struct scenario *s, int64_t from)
{
    int64_t tokens = s->decode.shared > from ? s->decode.shared - from : 0;

    return tokens / scenario_cache_parts(s) / s->decode.page;
}

static const struct kern_pages *make_pages(struct graph *g, const struct scenario *s,
                                           const struct room *room)
{
    struct kern_pages *pages = s->decode.page > 0 ? graph_memory(g, 1, sizeof *pages) : NULL;
    int64_t pools = scenario_batch_shards(s), parts = scenario_cache_parts(s);

    if (!pages)
        return NULL;
    *pages = (struct kern_pages){.page = s->decode.page,
                                 .pools = pools,
                                 .rows = s->batch.size / pools,
                                 .parts = parts,
                                 .tokens = room->tokens / parts,
                                 .shared = shared_pages(s, room->from)};
    kern_pages_init(pages);
    return pages;
}

/* What `count` new tokens, the first at `first`, see of the cache in layers of a type.  Positions
 * count from the room's first token: a window is as long wherever it begins, and chunks begin with
 * a room. */
static const struct kern_sight *make_sight(struct graph *g, const struct scenario *s,
                                           const struct room *room, enum scenario_layer_type type,
                                           int64_t first, int64_t count)
{
    const struct kern_sight sight = {
        .order = context_order(s, room->tokens),
        .causal = true,
        .window = type == SCENARIO_LAYER_WINDOW ? s->model.window : 0,
        .chunk = type == SCENARIO_LAYER_CHUNK ? s->model.chunk : 0,
        .pages = room->pages,
        .queries = {.count = count,
                    .first = first - room->from,
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

/* The sight of layers of a type. */
static const struct attention_sight *add_sight(struct graph *g, const struct scenario *s,
                                               const struct room *room,
                                               enum scenario_layer_type type, uint32_t queries)
{
    struct attention_sight *out = graph_memory(g, 1, sizeof *out);
    const char *name = s->model.layer_types.n == 0
                           ? "spans"
                           : graph_text(g, "spans/%s", scenario_layer_type_name(type));
    int64_t parts = scenario_cache_parts(s);
    uint32_t dims[2] = {graph_dim(g, "cache_queries", parts * scenario_new_tokens(s)),
                        graph_dim(g, "span", 2)};

    if (!out)
        return NULL;
    *out = (struct attention_sight){
        .sight = make_sight(g, s, room, type, scenario_kept_tokens(s), scenario_new_tokens(s)),
        .positions = room->positions,
        .blocks = (uint32_t)parts,
        .table = room->table,
        .queries = queries};
    if (parts == 1)
        dims[0] = graph_find_dim(g, "seq");
    out->spans = add_array(g, name, out->sight, KERN_SPANS, dims, 2);
    return out;
}

/* Add where the keys of a room are in their sequences. */
static void add_keys(struct room *room, struct graph *g, const struct kern_sight *sight,
                     uint32_t batch)
{
    const char *cache = graph_text(g, "cache%s", room->suffix);
    uint32_t dims[2] = {graph_dim(g, cache, sight->order.extent)};

    room->positions = graph_memory(g, 1, sizeof *room->positions);
    if (!room->positions)
        return;
    *room->positions =
        add_array(g, graph_text(g, "positions%s", room->suffix), sight, KERN_POSITIONS, dims, 1);
    if (!room->pages)
        return;
    dims[0] = batch;
    dims[1] = graph_dim(g, graph_text(g, "entries%s", room->suffix),
                        room->pages->parts * kern_pages_entries(room->pages));
    room->table = add_array(g, graph_text(g, "pages%s", room->suffix), sight, KERN_TABLE, dims, 2);
}

/* Say where new tokens are kept. */
static void place_tokens(struct room *room, struct graph *g, const struct kern_sight *sight)
{
    struct attention_cache *cache = room->cache;
    const char *places = graph_text(g, "places%s", room->suffix);
    uint32_t dims[3] = {GRAPH_NONE, GRAPH_NONE, cache->fresh};

    if (!room->pages) {
        cache->dim = graph_dim(g, graph_text(g, "cache%s", room->suffix), sight->order.extent);
        cache->places = add_array(g, places, sight, KERN_PLACES, &cache->fresh, 1);
        return;
    }
    cache->pools = dims[0] = graph_dim(g, "pools", room->pages->pools);
    cache->rows = dims[1] = graph_dim(g, "rows", room->pages->rows);
    cache->dim =
        graph_dim(g, graph_text(g, "slots%s", room->suffix), kern_pages_slots(room->pages));
    cache->places = add_array(g, places, sight, KERN_PLACES, dims, 3);
}

/* How a type of cache is kept: as codes of a type, or of 4 bits. */
static const struct {
    enum shd_dtype code;
    enum kern_quant_type quant;
} cache_codes[SCENARIO_NCACHE_TYPES] = {
    [SCENARIO_CACHE_COMPUTE] = {SHD_NDTYPES, KERN_NQUANT_TYPES},
    [SCENARIO_CACHE_E4M3] = {SHD_F8E4M3, KERN_NQUANT_TYPES},
    [SCENARIO_CACHE_E5M2] = {SHD_F8E5M2, KERN_NQUANT_TYPES},
    [SCENARIO_CACHE_INT4] = {SHD_NDTYPES, KERN_INT4},
    [SCENARIO_CACHE_MXFP4] = {SHD_NDTYPES, KERN_MXFP4},
};

/* Of the new tokens of a cache that begins, those before the room's first one are not kept; the
 * last is given in any case, and has no place if it is one of them. */
static int64_t not_kept(const struct scenario *s, const struct room *room)
{
    int64_t others = scenario_new_tokens(s) - 1;

    if (scenario_kept_tokens(s) > 0)
        return 0;
    return room->from < others ? room->from : others;
}

/* Make the room of layers of a type. */
static void make_room(struct room *room, struct graph *g, const struct scenario *s,
                      enum scenario_layer_type type, uint32_t batch, uint32_t seq)
{
    int64_t kept = scenario_kept_tokens(s), skipped;
    struct attention_cache *cache = graph_memory(g, 1, sizeof *cache);
    const struct kern_sight *sight;

    room->from = scenario_cache_from(s, type);
    room->suffix = room->from > 0 ? graph_text(g, "/%s", scenario_layer_type_name(type)) : "";
    room->tokens = scenario_cache_room(s, type);
    room->pages = make_pages(g, s, room);
    room->table = GRAPH_NONE;
    skipped = not_kept(s, room);
    sight = make_sight(g, s, room, SCENARIO_LAYER_FULL, kept + skipped,
                       scenario_new_tokens(s) - skipped);
    if (!cache || !room->suffix || !sight)
        return;
    *cache = (struct attention_cache){
        .kept = {room->from, context_order(s, room->tokens), room->pages},
        .fresh = skipped > 0 ? graph_dim(g, graph_text(g, "fresh%s", room->suffix),
                                         scenario_new_tokens(s) - skipped)
                             : seq,
        .code = cache_codes[s->decode.cache].code,
        .quant = cache_codes[s->decode.cache].quant,
        .block = s->decode.block,
        .begins = kept == 0,
        .seed = s->seed,
        .source = model_source};
    room->cache = cache;
    place_tokens(room, g, sight);
    if (kept > 0)
        add_keys(room, g, sight, batch);
}

/* The positions of new tokens in their whole sequences. */
static uint32_t add_queries(struct graph *g, const struct scenario *s, uint32_t seq)
{
    const struct room all = {.tokens = scenario_cache_tokens(s)};
    const struct kern_sight *sight = make_sight(g, s, &all, SCENARIO_LAYER_FULL,
                                                scenario_kept_tokens(s), scenario_new_tokens(s));

    return sight ? add_array(g, "queries", sight, KERN_QUERIES, &seq, 1) : GRAPH_NONE;
}

bool serving_add(struct serving_caches *caches, struct context_sights *out, struct graph *graph,
                 const struct scenario *scenario, uint32_t batch, uint32_t seq)
{
    struct room rooms[SCENARIO_LAYER_FULL_PLAIN] = {{.from = 0}};
    bool begins = scenario_kept_tokens(scenario) == 0;
    uint32_t queries = begins ? GRAPH_NONE : add_queries(graph, scenario, seq);

    for (int type = 0; type < SCENARIO_LAYER_FULL_PLAIN; type++) {
        enum scenario_layer_type sees = (enum scenario_layer_type)type;
        struct room *room = rooms;

        if (!context_has_type(scenario, sees) || graph->err.status != SHD_OK)
            continue;
        while (room < rooms + type &&
               (!room->cache || room->from != scenario_cache_from(scenario, sees)))
            room++;
        if (room == rooms + type)
            make_room(room, graph, scenario, sees, batch, seq);
        caches->of[type] = room->cache;
        if (!begins)
            out->of[type] = add_sight(graph, scenario, room, sees, queries);
    }
    return begins;
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

    if (graph->err.status != SHD_OK || graph->dims[from].size == 1 || scenario->step.decode)
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
        before[i] = (double)pace_tokens(scenario_step_tokens(s), i);
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
    uint32_t next = layer_argmax(graph, "next", SHD_MAX, logits, vocab, false), last = next;

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
