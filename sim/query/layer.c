/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "query/layer.h"

#include <stdio.h>
#include <string.h>

#include "graph/gradient.h"
#include "graph/layers/mlp.h"

static uint32_t mlp_out(struct graph *g, const uint32_t *nodes, struct mlp_weights *w,
                        enum kern_fn activation)
{
    uint32_t y = layer_mlp(g, "mlp", nodes[0], w, activation);

    graph_output(g, GRAPH_OUTPUT, "out", y, GRAPH_NONE);
    return y;
}

static uint32_t build_mlp_gelu(struct graph *g, const json_t *attrs, const uint32_t *nodes)
{
    struct mlp_weights w = {GRAPH_NONE, nodes[1], nodes[2], nodes[3], nodes[4]};

    (void)attrs;
    return mlp_out(g, nodes, &w, KERN_GELU);
}

static uint32_t build_mlp_swiglu(struct graph *g, const json_t *attrs, const uint32_t *nodes)
{
    struct mlp_weights w = {nodes[1], nodes[2], nodes[3], GRAPH_NONE, GRAPH_NONE};

    (void)attrs;
    return mlp_out(g, nodes, &w, KERN_SILU);
}

const struct layer_kind layer_kinds[] = {
    {"mlp_gelu",
     {{"x", "batch seq embed"},
      {"w1", "embed mlp"},
      {"w2", "mlp embed"},
      {"b1", "mlp"},
      {"b2", "embed"},
      {"ct", "batch seq embed"}},
     build_mlp_gelu},
    {"mlp_swiglu",
     {{"x", "batch seq embed"},
      {"wg", "embed mlp"},
      {"wu", "embed mlp"},
      {"w2", "mlp embed"},
      {"ct", "batch seq embed"}},
     build_mlp_swiglu},
    {NULL, {{NULL, NULL}}, NULL}};

const struct layer_kind *layer_find(const char *name)
{
    for (const struct layer_kind *k = layer_kinds; k->name; k++)
        if (!strcmp(k->name, name))
            return k;
    return NULL;
}

int layer_tensor_find(const struct layer_kind *kind, const char *name)
{
    for (int t = 0; t < LAYER_TENSORS_MAX && kind->tensors[t].name; t++)
        if (!strcmp(kind->tensors[t].name, name))
            return t;
    return -1;
}

uint32_t layer_node(const struct layer_kind *kind, const uint32_t *nodes, const char *name)
{
    int t = layer_tensor_find(kind, name);

    return t < 0 ? GRAPH_NONE : nodes[t];
}

uint32_t layer_add_tensor(struct graph *graph, const struct layer_kind *kind, int tensor,
                          enum shd_dtype dtype, const int64_t *shape, size_t rank,
                          struct kern_source source)
{
    const struct layer_tensor *t = &kind->tensors[tensor];
    const char *names = t->dims;
    uint32_t dims[GRAPH_RANK_MAX], n = 0;
    bool input = !strcmp(t->name, "x") || !strcmp(t->name, "ct");

    for (; *names && n < rank && n < GRAPH_RANK_MAX; n++) {
        size_t length = strcspn(names, " ");
        char name[32];

        snprintf(name, sizeof name, "%.*s", (int)length, names);
        dims[n] = graph_dim(graph, name, shape[n]);
        names += length + (names[length] == ' ');
    }
    if (*names || n != rank)
        return graph_fail(graph, SHD_EINVAL, "'%s' must have the dimensions %s, not %zu of them",
                          t->name, t->dims, rank);
    return (input ? graph_input : graph_param)(graph, t->name, dtype, dims, n, source);
}

void layer_add_gradients(struct graph *graph, const struct layer_kind *kind, uint32_t result,
                         const uint32_t *nodes)
{
    uint32_t wrt[LAYER_TENSORS_MAX], grads[LAYER_TENSORS_MAX], n = 0, loss = result;
    uint32_t ct = layer_node(kind, nodes, "ct");

    if (graph->err.status != SHD_OK)
        return;
    if (graph->nodes[result].rank > 0) {
        if (ct == GRAPH_NONE) {
            graph_fail(graph, SHD_EINVAL, "there is no tensor 'ct' to take the gradient along");
            return;
        }
        loss = graph_map(graph, "loss/product", KERN_MUL, result, ct, 0);
        loss = graph_reduce(graph, "loss", SHD_SUM, loss, NULL, 0);
    }
    graph_output(graph, GRAPH_LOSS, "loss", loss, GRAPH_NONE);
    for (int t = 0; t < LAYER_TENSORS_MAX && kind->tensors[t].name; t++)
        if (nodes[t] != GRAPH_NONE && nodes[t] != ct)
            wrt[n++] = nodes[t];
    graph_gradient(graph, loss, wrt, n, grads);
    for (uint32_t i = 0; i < n && graph->err.status == SHD_OK; i++)
        graph_output(graph, GRAPH_GRADIENT, graph->nodes[wrt[i]].name, grads[i], wrt[i]);
}
