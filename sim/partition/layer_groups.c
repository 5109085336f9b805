/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "partition/layer_groups.h"

#include <stdlib.h>

#include "graph/layer_name.h"

bool layer_groups_same_part(const struct layer_groups *groups, uint32_t a, uint32_t b)
{
    const struct program_op *x = &groups->ops[a], *y = &groups->ops[b];

    return x->part == y->part && x->stage == y->stage;
}

/* The next layer named by an op behind op `i` in the same part of the step. */
static uint32_t next_layer(const struct layer_groups *g, const uint32_t *layer, uint32_t i)
{
    uint32_t next = i + 1;

    while (next < g->nops && layer_groups_same_part(g, i, next)) {
        if (layer[next] != GRAPH_NO_LAYER)
            return layer[next];
        next++;
    }
    return GRAPH_NO_LAYER;
}

/* An op whose name tells no layer belongs to the layer of the ops on both sides. */
static void find_layers(const struct layer_groups *g, uint32_t *layer)
{
    for (uint32_t i = 0; i < g->nops; i++)
        layer[i] = graph_layer_of(g->ops[i].name).number;
    for (uint32_t i = 1; i < g->nops; i++)
        if (layer[i] == GRAPH_NO_LAYER && layer[i - 1] != GRAPH_NO_LAYER &&
            layer_groups_same_part(g, i - 1, i) && next_layer(g, layer, i) == layer[i - 1])
            layer[i] = layer[i - 1];
}

void layer_groups_init(struct layer_groups *out, const struct program *program, struct pool *pool)
{
    uint32_t *layer = pool_array(pool, program->nops, sizeof *layer);

    *out = (struct layer_groups){.ops = program->ops,
                                 .nops = program->nops,
                                 .of = pool_array(pool, program->nops, sizeof *out->of)};
    find_layers(out, layer);
    for (uint32_t i = 0; i < program->nops; i++) {
        if (i > 0 && (!layer_groups_same_part(out, i - 1, i) || layer[i] != layer[i - 1]))
            out->n++;
        out->of[i] = out->n;
    }
    out->n += program->nops > 0;
}

uint32_t layer_groups_earlier(const struct layer_groups *groups, uint32_t i, uint32_t from,
                              uint32_t layers)
{
    uint32_t first = i;

    while (first > 0 && layer_groups_same_part(groups, first - 1, i) &&
           (groups->of[first - 1] >= from || from - groups->of[first - 1] <= layers))
        first--;
    return groups->of[first] < from ? groups->of[first] : from;
}

uint32_t layer_groups_next(const struct layer_groups *groups, uint32_t i)
{
    uint32_t last = i;

    while (last + 1 < groups->nops && layer_groups_same_part(groups, last + 1, i) &&
           groups->of[last + 1] <= groups->of[i] + 1)
        last++;
    return groups->of[last];
}
