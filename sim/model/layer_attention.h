/* model/layer_attention.h - what attention of each of a scenario's layers is: its mask, its rotary
 * positions, its scores.
 *
 * Thread class: as graph.h, which is extended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_LAYER_ATTENTION_H
#define MODEL_LAYER_ATTENTION_H

#include "graph/graph.h"
#include "graph/layers/attention.h"
#include "model/serving.h"
#include "model/token_order.h"
#include "scenario/scenario.h"

struct layer_attention {
    const struct scenario *scenario;
    struct context_sights sights;
    struct serving_caches caches;         /* NULL: none is kept */
    const struct kern_rotation *rotation; /* NULL: no rotary positions */
    const struct kern_rotation *local;    /* of layers with a window or chunks */
};

/* Add the inputs that define masks; to be called after the model's first input. */
void layer_attention_init(struct layer_attention *out, struct graph *graph,
                          const struct scenario *scenario, uint32_t batch, uint32_t seq);

/* The options of attention of a layer, from 0 on. */
struct attention_opts layer_attention_opts(const struct layer_attention *all, int64_t layer);

#endif /* MODEL_LAYER_ATTENTION_H */
