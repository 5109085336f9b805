/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/model.h"

#include <stdlib.h>

#include "graph/gradient.h"

static const struct model_kind *const kinds[] = {&model_mlp, NULL};

struct kern_source model_source(uint64_t seed, const char *name, double scale)
{
    uint32_t h = 2166136261u ^ (uint32_t)seed ^ (uint32_t)(seed >> 32); /* FNV-1a of the name */

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return (struct kern_source){.seed = h, .scale = scale};
}

/* The loss sum(out * ct), and the gradient of what is learned and of the input. */
static void add_backward(struct graph *g, const struct scenario *s, uint32_t out)
{
    uint32_t nforward = g->nnodes, *wrt, *grads, nwrt = 0, ct, loss;

    if (g->err.status != SHD_OK)
        return;
    wrt = calloc(2 * (size_t)nforward, sizeof *wrt);
    if (!wrt) {
        graph_fail(g, SHD_ENOMEM, "no memory for the backward computation");
        return;
    }
    grads = wrt + nforward;
    for (uint32_t n = 0; n < nforward; n++)
        if (g->nodes[n].op == GRAPH_PARAM || g->nodes[n].op == GRAPH_INPUT)
            wrt[nwrt++] = n;
    ct = graph_input(g, "ct", s->model.dtype, g->nodes[out].dims, g->nodes[out].rank,
                     model_source(s->seed, "ct", 2));
    loss = graph_map(g, "loss/product", KERN_MUL, out, ct, 0);
    loss = graph_reduce(g, "loss", SHD_SUM, loss, NULL, 0);
    graph_output(g, GRAPH_LOSS, "loss", loss, GRAPH_NONE);
    graph_gradient(g, loss, wrt, nwrt, grads);
    for (uint32_t i = 0; i < nwrt && g->err.status == SHD_OK; i++)
        graph_output(g, GRAPH_GRADIENT, g->nodes[wrt[i]].name, grads[i], wrt[i]);
    free(wrt);
}

int model_graph(struct graph **out, const struct scenario *scenario, struct diag *diag)
{
    struct graph *g = graph_create();
    struct shd_error err;
    uint32_t result;

    if (!g) {
        diag_error(diag, scenario->place, "no memory for the graph");
        return SHD_ENOMEM;
    }
    for (int k = 0; kinds[k]; k++) {
        if (kinds[k]->kind != scenario->model.kind)
            continue;
        result = kinds[k]->build(g, scenario);
        graph_output(g, GRAPH_OUTPUT, "out", result, GRAPH_NONE);
        if (scenario->step.backward)
            add_backward(g, scenario, result);
    }
    if (graph_status(g, &err) != SHD_OK) {
        diag_error(diag, scenario->model.place, "%s", err.text);
        graph_destroy(g);
        return err.status;
    }
    *out = g;
    return SHD_OK;
}
