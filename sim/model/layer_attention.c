/* Attention by layer (model/layer_attention.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "model/layer_attention.h"

#include <math.h>

#include "model/rotation.h"
#include "model/serving.h"

/* The width of heads that positions are rotated into. */
static int64_t rotated_width(const struct scenario_model *m)
{
    return m->mla.kv_rank > 0 ? m->mla.rope_dim : m->head_dim;
}

void layer_attention_init(struct layer_attention *out, struct graph *graph,
                          const struct scenario *scenario, uint32_t batch, uint32_t seq)
{
    const struct scenario_model *m = &scenario->model;
    int64_t length =
        scenario_serves(scenario) ? scenario_cache_tokens(scenario) : scenario->batch.seq;

    *out = (struct layer_attention){.scenario = scenario};
    if (!scenario_serves(scenario) ||
        serving_add(&out->caches, &out->sights, graph, scenario, batch, seq))
        context_add(&out->sights, graph, scenario, batch, seq);
    if (!m->rope.used || graph->err.status != SHD_OK)
        return;
    out->rotation = rotation_add(graph, &m->rope, rotated_width(m), length, false);
    out->local = m->rope.local_theta > 0
                     ? rotation_add(graph, &m->rope, rotated_width(m), length, true)
                     : out->rotation;
}

/* The factor of scores; 0: that of the layer. */
static double scale_of(const struct scenario_model *m)
{
    double factor = m->mla.kv_rank > 0 ? rotation_score_factor(&m->rope) : 1;

    if (factor == 1)
        return m->attention_scale;
    if (m->attention_scale > 0)
        return factor * m->attention_scale;
    return factor / sqrt((double)(m->head_dim + m->mla.rope_dim));
}

struct attention_opts layer_attention_opts(const struct layer_attention *all, int64_t layer)
{
    const struct scenario_model *m = &all->scenario->model;
    enum scenario_layer_type type = scenario_layer_type(m, layer);
    enum scenario_layer_type sees = scenario_layer_sight(type);
    struct attention_opts opts = {.causal = m->causal,
                                  .scale = scale_of(m),
                                  .cap = m->attention_cap,
                                  .unfused = m->attention == SCENARIO_UNFUSED,
                                  .sight = all->sights.of[sees],
                                  .cache = all->caches.of[sees]};

    if (!scenario_layer_is_plain(type))
        opts.rotation = sees == SCENARIO_LAYER_FULL ? all->rotation : all->local;
    return opts;
}
