/* Tokens and caches of serving (model/serving.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/serving.h"

#include "graph/layers/argmax.h"
#include "model/model.h"
#include "model/token_inputs.h"

static struct kern_order order_of(const struct scenario *s)
{
    static const enum kern_order_kind kinds[] = {[SCENARIO_CONTIGUOUS] = KERN_CONTIGUOUS,
                                                 [SCENARIO_ZIGZAG] = KERN_ZIGZAG,
                                                 [SCENARIO_STRIPED] = KERN_STRIPED};

    return (struct kern_order){kinds[s->context.order], scenario_cache_parts(s),
                               scenario_cache_tokens(s)};
}

/* What new tokens see of the cache in layers of a type. */
static const struct kern_sight *make_sight(struct graph *g, const struct scenario *s,
                                           enum scenario_layer_type type)
{
    const struct kern_sight sight = {.order = order_of(s),
                                     .causal = true,
                                     .window = type == SCENARIO_LAYER_WINDOW ? s->model.window : 0,
                                     .chunk = type == SCENARIO_LAYER_CHUNK ? s->model.chunk : 0,
                                     .queries = {.count = scenario_new_tokens(s),
                                                 .first = scenario_kept_tokens(s),
                                                 .each = s->step.decode,
                                                 .last_step = s->steps - 1}};

    return graph_sight(g, &sight);
}

static uint32_t add_array(struct graph *g, const char *name, const struct kern_sight *sight,
                          enum kern_sight_array array, const uint32_t *dims, uint32_t rank)
{
    return graph_input(g, name, SHD_I32, dims, rank,
                       (struct kern_source){.sight = sight, .sight_array = array});
}

/* Whether a layer is of a type, one of the first three. */
static bool has_type(const struct scenario *s, enum scenario_layer_type type)
{
    for (int64_t i = 0; i < s->model.layers && i < SCENARIO_LAYER_TYPES_MAX; i++)
        if (scenario_layer_sight(scenario_layer_type(&s->model, i)) == type)
            return true;
    return false;
}

/* The sight of layers of a type; positions of keys and queries are those of all types. */
static const struct attention_sight *add_sight(struct graph *g, const struct scenario *s,
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
    out->sight = make_sight(g, s, type);
    if (parts == 1)
        dims[0] = graph_find_dim(g, "seq");
    out->spans = add_array(g, name, out->sight, KERN_SPANS, dims, 2);
    return out;
}

/* Sights of the types that layers have. */
static void add_sights(struct context_sights *out, struct graph *g, const struct scenario *s,
                       const struct kern_sight *sight, uint32_t cache, uint32_t seq)
{
    struct attention_sight like = {.blocks = (uint32_t)scenario_cache_parts(s)};
    uint32_t *positions = graph_memory(g, 1, sizeof *positions);

    if (!positions)
        return;
    *positions = add_array(g, "positions", sight, KERN_POSITIONS, &cache, 1);
    like.positions = positions;
    like.queries = add_array(g, "queries", sight, KERN_QUERIES, &seq, 1);
    for (int type = 0; type < SCENARIO_LAYER_FULL_PLAIN; type++)
        if (has_type(s, (enum scenario_layer_type)type))
            out->of[type] = add_sight(g, s, (enum scenario_layer_type)type, &like);
}

const struct attention_cache *serving_add(struct context_sights *out, struct graph *graph,
                                          const struct scenario *scenario, uint32_t seq)
{
    struct attention_cache *cache = graph_memory(graph, 1, sizeof *cache);
    const struct kern_sight *sight = make_sight(graph, scenario, SCENARIO_LAYER_FULL);

    if (!cache || !sight)
        return NULL;
    *cache =
        (struct attention_cache){.dim = graph_dim(graph, "cache", scenario_cache_tokens(scenario)),
                                 .places = add_array(graph, "places", sight, KERN_PLACES, &seq, 1),
                                 .order = order_of(scenario),
                                 .begins = scenario_kept_tokens(scenario) == 0,
                                 .seed = scenario->seed,
                                 .source = model_source};
    if (!cache->begins)
        add_sights(out, graph, scenario, sight, cache->dim, seq);
    return graph->err.status == SHD_OK ? cache : NULL;
}

uint32_t serving_tokens(struct graph *graph, const struct scenario *scenario, uint32_t batch,
                        uint32_t seq)
{
    return tokens_add(graph, scenario, "tokens", batch, seq, (struct tokens_part){0, 0});
}

uint32_t serving_last(struct graph *graph, uint32_t x, uint32_t *seq)
{
    uint32_t from = *seq;

    if (graph->dims[from].size == 1)
        return x;
    *seq = graph_dim(graph, "last", 1);
    return graph_slice(graph, "last", x, from, *seq, graph->dims[from].size - 1);
}

/* Add the tokens of a step to the list of all that a decode makes. */
static void list_tokens(struct graph *g, const struct scenario *s, uint32_t next)
{
    const struct graph_node n = g->nodes[next];
    double *steps = graph_numbers(g, (size_t)s->steps);
    uint32_t dims[2] = {n.dims[0], graph_dim(g, "new", s->steps)}, place, made, list;

    for (int64_t i = 0; steps && i < s->steps; i++)
        steps[i] = (double)i;
    place = graph_input(g, "new/place", SHD_I32, &n.dims[1], 1,
                        (struct kern_source){.by_step = steps, .nsteps = (uint32_t)s->steps});
    made = graph_input(g, "made", SHD_I32, dims, 2, (struct kern_source){.scale = 0});
    list = graph_append(g, "made/append", made, next, place, dims[1]);
    graph_output(g, GRAPH_NEXT, "made", list, made);
    graph_output(g, GRAPH_OUTPUT, "made", list, GRAPH_NONE);
}

void serving_choose(struct graph *graph, const struct scenario *scenario, uint32_t logits,
                    uint32_t vocab, uint32_t tokens)
{
    uint32_t next = layer_argmax(graph, "next", SHD_MAX, logits, vocab);

    if (graph->err.status != SHD_OK)
        return;
    if (!scenario->step.decode) {
        graph_output(graph, GRAPH_OUTPUT, "next", next, GRAPH_NONE);
        return;
    }
    graph_output(graph, GRAPH_NEXT, "tokens", next, tokens);
    list_tokens(graph, scenario, next);
}
