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
#include "base/text.h"
#include "graph/graph.h"
#include "scenario/scenario.h"

struct model_kind {
    enum scenario_kind kind;
    /* Add inputs, parameters, the forward computation and its outputs, which may include a loss.
     * Errors stay in the graph, or go to `diag` where a better place is known. */
    void (*build)(struct graph *graph, const struct scenario *scenario, struct diag *diag);
    /* "2 layers of mlp gelu, embed 256, ..." */
    void (*describe)(struct text *out, const struct scenario *scenario);
};

extern const struct model_kind model_mlp, model_attention, model_block, model_transformer;
extern const struct model_kind model_gpt2, model_llama3, model_mixtral, model_deepseek, model_t5;
extern const struct model_kind model_graph_text;

/* The graph of a scenario's step: the forward outputs, and with a backward step the loss and the
 * gradient of every parameter and of every input of fractions.  The loss is the model's own or else
 * the sum of out * ct over all outputs; ct is an input called "ct", or "ct/OUT" when there are
 * several outputs.  Errors go to `diag`.  Free it with graph_destroy().
 *
 * With an update its outputs are the loss, "grad_norm", and what parameters and the optimizer's
 * state are in the next step; inputs have other numbers in each step. */
SHD_MUST_CHECK int model_graph(struct graph **out, const struct scenario *scenario,
                               struct diag *diag);

/* Add the loss, if there is none yet, and the gradients, as model_graph() does.  Errors stay in the
 * graph. */
void model_add_backward(struct graph *graph, uint64_t seed);

/* What is computed, for people: model, type, batch and phases. */
void model_describe(struct text *out, const struct scenario *scenario);

/* What a scenario asks for, by node and by output (partition/partition.h). */
struct model_shardings {
    struct shd_sharding *storage;
    const struct shd_sharding **nodes;
    const struct shd_sharding **outputs;
    const struct scenario_rule **rules; /* by node: which asked for it; NULL: none, or its shape */
    uint32_t *stored; /* by node: the axes over which ZeRO alone shards it; bit a for axis a */
};

/* Resolve parameter rules, logical axes and constraints.  Reports to `diag`: a parameter that no
 * rule matches, a rule or constraint that matches nothing, a spec longer than the rank, a dimension
 * that does not divide, a logical axis that no input has. */
SHD_MUST_CHECK int model_shardings(struct model_shardings *out, const struct graph *graph,
                                   const struct shd_mesh *mesh, const struct scenario *scenario,
                                   struct diag *diag);
/* The graph with the dimensions padded that do not divide by what is asked for (graph/pad.h), of
 * which `graph` keeps the names; NULL where all divide.  Reports to `diag`. */
SHD_MUST_CHECK int model_pad(struct graph **out, const struct graph *graph,
                             const struct shd_mesh *mesh, const struct scenario *scenario,
                             struct diag *diag);

/* Nothing asked for yet (SHD_ENOMEM); and, when nodes have what is asked for, what follows from it:
 * gradients are sharded as what they belong to, cotangents as their outputs. */
SHD_MUST_CHECK int model_shardings_init(struct model_shardings *out, const struct graph *graph);
void model_shardings_bind_outputs(struct model_shardings *shardings, const struct graph *graph);

void model_shardings_fini(struct model_shardings *shardings);

/* The spread of random numbers in an array: a matrix keeps the variance of what it multiplies. */
double model_scale(const struct graph *graph, const uint32_t *dims, uint32_t rank, bool param);

/* What is in the array of this name of a scenario with this seed: numbers of that spread. */
struct kern_source model_source(uint64_t seed, const char *name, double scale);

#endif /* MODEL_MODEL_H */
