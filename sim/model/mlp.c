/* The `mlp` model: `layers` feed-forward layers, one after the other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "graph/layers/mlp.h"

#include <math.h>

#include "model/model.h"

/* A weight of uniform values whose products keep the variance of what they act on. */
static uint32_t weight(struct graph *g, const struct scenario *s, const char *name,
                       const uint32_t *dims, uint32_t rank)
{
    double fan_in = (double)g->dims[dims[0]].size;

    return graph_param(g, name, s->model.dtype, dims, rank,
                       model_source(s->seed, name, rank == 1 ? 0.2 : sqrt(12 / fan_in)));
}

static uint32_t layer(struct graph *g, const struct scenario *s, int64_t i, uint32_t x,
                      uint32_t embed, uint32_t mlp)
{
    const char *name = graph_text(g, "layers/%lld/mlp", (long long)i);
    const uint32_t in[2] = {embed, mlp}, out[2] = {mlp, embed};
    struct mlp_weights w = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    enum kern_fn activation = KERN_GELU;

    if (s->model.activation == SCENARIO_SWIGLU) {
        activation = KERN_SILU;
        w.gate = weight(g, s, graph_text(g, "%s/gate/kernel", name), in, 2);
    } else if (s->model.activation == SCENARIO_RELU) {
        activation = KERN_RELU;
    } else if (s->model.activation == SCENARIO_SILU) {
        activation = KERN_SILU;
    }
    w.up = weight(g, s, graph_text(g, "%s/up/kernel", name), in, 2);
    if (s->model.bias)
        w.up_bias = weight(g, s, graph_text(g, "%s/up/bias", name), &mlp, 1);
    w.down = weight(g, s, graph_text(g, "%s/down/kernel", name), out, 2);
    if (s->model.bias)
        w.down_bias = weight(g, s, graph_text(g, "%s/down/bias", name), &embed, 1);
    return layer_mlp(g, name, x, &w, activation);
}

static uint32_t build(struct graph *g, const struct scenario *s)
{
    uint32_t dims[3] = {graph_dim(g, "batch", s->batch.size), graph_dim(g, "seq", s->batch.seq),
                        graph_dim(g, "embed", s->model.d_model)};
    uint32_t mlp = graph_dim(g, "mlp", s->model.d_ff), x;

    if (g->err.status != SHD_OK)
        return GRAPH_NONE;
    x = graph_input(g, "x", s->model.dtype, dims, 3, model_source(s->seed, "x", 2));
    for (int64_t i = 0; i < s->model.layers; i++)
        x = layer(g, s, i, x, dims[2], mlp);
    return x;
}

const struct model_kind model_mlp = {SCENARIO_MLP, build};
