/* model.h - from a scenario to the graph of its step, and to the shardings it asks for.
 *
 * One file per kind of model builds its graph; a table lists them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <shd/mesh.h>
#include <shd/sharding.h>

#include "base/diag.h"
#include "graph/graph.h"
#include "scenario/scenario.h"

struct model_kind {
    enum scenario_kind kind;
    /* Add inputs, parameters and the forward computation; returns the result. */
    uint32_t (*build)(struct graph *graph, const struct scenario *scenario);
};

extern const struct model_kind model_mlp;

/* The graph of a scenario's step: the forward result `out`, and with a backward step the loss
 * sum(out * ct) and the gradient of every parameter and of the input x.  Errors go to `diag`, at the
 * place of the model.  Free it with graph_destroy(). */
SHD_MUST_CHECK int model_graph(struct graph **out, const struct scenario *scenario,
                               struct diag *diag);

/* What a scenario asks for, by node and by output (partition/partition.h). */
struct model_shardings {
    struct shd_sharding *storage;
    const struct shd_sharding **nodes;
    const struct shd_sharding **outputs;
};

/* Resolve parameter rules, logical axes and constraints.  Reports to `diag`: a parameter that no
 * rule matches, a rule or constraint that matches nothing, a spec longer than the rank, a dimension
 * that does not divide, a logical axis that no input has. */
SHD_MUST_CHECK int model_shardings(struct model_shardings *out, const struct graph *graph,
                                   const struct shd_mesh *mesh, const struct scenario *scenario,
                                   struct diag *diag);
void model_shardings_fini(struct model_shardings *shardings);

/* What is in the array number `n` (any number) of a scenario with a seed. */
struct kern_source model_source(uint64_t seed, const char *name, double scale);

#endif /* MODEL_MODEL_H */
