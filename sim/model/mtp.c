/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/mtp.h"

static uint32_t normalised(struct graph *g, const struct scenario *s, const char *module,
                           const char *part, uint32_t x, const struct weights_dims *dims)
{
    const char *name = graph_text(g, "%s/%s", module, part);
    const struct norm_weights w = weights_norm(g, s, name, dims->embed);

    return layer_norm(g, name, x, &w);
}

uint32_t mtp_join(struct graph *graph, const struct scenario *scenario, const char *name,
                  uint32_t hidden, uint32_t embedded, const struct weights_dims *dims)
{
    uint32_t joined = graph_dim(graph, "joined", 2 * scenario->model.d_model), both, w;
    const uint32_t kernel[2] = {joined, dims->embed};
    const uint32_t out[3] = {dims->batch, dims->seq, dims->embed};

    embedded = normalised(graph, scenario, name, "embed_norm", embedded, dims);
    hidden = normalised(graph, scenario, name, "hidden_norm", hidden, dims);
    both = graph_concat(graph, graph_text(graph, "%s/both", name), embedded, dims->embed, hidden,
                        dims->embed, joined);
    w = weights_param(graph, scenario, graph_text(graph, "%s/join/kernel", name), kernel, 2, 1);
    both = graph_einsum(graph, graph_text(graph, "%s/join", name), both, w, out, 3);
    return graph_constraint(graph, graph_text(graph, "%s/join/out", name), both);
}
